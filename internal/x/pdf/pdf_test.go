package pdf_test

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/ascii85"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/internal/x/pdf"
)

// document writes objects, numbered from 1, with a table and a trailer.
func document(trailer string, objects ...string) []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.7\n")
	var at []int
	for i, o := range objects {
		at = append(at, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	start := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(at)+1)
	for _, a := range at {
		fmt.Fprintf(&b, "%010d 00000 n \n", a)
	}
	fmt.Fprintf(&b, "trailer\n<</Size %d /Root 1 0 R %s>>\nstartxref\n%d\n%%%%EOF\n", len(at)+1, strings.ReplaceAll(trailer, "START", fmt.Sprint(start)), start)
	return b.Bytes()
}

func stream(dict, content string) string {
	return fmt.Sprintf("<<%s /Length %d>>\nstream\n%s\nendstream", dict, len(content), content)
}

const catalog = "<</Type/Catalog/Pages 2 0 R>>"

// page is a document of one page with that content and font.
func page(dict, content, font string, more ...string) []byte {
	return document("", append([]string{
		catalog, "<</Type/Pages/Kids[3 0 R]/Count 1/MediaBox[0 0 100 100]/Resources<</Font<</F 5 0 R>>/XObject<</X 6 0 R>>>>>>",
		"<</Type/Page/Parent 2 0 R/Contents 4 0 R>>", stream(dict, content), font,
	}, more...)...)
}

const helvetica = "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>"

func zipped(s string) string {
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	_, _ = z.Write([]byte(s))
	_ = z.Close()
	return b.String()
}

func open(t *testing.T, data []byte) *pdf.Document {
	t.Helper()
	d, err := pdf.Open(t.Context(), data)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func text(t *testing.T, data []byte, n int) string {
	t.Helper()
	s, err := open(t, data).Text(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// book is a document of many pages, each with its number on it, that refers
// from page to page.
func book(pages int) []byte {
	objects := []string{"<</Type/Catalog/Pages 2 0 R/OpenAction<</S/JavaScript/JS(app.alert\\(1\\))>>/Names<</EmbeddedFiles 4 0 R>>>>"}
	var kids strings.Builder
	for i := range pages {
		fmt.Fprintf(&kids, "%d 0 R ", 5+2*i)
	}
	objects = append(objects, "<</Type/Pages/Kids["+kids.String()+"]/Count 1/MediaBox[0 0 200 300]/Resources<</Font<</F 3 0 R>>>>/Rotate 90>>", helvetica, "(secret attachment)")
	for i := range pages {
		objects = append(objects, fmt.Sprintf("<</Type/Page/Parent 2 0 R/Contents %d 0 R/AA<</O 1 0 R>>/Annots[<</Subtype/Link/Dest[%d 0 R /Fit]>> <</Subtype/Text/P %d 0 R/Contents(note %d)/X %d 0 R>>]>>",
			6+2*i, 5+2*((i+1)%pages), 5+2*i, i+1, 5+2*((i+2)%pages)))
		objects = append(objects, stream("", fmt.Sprintf("BT /F 12 Tf 10 10 Td (page %d) Tj ET", i+1)))
	}
	return document("", objects...)
}

func TestExtract(t *testing.T) {
	d := open(t, book(30))
	if d.Pages() != 30 {
		t.Fatalf("%d pages", d.Pages())
	}
	out, err := d.Extract(t.Context(), 5, 7, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if len(out) > 2500 {
		t.Errorf("%d bytes: other pages came along", len(out))
	}
	for _, gone := range []string{"JavaScript", "secret", "/Link", "/AA"} {
		if bytes.Contains(out, []byte(gone)) {
			t.Errorf("%s is in it", gone)
		}
	}
	for _, kept := range []string{"/MediaBox [0 0 200 300]", "/Rotate 90", fmt.Sprintf("%x", "note 6")} {
		if !bytes.Contains(out, []byte(kept)) {
			t.Errorf("%s is not in it", kept)
		}
	}
	e := open(t, out)
	if e.Pages() != 3 {
		t.Fatalf("%d pages", e.Pages())
	}
	for n := 1; n <= 3; n++ {
		if s := text(t, out, n); s != fmt.Sprintf("page %d", n+4) {
			t.Errorf("page %d: %q", n, s)
		}
	}
	second, err := e.Extract(t.Context(), 1, 3, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if third, err := open(t, second).Extract(t.Context(), 1, 3, 1<<20); err != nil || !bytes.Equal(second, third) {
		t.Errorf("taken again it is another document, %v", err)
	}
	var large *pdf.LargeError
	if _, err := d.Extract(t.Context(), 1, 30, 1000); !errors.As(err, &large) || large.Limit != 1000 {
		t.Errorf("%v", err)
	}
	for _, r := range [][2]int{{0, 1}, {2, 1}, {30, 31}, {-1, -1}} {
		if _, err := d.Extract(t.Context(), r[0], r[1], 1<<20); err == nil {
			t.Errorf("pages %v were taken", r)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := pdf.Open(ctx, append(book(1), bytes.Repeat([]byte("1 0 obj\n"), 4<<20)...)); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestEncrypted(t *testing.T) {
	if _, err := pdf.Open(t.Context(), document("/Encrypt 2 0 R", catalog, "<</Filter/Standard>>")); !errors.Is(err, pdf.ErrEncrypted) {
		t.Errorf("%v", err)
	}
}

// A document whose objects are in object streams, with a cross-reference
// stream and a predictor, as newer programs write it.
func packed() []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.7\n")
	objs := []string{catalog, "<</Type/Pages/Kids[3 0 R]/Count 1>>", "<</Type/Page/Parent 2 0 R/Contents 6 0 R/MediaBox[0 0 9 9]/Resources<</Font<</F 4 0 R>>>>>>", helvetica}
	head, body := "", ""
	for i, o := range objs {
		head += fmt.Sprintf("%d %d ", i+1, len(body))
		body += o + " "
	}
	at5 := b.Len()
	fmt.Fprintf(&b, "5 0 obj\n%s\nendobj\n", stream(fmt.Sprintf("/Type/ObjStm/N 4/First %d/Filter/FlateDecode", len(head)), zipped(head+body)))
	at6 := b.Len()
	fmt.Fprintf(&b, "6 0 obj\n%s\nendobj\n", stream("", "BT /F 9 Tf (packed) Tj ET"))
	at7 := b.Len()
	rows := [][4]byte{{0, 0, 0, 0}, {2, 0, 5, 0}, {2, 0, 5, 1}, {2, 0, 5, 2}, {2, 0, 5, 3}, {1, byte(at5 >> 8), byte(at5), 0}, {1, byte(at6 >> 8), byte(at6), 0}, {1, byte(at7 >> 8), byte(at7), 0}}
	var table []byte
	above := [4]byte{}
	for _, r := range rows {
		table = append(table, 2) // the difference from the row above
		for i := range r {
			table = append(table, r[i]-above[i])
		}
		above = r
	}
	fmt.Fprintf(&b, "7 0 obj\n%s\nendobj\nstartxref\n%d\n%%%%EOF\n", stream("/Type/XRef/Size 8/W[1 2 1]/Root 1 0 R/Filter/FlateDecode/DecodeParms<</Predictor 12/Columns 4>>", zipped(string(table))), at7)
	return b.Bytes()
}

func TestStructures(t *testing.T) {
	old := page("", "BT /F 9 Tf (old) Tj ET", helvetica)
	update := func(offset int) []byte { // a later version of object 4
		b := bytes.NewBuffer(bytes.Clone(old))
		at := b.Len()
		fmt.Fprintf(b, "4 0 obj\n%s\nendobj\n", stream("", "BT /F 9 Tf (new) Tj ET"))
		start := b.Len()
		fmt.Fprintf(b, "xref\n4 1\n%010d 00000 n \ntrailer\n<</Size 7/Root 1 0 R/Prev %d>>\nstartxref\n%d\n%%%%EOF\n", at, bytes.LastIndex(old, []byte("xref\n0")), start+offset)
		return b.Bytes()
	}
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"object streams":          {packed(), "packed"},
		"... without their table": {bytes.Replace(packed(), []byte("startxref"), []byte("startxxxx"), 1), "packed"},
		"incremental update":      {update(0), "new"},
		"damaged table":           {update(3), "new"},
		"wrong length":            {bytes.Replace(old, []byte("/Length 22"), []byte("/Length 9 "), 1), "old"},
		"length missing":          {bytes.Replace(old, []byte("/Length 22"), []byte("/Lengxx 22"), 1), "old"},
		"moved by a line":         {append([]byte("%PDF-1.7\n% one more line\n"), old[9:]...), "old"},
		"no trailer":              {bytes.ReplaceAll(bytes.ReplaceAll(old, []byte("trailer"), []byte("xxxxxxx")), []byte("startxref"), nil), "old"},
		"cut off":                 {old[:bytes.LastIndex(old, []byte("xref\n0"))], "old"},
	} {
		t.Run(name, func(t *testing.T) {
			d := open(t, c.data)
			s, err := d.Text(t.Context(), 1)
			if err != nil || s != c.want {
				t.Errorf("%q, %v", s, err)
			}
			out, err := d.Extract(t.Context(), 1, 1, 1<<20)
			if err != nil || text(t, out, 1) != c.want {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestFilters(t *testing.T) {
	const content = "BT /F 9 Tf (filtered) Tj ET"
	var a85 bytes.Buffer
	w := ascii85.NewEncoder(&a85)
	_, _ = w.Write([]byte(content))
	_ = w.Close()
	runs := string([]byte{byte(len(content) - 1)}) + content + "\x80"
	for filter, encoded := range map[string]string{
		"/FlateDecode":                   zipped(content),
		"/Fl":                            zipped(content),
		"[/ASCIIHexDecode /FlateDecode]": fmt.Sprintf("%x>", zipped(content)),
		"/ASCII85Decode":                 a85.String() + "~>",
		"/RunLengthDecode":               runs,
		"/FlateDecode /DecodeParms<</Predictor 15/Columns 3>>": zipped("\x00BT \x01/\x17\xda\x00 9 \x00Tf \x00(fi\x00lte\x00red\x00) T\x00j E\x00T"),
		"/FlateDecode /DecodeParms<</Predictor 2/Columns 27>>": zipped(tiff(content)),
	} {
		if got := text(t, page("/Filter "+filter, encoded, helvetica), 1); got != "filtered" {
			t.Errorf("%s: %q", filter, got)
		}
	}
	if _, err := open(t, page("/Filter/JBIG2Decode", "x", helvetica)).Text(t.Context(), 1); err == nil || !strings.Contains(err.Error(), "JBIG2Decode") {
		t.Errorf("%v", err)
	}
}

func tiff(s string) string {
	b := []byte(s)
	for i := len(b) - 1; i > 0; i-- {
		b[i] -= b[i-1]
	}
	return string(b)
}

func TestText(t *testing.T) {
	cmap := func(s string) string { return stream("", s) }
	for name, c := range map[string]struct{ content, font, more, want string }{
		"lines":  {"BT /F 10 Tf 12 TL 10 90 Td (one) Tj T* (two) Tj (three) ' 0 -40 Td (far) Tj ET", helvetica, "null", "one\ntwo\nthree\n\nfar"},
		"words":  {"BT /F 10 Tf [(wo) 20 (rd) -300 (next)] TJ 1 0 0 1 80 0 Tm (far) Tj ET", helvetica, "null", "word next far"},
		"turned": {"BT /F 10 Tf 0 1 -1 0 50 10 Tm (up) Tj (wards) Tj ET", helvetica, "null", "upwards"},
		"escapes": {`BT /F 10 Tf (a\(b\)\\ \101\
c) Tj <64 6> Tj ET`, helvetica, "null", "a(b)\\ Acd`"},
		"Windows":       {"BT /F 10 Tf (\x93\xE9\x94 \x80) Tj ET", helvetica, "null", "“é” €"},
		"Macintosh":     {"BT /F 10 Tf (\x8E\xDE) Tj ET", "<</Type/Font/Subtype/TrueType/Encoding/MacRomanEncoding>>", "null", "éﬁ"},
		"standard":      {"BT /F 10 Tf (`a' \xAE \xFB) Tj ET", "<</Type/Font/Subtype/Type1>>", "null", "‘a’ ﬁ ß"},
		"differences":   {"BT /F 10 Tf (\x01\x02\x03\x04\x05) Tj ET", "<</Type/Font/Subtype/Type1/Encoding<</Differences[1/ffi/Lslash/uni20AC/a.alt/g123]>>>>", "null", "ffiŁ€a\uFFFD"},
		"form":          {"q 2 0 0 2 0 0 cm /X Do Q BT /F 10 Tf 0 -50 Td (after) Tj ET", helvetica, stream("/Subtype/Form/Matrix[1 0 0 1 5 5]", "BT /F 10 Tf (inside) Tj ET"), "inside\n\nafter"},
		"inline image":  {"BI /W 1 /H 1 ID \x01(EI\x02 EI BT /F 10 Tf (x) Tj ET", helvetica, "null", "x"},
		"wide":          {"BT /F 10 Tf <00010002> Tj <0105> Tj ET", "<</Type/Font/Subtype/Type0/Encoding/Identity-H/ToUnicode 6 0 R>>", cmap("1 begincodespacerange <0000> <FFFF> endcodespacerange 2 beginbfchar <0001> <0041> <0002> <D83DDE00> endbfchar 1 beginbfrange <0100> <01FF> <4E00> endbfrange"), "A😀\u4E05"},
		"wide, unsaid":  {"BT /F 10 Tf <0001> Tj ET", "<</Type/Font/Subtype/Type0/Encoding/Identity-H>>", "null", "\uFFFD"},
		"wide, UCS-2":   {"BT /F 10 Tf <4E004E01> Tj ET", "<</Type/Font/Subtype/Type0/Encoding/UniGB-UCS2-H>>", "null", "一丁"},
		"mixed lengths": {"BT /F 10 Tf <41 8142 43> Tj ET", "<</Type/Font/Subtype/Type0/Encoding/X/ToUnicode 6 0 R>>", cmap("2 begincodespacerange <00> <7F> <8100> <81FF> endcodespacerange 3 beginbfrange <41> <43> <0061> <8142> <8143> [<007A> <0079>] endbfrange"), "azc"},
		"damaged":       {"BT /F 10 Tf )) >> ] (a) Tj <</x>> (b", helvetica, "null", "a"},
		"no font":       {"BT (a) Tj ET", helvetica, "null", ""},
		"a picture":     {"/X Do", helvetica, stream("/Subtype/Image/Filter/DCTDecode", "x"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := text(t, page("", c.content, c.font, c.more), 1); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// Whatever is in a document, reading it ends, in bounded memory.
func TestHostile(t *testing.T) {
	deep := strings.Repeat("[", 1<<18) + strings.Repeat("]", 1<<18)
	bomb := zipped(strings.Repeat("\x00", 130<<20))
	dag := []string{catalog}
	for i := 2; i < 60; i++ {
		dag = append(dag, fmt.Sprintf("<</Type/Pages/Kids[%d 0 R %d 0 R]>>", i+1, i+1))
	}
	fanOut := []string{}
	for i := range 12 {
		fanOut = append(fanOut, stream(fmt.Sprintf("/Subtype/Form/Resources<</XObject<</X %d 0 R>>>>", 7+i), strings.Repeat("/X Do ", 20)))
	}
	xref := func(dict string) []byte {
		return fmt.Appendf(nil, "%%PDF-1.7\n1 0 obj\n%s\nendobj\nstartxref\n9\n%%%%EOF\n", stream("/Type/XRef/Root 1 0 R "+dict, "abcd"))
	}
	for name, c := range map[string]struct {
		data []byte
		want string // what the error says; "" means that it can be read
	}{
		"deep object":       {page("", "x", deep), "levels deep"},
		"deep page":         {document("", catalog, "<</Type/Pages/Kids[3 0 R]>>", "<</Type/Page/X "+deep+">>"), "levels deep"},
		"deep content":      {page("", deep, helvetica), ""},
		"bomb":              {page("/Filter/FlateDecode", bomb, helvetica), "MiB of memory"},
		"bomb in a bomb":    {page("/Filter[/FlateDecode/FlateDecode]", zipped(bomb), helvetica), "MiB of memory"},
		"page tree loop":    {document("", catalog, "<</Type/Pages/Kids[2 0 R 3 0 R 2 0 R]>>", "<</Type/Page>>"), ""},
		"page tree lattice": {document("", append(dag, "<</Type/Page>>")...), ""},
		"no pages":          {document("", catalog, "<</Type/Pages/Kids[]>>"), "no pages"},
		"table loop":        {document("/Prev START", catalog, "<</Type/Pages/Kids[3 0 R]>>", "<</Type/Page>>"), ""},
		"form loop":         {page("", "/X Do /X Do", helvetica, stream("/Subtype/Form", "/X Do /X Do /X Do /X Do /X Do")), "too much work"},
		"form fan-out":      {page("", "/X Do", helvetica, fanOut...), "too much work"},
		"length loop":       {document("", catalog, "<</Type/Pages/Kids[3 0 R]>>", "<</Type/Page/Contents 4 0 R>>", "<</Length 4 0 R>>\nstream\nx\nendstream"), ""},
		"reference loop":    {document("", catalog, "<</Type/Pages/Kids[3 0 R]>>", "4 0 R", "3 0 R"), "go on without an end"},
		"huge table":        {xref("/Size 4000000000/W[1 2 1]"), "no pages"},
		"wide rows":         {xref("/Size 4/W[2000000000 2000000000 2000000000]"), "damaged"},
		"rows of nothing":   {xref("/Size 4000000000/W[0 0 0]"), "damaged"},
		"predictor":         {page("/Filter/FlateDecode/DecodeParms<</Predictor 15/Columns 2000000000/Colors 30>>", zipped("abc"), helvetica), "cannot be"},
		"many trailers":     {bytes.Repeat([]byte("trailer("), 1<<14), "MiB of memory"},
		"many headings":     {append([]byte("%PDF-1.7\n"), bytes.Repeat([]byte("1 0 obj("), 1<<17)...), "no cross-reference"},
		"empty":             {nil, "no cross-reference"},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := pdf.Open(t.Context(), c.data)
			if err == nil {
				_, err = d.Text(t.Context(), 1)
				if _, xerr := d.Extract(t.Context(), 1, 1, 1<<20); err == nil && !errors.As(xerr, new(*pdf.LargeError)) {
					err = xerr
				}
			}
			if (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// FuzzDocument changes documents; whatever they become, reading them ends, and
// what is taken out of them can be read.
func FuzzDocument(f *testing.F) {
	f.Add(book(3))
	f.Add(packed())
	f.Add(page("/Filter/FlateDecode", zipped("BT /F 9 Tf (x) Tj ET"), helvetica))
	f.Add(page("", "BT /F 10 Tf <00010002> Tj ET", "<</Type/Font/Subtype/Type0/Encoding/Identity-H/ToUnicode 6 0 R>>", stream("", "1 beginbfrange <0000> <FFFF> <0041> endbfrange")))
	f.Add(page("/Filter/LZWDecode", "\x80\x0B\x60\x50\x22\x0C\x0C\x85\x01", helvetica))
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := pdf.Open(t.Context(), data)
		if err != nil {
			return
		}
		_, _ = d.Text(t.Context(), 1)
		n := min(d.Pages(), 3)
		out, err := d.Extract(t.Context(), 1, n, 1<<20)
		if err != nil {
			return
		}
		e, err := pdf.Open(t.Context(), out)
		if err != nil || e.Pages() != n {
			t.Fatalf("what was taken out cannot be read: %v\n%q", err, out)
		}
	})
}

func Example() {
	d, err := pdf.Open(context.Background(), book(12))
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := d.Text(context.Background(), 7)
	if err != nil {
		fmt.Println(err)
		return
	}
	three, err := d.Extract(context.Background(), 7, 9, 1<<20)
	if err != nil {
		fmt.Println(err)
		return
	}
	part, err := pdf.Open(context.Background(), three)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(s, "of", d.Pages(), "and", part.Pages(), "taken out")
	// Output: page 7 of 12 and 3 taken out
}
