package shell

import (
	"errors"
	"fmt"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// The limits where Options have none.
const (
	defaultBytes    = 64 << 10
	defaultDepth    = 100
	defaultCommands = 1000
)

// Analyse says what a command line would do. The analysis is never nil: with an
// error, which wraps ErrParse or ErrLimit, its Text is the command as it came,
// its commands are all in doubt and found by a rough reading that misses none,
// and Unknown is not empty.
func Analyse(command string, o Options) (*Analysis, error) {
	if o.MaxBytes == 0 {
		o.MaxBytes = defaultBytes
	}
	if o.MaxDepth == 0 {
		o.MaxDepth = defaultDepth
	}
	if o.MaxCommands == 0 {
		o.MaxCommands = defaultCommands
	}
	if len(command) > o.MaxBytes {
		return failed(command, o, Limit, fmt.Errorf("shell: %w: %d bytes, and %d are the most: run it in parts, or from a script", ErrLimit, len(command), o.MaxBytes))
	}
	if depthOf(command) > o.MaxDepth {
		return failed(command, o, Limit, fmt.Errorf("shell: %w: nested more than %d deep", ErrLimit, o.MaxDepth))
	}
	first, err := parse(command)
	if err != nil {
		return failed(command, o, Opaque, err)
	}
	if large(first, o.MaxCommands) {
		return failed(command, o, Limit, fmt.Errorf("shell: %w: more than %d commands", ErrLimit, o.MaxCommands))
	}
	text, file, reasons, err := settle(command, first)
	if err != nil {
		return failed(command, o, Opaque, err)
	}
	w := newWalker(text, o)
	w.out.Unknown = reasons
	w.file(file)
	if len(reasons) > 0 {
		// The parser may have misread it.
		for _, view := range views(command) {
			w.rough(view)
		}
	}
	if w.err != nil {
		return failed(command, o, Limit, w.err)
	}
	w.finishAll()
	return w.out, nil
}

// maxRough bounds what is read roughly: more than any system takes for the text
// of a shell.
const maxRough = 512 << 10

// failed is the analysis of what cannot be analysed.
func failed(command string, o Options, kind Kind, err error) (*Analysis, error) {
	o.MaxCommands = -1
	w := newWalker(command, o)
	w.out.Unknown = []Reason{{Kind: kind, Text: strings.TrimPrefix(err.Error(), "shell: "), End: len(command)}}
	for _, view := range views(command[:min(len(command), maxRough)]) {
		w.rough(view)
	}
	w.finishAll()
	return w.out, err
}

// settle gives the text to be run and its tree. Where the text holds what the
// parser and bash may read differently, that is the text as it came, with the
// reasons; else what the tree prints, once that no longer changes.
func settle(command string, first *syntax.File) (string, *syntax.File, []Reason, error) {
	reasons := append(suspectBytes(command), suspectSyntax(command, first)...)
	if len(reasons) > 0 {
		return command, first, reasons, nil
	}
	text, file := command, first
	for range 4 {
		printed, err := printed(file)
		if err != nil {
			return "", nil, nil, err
		}
		again, err := parse(printed)
		if err != nil {
			break
		}
		if !sameTree(file, again) {
			break // the printer does not say what the parser read
		}
		if printed == text {
			if len(suspectSyntax(text, again)) > 0 {
				break
			}
			return text, again, nil, nil
		}
		text, file = printed, again
	}
	return command, first, []Reason{{Kind: Misread, Text: "a form that does not come out of the parser as it went in", End: len(command)}}, nil
}

// large says that a tree has more commands than are looked at, or a list or an
// expression so long that to print it is quadratic.
func large(file *syntax.File, most int) bool {
	commands, signs := 0, 0
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n.(type) {
		case *syntax.CallExpr, *syntax.DeclClause:
			commands++
		case *syntax.BinaryCmd, *syntax.BinaryArithm, *syntax.BinaryTest:
			signs++
		}
		return commands <= most && signs <= most
	})
	return commands > most || signs > most
}

func parse(text string) (file *syntax.File, err error) {
	file, err = syntax.NewParser(syntax.Variant(syntax.LangBash), syntax.KeepComments(true)).Parse(strings.NewReader(text), "")
	if err != nil {
		var pe syntax.ParseError
		if errors.As(err, &pe) {
			return nil, fmt.Errorf("shell: %w: line %d, column %d: %s", ErrParse, pe.Pos.Line(), pe.Pos.Col(), pe.Text)
		}
		return nil, fmt.Errorf("shell: %w: %w", ErrParse, err)
	}
	return file, nil
}

// printed is the text of a tree, without comments.
func printed(file *syntax.File) (string, error) {
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.File:
			n.Last = nil
		case *syntax.Stmt:
			n.Comments = nil
		case *syntax.Subshell:
			n.Last = nil
		case *syntax.Block:
			n.Last = nil
		case *syntax.IfClause:
			n.CondLast, n.ThenLast, n.Last = nil, nil, nil
		case *syntax.WhileClause:
			n.CondLast, n.DoLast = nil, nil
		case *syntax.ForClause:
			n.DoLast = nil
		case *syntax.CmdSubst:
			n.Last = nil
		case *syntax.CaseClause:
			n.Last = nil
		case *syntax.CaseItem:
			n.Comments, n.Last = nil, nil
		case *syntax.ProcSubst:
			n.Last = nil
		case *syntax.ArrayExpr:
			n.Last = nil
		case *syntax.ArrayElem:
			n.Comments = nil
		}
		return true
	})
	var b strings.Builder
	if err := syntax.NewPrinter(syntax.Indent(0)).Print(&b, file); err != nil {
		return "", fmt.Errorf("shell: %w: %w", ErrParse, err)
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// depthOf bounds from above how deep a parser would recurse into a text: the
// most that is open at any place if nothing but brackets opens and closes, and
// the words and signs that open without a bracket.
func depthOf(text string) int {
	depth, most, words, signs := 0, 0, 0, 0
	for i := range len(text) {
		switch text[i] {
		case '(', '{', '[':
			depth++
			most = max(most, depth)
			signs = 0
		case ')', '}', ']':
			depth = max(depth-1, 0)
			signs = 0
		case '!', '~', '+', '-':
			signs++
			words = max(words, signs/8)
		case ' ', '\t', '\n':
		default:
			signs = 0
		}
	}
	open := 0
	for f := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ';' || r == ' ' || r == '\n' || r == '\t' || r == '&' || r == '|' }) {
		switch f {
		case "if", "while", "until", "for", "case", "select", "time", "coproc", "function":
			open++
			words = max(words, open)
		case "fi", "done", "esac":
			open = max(open-1, 0)
		}
	}
	return max(most, words)
}
