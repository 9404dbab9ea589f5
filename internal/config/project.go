package config

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"strings"
)

// ProjectFile is the file with the user's own settings for one project. It is
// as good as the user's settings.json, and goes over it.
func ProjectFile(home, dir string) string {
	return filepath.Join(projectHome(home, dir), "settings.json")
}

// projectHome is the user's folder for what is his own of a project.
func projectHome(home, dir string) string { return filepath.Join(home, "projects", ProjectID(dir)) }

// ProjectID is a name for a folder that no other has, fit for a file: of its
// own name what is readable, and a hash of its real path. A link to a folder
// has the name of that folder.
func ProjectID(root string) string {
	root = realPath(root)
	sum := sha256.Sum256([]byte(root))
	name := strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return -1
	}, filepath.Base(root))
	return name[:min(len(name), 40)] + "-" + hex.EncodeToString(sum[:8])
}

// realPath is a path without links, as far as there is something at it.
func realPath(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return filepath.Clean(path)
}
