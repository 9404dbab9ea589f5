//go:build !linux && !darwin

package cli

import "os"

// flush does nothing: what was typed ahead and not read stays here.
func flush(*os.File) {}
