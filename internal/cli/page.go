package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// page shows lines on a screen of their own, from which q goes back. It reports
// whether their end was seen; ok is false where there is no such screen.
func (a *asker) page(ctx context.Context, lines []string, p pane) (end, ok bool) {
	in, isFile := a.e.In.(*os.File)
	if !isFile || !a.e.InTTY || !a.e.ErrTTY || p.high < 4 || !p.screen {
		return false, false
	}
	old, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return false, false
	}
	back := a.e.lent.take(func() {
		_ = term.Restore(int(in.Fd()), old) // first: a terminal that is stopped takes no text
		_, _ = io.WriteString(a.e.Err, "\x1b[?1049l")
	})
	defer back()
	// A run that ends does not wait for its questions.
	defer context.AfterFunc(ctx, back)()
	v := &pager{lines: lines, high: p.high - 1}
	_, _ = io.WriteString(a.e.Err, "\x1b[?1049h")
	for !v.quit && ctx.Err() == nil {
		_, _ = io.WriteString(a.e.Err, v.draw())
		if err := a.src.fill(ctx); err != nil {
			break // the question that follows says so
		}
		keys := a.src.buf
		a.src.buf = nil
		v.keys(keys)
	}
	return v.seen >= len(lines), true
}

// pager is a view of lines that can be scrolled.
type pager struct {
	lines []string
	high  int // lines that are shown at a time
	top   int // the first of them
	seen  int // the last line that was shown
	quit  bool
}

// draw is the screen. It is drawn whole: no line of it is left from before.
func (v *pager) draw() string {
	var b strings.Builder
	b.WriteString("\x1b[H\x1b[2J")
	to := min(v.top+v.high, len(v.lines))
	for _, l := range v.lines[v.top:to] {
		b.WriteString(l + "\x1b[0m\r\n")
	}
	v.seen = max(v.seen, to)
	what := "space goes on"
	if to == len(v.lines) {
		what = "the end"
	}
	fmt.Fprintf(&b, "\x1b[7m %d–%d of %d · %s, b back, j k by lines, g G first and last, q to answer \x1b[0m", v.top+1, to, len(v.lines), what)
	return b.String()
}

// keyNames are the keys that are several bytes.
var keyNames = []struct {
	bytes string
	key   byte
}{
	{"\x1b[6~", ' '},
	{"\x1b[5~", 'b'},
	{"\x1b[B", 'j'},
	{"\x1b[A", 'k'},
	{"\x1bOB", 'j'},
	{"\x1bOA", 'k'},
	{"\x1b[H", 'g'},
	{"\x1b[F", 'G'},
	{"\x1bOH", 'g'},
	{"\x1bOF", 'G'},
	{"\x1b[1~", 'g'},
	{"\x1b[4~", 'G'},
}

func (v *pager) keys(keys []byte) {
	for len(keys) > 0 && !v.quit {
		key, n := keys[0], 1
		for _, k := range keyNames {
			if bytes.HasPrefix(keys, []byte(k.bytes)) {
				key, n = k.key, len(k.bytes)
				break
			}
		}
		if key == 0x1b && len(keys) > 1 { // a key that is not known
			n = len(keys)
			key = 0
		}
		keys = keys[n:]
		switch key {
		case ' ', 'f', '\r', '\n':
			v.move(v.high - 1)
		case 'b':
			v.move(1 - v.high)
		case 'j':
			v.move(1)
		case 'k':
			v.move(-1)
		case 'g', '<':
			v.move(-len(v.lines))
		case 'G', '>':
			v.move(len(v.lines))
		case 'q', 'Q', 0x1b, ctrlC, 4:
			v.quit = true
		}
	}
}

func (v *pager) move(by int) {
	v.top = max(0, min(v.top+by, len(v.lines)-v.high))
}
