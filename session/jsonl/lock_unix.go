//go:build unix

package jsonl

import (
	"errors"
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

const (
	noFollow         = syscall.O_NOFOLLOW
	removeAfterClose = false
)
