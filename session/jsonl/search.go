package jsonl

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"strings"

	"github.com/cantle-dev/cantle/session"
)

// Search is [session.Searcher].Search: it reads the journals, the one changed
// last first. What cannot be read is passed over; a list tells of it.
func (st *Store) Search(ctx context.Context, query string) iter.Seq2[session.Hit, error] {
	return func(yield func(session.Hit, error) bool) {
		if query == "" {
			return
		}
		infos, err := st.list(ctx)
		if err != nil {
			yield(session.Hit{}, err)
			return
		}
		plain := []byte(nil)
		if isPlain(query) {
			plain = []byte(strings.ToLower(query))
		}
		for _, info := range infos {
			if more, err := st.searchOne(ctx, info.ID, query, plain, yield); err != nil {
				yield(session.Hit{}, err)
				return
			} else if !more {
				return
			}
		}
	}
}

func (st *Store) searchOne(ctx context.Context, id, query string, plain []byte, yield func(session.Hit, error) bool) (more bool, err error) {
	f, size, err := openFile(st.path(id, ".jsonl"), os.O_RDONLY)
	if err != nil {
		return true, nil
	}
	defer f.Close()
	more = true
	var buf, low []byte
	err = scanLines(f, 0, size, func(l line) error {
		if !l.whole || l.n == 0 {
			return nil
		}
		h, err := readHeader(f, l)
		if err != nil {
			return nil
		}
		switch string(h.Kind) {
		case "message", "compaction", "label":
		default:
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if cap(buf) < l.n {
			buf = make([]byte, l.n+l.n/2)
		}
		b := buf[:l.n]
		if _, err := f.ReadAt(b, l.at); err != nil {
			return fmt.Errorf("session %s: %w", id, err)
		}
		if plain != nil {
			if low = lower(low, b); !bytes.Contains(low, plain) {
				return nil
			}
		}
		// The record is decoded from a copy: the buffer is used again.
		e, err := session.Decode(bytes.Clone(b))
		if err != nil {
			return nil
		}
		if text, ok := e.Find(query); ok && !yield(session.Hit{Session: id, Entry: e.ID, Snippet: text}, nil) {
			more = false
			return errStop
		}
		return nil
	})
	if err == errStop {
		err = nil
	}
	return more, err
}

var errStop = errors.New("stop")

// isPlain reports whether s looks the same in JSON, so that a record without
// it need not be decoded.
func isPlain(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' || strings.ContainsRune(`"\/<>&`, r) })
}

// lower is b with the letters of ASCII in lower case, in dst's memory.
func lower(dst, b []byte) []byte {
	dst = append(dst[:0], b...)
	for i, c := range dst {
		if 'A' <= c && c <= 'Z' {
			dst[i] = c + 'a' - 'A'
		}
	}
	return dst
}
