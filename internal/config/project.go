package config

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
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

// ProjectDir is the folder whose settings hold in dir: the nearest that has some,
// from dir up to the root of the repository that it lies in; dir itself, if none
// has. Home is the user's own folder, which is no project's.
func ProjectDir(home, dir string) string { at, _ := projectDirs(home, dir); return at }

// projectDirs is ProjectDir, with the folders above that have settings too.
func projectDirs(home, dir string) (at string, above []string) {
	real := realPath(dir)
	var found []string
	for d := real; ; d = filepath.Dir(d) {
		if hasSettings(home, d) {
			found = append(found, d)
		}
		if _, err := os.Lstat(filepath.Join(d, ".git")); err == nil {
			break
		}
		if d == filepath.Dir(d) { // no repository: what is above is nothing of this
			found = slices.DeleteFunc(found, func(f string) bool { return f != real })
			break
		}
	}
	if len(found) == 0 {
		return dir, nil
	}
	if found[0] == real {
		return dir, found[1:]
	}
	return found[0], found[1:]
}

func hasSettings(home, dir string) bool {
	folder := filepath.Join(dir, ".cantle")
	if _, err := os.Lstat(folder); err != nil || sameFolder(home, folder) {
		return false
	}
	return slices.ContainsFunc([]string{"settings.json", "settings.local.json"}, func(name string) bool {
		_, err := os.Lstat(filepath.Join(folder, name))
		return err == nil
	})
}
