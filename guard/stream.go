package guard

import (
	"io"
	"strings"
	"sync"
)

// stream takes keys out of a text that comes in pieces. What may be the
// beginning of a key is held back until more comes.
type stream struct {
	r    *Redactor
	held []string // by finder
}

// next is what can be shown now. After final nothing is held.
func (s *stream) next(piece string, final bool) string {
	fs := s.r.known().finders
	for i, f := range fs {
		if len(s.held) <= i {
			s.held = append(s.held, "")
		}
		text := s.held[i] + piece
		spans, hold := f.scan(text, final)
		s.held[i] = text[hold:]
		if piece = text[:hold]; len(spans) > 0 {
			piece = replace(piece, spans)
		}
	}
	if len(fs) < len(s.held) { // the keys are fewer than they were
		piece = strings.Join(s.held[len(fs):], "") + piece
		s.held = s.held[:len(fs)]
	}
	return piece
}

// Writer is w without the keys in what is written to it, however it is split.
// Its Close writes what it has held back, which may be the beginning of a key,
// and leaves both open. It is safe for concurrent use, and what it writes to w it
// writes in order. [Options.Shapes] has no effect on it.
func (r *Redactor) Writer(w io.Writer) io.WriteCloser { return &writer{s: stream{r: r}, w: w} }

type writer struct {
	mu sync.Mutex
	s  stream
	w  io.Writer
}

// Write is [io.Writer].Write.
func (w *writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.put(w.s.next(string(p), false)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Close is [io.Closer].Close.
func (w *writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.put(w.s.next("", true))
}

func (w *writer) put(s string) error {
	if s == "" {
		return nil
	}
	_, err := io.WriteString(w.w, s)
	return err
}
