package walk

import (
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cantle-dev/cantle/internal/x/gitignore"
)

// Skipped is the folders that are left out where no ignore file speaks: what
// package managers, interpreters and build tools leave behind. Names that are
// as often a source folder, such as "build", "bin" or "vendor", are not in it.
var Skipped = []string{
	".cache", ".eggs", ".gradle", ".mypy_cache", ".next", ".nox", ".nuxt", ".parcel-cache", ".pnpm-store",
	".pytest_cache", ".ruff_cache", ".svelte-kit", ".terraform", ".tox", ".turbo", ".venv", ".yarn",
	"__pycache__", "bower_components", "node_modules", "site-packages", "venv",
}

var skipList, _ = gitignore.Parse([]byte(strings.Join(Skipped, "/\n") + "/\n"))

// rules is what is ignored in a directory; nil stacks ignore nothing.
type rules struct {
	off   bool
	stack *gitignore.Stack
	skips bool // the skip list is at the bottom of the stack
}

// ignores says whether an entry is left out, and whether the skip list alone
// says so.
func (r *rules) ignores(full, name string, dir bool) (out, byList bool) {
	if r.off || r.stack == nil || r.stack.Match(full, dir) != gitignore.Ignore {
		return false, false
	}
	return true, r.skips && dir && slices.Contains(Skipped, name)
}

// start finds what holds at root and makes its node.
func (w *walker) start(root string) *node {
	w.dir = strings.TrimSuffix(filepath.ToSlash(root), "/")
	n := &node{done: make(chan struct{})}
	n.claimed.Store(true)
	if w.o.Ignored {
		n.rules.off = true
		return n
	}
	dirs := above(w.abs(""))
	repo := slices.IndexFunc(dirs, func(dir string) bool {
		_, err := w.fs.Lstat(join(dir, ".git"))
		return err == nil
	})
	if repo < 0 { // the root is the top of all that holds
		w.defaults = !w.has(w.abs(""))
		n.rules = w.base("", "")
		return n
	}
	top := dirs[repo]
	if repo > 0 {
		w.prefix = strings.TrimPrefix(w.dir[len(strings.TrimSuffix(top, "/")):], "/") + "/"
		n.path = w.prefix
	}
	w.defaults = !slices.ContainsFunc(dirs[:repo+1], w.has)
	r := w.base(top, "")
	for i := repo; i > 0; i-- {
		rel := strings.TrimPrefix(strings.TrimPrefix(dirs[i], top), "/")
		r.stack = r.stack.Push(rel, w.load(join(dirs[i], ".gitignore")))
	}
	if repo > 0 && r.stack.Ignored(strings.TrimSuffix(w.prefix, "/"), true) {
		r = w.base("", w.prefix)
	}
	n.rules = r
	return n
}

func (w *walker) has(dir string) bool {
	info, err := w.fs.Lstat(join(dir, ".gitignore"))
	return err == nil && info.Mode().IsRegular()
}

// base is the rules beneath every .gitignore: the skip list, the user's, and
// those of the repository at top, if that is not "". Dir is what top is from
// the top of the rules.
func (w *walker) base(top, dir string) rules {
	r := rules{skips: w.defaults}
	if r.skips {
		r.stack = r.stack.Push("", skipList)
	}
	if w.o.Excludes != "" {
		r.stack = r.stack.Push(dir, w.load(w.o.Excludes))
	}
	if top != "" {
		r.stack = r.stack.Push(dir, w.load(w.exclude(top)))
	}
	return r
}

// enter is the rules within n, which holds list.
func (w *walker) enter(n *node, list []fs.DirEntry) rules {
	r := n.rules
	if r.off {
		return r
	}
	var ignore, repo bool
	for _, d := range list {
		switch d.Name() {
		case ".gitignore":
			ignore = d.Type().IsRegular() // git does not follow a link either
		case ".git":
			repo = n.depth > 0
		}
	}
	dir := w.abs(strings.TrimSuffix(n.path, "/"))
	if repo { // another repository: nothing from above holds in it
		r = w.base(dir, n.path)
	}
	if ignore {
		r.stack = r.stack.Push(n.path, w.load(join(dir, ".gitignore")))
	}
	return r
}

// exclude is the path of a repository's own ignore file. In a linked worktree
// and in a submodule, .git is a file that says where the rest is.
func (w *walker) exclude(top string) string {
	git := join(top, ".git")
	if info, err := w.fs.Lstat(git); err == nil && info.Mode().IsRegular() {
		text, err := w.small(git)
		dir, ok := strings.CutPrefix(string(text), "gitdir:")
		if err != nil || !ok {
			return join(git, "info/exclude")
		}
		git = rebase(top, dir)
		if text, err := w.small(join(git, "commondir")); err == nil {
			git = rebase(git, string(text))
		}
	}
	return join(git, "info/exclude")
}

func rebase(dir, name string) string {
	name = filepath.ToSlash(strings.TrimSpace(name))
	if filepath.IsAbs(name) {
		return name
	}
	return join(dir, name)
}

func join(dir, name string) string { return strings.TrimSuffix(dir, "/") + "/" + name }

// load reads an ignore file; one that is not there is empty.
func (w *walker) load(name string) *gitignore.List {
	text, err := w.readSmall(name, gitignore.MaxSize+1)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			w.failed(err)
		}
		return nil
	}
	list, warnings := gitignore.Parse(text)
	for _, wn := range warnings {
		w.warn(name + ": " + wn.String())
	}
	return list
}

func (w *walker) small(name string) ([]byte, error) { return w.readSmall(name, 4096) }

// readSmall reads up to limit bytes of a regular file; it never opens anything
// else, which might block for ever.
func (w *walker) readSmall(name string, limit int64) ([]byte, error) {
	info, err := w.fs.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "read", Path: name, Err: errors.New("not a regular file")}
	}
	f, err := w.fs.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, limit))
}
