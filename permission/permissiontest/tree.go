package permissiontest

import (
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/cantle-dev/cantle/permission"
)

// tree is a file system of which no more is known than what a case says.
type tree struct {
	links  map[string]string
	files  map[string]permission.FileID
	dirs   map[string]bool
	absent []string
}

func newTree(cwd, home string, s *Setup) *tree {
	t := &tree{links: s.Symlink, files: map[string]permission.FileID{}, dirs: map[string]bool{}, absent: s.Absent}
	above := func(p string) {
		for p = path.Dir(p); !t.dirs[p]; p = path.Dir(p) {
			t.dirs[p] = true
		}
	}
	above(cwd + "/x")
	above(home + "/x")
	for l, to := range s.Symlink {
		above(l)
		if path.IsAbs(to) {
			above(to)
		}
	}
	next := uint64(1)
	names := make([]string, 0, len(s.Hardlink))
	for n := range s.Hardlink {
		names = append(names, n)
	}
	slices.Sort(names)
	for _, n := range names {
		to := s.Hardlink[n]
		id, ok := t.files[to]
		if !ok {
			id = permission.FileID{Dev: 1, Inode: next, Links: 1}
			next++
		}
		id.Links++
		t.files[to], t.files[n] = id, id
		above(n)
		above(to)
	}
	return t
}

func (t *tree) Lstat(name string) (fs.FileInfo, error) {
	i := info{name: path.Base(name)}
	switch id, file := t.files[name]; {
	case slices.Contains(t.absent, name):
		return nil, &fs.PathError{Op: "lstat", Path: name, Err: fs.ErrNotExist}
	case t.links[name] != "":
		i.mode = fs.ModeSymlink
	case file:
		i.id = id
	case t.dirs[name]:
		i.mode = fs.ModeDir
	default:
		return nil, &fs.PathError{Op: "lstat", Path: name, Err: fs.ErrNotExist}
	}
	return i, nil
}

func (t *tree) Readlink(name string) (string, error) {
	if to := t.links[name]; to != "" {
		return to, nil
	}
	return "", &fs.PathError{Op: "readlink", Path: name, Err: fs.ErrInvalid}
}

func (t *tree) ReadDir(name string) ([]fs.DirEntry, error) {
	name = path.Clean(name)
	if !t.dirs[name] {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: fs.ErrNotExist}
	}
	in := map[string]bool{}
	add := func(p string) {
		if path.Dir(p) == name && p != "/" {
			in[p] = true
		}
	}
	for p := range t.links {
		add(p)
	}
	for p := range t.files {
		add(p)
	}
	for p := range t.dirs {
		add(p)
	}
	var out []fs.DirEntry
	for p := range in {
		if fi, err := t.Lstat(p); err == nil {
			out = append(out, fs.FileInfoToDirEntry(fi))
		}
	}
	slices.SortFunc(out, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return out, nil
}

type info struct {
	name string
	mode fs.FileMode
	id   permission.FileID
}

func (i info) Name() string       { return i.name }
func (i info) Size() int64        { return 0 }
func (i info) Mode() fs.FileMode  { return i.mode }
func (i info) ModTime() time.Time { return time.Time{} }
func (i info) IsDir() bool        { return i.mode.IsDir() }
func (i info) Sys() any           { return i.id }
