package builtin

import (
	"errors"
	"io/fs"
)

// FS is a file system as the tools need it, so that a container, another
// machine or an editor with unsaved buffers can stand in for the local one.
// All names are absolute and cleaned. Errors should match [fs.ErrNotExist] and
// its kin. An FS must be safe for concurrent use.
type FS interface {
	// Open opens a file or a directory for reading, without blocking: what is
	// not a regular file, such as a pipe with no writer, opens and says so in
	// its Stat, or fails. It does not follow symbolic links: if name leads
	// through one, the error is [ErrMoved].
	//
	// If the file is also an [io.Seeker], long files are read faster.
	Open(name string) (fs.File, error)
	// Stat follows symbolic links; Lstat does not.
	Stat(name string) (fs.FileInfo, error)
	Lstat(name string) (fs.FileInfo, error)
	// ReadDir lists a directory, sorted by name.
	ReadDir(name string) ([]fs.DirEntry, error)
	// WriteFile replaces the content of name, or makes it, so that a reader
	// sees the old content or the new and never a part. An existing file keeps
	// its mode, and its owner where that is allowed; a new one gets perm less
	// the umask. As with Open, name must not lead through a symbolic link.
	WriteFile(name string, data []byte, perm fs.FileMode) error
	// MkdirAll makes a directory and its parents.
	MkdirAll(name string, perm fs.FileMode) error
	// Remove removes a file or an empty directory.
	Remove(name string) error
	// EvalSymlinks resolves the symbolic links of name, which must exist.
	EvalSymlinks(name string) (string, error)
}

// ErrMoved means that a path has come to lead through a symbolic link since it
// was resolved. Nothing was read or written.
var ErrMoved = errors.New("the path leads through a symbolic link that was not there when the call was decided on")

// LocalFS returns the local file system.
func LocalFS() FS { return localFS{} }
