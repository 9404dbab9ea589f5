package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// flush drops what a terminal holds and nobody has read.
func flush(f *os.File) {
	_ = unix.IoctlSetPointerInt(int(f.Fd()), unix.TIOCFLUSH, 1) // 1: of the input; it stays if that fails
}

// comes waits for nothing: here a read ends as the terminal is when it does.
func comes(*os.File) {}
