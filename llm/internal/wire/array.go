package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Array is the framing of a JSON array whose elements are the events and come
// one by one. An answer that begins otherwise is framed as without it: as one
// document if it begins with {, else as server-sent events.
func Array() Framing {
	return Framing{Objects: true, New: func(r io.Reader) Frames {
		first := make([]byte, 1)
		n, err := io.ReadFull(r, first)
		switch r = io.MultiReader(bytes.NewReader(first[:n]), r); {
		case err != nil:
			return failed{err}
		case first[0] == '[':
			b := &bounded{r: r}
			return &array{dec: json.NewDecoder(b), in: b}
		case first[0] == '{':
			return &document{r: r}
		}
		return newSSE(r)
	}}
}

type failed struct{ err error }

func (f failed) Next() (Event, error) { return Event{}, f.err }

// document is a body that is one event.
type document struct {
	r   io.Reader
	err error // sticky
}

func (f *document) Next() (Event, error) {
	if f.err != nil {
		return Event{}, f.err
	}
	var b []byte
	if b, f.err = io.ReadAll(io.LimitReader(f.r, maxWhole+1)); f.err != nil {
		return Event{}, f.err
	}
	if len(b) > maxWhole {
		f.err = fmt.Errorf("%w: the answer has more than %d MiB", ErrFraming, maxWhole>>20)
		return Event{}, f.err
	}
	f.err = io.EOF
	return Event{Data: b, Cut: isCut(b), Whole: true}, nil
}

type array struct {
	dec   *json.Decoder
	in    *bounded
	begun bool
	raw   json.RawMessage
	err   error // sticky
}

func (f *array) Next() (Event, error) {
	if f.err != nil {
		return Event{}, f.err
	}
	ev, err := f.next()
	f.err = err
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		if doc := f.in.failure(); doc != nil {
			f.err = io.EOF
			return Event{Data: doc}, nil
		}
	}
	switch {
	case err == nil, err == io.EOF:
	case errors.Is(err, io.ErrUnexpectedEOF) && f.in.err == io.EOF:
		// The body ended within an element.
		f.err = io.EOF
		return Event{Cut: true}, nil
	case errors.As(err, &syntax):
		f.err = fmt.Errorf("%w: the array is no JSON: %w", ErrFraming, err)
	}
	return ev, f.err
}

func (f *array) next() (Event, error) {
	f.in.n = 0
	if !f.begun {
		if _, err := f.dec.Token(); err != nil {
			return Event{}, err
		}
		f.begun = true
	}
	if !f.dec.More() {
		if _, err := f.dec.Token(); err != nil && f.in.err != io.EOF {
			return Event{}, err
		}
		return Event{}, io.EOF // also of a body that ends between two elements
	}
	f.raw = f.raw[:0]
	if err := f.dec.Decode(&f.raw); err != nil {
		return Event{}, err
	}
	f.in.kept, f.in.begun = nil, true
	return Event{Data: f.raw}, nil
}
