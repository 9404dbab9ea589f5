package atomicfile_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/internal/x/atomicfile"
)

func ExampleWrite() {
	dir, _ := os.MkdirTemp("", "")
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "settings.json")
	if err := atomicfile.Write(path, []byte("{}\n"), atomicfile.Options{}); err != nil {
		fmt.Println(err)
	}
	b, _ := os.ReadFile(path)
	fmt.Printf("%s", b)
	// Output:
	// {}
}

func put(t *testing.T, path, content string, mode fs.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

// holds checks the content of path and that dir has no other files than names.
func holds(t *testing.T, path, want string, names ...string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil || string(b) != want {
		t.Errorf("%s holds %q, %v; want %q", path, b, err, want)
	}
	es, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	var have []string
	for _, e := range es {
		have = append(have, e.Name())
	}
	if names == nil {
		names = []string{filepath.Base(path)}
	}
	if strings.Join(have, " ") != strings.Join(names, " ") {
		t.Errorf("the directory has %q, want %q", have, names)
	}
}

func mode(t *testing.T, path string) fs.FileMode {
	t.Helper()
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return st.Mode().Perm()
}

func TestNewFileGetsModeLessUmask(t *testing.T) {
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	f, err := os.Create(plain) // what the system gives under this umask
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	a, s, p := filepath.Join(dir, "a"), filepath.Join(dir, "s"), filepath.Join(dir, "p")
	for path, o := range map[string]atomicfile.Options{a: {}, s: {Mode: 0o755, NoSync: true}, p: {Private: true, Mode: 0o644}} {
		if err := atomicfile.Write(path, []byte("x"), o); err != nil {
			t.Fatal(err)
		}
	}
	if mode(t, a) != mode(t, plain) {
		t.Errorf("a new file has %v, want %v", mode(t, a), mode(t, plain))
	}
	if runtime.GOOS != "windows" {
		if umask := 0o666 &^ mode(t, plain); mode(t, s)&0o666 != 0o644&^umask || mode(t, s)&0o100 == 0 {
			t.Errorf("mode 0755 gave %v", mode(t, s))
		}
		if mode(t, p) != 0o600 {
			t.Errorf("a private file has %v", mode(t, p))
		}
	}
	holds(t, a, "x", "a", "p", "plain", "s")
}

func TestExistingFileKeepsItsMode(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no modes")
	}
	path := filepath.Join(t.TempDir(), "f")
	for _, m := range []fs.FileMode{0o755, 0o600, 0o664, 0o777} {
		put(t, path, "old", m)
		if err := atomicfile.Write(path, []byte("new"), atomicfile.Options{Mode: 0o640}); err != nil {
			t.Fatal(err)
		}
		if mode(t, path) != m {
			t.Errorf("%v became %v", m, mode(t, path))
		}
		holds(t, path, "new")
	}
	if err := atomicfile.Write(path, nil, atomicfile.Options{Private: true}); err != nil {
		t.Fatal(err)
	}
	if mode(t, path) != 0o600 {
		t.Errorf("a private file has %v", mode(t, path))
	}
	holds(t, path, "")
}

func TestLinksAreWrittenThrough(t *testing.T) {
	dir := t.TempDir()
	real, links := filepath.Join(dir, "real"), filepath.Join(dir, "links")
	for _, d := range []string{real, links} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	target := filepath.Join(real, "f")
	put(t, target, "old", 0o644)
	for name, to := range map[string]string{
		"absolute": target, "relative": "../real/f", "chain": "relative",
		"dir": "../real", "dangling": "../real/new", "dangling2": "dangling", "through": "dir/../real/third",
	} {
		if err := os.Symlink(to, filepath.Join(links, name)); err != nil {
			t.Skip(err)
		}
	}
	for name, at := range map[string]string{
		"absolute": "f", "relative": "f", "chain": "f", "dir/f": "f", "dir/made": "made",
		"dangling": "new", "dangling2": "new", "through": "third",
	} {
		link := filepath.Join(links, name)
		if err := atomicfile.Write(link, []byte(name), atomicfile.Options{NoSync: true}); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if b, err := os.ReadFile(filepath.Join(real, at)); err != nil || string(b) != name {
			t.Errorf("%s: the target holds %q, %v", name, b, err)
		}
		if st, err := os.Lstat(link); err != nil || !strings.Contains(name, "/") && st.Mode()&fs.ModeSymlink == 0 {
			t.Errorf("%s is no link any more: %v", name, err)
		}
	}
	if err := os.Symlink("loop", filepath.Join(links, "loop")); err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.Write(filepath.Join(links, "loop"), nil, atomicfile.Options{}); err == nil {
		t.Error("a link to itself was written")
	}
}

// In a directory that is open, a file is written whatever its path is by now,
// and a link is not followed.
func TestWriteIn(t *testing.T) {
	top := t.TempDir()
	path := filepath.Join(top, "d")
	if err := os.Mkdir(path, 0o755); err != nil {
		t.Fatal(err)
	}
	dir, err := os.OpenRoot(path)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	put(t, filepath.Join(path, "f"), "old", 0o640)
	put(t, filepath.Join(top, "outside"), "theirs", 0o644)
	if err := os.Symlink("../outside", filepath.Join(path, "link")); err != nil {
		t.Skip(err)
	}
	moved := filepath.Join(top, "moved")
	if err := os.Rename(path, moved); err != nil {
		t.Skip(err)
	}
	if err := os.Symlink(top, path); err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.WriteIn(dir, "f", []byte("new"), atomicfile.Options{}); err != nil {
		t.Fatal(err)
	}
	holds(t, filepath.Join(moved, "f"), "new", "f", "link")
	if mode(t, filepath.Join(moved, "f")) != 0o640 {
		t.Error("it has another mode")
	}
	for _, name := range []string{"link", "../outside", "."} {
		if err := atomicfile.WriteIn(dir, name, []byte("x"), atomicfile.Options{}); err == nil {
			t.Errorf("%s was written", name)
		}
	}
	holds(t, filepath.Join(top, "outside"), "theirs", "d", "moved", "outside")
}

func TestRefusals(t *testing.T) {
	dir := t.TempDir()
	sub := filepath.Join(dir, "sub")
	if err := os.Mkdir(sub, 0o755); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "file"), "old", 0o644)
	for name, want := range map[string]string{
		sub:                             "not a regular file",
		filepath.Join(dir, "no", "f"):   "no",
		filepath.Join(dir, "file", "f"): "file",
		"":                              "",
	} {
		err := atomicfile.Write(name, []byte("x"), atomicfile.Options{})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "atomicfile: write ") {
			t.Errorf("%q: %v", name, err)
		}
	}
	holds(t, filepath.Join(dir, "file"), "old", "file", "sub")
	if runtime.GOOS != "windows" && os.Getuid() != 0 {
		ro := filepath.Join(dir, "ro")
		put(t, ro, "old", 0o444)
		if err := atomicfile.Write(ro, []byte("x"), atomicfile.Options{}); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("a read-only file: %v", err)
		}
	}
}

func TestWhereNoRenameIsPossible(t *testing.T) {
	fail := func(_ *os.Root, from, _ string) error {
		return &fs.PathError{Op: "rename", Path: from, Err: errors.New("busy")}
	}
	path := filepath.Join(t.TempDir(), "f")
	for _, content := range []string{"longer than it was", "short", ""} {
		put(t, path, "the old one", 0o640)
		before, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := atomicfile.WriteWith(path, []byte(content), atomicfile.Options{}, fail); err != nil {
			t.Fatal(err)
		}
		holds(t, path, content)
		if after, err := os.Stat(path); err != nil || !os.SameFile(before, after) || before.Mode() != after.Mode() {
			t.Errorf("it is another file, or has another mode: %v, %v", after.Mode(), err)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.WriteWith(path, []byte("x"), atomicfile.Options{}, fail); err == nil {
		t.Error("a new file that cannot be renamed into place was reported as written")
	}
	if es, err := os.ReadDir(filepath.Dir(path)); err != nil || len(es) != 0 {
		t.Errorf("left behind: %v, %v", es, err)
	}
}

// TestSwappedFileIsNotOverwritten has another program replace the file between
// the failed rename and the write in place.
func TestSwappedFileIsNotOverwritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	put(t, path, "old", 0o644)
	swap := func(*os.Root, string, string) error {
		if err := os.Rename(path, path+".moved"); err != nil {
			return err
		}
		put(t, path, "theirs", 0o644)
		return errors.New("busy")
	}
	err := atomicfile.WriteWith(path, []byte("ours"), atomicfile.Options{}, swap)
	if err == nil || !strings.Contains(err.Error(), "replaced by another program") {
		t.Errorf("got %v", err)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "theirs" {
		t.Errorf("it holds %q, %v", b, err)
	}
	if es, err := os.ReadDir(filepath.Dir(path)); err != nil || len(es) != 2 {
		t.Errorf("left behind: %v, %v", es, err)
	}
}

func TestReadersSeeWholeFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	contents := [][]byte{bytes.Repeat([]byte("a"), 100_000), bytes.Repeat([]byte("b"), 50_000)}
	put(t, path, string(contents[0]), 0o644)
	done := make(chan struct{})
	errs := make(chan error, 1)
	go func() {
		defer close(errs)
		for {
			select {
			case <-done:
				return
			default:
			}
			b, err := os.ReadFile(path)
			if err != nil || !bytes.Equal(b, contents[0]) && !bytes.Equal(b, contents[1]) {
				errs <- fmt.Errorf("%d bytes seen, %w", len(b), err)
				return
			}
		}
	}()
	for i := range 100 {
		if err := atomicfile.Write(path, contents[i%2], atomicfile.Options{NoSync: true}); err != nil {
			t.Error(err)
			break
		}
	}
	close(done)
	if err := <-errs; err != nil {
		t.Error(err)
	}
	holds(t, path, string(contents[1]))
}
