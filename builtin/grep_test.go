package builtin_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cantle-dev/cantle/builtin"
	"github.com/cantle-dev/cantle/tool"
)

func TestGrep(t *testing.T) {
	dir := makeTree(t, map[string]string{
		"a.go":       "package a\n\nfunc One() {}\n\nfunc Two() {}\n// end\n",
		"src/b.py":   "def one(): pass\r\n",
		"src/c.go":   "func one_more() {}\n",
		"bin":        "func\x00One",
		".gitignore": "out\n",
		"out/d.go":   "func One() {}\n",
	})
	age(t, dir, "src/c.go", "a.go", "src/b.py")
	g := builtin.Grep(builtin.Options{Root: dir})
	cases := []struct{ input, want string }{
		{`{"pattern":"func"}`, "src/c.go\na.go\n\n[2 files. 4 files searched. 1 binary file skipped]"},
		{`{"pattern":"one","output_mode":"content"}`, "src/b.py\n1: def one(): pass\n\nsrc/c.go\n1: func one_more() {}\n\n[2 matching lines in 2 files. 4 files searched. 1 binary file skipped]"},
		{`{"pattern":"ONE","output_mode":"count","-i":true}`, "a.go:1\nsrc/b.py:1\nsrc/c.go:1\n\n[3 matching lines in 3 files. 4 files searched. 1 binary file skipped]"},
		{`{"pattern":"func","output_mode":"count","type":"go"}`, "a.go:2\nsrc/c.go:1\n\n[3 matching lines in 2 files. 2 files searched]"},
		{`{"pattern":"one","glob":"*.py"}`, "src/b.py\n\n[1 file. 1 file searched]"},
		{`{"pattern":"one","glob":"src/*.{py,rb}"}`, "src/b.py\n\n[1 file. 1 file searched]"},
		{`{"pattern":"one","glob":"src/*.py","path":"src"}`, "src/b.py\n\n[1 file. 1 file searched]"},
		{`{"pattern":"one","glob":"!*.py"}`, "src/c.go\n\n[1 file. 3 files searched. 1 binary file skipped]"},
		{`{"pattern":"Two","path":"a.go","output_mode":"content","context_lines":1}`, "a.go\n4- \n5: func Two() {}\n6- // end\n\n[1 matching line in 1 file. 1 file searched]"},
		{`{"pattern":"Two","path":"a.go","-A":1}`, "a.go\n5: func Two() {}\n6- // end\n\n[1 matching line in 1 file. 1 file searched]"},
		{`{"pattern":"package|end","path":"a.go","output_mode":"content","after":1}`, "a.go\n1: package a\n2- \n--\n6: // end\n\n[2 matching lines in 1 file. 1 file searched]"},
		{`{"pattern":"One.*\\n\\nfunc","output_mode":"content","multiline":true}`, "a.go\n3: func One() {}\n4: \n5: func Two() {}\n\n[3 matching lines in 1 file. 4 files searched. 1 binary file skipped]"},
		{`{"pattern":"nothing"}`, "[No match for nothing in the working directory. 4 files searched. 1 binary file skipped. 1 ignored entry left out; ignored: true looks at them too]"},
		{`{"pattern":"One","glob":"*.go","ignored":true,"output_mode":"count"}`, "a.go:1\nout/d.go:1\n\n[2 matching lines in 2 files. 3 files searched]"},
		{`{"pattern":"func","output_mode":"content","limit":1}`, "a.go\n3: func One() {}\n\n[1 matching line shown, and there are more: go on with offset 1, or narrow the search. 2 files searched]"},
		{`{"pattern":"func","output_mode":"content","limit":1,"offset":1}`, "a.go\n5: func Two() {}\n\n[1 matching line shown, and there are more: go on with offset 2, or narrow the search. 4 files searched. 1 binary file skipped]"},
		{`{"pattern":"func","output_mode":"content","limit":1,"offset":2}`, "src/c.go\n1: func one_more() {}\n\n[1 matching line in 1 file. 4 files searched. 1 binary file skipped]"},
		{`{"pattern":"func","output_mode":"content","offset":3}`, "[3 matching lines, none after offset 3. 4 files searched. 1 binary file skipped]"},
		{`{"pattern":"func","limit":1}`, "src/c.go\n\n[2 files; go on with offset 1. 4 files searched. 1 binary file skipped]"},
		{`{"pattern":"func","limit":1,"offset":1}`, "a.go\n\n[2 files. 4 files searched. 1 binary file skipped]"},
	}
	for _, c := range cases {
		r, err := find(t, g, dir, c.input, nil)
		if got := text(t, r, err); got != c.want {
			t.Errorf("%s:\n%s\nwant:\n%s", c.input, got, c.want)
		}
	}
}

func TestGrepErrors(t *testing.T) {
	dir := makeTree(t, map[string]string{"a.go": "x"})
	g := builtin.Grep(builtin.Options{Root: dir})
	for input, want := range map[string]string{
		`{"pattern":""}`:                        "empty",
		`{"pattern":"a(b"}`:                     "invalid regular expression",
		`{"pattern":"(?<=a)b"}`:                 "lookbehind",
		`{"pattern":"a\\nb"}`:                   "multiline",
		`{"pattern":"a","path":"b.go"}`:         "does not exist",
		`{"pattern":"a","type":"klingon"}`:      "there is no type",
		`{"pattern":"a","glob":"[a-"}`:          "malformed",
		`{"pattern":"a","output_mode":"other"}`: "output_mode",
	} {
		_, err := find(t, g, dir, input, nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q in it", input, err, want)
		}
	}
	for _, mode := range []string{"content", "count", "files_with_matches"} {
		err := cancelled(t, g, dir, `{"pattern":"zzz","output_mode":"`+mode+`"}`)
		if err == nil || !strings.Contains(err.Error(), "not finished") {
			t.Errorf("cancelled: %v", err)
		}
	}
}

// TestGrepTellsNothingOfDeniedFiles holds that the count of hidden files does
// not depend on what they hold.
func TestGrepTellsNothingOfDeniedFiles(t *testing.T) {
	dir := makeTree(t, map[string]string{"a": "key\n", "private/b": "key: hunter2\n"})
	g := builtin.Grep(builtin.Options{Root: dir})
	for _, mode := range []string{"content", "count", "files_with_matches"} {
		for _, pattern := range []string{"hunter2", "hunter3"} {
			r, err := find(t, g, dir, `{"pattern":"`+pattern+`","output_mode":"`+mode+`"}`, deny("private"))
			got := strings.ReplaceAll(text(t, r, err), pattern, "P")
			if got != "[No match for P in the working directory. 1 file searched. 1 file hidden by permission rules]" {
				t.Errorf("%s %s: %s", mode, pattern, got)
			}
		}
	}
}

func TestGrepBounds(t *testing.T) {
	dir := makeTree(t, map[string]string{
		"long.txt": strings.Repeat("ü", 5000) + "needle" + strings.Repeat("ü", 5000) + "\n",
		"many.txt": strings.Repeat("hit\n", 5000),
		"wide.txt": strings.Repeat("wide "+strings.Repeat("x", 500)+"\n", 300),
	})
	g := builtin.Grep(builtin.Options{Root: dir})
	r, err := find(t, g, dir, `{"pattern":"needle","output_mode":"content"}`, nil)
	if got := text(t, r, err); len(got) > 2200 || !utf8.ValidString(got) || !strings.Contains(got, "1: [9900 bytes] …ü") || strings.ContainsRune(got, utf8.RuneError) {
		t.Errorf("%d bytes: %.60s", len(got), got)
	}
	// Pages join up and lose nothing.
	for _, c := range []struct {
		pattern string
		limit   int
		want    int
	}{{"hit", 2000, 5000}, {"wide", 2000, 300}, {"hit|wide", 1999, 5300}} {
		seen := 0
		for pages := 0; ; pages++ {
			r, err := find(t, g, dir, fmt.Sprintf(`{"pattern":%q,"output_mode":"content","limit":%d,"offset":%d}`, c.pattern, c.limit, seen), nil)
			got := text(t, r, err)
			if len(got) > 50<<10+400 || pages > 50 {
				t.Fatalf("%d bytes, %d pages", len(got), pages)
			}
			n := strings.Count(got, ": hit") + strings.Count(got, ": wide")
			seen += n
			if !strings.Contains(got, fmt.Sprintf("go on with offset %d,", seen)) {
				break
			}
		}
		if seen != c.want {
			t.Errorf("%s: %d lines, want %d", c.pattern, seen, c.want)
		}
	}
	_, err = find(t, g, dir, `{"pattern":"wide","output_mode":"content","offset":150,"before":1000000000}`, nil)
	if err != nil {
		t.Errorf("context: %v", err)
	}
}

func TestGrepDetail(t *testing.T) {
	dir := makeTree(t, map[string]string{"a": "x\nhit\nhit\ny\nhit\n"})
	g := builtin.Grep(builtin.Options{Root: dir})
	r, err := find(t, g, dir, `{"pattern":"hit","output_mode":"content"}`, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(r.Detail); got != `{"files":[{"path":"a","lines":[[2,3],[5,5]]}]}` {
		t.Error(got)
	}
}

// TestGrepThenEdit holds that Edit may change what Grep has shown, and only
// that.
func TestGrepThenEdit(t *testing.T) {
	dir := makeTree(t, map[string]string{"a": "one\ntwo\nthree\nfour\n"})
	o := builtin.Options{Root: dir, Files: builtin.NewFiles()}
	grep, edit := builtin.Grep(o), builtin.Edit(o)
	r, err := find(t, grep, dir, `{"pattern":"^t","output_mode":"content"}`, nil)
	text(t, r, err)
	change := func(from, to string) error {
		c := &tool.Call{Name: "Edit", Dir: dir, Input: json.RawMessage(fmt.Sprintf(`{"file_path":"a","old_string":%q,"new_string":%q}`, from, to))}
		var err error
		if c.Access, err = edit.Spec().Access(t.Context(), c); err != nil {
			return err
		}
		_, err = tool.Run(t.Context(), edit, c)
		return err
	}
	if err := change("four", "4"); err == nil {
		t.Error("a line that was not shown was changed")
	}
	if err := change("three", "3"); err != nil {
		t.Error(err)
	}
	got, err := os.ReadFile(filepath.Join(dir, "a"))
	if err != nil || string(got) != "one\ntwo\n3\nfour\n" {
		t.Errorf("%q %v", got, err)
	}
}

// TestFindDescriptions holds that what the model is told is what holds, and
// that it is told in few words.
func TestFindDescriptions(t *testing.T) {
	o := builtin.Options{}
	total := 0
	for _, c := range []struct {
		tool   tool.Tool
		limits []int
	}{
		{builtin.Glob(o), []int{builtin.GlobLimit, builtin.GlobMax, builtin.GlobBytes >> 10}},
		{builtin.Grep(o), []int{builtin.GrepLimit, builtin.GrepMax, builtin.GrepBytes >> 10}},
	} {
		s := c.tool.Spec()
		want := fmt.Sprintf("Gives %d", c.limits[0])
		if !strings.Contains(s.Description, want) || !strings.Contains(s.Description, fmt.Sprintf("(at most %d), %d KiB", c.limits[1], c.limits[2])) {
			t.Errorf("%s: the limits are %v, the description says %q", s.Name, c.limits, s.Description)
		}
		if !s.ReadOnly || !s.Parallel {
			t.Errorf("%s: not read-only or not parallel", s.Name)
		}
		t.Logf("%s: %d + %d bytes", s.Name, len(s.Description), len(s.Input))
		total += len(s.Description) + len(s.Input)
	}
	if total > 1600 {
		t.Errorf("%d bytes of descriptions and schemas", total)
	}
}
