package shell

import (
	"strings"

	"github.com/cantle-dev/cantle/tool"
)

func (w *walker) awk(at int, a args) bool {
	texts, files := scriptsOf(a)
	ok := true
	for _, f := range files {
		if name, _, ok := strings.Cut(f.Text, "="); ok && isName(name) {
			continue // a variable
		}
		if strings.HasPrefix(f.Prefix, "/inet") { // gawk's name for a connection
			w.access(at, tool.Connect, Word{Text: f.Text, Start: f.Start, End: f.End}, false)
			ok = false
			continue
		}
		w.access(at, tool.Read, f, false)
	}
	for _, o := range a.options {
		ok = ok && o.does&reads == 0
	}
	for _, text := range texts {
		if !text.Known || text.Many || text.Glob {
			ok = false
			w.code(at)
			continue
		}
		s := awkScript{text: text.Text}
		s.scan()
		for _, f := range s.writes {
			f.Start, f.End = text.Start, text.End
			w.access(at, tool.Write, f, false)
		}
		if s.runs || s.unsure {
			w.say(at, Computed, "awk may run a command")
			for _, part := range s.strings {
				w.roughly(at, part)
			}
			for _, o := range a.options {
				if _, value, ok := strings.Cut(o.value.Text, "="); ok {
					w.roughly(at, value)
				}
			}
			for _, f := range files {
				if _, value, ok := strings.Cut(f.Text, "="); ok {
					w.roughly(at, value)
				}
			}
		}
		if s.runs || s.unsure || s.reads {
			w.code(at)
		}
		ok = ok && !s.runs && !s.unsure && !s.reads && len(s.writes) == 0
	}
	return ok
}

// awkScript reads awk's language as far as to find what is run and written.
type awkScript struct {
	text    string
	i       int
	depth   int  // of parentheses
	print   int  // the depth at which a print statement began, and one; 0 is none
	last    byte // what stands before: 'x' an operand, ')' the end of one, '+' of ++ and --, 0 none
	strings []string
	writes  []Word

	runs   bool // a pipe, system
	reads  bool // a file that no operand names
	unsure bool // strings and patterns cannot be told from code
}

func (s *awkScript) scan() {
	for s.i < len(s.text) {
		c := s.text[s.i]
		switch {
		case c == ' ' || c == '\t' || c == '\r':
			s.i++
			continue
		case c == '\\' && strings.HasPrefix(s.text[s.i:], "\\\n"):
			s.i += 2
			continue
		case c == '#':
			if n := strings.IndexByte(s.text[s.i:], '\n'); n >= 0 {
				s.i += n
			} else {
				s.i = len(s.text)
			}
			continue
		case c == '"':
			s.strings = append(s.strings, s.quoted())
			s.last = 'x'
			continue
		case c == '/' && s.last == 'x':
			s.i++
		case c == '/' && s.last == ')' || c == '/' && s.last == '+':
			// A division, or a pattern behind if (x).
			s.unsure = s.unsure || strings.ContainsAny(strings.SplitN(s.text[s.i+1:], "\n", 2)[0], `/"`)
			s.i++
		case c == '/':
			s.pattern()
			s.last = 'x'
			continue
		case c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
			s.word()
			continue
		case c >= '0' && c <= '9' || c == '.':
			s.i++
			s.last = 'x'
			continue
		case c == '|':
			if strings.HasPrefix(s.text[s.i:], "||") {
				s.i++
			} else {
				s.runs = true
			}
			s.i++
		case c == '@' || c == '`' || c >= 0x80 || c == '\'':
			s.unsure = true
			s.i++
		case c == '>':
			s.i++
			if s.print == s.depth+1 {
				s.target()
			}
		case c == '+' || c == '-':
			s.i++
			if strings.HasPrefix(s.text[s.i:], string(c)) {
				s.i++
				s.last = '+'
				continue
			}
		default:
			switch c {
			case '(', '[':
				s.depth++
			case ')', ']':
				s.depth--
			case ';', '}', '\n', '{':
				if s.depth <= 0 {
					s.print, s.depth = 0, 0
				}
			}
			s.i++
			if c == ')' {
				s.last = ')'
				continue
			}
			if c == ']' || c == '$' {
				s.last = 'x'
				continue
			}
		}
		s.last = 0
	}
}

// quoted takes a string.
func (s *awkScript) quoted() string {
	from := s.i + 1
	for s.i++; s.i < len(s.text); s.i++ {
		switch s.text[s.i] {
		case '\\':
			s.i++
		case '\n':
			s.unsure = true
		case '"':
			s.i++
			return s.text[from : s.i-1]
		}
	}
	s.unsure = true
	s.i = len(s.text)
	return s.text[min(from, len(s.text)):]
}

// pattern takes what stands between slashes.
func (s *awkScript) pattern() {
	class := false
	for s.i++; s.i < len(s.text); s.i++ {
		switch s.text[s.i] {
		case '\\':
			s.i++
		case '[':
			class = true
		case ']':
			class = false
		case '\n':
			s.unsure = true
		case '/':
			if class {
				s.unsure = true // in brackets: read in more than one way
			}
			s.i++
			return
		}
	}
	s.unsure = true
	s.i = len(s.text)
}

func (s *awkScript) word() {
	from := s.i
	for s.i < len(s.text) && isName(s.text[from:s.i+1]) {
		s.i++
	}
	s.last = 'x'
	switch s.text[from:s.i] {
	case "system":
		s.runs = true
	case "getline", "ARGV", "ARGC":
		s.reads = true
		s.last = 0
	case "print", "printf":
		s.print = s.depth + 1
		s.last = 0
	case "in", "return", "exit", "else", "do", "delete", "case", "if", "while", "for":
		s.last = 0
	}
}

// target takes what print writes to, known if it is a string alone.
func (s *awkScript) target() {
	if s.i < len(s.text) && s.text[s.i] == '>' {
		s.i++
	}
	rest := strings.TrimLeft(s.text[s.i:], " \t")
	out := Word{Text: rest}
	if strings.HasPrefix(rest, `"`) {
		in := awkScript{text: rest}
		name := in.quoted()
		behind := strings.TrimLeft(rest[in.i:], " \t")
		if !in.unsure && !strings.Contains(name, `\`) && (behind == "" || strings.IndexByte(";}\n", behind[0]) >= 0) {
			out = Word{Text: name, Prefix: name, Known: true}
		}
	}
	s.writes = append(s.writes, out)
}
