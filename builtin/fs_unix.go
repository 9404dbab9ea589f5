//go:build unix

package builtin

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// openFlags make an open neither wait for a pipe's writer nor follow a link.
const openFlags = syscall.O_NONBLOCK | syscall.O_NOFOLLOW | syscall.O_NOCTTY

// isLoop reports whether an open failed because it met a symbolic link.
func isLoop(err error) bool { return errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.EMLINK) }

// cannotReplace reports whether err says that a file cannot be renamed into
// place, though it might be written to.
func cannotReplace(err error) bool {
	for _, e := range []error{syscall.EBUSY, syscall.EXDEV, syscall.EACCES, syscall.EPERM, syscall.EROFS} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// keepOwner gives f the owner and group of old and reports whether it has them.
func keepOwner(f *os.File, old fs.FileInfo) bool {
	want, ok := old.Sys().(*syscall.Stat_t)
	if !ok {
		return false
	}
	st, err := f.Stat()
	if err != nil {
		return false
	}
	if have, ok := st.Sys().(*syscall.Stat_t); ok && have.Uid == want.Uid && have.Gid == want.Gid {
		return true
	}
	if f.Chown(int(want.Uid), int(want.Gid)) == nil {
		return true
	}
	_ = f.Chown(-1, int(want.Gid)) // the group at least, where it is one of ours
	return false
}

// links is how many names the file has.
func links(fi fs.FileInfo) int {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return int(st.Nlink)
	}
	return 1
}
