package cli

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// flush drops what a terminal holds and nobody has read.
func flush(f *os.File) {
	_ = unix.IoctlSetInt(int(f.Fd()), unix.TCFLSH, unix.TCIFLUSH) // it stays then
}

// comes waits until a terminal has something to read. A read that began while keys
// were taken one by one would swallow the end of input that is typed when lines are.
func comes(f *os.File) {
	for {
		_, err := unix.Poll([]unix.PollFd{{Fd: int32(f.Fd()), Events: unix.POLLIN}}, -1)
		if !errors.Is(err, unix.EINTR) {
			return // what is wrong with it, the read says
		}
	}
}
