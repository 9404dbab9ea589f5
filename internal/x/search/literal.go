package search

import (
	"regexp/syntax"
	"unicode"
	"unicode/utf8"
)

// The bounds of what is looked for in place of an expression.
const (
	maxNeedles = 64
	maxNeedle  = 128 // bytes
	// minBits is how much a needle must tell for its search to be worth its
	// while: about one byte in a hundred of common text.
	minBits = 4 * 7
)

// lit is a string; with fold, its ASCII letters are lower case and stand for
// either case.
type lit struct {
	text string
	fold bool
}

// known is what can be said of all the matches of an expression.
type known struct {
	// exact, if ok, is every string that can match. Pure says that the reverse
	// holds too: each of them does match, wherever it stands.
	exact []lit
	ok    bool
	pure  bool
	// need is a set of which one at least is in every match; nil if there is none.
	need []lit
}

// needles finds strings of which one at least is in each match of re. Pure
// says that they are the whole expression. It returns nil when there are none
// that are rare enough to help.
func needles(re *syntax.Regexp) (set []lit, pure bool) {
	k := analyze(re)
	if k.ok && bits(k.exact) > 0 && (k.pure || bits(k.exact) >= bits(k.need)) {
		set, pure = k.exact, k.pure
	} else {
		set = k.need
	}
	if bits(set) < minBits && !pure {
		return nil, false
	}
	if bits(set) == 0 {
		return nil, false
	}
	return set, pure
}

// bits is how much the least telling string of a set tells, less what the
// number of them takes off; 0 if the set is no use.
func bits(set []lit) int {
	if len(set) == 0 || len(set) > maxNeedles {
		return 0
	}
	least := 1 << 30
	for _, l := range set {
		n := 0
		for i := range len(l.text) {
			r := int(rarity[l.text[i]])
			if l.fold && isLetter(l.text[i]) {
				r = max(r-3, 1)
			}
			n += r
		}
		least = min(least, n)
	}
	for n := len(set); n > 1; n /= 2 {
		least -= 4
	}
	return max(least, 0)
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

var empty = known{exact: []lit{{}}, ok: true, pure: true}

func analyze(re *syntax.Regexp) known {
	switch re.Op {
	case syntax.OpEmptyMatch:
		return empty
	case syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText,
		syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return known{exact: []lit{{}}, ok: true} // no bytes, but not always there
	case syntax.OpLiteral:
		return literal(re.Rune, re.Flags&syntax.FoldCase != 0)
	case syntax.OpCharClass:
		return class(re.Rune)
	case syntax.OpCapture:
		return analyze(re.Sub[0])
	case syntax.OpPlus:
		k := analyze(re.Sub[0])
		return known{need: best(k)}
	case syntax.OpRepeat:
		if re.Min == 0 {
			return known{}
		}
		k := analyze(re.Sub[0])
		if re.Min == 1 && re.Max == 1 {
			return k
		}
		return known{need: best(k)}
	case syntax.OpQuest:
		k := analyze(re.Sub[0])
		if !k.ok || len(k.exact) >= maxNeedles {
			return known{}
		}
		return known{exact: append([]lit{{}}, k.exact...), ok: true, pure: k.pure}
	case syntax.OpConcat:
		return concat(re.Sub)
	case syntax.OpAlternate:
		return alternate(re.Sub)
	default:
		return known{}
	}
}

// best is the better of what k says must be there.
func best(k known) []lit {
	if k.ok && bits(k.exact) >= bits(k.need) {
		return k.exact
	}
	return k.need
}

func literal(runes []rune, fold bool) known {
	var runs []string
	var run []byte
	for _, r := range runes {
		switch {
		case r == utf8.RuneError, fold && r >= utf8.RuneSelf && unicode.SimpleFold(r) != r:
			// The first matches any byte that is not UTF-8, the second has forms
			// of other bytes: both end a run.
			runs, run = append(runs, string(run)), nil
		case fold && r < utf8.RuneSelf:
			run = append(run, lower(byte(r)))
		default:
			run = utf8.AppendRune(run, r)
		}
	}
	runs = append(runs, string(run))
	if len(runs) == 1 && len(run) <= maxNeedle {
		// k and s have a third form outside of ASCII; the finder sees to that.
		return known{exact: []lit{{runs[0], fold}}, ok: true, pure: true}
	}
	var k known
	for _, r := range runs {
		if set := []lit{{r[:min(len(r), maxNeedle)], fold}}; bits(set) > bits(k.need) {
			k.need = set
		}
	}
	return k
}

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c | 0x20
	}
	return c
}

// class is a small class as strings: [ab] is a or b, and [Kk] is k in either
// case.
func class(ranges []rune) known {
	const most = 8
	var all []rune
	for i := 0; i < len(ranges); i += 2 {
		if ranges[i+1]-ranges[i] >= most || len(all) > most {
			return known{}
		}
		for r := ranges[i]; r <= ranges[i+1]; r++ {
			if r == utf8.RuneError {
				return known{}
			}
			all = append(all, r)
		}
	}
	if len(all) == 0 || len(all) > most {
		return known{}
	}
	// A letter in both cases, with its third form if it has one, is that letter.
	if c := all[0]; len(all) >= 2 && c >= 'A' && c <= 'Z' && all[1] == c|0x20 {
		orbit := 1
		for r := unicode.SimpleFold(c); r != c; r = unicode.SimpleFold(r) {
			orbit++
		}
		if len(all) == 2 && orbit == 2 || len(all) == 3 && orbit == 3 && unicode.SimpleFold(all[1]) == all[2] {
			return known{exact: []lit{{string(c | 0x20), true}}, ok: true, pure: true}
		}
	}
	k := known{ok: true, pure: true}
	for _, r := range all {
		k.exact = append(k.exact, lit{string(r), false})
	}
	return k
}

func concat(subs []*syntax.Regexp) known {
	whole := empty // the product of the parts so far
	run := empty   // the product of the parts since the last that is not exact
	var need []lit
	better := func(set []lit) {
		if bits(set) > bits(need) {
			need = set
		}
	}
	for _, sub := range subs {
		k := analyze(sub)
		if next, ok := product(run, k); ok {
			run = next
		} else {
			better(run.exact)
			run = empty
			if k.ok {
				run = k
			}
			whole.ok = false
		}
		if !k.ok {
			better(k.need)
		}
	}
	if whole.ok {
		return run
	}
	better(run.exact)
	return known{need: need}
}

func product(a, b known) (known, bool) {
	if !a.ok || !b.ok || len(a.exact)*len(b.exact) > maxNeedles {
		return known{}, false
	}
	out := known{ok: true, pure: a.pure && b.pure}
	for _, x := range a.exact {
		for _, y := range b.exact {
			if len(x.text)+len(y.text) > maxNeedle {
				return known{}, false
			}
			l := lit{x.text + y.text, x.fold || y.fold}
			if x.fold != y.fold && (hasLetter(x.text) && !x.fold || hasLetter(y.text) && !y.fold) {
				// Folding all of it finds more than matches.
				out.pure = false
				l.text = lowerAll(l.text)
			}
			out.exact = append(out.exact, l)
		}
	}
	return out, true
}

func hasLetter(s string) bool {
	for i := range len(s) {
		if isLetter(s[i]) {
			return true
		}
	}
	return false
}

func lowerAll(s string) string {
	b := []byte(s)
	for i, c := range b {
		b[i] = lower(c)
	}
	return string(b)
}

func alternate(subs []*syntax.Regexp) known {
	out := known{ok: true, pure: true}
	var need []lit
	needed := true
	for _, sub := range subs {
		k := analyze(sub)
		out.ok = out.ok && k.ok
		out.pure = out.pure && k.pure
		if out.ok {
			out.exact = append(out.exact, k.exact...)
		}
		b := best(k)
		needed = needed && bits(b) > 0
		need = append(need, b...)
	}
	if len(out.exact) > maxNeedles {
		out.ok = false
	}
	if !out.ok {
		out.exact, out.pure = nil, false
	}
	if needed && len(need) <= maxNeedles {
		out.need = need
	}
	return out
}
