//go:build !unix

package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// noWait is nothing: files are not opened that would wait.
const noWait = 0

// tryLock makes a file that nobody else can make while it is open, nor remove.
// One that a process left which was killed can be removed.
func tryLock(dir string) (unlock func(), held bool, err error) {
	path := filepath.Join(dir, ".settings.lock")
	_ = os.Remove(path) // fails while another has it open
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrPermission) {
		if _, there := os.Lstat(path); there == nil {
			return nil, true, nil
		}
	}
	if err != nil {
		return nil, false, err
	}
	return func() {
		_ = f.Close()
		_ = os.Remove(path)
	}, false, nil
}
