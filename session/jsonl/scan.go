package jsonl

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/cantle-dev/cantle/session"
)

// openFile opens a journal, which is a regular file and no link to one.
func openFile(path string, flag int) (*os.File, int64, error) {
	before, err := os.Lstat(path)
	if err != nil {
		return nil, 0, err
	}
	if !before.Mode().IsRegular() {
		return nil, 0, fmt.Errorf("%s is not a regular file: it is not opened", path)
	}
	f, err := os.OpenFile(path, flag|noFollow, 0)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil && !os.SameFile(before, info) {
		err = fmt.Errorf("%s was exchanged while it was opened: try again", path)
	}
	if err != nil {
		_ = f.Close() // nothing was written
		return nil, 0, err
	}
	return f, info.Size(), nil
}

// line is a line of a file, without its newline.
type line struct {
	at    int64
	n     int    // bytes
	head  []byte // its beginning, at least as much of it as a header has; valid for the call
	last  byte
	whole bool // it has its newline
}

const (
	scanBlock = 1 << 20
	headBytes = 2 << 10 // more than any header that Encode writes
)

// scanLines calls fn with each line of r between two places, the first of
// which begins a line. However long a line is, it takes no more memory than
// a block.
func scanLines(r io.ReaderAt, from, to int64, fn func(l line) error) error {
	block := make([]byte, min(scanBlock, max(to-from, 0)))
	var open line // begins before the block
	var head []byte
	for at := from; at < to; {
		b := block[:min(int64(len(block)), to-at)]
		if n, err := r.ReadAt(b, at); n < len(b) {
			return err
		}
		rest := b
		for {
			i := bytes.IndexByte(rest, '\n')
			if i < 0 {
				break
			}
			l := line{at: at + int64(len(b)-len(rest)), n: i, head: rest[:i], whole: true}
			if i > 0 {
				l.last = rest[i-1]
			}
			if open.n > 0 {
				if len(head) < headBytes {
					head = append(head, rest[:min(i, headBytes)]...)
				}
				l.at, l.n, l.head = open.at, open.n+i, head
				if i == 0 {
					l.last = open.last
				}
				open.n = 0
			}
			if err := fn(l); err != nil {
				return err
			}
			rest = rest[i+1:]
		}
		if len(rest) > 0 {
			if open.n == 0 {
				open.at = at + int64(len(b)-len(rest))
				head = head[:0]
			}
			if len(head) < headBytes {
				head = append(head, rest[:min(len(rest), headBytes)]...)
			}
			open.n += len(rest)
			open.last = rest[len(rest)-1]
		}
		at += int64(len(b))
	}
	if open.n > 0 {
		open.head = head
		return fn(open)
	}
	return nil
}

// header is the fixed start of a record: {"v":1,"id":"…","parent":"…","kind":"…","time":"…"
type header struct{ id, parent, kind, time []byte }

var errForm = errors.New("it does not begin as a record does")

// readHeader reads the header of a line. A record in another form than the
// usual is read from f as a whole.
func readHeader(f io.ReaderAt, l line) (header, error) {
	if h, ok := cutHeader(l.head); ok && l.last == '}' {
		return h, nil
	}
	if l.head[0] != '{' || l.last != '}' {
		return header{}, errForm
	}
	b := make([]byte, l.n)
	if _, err := f.ReadAt(b, l.at); err != nil {
		return header{}, err
	}
	e, err := session.Decode(b)
	if err != nil {
		return header{}, err
	}
	at, err := json.Marshal(e.Time)
	return header{[]byte(e.ID), []byte(e.Parent), []byte(e.Kind()), bytes.Trim(at, `"`)}, err
}

func cutHeader(b []byte) (h header, ok bool) {
	const start = `{"v":1,"id":"`
	if len(b) < len(start) || string(b[:len(start)]) != start {
		return h, false
	}
	rest := b[len(start):]
	for _, f := range [...]struct {
		to  *[]byte
		sep string
	}{{&h.id, `","parent":"`}, {&h.parent, `","kind":"`}, {&h.kind, `","time":"`}, {&h.time, `","data":`}} {
		i := bytes.IndexByte(rest, '"')
		if i < 0 || len(rest) < i+len(f.sep) || string(rest[i:i+len(f.sep)]) != f.sep || bytes.IndexByte(rest[:i], '\\') >= 0 {
			return h, false
		}
		*f.to = rest[:i]
		rest = rest[i+len(f.sep):]
	}
	return h, len(h.id) > 0 && len(h.kind) > 0
}
