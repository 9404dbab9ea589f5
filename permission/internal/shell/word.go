package shell

import (
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A piece is a part of a word that brace expansion may cut at: one byte that was
// not quoted, a run of quoted text, or something of which only the source is
// known.
type piece struct {
	text string
	kind pieceKind
	many bool // of an unknown piece: may be several words or none

	integer bool // of an unknown piece: a number, or nothing
}

type pieceKind uint8

const (
	bare    pieceKind = iota // one unquoted byte
	quoted                   // text that means itself
	unknown                  // an expansion
)

// maxBraces bounds what brace expansion makes of one word.
const maxBraces = 512

// expand gives the words that bash makes of one, and walks what is within it.
func (w *walker) expand(word *syntax.Word) []Word {
	if word == nil {
		return nil
	}
	pieces := w.pieces(word.Parts, false, nil)
	start, end := w.span(word)
	lists, ok := braces(pieces)
	if !ok || w.posix && hasBrace(pieces) && len(lists) > 1 {
		// What brace expansion would make of it is unsure.
		text, _ := spell(pieces)
		return []Word{{Text: text, Many: true, Start: start, End: end}}
	}
	var words []Word
	for _, l := range lists {
		if len(l) == 0 && len(lists) > 1 {
			continue // {a,}: an empty word that nothing quotes is none
		}
		word := w.finish(w.tilde(l, len(lists) == 1))
		word.Start, word.End = start, end
		words = append(words, word)
	}
	return words
}

// single is expand where bash does no brace expansion and makes one word: the
// value of an assignment, the target of a redirect, the word of a case.
func (w *walker) single(word *syntax.Word) Word {
	if word == nil {
		return Word{Known: true}
	}
	pieces := w.pieces(word.Parts, false, nil)
	out := w.finish(w.tilde(pieces, true))
	out.Many = false
	out.Start, out.End = w.span(word)
	return out
}

// streamPrefix is what the path of a process substitution begins with.
const streamPrefix = "/dev/fd/"

func spell(pieces []piece) (text string, known bool) {
	var b strings.Builder
	known = true
	for _, p := range pieces {
		b.WriteString(p.text)
		known = known && p.kind != unknown
	}
	return b.String(), known
}

// namesCommit is a substitution that gives the name of a commit and nothing else.
var namesCommit = regexp.MustCompile(`^\$\(git (rev-parse( --short| --verify| --abbrev-ref)?|merge-base)( [A-Za-z0-9_@][A-Za-z0-9_.^~/@-]*)+\)$`)

// commit says that a word begins with the name of a commit, and has no path in it.
func commit(pieces []piece) bool {
	for len(pieces) > 0 && pieces[0].text == "" {
		pieces = pieces[1:]
	}
	return len(pieces) > 0 && pieces[0].kind == unknown && namesCommit.MatchString(pieces[0].text) &&
		!slices.ContainsFunc(pieces[1:], func(p piece) bool { return p.kind == unknown || strings.Contains(p.text, ":") })
}

// finish joins pieces to a word.
func (w *walker) finish(pieces []piece) Word {
	out := Word{Known: true}
	out.stream = len(pieces) == 2 && pieces[0].text == streamPrefix && (strings.HasPrefix(pieces[1].text, "<(") || strings.HasPrefix(pieces[1].text, ">("))
	out.commit = commit(pieces)
	out.integer = len(pieces) == 1 && pieces[0].integer && !w.ifs
	for i, p := range pieces {
		switch p.kind {
		case unknown:
			out.Known = false
			out.Many = out.Many || p.many
		case bare:
			switch p.text {
			case "*", "?":
				out.Glob = true
			case "[":
				// Without a bracket that closes it, as in the program [, it is text.
				out.Glob = out.Glob || slices.ContainsFunc(pieces[i+1:], func(p piece) bool { return is(p, "]") || p.kind == unknown })
			}
		}
	}
	var text, prefix strings.Builder
	open := true
	for _, p := range pieces {
		if p.kind == unknown || out.Glob && p.kind == bare && strings.ContainsAny(p.text, "*?[") {
			open = false
		}
		if open {
			prefix.WriteString(p.text)
		}
		if p.kind == quoted && out.Glob && out.Known {
			for i := range len(p.text) {
				if strings.IndexByte(`*?[]\!-`, p.text[i]) >= 0 {
					text.WriteByte('\\')
				}
				text.WriteByte(p.text[i])
			}
			continue
		}
		text.WriteString(p.text)
	}
	out.Text, out.Prefix = text.String(), prefix.String()
	return out
}

// tilde expands ~ and ~/ at the start of a word, and after the = and each : of a
// word that looks like an assignment. ~user, ~+ and ~- are unknown.
// whole says that brace expansion made but this word.
func (w *walker) tilde(pieces []piece, whole bool) []piece {
	at := []int{0}
	if eq := assignmentSign(pieces); eq > 0 {
		if !whole {
			// Whether bash takes it for an assignment is decided before braces.
			out := slices.Clone(pieces)
			for i := range out[1:] {
				if is(out[i+1], "~") {
					out[i+1].kind = unknown
				}
			}
			return out
		}
		at = append(at, eq+1)
		for i := eq + 1; i < len(pieces); i++ {
			if pieces[i].kind == bare && pieces[i].text == ":" {
				at = append(at, i+1)
			}
		}
	}
	var out []piece
	done := 0
	for _, i := range at {
		if i >= len(pieces) || pieces[i].kind != bare || pieces[i].text != "~" {
			continue
		}
		out = append(out, pieces[done:i]...)
		done = i + 1
		end := done == len(pieces) || pieces[done].kind == bare && (pieces[done].text == "/" || pieces[done].text == ":" && len(at) > 1)
		if end && w.home() != "" {
			out = append(out, piece{text: w.home(), kind: quoted})
		} else {
			out = append(out, piece{text: "~", kind: unknown})
		}
	}
	if done == 0 {
		return pieces
	}
	return append(out, pieces[done:]...)
}

// assignmentSign gives the index of the = of name=…, or -1.
func assignmentSign(pieces []piece) int {
	for i, p := range pieces {
		if p.kind != bare {
			return -1
		}
		c := p.text[0]
		switch {
		case c == '=' && i > 0:
			return i
		case c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || i > 0 && ('0' <= c && c <= '9' || c == '+'):
		default:
			return -1
		}
	}
	return -1
}

// pieces takes a word's parts to pieces: quotes are removed, ANSI-C strings
// decoded, expansions walked and left unknown.
func (w *walker) pieces(parts []syntax.WordPart, inQuotes bool, out []piece) []piece {
	for _, part := range parts {
		switch part := part.(type) {
		case *syntax.Lit:
			out = literal(part.Value, inQuotes, out)
		case *syntax.SglQuoted:
			text, ok := part.Value, true
			if part.Dollar {
				text, ok = ansiC(part.Value)
			}
			if !ok {
				w.reason(part, Opaque, "a $'…' string that is not understood")
				out = append(out, piece{text: part.Value, kind: unknown})
				continue
			}
			out = append(out, piece{text: text, kind: quoted})
		case *syntax.DblQuoted:
			if part.Dollar {
				// Translated by the message catalogue of the locale.
				text, _ := spell(w.pieces(part.Parts, true, nil))
				out = append(out, piece{text: text, kind: unknown})
				continue
			}
			out = append(out, piece{kind: quoted}) // "" is a word
			out = w.pieces(part.Parts, true, out)
		case *syntax.ParamExp:
			many := !inQuotes
			if w.number(part) {
				many = false
			}
			if p := part.Param; p != nil && (p.Value == "@" || p.Value == "*") || part.Index != nil || part.Names != 0 {
				many = true
			}
			w.at(InCondition, func() { w.parameter(part) })
			if text, ok := w.constant(part); ok {
				out = append(out, piece{text: text, kind: quoted})
				continue
			}
			out = append(out, piece{text: w.source(part), kind: unknown, many: many, integer: w.integer(part)})
		case *syntax.CmdSubst:
			if part.TempFile || part.ReplyVar {
				w.reason(part, Opaque, "a substitution of another shell")
			}
			w.substitution(part.Stmts)
			out = append(out, piece{text: w.source(part), kind: unknown, many: !inQuotes})
		case *syntax.ProcSubst:
			if len(part.Stmts) == 0 {
				w.reason(part, Misread, "a substitution of no command, which is nothing and no path")
			}
			w.substitution(part.Stmts)
			// A path under /dev/fd, whatever stands around it.
			out = append(out, piece{text: streamPrefix, kind: quoted}, piece{text: w.source(part), kind: unknown})
		case *syntax.ArithmExp:
			w.arithmetic(part.X)
			out = append(out, piece{text: w.source(part), kind: unknown, many: !inQuotes && w.ifs})
		case *syntax.ExtGlob:
			w.reason(part, Misread, "an extended pattern, which bash reads in another way unless extglob is on")
			out = append(out, piece{text: w.source(part), kind: unknown, many: true})
		default:
			w.reason(part, Opaque, "a form of word that is not understood")
			out = append(out, piece{text: w.source(part), kind: unknown, many: true})
		}
	}
	return out
}

// literal removes backslashes as bash does.
func literal(s string, inQuotes bool, out []piece) []piece {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '\\' && i+1 < len(s) {
			next := s[i+1]
			if next == '\n' {
				i++
				continue
			}
			if !inQuotes || strings.IndexByte("$`\"\\", next) >= 0 {
				i++
				out = append(out, piece{text: s[i : i+1], kind: quoted})
				continue
			}
		}
		kind := bare
		if inQuotes {
			kind = quoted
		}
		out = append(out, piece{text: s[i : i+1], kind: kind})
	}
	return out
}

// number says that an expansion is a number, which is one word in any case.
func (w *walker) number(p *syntax.ParamExp) bool {
	if w.ifs || p.Param == nil {
		return false
	}
	return p.Length || (p.Short || p.Exp == nil && p.Slice == nil && p.Repl == nil && !p.Excl) && listed(" ? # $ ", p.Param.Value)
}

// integer says that an expansion is a number, or nothing.
func (w *walker) integer(p *syntax.ParamExp) bool {
	return p.Param != nil && w.integers[p.Param.Value] && p.Exp == nil && p.Index == nil && p.Slice == nil && p.Repl == nil && !p.Excl
}

// constant is the value of an expansion that is known: $HOME.
func (w *walker) constant(p *syntax.ParamExp) (string, bool) {
	if p.Param == nil || p.Param.Value != "HOME" || p.Excl || p.Length || p.Index != nil || p.Slice != nil || p.Repl != nil ||
		p.Names != 0 || p.Exp != nil || p.NestedParam != nil || p.Flags != nil || w.home() == "" ||
		strings.ContainsAny(w.home(), " \t\n*?[\\") {
		return "", false
	}
	return w.home(), true
}

// parameter walks what is within an expansion and says what it may run.
func (w *walker) parameter(p *syntax.ParamExp) {
	switch {
	case p.Excl:
		w.reason(p, Computed, "an indirect expansion")
	case p.NestedParam != nil || p.Flags != nil || p.Width || p.IsSet || len(p.Modifiers) > 0 ||
		p.Split != 0 || p.GlobSubst != 0 || p.RcExpand != 0:
		w.reason(p, Opaque, "an expansion of another shell")
	}
	if p.Index != nil && !w.allElements(p.Index) {
		w.arithmetic(p.Index)
	}
	if p.Slice != nil {
		w.arithmetic(p.Slice.Offset)
		w.arithmetic(p.Slice.Length)
	}
	if p.Repl != nil {
		w.inner(p.Repl.Orig)
		w.inner(p.Repl.With)
	}
	if p.Exp == nil {
		return
	}
	switch p.Exp.Op {
	case syntax.AlternateUnset, syntax.AlternateUnsetOrNull, syntax.DefaultUnset, syntax.DefaultUnsetOrNull,
		syntax.ErrorUnset, syntax.ErrorUnsetOrNull, syntax.RemSmallPrefix, syntax.RemLargePrefix,
		syntax.RemSmallSuffix, syntax.RemLargeSuffix, syntax.UpperFirst, syntax.UpperAll, syntax.LowerFirst, syntax.LowerAll:
		w.inner(p.Exp.Word)
	case syntax.AssignUnset, syntax.AssignUnsetOrNull:
		w.reason(p, Redefine, "an expansion that sets a variable")
		w.inner(p.Exp.Word)
	case syntax.OtherParamOps:
		switch p.Exp.Word.Lit() {
		case "Q", "U", "L", "u", "a":
		default:
			w.reason(p, Computed, "an expansion that evaluates a variable's text")
		}
	default:
		w.reason(p, Opaque, "an expansion that is not understood")
		w.inner(p.Exp.Word)
	}
}

func (w *walker) allElements(x syntax.ArithmExpr) bool {
	word, ok := x.(*syntax.Word)
	return ok && (word.Lit() == "@" || word.Lit() == "*")
}

// inner walks a word for what it would run.
func (w *walker) inner(word *syntax.Word) {
	if word != nil {
		w.pieces(word.Parts, false, nil)
	}
}

// arithmetic walks an expression. A name in it is evaluated as an expression in
// its turn, and a subscript in that runs substitutions, so that only numbers are
// known to be harmless.
func (w *walker) arithmetic(x syntax.ArithmExpr) {
	switch x := x.(type) {
	case nil:
	case *syntax.BinaryArithm:
		if _, ok := assigned(x); !ok {
			w.arithmetic(x.X)
		}
		w.arithmetic(x.Y)
	case *syntax.UnaryArithm:
		w.arithmetic(x.X)
	case *syntax.ParenArithm:
		w.arithmetic(x.X)
	case *syntax.Word:
		w.inner(x)
		for _, part := range x.Parts {
			switch part := part.(type) {
			case *syntax.Lit:
				if strings.Trim(part.Value, "0123456789") == "" || len(x.Parts) == 1 && w.integers[part.Value] {
					continue
				}
			case *syntax.ParamExp:
				if part.Length || w.number(part) || w.integer(part) {
					continue
				}
			case *syntax.ArithmExp:
				continue
			}
			w.reason(x, Computed, "arithmetic evaluates the text of a variable")
			return
		}
	default:
		w.reason(x, Opaque, "a form of arithmetic that is not understood")
	}
}
