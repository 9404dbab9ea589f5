// Package atomicfile replaces whole files so that a reader sees the old content
// or the new and never a part, and so that a crash at any moment loses
// neither.
//
//	err := atomicfile.Write("settings.json", data, atomicfile.Options{})
package atomicfile

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Options are the options of [Write].
type Options struct {
	// Mode is the mode of a file that is new, less the umask; 0 is 0666. A file
	// that exists keeps its own mode, and its owner where that is allowed.
	Mode fs.FileMode
	// Private gives the file mode 0600, whatever it had: for secrets.
	Private bool
	// NoSync leaves it to the system when the data reaches the disk. A crash
	// of the machine may then lose the file; a crash of the program may not.
	NoSync bool
}

// Write makes data the content of the file path, which need not exist; its
// directory must. If path is a symbolic link, the file that it leads to is
// written, and the link stays. What is not a regular file, and a file that the
// caller may not write to, is refused with the file unchanged.
//
// The data is written to a new file beside the old one, which is then renamed
// over it; so other hard links keep the old content. Where a rename is not
// possible (a file that is mounted by itself, some network drives) a copy of
// the old content is put aside, the file is overwritten, and the copy is
// removed; if that fails half-way the old content is put back, and if even
// that fails the error says where the copy is.
func Write(path string, data []byte, opts Options) error {
	if err := write(path, data, opts, (*os.Root).Rename); err != nil {
		return fmt.Errorf("atomicfile: write %s: %w", path, err)
	}
	return nil
}

// WriteIn is [Write] for the file base in a directory that is open, so that
// nothing is written elsewhere even if the directory's path comes to lead
// there meanwhile. A symbolic link of that name is refused.
func WriteIn(dir *os.Root, base string, data []byte, opts Options) error {
	if err := writeIn(dir, base, data, opts, (*os.Root).Rename); err != nil {
		return fmt.Errorf("atomicfile: write %s: %w", base, err)
	}
	return nil
}

type renameFunc func(dir *os.Root, from, to string) error

func write(path string, data []byte, opts Options, rename renameFunc) error {
	path, err := resolve(path)
	if err != nil {
		return err
	}
	dir, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	return writeIn(dir, filepath.Base(path), data, opts, rename)
}

func writeIn(dir *os.Root, base string, data []byte, opts Options, rename renameFunc) error {
	old, err := dir.Lstat(base)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		old = nil
	case err != nil:
		return err
	case !old.Mode().IsRegular():
		return fmt.Errorf("it is not a regular file but %s", old.Mode().Type())
	default:
		if err := writable(dir, base); err != nil {
			return err
		}
	}
	tmp, err := makeTemp(dir, base, old, data, opts)
	if err != nil {
		if old != nil && errors.Is(err, fs.ErrPermission) { // no new file may be made beside it
			return overwrite(dir, base, old, data, opts)
		}
		return err
	}
	if err := rename(dir, tmp, base); err != nil {
		_ = dir.Remove(tmp)
		if old == nil {
			return err
		}
		if oerr := overwrite(dir, base, old, data, opts); oerr != nil {
			return fmt.Errorf("%w; and, without a rename: %w", err, oerr)
		}
		return nil
	}
	if !opts.NoSync {
		return syncDir(dir)
	}
	return nil
}

// resolve follows the symbolic links of path, the last of which may dangle.
func resolve(path string) (string, error) {
	for range 40 { // what Linux allows
		if real, err := filepath.EvalSymlinks(path); err == nil || !errors.Is(err, fs.ErrNotExist) {
			return real, err
		}
		dir, base := filepath.Split(path) // it does not clean: "a/.." may lead elsewhere than "."
		if base == "" || base == "." || base == ".." {
			return "", &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
		}
		if dir == "" {
			dir = "."
		}
		dir, err := filepath.EvalSymlinks(dir)
		if err != nil {
			return "", err
		}
		path = filepath.Join(dir, base)
		target, err := os.Readlink(path)
		if err != nil { // it is no link: it is not there
			return path, nil
		}
		if filepath.IsAbs(target) {
			path = target
		} else {
			path = dir + string(filepath.Separator) + target
		}
	}
	return "", errors.New("too many symbolic links")
}

// writable reports whether the file may be written to as it is: that it could
// be replaced says no more than that its directory may.
func writable(dir *os.Root, base string) error {
	f, err := dir.OpenFile(base, os.O_WRONLY|openFlags, 0)
	if err != nil {
		if errors.Is(err, fs.ErrPermission) {
			return err
		}
		return nil // such as a program that is running, which can be replaced
	}
	return f.Close()
}

// makeTemp writes data to a new file beside base.
func makeTemp(dir *os.Root, base string, old fs.FileInfo, data []byte, opts Options) (_ string, err error) {
	name := "." + base[:min(len(base), 100)] + "." + rand.Text()[:12] + ".tmp"
	mode := opts.Mode.Perm()
	switch {
	case old != nil || opts.Private:
		mode = 0o600 // nobody else may read it before it has the mode of the old one
	case mode == 0:
		mode = 0o666
	}
	f, err := dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			_ = f.Close() // it may be closed already
			_ = dir.Remove(name)
		}
	}()
	if _, err := f.Write(data); err != nil {
		return "", err
	}
	if old != nil {
		perm := old.Mode() & (fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky)
		if !keepOwner(f, old) {
			perm &= fs.ModePerm // set-id bits are for the owner that it had
		}
		if !opts.Private {
			if err := f.Chmod(perm); err != nil && !errors.Is(err, errors.ErrUnsupported) {
				return "", err
			}
		}
	}
	if opts.Private {
		if err := f.Chmod(0o600); err != nil && !errors.Is(err, errors.ErrUnsupported) {
			return "", err
		}
	}
	if err := settle(f, len(data), opts); err != nil {
		return "", err
	}
	if err := f.Close(); err != nil {
		return "", err
	}
	// Some network drives find out only now that there was no room.
	st, err := dir.Lstat(name)
	if err != nil {
		return "", err
	}
	return name, sizeIs(st, len(data))
}

// settle makes sure that f's data is where it should be.
func settle(f *os.File, size int, opts Options) error {
	if !opts.NoSync {
		if err := f.Sync(); err != nil {
			return err
		}
	}
	st, err := f.Stat()
	if err != nil {
		return err
	}
	return sizeIs(st, size)
}

func sizeIs(st fs.FileInfo, want int) error {
	if st.Size() != int64(want) {
		return fmt.Errorf("%d bytes were written but the file has %d", want, st.Size())
	}
	return nil
}

// overwrite writes data into the file that is there, which must still be old,
// keeping its old content aside until that is done.
func overwrite(dir *os.Root, base string, old fs.FileInfo, data []byte, opts Options) error {
	f, err := dir.OpenFile(base, os.O_RDWR|openFlags, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil {
		return err
	} else if !os.SameFile(st, old) {
		return errors.New("it was replaced by another program at the same time")
	}
	content, err := io.ReadAll(f)
	if err != nil {
		return err
	}
	backup, discard, err := putAside(dir, base, content, opts)
	if err != nil {
		return fmt.Errorf("its content could not be put aside first: %w", err)
	}
	if opts.Private {
		err = f.Chmod(0o600)
	}
	if err == nil || errors.Is(err, errors.ErrUnsupported) {
		err = fill(f, data, opts)
	}
	if err != nil {
		if back := fill(f, content, opts); back != nil {
			return fmt.Errorf("%w; what it held before is in %s, since it could not be put back: %w", err, backup, back)
		}
		discard()
		return err
	}
	discard()
	return f.Close()
}

// putAside writes content to a new private file, beside base if that may be,
// and returns where it is and how to remove it.
func putAside(dir *os.Root, base string, content []byte, opts Options) (at string, discard func(), err error) {
	name := base[:min(len(base), 100)] + "." + rand.Text()[:12] + ".backup"
	aside := func(d *os.Root) error {
		f, err := d.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		if _, err = f.Write(content); err == nil {
			err = settle(f, len(content), opts)
		}
		if cerr := f.Close(); err == nil {
			err = cerr
		}
		if err != nil {
			_ = d.Remove(name)
		}
		return err
	}
	first := aside(dir)
	if first == nil {
		return filepath.Join(dir.Name(), name), func() { _ = dir.Remove(name) }, nil
	}
	tmp, err := os.OpenRoot(os.TempDir())
	if err == nil {
		defer tmp.Close()
		err = aside(tmp)
	}
	if err != nil {
		return "", nil, errors.Join(first, err)
	}
	at = filepath.Join(tmp.Name(), name)
	return at, func() { _ = os.Remove(at) }, nil
}

// fill makes data the content of f.
func fill(f *os.File, data []byte, opts Options) error {
	if _, err := f.WriteAt(data, 0); err != nil {
		return err
	}
	if err := f.Truncate(int64(len(data))); err != nil {
		return err
	}
	return settle(f, len(data), opts)
}
