//go:build !windows

package jsonl

import (
	"errors"
	"os"
	"syscall"
)

// syncDir puts the names in a directory on stable storage. Some file systems
// cannot, and need not.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		return nil
	}
	return err
}
