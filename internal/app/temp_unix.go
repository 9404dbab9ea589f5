//go:build unix

package app

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/cantle-dev/cantle/sandbox"
)

// tempName is how the temporary folders of commands are called.
const tempName = "cantle-commands-"

// tempBases are where temporary files are made if not where they usually are.
var tempBases = []string{"/tmp", "/var/tmp"}

// makeTemp makes a temporary folder in base, which has no links, and removes
// those that a program that was killed has left: a lock on the folder says that
// someone is there, also from another container.
func makeTemp(base string) (dir string, release func(), err error) {
	entries, err := os.ReadDir(base)
	if err != nil {
		return "", nil, err
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), tempName) {
			continue
		}
		left := filepath.Join(base, e.Name())
		if release, err := hold(left); err == nil {
			_ = sandbox.RemoveTemp(left) // what cannot be removed is tried again by the next
			release()
		}
	}
	for range 100 {
		if dir, err = os.MkdirTemp(base, tempName); err != nil {
			return "", nil, err
		}
		if release, err = hold(dir); err == nil {
			return dir, release, nil
		}
		// Another program has taken it for one that was left.
	}
	return "", nil, err
}

// hold locks a folder of this user until it is released, or this program ends.
// It does not wait, follows no link, and knows whether the folder that it has
// locked is still there.
func hold(dir string) (release func(), err error) {
	fd, err := syscall.Open(dir, syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	release = func() { _ = syscall.Close(fd) }
	if err := syscall.Flock(fd, syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		release()
		return nil, err
	}
	var held, now syscall.Stat_t
	if err := errors.Join(syscall.Fstat(fd, &held), syscall.Lstat(dir, &now)); err != nil {
		release()
		return nil, err
	}
	if held.Dev != now.Dev || held.Ino != now.Ino || int(held.Uid) != os.Geteuid() {
		release()
		return nil, fmt.Errorf("%s is another's: %w", dir, os.ErrPermission)
	}
	return release, nil
}
