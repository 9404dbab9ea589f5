package search

import (
	"errors"
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
	expr  string
	flags Flags
	re    *regexp.Regexp
	set   []lit        // one of them is in each match; nil if none is known
	prog  *syntax.Prog // nil in multiline mode
	pure  bool         // they are all there is to match
}

// String is the expression as it was given.
func (p *Pattern) String() string { return p.expr }

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
	p := &Pattern{expr: expr, flags: flags, re: re}
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

// foreign is what other dialects have and this one leaves out, as it could not
// be matched in linear time.
var foreign = []struct{ text, name, instead string }{
	{"(?=", "lookahead", "match the whole and look at the result"},
	{"(?!", "negative lookahead", "match the whole and look at the result"},
	{"(?<=", "lookbehind", "match the whole and look at the result"},
	{"(?<!", "negative lookbehind", "match the whole and look at the result"},
	{"(?>", "an atomic group", "use a plain group"},
	{`\1`, "a backreference", "write out what repeats"},
	{`\2`, "a backreference", "write out what repeats"},
	{`\k<`, "a backreference", "write out what repeats"},
	{"(?(", "a conditional group", "use an alternation"},
	{"++", "a possessive repeat", "use a plain one"},
	{"*+", "a possessive repeat", "use a plain one"},
	{`\<`, "the start of a word as in grep", `use \b`},
	{`\Z`, "the end of the text as in Perl", `use \z or $`},
}

// explain says where expr is wrong and what would be right.
func explain(expr string, err error) error {
	var se *syntax.Error
	if !errors.As(err, &se) {
		return fmt.Errorf("search: invalid regular expression %q: %w", expr, err)
	}
	where := ""
	if i := strings.LastIndex(expr, se.Expr); i >= 0 && se.Expr != "" && se.Expr != expr {
		where = fmt.Sprintf(" at character %d, %q", utf8.RuneCountInString(expr[:i])+1, se.Expr)
	}
	hint := ""
	for _, f := range foreign {
		if strings.Contains(expr, f.text) {
			hint = fmt.Sprintf(" It seems to hold %s (%s), which this dialect does not have: %s.", f.name, f.text, f.instead)
			break
		}
	}
	if hint == "" {
		hint = ` To search for text as it is, put a backslash before each of \.+*?()|[]{}^$.`
	}
	return fmt.Errorf("search: invalid regular expression %q: %s%s. The dialect is RE2, that of Go.%s", expr, se.Code, where, hint)
}
