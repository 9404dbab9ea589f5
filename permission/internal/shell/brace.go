package shell

import "strconv"

// braces does brace expansion as bash does. It is not ok where the word is
// ill-formed in a way that bash reads by rules of its own, or too large.
func braces(pieces []piece) (lists [][]piece, ok bool) {
	if !hasBrace(pieces) {
		return [][]piece{pieces}, true
	}
	budget := maxBraces
	lists, ok = braceWord(pieces, &budget)
	return lists, ok
}

func is(p piece, c string) bool { return p.kind == bare && p.text == c }

func hasBrace(pieces []piece) bool {
	for _, p := range pieces {
		if is(p, "{") {
			return true
		}
	}
	return false
}

// braceWord expands the first brace of a word and then what follows it.
func braceWord(pieces []piece, budget *int) ([][]piece, bool) {
	open := -1
	for i, p := range pieces {
		if is(p, "{") {
			open = i
			break
		}
	}
	if open < 0 {
		return [][]piece{pieces}, true
	}
	end, commas := -1, []int{}
	depth := 0
	for i := open; i < len(pieces) && end < 0; i++ {
		switch {
		case is(pieces[i], "{"):
			depth++
		case is(pieces[i], "}"):
			depth--
			if depth == 0 {
				end = i
			}
		case is(pieces[i], ",") && depth == 1:
			commas = append(commas, i)
		}
	}
	if end < 0 {
		// Never closed. Without a comma or a sequence in the rest it is text.
		for i, p := range pieces[open:] {
			if is(p, ",") || is(p, "}") || is(p, ".") && i > 0 {
				return nil, false
			}
		}
		return [][]piece{pieces}, true
	}
	var middle [][]piece
	inside := pieces[open+1 : end]
	switch {
	case len(commas) > 0:
		from := open + 1
		for _, to := range append(commas, end) {
			l, ok := braceWord(pieces[from:to], budget)
			if !ok {
				return nil, false
			}
			middle = append(middle, l...)
			from = to + 1
		}
	case hasBrace(inside):
		return nil, false // {{a,b}}: rare, and read by rules of its own
	default:
		text, known := spell(inside)
		seq, isSeq := sequence(text)
		for _, p := range inside {
			known = known && p.kind == bare
		}
		switch {
		case isSeq && known && seq == nil:
			return nil, false
		case isSeq && known:
			for _, s := range seq {
				middle = append(middle, []piece{{text: s, kind: quoted}})
			}
		case isSeq:
			return nil, false
		default: // {} and {a} are text, unless a } with a comma before it follows
			comma := false
			for _, p := range pieces[end+1:] {
				comma = comma || is(p, ",") || is(p, ".")
				if comma && is(p, "}") {
					return nil, false
				}
			}
			middle = [][]piece{pieces[open : end+1]}
		}
	}
	rest, ok := braceWord(pieces[end+1:], budget)
	if !ok {
		return nil, false
	}
	if *budget -= len(middle) * len(rest); *budget < 0 {
		return nil, false
	}
	var out [][]piece
	for _, m := range middle {
		for _, r := range rest {
			one := append(append(append([]piece(nil), pieces[:open]...), m...), r...)
			out = append(out, one)
		}
	}
	return out, true
}

// sequence expands a..b between numbers. It says that the text is a sequence,
// with no words, where it is one of another kind: of letters, with a step, with
// leading zeros, or long.
func sequence(s string) (words []string, is bool) {
	for i := 0; i+1 < len(s); i++ {
		if s[i] != '.' || s[i+1] != '.' {
			continue
		}
		from, err := strconv.Atoi(s[:i])
		to, err2 := strconv.Atoi(s[i+2:])
		if err != nil || err2 != nil || strconv.Itoa(from) != s[:i] || strconv.Itoa(to) != s[i+2:] || to-from > maxBraces || from-to > maxBraces {
			return nil, true
		}
		step := 1
		if to < from {
			step = -1
		}
		for n := from; ; n += step {
			words = append(words, strconv.Itoa(n))
			if n == to {
				return words, true
			}
		}
	}
	return nil, false
}
