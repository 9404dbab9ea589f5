package walk_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cantle-dev/cantle/internal/x/walk"
)

// tree makes files; a name that ends in a slash is a directory, "a -> b" a
// symbolic link, and what follows a "=" is the content.
func tree(t testing.TB, dir string, names ...string) string {
	t.Helper()
	for _, n := range names {
		n, text, _ := strings.Cut(n, "=")
		from, to, link := strings.Cut(n, " -> ")
		full := filepath.Join(dir, from)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		switch {
		case link:
			err = os.Symlink(to, full)
		case strings.HasSuffix(n, "/"):
			err = os.MkdirAll(full, 0o755)
		default:
			err = os.WriteFile(full, []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func list(t *testing.T, root string, o walk.Options) ([]string, walk.Stats) {
	t.Helper()
	var got []string
	stats, err := walk.Walk(t.Context(), root, o, func(f walk.File) bool {
		name := f.Path
		if f.Link {
			name += "@"
		}
		got = append(got, name)
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	return got, stats
}

func TestWalk(t *testing.T) {
	cases := []struct {
		name  string
		files []string
		root  string
		o     walk.Options
		want  string
	}{
		{name: "order", files: []string{"b/x", "b.go", "a/z", "a/b/c", "a.go", "B"}, want: "B a/b/c a/z a.go b/x b.go"},
		{name: "hidden and vcs", files: []string{".env", ".github/w.yml", ".git/config", ".hg/x", ".svn/y", "x"}, want: ".env .github/w.yml x"},
		{
			name: "links", files: []string{"d/x", "l -> d", "f -> d/x", "loop -> ."}, want: "d/x",
		},
		{name: "links listed", files: []string{"d/x", "l -> d", "f -> d/x", "dead -> no"}, o: walk.Options{Links: true}, want: "d/x dead@ f@ l@"},
		{name: "ignored", files: []string{".git/", ".gitignore=*.log\n/out/\n", "a.log", "out/x", "a/out/x", "a/b.log"}, want: ".gitignore a/out/x"},
		{name: "ignored are wanted", files: []string{".git/", ".gitignore=*.log\n", "a.log"}, o: walk.Options{Ignored: true}, want: ".gitignore a.log"},
		{name: "exclude", files: []string{".git/info/exclude=*.x\n", "a.x", "a"}, want: "a"},
		{name: "nested", files: []string{".git/", ".gitignore=*.log\n", "a/.gitignore=!k.log\n", "a/k.log", "k.log"}, want: ".gitignore a/.gitignore a/k.log"},
		{name: "from within", files: []string{".git/", ".gitignore=/a/b/x\n*.log\n", "a/.gitignore=y\n", "a/b/x", "a/b/y", "a/b/z", "a/b/q.log"}, root: "a/b", want: "z"},
		{name: "ignored root", files: []string{".git/", ".gitignore=out/\n*.log\n", "out/a.log", "out/b"}, root: "out", want: "a.log b"},
		{name: "ignored below root", files: []string{".git/", ".gitignore=/out/\n", "out/d/.gitignore=no\n", "out/d/no", "out/d/yes"}, root: "out/d", want: ".gitignore yes"},
		{name: "no repository", files: []string{".gitignore=*.log\n", "a.log", "b"}, want: ".gitignore b"},
		{name: "skip list", files: []string{"node_modules/a/x", "s/__pycache__/y", "build/z", "a"}, want: "a build/z"},
		{name: "skip list undone", files: []string{"p/.gitignore=!node_modules/\n", "p/node_modules/x", "node_modules/y"}, want: "p/.gitignore p/node_modules/x"},
		{name: "no skip list beside an ignore file", files: []string{".git/", ".gitignore=*.o\n", "node_modules/x"}, want: ".gitignore node_modules/x"},
		{name: "a name of the skip list as root", files: []string{"node_modules/a/x"}, root: "node_modules", want: "a/x"},
		{name: "inner repository", files: []string{".git/", ".gitignore=*.c\n", "in/.git/info/exclude=*.e\n", "in/a.c", "in/a.e", "b.c"}, want: ".gitignore in/a.c"},
		{name: "worktree", files: []string{"main/.git/worktrees/w/commondir=../..\n", "main/.git/info/exclude=*.e\n", "w/.git=gitdir: ../main/.git/worktrees/w\n", "w/a.e", "w/b"}, root: "w", want: "b"},
		{name: "depth", files: []string{"a", "b/c", "b/d/e"}, o: walk.Options{Depth: 2}, want: "a b/c"},
		{name: "enter", files: []string{"a/x", "b/x", "b/c/x"}, o: walk.Options{Enter: func(p string) bool { return p != "a" && p != "b/c" }}, want: "b/x"},
		{name: "a bad pattern", files: []string{".git/", ".gitignore=[a-\n*.log\n", "a", "b.log"}, want: ".gitignore a"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			root := filepath.Join(tree(t, t.TempDir(), c.files...), c.root)
			got, _ := list(t, root, c.o)
			if g := strings.Join(got, " "); g != c.want {
				t.Errorf("got  %s\nwant %s", g, c.want)
			}
			if c.o.Enter == nil {
				c.o.FS = plain{}
				if got, _ := list(t, root, c.o); strings.Join(got, " ") != c.want {
					t.Errorf("through an FS: got %s\nwant %s", got, c.want)
				}
			}
		})
	}
}

// plain is the local file system as an FS of the caller's.
type plain struct{}

func (plain) Open(name string) (fs.File, error)          { return os.Open(name) }
func (plain) Stat(name string) (fs.FileInfo, error)      { return os.Stat(name) }
func (plain) Lstat(name string) (fs.FileInfo, error)     { return os.Lstat(name) }
func (plain) ReadDir(name string) ([]fs.DirEntry, error) { return os.ReadDir(name) }

func TestAgainstGitLsFiles(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not on PATH: nothing to compare with")
	}
	dir := tree(t, t.TempDir(), ".gitignore=*.o\n/gen/\n!keep.o\nsub/*/tmp\n", "a.c", "a.o", "keep.o", "gen/x", "src/gen/y",
		"sub/q/tmp/z", "sub/tmp/z", "src/.gitignore=*\n!*.go\n!.gitignore\n", "src/x.go", "src/x.txt", "src/d/y.go", "é/ü.txt", "sp ace/f")
	git := func(args ...string) string {
		cmd := exec.Command("git", append([]string{"-C", dir}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null")
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	git("init", "-q")
	want := strings.Split(strings.TrimSuffix(git("ls-files", "-z", "--others", "--exclude-standard"), "\x00"), "\x00")
	got, _ := list(t, dir, walk.Options{})
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestStats(t *testing.T) {
	dir := tree(t, t.TempDir(), "node_modules/x", "p/node_modules/y", "a", "b", "c", "d/.gitignore=[x\n*.o\n", "d/e.o")
	got, s := list(t, dir, walk.Options{})
	if len(got) != 4 || s.Files != 4 || s.Skipped["node_modules"] != 2 || s.Ignored != 1 || len(s.Warnings) != 1 || s.Dirs != 3 {
		t.Errorf("%q %+v", got, s)
	}
	if got, s := list(t, dir, walk.Options{MaxFiles: 2}); len(got) != 2 || !s.Truncated {
		t.Errorf("%q %+v", got, s)
	}
	if _, s := list(t, dir, walk.Options{MaxFiles: 4}); s.Truncated {
		t.Error("exactly as many as allowed is not too many")
	}
}

func TestOrderWhateverTheWorkers(t *testing.T) {
	dir := t.TempDir()
	var want []string
	for i := range 40 {
		for k := range 5 {
			for f := range 3 {
				want = append(want, fmt.Sprintf("d%02d/e%d/f%d", i, k, f))
			}
		}
	}
	tree(t, dir, want...)
	for _, workers := range []int{1, 2, 8} {
		if got, _ := list(t, dir, walk.Options{Workers: workers}); !slices.Equal(got, want) {
			t.Errorf("%d workers: order differs", workers)
		}
	}
}

func TestStop(t *testing.T) {
	dir := tree(t, t.TempDir(), "a/1", "a/2", "b/3", "c/d/4")
	before := runtime.NumGoroutine()
	n := 0
	if _, err := walk.Walk(t.Context(), dir, walk.Options{}, func(walk.File) bool { n++; return n < 2 }); err != nil || n != 2 {
		t.Errorf("n %d, err %v", n, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, err := walk.Walk(ctx, dir, walk.Options{}, func(walk.File) bool { cancel(); return true })
	if err != context.Canceled {
		t.Errorf("cancelled: %v", err)
	}
	// A goroutine that has said that it is done may still be on its way out.
	for end := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > before; runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("%d goroutines before, %d after", before, runtime.NumGoroutine())
		}
	}
}

func TestErrors(t *testing.T) {
	dir := tree(t, t.TempDir(), "a", "no/x")
	never := func(walk.File) bool { t.Error("called"); return true }
	if _, err := walk.Walk(t.Context(), filepath.Join(dir, "none"), walk.Options{}, never); err == nil {
		t.Error("a root that is not there is no error")
	}
	if _, err := walk.Walk(t.Context(), filepath.Join(dir, "a"), walk.Options{}, never); err == nil {
		t.Error("a root that is a file is no error")
	}
	fails := failing{bad: filepath.Join(dir, "no")}
	got, s := list(t, dir, walk.Options{FS: fails})
	if len(got) != 1 || s.Unreadable != 1 || len(s.Errors) != 1 {
		t.Errorf("%q %+v", got, s)
	}
}

type failing struct {
	plain
	bad string
}

func (f failing) ReadDir(name string) ([]fs.DirEntry, error) {
	if name == f.bad {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return f.plain.ReadDir(name)
}

func BenchmarkWalk(b *testing.B) {
	root := filepath.Join(goroot(b), "src")
	for b.Loop() {
		n := 0
		if _, err := walk.Walk(context.Background(), root, walk.Options{}, func(walk.File) bool { n++; return true }); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(n), "files")
	}
}

// goroot is a large tree that every machine that builds this has.
func goroot(b *testing.B) string {
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		b.Skipf("no go command: %v", err)
	}
	return strings.TrimSpace(string(out))
}
