// Package sse reads server-sent events, the framing of the HTML standard
// (https://html.spec.whatwg.org/multipage/server-sent-events.html), from
// servers that follow it loosely.
//
//	r := sse.NewReader(resp.Body)
//	for {
//		ev, err := r.Next()
//		if err == io.EOF {
//			return nil
//		}
//		if err != nil {
//			return err
//		}
//		fmt.Printf("%s: %s\n", ev.Name, ev.Data)
//	}
package sse

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// MaxEvent is the most bytes that one line, or the data of one event, may
// have: 32 MiB.
const MaxEvent = 32 << 20

// ErrTooLong is wrapped by the error for an event of more than [MaxEvent]
// bytes.
var ErrTooLong = errors.New("sse: event too long")

// Event is one event. Its Data belongs to the [Reader] and is good until the
// next call of [Reader.Next].
type Event struct {
	Name string // of the event field; "" if there was none
	Data []byte // the data fields, joined by a line feed
	// Cut is set when the input ended in the middle of the event's last line,
	// so that Data may lack its end.
	Cut bool
	// Open is set when the input ended after a line of the event and before the
	// blank line that ends it: most often it is whole, but lines may be missing.
	Open bool
}

// Reader splits a stream into events. Lines may end in LF, CRLF or CR, and
// need not be short; a byte order mark, comments, and the id and retry fields
// are skipped. It differs from the standard in one thing: an event that is
// ended by the end of the input and not by a blank line is delivered too.
//
// A Reader must not be used by two goroutines at a time.
type Reader struct {
	r       io.Reader
	buf     []byte
	pos     int // where the next line starts in buf
	scanned int // how far that line has been searched for its end
	err     error
	started bool // a byte order mark was looked for
	skipLF  bool // the last line ended in CR: an LF that follows belongs to it

	data []byte
	name string // kept for reuse: names repeat
}

// NewReader returns a Reader on r. It reads ahead, as far as a Read of r gives
// bytes, and never waits for bytes after the end of an event.
func NewReader(r io.Reader) *Reader { return &Reader{r: r} }

// Next returns the next event that has data. It returns [io.EOF] at the end of
// the input, and the error of the underlying Read, as it is, if that failed;
// an event which that error cut is dropped.
func (r *Reader) Next() (Event, error) {
	r.data = r.data[:0]
	name, has := "", false
	for {
		line, whole, err := r.line()
		if err != nil {
			if err == io.EOF && has {
				return Event{Name: name, Data: r.data, Open: true}, nil
			}
			return Event{}, err
		}
		if len(line) == 0 && whole {
			if has {
				return Event{Name: name, Data: r.data}, nil
			}
			name = ""
			continue
		}
		field, value, _ := bytes.Cut(line, []byte{':'})
		if len(value) > 0 && value[0] == ' ' {
			value = value[1:]
		}
		switch string(field) {
		case "data":
			if len(r.data)+len(value) >= MaxEvent {
				r.err = fmt.Errorf("%w: more than %d MiB of data", ErrTooLong, MaxEvent>>20)
				return Event{}, r.err
			}
			if has {
				r.data = append(r.data, '\n')
			}
			r.data = append(r.data, value...)
			has = true
		case "event":
			if string(value) != r.name {
				r.name = string(value)
			}
			name = r.name
		}
		if !whole && has {
			return Event{Name: name, Data: r.data, Cut: true}, nil
		}
	}
}

// line returns the next line without its end. whole is false for the last line
// of an input that ends without a line end. The line is good until the next
// call.
func (r *Reader) line() (line []byte, whole bool, err error) {
	for {
		if r.skipLF && r.pos < len(r.buf) {
			r.skipLF = false
			if r.buf[r.pos] == '\n' {
				r.pos++
			}
			r.scanned = r.pos
		}
		if !r.started && !r.mark() {
			if r.err == nil {
				r.fill()
				continue
			}
			r.started = true
		}
		for i := r.scanned; i < len(r.buf); i++ {
			if c := r.buf[i]; c == '\n' || c == '\r' {
				line = r.buf[r.pos:i]
				r.pos, r.scanned, r.skipLF = i+1, i+1, c == '\r'
				return line, true, nil
			}
		}
		r.scanned = len(r.buf)
		if r.err != nil {
			if r.err == io.EOF && r.pos < len(r.buf) {
				line = r.buf[r.pos:]
				r.pos = len(r.buf)
				return line, false, nil
			}
			return nil, false, r.err
		}
		r.fill()
	}
}

// mark skips a byte order mark. It is false while too few bytes are there to
// tell.
func (r *Reader) mark() bool {
	const bom = "\xef\xbb\xbf"
	head := r.buf[r.pos:]
	if len(head) < len(bom) && string(head) == bom[:len(head)] {
		return false
	}
	if len(head) >= len(bom) && string(head[:len(bom)]) == bom {
		r.pos += len(bom)
		r.scanned = r.pos
	}
	r.started = true
	return true
}

// fill reads once into buf, after moving what is left to its front and, where
// a line fills it, growing it.
func (r *Reader) fill() {
	if r.pos > 0 {
		n := copy(r.buf, r.buf[r.pos:])
		r.buf = r.buf[:n]
		r.scanned -= r.pos
		r.pos = 0
	}
	if len(r.buf) == cap(r.buf) {
		if len(r.buf) >= MaxEvent {
			r.err = fmt.Errorf("%w: a line of more than %d MiB", ErrTooLong, MaxEvent>>20)
			return
		}
		grown := make([]byte, len(r.buf), max(8<<10, 2*cap(r.buf)))
		copy(grown, r.buf)
		r.buf = grown
	}
	for range 100 {
		n, err := r.r.Read(r.buf[len(r.buf):cap(r.buf)])
		r.buf = r.buf[:len(r.buf)+n]
		if err != nil {
			r.err = err
			return
		}
		if n > 0 {
			return
		}
	}
	r.err = io.ErrNoProgress
}
