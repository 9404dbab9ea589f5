// Package place finds out which places a policy is about, for runners that hold
// it by mounts.
package place

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cantle-dev/cantle/sandbox"
)

// Anchors are the directories between protected paths and their roots. Each must
// be a mount of its own, since a mount cannot be moved away.
func Anchors(roots, paths []string) []string {
	var out []string
	done := map[string]bool{}
	for _, path := range paths {
		for _, target := range Targets(path, roots) {
			for _, root := range roots {
				rest, ok := strings.CutPrefix(target, strings.TrimSuffix(root, "/")+"/")
				if !ok {
					continue
				}
				names := strings.Split(rest, "/")
				for i := range names[:len(names)-1] {
					dir := filepath.Join(root, filepath.Join(names[:i+1]...))
					if !done[dir] {
						done[dir] = true
						out = append(out, dir)
					}
				}
			}
		}
	}
	return out
}

// Targets are what must be protected for path: what it leads to, and, if it is
// a link itself, the directory that it is in, or else it could be replaced.
func Targets(path string, roots []string) []string {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil
	}
	out := []string{real}
	if fi, err := os.Lstat(path); err == nil && fi.Mode()&fs.ModeSymlink != 0 {
		if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil && !slices.Contains(roots, dir) && dir != "/" {
			out = append(out, dir)
		}
	}
	return out
}

// Resolve follows links, and leaves out what is not there.
func Resolve(paths []string) []string {
	out := []string{}
	for _, p := range paths {
		if real, err := filepath.EvalSymlinks(p); err == nil && !slices.Contains(out, real) {
			out = append(out, real)
		}
	}
	// A root within another comes after it, or it would be covered.
	slices.SortFunc(out, func(a, b string) int { return len(a) - len(b) })
	return out
}

// Under reports whether path is dir or below it.
func Under(path, dir string) bool {
	return path == dir || dir == "/" || strings.HasPrefix(path, dir+"/")
}

// InAny reports whether path is one of dirs or below one.
func InAny(path string, dirs []string) bool {
	return slices.ContainsFunc(dirs, func(d string) bool { return Under(path, d) })
}

// Key tells views of files apart: by what they are made of, and by which files
// those are, since a mount stays on the one that it was made on when another
// takes its name.
func Key(args []string, p sandbox.Policy) string {
	var b strings.Builder
	for _, list := range [][]string{args, p.Domains} {
		for _, s := range list {
			b.WriteString(s)
			b.WriteByte(0)
		}
		b.WriteByte(0)
	}
	for _, list := range [][]string{p.WriteRoots, p.ReadOnly, p.Hide, {p.Temp}} {
		for _, path := range list {
			if fi, err := os.Stat(path); err == nil {
				b.WriteString(identity(fi))
			}
			b.WriteByte(0)
		}
	}
	return b.String()
}
