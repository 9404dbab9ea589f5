package search_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/cantle-dev/cantle/internal/x/search"
	"github.com/cantle-dev/cantle/internal/x/walk"
)

func write(t testing.TB, dir string, files map[string]string) string {
	t.Helper()
	for name, text := range files {
		full := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func compile(t testing.TB, expr string, flags search.Flags) *search.Pattern {
	t.Helper()
	p, err := search.Compile(expr, flags)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// show gives the lines of a search in the form of grep.
func show(files []search.File) string {
	var b strings.Builder
	for _, f := range files {
		for _, l := range f.Lines {
			mark := "-"
			if l.Match {
				mark = ":"
			}
			fmt.Fprintf(&b, "%s%s%d%s%s\n", f.Path, mark, l.Number, mark, l.Text)
		}
	}
	return b.String()
}

func find(t testing.TB, root string, p *search.Pattern, o search.Options) ([]search.File, search.Stats) {
	t.Helper()
	var got []search.File
	stats, err := search.Search(t.Context(), root, p, o, func(f search.File) bool {
		got = append(got, f)
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	return got, stats
}

func TestSearch(t *testing.T) {
	files := map[string]string{
		"a.txt":   "one\ntwo\nthree\nfour\nfive\nsix\nseven\n",
		"d/b.txt": "TWO two\r\nend\r\n\r\nlast two",
		"e.txt":   "",
		"u.txt":   "\xef\xbb\xbfstart\nxstart\n",
	}
	root := write(t, t.TempDir(), files)
	cases := []struct {
		expr  string
		flags search.Flags
		o     search.Options
		want  string
	}{
		{"two", search.Flags{}, search.Options{}, "a.txt:2:two\nd/b.txt:1:TWO two\nd/b.txt:4:last two\n"},
		{"^TWO", search.Flags{Fold: true}, search.Options{}, "a.txt:2:two\nd/b.txt:1:TWO two\n"},
		{"end$", search.Flags{}, search.Options{}, "d/b.txt:2:end\n"},
		{"^$", search.Flags{}, search.Options{}, "d/b.txt:3:\n"},
		{"two$", search.Flags{}, search.Options{}, "a.txt:2:two\nd/b.txt:1:TWO two\nd/b.txt:4:last two\n"},
		{`\Atwo\z`, search.Flags{}, search.Options{}, "a.txt:2:two\n"},
		{`^start`, search.Flags{}, search.Options{}, "u.txt:1:start\n"},
		{"(three|five)", search.Flags{}, search.Options{Before: 1, After: 1}, "a.txt-2-two\na.txt:3:three\na.txt-4-four\na.txt:5:five\na.txt-6-six\n"},
		{"(one|six|seven)", search.Flags{}, search.Options{Before: 2, After: 1}, "a.txt:1:one\na.txt-2-two\na.txt-4-four\na.txt-5-five\na.txt:6:six\na.txt:7:seven\n"},
		{"[a-z]", search.Flags{}, search.Options{Skip: 2, Max: 1, After: 1, Keep: func(p string) bool { return p == "a.txt" }}, "a.txt:3:three\n"},
		{"o\\nth", search.Flags{Multiline: true}, search.Options{After: 1}, "a.txt:2:two\na.txt:3:three\na.txt-4-four\n"},
		{"(?s)TWO.*last", search.Flags{Multiline: true}, search.Options{}, "d/b.txt:1:TWO two\nd/b.txt:2:end\nd/b.txt:3:\nd/b.txt:4:last two\n"},
		{"^three$", search.Flags{Multiline: true}, search.Options{}, "a.txt:3:three\n"},
		{"nowhere", search.Flags{}, search.Options{}, ""},
	}
	for _, c := range cases {
		for _, workers := range []int{1, 4} {
			c.o.Workers = workers
			got, _ := find(t, root, compile(t, c.expr, c.flags), c.o)
			if g := show(got); g != c.want {
				t.Errorf("%q %+v:\n%s\nwant:\n%s", c.expr, c.flags, g, c.want)
			}
		}
		c.o.Walk.FS = plain{}
		if got, _ := find(t, root, compile(t, c.expr, c.flags), c.o); show(got) != c.want {
			t.Errorf("%q through an FS: %s", c.expr, show(got))
		}
	}
}

// plain is the local file system as an FS of the caller's.
type plain struct{}

func (plain) Open(name string) (fs.File, error)          { return os.Open(name) }
func (plain) Stat(name string) (fs.FileInfo, error)      { return os.Stat(name) }
func (plain) Lstat(name string) (fs.FileInfo, error)     { return os.Lstat(name) }
func (plain) ReadDir(name string) ([]fs.DirEntry, error) { return os.ReadDir(name) }

// naive is the lines that match, found in the plainest way.
func naive(t *testing.T, text, expr string, fold bool) []int {
	t.Helper()
	if fold {
		expr = "(?i)" + expr
	}
	re := regexp.MustCompile(expr)
	var got []int
	lines := strings.Split(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	for i, l := range lines {
		if re.MatchString(strings.TrimSuffix(l, "\r")) {
			got = append(got, i+1)
		}
	}
	return got
}

func numbers(files []search.File) []int {
	var got []int
	for _, f := range files {
		for _, l := range f.Lines {
			got = append(got, l.Number)
		}
	}
	return got
}

// TestAgainstRegexp compares with the standard library, line by line, over
// random expressions and texts.
func TestAgainstRegexp(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 5))
	atoms := []string{
		"a", "b", "ab", "foo", "k", "K", "s", "ſ", "é", "É", "_", "0", "[a-c]", "[^a]", "[Kk]", "[0-9]", ".", `\b`, `\B`, "^", "$",
		`\w`, `\W`, `\s`, `\d`, "(?:a|foo)", "(?:foo|bar|x)", "(foo)", "x?", "a*", "b+", "a{2}", "(?:ab){1,2}", "é?", `\x{FFFD}`, "(?i:fo)", "|",
		`\pL`, "[[:upper:]]", "bar", "baz", "中",
	}
	words := []string{
		"a", "b", "ab", "foo", "FOO", "bar", "k", "K", "\u212a", "s", "ſ", "é", "É", "_", "0", "12", " ", "\t", "x", "\n", "\n", "\r\n", "\r",
		"\xff", "\xe9", "中", ".", "\ufffd", "baz", "\n\n",
	}
	dir := t.TempDir()
	rounds := 800
	if os.Getenv("CANTLE_SOAK") != "" {
		rounds = 60_000
	}
	for range rounds {
		var expr, text strings.Builder
		for range 1 + rnd.IntN(5) {
			expr.WriteString(atoms[rnd.IntN(len(atoms))])
		}
		for range rnd.IntN(60) {
			text.WriteString(words[rnd.IntN(len(words))])
		}
		fold := rnd.IntN(3) == 0
		if _, err := regexp.Compile(expr.String()); err != nil {
			continue
		}
		write(t, dir, map[string]string{"f": text.String()})
		got, _ := find(t, filepath.Join(dir, "f"), compile(t, expr.String(), search.Flags{Fold: fold}), search.Options{})
		want := naive(t, strings.TrimPrefix(text.String(), "\ufeff"), expr.String(), fold)
		if fmt.Sprint(numbers(got)) != fmt.Sprint(want) {
			t.Fatalf("%q fold %v in %q: got %v, want %v", expr.String(), fold, text.String(), numbers(got), want)
		}
	}
}

// TestLargeFile has lines across the borders of what is read at a time.
func TestLargeFile(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	for b.Len() < 900_000 {
		b.WriteString(strings.Repeat("x", rnd.IntN(3000)*min(1, rnd.IntN(5))))
		b.WriteString([]string{"needle_1", "Needle", "nothing", "abc_123", ""}[rnd.IntN(5)])
		b.WriteString([]string{"\n", "\r\n"}[rnd.IntN(2)])
	}
	text := b.String()
	root := write(t, t.TempDir(), map[string]string{"f": text})
	for _, expr := range []string{"needle", "needle_[0-9]", "[a-z]+_[0-9]{3}$", "^n", "^$", "needle_1$"} {
		for _, fold := range []bool{false, true} {
			p := compile(t, expr, search.Flags{Fold: fold})
			want := naive(t, text, expr, fold)
			got, _ := find(t, root, p, search.Options{Mode: search.Count})
			if len(got) != 1 || got[0].Hits != len(want) {
				t.Errorf("%q: %+v, want %d", expr, got, len(want))
			}
			f, err := search.FileLines(t.Context(), filepath.Join(root, "f"), p, search.Options{}, 10<<20)
			if err != nil || fmt.Sprint(numbers([]search.File{f})) != fmt.Sprint(want) || f.Cut {
				t.Errorf("%q: lines differ: %v", expr, err)
			}
			k := len(want) / 2
			if len(want) < k+4 {
				continue
			}
			f, err = search.FileLines(t.Context(), filepath.Join(root, "f"), p, search.Options{Skip: k, Max: 3}, 10<<20)
			if err != nil || fmt.Sprint(numbers([]search.File{f})) != fmt.Sprint(want[k:k+3]) || !f.More {
				t.Errorf("%q: the middle differs: %v", expr, err)
			}
		}
	}
	// Context, across the borders too.
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	f, err := search.FileLines(t.Context(), filepath.Join(root, "f"), compile(t, "Needle", search.Flags{}), search.Options{Before: 2, After: 2}, 10<<20)
	if err != nil {
		t.Fatal(err)
	}
	last := 0
	for _, l := range f.Lines {
		if l.Number <= last {
			t.Fatalf("line %d after %d", l.Number, last)
		}
		last = l.Number
		if want := lines[l.Number-1]; l.Before == 0 && !strings.HasPrefix(want, l.Text) || l.Match != strings.Contains(want, "Needle") {
			t.Fatalf("line %d: %.60q, want %.60q", l.Number, l.Text, want)
		}
	}
}

func TestLongLine(t *testing.T) {
	long := strings.Repeat("é", 5000) + "needle" + strings.Repeat("ü", 5000)
	root := write(t, t.TempDir(), map[string]string{"f": "x\n" + long + "\ny\n"})
	got, _ := find(t, root, compile(t, "needle", search.Flags{}), search.Options{Before: 1})
	l := got[0].Lines[1]
	if l.Number != 2 || !utf8.ValidString(l.Text) || len(l.Text) > search.MaxLine || l.Before+len(l.Text)+l.After != len(long) {
		t.Errorf("%d %d %d %d", l.Number, l.Before, len(l.Text), l.After)
	}
	if at := strings.Index(l.Text, "needle"); at < 0 || at > search.MaxLead || strings.ContainsRune(l.Text, utf8.RuneError) {
		t.Errorf("the match is at %d", at)
	}
}

// TestEndlessLine has a line longer than what is held in memory.
func TestEndlessLine(t *testing.T) {
	var b bytes.Buffer
	b.WriteString("first\n")
	for i := range 20 {
		b.Write(bytes.Repeat([]byte{'x'}, 1<<20))
		if i == 15 {
			b.WriteString("needle")
		}
	}
	b.WriteString("\nsecond needle\nno\nthird needle\n")
	root := write(t, t.TempDir(), map[string]string{"f": b.String()})
	got, _ := find(t, root, compile(t, "needle", search.Flags{}), search.Options{})
	if fmt.Sprint(numbers(got)) != "[2 3 5]" {
		t.Errorf("lines %v", numbers(got))
	}
	for _, f := range got {
		for _, l := range f.Lines {
			if !strings.Contains(l.Text, "needle") || len(l.Text) > search.MaxLine {
				t.Errorf("line %d: %.50q", l.Number, l.Text)
			}
		}
	}
	got, s := find(t, root, compile(t, "needle\\n", search.Flags{Multiline: true}), search.Options{})
	if len(got) != 0 || s.Large != 1 {
		t.Errorf("%d files, %+v", len(got), s)
	}
}

func TestKindsOfFiles(t *testing.T) {
	utf16 := func(big bool, text string) string {
		out := []byte{0xff, 0xfe}
		if big {
			out = []byte{0xfe, 0xff}
		}
		for _, r := range text {
			units := []rune{r}
			if r > 0xffff {
				units = []rune{0xd800 + (r-0x10000)>>10, 0xdc00 + (r-0x10000)&0x3ff}
			}
			for _, u := range units {
				if big {
					out = append(out, byte(u>>8), byte(u))
				} else {
					out = append(out, byte(u), byte(u>>8))
				}
			}
		}
		return string(out)
	}
	root := write(t, t.TempDir(), map[string]string{
		"binary":  "needle\x00\n",
		"deep":    strings.Repeat("text\n", 4000) + "needle\n\x00",
		"le":      utf16(false, "x\n😀 needle ü\n"),
		"be":      utf16(true, strings.Repeat("pad\n", 3000)+"😀 needle ü\n"),
		"latin1":  "caf\xe9 needle\n",
		"cut.txt": utf16(false, "needle")[:9],
	})
	got, s := find(t, root, compile(t, "needl", search.Flags{}), search.Options{})
	want := "be:3001:😀 needle ü\nlatin1:1:caf\uFFFD needle\nle:2:😀 needle ü\n"
	if g := show(got); g != want || s.Binary != 2 || s.Searched != 4 {
		t.Errorf("%s %+v", g, s)
	}
}

func TestBounds(t *testing.T) {
	root := write(t, t.TempDir(), map[string]string{"a": strings.Repeat("hit "+strings.Repeat("y", 500)+"\n", 1000), "b": "hit\n"})
	p := compile(t, "hit", search.Flags{})
	got, _ := find(t, root, p, search.Options{})
	if got[0].Hits != 1000 || !got[0].Cut || got[0].More || len(got[0].Lines) > 200 {
		t.Errorf("%d hits, %d lines, cut %v", got[0].Hits, len(got[0].Lines), got[0].Cut)
	}
	got, _ = find(t, root, p, search.Options{Max: 10})
	if got[0].Hits != 10 || !got[0].More || got[1].More {
		t.Errorf("%d hits", got[0].Hits)
	}
	got, _ = find(t, root, p, search.Options{Mode: search.Names})
	if len(got) != 2 || got[0].Hits != 1 || got[0].Lines != nil {
		t.Errorf("%+v", got)
	}
	n := 0
	s, err := search.Search(t.Context(), root, p, search.Options{}, func(search.File) bool { n++; return false })
	if n != 1 || err != nil || s.Searched != 1 {
		t.Errorf("stopped: %d %v %+v", n, err, s)
	}
}

func TestCancel(t *testing.T) {
	files := map[string]string{}
	for i := range 300 {
		files[fmt.Sprintf("d%d/f", i)] = "hit\n"
	}
	root := write(t, t.TempDir(), files)
	before := runtime.NumGoroutine()
	ctx, cancel := context.WithCancelCause(t.Context())
	mine := errors.New("mine")
	_, err := search.Search(ctx, root, compile(t, "hit", search.Flags{}), search.Options{}, func(search.File) bool { cancel(mine); return true })
	if !errors.Is(err, mine) {
		t.Errorf("err %v", err)
	}
	if _, err := search.Search(t.Context(), filepath.Join(root, "none"), compile(t, "hit", search.Flags{}), search.Options{}, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("err %v", err)
	}
	for end := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > before; runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("%d goroutines before, %d after", before, runtime.NumGoroutine())
		}
	}
}

type unreadable struct{ plain }

func (u unreadable) Open(name string) (fs.File, error) {
	if strings.HasSuffix(name, "no") {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return u.plain.Open(name)
}

func TestUnreadable(t *testing.T) {
	root := write(t, t.TempDir(), map[string]string{"no": "hit", "yes": "hit"})
	got, s := find(t, root, compile(t, "hit", search.Flags{}), search.Options{Walk: walk.Options{FS: unreadable{}}})
	if len(got) != 1 || s.Failed != 1 || len(s.Errors) != 1 {
		t.Errorf("%+v %+v", got, s)
	}
}

func TestTypes(t *testing.T) {
	for _, c := range []struct {
		name, path string
		want       bool
	}{
		{"go", "a/b.go", true},
		{"go", "a.goo", false},
		{"python", "x.pyi", true},
		{"Py", "x.py", true},
		{".ts", "x.tsx", true},
		{"make", "d/Makefile", true},
		{"make", "d/xMakefile", false},
		{"docker", "Dockerfile", true},
		{"c++", "x.hpp", true},
	} {
		if is := search.Type(c.name); is == nil || is(c.path) != c.want {
			t.Errorf("%s %s", c.name, c.path)
		}
	}
	if search.Type("klingon") != nil {
		t.Error("a type that there is not")
	}
	for _, name := range search.Types() {
		if search.Type(name) == nil {
			t.Errorf("%s is listed and unknown", name)
		}
	}
}

func TestBadExpressions(t *testing.T) {
	for expr, want := range map[string]string{
		"a(b":       `missing closing ) at character 2, "(b"`,
		"(é)x(y[)]": `missing closing ) at character 5, "(y[)]"`,
		"a)b":       `unexpected ) at character 2, ")"`,
		"a[bc":      `missing closing ] at character 2, "[bc"`,
		"[a]b[c":    `missing closing ] at character 5, "[c"`,
		"(*)x*":     `at character 2, "*"`,
		`é\q`:       `at character 2, "\\q"`,
		"x{2000}":   `at character 2, "{2000}"`,
		"foo(?=bar": "lookahead",
		"(?<!x)y":   "negative lookbehind",
		`(a)\1`:     "backreference",
		"a[z-a]":    `at character 3, "z-a"`,
		"x\ny":      "multiline",
		`a\nb`:      "multiline",
		"*a":        `missing argument to repetition operator at character 1, "*"`,
		"a**":       `at character 2, "**"`,
		"a\xff":     "UTF-8",
	} {
		_, err := search.Compile(expr, search.Flags{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q in it", expr, err, want)
		}
	}
}

func ExampleSearch() {
	root, err := os.MkdirTemp("", "search")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(root)
	if err := os.WriteFile(filepath.Join(root, "a.go"), []byte("package a\n\nfunc loginHandler(w io.Writer) {\n"), 0o644); err != nil {
		panic(err)
	}
	p, err := search.Compile(`func \w+Handler\(`, search.Flags{})
	if err != nil {
		panic(err)
	}
	stats, err := search.Search(context.Background(), root, p, search.Options{}, func(f search.File) bool {
		for _, l := range f.Lines {
			fmt.Printf("%s:%d:%s\n", f.Path, l.Number, l.Text)
		}
		return true // go on
	})
	fmt.Println(stats.Searched, err)
	// Output:
	// a.go:3:func loginHandler(w io.Writer) {
	// 1 <nil>
}
