package cli

import (
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"
)

// pane is where a question is shown.
type pane struct {
	wide, high int  // of the terminal; 0: there is none whose size is known
	colour     bool // it knows SGR
	screen     bool // it can show another screen in the place of its own
}

// paneOf is what standard error is.
func paneOf(e Env) pane {
	p := pane{screen: e.ErrTTY && e.Getenv != nil && e.Getenv("TERM") != "dumb" && e.Getenv("TERM") != ""}
	p.colour = p.screen && e.Getenv("NO_COLOR") == ""
	p.wide, p.high = size(e.Err, e.ErrTTY)
	return p
}

// size is that of a terminal; zero where there is none whose size is known.
func size(w io.Writer, tty bool) (wide, high int) {
	if f, ok := w.(*os.File); ok && tty {
		if w, h, err := term.GetSize(int(f.Fd())); err == nil && w > 0 && h > 0 {
			return w, h
		}
	}
	return 0, 0
}

// tell writes text of ours for people, folded where the terminal is narrow.
func (e Env) tell(text string) { _ = tellOn(e.Err, e.ErrTTY, text) } // a terminal that went away ends the program anyway

// tellOut is tell for what is a command's result.
func (e Env) tellOut(text string) error { return tellOn(e.Out, e.OutTTY, text) }

func tellOn(w io.Writer, tty bool, text string) error {
	var p pane
	p.wide, _ = size(w, tty)
	var out []string
	for l := range strings.SplitSeq(text, "\n") {
		out = append(out, p.fold(l)...)
	}
	_, err := io.WriteString(w, strings.Join(out, "\n")+"\n")
	return err
}

// A text that is not ours stands behind a bar, so that no line of it can be
// taken for one of the question.
const (
	bar     = "  │ " // a line of the text begins
	further = "  ┆ " // it goes on
)

const (
	strong = "\x1b[1;4m"
	usual  = "\x1b[0m"
)

// lay is a text in lines behind a bar, none wider than the terminal, with what
// is of the spans made plain.
func (p pane) lay(s string, spans []span, source bool) ([]string, oddness) {
	how := revealing{source: source}
	if !p.colour {
		how.open, how.shut = "»", "«"
	}
	cells, odd := how.reveal(strings.TrimSuffix(s, "\n"), spans)
	var lines []string
	var b strings.Builder
	head, wide, on := bar, 0, false
	most := p.wide - columns(bar) - 1 // the last column is left: terminals differ in when they go on
	mark := func(sign, sgr string) {
		if p.colour {
			b.WriteString(sgr)
		} else {
			b.WriteString(sign)
			wide++
		}
	}
	flush := func(next string) {
		if on && p.colour {
			b.WriteString(usual)
		}
		lines = append(lines, head+b.String())
		b.Reset()
		head, wide = next, 0
		if on && p.colour {
			b.WriteString(strong)
		}
	}
	for _, c := range cells {
		if c.on != on && !c.soft {
			if !c.on || !c.end { // an end of a line alone shows nothing
				on = c.on
				if on {
					mark(how.open, strong)
				} else {
					mark(how.shut, usual)
				}
			}
		}
		switch {
		case c.end:
			flush(bar)
		case c.soft:
			if wide > 0 {
				flush(further)
			}
		default:
			if p.wide > 0 && most > 0 && wide > 0 && wide+c.wide > most {
				flush(further)
			}
			b.WriteString(c.text)
			wide += c.wide
		}
	}
	if on {
		mark(how.shut, usual)
		on = false
	}
	flush(bar)
	return lines, odd
}

// fold is a line of ours, in which there may be long names, in lines that fit. It
// breaks at blanks, and within a word where that alone is too long. What goes on is
// further in than any line that begins. A terminal of fewer than 20 columns folds by
// itself.
func (p pane) fold(line string) []string {
	own := len(line) - len(strings.TrimLeft(line, " "))
	if p.wide < 20 || own+4 > p.wide/2 {
		return []string{line}
	}
	var out []string
	begin, next := "", strings.Repeat(" ", own+4)
	from, blank, wide := 0, 0, 0
	for i, c := range line {
		if c == ' ' && i > own {
			blank = i
		}
		if wide += columns(string(c)); wide < p.wide || i < from {
			continue
		}
		at := i
		if blank > from {
			at = blank
		}
		out = append(out, begin+strings.TrimRight(line[from:at], " "))
		for from = at; from < len(line) && line[from] == ' '; from++ {
		}
		begin, wide = next, len(next)
		if end := i + utf8.RuneLen(c); end > from {
			wide += columns(line[from:end])
		}
	}
	return append(out, begin+line[from:])
}

// inLine is all of a text in one line: a name, a rule, a reason.
func inLine(s string) string {
	text, _ := inLineOdd(s)
	return text
}

func inLineOdd(s string) (string, oddness) {
	cells, odd := revealing{line: true}.reveal(s, nil)
	var b strings.Builder
	for _, c := range cells {
		b.WriteString(c.text)
	}
	return b.String(), odd
}
