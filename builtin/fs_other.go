//go:build !unix

package builtin

import (
	"errors"
	"io/fs"
	"os"
)

const openFlags = 0

func isLoop(error) bool { return false }

func cannotReplace(err error) bool { return errors.Is(err, fs.ErrPermission) }

// keepOwner has nothing to do: there, a new file inherits its access list.
func keepOwner(*os.File, fs.FileInfo) bool { return true }

func links(fs.FileInfo) int { return 1 }
