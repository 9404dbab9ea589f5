package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// source is standard input for whoever reads it by turns: the prompt, which
// takes keys, and questions, which take lines. A read can be given up without
// losing what comes afterwards. It is for one goroutine at a time.
type source struct {
	r   io.Reader
	ch  chan chunk // nil before the first read
	buf []byte     // has come, and nobody took it yet
	err error      // the end, which follows buf
	tty bool       // an end is what the user typed, and more may follow
}

type chunk struct {
	b   []byte
	err error
}

func newSource(e Env) *source { return &source{r: e.In, tty: e.InTTY} }

// fill waits for more to come.
func (s *source) fill(ctx context.Context) error {
	if s.err != nil {
		return s.err
	}
	if s.ch == nil {
		s.ch = make(chan chunk)
		go s.pump()
	}
	select {
	case c, ok := <-s.ch:
		if !ok {
			s.err = io.EOF
			return s.err
		}
		s.buf = append(s.buf, c.b...)
		if c.err != nil && !(s.tty && errors.Is(c.err, io.EOF)) {
			s.err = c.err
		}
		if len(c.b) > 0 {
			return nil
		}
		return c.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *source) pump() {
	defer close(s.ch)
	for {
		if f, ok := s.r.(*os.File); ok && s.tty {
			comes(f)
		}
		b := make([]byte, 4096)
		n, err := s.r.Read(b)
		if n > 0 || err != nil {
			s.ch <- chunk{b[:n], err}
		}
		if err != nil && !(s.tty && errors.Is(err, io.EOF)) {
			return
		}
	}
}

// line returns the next line without its end. The last line needs none; at the
// end of the input the error is io.EOF.
func (s *source) line(ctx context.Context) (string, error) {
	for from := 0; ; {
		if i := bytes.IndexByte(s.buf[from:], '\n'); i >= 0 {
			l := string(s.buf[:from+i])
			s.buf = s.buf[from+i+1:]
			return strings.TrimSuffix(l, "\r"), nil
		}
		if from = len(s.buf); from > maxLine {
			return "", fmt.Errorf("standard input: a line is longer than %d MiB", maxLine>>20)
		}
		if err := s.fill(ctx); err != nil {
			if errors.Is(err, io.EOF) && len(s.buf) > 0 {
				l := string(s.buf)
				s.buf = nil
				return l, nil
			}
			return "", err
		}
	}
}

// until is the source as a reader, whose reads end with the context.
func (s *source) until(ctx context.Context) io.Reader { return limited{ctx, s} }

type limited struct {
	ctx context.Context
	s   *source
}

func (l limited) Read(p []byte) (int, error) {
	if len(l.s.buf) == 0 {
		if err := l.s.fill(l.ctx); err != nil {
			return 0, err
		}
	}
	n := copy(p, l.s.buf)
	l.s.buf = l.s.buf[n:]
	return n, nil
}

// aside takes out what was typed ahead, so that it does not answer a question
// which its writer had not seen; what the terminal holds and no read has taken
// yet is dropped. What it returns puts the rest back.
func (s *source) aside() func() {
	f, ok := s.r.(*os.File)
	if !ok || !s.tty {
		return func() {}
	}
	flush(f)
	select {
	case c := <-s.ch: // nil has none
		s.buf = append(s.buf, c.b...)
	default:
	}
	held := s.buf
	s.buf = nil
	return func() { s.buf = append(held, s.buf...) }
}

// calm drops what is typed in the moment that follows: somebody was still typing
// when a question came.
func (s *source) calm(ctx context.Context, d time.Duration) error {
	f, ok := s.r.(*os.File)
	if !ok || !s.tty {
		return nil
	}
	late := time.After(d)
	for {
		select {
		case c, more := <-s.ch: // nil has none
			if s.err = c.err; !more {
				s.err = io.EOF
			}
			if s.err != nil && !errors.Is(s.err, io.EOF) || !more {
				return nil // the read says so
			}
			s.err = nil
		case <-late:
			flush(f)
			select {
			case <-s.ch:
			default:
			}
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
