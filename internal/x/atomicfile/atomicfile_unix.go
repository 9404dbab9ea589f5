//go:build unix

package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// openFlags make an open neither follow a link nor wait for a pipe's reader.
const openFlags = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

// keepOwner gives f the owner and group of old and reports whether it has them.
func keepOwner(f *os.File, old fs.FileInfo) bool {
	want, ok := old.Sys().(*syscall.Stat_t)
	if !ok {
		return false
	}
	if st, err := f.Stat(); err == nil {
		if have, ok := st.Sys().(*syscall.Stat_t); ok && have.Uid == want.Uid && have.Gid == want.Gid {
			return true
		}
	}
	if f.Chown(int(want.Uid), int(want.Gid)) == nil {
		return true
	}
	_ = f.Chown(-1, int(want.Gid)) // the group at least, where it is one of ours
	return false
}

// syncDir makes sure of a rename in dir. Not every file system can be asked.
func syncDir(dir *os.Root) error {
	d, err := dir.Open(".")
	if err != nil {
		if errors.Is(err, fs.ErrPermission) { // one may write to it but not read it
			return nil
		}
		return err
	}
	defer d.Close()
	err = d.Sync()
	for _, e := range []error{syscall.EINVAL, syscall.ENOTSUP, syscall.EBADF, syscall.ENOSYS} {
		if errors.Is(err, e) {
			return nil
		}
	}
	return err
}
