package bedrock

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"

	"github.com/cantle-dev/cantle/llm/internal/wire"
)

const (
	// preludeSize is that of a frame's two lengths and their checksum, and
	// leastFrame has the checksum of the whole besides.
	preludeSize = 12
	leastFrame  = preludeSize + 4
	// maxFrame is the most that the format allows a frame to have.
	maxFrame = 24 << 20
)

// frames is the framing of application/vnd.amazon.eventstream. An exception
// becomes an event of the name "error" whose data is
//
//	{"error":{"type":"throttlingException","message":…}}
type frames struct {
	r   io.Reader
	buf []byte
	dec *eventstream.Decoder
	// heads are the headers that came, by their bytes: a stream has few that
	// differ, and to decode them is most of the work.
	heads map[string]eventstream.Headers
	err   error // sticky
}

// maxHeads is how many are remembered.
const maxHeads = 16

func newFrames(r io.Reader) wire.Frames {
	return &frames{r: r, dec: eventstream.NewDecoder(), heads: map[string]eventstream.Headers{}}
}

// Next is [wire.Frames].Next.
func (f *frames) Next() (wire.Event, error) {
	if f.err != nil {
		return wire.Event{}, f.err
	}
	ev, err := f.next()
	f.err = err
	return ev, err
}

func (f *frames) next() (wire.Event, error) {
	if f.buf == nil {
		f.buf = make([]byte, 4<<10)
	}
	if _, err := io.ReadFull(f.r, f.buf[:preludeSize]); err != nil {
		return wire.Event{}, err // io.EOF between frames, io.ErrUnexpectedEOF within one
	}
	// The lengths are only believed once their checksum is right: else what
	// follows would be waited for in vain, or taken for the rest of a frame.
	if crc32.ChecksumIEEE(f.buf[:8]) != binary.BigEndian.Uint32(f.buf[8:]) {
		return wire.Event{}, fmt.Errorf("%w: the checksum of a frame's lengths is wrong, or this is no AWS event stream", wire.ErrFraming)
	}
	n := binary.BigEndian.Uint32(f.buf)
	if n < leastFrame || n > maxFrame {
		return wire.Event{}, fmt.Errorf("%w: a frame of %d bytes: must be from %d to %d", wire.ErrFraming, n, leastFrame, maxFrame)
	}
	headers := binary.BigEndian.Uint32(f.buf[4:])
	if headers > n-leastFrame {
		return wire.Event{}, fmt.Errorf("%w: headers of %d bytes in a frame of %d", wire.ErrFraming, headers, n)
	}
	if int(n) > len(f.buf) {
		f.buf = append(make([]byte, 0, n), f.buf[:preludeSize]...)[:n]
	}
	if _, err := io.ReadFull(f.r, f.buf[preludeSize:n]); err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return wire.Event{}, err
	}
	whole := f.buf[:n]
	if crc32.ChecksumIEEE(whole[:n-4]) != binary.BigEndian.Uint32(whole[n-4:]) {
		return wire.Event{}, fmt.Errorf("%w: the checksum of a frame is wrong", wire.ErrFraming)
	}
	block := whole[preludeSize : preludeSize+headers]
	heads, known := f.heads[string(block)]
	if !known {
		msg, err := f.dec.Decode(bytes.NewReader(whole), nil)
		if err != nil {
			// No cause: the end of the frame is not that of the stream.
			return wire.Event{}, fmt.Errorf("%w: %s", wire.ErrFraming, err.Error())
		}
		if heads = msg.Headers; len(f.heads) < maxHeads {
			f.heads[string(block)] = heads
		}
	}
	return event(heads, whole[preludeSize+headers:n-4]), nil
}

func event(heads eventstream.Headers, payload []byte) wire.Event {
	head := func(name string) string {
		if v := heads.Get(name); v != nil {
			return v.String()
		}
		return ""
	}
	var why wire.Body
	switch head(":message-type") {
	case "exception":
		why.Value("type", head(":exception-type"))
	case "error":
		why.Value("type", head(":error-code"))
		why.Value("message", head(":error-message"))
	default:
		return wire.Event{Name: head(":event-type"), Data: payload}
	}
	payload = bytes.TrimSpace(payload)
	switch {
	case len(payload) > 0 && payload[0] == '{' && json.Valid(payload):
		if err := why.Merge(payload); err != nil {
			why.Value("message", string(payload))
		}
	case len(payload) > 0 && !why.Has("message"):
		why.Value("message", string(payload))
	}
	var data wire.Body
	data.Raw("error", why.Bytes())
	return wire.Event{Name: "error", Data: data.Bytes()}
}

// chunks is the framing of invoke-with-response-stream: frames whose payload
// is {"bytes": the base64 of an event of the model's own wire}.
type chunks struct{ frames wire.Frames }

func newChunks(r io.Reader) wire.Frames { return chunks{newFrames(r)} }

// Next is [wire.Frames].Next.
func (c chunks) Next() (wire.Event, error) {
	for {
		ev, err := c.frames.Next()
		if err != nil || ev.Name == "error" {
			return ev, err
		}
		if ev.Name != "chunk" {
			continue // what is new
		}
		var chunk struct {
			Bytes []byte `json:"bytes"`
		}
		if err := json.Unmarshal(ev.Data, &chunk); err != nil {
			return wire.Event{}, fmt.Errorf("%w: a chunk is no JSON with bytes in base64: %s", wire.ErrFraming, err.Error())
		}
		return wire.Event{Data: chunk.Bytes}, nil
	}
}
