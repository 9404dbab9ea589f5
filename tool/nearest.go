package tool

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Unknown is the answer to a call of a tool that is not there: it names the
// nearest ones.
func Unknown(name string, names []string) *Result {
	text := "No tool is named " + quote(clip(name)) + "."
	if near := Nearest(name, names, 3); len(near) > 0 {
		text += " Did you mean " + strings.Join(near, " or ") + "?"
	}
	if len(names) == 0 {
		return Error(text + " There are no tools.")
	}
	const most = 40
	list, rest := names[:min(most, len(names))], ""
	if n := len(names) - len(list); n > 0 {
		rest = fmt.Sprintf(" and %d more", n)
	}
	return Error(text + " The tools are " + clipTo(strings.Join(list, ", "), 2000) + rest + ".")
}

// Nearest returns the n of names that are most like name, the most like first;
// those that are not like it at all are left out.
func Nearest(name string, names []string, n int) []string {
	type scored struct {
		name string
		d    int
	}
	key := fold(name)
	if key == "" || len(key) > 256 {
		return nil
	}
	var near []scored
	for _, c := range names {
		k := fold(c)
		d := distance(key, k)
		if min(len(k), len(key)) >= 3 && (strings.Contains(k, key) || strings.Contains(key, k)) {
			d = min(d, 2)
		}
		if d <= max(2, len(key)/3) {
			near = append(near, scored{c, d})
		}
	}
	slices.SortStableFunc(near, func(a, b scored) int { return a.d - b.d })
	var out []string
	for _, s := range near[:min(n, len(near))] {
		out = append(out, s.name)
	}
	return out
}

// fold leaves letters and digits, in lower case.
func fold(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, s)
}

// distance is the edit distance of a and b, by bytes.
func distance(a, b string) int {
	prev := make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := range len(a) {
		diag := prev[0]
		prev[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diag, prev[j+1] = prev[j+1], min(diag+cost, prev[j]+1, prev[j+1]+1)
		}
	}
	return prev[len(b)]
}
