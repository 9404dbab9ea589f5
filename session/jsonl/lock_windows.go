package jsonl

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
	"unsafe"
)

var lockFileEx = syscall.NewLazyDLL("kernel32.dll").NewProc("LockFileEx")

// flock takes the lock of f, or reports that another has it. The system frees
// it when the process ends.
func flock(f *os.File) (held bool, err error) {
	const exclusive, failNow = 2, 1
	const violation = syscall.Errno(33) // ERROR_LOCK_VIOLATION
	var o syscall.Overlapped
	o.OffsetHigh = 1 // beyond the text, which others may read
	r, _, e := lockFileEx.Call(f.Fd(), exclusive|failNow, 0, 1, 0, uintptr(unsafe.Pointer(&o)))
	if r != 0 {
		return false, nil
	}
	if errors.Is(e, violation) || errors.Is(e, syscall.ERROR_IO_PENDING) {
		return true, nil
	}
	return false, e
}

// noLocks reports whether err means that the file system has no locks.
func noLocks(err error) bool {
	const invalid, unsupported = syscall.Errno(1), syscall.Errno(50) // ERROR_INVALID_FUNCTION, ERROR_NOT_SUPPORTED
	return errors.Is(err, invalid) || errors.Is(err, unsupported)
}

// ended is for systems where a process shares its open files with what it
// starts. Here nothing inherits the lock.
func ended(int) bool { return false }

// nameless reports whether an open file has no name left: here it keeps it.
func nameless(fs.FileInfo) bool { return false }

const (
	noFollow         = 0 // links are looked for before
	removeAfterClose = true
)
