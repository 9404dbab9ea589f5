package llmtest

import (
	"encoding/binary"
	"hash/crc32"
)

// eventStream is the media type of Amazon's event streams: binary frames of
// a prelude (the two lengths and their CRC), headers, payload and CRC.
const eventStream = "application/vnd.amazon.eventstream"

// awsFrame is one frame. The headers are pairs of name and value, all strings.
func awsFrame(payload []byte, headers ...string) string {
	const text = 7 // the type of a string header
	var hs []byte
	for i := 0; i < len(headers); i += 2 {
		name, value := headers[i], headers[i+1]
		hs = append(append(hs, byte(len(name))), name...)
		hs = append(hs, text)
		hs = binary.BigEndian.AppendUint16(hs, uint16(len(value)))
		hs = append(hs, value...)
	}
	const prelude, crc = 12, 4
	b := binary.BigEndian.AppendUint32(nil, uint32(prelude+len(hs)+len(payload)+crc))
	b = binary.BigEndian.AppendUint32(b, uint32(len(hs)))
	b = binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
	b = append(append(b, hs...), payload...)
	return string(binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b)))
}

// awsEvent is the frame of an event.
func awsEvent(name string, payload []byte) string {
	return awsFrame(payload, ":event-type", name, ":content-type", "application/json", ":message-type", "event")
}

// awsException is the frame of a failure in mid-stream.
func awsException(name, message string) string {
	return awsFrame(encode(map[string]string{"message": message}),
		":exception-type", name, ":content-type", "application/json", ":message-type", "exception")
}
