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

var errForm = errors.New("it does not begin as a record does")

// readHeader reads the header of a line. A record in another form than the
// usual is read from f as a whole.
func readHeader(f io.ReaderAt, l line) (session.RawHeader, error) {
	if h, _, ok := session.CutHeader(l.head); ok && l.last == '}' {
		return h, nil
	}
	if l.head[0] != '{' || l.last != '}' {
		return session.RawHeader{}, errForm
	}
	b := make([]byte, l.n)
	if _, err := f.ReadAt(b, l.at); err != nil {
		return session.RawHeader{}, err
	}
	e, err := session.Decode(b)
	if err != nil {
		return session.RawHeader{}, err
	}
	at, err := json.Marshal(e.Time)
	return session.RawHeader{ID: []byte(e.ID), Parent: []byte(e.Parent), Kind: []byte(e.Kind()), Time: bytes.Trim(at, `"`)}, err
}
