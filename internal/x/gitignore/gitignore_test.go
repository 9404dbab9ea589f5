package gitignore_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cantle-dev/cantle/internal/x/gitignore"
)

// cases is patterns and the paths to try them on; a trailing slash makes a
// directory. What is right is not written here: git says it.
var cases = []struct{ patterns, paths string }{
	{"foo", "foo a/foo foo/ foo/x foox xfoo"},
	{"/foo", "foo a/foo foo/x"},
	{"foo/", "foo foo/ a/foo/ a/foo/x foo/x"},
	{"/foo/", "foo/ a/foo/ foo/x"},
	{"foo/bar", "foo/bar a/foo/bar foo/bar/x foo/barx"},
	{"/foo/bar", "foo/bar a/foo/bar"},
	{"foo/bar/", "foo/bar/ foo/bar a/foo/bar/ foo/bar/x"},
	{"*.o", "a.o x/a.o .o a.oo o"},
	{"*.o/", "a.o a.o/ a.o/x"},
	{"a*", "a ab b/ac ba"},
	{"*", "a a/b .x"},
	{"**", "a a/b"},
	{"**/", "a a/ a/b/ a/b"},
	{"/*", "a a/b"},
	{"/**", "a a/b"},
	{"**/foo", "foo a/foo a/b/foo afoo"},
	{"**/foo/bar", "foo/bar a/foo/bar a/b/foo/bar x/foo/y/bar"},
	{"foo/**", "foo/ foo/a foo/a/b a/foo/b"},
	{"a/**/b", "a/b a/x/b a/x/y/b a/xb ab x/a/b"},
	{"a/**/b/**/c", "a/b/c a/x/b/y/c a/b/x/y/c a/c"},
	{"a**/b", "a/b ax/b ax/y/b ab"},
	{"a/b**", "a/b a/bc a/bc/d a/b/c"},
	{"a/**b", "a/b a/xb a/x/b"},
	{"**a/b", "a/b xa/b x/a/b"},
	{"x/**y/z", "x/y/z x/ay/z x/a/y/z"},
	{"a/***/b", "a/b a/x/b a/x/y/b"},
	{"**/**/b", "b a/b a/c/b"},
	{"a/*/b", "a/b a/x/b a/x/y/b"},
	{"a?c", "abc a/c ac abbc"},
	{"a/?", "a/b a/bc a/b/c"},
	{"a[bc]d", "abd acd aed a[bc]d"},
	{"a[!b]d", "abd acd a/d"},
	{"a[^b]d", "abd acd"},
	{"a[a-c]d", "aad abd acd add"},
	{"a[-x]", "a- ax ay"},
	{"a[x-]", "a- ax ay"},
	{"a[]]", "a] ab"},
	{"a[]-b]", "a] a- ab a^"},
	{"a[!]]", "a] ab"},
	{"a[[:digit:]]", "a1 ab a: a["},
	{"a[[:alpha:][:digit:]_]", "a1 ab a_ a-"},
	{"a[![:space:]]", "ab a1"},
	{"[[:upper:]]*", "Ab ab"},
	{"x[[:xdigit:]][[:punct:]]", "xf. xg. xA-"},
	{"a[[:bogus:]]", "a1 ab ao"},
	{"a[[:digit]", "a[ a: ad ax"},
	{"a[[.x]", "a[ a. ax"},
	{`a[\]]`, `a] a\ ab`},
	{`a[\\]`, `a\ ab`},
	{`a[a\-c]`, "aa ab ac a-"},
	{"a[b", "a[b ab a"},
	{"[a-", "a [a-"},
	{`a\`, `a a\`},
	{`\#a`, "#a a"},
	{"#a", "#a a"},
	{`\!a`, "!a a"},
	{"!a", "a !a"},
	{`\a`, "a"},
	{`a\*b`, "a*b axb"},
	{`a\?`, "a? ab"},
	{`a\[b]`, "a[b] ab"},
	{`a\/b`, "a/b"},
	{`*\.o`, "a.o ao"},
	{"a ", "a"},
	{"a   \nb", "a b"},
	{"a\t", "a"},
	{"*.log\n!keep.log", "x.log keep.log a/keep.log"},
	{"!keep.log\n*.log", "keep.log"},
	{"out/\n!out/keep", "out/keep out/ out/x"},
	{"out/*\n!out/keep", "out/keep out/ out/x out/keep/y"},
	{"/*\n!/a\n/a/*\n!/a/b", "x a/ a/b a/c a/b/d"},
	{"*\n!*/\n!*.go", "a.go d/ d/a.go d/x d/e/b.go"},
	{"foo\n!foo/", "foo foo/ foo/x"},
	{"foo/\n!foo", "foo foo/ foo/x"},
	{"a\r\nb/\r\n", "a b/ b"},
	{"\xef\xbb\xbfa\nb", "a b"},
	{"\n\n  \na", "a"},
	{" a", "a"},
	{"/", "a a/ a/b"},
	{"//a", "a b/a"},
	{`/**\/**b`, "b a/b a/x/b ab b/a"},
	{`a/**\/b`, "a/b a/x/b a/x/y/b"},
	{"a//", "a a/ a/b"},
	{"a//b", "a/b"},
	{"./a", "a"},
	{"../a", "a"},
	{"é*", "é éa e"},
	{"?", "é e"},
	{"??", "é ab"},
	{"[é]", "é"},
	{"{a,b}", "a b {a,b}"},
	{"*a*b*c", "abc xaybzc acb xabcx"},
	{"*.min.*", "a.min.js min.js a.min."},
	{".*", ".a a .a/b b/.c"},
	{"a.b", "a.b axb"},
	{"x/*.o", "x/a.o x/y/a.o y/x/a.o"},
	{"*/x", "a/x x a/b/x"},
	{"*/*/x", "a/x a/b/x a/b/c/x"},
	{"**/*.o", "a.o x/a.o x/y/a.o"},
	{"x/**/*.o", "x/a.o x/y/a.o x/y/z/a.o a.o"},
	{"x/**/", "x/ x/y/ x/y x/y/z/"},
	{"/a*/b?[c-e]/", "ax/bxd/ ax/bxd a/bzc/ a/bzf/"},
}

func TestAgainstGit(t *testing.T) {
	git := newRepo(t)
	for i, c := range cases {
		paths := strings.Fields(c.paths)
		want := git.ask(t, c.patterns, paths)
		list, _ := gitignore.Parse([]byte(c.patterns))
		var none *gitignore.Stack
		rules := none.Push("", list)
		for k, p := range paths {
			if got := rules.Ignored(strings.TrimSuffix(p, "/"), strings.HasSuffix(p, "/")); got != want[k] {
				t.Errorf("case %d: patterns %q, path %q: ignored %v, git says %v", i, c.patterns, p, got, want[k])
			}
		}
	}
}

// TestRandomAgainstGit compares with git on patterns made of the characters
// that have a meaning.
func TestRandomAgainstGit(t *testing.T) {
	git := newRepo(t)
	rnd := rand.New(rand.NewPCG(7, 11))
	pick := func(from []string, n int) string {
		var b strings.Builder
		for range 1 + rnd.IntN(n) {
			b.WriteString(from[rnd.IntN(len(from))])
		}
		return b.String()
	}
	var paths []string
	for len(paths) < 60 {
		p := strings.Trim(pick([]string{"a", "b", "c", "/", "a/", "b/", "-", "]", "1"}, 6), "/")
		for strings.Contains(p, "//") {
			p = strings.ReplaceAll(p, "//", "/")
		}
		if p != "" {
			paths = append(paths, p+[]string{"", "/"}[rnd.IntN(2)])
		}
	}
	parts := []string{
		"a", "b", "c", "/", "*", "**", "?", "**/", "/**", "/**/", "!", "[ab]", "[!a]", "[^b]", "[a-c]",
		"[[:digit:]]", "[", "]", "-", `\`, "\n", "\n!", "1", " ",
	}
	rounds := 40
	if os.Getenv("CANTLE_SOAK") != "" {
		rounds = 5000
	}
	for range rounds {
		patterns := pick(parts, 8)
		want := git.ask(t, patterns, paths)
		list, _ := gitignore.Parse([]byte(patterns))
		var none *gitignore.Stack
		rules := none.Push("", list)
		for k, p := range paths {
			if got := rules.Ignored(strings.TrimSuffix(p, "/"), strings.HasSuffix(p, "/")); got != want[k] {
				t.Errorf("patterns %q, path %q: ignored %v, git says %v", patterns, p, got, want[k])
			}
		}
	}
}

func TestNestedAgainstGit(t *testing.T) {
	git := newRepo(t)
	files := []struct{ dir, text string }{ // lowest first
		{"", "*.tmp\n/a/skip\n"}, // info/exclude
		{"", "*.log\n/b/\nq/*\n"},
		{"a", "!keep.log\n/only\nsub/x\n"},
		{"a/sub", "*\n!y.log\n"},
		{"q", "!in\n"},
	}
	var rules *gitignore.Stack
	for i, f := range files {
		path := filepath.Join(git.dir, f.dir, ".gitignore")
		if i == 0 {
			path = filepath.Join(git.dir, ".git", "info", "exclude")
		}
		write(t, path, f.text)
		list, warnings := gitignore.Parse([]byte(f.text))
		if len(warnings) > 0 {
			t.Fatal(warnings)
		}
		rules = rules.Push(f.dir, list)
	}
	paths := strings.Fields("x.log a/x.log a/keep.log a/sub/keep.log a/only a/d/only a/sub/x a/sub/y.log a/sub/z " +
		"b/ b/c b/keep.log q/in q/out a/skip x.tmp a/sub/y.tmp a/d/keep.log")
	want := git.check(t, paths)
	for k, p := range paths {
		if got := rules.Ignored(strings.TrimSuffix(p, "/"), strings.HasSuffix(p, "/")); got != want[k] {
			t.Errorf("path %q: ignored %v, git says %v", p, got, want[k])
		}
	}
}

func TestWarnings(t *testing.T) {
	list, warnings := gitignore.Parse([]byte("ok\n[a-\nb\\\n[[:nope:]]\n# note\n/\n"))
	if list.Len() != 1 || len(warnings) != 3 {
		t.Fatalf("%d patterns, warnings %v", list.Len(), warnings)
	}
	if got := warnings[0].String(); got != `gitignore: line 2: pattern "[a-" has no effect: a [ has no closing ]` {
		t.Error(got)
	}
	long := strings.Repeat("name\n", gitignore.MaxSize/5+10)
	list, warnings = gitignore.Parse([]byte(long))
	if list.Match("name", false) != gitignore.Ignore || len(warnings) != 1 {
		t.Errorf("long file: %v", warnings)
	}
}

// TestHostilePattern fails by its deadline when time grows exponentially.
func TestHostilePattern(t *testing.T) {
	done := make(chan gitignore.Decision, 1)
	go func() {
		list, _ := gitignore.Parse([]byte("/" + strings.Repeat("**/*a*a*a*a*a*a", 30) + "/x"))
		done <- list.Match(strings.Repeat(strings.Repeat("a", 100)+"/", 30)+"y", false)
	}()
	select {
	case got := <-done:
		if got != gitignore.None {
			t.Error(got)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("still matching after 10 s")
	}
}

func ExampleStack() {
	list, _ := gitignore.Parse([]byte("*.log\n!keep.log\n/out/\n"))
	var rules *gitignore.Stack
	rules = rules.Push("", list)
	fmt.Println(rules.Match("a/x.log", false) == gitignore.Ignore)
	fmt.Println(rules.Match("keep.log", false) == gitignore.Include)
	fmt.Println(rules.Ignored("out/bin/x", false))
	// Output:
	// true
	// true
	// true
}

func BenchmarkMatch(b *testing.B) {
	list, _ := gitignore.Parse([]byte("*.o\n*.a\n*.so\n/bin/\n/vendor/**/testdata\nnode_modules\n.DS_Store\n*.sw[op]\nbuild*/\n!keep.o\n"))
	b.ReportAllocs()
	for b.Loop() {
		list.Match("src/cmd/compile/internal/ssa/rewrite.go", false)
	}
}

type repo struct{ dir string }

func newRepo(t *testing.T) repo {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not on PATH: nothing to compare with")
	}
	r := repo{t.TempDir()}
	if out, err := r.git("init", "-q").CombinedOutput(); err != nil {
		t.Fatalf("git init: %v: %s", err, out)
	}
	return r
}

func (r repo) git(args ...string) *exec.Cmd {
	cmd := exec.Command("git", append([]string{"-c", "core.excludesFile=/dev/null", "-c", "core.ignoreCase=false"}, args...)...)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "LC_ALL=C")
	return cmd
}

func (r repo) ask(t *testing.T, patterns string, paths []string) []bool {
	t.Helper()
	write(t, filepath.Join(r.dir, ".gitignore"), patterns)
	return r.check(t, paths)
}

// check asks git about paths, which it makes first, as it wants to see which
// are directories; those that cannot exist beside each other in several goes.
func (r repo) check(t *testing.T, paths []string) []bool {
	t.Helper()
	got := make([]bool, len(paths))
	var batch []int
	ask := func() {
		var names []string
		for _, i := range batch {
			names = append(names, strings.TrimSuffix(paths[i], "/"))
		}
		cmd := r.git("check-ignore", "-v", "-n", "-z", "--stdin")
		cmd.Stdin = strings.NewReader(strings.Join(names, "\x00") + "\x00")
		out, err := cmd.Output()
		if exit, ok := err.(*exec.ExitError); err != nil && (!ok || exit.ExitCode() != 1) {
			t.Fatalf("git check-ignore: %v", err)
		}
		fields := strings.Split(string(out), "\x00")
		if len(fields) != 4*len(names)+1 {
			t.Fatalf("git check-ignore: %d fields for %d paths", len(fields), len(names))
		}
		for k, i := range batch {
			pattern := fields[4*k+2]
			got[i] = pattern != "" && !strings.HasPrefix(pattern, "!")
		}
		for _, n := range names {
			top, _, _ := strings.Cut(n, "/")
			if err := remove(filepath.Join(r.dir, top)); err != nil {
				t.Fatal(err)
			}
		}
		batch = batch[:0]
	}
	for i := range paths {
		if create(r.dir, paths[i]) != nil {
			ask()
			if err := create(r.dir, paths[i]); err != nil {
				t.Fatal(err)
			}
		}
		batch = append(batch, i)
	}
	ask()
	return got
}

// create makes a file, or a directory where path ends in a slash; it fails
// where the other kind is there.
func create(dir, path string) error {
	full := filepath.Join(dir, path)
	if strings.HasSuffix(path, "/") {
		return os.MkdirAll(full, 0o755)
	}
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		return err
	}
	return os.WriteFile(full, nil, 0o644)
}

// remove removes what create made, and leaves ignore files.
func remove(path string) error {
	info, err := os.Lstat(path)
	if os.IsNotExist(err) || filepath.Base(path) == ".gitignore" {
		return nil
	}
	if err == nil && info.IsDir() {
		entries, err := os.ReadDir(path)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if err := remove(filepath.Join(path, e.Name())); err != nil {
				return err
			}
		}
		if left, _ := os.ReadDir(path); len(left) > 0 {
			return nil
		}
	}
	return os.Remove(path)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
