package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"
)

// The ends of a prompt that is not to be sent.
var (
	errCleared = errors.New("the user cleared the prompt")
	errQuit    = errors.New("the user wants to end")
)

// prompter reads what the user types at a prompt. At the end of the input the
// error is io.EOF; it may be errCleared or errQuit too.
type prompter interface {
	read(ctx context.Context, prompt string) (string, error)
	// interrupt tells of a Ctrl-C that came as a signal, and reports whether
	// it was the second in a row.
	interrupt() bool
	// offer puts text at the prompt, to be edited and sent.
	offer(text string)
	close()
}

// newPrompter edits lines where there is a terminal that can, and else reads
// them as they come.
func newPrompter(e Env, src *source, h *history) prompter {
	in, ok := e.In.(*os.File)
	if !ok || !e.InTTY || !e.ErrTTY || e.Getenv("TERM") == "dumb" {
		return &lineReader{e: e, src: src}
	}
	k := &keys{src: src}
	ed := &editor{fd: int(in.Fd()), keys: k, err: e.Err, h: h}
	ed.renew()
	ed.t.SetBracketedPasteMode(true)
	return ed
}

type lineReader struct {
	e      Env
	src    *source
	broken bool // what came last was Ctrl-C
}

func (l *lineReader) read(ctx context.Context, prompt string) (string, error) {
	_, _ = io.WriteString(l.e.Err, prompt)
	line, err := l.src.line(ctx)
	if err == nil {
		l.broken = false
	}
	return line, err
}

func (l *lineReader) interrupt() bool {
	_, _ = io.WriteString(l.e.Err, "\n")
	was := l.broken
	l.broken = true
	return was
}

func (l *lineReader) offer(text string) {
	_, _ = io.WriteString(l.e.Err, "Not sent: "+strings.ReplaceAll(clean(text), "\n", "\n  ")+"\n")
}

func (l *lineReader) close() {}

// editor edits a line on a terminal, which is raw only while it does.
type editor struct {
	fd   int
	keys *keys
	t    *term.Terminal
	err  io.Writer
	h    *history
}

// renew begins with an empty line: a read that was given up leaves its own.
func (ed *editor) renew() {
	ed.t = term.NewTerminal(screen{ed.keys, ed.err}, "")
	ed.t.History = recalled{ed.h}
}

func (ed *editor) read(ctx context.Context, prompt string) (string, error) {
	old, err := term.MakeRaw(ed.fd)
	if err != nil {
		return "", err
	}
	defer func() { _ = term.Restore(ed.fd, old) }()
	if w, h, err := term.GetSize(ed.fd); err == nil && w > 0 && h > 0 {
		_ = ed.t.SetSize(w, h)
	}
	ed.t.SetPrompt(prompt)
	ed.keys.ctx, ed.keys.cleared = ctx, false
	line, err := ed.t.ReadLine()
	switch {
	case errors.Is(err, term.ErrPasteIndicator): // a whole line, as any other
	case err != nil:
		_, _ = io.WriteString(ed.err, "\r\n")
		return "", err
	case ed.keys.cleared:
		return "", errCleared
	}
	return toPlain.Replace(line), nil
}

func (ed *editor) interrupt() bool {
	ed.renew()
	was := ed.keys.broken
	ed.keys.broken = true
	return was
}

func (ed *editor) offer(text string) {
	// As if it were typed, in one line as a paste is.
	ed.keys.out = append(ed.keys.out, toEdit.Replace(clean(text))...)
}

func (ed *editor) close() { ed.t.SetBracketedPasteMode(false) }

// A pasted text stays one line to the editor, whatever lines it has, and no
// key of it is a command. Its ends of lines and tabs are these characters
// while it is edited; the screen shows others for them, of the same width.
const (
	insideLine = '\uE00A'
	insideTab  = '\uE009'
)

var (
	toPlain  = strings.NewReplacer(string(insideLine), "\n", string(insideTab), "\t")
	toEdit   = strings.NewReplacer("\n", string(insideLine), "\t", string(insideTab))
	toScreen = strings.NewReplacer(string(insideLine), "⏎", string(insideTab), " ")
)

// screen is the terminal of an editor.
type screen struct {
	io.Reader
	w io.Writer
}

func (s screen) Write(b []byte) (int, error) {
	if _, err := io.WriteString(s.w, toScreen.Replace(string(b))); err != nil {
		return 0, err
	}
	return len(b), nil
}

// keys is what an editor reads: Ctrl-C clears the line, or ends the input the
// second time, and what is pasted is text.
type keys struct {
	src     *source
	ctx     context.Context
	out     []byte
	raw     []byte // not understood yet
	pasting bool
	broken  bool // the last key was Ctrl-C
	cleared bool // it has ended the line
}

const (
	ctrlC      = 3
	clearKeys  = "\x05\x15\r" // to the end of the line, delete all before it, enter
	pasteStart = "\x1b[200~"
	pasteEnd   = "\x1b[201~"
)

func (k *keys) Read(p []byte) (int, error) {
	for len(k.out) == 0 {
		k.raw = append(k.raw, k.src.buf...)
		k.src.buf = nil
		if err := k.translate(); err != nil {
			return 0, err
		}
		if len(k.out) > 0 {
			break
		}
		if err := k.src.fill(k.ctx); err != nil {
			return 0, err
		}
	}
	n := copy(p, k.out)
	k.out = k.out[n:]
	return n, nil
}

func (k *keys) translate() error {
	for len(k.raw) > 0 {
		mark := pasteStart
		if k.pasting {
			mark = pasteEnd
		}
		switch {
		case bytes.HasPrefix(k.raw, []byte(mark)):
			k.out, k.raw = append(k.out, mark...), k.raw[len(mark):]
			k.pasting = !k.pasting
		case strings.HasPrefix(mark, string(k.raw)):
			return nil // it may become one
		case k.pasting:
			if !k.pasted() {
				return nil
			}
		case k.raw[0] == ctrlC && len(k.out) > 0:
			return nil // what came before it first: it may end a line
		case k.raw[0] == ctrlC:
			k.raw = k.raw[1:]
			if k.broken {
				return errQuit
			}
			k.broken, k.cleared = true, true
			k.out = append(k.out, clearKeys...)
			return nil // what follows is for the next line
		case k.raw[0] == '\t':
			k.raw = k.raw[1:] // nothing is completed
		default:
			k.out, k.raw = append(k.out, k.raw[0]), k.raw[1:]
		}
		k.broken = false
	}
	return nil
}

// pasted takes one character of a paste; false if its end has not come yet.
func (k *keys) pasted() bool {
	if !utf8.FullRune(k.raw) {
		return false
	}
	r, n := utf8.DecodeRune(k.raw)
	switch {
	case r == '\r':
		if len(k.raw) == 1 {
			return false // a line feed may follow
		}
		if k.raw[1] == '\n' {
			n++
		}
		r = insideLine
	case r == '\n':
		r = insideLine
	case r == '\t':
		r = insideTab
	}
	k.raw = k.raw[n:]
	if r >= ' ' && (r < 0x7F || r >= 0xA0) {
		k.out = utf8.AppendRune(k.out, r)
	}
	return true
}

// recalled is the history as the editor walks through it. What is added is
// added by the loop, which knows where a prompt of several lines ends.
type recalled struct{ h *history }

func (r recalled) Add(string)      {}
func (r recalled) Len() int        { return len(r.h.lines) }
func (r recalled) At(i int) string { return toEdit.Replace(clean(r.h.lines[len(r.h.lines)-1-i])) }
