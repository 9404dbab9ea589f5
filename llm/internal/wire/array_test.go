package wire_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/cantle-dev/cantle/internal/x/sse"
	"github.com/cantle-dev/cantle/llm/internal/wire"
)

func TestArray(t *testing.T) {
	for _, tt := range []struct{ name, body, want string }{
		{"array", `[{"a":1}` + "\n,\r\n" + `{"b":[2,"]"]} ]`, `{"a":1};{"b":[2,"]"]};EOF`},
		{"empty", `[]`, `EOF`},
		{"not closed", `[{"a":1}`, `{"a":1};EOF`},
		{"not closed after a comma", `[{"a":1},`, `{"a":1};EOF`},
		{"cut in an element", `[{"a":1},{"b":"x`, `{"a":1};cut;EOF`},
		{"what follows the array", `[1]xyz`, `1;EOF`},
		{"no comma", `[{"a":1}{"b":2}]`, `{"a":1};damaged`},
		{"no JSON", `[{"a":1},nonsense]`, `{"a":1};damaged`},
		{"document", `{"a":[1]}`, `whole{"a":[1]};EOF`},
		{"document, cut", `{"a":[1`, `wholecut{"a":[1;EOF`},
		{"events", "data: {\"a\":1}\r\n\r\ndata: 2\n\n", `{"a":1};2;EOF`},
	} {
		for _, slow := range []bool{false, true} {
			var r io.Reader = strings.NewReader(tt.body)
			if slow {
				r = iotest.OneByteReader(r)
			}
			if got := drainFrames(wire.Array().New(r)); got != tt.want {
				t.Errorf("%s (slow %t): got %s, want %s", tt.name, slow, got, tt.want)
			}
		}
	}
	broken := errors.New("broken")
	f := wire.Array().New(io.MultiReader(strings.NewReader(`[{"a":1},{"b"`), iotest.ErrReader(broken)))
	if got := drainFrames(f); got != `{"a":1};broken` {
		t.Error(got)
	}
	// An element that never ends does not fill the memory.
	f = wire.Array().New(io.MultiReader(strings.NewReader(`["`), &endless{}))
	if _, err := f.Next(); !errors.Is(err, sse.ErrTooLong) {
		t.Error(err)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func drainFrames(f wire.Frames) string {
	var out []string
	for range 100 {
		ev, err := f.Next()
		switch {
		case err == io.EOF:
			return strings.Join(append(out, "EOF"), ";")
		case errors.Is(err, wire.ErrFraming):
			return strings.Join(append(out, "damaged"), ";")
		case err != nil:
			return strings.Join(append(out, err.Error()), ";")
		}
		s := string(ev.Data)
		if ev.Cut {
			s = "cut" + s
		}
		if ev.Whole {
			s = "whole" + s
		}
		out = append(out, s)
	}
	return "no end"
}
