//go:build !unix

package app

import "os"

// makeTemp makes a temporary folder.
func makeTemp() (dir string, release func(), err error) {
	dir, err = os.MkdirTemp("", "cantle-commands-")
	return dir, func() {}, err
}
