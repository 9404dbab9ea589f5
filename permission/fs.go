package permission

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// FS is the file system that calls would touch, by absolute paths. Decisions
// only look: no file is opened.
type FS interface {
	Lstat(name string) (fs.FileInfo, error)
	Readlink(name string) (string, error)
	ReadDir(name string) ([]fs.DirEntry, error)
}

type localFS struct{}

func (localFS) Lstat(name string) (fs.FileInfo, error)     { return os.Lstat(name) }
func (localFS) Readlink(name string) (string, error)       { return os.Readlink(name) }
func (localFS) ReadDir(name string) ([]fs.DirEntry, error) { return os.ReadDir(name) }

// FileID is what makes two names one file. A FileInfo whose Sys returns one is
// known by it; those of the local system are known without.
type FileID struct{ Dev, Inode, Links uint64 }

func idOf(fi fs.FileInfo) (FileID, bool) {
	if !fi.Mode().IsRegular() {
		return FileID{}, false
	}
	if id, ok := fi.Sys().(FileID); ok {
		return id, true
	}
	return localID(fi)
}

// maxLinks is how many links are followed, as on Linux.
const maxLinks = 40

// follow is where a path leads, link by link, as the system would go: "..",
// after a link, is above where the link leads. What does not exist is where its
// folder is. ok is false where the links have no end. If it goes through the root
// or the working directory of a process, process is set; with a dir, these are
// taken to be / and dir.
func follow(fsys FS, path, dir string) (real string, process, ok bool) {
	vol := filepath.VolumeName(path)
	sep := string(filepath.Separator)
	at := vol + sep
	rest := strings.Split(filepath.ToSlash(path[len(vol):]), "/")
	links := 0
	missing := false
	for len(rest) > 0 {
		name := rest[0]
		rest = rest[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			at = filepath.Dir(at)
			missing = false
			continue
		}
		next := filepath.Join(at, name)
		if missing {
			at = next
			continue
		}
		fi, err := fsys.Lstat(next)
		if err != nil {
			missing = true
			at = next
			continue
		}
		if fi.Mode()&fs.ModeSymlink == 0 && (runtime.GOOS != "windows" || fi.Mode()&fs.ModeIrregular == 0) {
			at = next
			continue
		}
		to, err := fsys.Readlink(next)
		if err != nil {
			at = next
			continue
		}
		if p, of := ofProcess(next, cmp.Or(dir, at)); of {
			if process = true; dir != "" {
				to = p
			}
		}
		if links++; links > maxLinks {
			return next, process, false
		}
		if filepath.IsAbs(to) {
			vol = filepath.VolumeName(to)
			at = vol + sep
			to = to[len(vol):]
		}
		rest = append(strings.Split(filepath.ToSlash(to), "/"), rest...)
	}
	return at, process, true
}

// ways are all paths that a path stands for: as it is written, cleaned, and
// where it leads. A rule that denies holds for any of them, one that allows
// must hold for all. why says that it cannot be known.
func ways(fsys FS, path, dir string) (out []string, why string) {
	add := func(p string) {
		for _, o := range out {
			if o == p {
				return
			}
		}
		out = append(out, p)
	}
	clean := filepath.Clean(path)
	add(clean)
	if p, ok := ofProcess(clean, dir); ok { // the process that the path is of may be another
		add(p)
	}
	raw := []string{path}
	if strings.Contains(path, "..") {
		raw = append(raw, clean)
	}
	for _, p := range append(raw, out[1:]...) {
		real, process, ok := follow(fsys, p, "")
		add(real)
		if process && ok && dir != "" {
			real, _, ok = follow(fsys, p, dir)
			add(real)
		}
		if !ok {
			why = "its symbolic links have no end"
		}
	}
	return out, why
}

// ofProcess is what a path through /proc leads to: the root or the working
// directory of a process, which is taken to be the one that is decided on.
func ofProcess(path, dir string) (string, bool) {
	names := strings.Split(filepath.ToSlash(path), "/")
	if len(names) < 4 || names[0] != "" || names[1] != "proc" {
		return "", false
	}
	rest := names[2:] // self, or a number
	if len(rest) >= 3 && rest[1] == "task" {
		rest = rest[2:]
	}
	if len(rest) < 2 {
		return "", false
	}
	switch rest[1] {
	case "root":
		return "/" + strings.Join(rest[2:], "/"), true
	case "cwd":
		if dir != "" {
			return filepath.Join(append([]string{dir}, rest[2:]...)...), true
		}
	}
	return "", false
}

// foldsCase reports whether names that differ in case are one file in dir.
func foldsCase(fsys FS, dir string) bool {
	if _, local := fsys.(localFS); !local {
		return false
	}
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		return true
	}
	base := filepath.Base(dir)
	swapped := strings.ToUpper(base)
	if swapped == base {
		swapped = strings.ToLower(base)
	}
	if swapped == base {
		return false
	}
	a, err := os.Stat(dir)
	if err != nil {
		return false
	}
	b, err := os.Stat(filepath.Join(filepath.Dir(dir), swapped))
	return err == nil && os.SameFile(a, b)
}
