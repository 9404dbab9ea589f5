package builtin_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cantle-dev/cantle/builtin"
	"github.com/cantle-dev/cantle/sandbox"
	"github.com/cantle-dev/cantle/tool"
)

func TestMain(m *testing.M) {
	sandbox.Main()
	os.Exit(m.Run())
}

// bench is a directory with all tools on it.
type bench struct {
	t   testing.TB
	dir string
	by  map[string]tool.Tool
	o   builtin.Options
}

func newBench(t testing.TB) *bench {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := sandbox.Local(sandbox.LocalOptions{})
	t.Cleanup(func() { _ = r.Close() })
	out := t.TempDir()
	b := &bench{t: t, dir: dir, by: map[string]tool.Tool{}, o: builtin.Options{
		Root: dir, Runner: r, OutputDir: func(string) (string, error) { return out, nil },
	}}
	for _, tl := range builtin.Tools(b.o) {
		b.by[tl.Spec().Name] = tl
	}
	return b
}

func (b *bench) path(name string) string { return filepath.Join(b.dir, name) }

func (b *bench) write(name, text string) {
	b.t.Helper()
	if err := os.WriteFile(b.path(name), []byte(text), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) content(name string) string {
	b.t.Helper()
	c, err := os.ReadFile(b.path(name))
	if err != nil {
		b.t.Fatal(err)
	}
	return string(c)
}

// call runs a tool as the loop would, and returns its text and whether it
// failed.
func (b *bench) call(ctx context.Context, name string, in any) (string, bool) {
	b.t.Helper()
	raw, err := json.Marshal(in)
	if err != nil {
		b.t.Fatal(err)
	}
	tl := b.by[name]
	c := &tool.Call{ID: "1", Name: name, Input: raw, Dir: b.dir}
	acc, err := tl.Spec().Access(ctx, c)
	if err != nil {
		return err.Error(), true
	}
	if len(acc) > 0 {
		c.Access = acc
	}
	res, err := tool.Run(ctx, tl, c)
	if err != nil {
		return err.Error(), true
	}
	return res.Parts.Text(), res.IsError
}

type m = map[string]any

func (b *bench) ok(name string, in any) string {
	b.t.Helper()
	s, failed := b.call(b.t.Context(), name, in)
	if failed {
		b.t.Fatalf("%s %v: %s", name, in, s)
	}
	return s
}

func (b *bench) fails(want, name string, in any) {
	b.t.Helper()
	s, failed := b.call(b.t.Context(), name, in)
	if !failed || !strings.Contains(s, want) {
		b.t.Errorf("%s %v: failed %v with %q, want %q", name, in, failed, s, want)
	}
}

// TestEditKeepsEveryOtherByte edits files of every kind; all but the match
// stays.
func TestEditKeepsEveryOtherByte(t *testing.T) {
	utf16 := func(s string) string {
		out := "\xFF\xFE"
		for _, r := range s {
			out += string([]byte{byte(r), byte(r >> 8)})
		}
		return out
	}
	for name, c := range map[string]struct{ text, old, repl, want string }{
		"LF":                   {"a\nb\nc\n", "b", "B", "a\nB\nc\n"},
		"CRLF":                 {"a\r\nb\r\nc\r\n", "a\nb", "A\nX\nB", "A\r\nX\r\nB\r\nc\r\n"},
		"CR":                   {"a\rb\rc", "a\nb", "A\nB", "A\rB\rc"},
		"mixed":                {"a\r\nb\nc\r\nd", "b", "B\nB", "a\r\nB\nB\nc\r\nd"},
		"BOM":                  {"\xEF\xBB\xBFa\nb", "b", "B", "\xEF\xBB\xBFa\nB"},
		"UTF-16":               {utf16("a\r\nb\r\n"), "b", "é", utf16("a\r\né\r\n")},
		"Latin-1 elsewhere":    {"caf\xe9\nb\n", "b", "B", "caf\xe9\nB\n"},
		"no final newline":     {"a\nb", "b", "B", "a\nB"},
		"trailing blanks":      {"x  \ny\n", "x\ny", "X\ny", "X\ny\n"},
		"Markdown line breaks": {"one  \ntwo  \n", "two", "2", "one  \n2  \n"},
		"indentation":          {"\tif x {\n\t\ty()\n\t}\n", "if x {\n\ty()\n}", "if z {\n\ty()\n}", "\tif z {\n\t\ty()\n\t}\n"},
		"quotes":               {"say \u201Chi\u201D\n", `say "hi"`, `say "ho"`, "say \"ho\"\n"},
		"tabs":                 {"\ta\n\tb\n", "\tb", "\tB", "\ta\n\tB\n"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.write("f", c.text)
			b.ok("Read", m{"file_path": "f"})
			b.ok("Edit", m{"file_path": "f", "old_string": c.old, "new_string": c.repl})
			if got := b.content("f"); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestEditRefusals(t *testing.T) {
	b := newBench(t)
	b.write("f", "one\ntwo\none\nthree four five\n")
	b.fails("read it first", "Edit", m{"file_path": "f", "old_string": "two", "new_string": "2"})
	b.ok("Read", m{"file_path": "f"})
	b.fails("occurs 2 times, on lines 1, 3", "Edit", m{"file_path": "f", "old_string": "one", "new_string": "1"})
	b.fails("empty or blank", "Edit", m{"file_path": "f", "old_string": " \n", "new_string": "1"})
	b.fails("are the same", "Edit", m{"file_path": "f", "old_string": "two", "new_string": "two"})
	b.fails("nearest is on line 4", "Edit", m{"file_path": "f", "old_string": "three for five", "new_string": "x"})
	b.fails("edit 2 of 2", "Edit", m{"file_path": "f", "edits": []m{{"old_string": "two", "new_string": "2"}, {"old_string": "nope", "new_string": "x"}}})
	if got := b.content("f"); got != "one\ntwo\none\nthree four five\n" {
		t.Errorf("a refused edit changed the file: %q", got)
	}
	b.ok("Edit", m{"file_path": "f", "edits": []m{{"old_string": "two", "new_string": "2"}, {"old_string": "one", "new_string": "1", "replace_all": true}}})
	if got := b.content("f"); got != "1\n2\n1\nthree four five\n" {
		t.Errorf("%q", got)
	}
	b.write("f", "changed by someone else\n")
	b.fails("was changed since it was read", "Edit", m{"file_path": "f", "old_string": "changed", "new_string": "x"})
	b.fails("does not exist", "Edit", m{"file_path": "g", "old_string": "a", "new_string": "b"})
}

func TestTouchIsNoChange(t *testing.T) {
	b := newBench(t)
	b.write("f", "a\n")
	b.ok("Read", m{"file_path": "f"})
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(b.path("f"), later, later); err != nil {
		t.Fatal(err)
	}
	b.ok("Edit", m{"file_path": "f", "old_string": "a", "new_string": "b"})
}

func TestEditOfUnseenLinesIsRefused(t *testing.T) {
	b := newBench(t)
	var text strings.Builder
	for i := range 100 {
		fmt.Fprintf(&text, "line %d\n", i+1)
	}
	b.write("f", text.String())
	b.ok("Read", m{"file_path": "f", "offset": 10, "limit": 5})
	b.fails("lines 50-50 of f were not read yet", "Edit", m{"file_path": "f", "old_string": "line 50", "new_string": "x"})
	b.ok("Edit", m{"file_path": "f", "old_string": "line 12", "new_string": "x"})
}

func TestWrite(t *testing.T) {
	b := newBench(t)
	b.ok("Write", m{"file_path": "new/dir/f.txt", "content": "a\n"})
	b.ok("Write", m{"file_path": "new/dir/f.txt", "content": "b\n"}) // what was written was seen
	b.write("g", "1\r\n2\r\n")
	b.fails("was not read yet", "Write", m{"file_path": "g", "content": "x"})
	b.ok("Read", m{"file_path": "g", "limit": 1})
	b.fails("read only in part", "Write", m{"file_path": "g", "content": "x"})
	b.ok("Read", m{"file_path": "g", "offset": 2})
	if err := os.Chmod(b.path("g"), 0o755); err != nil {
		t.Fatal(err)
	}
	b.ok("Write", m{"file_path": "g", "content": "3\n4\n"})
	if got := b.content("g"); got != "3\r\n4\r\n" {
		t.Errorf("%q", got)
	}
	if info, err := os.Stat(b.path("g")); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("the mode became %v", info.Mode())
	}
	b.write("target", "t\n")
	if err := os.Symlink("target", b.path("link")); err != nil {
		t.Skip("no symbolic links here: ", err)
	}
	b.ok("Read", m{"file_path": "link"})
	b.ok("Edit", m{"file_path": "link", "old_string": "t", "new_string": "T"})
	if info, err := os.Lstat(b.path("link")); err != nil || info.Mode()&os.ModeSymlink == 0 || b.content("target") != "T\n" {
		t.Error("the link was replaced, not written through")
	}
}

func TestRead(t *testing.T) {
	b := newBench(t)
	b.write("empty", "")
	b.write("bin", "a\x00b")
	b.write("long", strings.Repeat("é", 5000)+"\nend\n")
	b.write("crlf", "a\r\nb\r\n")
	b.write("latin", "caf\xe9\n")
	if got := b.ok("Read", m{"file_path": "empty"}); !strings.Contains(got, "empty") {
		t.Error(got)
	}
	b.fails("binary", "Read", m{"file_path": "bin"})
	b.fails("beyond the end", "Read", m{"file_path": "crlf", "offset": 9})
	b.fails("its directory has crlf", "Read", m{"file_path": "crlff"})
	b.fails("not a file", "Read", m{"file_path": "/dev/stdin"})
	if got := b.ok("Read", m{"file_path": "long"}); !strings.Contains(got, "column 2000") || strings.Contains(got, "\uFFFD") {
		t.Error(got[:100])
	}
	if got := b.ok("Read", m{"file_path": "long", "column": 9990}); !strings.HasPrefix(got, "     1\t"+strings.Repeat("é", 5)+"\n") {
		t.Errorf("%.200q", got)
	}
	if got := b.ok("Read", m{"file_path": "crlf"}); got != "     1\ta\n     2\tb\n[Lines end in CRLF.]" {
		t.Errorf("%q", got)
	}
	if got := b.ok("Read", m{"file_path": "latin"}); !strings.HasPrefix(got, "     1\tcafé\n[The file is in Latin-1") {
		t.Errorf("%q", got)
	}
	if got := b.ok("Read", m{"file_path": "."}); !strings.Contains(got, "bin (3 bytes)") {
		t.Errorf("%q", got)
	}
}

func TestReadOfAHugeFileIsBounded(t *testing.T) {
	b := newBench(t)
	f, err := os.Create(b.path("huge"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("first\nsecond\n"); err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(5 << 30); err != nil {
		t.Skip("no sparse files here: ", err)
	}
	_ = f.Close()
	// The rest is NUL bytes, but the beginning is text: 8 KiB of it.
	if err := os.WriteFile(b.path("head"), []byte(strings.Repeat("text\n", 2000)), 0o644); err != nil {
		t.Fatal(err)
	}
	b.fails("binary", "Read", m{"file_path": "huge"})
	if got := b.ok("Read", m{"file_path": "head", "limit": 3}); !strings.Contains(got, "offset 4") {
		t.Errorf("%q", got)
	}
}

func TestNotebook(t *testing.T) {
	b := newBench(t)
	const nb = "{\n \"cells\": [\n  {\n   \"cell_type\": \"code\",\n   \"source\": [\n    \"x = 1\\n\",\n    \"print(x)\"\n   ],\n   \"outputs\": [{\"text\": [\"1\\n\"]}]\n  },\n  {\n   \"cell_type\": \"markdown\",\n   \"source\": \"hello\"\n  }\n ],\n \"nbformat\": 4\n}\n"
	b.write("n.ipynb", nb)
	if got := b.ok("Read", m{"file_path": "n.ipynb"}); !strings.Contains(got, "[cell 1, code]\nx = 1\nprint(x)\n[output]\n1") {
		t.Errorf("%q", got)
	}
	b.ok("Edit", m{"file_path": "n.ipynb", "cell": 2, "new_string": "bye"})
	if got, want := b.content("n.ipynb"), strings.Replace(nb, `"hello"`, `"bye"`, 1); got != want {
		t.Errorf("got %q", got)
	}
	b.ok("Edit", m{"file_path": "n.ipynb", "cell": 1, "old_string": "x = 1", "new_string": "x = 2"})
	b.ok("Edit", m{"file_path": "n.ipynb", "cell": 1, "mode": "insert", "new_string": "y = 3\n"})
	var doc struct{ Cells []json.RawMessage }
	if err := json.Unmarshal([]byte(b.content("n.ipynb")), &doc); err != nil || len(doc.Cells) != 3 {
		t.Fatalf("%d cells, %v", len(doc.Cells), err)
	}
	b.ok("Edit", m{"file_path": "n.ipynb", "cell": 3, "mode": "delete"})
	if err := json.Unmarshal([]byte(b.content("n.ipynb")), &doc); err != nil || len(doc.Cells) != 2 || !strings.Contains(string(doc.Cells[0]), "x = 2") {
		t.Errorf("%s, %v", doc.Cells, err)
	}
}

func TestTodo(t *testing.T) {
	b := newBench(t)
	if got := b.ok("TodoWrite", m{"todos": []m{{"content": "a", "status": "in_progress"}, {"content": "b"}}}); !strings.Contains(got, "(0/2 completed)") || !strings.Contains(got, "[~] a") {
		t.Error(got)
	}
	b.fails("one at most", "TodoWrite", m{"update": []m{{"id": "b", "status": "processing"}}})
	b.fails("no entry is", "TodoWrite", m{"remove": []string{"zzz"}})
	got := b.ok("TodoWrite", m{"add": []m{{"content": "c"}}, "update": []m{{"id": "a", "status": "completed"}}, "remove": []string{"b"}})
	if !strings.Contains(got, "(1/2 completed)") || strings.Contains(got, " b ") {
		t.Error(got)
	}
	if got := b.ok("TodoWrite", m{"clear": true}); got != "Todo list cleared." {
		t.Error(got)
	}
}
