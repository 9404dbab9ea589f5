package place

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cantle-dev/cantle/sandbox"
)

// Temp is a view of files in which a private directory stands for /tmp. The
// zero Temp is a view in which none does.
type Temp struct {
	dir, tmp string   // the private one, and the path of /tmp without links
	shown    []string // what of the machine's /tmp is to be seen all the same
	mounts   []mount
}

type mount struct {
	source, target string
	readOnly       bool
}

// NewTemp makes the view of a policy for a command that works in dir. Roots are
// what may be written, resolved. It makes in the private directory what the
// directories that stay in view are mounted on.
//
// What commands left there is not trusted: what they put in the way is removed.
// Nor can a command put something in the way of another view while that is
// being made, since each name is a mount of its own in its view.
func NewTemp(p sandbox.Policy, dir string, roots []string) (Temp, error) {
	if p.Temp == "" || p.WriteRoots == nil {
		return Temp{}, nil
	}
	real, err := filepath.EvalSymlinks(p.Temp)
	if err != nil {
		return Temp{}, fmt.Errorf("the private temp folder: %w", err)
	}
	tmp, err := filepath.EvalSymlinks("/tmp")
	if err != nil || InAny(tmp, roots) || Under(tmp, real) {
		return Temp{}, nil // there is none, or all of it is to be seen
	}
	// By its second name what is protected in it would not be.
	for _, path := range slices.Concat(Resolve(p.ReadOnly), Resolve(p.Hide)) {
		if Under(path, real) {
			return Temp{}, nil
		}
	}
	t := Temp{dir: real, tmp: tmp}
	t.mounts = append(t.mounts, mount{real, tmp, false})
	for _, r := range roots {
		if Under(r, tmp) && !InAny(r, t.shown) {
			t.shown = append(t.shown, r)
		}
	}
	readOnly := ""
	if at, err := filepath.EvalSymlinks(dir); err == nil && at != tmp && Under(at, tmp) && !InAny(at, t.shown) {
		// Roots in it come after it.
		t.shown = slices.DeleteFunc(t.shown, func(s string) bool { return Under(s, at) })
		t.shown = append(t.shown, at)
		readOnly = at
	}
	root, err := os.OpenRoot(real)
	if err != nil {
		return Temp{}, fmt.Errorf("the private temp folder: %w", err)
	}
	defer root.Close()
	done := map[string]bool{}
	for _, s := range t.shown {
		rest := strings.TrimPrefix(s, tmp+"/")
		for i := range strings.Count(rest, "/") + 1 {
			name := filepath.Join(strings.Split(rest, "/")[:i+1]...)
			if done[name] {
				continue
			}
			done[name] = true
			if err := makeDir(root, name); err != nil {
				return Temp{}, fmt.Errorf("the private temp folder: %w", err)
			}
			if at := filepath.Join(tmp, name); at != s {
				t.mounts = append(t.mounts, mount{filepath.Join(real, name), at, false})
			}
		}
	}
	if readOnly != "" {
		t.mounts = append(t.mounts, mount{readOnly, readOnly, true})
	}
	return t, nil
}

// makeDir makes a directory, and first removes what is there and is none.
func makeDir(root *os.Root, name string) error {
	fi, err := root.Lstat(name)
	if err == nil && fi.IsDir() {
		return nil
	}
	if err == nil {
		if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := root.Mkdir(name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// IsZero reports whether no directory stands for /tmp.
func (t Temp) IsZero() bool { return t.dir == "" }

// Mounts calls mount for all that the view needs beneath its roots, in order.
func (t Temp) Mounts(mount func(source, target string, readOnly bool)) {
	for _, m := range t.mounts {
		mount(m.source, m.target, m.readOnly)
	}
}

// Shows reports whether the path, without links, is what it is on this machine.
func (t Temp) Shows(path string) bool {
	return t.dir == "" || !Under(path, t.tmp) || InAny(path, t.shown)
}
