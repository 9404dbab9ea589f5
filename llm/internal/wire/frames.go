package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/cantle-dev/cantle/internal/x/sse"
)

// Frames splits the body of an answer into events. Next returns [io.EOF] at
// its end, and the error of the underlying Read as it is. An error of the
// framing itself wraps [ErrFraming].
type Frames interface {
	Next() (Event, error)
}

// Framing is a way to split a body.
type Framing struct {
	// New reads frames of r; nil is server-sent events. It should not read on
	// after the end of a frame.
	New func(r io.Reader) Frames
	// Objects says that a stream may begin with { or [, which otherwise shows
	// that the answer is one JSON document and no stream.
	Objects bool
}

// ErrFraming is wrapped by the errors of a [Frames] about what it cannot split.
var ErrFraming = errors.New("the stream is damaged")

// sseFrames are server-sent events.
type sseFrames struct{ r *sse.Reader }

func newSSE(r io.Reader) Frames { return sseFrames{sse.NewReader(r)} }

func (f sseFrames) Next() (Event, error) {
	ev, err := f.r.Next()
	return Event{Name: ev.Name, Data: ev.Data, Cut: ev.Cut || ev.Open && isCut(ev.Data)}, err
}

// NDJSON is the framing of JSON values that follow each other, each on a line
// of its own, or laid out over several by a server that answers for people. An
// answer that was not asked to stream is one such value.
func NDJSON() Framing {
	return Framing{Objects: true, New: func(r io.Reader) Frames {
		b := &bounded{r: r}
		return &ndjson{dec: json.NewDecoder(b), in: b}
	}}
}

type ndjson struct {
	dec *json.Decoder
	in  *bounded
	raw json.RawMessage
	err error // sticky
}

func (f *ndjson) Next() (Event, error) {
	if f.err != nil {
		return Event{}, f.err
	}
	f.raw, f.in.n = f.raw[:0], 0
	err := f.dec.Decode(&f.raw)
	if err == nil {
		f.in.kept, f.in.begun = nil, true
		return Event{Data: f.raw}, nil
	}
	f.err = err
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		if doc := f.in.failure(); doc != nil {
			f.err = io.EOF
			return Event{Data: doc}, nil
		}
	}
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF) && f.in.err == io.EOF:
		f.err = io.EOF
		return Event{Cut: true}, nil
	case errors.As(err, &syntax):
		f.err = fmt.Errorf("%w: a line is no JSON: %w", ErrFraming, err)
	}
	return Event{}, f.err
}

// bounded is an error once more than one event may have was read with no event
// in between.
type bounded struct {
	r     io.Reader
	n     int
	err   error
	begun bool   // there was an event
	kept  []byte // the beginning, until there was one
}

// failure is the error document that the body is, if it is one in all but its
// form: see errorIn.
func (b *bounded) failure() []byte {
	if b.begun {
		return nil
	}
	return errorAfter(b.kept, b.r)
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := 0, b.err
	if b.n <= sse.MaxEvent && err == nil {
		n, err = b.r.Read(p)
		b.n += n
		if !b.begun && len(b.kept) <= maxErrorBody {
			b.kept = append(b.kept, p[:n]...)
		}
	}
	if b.n > sse.MaxEvent && (n == 0 || err != nil) {
		err = fmt.Errorf("%w: a line of more than %d MiB", sse.ErrTooLong, sse.MaxEvent>>20)
	}
	b.err = err
	return n, err
}
