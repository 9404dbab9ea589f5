//go:build unix

package place

import (
	"fmt"
	"io/fs"
	"syscall"
)

func identity(fi fs.FileInfo) string {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return fmt.Sprint(st.Dev, ":", st.Ino)
	}
	return ""
}
