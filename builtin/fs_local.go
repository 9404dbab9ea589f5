package builtin

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"

	"github.com/cantle-dev/cantle/internal/x/atomicfile"
)

type localFS struct{}

func (localFS) Stat(name string) (fs.FileInfo, error)      { return os.Stat(name) }
func (localFS) Lstat(name string) (fs.FileInfo, error)     { return os.Lstat(name) }
func (localFS) ReadDir(name string) ([]fs.DirEntry, error) { return os.ReadDir(name) }
func (localFS) Remove(name string) error                   { return os.Remove(name) }
func (localFS) EvalSymlinks(name string) (string, error)   { return filepath.EvalSymlinks(name) }

func (localFS) Open(name string) (fs.File, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|openFlags, 0)
	if err != nil {
		if isLoop(err) {
			return nil, &fs.PathError{Op: "open", Path: name, Err: ErrMoved}
		}
		return nil, err
	}
	if err := verify(f, name); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// verify checks that the open file f is what name is without following any
// symbolic link. On Linux the kernel says where an open file is, so there is
// no gap between the check and the use; elsewhere the path is looked at again.
func verify(f *os.File, name string) error {
	moved := &fs.PathError{Op: "open", Path: name, Err: ErrMoved}
	if runtime.GOOS == "linux" {
		if at, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(int(f.Fd()))); err == nil {
			if at == name || at == name+" (deleted)" {
				return nil
			}
			return moved
		}
	}
	at, err := filepath.EvalSymlinks(name)
	if err != nil {
		return err
	}
	if !samePath(at, name) {
		return moved
	}
	have, err := f.Stat()
	if err != nil {
		return err
	}
	want, err := os.Lstat(name)
	if err != nil {
		return err
	}
	if !os.SameFile(have, want) {
		return moved
	}
	return nil
}

// openDir opens the directory name, which is one without symbolic links, so
// that what is done in it happens there and nowhere else.
func openDir(name string) (*os.Root, error) {
	r, err := os.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	d, err := r.Open(".")
	if err != nil {
		r.Close()
		return nil, err
	}
	err = verify(d, name)
	d.Close()
	if err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// MkdirAll makes the directories below the deepest one that exists, and in
// that one, even if the path comes to lead elsewhere meanwhile.
func (localFS) MkdirAll(name string, perm fs.FileMode) error {
	base := name
	for {
		info, err := os.Lstat(base)
		if err == nil && !info.IsDir() {
			return &fs.PathError{Op: "mkdir", Path: base, Err: errors.New("not a directory")}
		}
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrNotExist) || filepath.Dir(base) == base {
			return err
		}
		base = filepath.Dir(base)
	}
	rel, err := filepath.Rel(base, name)
	if err != nil || rel == "." {
		return err
	}
	dir, err := openDir(base)
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.MkdirAll(rel, perm)
}

func (localFS) WriteFile(name string, data []byte, perm fs.FileMode) error {
	dir, err := openDir(filepath.Dir(name))
	if err != nil {
		return err
	}
	defer dir.Close()
	base := filepath.Base(name)
	if info, err := dir.Lstat(base); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return &fs.PathError{Op: "write", Path: name, Err: ErrMoved}
	}
	err = atomicfile.WriteIn(dir, base, data, atomicfile.Options{Mode: perm})
	if inner := errors.Unwrap(err); inner != nil {
		return inner // who asked knows what was written, and where
	}
	return err
}
