package sandbox

import (
	"io/fs"
	"os"
	"path/filepath"
)

// RemoveTemp removes a [Policy.Temp] with all that commands left in it, also
// directories that they made read-only. It follows no link, and what is not
// there is no error.
func RemoveTemp(dir string) error {
	err := os.RemoveAll(dir) // which follows none either
	if err == nil {
		return nil
	}
	root, ok := openDir(dir)
	if !ok {
		return err
	}
	defer root.Close()
	// A directory is made writable before it is read; what cannot be is told of
	// by the second try.
	_ = fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			_ = root.Chmod(path, 0o700)
		}
		return nil
	})
	return os.RemoveAll(dir)
}

// openDir opens a directory, and not what a link that has come in its place
// leads to.
func openDir(dir string) (*os.Root, bool) {
	seen, err := os.Lstat(dir)
	if err != nil || !seen.IsDir() {
		return nil, false
	}
	root, err := os.OpenRoot(filepath.Clean(dir))
	if err != nil {
		return nil, false
	}
	if now, err := root.Stat("."); err != nil || !os.SameFile(seen, now) {
		root.Close()
		return nil, false
	}
	return root, true
}
