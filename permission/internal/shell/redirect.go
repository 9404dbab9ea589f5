package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

func (w *walker) redirects(c *Command, list []*syntax.Redirect) {
	for _, r := range list {
		w.redirect(c, r)
	}
}

func (w *walker) redirect(c *Command, r *syntax.Redirect) {
	out := Redirect{Op: r.Op.String()}
	if r.N != nil {
		out.FD = r.N.Value
		if strings.Trim(out.FD, "0123456789") != "" {
			w.reason(r, Redefine, "a redirect that sets a variable")
		}
	}
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		for _, part := range r.Word.Parts {
			switch part := part.(type) {
			case *syntax.Lit:
			case *syntax.SglQuoted:
				if part.Dollar {
					w.reason(r, Misread, "a here-document that ends in a way that shells read differently")
				}
			case *syntax.DblQuoted:
				if part.Dollar || len(part.Parts) > 1 || len(part.Parts) == 1 && !isLit(part.Parts[0]) {
					w.reason(r, Misread, "a here-document that ends in a way that shells read differently")
				}
			default:
				w.reason(r, Misread, "a here-document that ends in a way that shells read differently")
			}
		}
		out.Target = w.document(r)
	case syntax.WordHdoc:
		out.Target = w.single(r.Word)
	case syntax.RdrOut, syntax.AppOut, syntax.RdrClob, syntax.RdrAll, syntax.AppAll, syntax.RdrInOut, syntax.RdrIn, syntax.DplOut, syntax.DplIn:
		out.Target = w.target(r.Word)
		w.file1(&out, r)
	default:
		w.reason(r, Opaque, "a redirect that is not understood")
		out.Target, out.Write = w.target(r.Word), true
	}
	c.Redirects = append(c.Redirects, out)
}

func isLit(p syntax.WordPart) bool {
	_, ok := p.(*syntax.Lit)
	return ok
}

// target is the word of a redirect. bash expands it as any word and fails if
// more than one comes out, but for a pattern that names one file.
func (w *walker) target(word *syntax.Word) Word {
	words := w.expand(word)
	if len(words) == 1 {
		return words[0]
	}
	start, end := w.span(word)
	return Word{Text: w.source(word), Start: start, End: end}
}

// file1 says whether a redirect opens a file.
func (w *walker) file1(out *Redirect, r *syntax.Redirect) {
	t := out.Target
	if r.Op == syntax.DplOut || r.Op == syntax.DplIn {
		fd := strings.TrimSuffix(t.Text, "-")
		if t.Known && !t.Glob && strings.Trim(fd, "0123456789") == "" && t.Text != "" {
			return
		}
		if r.Op == syntax.DplIn || out.FD != "" && out.FD != "1" {
			w.reason(r, Computed, "a descriptor that is computed")
		}
		out.Write = r.Op == syntax.DplOut
		return
	}
	if t.stream || t.Known && !t.Glob && standardStream(t.Text) {
		return
	}
	out.Read = r.Op == syntax.RdrIn || r.Op == syntax.RdrInOut
	out.Write = r.Op != syntax.RdrIn
}

func standardStream(path string) bool {
	switch path {
	case "/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin":
		return true
	}
	fd, ok := strings.CutPrefix(path, "/dev/fd/")
	return ok && fd != "" && strings.Trim(fd, "0123456789") == ""
}

// document is the text of a here-document.
func (w *walker) document(r *syntax.Redirect) Word {
	out := Word{Known: true}
	out.Start, out.End = w.span(r)
	if r.Hdoc == nil {
		return out
	}
	plain := quotedDelimiter(r.Word)
	var text strings.Builder
	for _, part := range r.Hdoc.Parts {
		lit, ok := part.(*syntax.Lit)
		if !ok {
			text.WriteString(w.source(part))
			out.Known = false
			continue
		}
		text.WriteString(lit.Value)
		if !plain && strings.Contains(lit.Value, `\`) {
			out.Known = false
		}
	}
	if !plain {
		w.pieces(r.Hdoc.Parts, true, nil)
	}
	out.Text = text.String()
	if r.Op == syntax.DashHdoc {
		lines := strings.SplitAfter(out.Text, "\n")
		for i := range lines {
			lines[i] = strings.TrimLeft(lines[i], "\t")
		}
		out.Text = strings.Join(lines, "")
	}
	if out.Known {
		out.Prefix = out.Text
	}
	return out
}
