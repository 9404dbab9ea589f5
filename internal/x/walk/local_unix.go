//go:build unix

package walk

import "syscall"

const (
	openFlags = syscall.O_NONBLOCK | syscall.O_NOCTTY // never wait for a pipe's writer
	dirFlags  = syscall.O_DIRECTORY | syscall.O_NOFOLLOW
)
