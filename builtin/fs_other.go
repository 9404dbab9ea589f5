//go:build !unix

package builtin

import "io/fs"

const openFlags = 0

func isLoop(error) bool { return false }

func links(fs.FileInfo) int { return 1 }
