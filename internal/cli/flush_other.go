//go:build !linux && !darwin

package cli

import "os"

// flush does nothing: what was typed ahead and not read stays here.
func flush(*os.File) {}

// comes waits for nothing: here a read ends as the terminal is when it does.
func comes(*os.File) {}
