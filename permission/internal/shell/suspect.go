package shell

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// suspectBytes finds what no shell text needs and what the parser, bash or a
// reader take for something else: control bytes, broken UTF-8, signs that turn
// the direction of writing.
func suspectBytes(text string) []Reason {
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		why := ""
		switch {
		case r == utf8.RuneError && n == 1:
			why = "not UTF-8"
		case r == '\r':
			why = "a carriage return, which bash takes for a letter"
		case r == 0:
			why = "a NUL byte, which cannot be passed to a shell"
		case r < ' ' && r != '\n' && r != '\t', r >= 0x7f && r < 0xa0:
			why = "a control character"
		case unicode.Is(unicode.Bidi_Control, r):
			why = "a character that turns the direction of writing"
		}
		if why != "" {
			return []Reason{{Kind: Misread, Text: why, Start: i, End: i + n}}
		}
		i += n
	}
	return nil
}

// A span is a part of the text in which a backslash before a line's end means
// something else than in the open.
type span struct {
	from, to int
	inert    bool // it means nothing
}

// suspectSyntax finds what the parser is known to read differently than bash.
func suspectSyntax(text string, file *syntax.File) (reasons []Reason) {
	add := func(n syntax.Node, why string) {
		reasons = append(reasons, Reason{Kind: Misread, Text: why, Start: int(n.Pos().Offset()), End: min(int(n.End().Offset()), len(text))})
	}
	var spans []span
	mark := func(n syntax.Node, inert bool) {
		spans = append(spans, span{int(n.Pos().Offset()), int(n.End().Offset()), inert})
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Comment:
			if strings.HasSuffix(strings.TrimRight(n.Text, "\n"), `\`) {
				add(n, "a comment that ends in a backslash")
			}
		case *syntax.SglQuoted:
			mark(n, true)
		case *syntax.DblQuoted:
			mark(n, false)
			if q := quotedWithin(n); q != nil {
				add(q, "quotes within an expansion within quotes, which do not quote there")
			}
		case *syntax.Redirect:
			if n.N != nil && len(n.N.Value) > 9 && n.N.Value[0] != '{' {
				add(n, "a number that is no descriptor, but a word")
			}
			if closes(n) {
				add(n, "a descriptor that is closed, with a word right behind")
			}
			if n.Hdoc != nil {
				plain := quotedDelimiter(n.Word)
				mark(n.Hdoc, plain)
				if q := quotedWithin(n.Hdoc); q != nil && !plain {
					add(q, "quotes within an expansion within quotes, which do not quote there")
				}
			}
		case *syntax.Stmt:
			if call, ok := n.Cmd.(*syntax.CallExpr); ok && namesDescriptor(text, call, n.Redirs) {
				add(n, "a redirect that sets an element of an array")
			}
		case *syntax.ProcSubst:
			if documentsOutside(n, n.Rparen) {
				add(n, "a here-document that begins in a substitution and ends outside")
			}
		case *syntax.CmdSubst:
			if documentsOutside(n, n.Right) {
				add(n, "a here-document that begins in a substitution and ends outside")
			}
			if s := slice(text, n); n.Backquotes && (strings.Contains(s, `\`) || strings.Count(s, "`") != 2) {
				add(n, "a backslash or another backquote within backquotes")
			}
		case *syntax.ExtGlob:
			add(n, "an extended pattern, which bash reads in another way unless extglob is on")
		case *syntax.Lit:
			if i := strings.IndexFunc(n.Value, blankAlike); i >= 0 && !within(spans, int(n.Pos().Offset())) {
				add(n, "a character that looks like a blank or like nothing")
			}
		}
		return true
	})
	if r := misplaced(text, file); r != nil {
		add(r, "a here-document that may not be where bash reads it")
	}
	// A continuation is read alike where a blank stands before it, in the open.
	for i := 0; ; {
		j := strings.Index(text[i:], "\\\n")
		if j < 0 {
			return reasons
		}
		at := i + j
		i = at + 2
		in, inert := inside(spans, at)
		if inert {
			continue
		}
		if in || at > 0 && strings.IndexByte(" \t\n", text[at-1]) < 0 {
			reasons = append(reasons, Reason{Kind: Misread, Text: "a backslash at the end of a line, within a word or in quotes", Start: at, End: at + 2})
			return reasons
		}
	}
}

// closes says that bash reads >&- and then a word, where the parser reads a word
// that begins with a dash.
func closes(r *syntax.Redirect) bool {
	if r.Op != syntax.DplOut && r.Op != syntax.DplIn || r.Word == nil || len(r.Word.Parts) == 0 {
		return false
	}
	lit, ok := r.Word.Parts[0].(*syntax.Lit)
	return ok && strings.HasPrefix(lit.Value, "-") && (len(lit.Value) > 1 || len(r.Word.Parts) > 1)
}

// namesDescriptor says that a word in braces stands right before a redirect,
// which is the name of a variable to bash.
func namesDescriptor(text string, call *syntax.CallExpr, redirects []*syntax.Redirect) bool {
	for _, arg := range call.Args {
		if s := slice(text, arg); !strings.HasPrefix(s, "{") || !strings.HasSuffix(s, "}") {
			continue
		}
		if slices.ContainsFunc(redirects, func(r *syntax.Redirect) bool { return r.Pos().Offset() == arg.End().Offset() }) {
			return true
		}
	}
	return false
}

// quotedWithin finds single quotes in an expansion of what is itself quoted:
// in "${x:-'$(id)'}" bash takes them for letters and runs id, the parser takes
// them for quotes.
func quotedWithin(n syntax.Node) (found syntax.Node) {
	depth := 0 // of expansions
	var open []bool
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case nil:
			last := len(open) - 1
			if open[last] {
				depth--
			}
			open = open[:last]
			return true
		case *syntax.CmdSubst, *syntax.ProcSubst:
			return false // quotes are quotes again
		case *syntax.SglQuoted:
			if depth > 0 && found == nil {
				found = n
			}
		case *syntax.ParamExp, *syntax.ArithmExp:
			depth++
			open = append(open, true)
			return true
		}
		open = append(open, false)
		return true
	})
	return found
}

// documentsOutside says that a here-document of a substitution lies behind it.
func documentsOutside(n syntax.Node, end syntax.Pos) (found bool) {
	syntax.Walk(n, func(n syntax.Node) bool {
		if r, ok := n.(*syntax.Redirect); ok && (r.Op == syntax.Hdoc || r.Op == syntax.DashHdoc) {
			found = found || r.Hdoc == nil || r.Hdoc.Pos().After(end) || r.Hdoc.End().After(end)
		}
		return !found
	})
	return found
}

// misplaced finds a here-document whose text is not on the lines behind the line
// of its operator, ended by its delimiter.
func misplaced(text string, file *syntax.File) (found *syntax.Redirect) {
	var all []*syntax.Redirect
	syntax.Walk(file, func(n syntax.Node) bool {
		if r, ok := n.(*syntax.Redirect); ok && (r.Op == syntax.Hdoc || r.Op == syntax.DashHdoc) {
			all = append(all, r)
		}
		return true
	})
	slices.SortStableFunc(all, func(a, b *syntax.Redirect) int { return int(a.OpPos.Offset()) - int(b.OpPos.Offset()) })
	line, next := -1, 0 // of the last operator, and where the next text must begin
	for _, r := range all {
		op := int(r.OpPos.Offset())
		eol := strings.IndexByte(text[min(op, len(text)):], '\n')
		if eol < 0 {
			return r
		}
		if op+eol != line {
			line, next = op+eol, op+eol+1
		}
		from := next
		if r.Hdoc != nil {
			if int(r.Hdoc.Pos().Offset()) != from {
				return r
			}
		}
		// The first line that is the delimiter ends it, to bash.
		want, dash := delimiter(r.Word), r.Op == syntax.DashHdoc
		for {
			if next > len(text) {
				return r
			}
			one, _, more := strings.Cut(text[next:], "\n")
			at := next
			next += len(one) + 1
			if dash {
				one = strings.TrimLeft(one, "\t")
			}
			if one == want {
				end := at + len(text[at:min(next-1, len(text))])
				if r.Hdoc != nil && int(r.Hdoc.End().Offset()) != end {
					return r
				}
				if r.Hdoc == nil && at != from {
					return r
				}
				break
			}
			// In a substitution a line that only begins so ends it too, if what
			// ends the substitution stands on it.
			if strings.HasPrefix(one, want) && strings.ContainsAny(one[len(want):], ")}`") {
				return r
			}
			if !more {
				return r
			}
		}
	}
	return nil
}

// delimiter is the word that ends a here-document, without its quotes.
func delimiter(word *syntax.Word) string {
	var b strings.Builder
	for _, part := range word.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			text, _ := spell(literal(part.Value, false, nil))
			b.WriteString(text)
		case *syntax.SglQuoted:
			b.WriteString(part.Value)
		case *syntax.DblQuoted:
			for _, p := range part.Parts {
				if lit, ok := p.(*syntax.Lit); ok {
					text, _ := spell(literal(lit.Value, true, nil))
					b.WriteString(text)
				}
			}
		}
	}
	return b.String()
}

func within(spans []span, at int) bool {
	in, _ := inside(spans, at)
	return in
}

// inside says whether a place is in a span, and whether the innermost is inert.
// Spans are in the order of their starts, and nest.
func inside(spans []span, at int) (in, inert bool) {
	steps := 0
	for i := len(spans) - 1; i >= 0; i-- {
		if spans[i].from <= at && at < spans[i].to {
			return true, spans[i].inert
		}
		if steps++; steps > 4096 {
			return true, false
		}
	}
	return false, false
}

// quotedDelimiter says that a here-document is plain text.
func quotedDelimiter(word *syntax.Word) bool {
	for _, part := range word.Parts {
		lit, ok := part.(*syntax.Lit)
		if !ok || strings.Contains(lit.Value, `\`) {
			return true
		}
	}
	return false
}

// blankAlike says that a character is none to bash but a blank, or nothing, to
// the eye.
func blankAlike(r rune) bool {
	return r >= 0x80 && (unicode.In(r, unicode.Z, unicode.Cf, unicode.Cc) || r == 0x115f || r == 0x1160 || r == 0x3164 || r == 0xffa0 || r == 0x2800)
}

func slice(text string, n syntax.Node) string {
	from, to := int(n.Pos().Offset()), int(n.End().Offset())
	if from > to || to > len(text) {
		return ""
	}
	return text[from:to]
}

// views are other ways to read a text, so that a command which any of them shows
// is not missed.
func views(text string) []string {
	out := []string{text}
	if strings.Contains(text, "\\\n") {
		out = append(out, strings.ReplaceAll(text, "\\\n", ""))
	}
	if strings.ContainsAny(text, "\r\x00") {
		out = append(out, strings.NewReplacer("\r", "", "\x00", "").Replace(text), strings.NewReplacer("\\\r\n", "", "\r", "\n", "\x00", "\n").Replace(text))
	}
	return out
}
