package guard

import "strings"

// A span is what is to be replaced in a text.
type span struct {
	start, end int
	name       string
	part       bool // of the key
}

// reach is how long a line break or an escaped character may be, with what
// begins the next line.
const reach = 48

// scan finds the keys in text, from its beginning on. Where more is to come,
// which is where final is not set, a key may begin at hold that does not end in
// text; else hold is the text's length.
func (f *finder) scan(text string, final bool) (spans []span, hold int) {
	s, width := int32(0), f.width
	done := 0
	for i := 0; i < len(text); {
		b := text[i]
		if special[b] {
			if !final && len(text)-i <= reach && (s != 0 || b == '\\' || b == '%') && unfinished(text[i:]) {
				return spans, f.held(text, s, i)
			}
			s, i = f.step(text, s, i)
		} else {
			s = f.next[int(s)*width+int(f.class[b])]
			i++
		}
		if s < f.leaf {
			continue
		}
		sp, wait := f.found(text, s, i, done, final)
		switch {
		case wait >= 0:
			return spans, wait
		case sp.end > 0:
			spans = append(spans, sp)
			s, i, done = 0, sp.end, sp.end
		}
	}
	if final || s == 0 {
		return spans, len(text)
	}
	return spans, f.held(text, s, len(text))
}

// held is where that begins which has led to the state s at i. One character at
// the end of a line is no reason to wait for the next one.
func (f *finder) held(text string, s int32, i int) int {
	if s == 0 {
		return i
	}
	if rest := text[i:]; len(f.path[s]) < 2 && (rest == "\n" || rest == "\r\n") {
		return len(text)
	}
	return f.begin(text, s, i)
}

// step is scan's for a byte that may begin an escaped character or a line break.
// Of the ways to read it the one counts that leads furthest.
func (f *finder) step(text string, s int32, i int) (int32, int) {
	best, end := f.next[int(s)*f.width+int(f.class[text[i]])], i+1
	try := func(c byte, j, least int) {
		t := f.next[int(s)*f.width+int(f.class[c])]
		if d := len(f.path[t]); d >= least && d > len(f.path[best]) {
			best, end = t, j
		}
	}
	if c, n := f.escape(text, i); n > 0 {
		if t := f.next[int(s)*f.width+int(f.class[c])]; t != 0 && len(f.path[t]) >= len(f.path[best]) {
			best, end = t, i+n
		}
	}
	if s == 0 {
		return best, end
	}
	if j := lineBreak(text, i); j > 0 {
		for _, q := range lineStarts(text, j) {
			if q == len(text) {
				continue
			}
			try(text[q], q+1, 2)
			if c, n := f.escape(text, q); n > 0 {
				try(c, q+n, 2)
			}
		}
	}
	return best, end
}

// begin is where that begins which ends at i and has led to the state s.
func (f *finder) begin(text string, s int32, i int) int {
	j := f.beginChar(text, s, i)
	for k := max(0, j-12); k < j; k++ { // its first character may be escaped
		if text[k] != '%' && text[k] != '\\' {
			continue
		}
		if c, n := f.escape(text, k); k+n == j+1 && c == f.path[s][0] {
			return k
		}
	}
	return j
}

func (f *finder) beginChar(text string, s int32, i int) int {
	path := f.path[s]
	if strings.HasSuffix(text[:i], path) {
		return i - len(path)
	}
	for j := i - len(path); j >= 0 && j >= i-len(path)*reach; j-- {
		if n, end := f.match(path, exact, text, j, false, false); n == len(path) && end == i {
			return j
		}
		if n, end := f.match(path, exact, text, j, true, false); n == len(path) && end == i {
			return j
		}
	}
	return i - len(path)
}

// found looks at what begins, with the anchors of the state s, before i. Without
// a span it is nothing; with wait 0 or more it begins there and may be a key,
// if more comes.
func (f *finder) found(text string, s int32, i, done int, final bool) (sp span, wait int) {
	start, wait := f.begin(text, s, i), -1
	for _, a := range f.ends[s-f.leaf] {
		want := a.form.text[a.from:]
		n, end := f.match(want, a.form.fold, text, start, false, !final)
		if m, e := f.match(want, a.form.fold, text, start, true, !final); m > n {
			n, end = m, e
		}
		if n < len(want) {
			if !final && (end == len(text) || len(text)-end <= reach && unfinished(text[end:])) {
				wait = start
			}
			if a.from > 0 || n < a.form.least {
				continue
			}
		}
		got := span{start, end, a.form.name, n < len(a.form.text)}
		if got.end-got.start > sp.end-sp.start || got.part != sp.part && !got.part {
			sp = got
			for k := a.from; k > 0 && sp.start > done && text[sp.start-1] == a.form.text[k-1]; k-- {
				sp.start--
			}
		}
	}
	if sp.end > 0 && !sp.part {
		wait = -1
	}
	if wait >= 0 {
		return span{}, wait
	}
	// What escapes its first character goes too: a backslash before a bracket
	// would be wrong.
	for sp.start > done && strings.IndexByte(`"'/\`, text[sp.start]) >= 0 && text[sp.start-1] == '\\' {
		sp.start--
	}
	return sp, -1
}

// match compares want with what begins at i, whose characters may be escaped
// and between which lines may be broken. It returns how many are there, and
// where the last one ends. With raw, a character is first taken as it stands,
// and else as what it escapes, if it can be either. With more, the text goes on.
func (f *finder) match(want string, as fold, text string, i int, raw, more bool) (n, end int) {
	one := func(i int, c byte) int {
		if i >= len(text) {
			return -1
		}
		b := text[i]
		if b != '%' && b != '\\' || raw {
			if as.equal(b, c) {
				return i + 1
			}
		}
		if e, n := f.escape(text, i); n > 0 && as.equal(e, c) {
			return i + n
		}
		if as.equal(b, c) {
			return i + 1
		}
		return -1
	}
	for end = i; n < len(want); n++ {
		if more && end < len(text) && len(text)-end <= reach && special[text[end]] && unfinished(text[end:]) {
			break
		}
		j := one(end, want[n])
		if j < 0 && n > 0 && end < len(text) && special[text[end]] {
			if b := lineBreak(text, end); b > 0 {
				for _, q := range lineStarts(text, b) {
					if j < 0 {
						j = one(q, want[n])
					}
				}
			}
		}
		if j < 0 {
			break
		}
		end = j
	}
	return n, end
}

// escape is that of a finder which looks at escaped characters.
func (f *finder) escape(text string, i int) (c byte, n int) {
	if f.literal || text[i] != '%' && text[i] != '\\' {
		return 0, 0
	}
	return escape(text, i)
}

// escape is the character that is written at i as in a URL (%2F), in JSON (\/,
// \u002f) or in a shell (\x2f), also when that was escaped again; n is its
// length, 0 if there is none.
func escape(text string, i int) (c byte, n int) {
	if text[i] == '%' {
		c, ok := hexes(text, i+1, 2)
		for n = 3; ok && c == '%'; n += 2 {
			if c, ok = hexes(text, i+n, 2); !ok {
				return '%', n
			}
		}
		if !ok {
			return 0, 0
		}
		return c, n
	}
	if text[i] != '\\' {
		return 0, 0
	}
	j := i
	for j < len(text) && text[j] == '\\' && j-i < 8 {
		j++
	}
	if j == len(text) {
		return 0, 0
	}
	switch b := text[j]; {
	case b == 'u' || b == 'x':
		digits := 4
		if b == 'x' {
			digits = 2
		}
		if c, ok := hexes(text, j+1, digits); ok {
			return c, j + 1 + digits - i
		}
	case b > ' ' && b < 0x7f && !alnum(b):
		return b, j + 1 - i
	}
	if j-i >= 2 {
		return '\\', 2
	}
	return 0, 0
}

func alnum(b byte) bool {
	return '0' <= b && b <= '9' || 'a' <= b|0x20 && b|0x20 <= 'z'
}

// hexes reads a character that can be in a key from n digits.
func hexes(text string, i, n int) (byte, bool) {
	if i+n > len(text) {
		return 0, false
	}
	v := 0
	for _, b := range []byte(text[i : i+n]) {
		switch {
		case '0' <= b && b <= '9':
			v = v<<4 | int(b-'0')
		case 'a' <= b|0x20 && b|0x20 <= 'f':
			v = v<<4 | int(b|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return byte(v), v >= ' ' && v < 0x7f
}

// lineBreak is where the line break at i ends, 0 if there is none: as it is,
// after a backslash, or escaped as in JSON or a URL.
func lineBreak(text string, i int) int {
	rest := text[i:]
	head := rest[:min(len(rest), 8)]
	slashes := len(head) - len(strings.TrimLeft(head, `\`))
	for _, nl := range [...]string{"\r\n", "\n", "\r"} {
		if slashes <= 1 && strings.HasPrefix(rest[slashes:], nl) {
			return i + slashes + len(nl)
		}
	}
	if slashes > 0 {
		esc := rest[:slashes]
		for _, nl := range [...]string{esc + "r" + esc + "n", esc + "n", esc + "r"} {
			if strings.HasPrefix(rest, nl) {
				return i + len(nl)
			}
		}
	}
	if slashes == 0 && rest[0] == '%' {
		for _, nl := range [...]string{"%0D%0A", "%0d%0a", "%0A", "%0a"} {
			if strings.HasPrefix(rest, nl) {
				return i + len(nl)
			}
		}
	}
	return 0
}

// lineStarts are where a line that begins at i may be said to begin: after
// a line's number, as Read, Grep and cat -n write it; where it does; after
// blanks; or after a mark, as of diff.
func lineStarts(text string, i int) [4]int {
	rest := text[i:min(len(text), i+reach/2)]
	blanks := func(j int) int { return j + len(rest[j:]) - len(strings.TrimLeft(rest[j:], " \t")) }
	blank := blanks(0)
	j := blank
	for j < len(rest) && '0' <= rest[j] && rest[j] <= '9' {
		j++
	}
	number, mark := 0, blank
	if j < len(rest) && strings.IndexByte("\t:|+->#*", rest[j]) >= 0 {
		if j > blank {
			number = blanks(j + 1)
		} else {
			mark = blanks(j + 1)
		}
	}
	return [4]int{i + number, i, i + blank, i + mark}
}

// unfinished reports whether what a text ends with may be the beginning of an
// escaped character or of a line break with what follows it.
func unfinished(rest string) bool {
	if j := lineBreak(rest, 0); j > 0 {
		for _, c := range []byte(rest[j:]) {
			if strings.IndexByte(" \t\r\n0123456789:|+->#*%\\", c) < 0 {
				return false
			}
		}
		return true
	}
	switch tail := strings.TrimLeft(rest, `\`); {
	case rest[0] == '%':
		return len(rest) <= 5 && strings.Trim(rest, "%0123456789abcdefABCDEF") == "" && (len(rest) < 3 || rest[:3] == "%25" || strings.EqualFold(rest[:3], "%0D"))
	case tail == "" || len(tail) == len(rest):
		return tail == ""
	case tail[0] == 'u':
		return len(tail) < 5
	case tail[0] == 'x':
		return len(tail) < 3
	}
	return false
}
