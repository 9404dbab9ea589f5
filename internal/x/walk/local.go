package walk

import (
	"errors"
	"io"
	"io/fs"
	"os"
)

// local is the local file system.
type local struct{}

func (local) Open(name string) (fs.File, error) {
	return os.OpenFile(name, os.O_RDONLY|openFlags, 0)
}
func (local) Stat(name string) (fs.FileInfo, error)      { return os.Stat(name) }
func (local) Lstat(name string) (fs.FileInfo, error)     { return os.Lstat(name) }
func (local) ReadDir(name string) ([]fs.DirEntry, error) { return os.ReadDir(name) }

// readDir lists a directory of the local file system, in no order. A directory
// that has become a symbolic link since it was seen is not followed.
func readDir(name string, follow bool) (list []fs.DirEntry, more bool, err error) {
	flags := os.O_RDONLY | openFlags
	if !follow {
		flags |= dirFlags
	}
	f, err := os.OpenFile(name, flags, 0)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	for len(list) < MaxEntries {
		part, err := f.ReadDir(1024)
		if list == nil {
			list = part
		} else {
			list = append(list, part...)
		}
		if errors.Is(err, io.EOF) {
			return list, false, nil
		}
		if err != nil {
			return list, false, err
		}
	}
	return list, true, nil
}
