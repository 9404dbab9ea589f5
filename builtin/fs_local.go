package builtin

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
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
	old, err := dir.Lstat(base)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		old = nil
	case err != nil:
		return err
	case old.Mode()&fs.ModeSymlink != 0:
		return &fs.PathError{Op: "write", Path: name, Err: ErrMoved}
	case !old.Mode().IsRegular():
		return &fs.PathError{Op: "write", Path: name, Err: errors.New("not a regular file")}
	}
	err = replace(dir, base, old, data, perm)
	if err != nil && old != nil && cannotReplace(err) {
		// A file that is mounted by itself, or in a directory where nothing may
		// be made, can still be written to.
		return overwrite(dir, base, old, data)
	}
	return err
}

// replace writes a new file beside base and renames it over it.
func replace(dir *os.Root, base string, old fs.FileInfo, data []byte, perm fs.FileMode) (err error) {
	tmp := "." + base[:min(len(base), 100)] + "." + rand.Text()[:10] + ".tmp"
	if old != nil {
		perm = 0o600 // until it is what the old one was
	}
	f, err := dir.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Close()
			_ = dir.Remove(tmp)
		}
	}()
	if _, err := f.Write(data); err != nil {
		return err
	}
	if old != nil {
		if err := likeOld(f, old); err != nil {
			return err
		}
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if st, err := f.Stat(); err != nil {
		return err
	} else if st.Size() != int64(len(data)) {
		return fmt.Errorf("write %s: %d of %d bytes arrived", base, st.Size(), len(data))
	}
	if err := f.Close(); err != nil {
		return err
	}
	return dir.Rename(tmp, base)
}

// likeOld gives f the mode of old, and its owner where that is allowed.
func likeOld(f *os.File, old fs.FileInfo) error {
	mode := old.Mode()
	if !keepOwner(f, old) {
		mode &^= fs.ModeSetuid | fs.ModeSetgid // these were meant for the old owner
	}
	return f.Chmod(mode & (fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky))
}

// overwrite writes data into the existing file, and what was there back into
// it if that fails.
func overwrite(dir *os.Root, base string, old fs.FileInfo, data []byte) error {
	f, err := dir.OpenFile(base, os.O_RDWR|openFlags, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	if !os.SameFile(st, old) {
		return &fs.PathError{Op: "write", Path: base, Err: ErrMoved}
	}
	before, err := io.ReadAll(f)
	if err != nil {
		return err
	}
	if err := fill(f, data); err != nil {
		if back := fill(f, before); back != nil {
			return fmt.Errorf("%w; and the old content could not be put back: %w", err, back)
		}
		return err
	}
	return nil
}

func fill(f *os.File, data []byte) error {
	if _, err := f.WriteAt(data, 0); err != nil {
		return err
	}
	if err := f.Truncate(int64(len(data))); err != nil {
		return err
	}
	return f.Sync()
}
