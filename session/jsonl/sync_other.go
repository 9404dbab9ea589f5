//go:build !linux

package jsonl

import "os"

func datasync(f *os.File) error { return f.Sync() }
