//go:build !unix

package atomicfile

import (
	"io/fs"
	"os"
)

const openFlags = 0

// keepOwner reports that there is no owner to lose: the directory gives it.
func keepOwner(*os.File, fs.FileInfo) bool { return true }

// syncDir does nothing: a directory cannot be asked.
func syncDir(*os.Root) error { return nil }
