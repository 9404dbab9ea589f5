//go:build !unix

package place

import "io/fs"

func identity(fi fs.FileInfo) string { return fi.ModTime().String() }
