package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// numbers finds the variables that a text sets to whole numbers and to nothing
// else, so that arithmetic has no more than that to evaluate in them. In a text
// with what may set any variable there are none.
func numbers(f *syntax.File) map[string]bool {
	found, spoiled, all := map[string]bool{}, map[string]bool{}, false
	set := func(name string, ok bool) {
		found[name] = true
		spoiled[name] = spoiled[name] || !ok || !ownVariable(name)
	}
	syntax.Walk(f, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Assign:
			if n.Name != nil {
				set(n.Name.Value, n.Index == nil && n.Array == nil && (digits10(n.Value) || !n.Append && number(n.Value)))
			}
		case *syntax.ForClause:
			if l, ok := n.Loop.(*syntax.WordIter); ok {
				for _, item := range l.Items {
					set(l.Name.Value, number(item) || numberRange(item.Lit()) || sequenceOf(item))
				}
				if len(l.Items) == 0 {
					set(l.Name.Value, false)
				}
			}
		case *syntax.BinaryArithm:
			if name, ok := assigned(n); ok {
				set(name, true)
			}
		case *syntax.DeclClause, *syntax.LetClause, *syntax.CoprocClause, *syntax.FuncDecl:
			all = true
		case *syntax.Redirect:
			all = all || n.N != nil && strings.HasPrefix(n.N.Value, "{")
		case *syntax.ParamExp:
			all = all || n.Exp != nil && (n.Exp.Op == syntax.AssignUnset || n.Exp.Op == syntax.AssignUnsetOrNull)
		case *syntax.CallExpr:
			if len(n.Args) == 0 {
				break
			}
			switch plain(n.Args[0]) {
			case "", "eval", "source", ".", "mapfile", "readarray", "getopts", "trap", "command", "builtin":
				all = true
			case "read":
				for _, arg := range n.Args[1:] {
					all = all || plain(arg) == "" && !quotedWord(arg)
					spoiled[arg.Lit()] = true
				}
			case "printf":
				all = all || len(n.Args) > 1 && (plain(n.Args[1]) == "" || strings.HasPrefix(n.Args[1].Lit(), "-")) && !quotedWord(n.Args[1])
			}
		}
		return true
	})
	if all {
		return nil
	}
	for name := range spoiled {
		if spoiled[name] {
			delete(found, name)
		}
	}
	return found
}

// plain is a word that is its own text, or "".
func plain(word *syntax.Word) string {
	if s := word.Lit(); !strings.ContainsAny(s, "\\{}*?[~") {
		return s
	}
	return ""
}

// assigned gives the variable of the script's own that an expression sets.
func assigned(b *syntax.BinaryArithm) (name string, ok bool) {
	word, ok := b.X.(*syntax.Word)
	if !ok || b.Op != syntax.Assgn || !ownVariable(word.Lit()) {
		return "", false
	}
	return word.Lit(), true
}

// sequenceOf says that a word is the output of seq, of numbers.
func sequenceOf(word *syntax.Word) bool {
	if len(word.Parts) != 1 {
		return false
	}
	sub, ok := word.Parts[0].(*syntax.CmdSubst)
	if !ok || len(sub.Stmts) != 1 || len(sub.Stmts[0].Redirs) > 0 {
		return false
	}
	call, ok := sub.Stmts[0].Cmd.(*syntax.CallExpr)
	if !ok || len(call.Assigns) > 0 || len(call.Args) < 2 || call.Args[0].Lit() != "seq" {
		return false
	}
	for _, arg := range call.Args[1:] {
		if !digits10(arg) {
			return false
		}
	}
	return true
}

// quotedWord says that a word is one text in quotes that is no flag.
func quotedWord(word *syntax.Word) bool {
	if len(word.Parts) != 1 {
		return false
	}
	switch part := word.Parts[0].(type) {
	case *syntax.SglQuoted:
		return !part.Dollar && !strings.HasPrefix(part.Value, "-")
	case *syntax.DblQuoted:
		if len(part.Parts) == 0 {
			return true
		}
		lit, ok := part.Parts[0].(*syntax.Lit)
		return ok && !strings.HasPrefix(lit.Value, "-") && lit.Value != ""
	}
	return false
}

// number says that the value of an assignment is a whole number.
func number(word *syntax.Word) bool {
	if word == nil || len(word.Parts) != 1 {
		return false
	}
	switch part := word.Parts[0].(type) {
	case *syntax.Lit:
		return digits10(word)
	case *syntax.ArithmExp:
		return true
	case *syntax.ParamExp:
		return part.Length
	}
	return false
}

func digits10(word *syntax.Word) bool {
	if word == nil {
		return false
	}
	s := word.Lit()
	return s != "" && len(s) < 16 && strings.Trim(s, "0123456789") == ""
}

// numberRange says that a word is {1..9}.
func numberRange(s string) bool {
	inside, ok := strings.CutPrefix(s, "{")
	inside, ok2 := strings.CutSuffix(inside, "}")
	return ok && ok2 && strings.Count(inside, "..") == 1 && strings.Trim(inside, "0123456789.") == ""
}

// ownVariable says that a variable is the script's own: no program is known to
// read one of such a name.
func ownVariable(name string) bool {
	if !isName(name) || strings.HasSuffix(name, "_proxy") {
		return false
	}
	return name != "_" && name == strings.ToLower(name)
}

func isName(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}
