//go:build !unix

package walk

const openFlags, dirFlags = 0, 0
