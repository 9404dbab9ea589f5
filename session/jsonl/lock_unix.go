//go:build unix

package jsonl

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// flock takes the advisory lock of f, or reports that another has it. The
// kernel frees it when the process ends, however it ends.
func flock(f *os.File) (held bool, err error) {
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return true, nil
	}
	return false, err
}

// noLocks reports whether err means that the file system has no locks, as
// some that are on a network have not.
func noLocks(err error) bool {
	return errors.Is(err, syscall.ENOLCK) || errors.Is(err, syscall.ENOTSUP) || errors.Is(err, syscall.EOPNOTSUPP) || errors.Is(err, syscall.ENOSYS)
}

// ended reports whether there is no such process, or one that only waits to be
// told of to its parent.
func ended(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return true
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)) // there only on Linux
	i := bytes.LastIndexByte(stat, ')')                         // the name before it may have anything in it
	return err == nil && bytes.HasPrefix(stat[i+1:], []byte(" Z"))
}

// nameless reports whether an open file has no name left in any directory.
func nameless(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && st.Nlink == 0
}

const (
	noFollow         = syscall.O_NOFOLLOW
	removeAfterClose = false
)
