package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// span is a part of a text, in bytes.
type span struct{ Start, End int }

// Text that is approved is shown so that it can be read back exactly. What a
// terminal would act on, hide, reorder or show as another character is written
// as its number, <U+202E>, and a byte that is no character as <0xFF>; blanks
// that push text away as their count, <412 blanks>; a tab as an arrow. Where
// the text itself has such a mark, its first character is written as a number.
const tabMark = "⇥   "

// revealing says how a text is revealed.
type revealing struct {
	// source is text in which typographic quotes, words of other scripts and
	// columns of blanks are usual: what a file will hold, not what will run.
	source bool
	// marks are what stands around the spans; "" is for a terminal with colours.
	open, shut string
	line       bool // ends of lines are written as marks too
}

// cell is what one place of the source became.
type cell struct {
	text string
	wide int  // columns
	on   bool // in a span
	end  bool // a line of the source ends
	soft bool // a line that is shown ends here, and none of the source
}

// oddness is what was found that does not show as it is.
type oddness struct {
	hidden int // characters that show nothing, or act on the terminal
	alike  int // that look like others
	blanks int // blanks that are shown as their count
}

// String says it, or "".
func (o oddness) String() string {
	var out []string
	say := func(n int, one, many string) {
		switch {
		case n == 1:
			out = append(out, "1 "+one)
		case n > 1:
			out = append(out, fmt.Sprintf("%d %s", n, many))
		}
	}
	say(o.hidden, "hidden character, which is written as its number", "hidden characters, which are written as their numbers")
	say(o.alike, "character that looks like another one, and is written as its number", "characters that look like others, and are written as their numbers")
	say(o.blanks, "blank of padding, which is written as a count", "blanks of padding, which are written as counts")
	return strings.Join(out, "; ")
}

func (o oddness) plus(p oddness) oddness {
	return oddness{o.hidden + p.hidden, o.alike + p.alike, o.blanks + p.blanks}
}

// revealer turns a text into cells.
type revealer struct {
	revealing
	s     string
	spans []span // apart from each other, in order; what is passed is taken off
	out   []cell
	odd   oddness
	word  int // where the last word that was looked at ends
	mixed bool
	pure  bool // all letters of it look like others
}

// reveal makes cells of s.
func (how revealing) reveal(s string, spans []span) ([]cell, oddness) {
	r := &revealer{revealing: how, s: s, spans: apart(spans)}
	for i := 0; i < len(s); {
		c, n := utf8.DecodeRuneInString(s[i:])
		if c == ' ' || c == '\t' || c == '\n' {
			i = r.blanks(i)
			continue
		}
		r.character(c, n, i)
		i += n
	}
	return r.out, r.odd
}

// apart puts spans in order, those together that touch.
func apart(spans []span) []span {
	spans = slices.Clone(spans)
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.Start, b.Start) })
	var out []span
	for _, s := range spans {
		switch n := len(out) - 1; {
		case s.End <= s.Start:
		case n >= 0 && s.Start <= out[n].End:
			out[n].End = max(out[n].End, s.End)
		default:
			out = append(out, s)
		}
	}
	return out
}

// within reports whether any of the bytes from…to is of a span. It is asked in the
// order of the text.
func (r *revealer) within(from, to int) bool {
	for len(r.spans) > 0 && r.spans[0].End <= from {
		r.spans = r.spans[1:]
	}
	return len(r.spans) > 0 && r.spans[0].Start < to
}

func (r *revealer) put(text string, from, to int) {
	r.out = append(r.out, cell{text: text, wide: columns(text), on: r.within(from, to)})
}

// The most columns of blanks that are shown as they are.
const (
	maxPadding      = 8
	maxIndent       = 32
	maxSourceColumn = 48
	maxLineEnds     = 3
)

// blanks takes the run of blanks, tabs and ends of lines at i, and returns where
// it ends.
func (r *revealer) blanks(i int) int {
	end, ends := i, 0
	for end < len(r.s) && (r.s[end] == ' ' || r.s[end] == '\t' || r.s[end] == '\n') {
		if r.s[end] == '\n' {
			ends++
		}
		end++
	}
	if ends > maxLineEnds && !r.line {
		r.out = append(r.out, cell{soft: true})
		r.counted(i, end)
		r.out = append(r.out, cell{soft: true})
		return end
	}
	for i < end {
		if r.s[i] == '\n' {
			if r.line {
				r.put("⏎", i, i+1)
			} else {
				r.out = append(r.out, cell{end: true, on: r.within(i, i+1)})
			}
			i++
			continue
		}
		most := maxPadding
		if r.source {
			most = maxSourceColumn
		} else if i == 0 || r.s[i-1] == '\n' {
			most = maxIndent
		}
		to, wide := i, 0
		for to < end && r.s[to] != '\n' {
			wide++
			if r.s[to] == '\t' {
				wide += len(tabMark) - len("⇥")
			}
			to++
		}
		if wide > most {
			r.counted(i, to)
		} else {
			for ; i < to; i++ {
				switch {
				case r.s[i] == ' ':
					r.put(" ", i, i+1)
				case r.line:
					r.put("<U+0009>", i, i+1)
				default:
					r.put(tabMark, i, i+1)
				}
			}
		}
		i = to
	}
	return end
}

// counted writes blanks as their counts.
func (r *revealer) counted(i, end int) {
	for i < end {
		to := i
		for to < end && r.s[to] == r.s[i] {
			to++
		}
		n := to - i
		name := map[byte]string{' ': "blank", '\t': "tab", '\n': "line end"}[r.s[i]]
		if n > 1 {
			name += "s"
		}
		r.odd.blanks += n
		r.put(fmt.Sprintf("<%d %s>", n, name), i, to)
		i = to
	}
}

func (r *revealer) character(c rune, n, i int) {
	number := func() { r.put(fmt.Sprintf("<U+%04X>", c), i, i+n) }
	switch {
	case c == utf8.RuneError && n == 1:
		r.odd.hidden++
		r.put(fmt.Sprintf("<0x%02X>", r.s[i]), i, i+n)
	case hides(c), r.stacked(c, i):
		r.odd.hidden++
		number()
	case c < utf8.RuneSelf:
		if c == '<' && isMark(r.s[i:]) {
			number()
		} else {
			r.put(r.s[i:i+n], i, i+n)
		}
	case r.alike(c, i):
		r.odd.alike++
		number()
	case r.mark(c):
		number()
	default:
		r.put(r.s[i:i+n], i, i+n)
	}
}

// mark reports whether c is one of those that marks are made of.
func (r *revealer) mark(c rune) bool {
	return c == '⇥' || c == '⏎' && r.line || strings.ContainsRune(r.open+r.shut, c)
}

// isMark reports whether s, which begins with a <, could be taken for a mark.
func isMark(s string) bool {
	if strings.HasPrefix(s, "<U+") || strings.HasPrefix(s, "<0x") {
		return true
	}
	rest := strings.TrimLeft(s[1:], "0123456789")
	if len(rest) == len(s)-1 {
		return false
	}
	return strings.HasPrefix(rest, " blank") || strings.HasPrefix(rest, " tab") || strings.HasPrefix(rest, " line end")
}

// hides reports whether a terminal would act on c, or show nothing or an
// ordinary blank for it.
func hides(c rune) bool {
	return c != ' ' && (!unicode.IsGraphic(c) || unicode.Is(unicode.Zs, c) || blank(c))
}

// maxStacked bounds the accents on one letter.
const maxStacked = 3

// stacked reports whether c would be drawn over what is no letter, or over what
// has accents enough.
func (r *revealer) stacked(c rune, i int) bool {
	if !unicode.IsMark(c) {
		return false
	}
	for n := 0; n < maxStacked && i > 0; n++ {
		was, size := utf8.DecodeLastRuneInString(r.s[:i])
		switch {
		case unicode.IsLetter(was):
			return false
		case !unicode.IsMark(was):
			return true
		}
		i -= size
	}
	return true
}

// alike reports whether c could be taken for another character: one that means
// something to a shell, or a letter in a word of another script.
func (r *revealer) alike(c rune, i int) bool {
	if !r.source && signLike(c) {
		return true
	}
	if !letterLike(c) {
		return false
	}
	if i >= r.word {
		r.wordAt(i)
	}
	return r.mixed || r.pure && !r.source
}

// wordAt looks at the word around i.
func (r *revealer) wordAt(i int) {
	in := func(c rune) bool { return unicode.IsLetter(c) || unicode.IsMark(c) }
	from := i
	for from > 0 {
		c, n := utf8.DecodeLastRuneInString(r.s[:from])
		if !in(c) {
			break
		}
		from -= n
	}
	r.mixed, r.pure = false, true
	for r.word = from; r.word < len(r.s); {
		c, n := utf8.DecodeRuneInString(r.s[r.word:])
		if !in(c) {
			break
		}
		r.mixed = r.mixed || c < utf8.RuneSelf
		r.pure = r.pure && letterLike(c)
		r.word += n
	}
}

// columns is how wide a text is, or more.
func columns(s string) int {
	n := 0
	for _, c := range s {
		n++
		if c >= 0x1100 && (c <= 0x115F || c >= 0x2E80 && c <= 0xA4CF || c >= 0xA960 && c <= 0xA97F || c >= 0xAC00 && c <= 0xD7A3 ||
			c >= 0xF900 && c <= 0xFAFF || c >= 0xFE30 && c <= 0xFE6F || c >= 0xFF00 && c <= 0xFF60 || c >= 0xFFE0 && c <= 0xFFE6 ||
			c >= 0x1F000 || c >= 0x231A && c <= 0x2BFF) {
			n++
		}
	}
	return n
}
