// Package sandboxtest holds the behaviour that every runner of package sandbox
// owes, as tests. They need a POSIX shell and are there on Unix alone.
//
//	func TestLocal(t *testing.T) {
//		sandboxtest.TestRunner(t, func(t *testing.T) sandbox.Runner {
//			return sandbox.Local(sandbox.LocalOptions{})
//		})
//	}
package sandboxtest
