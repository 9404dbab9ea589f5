//go:build unix

package builtin

import (
	"errors"
	"io/fs"
	"syscall"
)

// openFlags make an open neither wait for a pipe's writer nor follow a link.
const openFlags = syscall.O_NONBLOCK | syscall.O_NOFOLLOW | syscall.O_NOCTTY

// isLoop reports whether an open failed because it met a symbolic link.
func isLoop(err error) bool { return errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.EMLINK) }

// links is how many names the file has.
func links(fi fs.FileInfo) int {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return int(st.Nlink)
	}
	return 1
}
