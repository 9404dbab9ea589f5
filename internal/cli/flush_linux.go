package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// flush drops what a terminal holds and nobody has read.
func flush(f *os.File) {
	_ = unix.IoctlSetInt(int(f.Fd()), unix.TCFLSH, unix.TCIFLUSH) // it stays then
}
