package llmtest

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"regexp"
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

// inner is where Bedrock puts an event of another wire.
var inner = regexp.MustCompile(`"bytes":"[A-Za-z0-9+/=]+"`)

// redactFrames takes secrets out of an event stream, also where they are in
// base64. Frames keep their sizes and get the checksums that are right then;
// what is no whole frame is treated as plain bytes.
func redactFrames(b []byte, secrets []string) []byte {
	const prelude, crc = 12, 4
	var out []byte
	for len(b) > 0 {
		if len(b) < prelude+crc {
			return append(out, redactSameLength(b, secrets)...)
		}
		size, heads := int(binary.BigEndian.Uint32(b)), int(binary.BigEndian.Uint32(b[4:]))
		if size > len(b) || heads < 0 || heads > size-prelude-crc {
			return append(out, redactSameLength(b, secrets)...)
		}
		f := bytes.Clone(b[:size])
		b = b[size:]
		payload := f[prelude+heads : size-crc]
		clean := inner.ReplaceAllFunc(redactSameLength(payload, secrets), func(found []byte) []byte {
			coded := found[len(`"bytes":"`) : len(found)-1]
			event, err := base64.StdEncoding.DecodeString(string(coded))
			if err != nil {
				return found
			}
			return append(append([]byte(`"bytes":"`), base64.StdEncoding.EncodeToString(redactSameLength(event, secrets))...), '"')
		})
		if !bytes.Equal(clean, payload) && len(clean) == len(payload) {
			copy(payload, clean)
			binary.BigEndian.PutUint32(f[size-crc:], crc32.ChecksumIEEE(f[:size-crc]))
		}
		out = append(out, f...)
	}
	return out
}
