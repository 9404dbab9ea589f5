// Package owntemp makes temporary folders that do not outlive their program for
// long: the next one removes those of programs that were killed.
package owntemp

import "os"

// Make makes a temporary folder in base, an absolute path without links, whose
// name begins with prefix, and which nobody else may look into. It first removes
// those that programs have left that were killed: a lock on a folder says that
// someone is there, also from another container. Whoever is done with the folder
// removes it and then calls release.
//
// Without such locks, as on Windows, what was left stays.
func Make(base, prefix string, remove func(dir string) error) (dir string, release func(), err error) {
	sweep(base, prefix, remove)
	for range 100 {
		if dir, err = os.MkdirTemp(base, prefix); err != nil {
			return "", nil, err
		}
		if release, err = hold(dir); err == nil {
			return dir, release, nil
		}
		// Another program has taken it for one that was left.
	}
	return "", nil, err
}
