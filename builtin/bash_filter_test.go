//go:build unix

package builtin_test

import (
	"bytes"
	"io"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/cantle-dev/cantle/builtin"
)

// stars puts a star in the place of each word, and keeps it back until it ends.
type stars struct {
	mu   sync.Mutex
	w    io.Writer
	held []byte
}

func (s *stars) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = append(s.held, p...)
	end := bytes.LastIndexByte(s.held, '\n') + 1
	_, err := s.w.Write(bytes.ReplaceAll(s.held[:end], []byte("secret"), []byte("*")))
	s.held = append(s.held[:0], s.held[end:]...)
	return len(p), err
}

func (s *stars) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.w.Write(bytes.ReplaceAll(s.held, []byte("secret"), []byte("*")))
	s.held = nil
	return err
}

// TestFilter: what a filter takes out is neither in the result, nor in the file
// with the whole output, nor in what a job has printed; what it keeps back comes
// when the command ends.
func TestFilter(t *testing.T) {
	d := newDesk(t, func(o *builtin.Options) {
		o.Filter = func(w io.Writer) io.WriteCloser { return &stars{w: w} }
	})
	o := d.run("printf 'a sec'; printf 'ret b'")
	if o.text != "a * b" {
		t.Errorf("%q", o.text)
	}
	o = d.run("i=0; while [ $i -lt 5000 ]; do echo line $i secret; i=$((i+1)); done; printf 'the secret end'")
	if strings.Contains(o.text, "secret") || !strings.Contains(o.text, "the * end") || !o.Truncated {
		t.Errorf("%.200q … %.200q", o.text, o.text[max(0, len(o.text)-200):])
	}
	b, err := os.ReadFile(o.Output)
	if err != nil || bytes.Contains(b, []byte("secret")) || !bytes.HasSuffix(b, []byte("line 4999 *\nthe * end")) {
		t.Errorf("%v: %.200q", err, b[max(0, len(b)-200):])
	}
}
