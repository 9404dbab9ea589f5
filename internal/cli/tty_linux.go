package cli

import (
	"os"
	"syscall"
	"unsafe"
)

// isTerminal reports whether f answers to a terminal's request.
func isTerminal(f *os.File) bool {
	var t syscall.Termios
	_, _, e := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), syscall.TCGETS, uintptr(unsafe.Pointer(&t)))
	return e == 0
}
