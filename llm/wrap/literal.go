package wrap

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth bounds the nesting of a value.
const maxDepth = 64

// literal reads a JSON or a Python value in s from i and returns it as JSON, with
// where it ends. It takes what models write wrong and what still has one
// meaning: single quotes, line breaks in strings, a backslash that escapes
// nothing, a comma too many, names without quotes, True, False and None. It
// never adds what is missing: a value that is cut has no reading. In that case
// end is how far it came. It takes linear time.
func literal(s string, i int) (v json.RawMessage, end int, ok bool) {
	r := reader{s: s, i: i}
	if !r.value(maxDepth) {
		return nil, max(r.i, i), false
	}
	return r.out.Bytes(), r.i, true
}

type reader struct {
	s   string
	i   int
	out bytes.Buffer
}

func (r *reader) space() {
	for r.i < len(r.s) {
		switch r.s[r.i] {
		case ' ', '\t', '\n', '\r':
			r.i++
		default:
			return
		}
	}
}

func (r *reader) peek() byte {
	if r.i < len(r.s) {
		return r.s[r.i]
	}
	return 0
}

func (r *reader) value(depth int) bool {
	r.space()
	switch c := r.peek(); {
	case depth == 0:
		return false
	case c == '{':
		return r.object(depth)
	case c == '[':
		return r.array(depth)
	case c == '"' || c == '\'' || strings.HasPrefix(r.s[r.i:], openQuote):
		return r.str()
	default:
		return r.word()
	}
}

func (r *reader) object(depth int) bool {
	r.i++
	r.out.WriteByte('{')
	for n := 0; ; n++ {
		r.space()
		if r.peek() == '}' {
			r.i++
			r.out.WriteByte('}')
			return true
		}
		if n > 0 {
			r.out.WriteByte(',')
		}
		switch c := r.peek(); {
		case c == '"' || c == '\'' || strings.HasPrefix(r.s[r.i:], openQuote):
			if !r.str() {
				return false
			}
		default:
			name := ident(r.s[r.i:])
			if name == "" {
				return false
			}
			r.i += len(name)
			r.quote(name)
		}
		r.space()
		if r.peek() != ':' {
			return false
		}
		r.i++
		r.out.WriteByte(':')
		if !r.value(depth - 1) {
			return false
		}
		if !r.comma('}') {
			return false
		}
	}
}

func (r *reader) array(depth int) bool {
	r.i++
	r.out.WriteByte('[')
	for n := 0; ; n++ {
		r.space()
		if r.peek() == ']' {
			r.i++
			r.out.WriteByte(']')
			return true
		}
		if n > 0 {
			r.out.WriteByte(',')
		}
		if !r.value(depth-1) || !r.comma(']') {
			return false
		}
	}
}

// comma reads a comma, or sees the closing bracket.
func (r *reader) comma(closing byte) bool {
	r.space()
	switch r.peek() {
	case ',':
		r.i++
		return true
	case closing:
		return true
	}
	return false
}

// str reads a string in double, single, triple or curly quotes.
func (r *reader) str() bool {
	closing := r.s[r.i : r.i+1]
	switch {
	case strings.HasPrefix(r.s[r.i:], openQuote):
		closing = closeQuote
		r.i += len(openQuote)
	case strings.HasPrefix(r.s[r.i:], closing+closing+closing):
		closing += closing + closing
		r.i += 3
	default:
		r.i++
	}
	var b strings.Builder
	for r.i < len(r.s) {
		if strings.HasPrefix(r.s[r.i:], closing) {
			r.i += len(closing)
			r.quote(b.String())
			return true
		}
		c := r.s[r.i]
		r.i++
		if c != '\\' {
			b.WriteByte(c)
			continue
		}
		if r.i == len(r.s) {
			return false
		}
		c = r.s[r.i]
		r.i++
		switch c {
		case 'n':
			b.WriteByte('\n')
		case 't':
			b.WriteByte('\t')
		case 'r':
			b.WriteByte('\r')
		case 'b':
			b.WriteByte('\b')
		case 'f':
			b.WriteByte('\f')
		case '"', '\'', '\\', '/':
			b.WriteByte(c)
		case '\n': // Python: the line goes on
		case 'u':
			n, ok := hex4(r.s[r.i:])
			if !ok {
				b.WriteString(`\u`)
				continue
			}
			r.i += 4
			if utf16.IsSurrogate(n) && strings.HasPrefix(r.s[r.i:], `\u`) {
				if low, ok := hex4(r.s[r.i+2:]); ok {
					if pair := utf16.DecodeRune(n, low); pair != unicode.ReplacementChar {
						n = pair
						r.i += 6
					}
				}
			}
			b.WriteRune(n)
		default: // as in "\d+": the backslash is meant
			b.WriteByte('\\')
			b.WriteByte(c)
		}
	}
	return false
}

func hex4(s string) (rune, bool) {
	if len(s) < 4 {
		return 0, false
	}
	var n rune
	for _, c := range []byte(s[:4]) {
		switch {
		case c >= '0' && c <= '9':
			n = n<<4 | rune(c-'0')
		case c >= 'a' && c <= 'f':
			n = n<<4 | rune(c-'a'+10)
		case c >= 'A' && c <= 'F':
			n = n<<4 | rune(c-'A'+10)
		default:
			return 0, false
		}
	}
	return n, true
}

func (r *reader) quote(s string) {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	enc := json.NewEncoder(&r.out)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string always encodes
	r.out.Truncate(r.out.Len() - 1)
}

// word reads a number, or a name of JSON's or Python's.
func (r *reader) word() bool {
	n := 0
	for r.i+n < len(r.s) && (isIdent(r.s[r.i+n]) || strings.IndexByte("+-.", r.s[r.i+n]) >= 0) {
		n++
	}
	w := r.s[r.i : r.i+n]
	switch w {
	case "True", "true":
		w = "true"
	case "False", "false":
		w = "false"
	case "None", "null":
		w = "null"
	default:
		if w == "" || !json.Valid([]byte(w)) {
			return false
		}
	}
	// At the very end of the text a number may be cut.
	if r.i+n == len(r.s) {
		return false
	}
	r.i += n
	r.out.WriteString(w)
	return true
}

func isIdent(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// ident is the name that s begins with: letters, digits, "_", and "-" within.
func ident(s string) string {
	n := 0
	for n < len(s) && (isIdent(s[n]) || s[n] == '-' && n > 0) {
		n++
	}
	if n == 0 || s[0] >= '0' && s[0] <= '9' {
		return ""
	}
	return s[:n]
}
