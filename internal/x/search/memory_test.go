package search_test

import (
	"io"
	"io/fs"
	"os"
	"runtime"
	"testing"

	"github.com/cantle-dev/cantle/internal/x/search"
	"github.com/cantle-dev/cantle/internal/x/walk"
)

// bigFS has one file, of size bytes, that is made as it is read.
type bigFS struct {
	plain
	size int64
}

type bigFile struct {
	fs.FileInfo
	left int64
	last string
}

func (b bigFS) Stat(name string) (fs.FileInfo, error) { return bigFile{}, nil }
func (b bigFS) Open(name string) (fs.File, error) {
	return &bigFile{left: b.size, last: "needle 7\n"}, nil
}
func (b bigFile) IsDir() bool                 { return false }
func (b bigFile) Mode() fs.FileMode           { return 0o644 }
func (b *bigFile) Stat() (fs.FileInfo, error) { return *b, nil }
func (b *bigFile) Close() error               { return nil }
func (b *bigFile) Read(p []byte) (int, error) {
	const line = "what a long file of many lines\n"
	if b.left <= 0 {
		n := copy(p, b.last)
		b.last = b.last[n:]
		if n == 0 {
			return 0, io.EOF
		}
		return n, nil
	}
	n := 0
	for n+len(line) <= len(p) && b.left > 0 {
		n += copy(p[n:], line)
		b.left -= int64(len(line))
	}
	if n == 0 {
		n = copy(p, line[:len(line)-1]) // a line of its own length
		b.left -= int64(n)
	}
	return n, nil
}

// TestMemory searches a file far larger than what it may take.
func TestMemory(t *testing.T) {
	size := int64(100 << 20)
	if os.Getenv("CANTLE_SOAK") != "" {
		size = 5 << 30
	}
	for _, expr := range []string{"needle", "[a-z]+ [0-9]$", "what.*long"} {
		p := compile(t, expr, search.Flags{})
		o := search.Options{Walk: walk.Options{FS: bigFS{size: size}}, Before: 2}
		var from, to runtime.MemStats
		runtime.ReadMemStats(&from)
		files, _ := find(t, "/big", p, o)
		runtime.ReadMemStats(&to)
		if used := to.TotalAlloc - from.TotalAlloc; used > 8<<20 {
			t.Errorf("%s: %d bytes allocated for a file of %d", expr, used, size)
		}
		if len(files) != 1 || expr != "what.*long" && files[0].Hits != 1 {
			t.Errorf("%s: %+v", expr, files)
		}
	}
}
