package gitconfig

import "strings"

// setting is one line of a configuration.
type setting struct{ name, value string }

// broken is the name of what git's own reading could make something else of.
const broken = "(unreadable)"

// parse reads the text of a configuration file.
func parse(text string) (out []setting) {
	p := &parser{rest: strings.TrimPrefix(text, "\uFEFF")}
	section := ""
	for {
		p.blanks("\n\r\t\v\f ")
		switch {
		case p.rest == "":
			return out
		case p.rest[0] == '#' || p.rest[0] == ';':
			p.line()
		case p.rest[0] == '[':
			var ok bool
			if section, ok = p.section(); !ok {
				return append(out, setting{broken, "a section that is not closed"})
			}
		default:
			key := p.key()
			if key == "" || section == "" {
				return append(out, setting{broken, "a line that is no setting"})
			}
			p.blanks("\t ")
			value := "true" // a name alone is that
			if strings.HasPrefix(p.rest, "=") {
				p.rest = p.rest[1:]
				var ok bool
				if value, ok = p.value(); !ok {
					return append(out, setting{broken, "a value that is not closed"})
				}
			}
			out = append(out, setting{section + "." + key, value})
		}
	}
}

type parser struct{ rest string }

func (p *parser) blanks(set string) { p.rest = strings.TrimLeft(p.rest, set) }

func (p *parser) line() (s string) {
	s, p.rest, _ = strings.Cut(p.rest, "\n")
	return s
}

// section reads [name], [name.sub] or [name "sub"].
func (p *parser) section() (string, bool) {
	i := strings.IndexAny(p.rest, "]\" \t\n")
	if i < 0 {
		return "", false
	}
	name := strings.ToLower(p.rest[1:i])
	p.rest = p.rest[i:]
	p.blanks(" \t")
	if strings.HasPrefix(p.rest, "]") {
		p.rest = p.rest[1:]
		return name, name != ""
	}
	if !strings.HasPrefix(p.rest, "\"") {
		return "", false
	}
	var sub strings.Builder
	for i := 1; i < len(p.rest); i++ {
		switch c := p.rest[i]; c {
		case '\\':
			if i++; i < len(p.rest) {
				sub.WriteByte(p.rest[i])
			}
		case '"':
			p.rest = p.rest[i+1:]
			p.blanks(" \t")
			if !strings.HasPrefix(p.rest, "]") {
				return "", false
			}
			p.rest = p.rest[1:]
			return name + "." + sub.String(), name != ""
		case '\n':
			return "", false
		default:
			sub.WriteByte(c)
		}
	}
	return "", false
}

func (p *parser) key() string {
	i := strings.IndexFunc(p.rest, func(r rune) bool {
		return r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
	if i < 0 {
		i = len(p.rest)
	}
	key := strings.ToLower(p.rest[:i])
	p.rest = p.rest[i:]
	return key
}

// value reads to the end of the line: quotes are taken off, a backslash at the
// end goes on with the next line, and a comment ends it.
func (p *parser) value() (string, bool) {
	var b strings.Builder
	quoted := false
	for i := 0; i < len(p.rest); i++ {
		switch c := p.rest[i]; {
		case c == '\n' && quoted:
			return "", false
		case c == '\n', (c == '#' || c == ';') && !quoted:
			p.rest = p.rest[i:]
			p.line()
			return strings.TrimSpace(b.String()), true
		case c == '"':
			quoted = !quoted
		case c == '\\':
			if i++; i == len(p.rest) {
				return "", false
			}
			switch e := p.rest[i]; e {
			case '\n':
			case '\r':
				if strings.HasPrefix(p.rest[i:], "\r\n") {
					i++
				}
			case 'n':
				b.WriteByte('\n')
			case 't':
				b.WriteByte('\t')
			case 'b':
				b.WriteByte('\b')
			case '"', '\\':
				b.WriteByte(e)
			default:
				return "", false
			}
		default:
			b.WriteByte(c)
		}
	}
	p.rest = ""
	return strings.TrimSpace(b.String()), !quoted
}
