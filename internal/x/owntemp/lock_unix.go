//go:build unix

package owntemp

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// sweep removes what nobody holds.
func sweep(base, prefix string, remove func(string) error) {
	entries, err := os.ReadDir(base)
	if err != nil {
		return // nothing can be made there either
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), prefix) {
			continue
		}
		left := filepath.Join(base, e.Name())
		if release, err := hold(left); err == nil {
			_ = remove(left) // what cannot be removed is tried again by the next
			release()
		}
	}
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
