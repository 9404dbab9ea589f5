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
			w.code(at)
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
			w.say(at, Computed, "sed runs a command")
		}
		if !s.ok {
			w.code(at)
			if strings.ContainsAny(text.Text, "ewWrR") {
				// It may be one that runs or writes.
				w.say(at, Opaque, "a script of sed that is not understood")
			}
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

// until skips to behind the next delimiter. In a regular expression, brackets
// may hold the delimiter: whether they do is not the same to each sed.
func (s *sedScript) until(d byte, regex bool) {
	if strings.IndexByte("[]\\\n", d) >= 0 {
		s.ok = false
	}
	for ; s.more(); s.i++ {
		switch c := s.text[s.i]; {
		case c == '\\':
			s.i++
		case c == d:
			s.i++
			return
		case c == '[' && regex:
			end := bracket(s.text[s.i:])
			if end == 0 || strings.IndexByte(s.text[s.i:s.i+end], d) >= 0 {
				s.ok = false
			}
			s.i += max(end, 1) - 1
		}
	}
	s.ok = false
}

// bracket gives the length of the bracket expression that a text begins with, or
// 0 if it has no end or none that is sure.
func bracket(s string) int {
	i := 1
	if strings.HasPrefix(s[i:], "^") {
		i++
	}
	if strings.HasPrefix(s[i:], "]") {
		i++
	}
	for i < len(s) {
		switch {
		case s[i] == ']':
			return i + 1
		case s[i] == '\n', s[i] == '\\' && i+1 < len(s) && s[i+1] == ']':
			return 0
		case s[i] == '[' && i+1 < len(s) && strings.IndexByte(":.=", s[i+1]) >= 0:
			end := strings.Index(s[i+2:], s[i+1:i+2]+"]")
			if end < 0 {
				return 0
			}
			i += end + 4
		default:
			i++
		}
	}
	return 0
}

func (s *sedScript) address() {
	for s.more() {
		switch c := s.text[s.i]; {
		case c >= '0' && c <= '9' || strings.IndexByte("$,+~ \t", c) >= 0:
			s.i++
		case c == '/':
			s.i++
			s.until('/', true)
			s.skip("IM")
		case c == '\\' && s.i+1 < len(s.text):
			d := s.text[s.i+1]
			s.i += 2
			s.until(d, true)
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
			s.addition()
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

// addition takes the text of a, i and c, up to the end of a line that has no
// backslash before it. With a backslash behind the command it begins on the next.
func (s *sedScript) addition() {
	s.skip(" \t")
	if strings.HasPrefix(s.text[s.i:], "\\") {
		s.i++
		s.skip(" \t")
		if strings.HasPrefix(s.text[s.i:], "\n") {
			s.i++
		}
	} else if !s.more() || s.text[s.i] == '\n' {
		s.ok = false // no text, or that of another -e
		return
	}
	for ; s.more(); s.i++ {
		switch s.text[s.i] {
		case '\\':
			s.i++
		case '\n':
			return
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
	s.until(d, c == 's')
	from := s.i
	s.until(d, false)
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
