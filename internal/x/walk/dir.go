package walk

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// vcs is the folders that are never entered.
var vcs = map[string]bool{
	".git": true, ".hg": true, ".svn": true, ".bzr": true, ".jj": true, "_darcs": true, ".pijul": true, "CVS": true,
}

// pseudo is the trees that describe the machine and have no files of anyone.
var pseudo = map[string]bool{"/proc": true, "/sys": true, "/dev": true}

// read lists n and puts its directories up for reading.
func (w *walker) read(n *node) {
	defer close(n.done)
	list, more, err := w.list(n)
	if err != nil {
		n.err = err
		// What was removed meanwhile is no failure.
		if n.depth == 0 || !errors.Is(err, fs.ErrNotExist) {
			w.failed(err)
		}
		return
	}
	rules := w.enter(n, list)
	var ignored, special int
	var skipped []string
	n.entries = make([]entry, 0, len(list))
	for _, d := range list {
		name, typ := d.Name(), d.Type()
		isDir := typ.IsDir()
		switch {
		case name == ".git", isDir && vcs[name]:
			continue
		case isDir, typ.IsRegular():
		case typ&fs.ModeSymlink != 0:
			if !w.o.Links {
				continue
			}
		default:
			special++
			continue
		}
		full := n.path + name
		if out, byList := rules.ignores(full, name, isDir); out {
			if byList {
				skipped = append(skipped, name)
			} else {
				ignored++
			}
			continue
		}
		e := entry{path: full, name: name, link: typ&fs.ModeSymlink != 0}
		if isDir {
			if pseudo[w.abs(full)] {
				special++
				continue
			}
			if n.depth+1 >= w.o.Depth {
				if w.o.Depth == MaxDepth {
					more = true
				}
				continue
			}
			if w.o.Enter != nil && !w.o.Enter(full[len(w.prefix):]) {
				continue
			}
			e.dir = &node{path: full + "/", depth: n.depth + 1, rules: rules, done: make(chan struct{})}
		}
		n.entries = append(n.entries, e)
	}
	slices.SortFunc(n.entries, func(a, b entry) int { return strings.Compare(a.name, b.name) })

	w.mu.Lock()
	s := &w.stats
	s.Dirs++
	s.Ignored += ignored
	s.Special += special
	s.Truncated = s.Truncated || more
	for _, name := range skipped {
		if s.Skipped == nil {
			s.Skipped = map[string]int{}
		}
		s.Skipped[name]++
	}
	w.ahead += len(n.entries)
	for i := len(n.entries) - 1; i >= 0; i-- {
		if d := n.entries[i].dir; d != nil {
			w.todo = append(w.todo, d)
		}
	}
	w.mu.Unlock()
	w.wake.Broadcast()
}

func (w *walker) list(n *node) (list []fs.DirEntry, more bool, err error) {
	name := w.abs(strings.TrimSuffix(n.path, "/"))
	if w.o.FS == nil {
		return readDir(name, n.depth == 0)
	}
	list, err = w.fs.ReadDir(name)
	if len(list) > MaxEntries {
		list, more = list[:MaxEntries], true
	}
	return list, more, err
}

// abs is the absolute path of a path from the top of the rules.
func (w *walker) abs(full string) string {
	if len(full)+1 == len(w.prefix) || full == "" {
		if w.dir == "" {
			return "/"
		}
		return w.dir
	}
	return w.dir + "/" + full[len(w.prefix):]
}

func (w *walker) failed(err error) {
	w.count(func(s *Stats) {
		s.Unreadable++
		if len(s.Errors) < maxErrors {
			s.Errors = append(s.Errors, err)
		}
	})
}

func (w *walker) warn(text string) {
	w.count(func(s *Stats) {
		if len(s.Warnings) < maxErrors {
			s.Warnings = append(s.Warnings, text)
		}
	})
}

// above lists dir and the directories above it, the nearest first.
func above(dir string) []string {
	list := []string{dir}
	for {
		up := path.Dir(dir)
		if up == dir {
			return list
		}
		list = append(list, up)
		dir = up
	}
}
