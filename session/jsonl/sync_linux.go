package jsonl

import (
	"os"
	"syscall"
)

// datasync puts the data and what is needed to find it on stable storage.
func datasync(f *os.File) error {
	for {
		if err := syscall.Fdatasync(int(f.Fd())); err != syscall.EINTR {
			return err
		}
	}
}
