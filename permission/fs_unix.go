//go:build unix

package permission

import (
	"io/fs"
	"syscall"
)

func localID(fi fs.FileInfo) (FileID, bool) {
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return FileID{}, false
	}
	// The fields differ in size from system to system.
	return FileID{Dev: uint64(st.Dev), Inode: st.Ino, Links: uint64(st.Nlink)}, true //nolint:unconvert // not on all
}
