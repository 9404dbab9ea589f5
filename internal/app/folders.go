package app

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cantle-dev/cantle/internal/x/gitindex"
	"github.com/cantle-dev/cantle/internal/x/owntemp"
	"github.com/cantle-dev/cantle/sandbox"
)

// realPath is a path without links, also of one that is not there yet, of which
// the folders that are there have none.
func realPath(path string) string {
	rest := ""
	for at := filepath.Clean(path); ; at = filepath.Dir(at) {
		if real, err := filepath.EvalSymlinks(at); err == nil {
			return filepath.Join(real, rest)
		}
		if at == filepath.Dir(at) {
			return filepath.Clean(path)
		}
		rest = filepath.Join(filepath.Base(at), rest)
	}
}

// inside reports whether a path is a directory or lies in it.
func inside(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsAbs(path) && filepath.IsLocal(rel)
}

func insideAny(dirs []string, path string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool { return inside(dir, path) })
}

// outermost are the folders that lie in no other of them. One that does may be
// written anyway, and a command could put a link in its place, which the next
// would have for a folder to write in.
func outermost(dirs []string) []string {
	var out []string
	for i, d := range dirs {
		within := func(other string) bool { return other != d && inside(other, d) }
		if !slices.Contains(dirs[:i], d) && !slices.ContainsFunc(dirs, within) {
			out = append(out, d)
		}
	}
	return out
}

// folders makes the folders of the commands' own, and has commands use them.
func (b *box) folders() (err error) {
	if b.temp, b.release, err = b.makeTemp(); err != nil {
		return err
	}
	own := false // it may be written anyway, and nothing is made there, where a link could come in between
	switch {
	case !filepath.IsAbs(b.cache) || linkIn(b.dirs, b.cache) != "":
		b.cache = b.temp // what is kept is lost with the session
	case insideAny(b.dirs, realPath(b.cache)):
		own = true
	case os.MkdirAll(b.cache, 0o700) != nil:
		b.cache = b.temp
	default:
		b.cache = realPath(b.cache)
	}
	b.confine.Policy.Temp = b.temp
	b.confine.Policy.WriteRoots = b.dirs
	if !own && b.cache != "" {
		b.confine.Policy.WriteRoots = append(slices.Clip(b.dirs), b.cache)
	}
	b.confine.Env = map[string]string{}
	if b.temp != "" {
		for _, name := range []string{"TMPDIR", "TEMP", "TMP"} {
			b.confine.Env[name] = b.temp
		}
	}
	if b.cache != "" {
		for name, dir := range map[string]string{"XDG_CACHE_HOME": b.cache, "GOCACHE": filepath.Join(b.cache, "go-build")} {
			// A cache in which the user lets commands write stays where it is.
			if dir == b.temp || !insideAny(b.dirs, b.value(name)) {
				b.confine.Env[name] = dir
			}
		}
	}
	return nil
}

// makeTemp makes the temporary folder of commands: where temporary files are
// made, unless that cannot be, or commands may write there: they could put
// something else in its place. Where they may write in all such places, they have
// none of their own.
func (b *box) makeTemp() (dir string, release func(), err error) {
	var errs []error
	open := false
	for _, base := range []string{os.TempDir(), "/tmp", "/var/tmp"} {
		if !filepath.IsAbs(base) {
			errs = append(errs, fmt.Errorf("%s is not an absolute path", base))
			continue
		}
		base, err := filepath.EvalSymlinks(base)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if insideAny(b.dirs, base) {
			open = true
			continue
		}
		dir, release, err := owntemp.Make(base, "cantle-commands-", sandbox.RemoveTemp)
		if err == nil {
			return dir, release, nil
		}
		errs = append(errs, err)
	}
	if open {
		return "", func() {}, nil
	}
	return "", nil, errors.Join(errs...)
}

// keepOwn has the program's own folder be there if commands could make it: what
// is not there cannot be hidden from them.
func (b *box) keepOwn() error {
	if b.own == "" || !insideAny(b.dirs, realPath(b.own)) {
		return nil
	}
	if err := os.MkdirAll(b.own, 0o700); err != nil {
		return fmt.Errorf("sandbox: %s cannot be made, and commands could make it: %w", b.own, err)
	}
	return nil
}

// kept is what is hidden from commands at this moment, what of that they see all
// the same, and what they must not change. A file in the workspace that git
// tracks is not hidden: git would take it for deleted, and commit that.
func (b *box) kept() (hide, seen, readOnly []string) {
	all, readOnly := b.protect()
	var within []string
	for _, path := range all {
		if insideAny(b.dirs, path) {
			within = append(within, path)
		} else {
			hide = append(hide, path)
		}
	}
	tracked, err := gitindex.Tracked(within...)
	for i, path := range within {
		if err != nil || tracked[i] {
			seen = append(seen, path)
		} else {
			hide = append(hide, path)
		}
	}
	return hide, seen, readOnly
}

// exposed reports whether commands could get at what must be kept from them,
// although they are in a sandbox: it cannot hide what is in a folder that they
// may write, or that is found through a link there, which can be replaced.
func (b *box) exposed(i sandbox.Info) bool {
	if linkIn(b.dirs, b.own) != "" || !i.ReadOnly && insideAny(b.dirs, realPath(b.own)) {
		return true
	}
	hide, seen, _ := b.kept()
	if len(seen) > 0 {
		return true
	}
	return slices.ContainsFunc(append(hide, b.confine.Policy.Hide...), func(path string) bool {
		return insideAny(b.dirs, path) && (!i.ReadOnly || linkIn(b.dirs, path) != "") || !i.ReadOnly && insideAny(b.dirs, realPath(path))
	})
}

// linkIn is the link in one of the folders that a path leads through; "" is none.
// Commands may write there, and so may whoever sends a repository: what the link
// leads to is not what the user has named.
func linkIn(dirs []string, path string) string {
	if !filepath.IsAbs(path) {
		return ""
	}
	at := filepath.VolumeName(path) + string(filepath.Separator)
	for name := range strings.SplitSeq(filepath.Clean(path)[len(at):], string(filepath.Separator)) {
		next := filepath.Join(at, name)
		fi, err := os.Lstat(next)
		if err != nil {
			return ""
		}
		if fi.Mode()&os.ModeSymlink != 0 {
			if insideAny(dirs, next) {
				return next
			}
			next = realPath(next)
		}
		at = next
	}
	return ""
}
