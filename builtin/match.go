package builtin

import (
	"errors"
	"fmt"
	"strings"
)

// splice is text that is put in place of what lies between two positions.
type splice struct {
	from, to int
	put      string
}

// replaced is the outcome of one edit.
type replaced struct {
	text    string
	splices []splice // in order, apart
	note    string   // how the text was found, if not as it was given
}

// replaceText makes one edit in text. Bytes outside of the splices are
// untouched.
func replaceText(text string, e oneEdit) (replaced, error) {
	switch {
	case strings.TrimSpace(e.Old) == "":
		return replaced{}, errors.New("old_string is empty or blank: give the text to replace, with some of what is around it; a file is made, or replaced whole, by Write")
	case e.Old == e.New:
		return replaced{}, errors.New("old_string and new_string are the same")
	}
	m, err := findText(text, e)
	if err != nil {
		return replaced{}, err
	}
	if grown := len(text) + len(m.spans)*(len(e.New)-len(e.Old)); grown > hashMax {
		return replaced{}, fmt.Errorf("the text would have %d bytes, more than the %d MiB that this tool can write", grown, hashMax>>20)
	}
	r, sep := replaced{note: m.note}, separator(text)
	var b strings.Builder
	at := 0
	for _, s := range m.spans {
		put := fit(text, sep, s, m.old, e.New, m.shift)
		r.splices = append(r.splices, splice{s[0], s[1], put})
		b.WriteString(text[at:s[0]])
		b.WriteString(put)
		at = s[1]
	}
	b.WriteString(text[at:])
	if r.text = b.String(); r.text == text {
		return replaced{}, errors.New("the edit changes nothing: the file has the new text already")
	}
	return r, nil
}

// found is where the old text of an edit is.
type found struct {
	old   string // as it was looked for
	spans [][2]int
	note  string
	shift func(string) string // fits a line of the replacement; nil leaves it
}

// tolerantMax is the size of a text up to which more than exact matches are
// looked for.
const tolerantMax = 2 << 20

// findText finds the old text of an edit: as it is, with the line ends of the
// file, and then ever more tolerantly, as long as there is one match only.
func findText(text string, e oneEdit) (found, error) {
	lines := strings.Contains(e.Old, "\n") && !strings.Contains(e.Old, "\r") && strings.Contains(text, "\r")
	try := []func() [][2]int{func() [][2]int { return allOf(text, e.Old, e.All) }}
	switch {
	case lines && len(text) <= tolerantMax: // the model is not shown how lines end
		try[0] = func() [][2]int { return findFolded(text, e.Old, folding{}, e.All).spans }
	case lines:
		for _, end := range []string{"\r\n", "\r"} {
			try = append(try, func() [][2]int { return allOf(text, strings.ReplaceAll(e.Old, "\n", end), e.All) })
		}
	}
	for _, find := range try {
		f := found{old: e.Old, spans: find()}
		switch {
		case len(f.spans) > mostAll:
			return f, fmt.Errorf("old_string occurs more than %d times: replace it with Bash", mostAll)
		case len(f.spans) == 1 || len(f.spans) > 1 && e.All:
			return f, nil
		case len(f.spans) > 1:
			return f, fmt.Errorf("old_string occurs %s, on lines %s: give more of what is around it, or set replace_all", times(f.spans), linesOf(text, f.spans))
		}
	}
	if len(text) > tolerantMax {
		return found{}, errors.New("old_string was not found in the file")
	}
	for _, step := range tolerance {
		f := step.find(text, e.Old)
		f.note = "[Found but for " + step.what + ".]"
		switch {
		case len(f.spans) == 1:
			return f, nil
		case len(f.spans) > 1:
			return f, fmt.Errorf("old_string was not found as it is; but for %s it occurs %s, on lines %s: give it exactly, with more of what is around it", step.what, times(f.spans), linesOf(text, f.spans))
		}
	}
	return found{}, notFound(text, e.Old)
}

// Bounds of how many places are looked for: where only one will do, and where
// all are to be replaced.
const (
	mostOne = 1000
	mostAll = 1_000_000
)

// allOf finds old in text. Unless all are to be replaced, it is found also where
// it overlaps itself, since then none of the places is the one that was meant.
// A line end is not found within another.
func allOf(text, old string, all bool) [][2]int {
	var out [][2]int
	most := mostOne
	if all {
		most = mostAll
	}
	for at := 0; len(out) <= most; {
		i := strings.Index(text[at:], old)
		if i < 0 {
			break
		}
		i += at
		at = i + 1
		if old[0] == '\n' && i > 0 && text[i-1] == '\r' {
			continue
		}
		out = append(out, [2]int{i, i + len(old)})
		if all {
			at = i + len(old)
		}
	}
	return out
}

func times(spans [][2]int) string {
	if len(spans) > mostOne {
		return fmt.Sprintf("more than %d times", mostOne)
	}
	return fmt.Sprintf("%d times", len(spans))
}

func linesOf(text string, spans [][2]int) string {
	var out []string
	for _, s := range spans[:min(len(spans), 8)] {
		out = append(out, fmt.Sprint(lineAt(text, s[0])))
	}
	if len(spans) > 8 {
		out = append(out, "…")
	}
	return strings.Join(out, ", ")
}

// fit is what to put in place of a span that old was found in. Lines that old
// and repl have in common, at their start and end, stay as they are in the
// file; the others get the line ends of those that they replace.
func fit(text string, sep byte, s [2]int, old, repl string, shift func(string) string) string {
	if strings.Contains(old, "\r") && old == text[s[0]:s[1]] {
		return repl // who gives them means them
	}
	have := endedLines(text[s[0]:s[1]], sep)
	was := strings.SplitAfter(strings.ReplaceAll(old, "\r\n", "\n"), "\n")
	put := strings.SplitAfter(strings.ReplaceAll(repl, "\r\n", "\n"), "\n")
	head, tail := 0, 0
	if len(have) == len(was) {
		for head < min(len(was), len(put)) && was[head] == put[head] {
			head++
		}
		for tail < min(len(was), len(put))-head && was[len(was)-1-tail] == put[len(put)-1-tail] {
			tail++
		}
	}
	var b strings.Builder
	for _, l := range have[:head] {
		b.WriteString(l)
	}
	for i, l := range put[head : len(put)-tail] {
		body, ended := strings.CutSuffix(l, "\n")
		if shift != nil {
			body = shift(body)
		}
		b.WriteString(body)
		if ended {
			b.WriteString(endFor(text, sep, s, have, head+i))
		}
	}
	for _, l := range have[len(have)-tail:] {
		b.WriteString(l)
	}
	return b.String()
}

// endFor is the line end for the i-th line of a replacement: that of the line
// in its place, or of the last one that has any; else of the line that the
// span is on, the one before it, or most of the file.
func endFor(text string, sep byte, s [2]int, have []string, i int) string {
	for k := min(i, len(have)-1); k >= 0; k-- {
		if e := endOf(have[k]); e != "" {
			return e
		}
	}
	if n := strings.IndexByte(text[s[1]:], sep); n >= 0 {
		return endOf(text[max(s[1]+n-1, 0) : s[1]+n+1])
	}
	if n := strings.LastIndexByte(text[:s[0]], sep); n >= 0 {
		return endOf(text[max(n-1, 0) : n+1])
	}
	return "\n"
}

// endOf is the line end that s ends in.
func endOf(s string) string {
	for _, e := range []string{"\r\n", "\n", "\r"} {
		if strings.HasSuffix(s, e) {
			return e
		}
	}
	return ""
}

// endedLines cuts s into lines with their ends; the last, which has none, may
// be empty.
func endedLines(s string, sep byte) []string { return strings.SplitAfter(s, string(sep)) }
