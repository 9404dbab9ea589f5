package cli

import "time"

// moment is how long a pipe may say nothing where there is a prompt already. It
// is long enough for most commands to say something, and short enough for
// programs that leave a pipe open which they never write to.
const moment = 3 * time.Second

// arrives waits a moment for the first byte of an input, or its end, which may
// never come.
func arrives(first <-chan struct{}) bool {
	select {
	case <-first:
		return true
	case <-time.After(moment):
		return false
	}
}
