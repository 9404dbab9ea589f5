//go:build unix

package config

import (
	"errors"
	"os"
	"syscall"
)

// noWait makes opening a pipe not wait for its writer.
const noWait = syscall.O_NONBLOCK

// tryLock takes the advisory lock of a folder itself, so that no file is left
// behind. It ends with the process, however that ends.
func tryLock(dir string) (unlock func(), held bool, err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, false, err
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	// Some file systems, on a network, have no locks, or none for folders: there
	// a file is still replaced as a whole.
	if errors.Is(err, syscall.EWOULDBLOCK) {
		_ = f.Close() // nothing was written
		return nil, true, nil
	}
	return func() { _ = f.Close() }, false, nil // which frees it
}
