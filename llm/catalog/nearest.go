package catalog

import (
	"cmp"
	"slices"
	"strings"
)

// Nearest returns those of names that name may have been meant for, at most
// n, the likeliest first: what has it as a part, or is a few slips away.
func Nearest(name string, names []string, n int) []string {
	type near struct {
		name   string
		d, raw int
	}
	want := plain(name)
	var found []near
	for _, s := range names {
		have := plain(s)
		d := distance(want, have)
		raw := d
		switch {
		case want == "" || have == "":
			continue
		case strings.Contains(have, want) || strings.Contains(want, have) && len(have) > 2:
			d = min(d, 1+abs(len(have)-len(want))/8)
		case d > max(2, len(want)/3):
			continue
		}
		found = append(found, near{s, d, raw})
	}
	slices.SortStableFunc(found, func(a, b near) int { return cmp.Or(a.d-b.d, a.raw-b.raw, strings.Compare(a.name, b.name)) })
	var out []string
	for _, f := range found[:min(n, len(found))] {
		out = append(out, f.name)
	}
	return out
}

// plain is s as people remember it: without case and punctuation.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		case strings.ContainsRune("-_. ", r):
			return -1
		}
		return r
	}, s[:min(len(s), 200)])
}

// distance is the count of bytes to add, drop, change, or swap with the next
// (the optimal string alignment distance).
func distance(a, b string) int {
	older, old, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range old {
		old[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(old[j]+cost, old[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], older[j-1]+1)
			}
		}
		older, old, row = old, row, older
	}
	return old[len(b)]
}

func abs(n int) int { return max(n, -n) }

// Match finds the entry of a user's own table for "provider:model": the one of
// that very name, or else the one with the longest name that is a part of it.
func Match[T any](table map[string]T, ref string) (name string, v T, ok bool) {
	if v, ok := table[ref]; ok && ref != "" {
		return ref, v, true
	}
	for n := range table {
		if n != "" && strings.Contains(ref, n) && (len(n) > len(name) || len(n) == len(name) && n < name) {
			name = n
		}
	}
	if name == "" {
		return "", v, false
	}
	return name, table[name], true
}
