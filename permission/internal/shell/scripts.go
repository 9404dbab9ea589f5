package shell

import (
	"strings"

	"github.com/cantle-dev/cantle/tool"
)

// programs are the texts in sed's or awk's language of a command line, and
// the operands that are files.
func scriptsOf(a args) (texts, files []Word) {
	files = a.operands
	given := false
	for _, o := range a.options {
		if o.does&scripts != 0 {
			texts = append(texts, o.value)
		}
		given = given || o.does&isPattern != 0
	}
	if !given && len(files) > 0 {
		texts, files = append(texts, files[0]), files[1:]
	}
	return texts, files
}

func (w *walker) sed(at int, a args) bool {
	texts, files := scriptsOf(a)
	c := w.out.Commands[at]
	op := tool.Read
	if _, inPlace := a.get("i", "in-place"); inPlace {
		op = tool.Write
	}
	for _, f := range files {
		w.access(at, op, f, false)
	}
	ok := true
	for _, o := range a.options {
		if o.does&reads != 0 {
			ok = false // a script in a file
		}
	}
	for _, text := range texts {
		if !text.Known || text.Many {
			ok = false
			continue
		}
		s := sedScript{text: text.Text, ok: true}
		s.commands()
		for _, f := range s.reads {
			w.access(at, tool.Read, Word{Text: f, Known: true, Start: text.Start, End: text.End}, false)
		}
		for _, f := range s.writes {
			w.access(at, tool.Write, Word{Text: f, Known: true, Start: text.Start, End: text.End}, false)
			ok = false
		}
		if s.runs {
			for _, cmd := range s.shell {
				w.run(at, Word{Text: cmd, Known: true})
			}
			if !w.doubt {
				w.reasonAt(c.Start, c.End, Computed, "sed runs a command")
			}
		}
		if !s.ok && !w.doubt && strings.ContainsAny(text.Text, "ewW") {
			// It may be one that runs or writes.
			w.reasonAt(c.Start, c.End, Opaque, "a script of sed that is not understood")
		}
		ok = ok && s.ok && !s.runs
	}
	return ok
}

// sedScript reads sed's language as far as to find what is run and written.
type sedScript struct {
	text          string
	i             int
	ok, runs      bool
	reads, writes []string
	shell         []string
}

func (s *sedScript) more() bool { return s.i < len(s.text) }

func (s *sedScript) skip(set string) {
	for s.more() && strings.IndexByte(set, s.text[s.i]) >= 0 {
		s.i++
	}
}

// line takes the rest of the line.
func (s *sedScript) line() string {
	rest := s.text[s.i:]
	if n := strings.IndexByte(rest, '\n'); n >= 0 {
		rest = rest[:n]
	}
	s.i += len(rest)
	return strings.TrimLeft(rest, " \t")
}

// until skips to behind the next delimiter.
func (s *sedScript) until(d byte) {
	class := false
	for ; s.more(); s.i++ {
		switch c := s.text[s.i]; {
		case c == '\\':
			s.i++
		case c == '[' && d != '[':
			class = true
		case c == ']':
			class = false
		case c == d:
			if class {
				s.ok = false // in brackets: read in more than one way
			}
			s.i++
			return
		}
	}
	s.ok = false
}

func (s *sedScript) address() {
	for s.more() {
		switch c := s.text[s.i]; {
		case c >= '0' && c <= '9' || strings.IndexByte("$,+~ \t", c) >= 0:
			s.i++
		case c == '/':
			s.i++
			s.until('/')
			s.skip("IM")
		case c == '\\' && s.i+1 < len(s.text):
			d := s.text[s.i+1]
			s.i += 2
			s.until(d)
			s.skip("IM")
		default:
			return
		}
	}
}

func (s *sedScript) commands() {
	for s.ok {
		s.skip(" \t\n;")
		if !s.more() {
			return
		}
		s.address()
		s.skip(" \t!")
		if !s.more() {
			s.ok = false
			return
		}
		c := s.text[s.i]
		s.i++
		switch c {
		case '{', '}', '=', 'd', 'D', 'g', 'G', 'h', 'H', 'n', 'N', 'p', 'P', 'x', 'z', 'F', 'l', 'q', 'Q', 'L':
			s.skip(" \t0123456789")
		case '#':
			s.line()
		case 'a', 'i', 'c':
			// The text may go on over lines: what follows must not be taken for text.
			if strings.Contains(s.text[s.i:], "\n") {
				s.ok = false
			}
			s.line()
		case ':', 'b', 't', 'T':
			s.skip(" \t")
			for s.more() && strings.IndexByte(";\n}", s.text[s.i]) < 0 {
				s.i++
			}
		case 's', 'y':
			s.substitute(c)
		case 'r', 'R':
			s.reads = append(s.reads, s.line())
		case 'w', 'W':
			s.writes = append(s.writes, s.line())
		case 'e':
			s.runs = true
			if cmd := s.line(); cmd != "" {
				s.shell = append(s.shell, cmd)
			}
		default:
			s.ok = false
		}
	}
}

func (s *sedScript) substitute(c byte) {
	if !s.more() {
		s.ok = false
		return
	}
	d := s.text[s.i]
	s.i++
	s.until(d)
	from := s.i
	ok := s.ok
	s.until(d)
	if c == 's' && ok && !s.ok {
		// Brackets in a replacement mean nothing.
		s.ok = strings.Contains(s.text[from:s.i], "[") && s.i > from && s.text[s.i-1] == d
	}
	if c == 'y' {
		return
	}
	replacement := strings.TrimSuffix(s.text[from:max(s.i, from)], string(d))
	for s.more() {
		switch f := s.text[s.i]; {
		case strings.IndexByte("gpiImM0123456789", f) >= 0:
			s.i++
		case f == 'e':
			s.i++
			s.runs = true
			s.shell = append(s.shell, strings.ReplaceAll(replacement, `\`, ""))
		case f == 'w':
			s.i++
			s.writes = append(s.writes, s.line())
		case strings.IndexByte(" \t;\n}", f) >= 0:
			return
		default:
			s.ok = false
			return
		}
	}
}

func (w *walker) awk(at int, a args) bool {
	texts, files := scriptsOf(a)
	for _, f := range files {
		if strings.Contains(f.Text, "=") {
			continue // a variable
		}
		w.access(at, tool.Read, f, false)
	}
	c := w.out.Commands[at]
	ok := true
	for _, o := range a.options {
		ok = ok && o.does&reads == 0
	}
	for _, text := range texts {
		if !text.Known || text.Many {
			ok = false
			continue
		}
		s := text.Text
		runs := strings.Contains(s, "system") || strings.Contains(s, "|&") || strings.Contains(s, "@") ||
			strings.Contains(strings.ReplaceAll(s, "||", ""), "|") && strings.Contains(s, `"`)
		if runs {
			if !w.doubt {
				w.reasonAt(c.Start, c.End, Computed, "awk may run a command")
			}
			for i, part := range strings.Split(s, `"`) {
				if i%2 == 1 {
					w.roughly(at, part)
				}
			}
		}
		// What is written is said by >, which also compares.
		if runs || strings.Contains(s, ">") || strings.Contains(s, "getline") || strings.Contains(s, "printf |") {
			ok = false
		}
		if strings.Contains(s, ">") && strings.Contains(s, `"`) {
			w.access(at, tool.Write, Word{Text: text.Text, Start: text.Start, End: text.End}, false)
		}
	}
	return ok
}
