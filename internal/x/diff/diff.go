// Package diff compares texts by lines.
//
//	fmt.Print(diff.Unified("a/x", "b/x", "one\ntwo\n", "one\n2\n", 3))
//
// prints what patch(1) and git apply take:
//
//	--- a/x
//	+++ b/x
//	@@ -1,2 +1,2 @@
//	 one
//	-two
//	+2
package diff

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

// MaxBytes and MaxLines bound what is compared: the lines from the first that
// differs to the last, of both sides together. Above them a diff would be
// slow to make and nobody would read it.
const (
	MaxBytes = 4 << 20
	MaxLines = 100_000
)

// Unified returns the difference of two texts in the unified format, with that
// many lines of context around each change; below 0 it means 3. It is empty if
// the texts are equal. Names are put on one line. A text that does not end in
// a newline is marked as such.
//
// The time is linear in the size of the texts. Where the changed region is
// above [MaxBytes] or [MaxLines], the result has the two names and one line
// that says how much changed, which no patch program takes for a change.
func Unified(oldName, newName, old, new string, context int) string {
	if old == new {
		return ""
	}
	if context < 0 {
		context = 3
	}
	oldName, newName = label(oldName), label(newName)
	start := commonStart(old, new)
	end := commonEnd(old[start:], new[start:])
	a, b := old[start:len(old)-end], new[start:len(new)-end]
	if n, m := strings.Count(a, "\n"), strings.Count(b, "\n"); len(a)+len(b) > MaxBytes || n+m > MaxLines {
		return fmt.Sprintf("--- %s\n+++ %s\n# too large to show: from line %d on, %d lines (%d bytes) become %d lines (%d bytes)\n",
			oldName, newName, strings.Count(old[:start], "\n")+1, lines(a), len(a), lines(b), len(b))
	}
	// The equal lines at both ends, of which only the context is shown, need
	// not be searched.
	from := backLines(old, start, context)
	to := forwardLines(old, len(old)-end, context)
	a, b = old[from:to], new[from:len(new)-(len(old)-to)]
	text, err := udiff.ToUnified(oldName, newName, a, udiff.Lines(a, b), context)
	if err != nil { // edits that were made for this text fit it
		panic("diff: " + err.Error())
	}
	return shift(text, strings.Count(old[:from], "\n"))
}

// Stat counts the lines that a unified diff adds and deletes.
func Stat(unified string) (added, deleted int) {
	inHunk := false
	for line := range strings.Lines(unified) {
		switch {
		case strings.HasPrefix(line, "@@ "):
			inHunk = true
		case !inHunk:
		case line[0] == '+':
			added++
		case line[0] == '-':
			deleted++
		}
	}
	return added, deleted
}

// label puts a name on one line.
func label(name string) string {
	if strings.ContainsAny(name, "\n\r") {
		return strconv.Quote(name)
	}
	return name
}

// commonStart is the length of the whole lines with which both begin.
func commonStart(a, b string) int {
	n := min(len(a), len(b))
	i := 0
	for i < n && a[i] == b[i] {
		i++
	}
	return strings.LastIndexByte(a[:i], '\n') + 1
}

// commonEnd is the length of the whole lines with which both end.
func commonEnd(a, b string) int {
	i := 0
	for i < min(len(a), len(b)) && a[len(a)-1-i] == b[len(b)-1-i] {
		i++
	}
	// A line is whole if the byte before it is a newline in both, or if it is
	// the first of both.
	if i == len(a) || i == len(b) {
		if len(a) == len(b) {
			return i
		}
		longer := a
		if len(b) > len(a) {
			longer = b
		}
		if longer[len(longer)-i-1] == '\n' {
			return i
		}
	}
	tail := a[len(a)-i:]
	nl := strings.IndexByte(tail, '\n')
	if nl < 0 {
		return 0
	}
	return len(tail) - nl - 1
}

// backLines is the start of the nth line before the line that starts at i.
func backLines(s string, i, n int) int {
	for ; n > 0 && i > 0; n-- {
		i = strings.LastIndexByte(s[:i-1], '\n') + 1
	}
	return i
}

// forwardLines is the start of the nth line after the line that starts at i.
func forwardLines(s string, i, n int) int {
	for ; n > 0 && i < len(s); n-- {
		nl := strings.IndexByte(s[i:], '\n')
		if nl < 0 {
			return len(s)
		}
		i += nl + 1
	}
	return i
}

func lines(s string) int {
	n := strings.Count(s, "\n")
	if s != "" && !strings.HasSuffix(s, "\n") {
		n++
	}
	return n
}

// shift adds n to the line numbers of a diff's hunks and writes each hunk's
// header anew: without context the library leaves out a count of 0, which a
// patch program takes for 1.
func shift(unified string, n int) string {
	var b, body strings.Builder
	b.Grow(len(unified) + 16)
	header := ""
	old, new := 0, 0
	flush := func() {
		if header != "" {
			f := strings.Fields(header) // @@ -1,2 +1,2 @@
			fmt.Fprintf(&b, "@@ -%s +%s @@\n", span(f[1], old, n), span(f[2], new, n))
			b.WriteString(body.String())
		}
		body.Reset()
		old, new = 0, 0
	}
	for line := range strings.Lines(unified) {
		switch {
		case strings.HasPrefix(line, "@@ "):
			flush()
			header = line
			continue
		case header == "":
			b.WriteString(line)
			continue
		case line[0] == '-':
			old++
		case line[0] == '+':
			new++
		case line[0] == ' ':
			old++
			new++
		}
		body.WriteString(line)
	}
	flush()
	return b.String()
}

// span is the range of count lines that starts at the line named in field,
// which is "-4,2" or "+4", moved down by n lines.
func span(field string, count, n int) string {
	at, _, _ := strings.Cut(field[1:], ",")
	start, err := strconv.Atoi(at)
	if err != nil {
		panic("diff: a hunk starts at " + field)
	}
	switch {
	case count == 1:
		return strconv.Itoa(start + n)
	case count == 0 && start > 0:
		start-- // an empty range is named by the line before it
	}
	return strconv.Itoa(start+n) + "," + strconv.Itoa(count)
}
