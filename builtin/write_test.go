package builtin_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/cantle-dev/cantle/builtin"
	"github.com/cantle-dev/cantle/tool"
)

func utf16le(s string) string {
	out := "\xFF\xFE"
	for _, r := range s {
		out += string([]byte{byte(r), byte(r >> 8)})
	}
	return out
}

func TestWriteKeepsTheKindOfFile(t *testing.T) {
	for name, c := range map[string]struct{ old, content, want string }{
		"LF":              {"a\n", "b\nc", "b\nc"},
		"CRLF":            {"a\r\n", "b\nc\n", "b\r\nc\r\n"},
		"CRLF as given":   {"a\n", "b\r\nc\r\n", "b\r\nc\r\n"},
		"mostly CRLF":     {"a\r\nb\r\nc\n", "d\n", "d\r\n"},
		"CR":              {"a\rb\r", "c\nd\n", "c\rd\r"},
		"BOM":             {"\xEF\xBB\xBFa", "b", "\xEF\xBB\xBFb"},
		"BOM given twice": {"\xEF\xBB\xBFa", "\xEF\xBB\xBFb", "\xEF\xBB\xBFb"},
		"no BOM":          {"a", "b", "b"},
		"UTF-16":          {utf16le("a\r\n"), "é\n", utf16le("é\r\n")},
		"Latin-1":         {"caf\xE9", "thé", "th\xE9"},
		"Windows-1252":    {"\x93a\x94\xE9", "“b”", "\x93b\x94"},
		"to nothing":      {"a\n", "", ""},
		"from nothing":    {"", "é\n", "é\n"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.write("f", c.old)
			b.ok("Read", m{"file_path": "f"})
			b.ok("Write", m{"file_path": "f", "content": c.content})
			if got := b.content("f"); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			b.ok("Write", m{"file_path": "f", "content": "again"}) // what was written was seen
		})
	}
}

func TestWriteRefusals(t *testing.T) {
	b := newBench(t)
	b.write("latin", "caf\xE9\n")
	b.ok("Read", m{"file_path": "latin"})
	b.fails("Latin-1, which has no '€' (line 2", "Write", m{"file_path": "latin", "content": "a\n€\n"})
	b.fails("Latin-1, which has no '€'", "Edit", m{"file_path": "latin", "old_string": "café", "new_string": "€"})
	b.ok("Edit", m{"file_path": "latin", "old_string": "café", "new_string": "thé"})
	if got := b.content("latin"); got != "th\xE9\n" {
		t.Errorf("%q", got)
	}
	b.write("bin", "a\x00b")
	b.fails("binary file", "Write", m{"file_path": "bin", "content": "x"})
	b.fails("binary file", "Edit", m{"file_path": "bin", "old_string": "a", "new_string": "x"})
	b.fails("more than the 10 MiB", "Write", m{"file_path": "new", "content": strings.Repeat("x", 10<<20+1)})
	b.write("file", "")
	b.fails("not a directory", "Write", m{"file_path": "file/below", "content": "x"})
	if err := os.Symlink("nowhere", b.path("dangling")); err != nil {
		t.Fatal(err)
	}
	b.fails("symbolic link to a file that does not exist", "Write", m{"file_path": "dangling", "content": "x"})
	for name, want := range map[string]string{"latin": "th\xE9\n", "bin": "a\x00b", "file": ""} {
		if got := b.content(name); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestWriteKeepsModesAndLinks(t *testing.T) {
	umask(t, 0o027)
	b := newBench(t)
	b.ok("Write", m{"file_path": "new/dir/f", "content": "x"})
	for name, want := range map[string]os.FileMode{"new/dir/f": 0o640, "new/dir": 0o750} {
		if info, err := os.Stat(b.path(name)); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
	b.write("x.sh", "#!/bin/sh\n")
	if err := os.Chmod(b.path("x.sh"), 0o775); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(b.path("x.sh"), b.path("other")); err != nil {
		t.Fatal(err)
	}
	b.ok("Read", m{"file_path": "x.sh"})
	got := b.ok("Edit", m{"file_path": "x.sh", "old_string": "sh\n", "new_string": "bash\n"})
	if !strings.Contains(got, "2 hard links") {
		t.Error(got)
	}
	if info, err := os.Stat(b.path("x.sh")); err != nil || info.Mode().Perm() != 0o775 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if got := b.content("other"); got != "#!/bin/sh\n" {
		t.Errorf("the file under its other name became %q", got)
	}
	left, err := os.ReadDir(b.dir)
	if err != nil || len(left) != 3 {
		t.Errorf("%v, %v: something was left behind", left, err)
	}
}

func TestWriteTellsWhatItDid(t *testing.T) {
	b := newBench(t)
	res := b.result("Write", m{"file_path": "f", "content": "one\ntwo\n"})
	if got := res.Parts.Text(); got != "Created f (2 lines)." {
		t.Errorf("%q", got)
	}
	res = b.result("Write", m{"file_path": "f", "content": "one\n2\n"})
	if got := res.Parts.Text(); !strings.HasPrefix(got, "Updated f (2 lines).\n--- f\n") || !strings.Contains(got, "-two\n+2") {
		t.Errorf("%q", got)
	}
	var detail struct {
		Path  string `json:"path"`
		Diff  string `json:"diff"`
		Lines int    `json:"lines"`
	}
	if err := json.Unmarshal(res.Detail, &detail); err != nil || detail.Path != b.path("f") || detail.Lines != 2 || detail.Diff == "" {
		t.Errorf("%s, %v", res.Detail, err)
	}
	res = b.result("Write", m{"file_path": "f", "content": strings.Repeat("line\n", 200_000)})
	if len(res.Parts.Text()) > 9<<10 || len(res.Detail) > 100<<10 {
		t.Errorf("%d and %d bytes of a long diff", len(res.Parts.Text()), len(res.Detail))
	}
}

func TestPreview(t *testing.T) {
	b := newBench(t)
	b.write("f", "one\n")
	preview := func(name string, in m) (*tool.Preview, error) {
		raw, _ := json.Marshal(in)
		return b.by[name].(tool.Previewer).Preview(t.Context(), &tool.Call{Name: name, Input: raw, Dir: b.dir})
	}
	if p, err := preview("Write", m{"file_path": "new", "content": "x\n"}); err != nil || p.Title != "Created new (1 lines)." || !strings.Contains(p.Diff, "+x") {
		t.Errorf("%+v, %v", p, err)
	}
	if _, err := preview("Edit", m{"file_path": "f", "old_string": "one", "new_string": "1"}); err == nil {
		t.Error("a preview of a file that was not read")
	}
	b.ok("Read", m{"file_path": "f"})
	if _, err := preview("Edit", m{"file_path": "f", "old_string": "two", "new_string": "1"}); err == nil {
		t.Error("a preview of an edit that does not match")
	}
	if p, err := preview("Edit", m{"file_path": "f", "old_string": "one", "new_string": "1"}); err != nil || !strings.Contains(p.Diff, "-one\n+1") {
		t.Errorf("%+v, %v", p, err)
	}
	if b.content("f") != "one\n" {
		t.Error("a preview changed the file")
	}
	if _, err := os.Stat(b.path("new")); err == nil {
		t.Error("a preview made a file")
	}
}

// A file that someone changed is refused once, with what changed; then the
// model knows it.
func TestStaleFiles(t *testing.T) {
	b := newBench(t)
	b.write("f", "one\ntwo\nthree\n")
	b.ok("Read", m{"file_path": "f"})
	b.write("f", "one\ntwo\nthree\nfour\n")
	edit := m{"file_path": "f", "old_string": "two", "new_string": "2"}
	b.fails("nothing was written. It was changed so:\n--- f\n+++ f\n@@ -1,3 +1,4 @@\n one\n two\n three\n+four\nMake the call again", "Edit", edit)
	if got := b.content("f"); got != "one\ntwo\nthree\nfour\n" {
		t.Fatalf("%q", got)
	}
	b.ok("Edit", edit)

	// Of a file that was seen in part, or changed beyond what can be shown, the
	// change alone is not enough.
	b.write("g", strings.Repeat("line\n", 100))
	b.ok("Read", m{"file_path": "g", "limit": 10})
	b.write("g", strings.Repeat("line\n", 99)+"end\n")
	for range 2 {
		b.fails("read it again. It was changed so", "Edit", m{"file_path": "g", "old_string": "end", "new_string": "END"})
	}
	b.write("h", strings.Repeat("line\n", 2000))
	b.ok("Read", m{"file_path": "h"})
	b.write("h", strings.Repeat("other\n", 2000))
	for range 2 {
		b.fails("read it again", "Write", m{"file_path": "h", "content": "x"})
	}
}

// meddling is a file system on which something happens as soon as a file was
// read, or found missing.
type meddling struct {
	builtin.FS
	meddle func()
}

type meddlingFile struct {
	fs.File
	meddle func()
}

func (f meddling) Open(name string) (fs.File, error) {
	file, err := f.FS.Open(name)
	if err != nil {
		f.meddle()
		return nil, err
	}
	return meddlingFile{file, f.meddle}, nil
}

func (f meddlingFile) Close() error {
	defer f.meddle()
	return f.File.Close()
}

// What another program writes between the look at a file and the change of it
// is not lost.
func TestChangedWhileItIsPlanned(t *testing.T) {
	b := newBench(t)
	b.write("f", "one\n")
	theirs := "theirs\n"
	meddle := func() {}
	b.with(func(o *builtin.Options) {
		o.FS = meddling{builtin.LocalFS(), func() { meddle() }}
		o.Files = builtin.NewFiles()
	})
	b.ok("Read", m{"file_path": "f"})
	meddle = func() { b.write("f", theirs) }
	b.fails("at the same time", "Edit", m{"file_path": "f", "old_string": "one", "new_string": "1"})
	b.write("f", "one\n")
	meddle = func() {}
	b.ok("Read", m{"file_path": "f"})
	meddle = func() { b.write("f", theirs) }
	b.fails("at the same time", "Write", m{"file_path": "f", "content": "mine"})
	meddle = func() { b.write("g", theirs) }
	b.fails("at the same time", "Write", m{"file_path": "g", "content": "mine"})
	b.write("f", "one\n")
	meddle = func() { _ = os.Remove(b.path("f")) }
	b.fails("no such file", "Write", m{"file_path": "f", "content": "mine"})
	if got := b.content("g"); got != theirs {
		t.Errorf("%q", got)
	}
}

// Edits of one file that are made at once are all made.
func TestEditsAtOnce(t *testing.T) {
	b := newBench(t)
	const n = 20
	text := ""
	for i := range n {
		text += fmt.Sprintf("<%d>\n", i)
	}
	b.write("f", text)
	b.ok("Read", m{"file_path": "f"})
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			if s, failed := b.call(context.Background(), "Edit", m{"file_path": "f", "old_string": fmt.Sprintf("<%d>", i), "new_string": "done"}); failed {
				t.Error(s)
			}
		})
	}
	wg.Wait()
	if got := b.content("f"); got != strings.Repeat("done\n", n) {
		t.Errorf("%q", got)
	}
}
