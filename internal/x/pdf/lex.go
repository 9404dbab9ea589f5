package pdf

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
)

// The values of a document. Null is nil, and a boolean a bool.
type (
	name   string
	number string // as it is written
	text   string // a string, of bytes
	word   string // a keyword or an operator
	array  []any
	dict   map[name]any
	ref    struct{ num, gen int }
	stream struct {
		dict dict
		raw  []byte // as it is encoded
	}
)

// lexer reads values. charge is told of the bytes that were read and of how
// many values they made.
type lexer struct {
	b      []byte
	at     int
	refs   bool // "1 0 R" is a reference
	charge func(bytes, values int) error
}

var errEnd = errors.New("it ends too early")

func blank(c byte) bool {
	return c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == '\f' || c == 0
}

func delimiter(c byte) bool { return bytes.IndexByte([]byte("()<>[]{}/%"), c) >= 0 }

func regular(c byte) bool { return !blank(c) && !delimiter(c) }

// skip passes over blanks and comments.
func (l *lexer) skip() {
	for l.at < len(l.b) {
		switch c := l.b[l.at]; {
		case blank(c):
			l.at++
		case c == '%':
			for l.at < len(l.b) && l.b[l.at] != '\n' && l.b[l.at] != '\r' {
				l.at++
			}
		default:
			return
		}
	}
}

// value reads the next value, or the next keyword as a word.
func (l *lexer) value() (any, error) {
	from := l.at
	v, err := l.read(0)
	if cerr := l.charge(l.at-from, 1); err == nil {
		err = cerr
	}
	return v, err
}

func (l *lexer) read(depth int) (any, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("it is nested more than %d levels deep", maxDepth)
	}
	l.skip()
	if l.at >= len(l.b) {
		return nil, errEnd
	}
	switch c := l.b[l.at]; {
	case c == '/':
		return l.name(), nil
	case c == '(':
		return l.literal()
	case c == '<' && l.at+1 < len(l.b) && l.b[l.at+1] == '<':
		l.at += 2
		return l.dict(depth)
	case c == '<':
		return l.hex()
	case c == '[':
		l.at++
		return l.array(depth)
	case !regular(c):
		l.at++
		if c == '>' && l.at < len(l.b) && l.b[l.at] == '>' {
			l.at++
			return word(">>"), nil
		}
		return word(c), nil
	}
	from := l.at
	for l.at < len(l.b) && regular(l.b[l.at]) {
		l.at++
	}
	s := string(l.b[from:l.at])
	switch {
	case s == "null":
		return nil, nil
	case s == "true", s == "false":
		return s == "true", nil
	case numeric(s):
		if l.refs {
			if r, ok := l.ref(s); ok {
				return r, nil
			}
		}
		return number(s), nil
	}
	return word(s), nil
}

// numeric reports whether s is a number, which has no exponent here.
func numeric(s string) bool {
	digits := false
	for i := range len(s) {
		switch c := s[i]; {
		case '0' <= c && c <= '9':
			digits = true
		case c != '.' && c != '-' && (c != '+' || i > 0):
			return false
		}
	}
	return digits
}

// ref reads the rest of a reference that begins with the number s.
func (l *lexer) ref(s string) (ref, bool) {
	num, err := strconv.Atoi(s)
	if err != nil || num < 0 || len(s) > 10 {
		return ref{}, false
	}
	at := l.at
	blanks := func() bool {
		from := at
		for at < len(l.b) && blank(l.b[at]) {
			at++
		}
		return at > from
	}
	if !blanks() {
		return ref{}, false
	}
	from := at
	for at < len(l.b) && at-from < 6 && '0' <= l.b[at] && l.b[at] <= '9' {
		at++
	}
	gen, err := strconv.Atoi(string(l.b[from:at]))
	if err != nil || !blanks() || at >= len(l.b) || l.b[at] != 'R' || at+1 < len(l.b) && regular(l.b[at+1]) {
		return ref{}, false
	}
	l.at = at + 1
	return ref{num, gen}, true
}

func (l *lexer) name() name {
	l.at++
	var out []byte
	for l.at < len(l.b) && regular(l.b[l.at]) {
		c := l.b[l.at]
		if c == '#' && l.at+2 < len(l.b) {
			if n, err := strconv.ParseUint(string(l.b[l.at+1:l.at+3]), 16, 8); err == nil {
				c = byte(n)
				l.at += 2
			}
		}
		out = append(out, c)
		l.at++
	}
	return name(out)
}

// literal reads a string in parentheses.
func (l *lexer) literal() (text, error) {
	var out []byte
	open := 0
	for l.at < len(l.b) {
		c := l.b[l.at]
		l.at++
		switch c {
		case '(':
			if open++; open == 1 {
				continue
			}
		case ')':
			if open--; open == 0 {
				return text(out), nil
			}
		case '\\':
			var ok bool
			if c, ok = l.escape(); !ok {
				continue
			}
		case '\r':
			if l.at < len(l.b) && l.b[l.at] == '\n' {
				l.at++
			}
			c = '\n'
		}
		out = append(out, c)
	}
	return "", errEnd
}

// escape reads what follows a backslash; ok is false if it stands for nothing.
func (l *lexer) escape() (c byte, ok bool) {
	if l.at >= len(l.b) {
		return 0, false
	}
	c = l.b[l.at]
	l.at++
	switch c {
	case 'n':
		return '\n', true
	case 'r':
		return '\r', true
	case 't':
		return '\t', true
	case 'b':
		return '\b', true
	case 'f':
		return '\f', true
	case '\n':
		return 0, false
	case '\r':
		if l.at < len(l.b) && l.b[l.at] == '\n' {
			l.at++
		}
		return 0, false
	}
	if c < '0' || c > '7' {
		return c, true
	}
	n := int(c - '0')
	for i := 0; i < 2 && l.at < len(l.b) && '0' <= l.b[l.at] && l.b[l.at] <= '7'; i++ {
		n = n<<3 | int(l.b[l.at]-'0')
		l.at++
	}
	return byte(n), true
}

// hex reads a string in angle brackets.
func (l *lexer) hex() (text, error) {
	end := bytes.IndexByte(l.b[l.at:], '>')
	if end < 0 {
		l.at = len(l.b)
		return "", errEnd
	}
	out := unhex(l.b[l.at+1 : l.at+end])
	l.at += end + 1
	return text(out), nil
}

// unhex decodes hexadecimal digits; what is none is passed over, and a last
// digit that stands alone is followed by a 0.
func unhex(b []byte) []byte {
	out := make([]byte, 0, len(b)/2+1)
	half, n := byte(0), 0
	for _, c := range b {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			continue
		}
		if n++; n%2 == 0 {
			out = append(out, half<<4|c)
		}
		half = c
	}
	if n%2 == 1 {
		out = append(out, half<<4)
	}
	return out
}

func (l *lexer) array(depth int) (array, error) {
	var out array
	for {
		v, err := l.read(depth + 1)
		if err != nil {
			return nil, err
		}
		if w, ok := v.(word); ok {
			if w == "]" {
				return out, nil
			}
			return nil, fmt.Errorf("%.20q is in an array", w)
		}
		if err := l.charge(0, 1); err != nil {
			return nil, err
		}
		out = append(out, v)
	}
}

func (l *lexer) dict(depth int) (dict, error) {
	out := dict{}
	for {
		k, err := l.read(depth + 1)
		if err != nil {
			return nil, err
		}
		if k == word(">>") {
			return out, nil
		}
		key, ok := k.(name)
		if !ok {
			return nil, fmt.Errorf("%.20q is a key in a dictionary", fmt.Sprint(k))
		}
		v, err := l.read(depth + 1)
		if err != nil {
			return nil, err
		}
		if v == word(">>") {
			return out, nil
		}
		if w, ok := v.(word); ok {
			return nil, fmt.Errorf("%.20q is in a dictionary", w)
		}
		if err := l.charge(0, 3); err != nil {
			return nil, err
		}
		if v != nil {
			out[key] = v
		}
	}
}

// integer is v as a whole number; 0 if it is none.
func integer(v any) int {
	n, _ := strconv.Atoi(string(asNumber(v)))
	return n
}

// float is v as a number; 0 if it is none.
func float(v any) float64 {
	f, err := strconv.ParseFloat(string(asNumber(v)), 64)
	if err != nil || f != f || f > 1e12 || f < -1e12 {
		return 0
	}
	return f
}

func asNumber(v any) number {
	n, _ := v.(number)
	return n
}
