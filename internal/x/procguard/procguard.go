// Package procguard keeps the environment that a process was started with,
// and its memory, from other processes of the same user: keys are in both, and
// the commands that an agent runs belong to its user.
//
//	func main() {
//		if err := procguard.Hide(); err != nil {
//			log.Print(err) // it goes on as any other program
//		}
//		// os.Getenv works as before.
//	}
package procguard

// Hide makes the environment block empty that the system shows of the process,
// as in /proc/<pid>/environ, also to root, and denies all but root to trace
// the process or to read its memory; nor are core files written. The process
// itself keeps its environment, and programs that it starts are as they always
// are.
//
// It is called once, first of all, before there are other goroutines. What it
// cannot do it says as an error, which wraps [errors.ErrUnsupported] on systems
// other than Linux. It does not hide what the parent of the process shows of
// the same environment, and root can still read the memory: only a sandbox
// keeps a command from these.
func Hide() error { return hide() }
