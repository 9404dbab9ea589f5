package main

import (
	"os"
	"syscall"
)

// peak is the most memory that a process had, in KiB.
func peak(p *os.ProcessState) int64 {
	if u, ok := p.SysUsage().(*syscall.Rusage); ok {
		return u.Maxrss
	}
	return 0
}
