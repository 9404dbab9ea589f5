package search

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"
)

// Flags say how an expression is meant.
type Flags struct {
	Fold      bool // letters match in either case
	Multiline bool // a match may go over line ends; . still needs (?s) for that
}

// Pattern is a compiled expression. It does not change: any number of
// goroutines may use it.
type Pattern struct {
	flags Flags
	re    *regexp.Regexp
	set   []lit        // one of them is in each match; nil if none is known
	prog  *syntax.Prog // nil in multiline mode
	pure  bool         // they are all there is to match
}

// Compile reads an expression in the dialect of RE2, which is that of the
// standard library's regexp. Unless flags say Multiline each line is matched by
// itself, without its end, so that ^ and $ are the ends of a line.
func Compile(expr string, flags Flags) (*Pattern, error) {
	full := expr
	switch {
	case flags.Fold && flags.Multiline:
		full = "(?im)" + expr
	case flags.Fold:
		full = "(?i)" + expr
	case flags.Multiline:
		full = "(?m)" + expr
	}
	if !utf8.ValidString(expr) {
		return nil, fmt.Errorf("search: the regular expression %q is not UTF-8", expr)
	}
	tree, err := syntax.Parse(full, syntax.Perl)
	if err != nil {
		return nil, explain(expr, err)
	}
	if !flags.Multiline && hasNewline(tree) {
		return nil, fmt.Errorf("search: the regular expression %q asks for a line end, which no single line holds: search in multiline mode", expr)
	}
	re, err := regexp.Compile(full)
	if err != nil {
		return nil, explain(expr, err)
	}
	p := &Pattern{flags: flags, re: re}
	tree = tree.Simplify()
	p.set, p.pure = needles(tree)
	if !flags.Multiline {
		// No line holds a line end, and a return may be part of one.
		p.set = slices.DeleteFunc(p.set, func(l lit) bool { return strings.Contains(l.text, "\n") })
		p.pure = p.pure && !slices.ContainsFunc(p.set, func(l lit) bool { return strings.Contains(l.text, "\r") })
		if len(p.set) == 0 {
			p.set, p.pure = nil, false
		}
		if p.prog, err = syntax.Compile(tree); err != nil {
			return nil, explain(expr, err)
		}
	}
	return p, nil
}

// hasNewline says whether a line end is written out in re.
func hasNewline(re *syntax.Regexp) bool {
	if re.Op == syntax.OpLiteral {
		for _, r := range re.Rune {
			if r == '\n' {
				return true
			}
		}
	}
	if re.Op == syntax.OpCharClass && len(re.Rune) == 2 && re.Rune[0] == '\n' && re.Rune[1] == '\n' {
		return true
	}
	for _, sub := range re.Sub {
		if hasNewline(sub) {
			return true
		}
	}
	return false
}
