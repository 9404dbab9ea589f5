package builtin_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/builtin"
	"github.com/cantle-dev/cantle/tool"
)

func TestGlob(t *testing.T) {
	dir := makeTree(t, map[string]string{
		"a.go": "", "b.ts": "", "src/c.go": "", "src/d.tsx": "", "src/deep/e.go": "", ".env": "", ".github/w.yml": "",
		".gitignore": "out/\n", "out/f.go": "", "src/[x].go": "",
	})
	age(t, dir, "src/deep/e.go", "a.go", "src/c.go", "b.ts", "src/d.tsx", "src/[x].go", "out/f.go", ".env", ".github/w.yml", ".gitignore")
	g := builtin.Glob(builtin.Options{Root: dir})
	cases := []struct{ input, want string }{
		{`{"pattern":"**/*.go"}`, "src/deep/e.go\na.go\nsrc/c.go\nsrc/[x].go\n\n[4 files]"},
		{`{"pattern":"*.go"}`, "a.go\n\n[1 file]"},
		{`{"pattern":"./*.go"}`, "a.go\n\n[1 file]"},
		{`{"pattern":"src/*.go"}`, "src/c.go\nsrc/[x].go\n\n[2 files]"},
		{`{"pattern":"*.go","path":"src"}`, "src/c.go\nsrc/[x].go\n\n[2 files]"},
		{`{"pattern":"src/"}`, "src/deep/e.go\nsrc/c.go\nsrc/d.tsx\nsrc/[x].go\n\n[4 files]"},
		{`{"pattern":"**/*.{ts,tsx}"}`, "b.ts\nsrc/d.tsx\n\n[2 files]"},
		{`{"pattern":"{src/deep,.github}/*"}`, "src/deep/e.go\n.github/w.yml\n\n[2 files]"},
		{`{"pattern":"src/**/e.go"}`, "src/deep/e.go\n\n[1 file]"},
		{`{"pattern":"src/c.go"}`, "src/c.go\n\n[1 file]"},
		{`{"pattern":"src/\\[x\\].go"}`, "src/[x].go\n\n[1 file]"},
		{`{"pattern":"**/.env"}`, ".env\n\n[1 file]"},
		{`{"pattern":"` + filepath.ToSlash(dir) + `/src/*.tsx"}`, "src/d.tsx\n\n[1 file]"},
		{`{"pattern":"../*/a.go","path":"src"}`, ""},
		{`{"pattern":"../a.*","path":"src"}`, "a.go\n\n[1 file]"},
		{`{"pattern":"**/f.go"}`, "[No file matches **/f.go in the working directory; 9 files looked at. 1 ignored entry left out; ignored: true looks at them too]"},
		{`{"pattern":"**/f.go","ignored":true}`, "out/f.go\n\n[1 file]"},
		{`{"pattern":"out/*"}`, "out/f.go\n\n[1 file]"},
		{`{"pattern":"e.go"}`, "[No file matches e.go in the working directory; 4 files looked at. a pattern without ** stays in one folder: **/e.go looks in all. 1 ignored entry left out; ignored: true looks at them too]"},
		{`{"pattern":"**/*.go","limit":2}`, "src/deep/e.go\na.go\n\n[The newest 2 of 4 files: narrow the pattern or the path, or raise limit (at most 5000)]"},
	}
	for _, c := range cases {
		r, err := find(t, g, dir, c.input, nil)
		if got := text(t, r, err); c.want != "" && got != c.want {
			t.Errorf("%s:\n%s\nwant:\n%s", c.input, got, c.want)
		}
	}
}

func TestGlobErrors(t *testing.T) {
	dir := makeTree(t, map[string]string{"a.go": "", "sub/b": ""})
	g := builtin.Glob(builtin.Options{Root: dir})
	for input, want := range map[string]string{
		`{"pattern":"[a-"}`:                `pattern "[a-" is malformed`,
		`{"pattern":"{a,b"}`:               "malformed",
		`{"pattern":" "}`:                  "empty",
		`{"pattern":"a\u0000b"}`:           "NUL",
		`{"pattern":"*","path":"nowhere"}`: "does not exist",
		`{"pattern":"*","path":"a.go"}`:    "is a file, not a directory",
		`{"pattern":"*","path":"//"}`:      "",
	} {
		_, err := find(t, g, dir, input, nil)
		if want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q in it", input, err, want)
		}
	}
	if err := cancelled(t, g, dir, `{"pattern":"**/*"}`); err == nil || !strings.Contains(err.Error(), "not finished") {
		t.Errorf("cancelled: %v", err)
	}
}

func TestGlobPermissions(t *testing.T) {
	dir := makeTree(t, map[string]string{"a": "", "private/b": "", "private/c": ""})
	g := builtin.Glob(builtin.Options{Root: dir})
	r, err := find(t, g, dir, `{"pattern":"**/*"}`, deny("private"))
	if got := text(t, r, err); got != "a\n\n[1 file. 2 files hidden by permission rules]" {
		t.Error(got)
	}
	outside := makeTree(t, map[string]string{"secret/x": ""})
	if err := os.Symlink(filepath.Join(outside, "secret"), filepath.Join(dir, "link")); err != nil {
		t.Skipf("no symbolic links here: %v", err)
	}
	r, err = find(t, g, dir, `{"pattern":"**/x"}`, nil)
	if got := text(t, r, err); strings.Contains(got, "link") {
		t.Errorf("a link was followed: %s", got)
	}
	// Named as the root, it is decided on as what it is.
	access, err := g.Spec().Access(t.Context(), &tool.Call{Dir: dir, Input: []byte(`{"pattern":"link/*"}`)})
	if err != nil || access[0].Target != filepath.Join(outside, "secret") {
		t.Errorf("access %v %v", access, err)
	}
}

func TestGlobBounds(t *testing.T) {
	files := map[string]string{}
	for i := range 1100 {
		files[fmt.Sprintf("%s/%04d", strings.Repeat("n", 60), i)] = ""
	}
	dir := makeTree(t, files)
	g := builtin.Glob(builtin.Options{Root: dir})
	r, err := find(t, g, dir, `{"pattern":"**/*"}`, nil)
	if got := text(t, r, err); strings.Count(got, "\n") != 201 || !strings.Contains(got, "The newest 200 of 1100 files") {
		t.Errorf("%d lines, %s", strings.Count(got, "\n"), got[len(got)-100:])
	}
	r, err = find(t, g, dir, `{"pattern":"**/*","limit":999999}`, nil)
	if got := text(t, r, err); len(got) > 50<<10+300 || !strings.Contains(got, "of 1100 files: narrow the pattern") {
		t.Errorf("%d bytes, %s", len(got), got[len(got)-100:])
	}
}

func TestGlobOddNames(t *testing.T) {
	dir := makeTree(t, map[string]string{"a\nb": "", "é ü": ""})
	g := builtin.Glob(builtin.Options{Root: dir})
	r, err := find(t, g, dir, `{"pattern":"*"}`, nil)
	if got := text(t, r, err); !strings.Contains(got, `"a\nb"`+"\n") || !strings.Contains(got, "é ü\n") {
		t.Error(got)
	}
}

func TestGlobDefaultSkips(t *testing.T) {
	dir := makeTree(t, map[string]string{"a.js": "", "node_modules/b/c.js": ""})
	g := builtin.Glob(builtin.Options{Root: dir})
	r, err := find(t, g, dir, `{"pattern":"**/*.js"}`, nil)
	if got := text(t, r, err); got != "a.js\n\n[1 file. Left out by default: node_modules; name one as path to look in it]" {
		t.Error(got)
	}
	r, err = find(t, g, dir, `{"pattern":"**/*.js","path":"node_modules"}`, nil)
	if got := text(t, r, err); got != "node_modules/b/c.js\n\n[1 file]" {
		t.Error(got)
	}
}
