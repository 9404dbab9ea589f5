package builtin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/cantle-dev/cantle/internal/x/pdf"
	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/tool"
)

// What Read gives of a PDF file.
const (
	pdfPages = 20        // pages at once
	pdfMax   = 32 << 20  // bytes that the model is given
	pdfFile  = 128 << 20 // bytes of a file that pages are taken out of
)

// pdf shows pages of a PDF file: as a document where the model takes one, and
// else as text.
func (o Options) pdf(ctx context.Context, path string, info fs.FileInfo, r io.Reader, in readIn) (*tool.Result, error) {
	const kind = "application/pdf"
	if info.Size() > pdfFile {
		return nil, fmt.Errorf("%s has %d bytes, more than the %d MiB that a PDF file may have: take pages out of it with Bash", o.show(path), info.Size(), pdfFile>>20)
	}
	data, err := readRest(o.show(path), info, r, pdfFile)
	if err != nil {
		return nil, err
	}
	takes := o.traits(ctx).PDF
	whole := &tool.Result{Parts: llm.Parts{llm.Blob{MIME: kind, Data: data, Name: filepath.Base(path)}}}
	doc, err := pdf.Open(ctx, data)
	switch {
	case errors.Is(err, pdf.ErrEncrypted):
		return nil, fmt.Errorf("%s is an encrypted PDF file: make a copy that is not with Bash, as with qpdf --decrypt", o.show(path))
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil && takes && in.Pages == "" && len(data) <= pdfMax:
		return whole, nil // who shows it may make more of it
	case err != nil:
		return nil, fmt.Errorf("%s is a PDF file that cannot be taken apart: %w: repair it with Bash, as with qpdf", o.show(path), err)
	}
	from, to, err := in.pages(doc.Pages())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.show(path), err)
	}
	if !takes {
		return o.pdfText(ctx, path, doc, from, to, in.Offset)
	}
	if from == 1 && to == doc.Pages() && len(data) <= pdfMax {
		return whole, nil
	}
	part, err := doc.Extract(ctx, from, to, pdfMax)
	var large *pdf.LargeError
	if errors.As(err, &large) {
		return nil, fmt.Errorf("pages %d-%d of %s have more than %d MiB: ask for fewer, or make a smaller file with Bash", from, to, o.show(path), pdfMax>>20)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.show(path), err)
	}
	return &tool.Result{Parts: llm.Parts{
		llm.Blob{MIME: kind, Data: part, Name: filepath.Base(path)},
		llm.Text{Text: pagesNote(from, to, doc.Pages())},
	}}, nil
}

// pages are the pages that a call asks for, of n.
func (in readIn) pages(n int) (from, to int, err error) {
	if in.Pages == "" {
		return 1, min(n, pdfPages), nil
	}
	a, b, isRange := strings.Cut(in.Pages, "-")
	from, err = strconv.Atoi(strings.TrimSpace(a))
	to = from
	if err == nil && isRange {
		to, err = strconv.Atoi(strings.TrimSpace(b))
	}
	switch {
	case err != nil || from < 1 || to < from:
		return 0, 0, fmt.Errorf("pages %q is neither a page such as \"3\" nor a range such as \"1-5\"", cut(in.Pages, 40))
	case from > n:
		return 0, 0, fmt.Errorf("page %d is beyond the end: it has %d pages", from, n)
	}
	if to = min(to, n); to-from >= pdfPages {
		return 0, 0, fmt.Errorf("pages %d-%d are more than the %d that can be had at once", from, to, pdfPages)
	}
	return from, to, nil
}

// pagesNote says which pages are shown, and how to go on.
func pagesNote(from, to, n int) string {
	s := fmt.Sprintf("[Pages %d-%d of %d", from, to, n)
	if to < n {
		s += fmt.Sprintf(". Go on with pages \"%d-%d\"", to+1, min(n, to+pdfPages))
	}
	return s + ".]"
}

// pdfText is the text of pages, from a line of the first of them on.
func (o Options) pdfText(ctx context.Context, path string, doc *pdf.Document, from, to, offset int) (*tool.Result, error) {
	var b strings.Builder
	unclear := false
	for n := from; n <= to; n++ {
		text, err := doc.Text(ctx, n)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		fmt.Fprintf(&b, "[page %d]\n", n)
		if err != nil {
			fmt.Fprintf(&b, "[it cannot be read: %v]\n", err)
			continue
		}
		if text == "" {
			b.WriteString("[it has no text, and may be a picture]\n")
			continue
		}
		lines := shortLines(printable(text))
		first := 0
		if n == from && offset > 1 {
			if first = offset - 1; first >= len(lines) {
				return nil, fmt.Errorf("offset %d is beyond the end of page %d of %s, whose text has %d lines", offset, n, o.show(path), len(lines))
			}
		}
		for i, l := range lines[first:] {
			if b.Len()+len(l) > readBytes {
				fmt.Fprintf(&b, "[Page %d goes on. Go on with pages \"%d-%d\" and offset %d.]", n, n, to, first+i+1)
				return tool.Text(b.String()), nil
			}
			unclear = unclear || strings.Contains(l, "\uFFFD")
			b.WriteString(l + "\n")
		}
	}
	if unclear {
		b.WriteString("[Glyphs of which the document does not say what they mean are shown as \uFFFD.]\n")
	}
	b.WriteString(pagesNote(from, to, doc.Pages()))
	return tool.Text(b.String()), nil
}

// shortLines is text in lines of at most readColumn bytes.
func shortLines(text string) []string {
	var out []string
	for l := range strings.SplitSeq(text, "\n") {
		for len(l) > readColumn {
			head := cut(l, readColumn)
			out = append(out, head)
			l = l[len(head):]
		}
		out = append(out, l)
	}
	return out
}
