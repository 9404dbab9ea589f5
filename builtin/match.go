package builtin

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// replaceText makes one edit in text. It returns where text was replaced, and
// a note if the match was not exact. Bytes outside of the spans are untouched.
func replaceText(text string, e oneEdit) (out string, spans [][2]int, note string, err error) {
	switch {
	case strings.TrimSpace(e.Old) == "":
		return "", nil, "", errors.New("old_string is empty or blank: give the text to replace")
	case e.Old == e.New:
		return "", nil, "", errors.New("old_string and new_string are the same")
	}
	old, repl := e.Old, e.New
	spans = all(text, old)
	if len(spans) == 0 { // the same with the line ends of the file
		for _, end := range []string{eol(text), "\n", "\r\n"} {
			if o := withEOL(old, end); o != old {
				if spans = all(text, o); len(spans) > 0 {
					old = o
					break
				}
			}
		}
	}
	if len(spans) == 0 {
		var adapt func(string) string
		spans, adapt, note = tolerant(text, old)
		if len(spans) == 1 {
			repl = adapt(repl)
		} else {
			note = ""
		}
	}
	switch {
	case len(spans) == 0:
		return "", nil, "", notFound(text, e.Old)
	case len(spans) > 1 && !e.All:
		return "", nil, "", fmt.Errorf("old_string occurs %d times, on lines %s: give more of what is around it, or set replace_all", len(spans), linesOf(text, spans))
	}
	var b strings.Builder
	at := 0
	for _, s := range spans {
		b.WriteString(text[at:s[0]])
		b.WriteString(likeSpan(text, s, repl))
		at = s[1]
	}
	b.WriteString(text[at:])
	if b.String() == text {
		return "", nil, "", errors.New("the edit changes nothing")
	}
	return b.String(), spans, note, nil
}

// likeSpan gives the replacement the line ends of the text that it replaces,
// or, if that has none, of the file.
func likeSpan(text string, s [2]int, repl string) string {
	if !strings.Contains(repl, "\n") || strings.Contains(repl, "\r") {
		return repl
	}
	at := text[s[0]:s[1]]
	if !strings.ContainsAny(at, "\r\n") {
		at = text
	}
	return withEOL(repl, eol(at))
}

func all(text, old string) [][2]int {
	var out [][2]int
	for at := 0; ; {
		i := strings.Index(text[at:], old)
		if i < 0 {
			return out
		}
		out = append(out, [2]int{at + i, at + i + len(old)})
		at += i + len(old)
	}
}

func linesOf(text string, spans [][2]int) string {
	var out []string
	for _, s := range spans[:min(len(spans), 8)] {
		out = append(out, fmt.Sprint(1+strings.Count(text[:s[0]], "\n")))
	}
	if len(spans) > 8 {
		out = append(out, "…")
	}
	return strings.Join(out, ", ")
}

// tolerant finds old in text line by line, forgiving more at each step. Only
// a match that is the only one of its step counts; adapt fits the replacement
// to it.
func tolerant(text, old string) (spans [][2]int, adapt func(string) string, note string) {
	want := strings.Split(strings.TrimRight(withEOL(old, "\n"), "\n"), "\n")
	lines, starts := split(text)
	same := func(s string) string { return s }
	for _, step := range []struct {
		what   string
		norm   func(string) string
		indent bool
	}{
		{"blanks at the ends of lines", func(s string) string { return strings.TrimRight(s, " \t\r") }, false},
		{"typographic quotes, dashes and blanks", func(s string) string { return plainChars(strings.TrimRight(s, " \t\r")) }, false},
		{"the indentation", func(s string) string { return strings.TrimSpace(plainChars(s)) }, true},
	} {
		var found []int
		for i := 0; i+len(want) <= len(lines); i++ {
			ok := true
			for k := range want {
				if step.norm(lines[i+k]) != step.norm(want[k]) {
					ok = false
					break
				}
			}
			if ok {
				found = append(found, i)
			}
		}
		if len(found) == 0 {
			continue
		}
		if len(found) > 1 {
			return nil, nil, ""
		}
		i := found[0]
		end := starts[i+len(want)-1] + len(lines[i+len(want)-1])
		if strings.HasSuffix(old, "\n") && end < len(text) {
			end = starts[i+len(want)] // with the line's end
		}
		adapt = same
		if step.indent {
			shift, ok := shiftOf(lines[i:i+len(want)], want)
			if !ok {
				return nil, nil, ""
			}
			adapt = shift
		}
		return [][2]int{{starts[i], end}}, adapt, "[The text was found but for " + step.what + ".]"
	}
	return nil, nil, ""
}

// split cuts text into lines without their ends, and where each starts.
func split(text string) (lines []string, starts []int) {
	at := 0
	for at <= len(text) {
		n := strings.IndexAny(text[at:], "\r\n")
		starts = append(starts, at)
		if n < 0 {
			lines = append(lines, text[at:])
			break
		}
		lines = append(lines, text[at:at+n])
		at += n + 1
		if text[at-1] == '\r' && at < len(text) && text[at] == '\n' {
			at++
		}
	}
	return lines, starts
}

// shiftOf returns how to indent a replacement so that it fits lines that are
// indented otherwise than want, by the same difference in every line.
func shiftOf(lines, want []string) (func(string) string, bool) {
	have, given, known := "", "", false
	for i := range want {
		if strings.TrimSpace(want[i]) == "" {
			continue
		}
		h, g := indentOf(lines[i]), indentOf(want[i])
		if !known {
			have, given, known = h, g, true
			continue
		}
		if strings.TrimPrefix(h, have) != strings.TrimPrefix(g, given) || !strings.HasPrefix(h, have) || !strings.HasPrefix(g, given) {
			return nil, false
		}
	}
	return func(repl string) string {
		ls := strings.Split(repl, "\n")
		for i, l := range ls {
			if strings.TrimSpace(l) != "" && strings.HasPrefix(l, given) {
				ls[i] = have + l[len(given):]
			}
		}
		return strings.Join(ls, "\n")
	}, known
}

func indentOf(s string) string { return s[:len(s)-len(strings.TrimLeft(s, " \t"))] }

// plainChars puts the plain form of typographic characters.
func plainChars(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\u2018' || r == '\u2019' || r == '\u201A':
			return '\''
		case r == '\u201C' || r == '\u201D' || r == '\u201E':
			return '"'
		case r == '\u2013' || r == '\u2014' || r == '\u2212':
			return '-'
		case r == '\u00A0' || r == '\u202F' || unicode.Is(unicode.Zs, r):
			return ' '
		}
		return r
	}, s)
}

// notFound says where text comes nearest to old.
func notFound(text, old string) error {
	lines, _ := split(text)
	first := ""
	for _, l := range strings.Split(old, "\n") {
		if strings.TrimSpace(l) != "" {
			first = strings.TrimSpace(l)
			break
		}
	}
	best, score := -1, 0
	for i, l := range lines {
		if n := alike(strings.TrimSpace(l), first); n > score {
			best, score = i, n
		}
		if i > 200_000 {
			break
		}
	}
	if best < 0 || score*2 < len(first) {
		return errors.New("old_string was not found in the file, nor anything like it: read the file again")
	}
	have := strings.TrimSpace(lines[best])
	at := 0
	for at < len(have) && at < len(first) && have[at] == first[at] {
		at++
	}
	for at > 0 && at < len(have) && !utf8.RuneStart(have[at]) {
		at--
	}
	var b strings.Builder
	fmt.Fprintf(&b, "old_string was not found. The nearest is on line %d", best+1)
	if at < len(have) || at < len(first) {
		fmt.Fprintf(&b, ", which differs from character %d on: %q there, %q given", 1+utf8.RuneCountInString(have[:at]), cut(have[at:], 24), cut(first[min(at, len(first)):], 24))
	}
	b.WriteString(":\n")
	for i := max(best-1, 0); i < min(best+3, len(lines)); i++ {
		fmt.Fprintf(&b, "%6d\t%s\n", i+1, cut(printable(lines[i]), 90))
	}
	return errors.New(strings.TrimRight(b.String(), "\n"))
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
