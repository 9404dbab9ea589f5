//go:build !unix

package app

import "os"

// tempBases are where temporary files are made if not where they usually are.
var tempBases []string

// makeTemp makes a temporary folder in base.
func makeTemp(base string) (dir string, release func(), err error) {
	dir, err = os.MkdirTemp(base, "cantle-commands-")
	return dir, func() {}, err
}
