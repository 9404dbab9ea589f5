package gitignore

import "strings"

type kind int8

const (
	never  kind = iota // no path can match
	name               // a plain name, at any depth
	suffix             // "*" and a plain rest, at any depth
	glob               // a pattern for the name, at any depth
	path               // a plain path from the list's directory
	paths              // a pattern for the path
)

// rule is one compiled pattern.
type rule struct {
	kind    kind
	negated bool
	dirOnly bool
	text    string    // name, path, or the part that a suffix or paths pattern begins with
	segs    []segment // glob: one; paths: what follows text
}

// segment is a pattern between two slashes; any is "**".
type segment struct {
	any    bool
	tokens []token
}

type token struct {
	op  op
	b   byte
	set *[4]uint64
}

type op int8

const (
	literal op = iota
	one        // ?
	star       // *
	class      // […]
)

// compile makes a rule of one line whose trailing spaces are off. The second
// result says what is wrong with it.
func compile(s string) (rule, string) {
	var r rule
	if strings.HasPrefix(s, "!") {
		r.negated, s = true, s[1:]
	}
	if strings.HasSuffix(s, "/") {
		r.dirOnly, s = true, s[:len(s)-1]
	}
	if s == "" {
		return r, ""
	}
	plain := strings.IndexAny(s, `*?[\`)
	if !strings.Contains(s, "/") {
		switch {
		case plain < 0:
			r.kind, r.text = name, s
			return r, ""
		case plain == 0 && s[0] == '*' && !strings.ContainsAny(s[1:], `*?[\`):
			r.kind, r.text = suffix, s[1:]
			return r, ""
		}
		segs, err := tokenize(s)
		r.kind, r.segs = glob, segs
		for i := range r.segs { // in a name, "**" is one star
			if r.segs[i].any {
				r.segs[i] = segment{tokens: []token{{op: star}}}
			}
		}
		return r, err
	}
	if s[0] == '/' {
		s = s[1:]
		plain--
	}
	if plain < 0 {
		r.kind, r.text = path, s
		return r, ""
	}
	// git compares the plain start of a pattern first and matches the rest by
	// itself; so "a**/b" has a whole "**" in it.
	segs, err := tokenize(s[plain:])
	r.kind, r.text, r.segs = paths, s[:plain], segs
	return r, err
}

func tokenize(s string) ([]segment, string) {
	var segs []segment
	var seg segment
	stars := 0 // stars that the segment consists of so far, -1 when of something else too
	end := func() {
		if stars >= 2 {
			seg = segment{any: true}
		}
		segs = append(segs, seg)
		seg, stars = segment{}, 0
	}
	put := func(t token) {
		seg.tokens = append(seg.tokens, t)
		stars = -1
	}
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '/':
			end()
		case '*':
			if stars >= 0 {
				stars++
			}
			if n := len(seg.tokens); n == 0 || seg.tokens[n-1].op != star {
				seg.tokens = append(seg.tokens, token{op: star})
			}
		case '?':
			put(token{op: one})
		case '[':
			set, next, err := bracket(s, i+1)
			if err != "" {
				return nil, err
			}
			put(token{op: class, set: set})
			i = next
		case '\\':
			i++
			if i == len(s) {
				return nil, "it ends in a backslash that quotes nothing"
			}
			if s[i] == '/' {
				end()
				if segs[len(segs)-1].any { // a quoted slash is never left out with the "**"
					segs = append(segs, segment{tokens: []token{{op: star}}})
				}
				continue
			}
			put(token{op: literal, b: s[i]})
		default:
			put(token{op: literal, b: c})
		}
	}
	end()
	return segs, ""
}

// bracket reads the class whose text begins at s[i], after its "[", and gives
// the place of its closing "]".
func bracket(s string, i int) (*[4]uint64, int, string) {
	const unclosed = "a [ has no closing ]"
	set := new([4]uint64)
	add := func(lo, hi byte) {
		for c := int(lo); c <= int(hi); c++ {
			set[c>>6] |= 1 << (c & 63)
		}
	}
	negated := false
	if i < len(s) && (s[i] == '!' || s[i] == '^') {
		negated = true
		i++
	}
	prev := byte(0) // 0: nothing that a range could begin with
	for first := true; ; first = false {
		if i >= len(s) {
			return nil, 0, unclosed
		}
		c := s[i]
		switch {
		case c == ']' && !first:
			if negated {
				for k := range set {
					set[k] = ^set[k]
				}
			}
			set['/'>>6] &^= 1 << ('/' & 63)
			return set, i, ""
		case c == '\\':
			i++
			if i >= len(s) {
				return nil, 0, unclosed
			}
			c = s[i]
			add(c, c)
			prev = c
		case c == '-' && prev != 0 && i+1 < len(s) && s[i+1] != ']':
			i++
			if s[i] == '\\' {
				i++
				if i >= len(s) {
					return nil, 0, unclosed
				}
			}
			add(prev, s[i])
			prev = 0
		case c == '[' && i+1 < len(s) && s[i+1] == ':':
			end := strings.IndexByte(s[i+2:], ']')
			if end < 0 {
				return nil, 0, unclosed
			}
			word := s[i+2 : i+2+end]
			if !strings.HasSuffix(word, ":") { // an ordinary "["
				add('[', '[')
				prev = '['
				break
			}
			in, ok := classes[strings.TrimSuffix(word, ":")]
			if !ok {
				return nil, 0, "there is no character class [:" + word + "]"
			}
			for b := byte(0); b < 0x80; b++ {
				if in(b) {
					add(b, b)
				}
			}
			i += 2 + end
			prev = 0
		default:
			add(c, c)
			prev = c
		}
		i++
	}
}

var classes = map[string]func(byte) bool{
	"alnum":  func(c byte) bool { return isAlpha(c) || isDigit(c) },
	"alpha":  isAlpha,
	"blank":  func(c byte) bool { return c == ' ' || c == '\t' },
	"cntrl":  func(c byte) bool { return c < 0x20 || c == 0x7f },
	"digit":  isDigit,
	"graph":  isGraph,
	"lower":  isLower,
	"print":  func(c byte) bool { return c >= 0x20 && c < 0x7f },
	"punct":  func(c byte) bool { return isGraph(c) && !isAlpha(c) && !isDigit(c) },
	"space":  func(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' },
	"upper":  isUpper,
	"xdigit": func(c byte) bool { return isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'f' },
}

func isLower(c byte) bool { return c >= 'a' && c <= 'z' }
func isUpper(c byte) bool { return c >= 'A' && c <= 'Z' }
func isAlpha(c byte) bool { return isLower(c | 0x20) }
func isDigit(c byte) bool { return c >= '0' && c <= '9' }
func isGraph(c byte) bool { return c > 0x20 && c < 0x7f }

func (r *rule) match(full, base string) bool {
	switch r.kind {
	case name:
		return base == r.text
	case suffix:
		return strings.HasSuffix(base, r.text)
	case glob:
		return r.segs[0].match(base)
	case path:
		return full == r.text
	case paths:
		return strings.HasPrefix(full, r.text) && matchPath(r.segs, full[len(r.text):])
	default:
		return false
	}
}

// matchPath matches segments against those of a path. As every segment of the
// path is looked at by itself, going back to the last "**" only is enough: the
// time is bounded by segments times length, whatever a hostile file holds.
func matchPath(segs []segment, s string) bool {
	i, rest, done := 0, s, false // done: nothing of the path is left
	back, from, fromDone := -1, "", false
	for {
		if i < len(segs) && segs[i].any {
			if i == len(segs)-1 {
				return !done // a trailing "**" is everything inside, so something
			}
			back, from, fromDone = i, rest, done
			i++
			continue
		}
		if i == len(segs) && done {
			return true
		}
		if i < len(segs) && !done {
			head, tail, more := strings.Cut(rest, "/")
			if segs[i].match(head) {
				i, rest, done = i+1, tail, !more
				continue
			}
		}
		if back < 0 || fromDone {
			return false
		}
		_, tail, more := strings.Cut(from, "/")
		from, fromDone = tail, !more
		i, rest, done = back+1, from, fromDone
	}
}

// match matches one segment with one name.
func (g *segment) match(s string) bool {
	if g.any {
		return true
	}
	t := g.tokens
	i, k := 0, 0
	back, from := -1, 0
	for k < len(s) || i < len(t) {
		if i < len(t) {
			if t[i].op == star {
				if i == len(t)-1 {
					return true
				}
				back, from = i, k
				i++
				continue
			}
			if k < len(s) && t[i].is(s[k]) {
				i, k = i+1, k+1
				continue
			}
		}
		if back < 0 || from >= len(s) {
			return false
		}
		from++
		i, k = back+1, from
	}
	return true
}

func (t *token) is(c byte) bool {
	switch t.op {
	case one:
		return true
	case class:
		return t.set[c>>6]&(1<<(c&63)) != 0
	default:
		return t.b == c
	}
}
