// Package gitindex says which files git tracks, without running git.
//
//	tracked, err := gitindex.Tracked("/home/u/project/.env", "/home/u/project/secrets")
//	if err != nil {
//		return err // the index cannot be read, and nothing is known
//	}
//	fmt.Println(tracked) // [false true]
//
// The format is that of git-index, versions 2 to 4.
package gitindex

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// maxBytes bounds an index: it is that of some two million files.
const maxBytes = 256 << 20

// errForm means that an index is not as it should be, or has a form that is not
// read here.
var errForm = errors.New("gitindex: it cannot be read as an index of git")

// Tracked reports for each of some absolute paths whether it is a file that git
// tracks, or a directory in which such files are. A path in no repository is
// none.
func Tracked(paths ...string) ([]bool, error) {
	out := make([]bool, len(paths))
	type query struct{ at []int } // of paths
	byRoot := map[string]*query{}
	for i, p := range paths {
		if root := rootOf(filepath.Dir(filepath.Clean(p))); root != "" {
			if byRoot[root] == nil {
				byRoot[root] = &query{}
			}
			byRoot[root].at = append(byRoot[root].at, i)
		}
	}
	for root, q := range byRoot {
		b, err := index(root)
		if errors.Is(err, fs.ErrNotExist) {
			continue // nothing was ever added
		}
		if err != nil {
			return nil, err
		}
		names := make([]string, len(q.at))
		for j, i := range q.at {
			rel, err := filepath.Rel(root, filepath.Clean(paths[i]))
			if err != nil {
				return nil, err
			}
			names[j] = filepath.ToSlash(rel)
		}
		err = entries(b, hashSize(root), func(name []byte) {
			for j, want := range names {
				if holds(want, name) {
					out[q.at[j]] = true
				}
			}
		})
		if err != nil {
			return nil, fmt.Errorf("%w: %s", err, root)
		}
	}
	return out, nil
}

// holds reports whether an entry is the path that is asked for, or in it, or
// a directory of a sparse index that it is in.
func holds(want string, name []byte) bool {
	switch n := len(want); {
	case len(name) == n:
		return string(name) == want
	case len(name) > n:
		return string(name[:n]) == want && name[n] == '/'
	}
	return bytes.HasSuffix(name, []byte("/")) && strings.HasPrefix(want, string(name))
}

// rootOf is the working tree that a directory is in; "" is none.
func rootOf(dir string) string {
	for {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
		dir = filepath.Dir(dir)
	}
}

// folder is the folder of the repository whose working tree is at root.
func folder(root string) (string, error) {
	dot := filepath.Join(root, ".git")
	fi, err := os.Stat(dot)
	if err != nil || fi.IsDir() {
		return dot, err
	}
	b, err := read(dot, 1<<12)
	if err != nil {
		return "", err
	}
	to, ok := strings.CutPrefix(strings.TrimSpace(string(b)), "gitdir:")
	if !ok {
		return "", errForm
	}
	if to = strings.TrimSpace(to); !filepath.IsAbs(to) {
		to = filepath.Join(root, to)
	}
	return to, nil
}

func index(root string) ([]byte, error) {
	dir, err := folder(root)
	if err != nil {
		return nil, err
	}
	return read(filepath.Join(dir, "index"), maxBytes)
}

// read reads a regular file that is no longer than it may be.
func read(name string, most int64) ([]byte, error) {
	fi, err := os.Stat(name)
	switch {
	case err != nil:
		return nil, err
	case !fi.Mode().IsRegular() || fi.Size() > most:
		return nil, errForm
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, most))
}

// hashSize is the length of the names of objects in a repository.
func hashSize(root string) int {
	if dir, err := folder(root); err == nil {
		if common, err := read(filepath.Join(dir, "commondir"), 1<<12); err == nil {
			to := strings.TrimSpace(string(common))
			if dir = filepath.Join(dir, to); filepath.IsAbs(to) {
				dir = to
			}
		}
		if b, err := read(filepath.Join(dir, "config"), 1<<20); err == nil && bytes.Contains(bytes.ToLower(b), []byte("sha256")) {
			return 32
		}
	}
	return 20
}

// entries gives the name of each entry of an index.
func entries(b []byte, hash int, each func(name []byte)) error {
	if len(b) < 12+hash || string(b[:4]) != "DIRC" {
		return errForm
	}
	version, n := binary.BigEndian.Uint32(b[4:]), binary.BigEndian.Uint32(b[8:])
	if version < 2 || version > 4 {
		return errForm
	}
	b = b[12 : len(b)-hash]
	var last []byte
	for range n {
		head := 40 + hash + 2 // what stat said, the object, the flags
		if len(b) < head {
			return errForm
		}
		flags := binary.BigEndian.Uint16(b[head-2:])
		if flags&0x4000 != 0 {
			head += 2
		}
		if len(b) < head {
			return errForm
		}
		rest := b[head:]
		if version == 4 {
			strip, used := offset(rest)
			if used == 0 || strip > len(last) {
				return errForm
			}
			rest = rest[used:]
			end := bytes.IndexByte(rest, 0)
			if end < 0 {
				return errForm
			}
			last = append(last[:len(last)-strip:len(last)-strip], rest[:end]...)
			each(last)
			b = rest[end+1:]
			continue
		}
		end := bytes.IndexByte(rest, 0)
		if end < 0 {
			return errForm
		}
		each(rest[:end])
		size := (head + end + 8) &^ 7 // one to eight zeros end it
		if size > len(b) {
			return errForm
		}
		b = b[size:]
	}
	for len(b) >= 8 { // extensions
		if string(b[:4]) == "link" {
			return errForm // the rest of the entries is elsewhere
		}
		size := binary.BigEndian.Uint32(b[4:])
		if uint64(size) > uint64(len(b)-8) {
			return errForm
		}
		b = b[8+size:]
	}
	return nil
}

// offset reads a number as packs of git have it; used is 0 if it is none.
func offset(b []byte) (n, used int) {
	for i, c := range b {
		if i > 4 {
			return 0, 0
		}
		n |= int(c & 0x7f)
		if c&0x80 == 0 {
			return n, i + 1
		}
		n = (n + 1) << 7
	}
	return 0, 0
}
