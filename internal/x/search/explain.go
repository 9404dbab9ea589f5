package search

import (
	"errors"
	"fmt"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

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
	if i, what := fault(expr, se); what != "" {
		where = fmt.Sprintf(" at character %d, %q", utf8.RuneCountInString(expr[:i])+1, what)
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

// maxFault is the longest expression in which a fault is looked for.
const maxFault = 2000

// fault is where in expr the parser's error is, and what stands there; "" if
// there is no such place. The parser itself often names all of expr.
func fault(expr string, se *syntax.Error) (at int, what string) {
	if len(expr) > maxFault {
		return 0, ""
	}
	switch se.Code {
	case syntax.ErrMissingParen:
		if i := openParen(expr); i >= 0 {
			return i, expr[i:]
		}
		return 0, ""
	case syntax.ErrMissingBracket:
		return max(strings.LastIndex(expr, se.Expr), 0), se.Expr
	case syntax.ErrLarge, syntax.ErrNestingDepth, syntax.ErrInternalError:
		return 0, ""
	}
	// The shortest beginning that has the fault ends with it.
	for i, r := range expr {
		part := expr[:i+utf8.RuneLen(r)]
		var pe *syntax.Error
		if _, err := syntax.Parse(part, syntax.Perl); errors.As(err, &pe) && pe.Code == se.Code {
			if pe.Expr != part && strings.HasSuffix(part, pe.Expr) {
				return len(part) - len(pe.Expr), pe.Expr
			}
			return i, string(r)
		}
	}
	return 0, ""
}

// openParen is the place of the last "(" that is never closed, or -1.
func openParen(expr string) int {
	var open []int
	class := false
	for i := 0; i < len(expr); i++ {
		switch c := expr[i]; {
		case c == '\\':
			i++
		case class:
			class = c != ']'
		case c == '[':
			class = true
			// A "]" that comes first is an ordinary character.
			if strings.HasPrefix(expr[i+1:], "^") {
				i++
			}
			if strings.HasPrefix(expr[i+1:], "]") {
				i++
			}
		case c == '(':
			open = append(open, i)
		case c == ')' && len(open) > 0:
			open = open[:len(open)-1]
		}
	}
	if len(open) == 0 {
		return -1
	}
	return open[len(open)-1]
}
