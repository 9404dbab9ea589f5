//go:build unix

package app

import (
	"os"
	"path/filepath"
	"syscall"

	"github.com/cantle-dev/cantle/sandbox"
)

// tempName is how the temporary folders of commands are called.
const tempName = "cantle-commands-"

// makeTemp makes a temporary folder, and removes those that a program that was
// killed has left: a lock on the folder says that someone is there, also from
// another container.
func makeTemp() (dir string, release func(), err error) {
	left, err := filepath.Glob(filepath.Join(os.TempDir(), tempName+"*"))
	if err != nil {
		return "", nil, err
	}
	for _, dir := range left {
		if release, err := hold(dir); err == nil {
			_ = sandbox.RemoveTemp(dir) // what cannot be removed is not ours
			release()
		}
	}
	if dir, err = os.MkdirTemp("", tempName); err != nil {
		return "", nil, err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return "", nil, err
	}
	release, err = hold(dir)
	return dir, release, err
}

// hold locks a folder until it is released, or this program ends. It does not
// wait, and follows no link.
func hold(dir string) (release func(), err error) {
	fd, err := syscall.Open(dir, syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(fd, syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = syscall.Close(fd)
		return nil, err
	}
	return func() { _ = syscall.Close(fd) }, nil
}
