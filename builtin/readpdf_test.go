package builtin_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/builtin"
	"github.com/cantle-dev/cantle/internal/x/pdf"
	"github.com/cantle-dev/cantle/llm"
)

// pdfOf is a PDF document with those texts on its pages.
func pdfOf(trailer string, pages ...string) string {
	var b strings.Builder
	b.WriteString("%PDF-1.7\n")
	var at []int
	object := func(s string) {
		at = append(at, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", len(at), s)
	}
	object("<</Type/Catalog/Pages 2 0 R>>")
	kids := ""
	for i := range pages {
		kids += fmt.Sprintf("%d 0 R ", 4+2*i)
	}
	object("<</Type/Pages/Kids[" + kids + "]/MediaBox[0 0 99 99]/Resources<</Font<</F 3 0 R>>>>>>")
	object("<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>")
	for i, p := range pages {
		object(fmt.Sprintf("<</Type/Page/Parent 2 0 R/Contents %d 0 R>>", 5+2*i))
		content := "BT /F 9 Tf 9 TL"
		for l := range strings.Lines(p) {
			content += " (" + strings.TrimSuffix(l, "\n") + ") '"
		}
		object(fmt.Sprintf("<</Length %d>>\nstream\n%s\nendstream", len(content)+3, content+" ET"))
	}
	start := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(at)+1)
	for _, a := range at {
		fmt.Fprintf(&b, "%010d 00000 n \n", a)
	}
	fmt.Fprintf(&b, "trailer\n<</Root 1 0 R %s>>\nstartxref\n%d\n%%%%EOF\n", trailer, start)
	return b.String()
}

func numbered(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("text %d", i+1)
	}
	return out
}

func TestReadPDFPages(t *testing.T) {
	b := newBench(t).with(func(o *builtin.Options) {
		o.Traits = func(context.Context) llm.Traits { return llm.Traits{PDF: true} }
	})
	small := pdfOf("", numbered(3)...)
	b.write("small.pdf", small)
	b.write("large.pdf", pdfOf("", numbered(50)...))
	blob := func(in m) (llm.Blob, string) {
		t.Helper()
		res := b.result("Read", in)
		bl, ok := res.Parts[0].(llm.Blob)
		if !ok || bl.MIME != "application/pdf" {
			t.Fatalf("%v", res.Parts)
		}
		return bl, res.Parts[1:].Text()
	}
	if got, note := blob(m{"file_path": "small.pdf"}); string(got.Data) != small || got.Name != "small.pdf" || note != "" {
		t.Errorf("not the file as it is: %q", note)
	}
	for in, want := range map[string]struct {
		pages int
		first string
		note  string
	}{
		"":      {20, "text 1", `[Pages 1-20 of 50. Go on with pages "21-40".]`},
		"3":     {1, "text 3", `[Pages 3-3 of 50. Go on with pages "4-23".]`},
		"45-60": {6, "text 45", "[Pages 45-50 of 50.]"},
		"2 - 4": {3, "text 2", `[Pages 2-4 of 50. Go on with pages "5-24".]`},
	} {
		got, note := blob(m{"file_path": "large.pdf", "pages": in})
		d, err := pdf.Open(t.Context(), got.Data)
		if err != nil || d.Pages() != want.pages || note != want.note {
			t.Errorf("%q: %v, %q", in, err, note)
			continue
		}
		if s, err := d.Text(t.Context(), 1); err != nil || s != want.first {
			t.Errorf("%q: %q, %v", in, s, err)
		}
	}
	for in, want := range map[string]string{
		"x": "neither a page", "0": "neither a page", "5-2": "neither a page", "1,2": "neither a page",
		"51": "it has 50 pages", "1-21": "more than the 20",
	} {
		b.fails(want, "Read", m{"file_path": "large.pdf", "pages": in})
	}
	b.write("f.txt", "text\n")
	b.fails("is no PDF file", "Read", m{"file_path": "f.txt", "pages": "1"})
	b.write("locked.pdf", pdfOf("/Encrypt 3 0 R", "x"))
	b.fails("encrypted PDF file", "Read", m{"file_path": "locked.pdf"})
	b.write("broken.pdf", "%PDF-1.7\nnothing\n")
	if got, _ := blob(m{"file_path": "broken.pdf"}); string(got.Data) != "%PDF-1.7\nnothing\n" {
		t.Error("who shows it may make more of it, and it was not given")
	}
	b.fails("cannot be taken apart", "Read", m{"file_path": "broken.pdf", "pages": "1"})
	b.fails("is a binary file", "Write", m{"file_path": "broken.pdf", "content": "x"})
}

// Where the model takes no PDF documents, it gets their text.
func TestReadPDFText(t *testing.T) {
	b := newBench(t)
	b.write("a.pdf", pdfOf("", "one\ntwo", "", "three"))
	if got := b.ok("Read", m{"file_path": "a.pdf"}); got != "[page 1]\none\ntwo\n[page 2]\n[it has no text, and may be a picture]\n[page 3]\nthree\n[Pages 1-3 of 3.]" {
		t.Errorf("%q", got)
	}
	long := strings.Repeat("a line of some length, to fill the page with\n", 2000)
	b.write("long.pdf", pdfOf("", long+"the end", "after"))
	got := b.ok("Read", m{"file_path": "long.pdf"})
	mt := goesOnPDF(got)
	if len(got) > 51<<10 || mt == "" {
		t.Fatalf("%d bytes: %s", len(got), got[len(got)-100:])
	}
	got = b.ok("Read", m{"file_path": "long.pdf", "pages": "1-2", "offset": mt})
	if !strings.HasPrefix(got, "[page 1]\na line of") || !strings.HasSuffix(got, "the end\n[page 2]\nafter\n[Pages 1-2 of 2.]") {
		t.Errorf("%q", got[len(got)-100:])
	}
	if n := strings.Count(got, "a line"); fmt.Sprint(2000-n+1) != mt {
		t.Errorf("%d lines from line %s on", n, mt)
	}
	b.fails("beyond the end of page 2", "Read", m{"file_path": "long.pdf", "pages": "2", "offset": 9})
	b.fails("cannot be taken apart", "Read", m{"file_path": b.make("b.pdf", "%PDF-1.7\n")})
	if err := os.Truncate(b.path(b.make("huge.pdf", "%PDF-1.7\n")), 128<<20+1); err != nil {
		t.Skip("no sparse files here: ", err)
	}
	b.fails("more than the 128 MiB", "Read", m{"file_path": "huge.pdf"})
}

func (b *bench) make(name, text string) string { b.write(name, text); return name }

// goesOnPDF is the offset that a note names.
func goesOnPDF(s string) string {
	_, s, _ = strings.Cut(s, "[Page 1 goes on. Go on with pages \"1-2\" and offset ")
	s, _, _ = strings.Cut(s, ".]")
	return s
}
