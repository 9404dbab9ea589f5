//go:build !linux || !(amd64 || arm64)

package confine

import "errors"

// ABI is the version of Landlock that the kernel has; 0 is none.
func ABI() int { return 0 }

// CanFilter reports whether there is a filter of system calls for this machine.
func CanFilter() bool { return false }

// Apply fails: this is for Linux on amd64 and arm64 alone.
func Apply(Spec) error {
	return errors.New("this system, or this kind of a machine, has neither Landlock nor seccomp")
}
