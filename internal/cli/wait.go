package cli

import "time"

// arrives waits a moment for the first byte of an input that may never come.
func arrives(first <-chan error) bool {
	select {
	case err := <-first:
		return err == nil
	case <-time.After(300 * time.Millisecond):
		return false
	}
}
