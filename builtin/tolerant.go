package builtin

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// tolerance is what a match may differ in, one step further each.
var tolerance = []struct {
	what string
	find func(text, old string) found
}{
	{"line ends", func(t, o string) found { return findFolded(t, o, folding{}, false) }},
	{"blanks at the ends of lines", func(t, o string) found { return findFolded(t, o, folding{blanks: true}, false) }},
	{"typographic quotes, dashes and blanks", func(t, o string) found { return findFolded(t, o, folding{blanks: true, plain: true}, false) }},
	{"indentation", findIndented},
}

// folding says what is folded away before texts are compared; line ends are,
// always.
type folding struct{ blanks, plain bool }

// folded is a text after folding, and for each byte of it from where to where
// what it stands for was.
type folded struct {
	text     []byte
	from, to []int
}

func (f folding) fold(s string, sep byte) folded {
	var out folded
	put := func(c string, from, to int) {
		for i := range len(c) {
			out.text = append(out.text, c[i])
			out.from = append(out.from, from)
			out.to = append(out.to, to)
		}
	}
	strip := func() {
		n := len(out.text)
		for f.blanks && n > 0 && (out.text[n-1] == ' ' || out.text[n-1] == '\t') {
			n--
		}
		out.text, out.from, out.to = out.text[:n], out.from[:n], out.to[:n]
	}
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case strings.HasPrefix(s[i:], "\r\n"):
			n = 2
			strip()
			put("\n", i, i+n)
		case r == '\n', r == '\r' && sep == '\r':
			strip()
			put("\n", i, i+n)
		case f.plain && r >= utf8.RuneSelf && n > 1:
			put(plainRune(r), i, i+n)
		default: // also bytes that are no UTF-8
			put(s[i:i+n], i, i+n)
		}
		i += n
	}
	strip()
	return out
}

func findFolded(text, old string, f folding, all bool) found {
	t, o := f.fold(text, separator(text)), f.fold(old, '\n')
	want := string(o.text)
	if strings.TrimSpace(want) == "" {
		return found{}
	}
	// Blanks that were folded away at the very end were meant to be followed by
	// the end of the line.
	last, _ := utf8.DecodeLastRuneInString(old)
	atEnd := f.blanks && last != '\n' && unicode.IsSpace(last)
	out := found{old: old}
	hay := string(t.text)
	for _, s := range allOf(hay, want, all) {
		if atEnd && s[1] < len(hay) && hay[s[1]] != '\n' {
			continue
		}
		// A match must not begin or end within a character.
		if s[0] > 0 && t.from[s[0]] == t.from[s[0]-1] || s[1] < len(hay) && t.from[s[1]] == t.from[s[1]-1] {
			continue
		}
		out.spans = append(out.spans, [2]int{t.from[s[0]], t.to[s[1]-1]})
	}
	return out
}

// findIndented finds whole lines that are indented otherwise than those of
// old, all by the same difference.
func findIndented(text, old string) found {
	sep := separator(text)
	ended := strings.HasSuffix(old, "\n")
	want := strings.Split(strings.ReplaceAll(strings.TrimSuffix(old, "\n"), "\r\n", "\n"), "\n")
	lines := endedLines(text, sep)
	starts := make([]int, len(lines)+1)
	for i, l := range lines {
		starts[i+1] = starts[i] + len(l)
	}
	bare := func(s string) string { return plainText(strings.TrimSpace(s)) }
	trimmed := make([]string, len(want))
	for i, w := range want {
		trimmed[i] = bare(w)
	}
	keys := make([]string, len(lines))
	for i, l := range lines {
		keys[i] = bare(l)
	}
	out := found{old: old}
	for i := 0; i+len(want) <= len(lines); i++ {
		same := true
		for k := 0; same && k < len(want); k++ {
			same = keys[i+k] == trimmed[k]
		}
		if !same {
			continue
		}
		end := starts[i+len(want)]
		if !ended {
			end -= len(endOf(lines[i+len(want)-1]))
		}
		out.spans = append(out.spans, [2]int{starts[i], end})
		out.shift = shiftOf(lines[i:i+len(want)], want)
	}
	if len(out.spans) == 1 && out.shift == nil {
		return found{} // its lines are indented without any order
	}
	return out
}

// shiftOf returns how to indent a line of a replacement so that it fits lines
// that are indented otherwise than want, by the same difference in every line;
// nil if there is no such.
func shiftOf(lines, want []string) func(string) string {
	var have, given []string
	for i, w := range want {
		if strings.TrimSpace(w) != "" {
			have, given = append(have, indentOf(lines[i])), append(given, indentOf(w))
		}
	}
	for _, try := range []func(have, given []string) func(string) string{shiftByPrefix, shiftByUnit} {
		if f := try(have, given); f != nil {
			return func(l string) string {
				if strings.TrimSpace(l) == "" {
					return l
				}
				in := indentOf(l)
				return f(in) + l[len(in):]
			}
		}
	}
	return nil
}

// shiftByPrefix is for lines that have all one more, or one less, indentation
// in front.
func shiftByPrefix(have, given []string) func(string) string {
	more, okMore := strings.CutSuffix(have[0], given[0])
	less, okLess := strings.CutSuffix(given[0], have[0])
	for i := range have {
		okMore = okMore && have[i] == more+given[i]
		okLess = okLess && given[i] == less+have[i]
	}
	switch {
	case okMore:
		return func(in string) string { return more + in }
	case okLess:
		return func(in string) string { return strings.TrimPrefix(in, less) }
	}
	return nil
}

// shiftByUnit is for lines that are indented by tabs on one side and by blanks
// on the other, with the same number of blanks for a tab throughout.
func shiftByUnit(have, given []string) func(string) string {
	for _, n := range []int{4, 2, 8, 3} {
		blanks := strings.Repeat(" ", n)
		toTabs := func(in string) string { return strings.ReplaceAll(in, blanks, "\t") }
		toBlanks := func(in string) string { return strings.ReplaceAll(in, "\t", blanks) }
		for _, f := range []func(string) string{toTabs, toBlanks} {
			ok := true
			for i := range have {
				ok = ok && f(given[i]) == have[i]
			}
			if ok {
				return f
			}
		}
	}
	return nil
}

func indentOf(s string) string { return s[:len(s)-len(strings.TrimLeft(s, " \t"))] }

// plainText puts the plain form of typographic characters.
func plainText(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r >= utf8.RuneSelf && n > 1 {
			b.WriteString(plainRune(r))
		} else {
			b.WriteString(s[i : i+n])
		}
		i += n
	}
	return b.String()
}

// plainRune is the plain form of a character.
func plainRune(r rune) string {
	switch r {
	case '\u2018', '\u2019', '\u201A', '\u201B', '\u2032':
		return "'"
	case '\u201C', '\u201D', '\u201E', '\u201F', '\u2033':
		return `"`
	case '\u2010', '\u2011', '\u2012', '\u2013', '\u2014', '\u2015', '\u2212':
		return "-"
	case '\u2026':
		return "..."
	}
	if unicode.Is(unicode.Zs, r) {
		return " "
	}
	return string(r)
}

// nearMax bounds what a refusal says, in bytes.
const nearMax = 590

// notFound says where text comes nearest to old.
func notFound(text, old string) error {
	want := strings.Split(strings.ReplaceAll(old, "\r\n", "\n"), "\n")
	if numbered(want) {
		return errors.New("old_string was not found: it begins its lines with the line numbers that Read puts there, which are not in the file: leave them out")
	}
	if strings.Contains(old, "\uFFFD") && !strings.Contains(text, "\uFFFD") {
		return errors.New("old_string was not found: it holds \uFFFD, which stands for bytes that cannot be shown: choose text without them")
	}
	lines := strings.Split(text, string(separator(text)))
	start := nearest(lines, want)
	if start < 0 {
		return errors.New("old_string was not found in the file, nor anything like it: read the file again")
	}
	k := 0
	for k < len(want)-1 && start+k < len(lines) && strings.TrimSuffix(lines[start+k], "\r") == want[k] {
		k++
	}
	n := min(start+k, len(lines)-1)
	have, given := strings.TrimSuffix(lines[n], "\r"), want[k]
	at := 0
	for at < len(have) && at < len(given) && have[at] == given[at] {
		at++
	}
	for at > 0 && (at < len(have) && !utf8.RuneStart(have[at]) || at < len(given) && !utf8.RuneStart(given[at])) {
		at--
	}
	quoted := func(s string) string {
		if s == "" {
			return "the end of the line"
		}
		return cut(fmt.Sprintf("%q", cut(s, 20)), 60)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "old_string was not found. The nearest is on line %d; line %d differs from character %d on: the file has %s, old_string has %s\n",
		start+1, n+1, 1+utf8.RuneCountInString(have[:at]), quoted(have[at:]), quoted(given[at:]))
	for i := max(n-2, 0); i < min(n+3, len(lines)); i++ {
		l := fmt.Sprintf("%6d\t%s\n", i+1, cut(printable(strings.TrimSuffix(lines[i], "\r")), 80))
		if b.Len()+len(l) > nearMax {
			break
		}
		b.WriteString(l)
	}
	return errors.New(strings.TrimRight(b.String(), "\n"))
}

// numbered reports whether all lines begin as Read shows them.
func numbered(lines []string) bool {
	some := false
	for _, l := range lines {
		if l == "" {
			continue
		}
		num, _, ok := strings.Cut(l, "\t")
		num = strings.TrimLeft(num, " ")
		if !ok || num == "" || strings.Trim(num, "0123456789") != "" {
			return false
		}
		some = true
	}
	return some
}

// nearest is the line at which most of the wanted lines are where they should
// be, or else the one most like the first of them; -1 if none is.
func nearest(lines, want []string) int {
	const looked = 200_000
	lines = lines[:min(len(lines), looked)]
	at := map[string]int{}
	for i, w := range want {
		if w = strings.TrimSpace(w); len(w) > 2 {
			if _, ok := at[w]; !ok {
				at[w] = i
			}
		}
	}
	votes := map[int]int{}
	best, most := -1, 0
	for i, l := range lines {
		k, ok := at[strings.TrimSpace(l)]
		if !ok || i < k {
			continue
		}
		if votes[i-k]++; votes[i-k] > most {
			best, most = i-k, votes[i-k]
		}
	}
	if best >= 0 {
		return best
	}
	first, skip := "", 0
	for i, w := range want {
		if first = strings.TrimSpace(w); first != "" {
			skip = i
			break
		}
	}
	first = cut(first, readColumn)
	for i, l := range lines {
		if n := alike(cut(strings.TrimSpace(l), readColumn), first); n > most && i >= skip {
			best, most = i-skip, n
		}
	}
	if most*2 < len(first) {
		return -1
	}
	return best
}

// alike is the length of the common start and end of a and b.
func alike(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	m := 0
	for m < len(a)-n && m < len(b)-n && a[len(a)-1-m] == b[len(b)-1-m] {
		m++
	}
	return n + m
}
