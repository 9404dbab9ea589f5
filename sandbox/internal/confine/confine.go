// Package confine puts a thread, and with it all that it will start, under
// Landlock, a seccomp filter and fewer capabilities. It is for a supervisor
// that is about to start a command:
//
//	runtime.LockOSThread() // and never unlock: the thread is confined for good
//	if err := confine.Apply(spec); err != nil {
//		return err
//	}
//	pid, err := syscall.ForkExec(…)
//
// Landlock is described in the kernel's userspace-api/landlock.
package confine

// Spec is what a thread is confined to. Paths are absolute.
type Spec struct {
	// Landlock confines files. Without it, Write and Hide are not looked at.
	Landlock bool `json:"landlock,omitempty"`
	// Write are directories in which everything may be written; one that is
	// not there is left out. Nil with Landlock is nowhere.
	Write []string `json:"write,omitempty"`
	// Hide are files and directories that cannot be read. None may be in a
	// directory of Write.
	Hide []string `json:"hide,omitempty"`
	// Scope keeps to what the thread will start the signals and the abstract Unix
	// sockets, where the kernel can ([ABIScope]). Landlock does so too.
	Scope bool `json:"scope,omitempty"`
	// NoNetwork lets no socket be made that reaches another machine or this one.
	NoNetwork bool `json:"noNetwork,omitempty"`
	// NoUnix lets no Unix socket be made that can be connected by its path.
	// Pairs of connected streams can be made all the same.
	NoUnix bool `json:"noUnix,omitempty"`
}

// MinABI is the version of Landlock from which on truncation is covered: with
// an earlier one every file outside could be emptied.
const MinABI = 3

// ABIUnix is the version from which on Landlock covers Unix sockets by their
// path, and ABIScope that from which on it covers signals.
const (
	ABIUnix  = 9
	ABIScope = 6
)
