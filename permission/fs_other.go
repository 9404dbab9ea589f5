//go:build !unix

package permission

import "io/fs"

func localID(fs.FileInfo) (FileID, bool) { return FileID{}, false }
