package permission

import (
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// A place is a folder, and the names in it of which the table speaks.
type place struct {
	dir   string          // relative, with slashes; "" is the folder itself
	names []string        // as they are in the table
	all   map[string]bool // the same, folded
	stars []string        // those with a star, folded
}

// placesOf are the sensitive paths of some kinds by their folders.
func placesOf(kinds ...kind) []place {
	by := map[string]*place{}
	for _, k := range kinds {
		for _, p := range sensitivePaths[k] {
			p = strings.TrimSuffix(p, "/")
			dir, name, _ := cutLast(p)
			if strings.HasPrefix(p, "/") || strings.Contains(dir, "*") || k == runs && gitLike[p] != nil {
				continue
			}
			if by[dir] == nil {
				by[dir] = &place{dir: dir, all: map[string]bool{}}
			}
			by[dir].names = append(by[dir].names, name)
			by[dir].all[folded(name)] = true
			if strings.Contains(name, "*") {
				by[dir].stars = append(by[dir].stars, folded(name))
			}
		}
	}
	var out []place
	for _, p := range by {
		out = append(out, *p)
	}
	slices.SortFunc(out, func(a, b place) int { return strings.Compare(a.dir, b.dir) })
	return out
}

var (
	atHome  = sync.OnceValue(func() []place { return placesOf(secret, private) })
	inRoots = sync.OnceValue(func() []place { return placesOf(runs) })
)

// gitLike are what makes others run code in the folder of a version control
// system, which as a whole must stay open or nothing could be committed.
var gitLike = map[string][]string{
	".git":  {"hooks", "config", "config.worktree", "info/attributes", "info/sparse-checkout"},
	".hg":   {"hgrc", "hgrc-not-shared"},
	"git~1": {}, // another name of .git
}

// maxListed bounds the entries of one folder that are looked at.
const maxListed = 4096

// found gives those of the places that exist below a folder.
func (g *Gate) found(base string, places []place, add func(string)) {
	var top map[string]bool // the names in base, folded, if they were listed
	for _, p := range places {
		dir := base
		if p.dir != "" {
			if first, _, _ := strings.Cut(p.dir, "/"); top != nil && !top[folded(first)] {
				continue
			}
			dir = filepath.Join(base, p.dir)
			if _, err := g.fs.Lstat(dir); err != nil {
				continue
			}
		}
		if len(p.stars) == 0 {
			for _, n := range p.names {
				if name := dir + string(filepath.Separator) + n; g.exists(name) {
					add(name)
				}
			}
			continue
		}
		entries, err := g.fs.ReadDir(dir)
		if err != nil {
			continue
		}
		if p.dir == "" && len(entries) <= maxListed {
			top = make(map[string]bool, len(entries))
		}
		for _, e := range entries[:min(len(entries), maxListed)] {
			n := folded(e.Name())
			if p.dir == "" && top != nil {
				top[n] = true
			}
			if p.all[n] || slices.ContainsFunc(p.stars, func(star string) bool { return like(star, n) }) && !slices.Contains(harmless, n) {
				add(filepath.Join(dir, e.Name()))
			}
		}
	}
}

func (g *Gate) exists(name string) bool { _, err := g.fs.Lstat(name); return err == nil }

// Hidden are the files and folders that commands must not read in a sandbox, as
// far as they exist now: what is secret or private in the user's home, the
// program's own folder, and what deny rules of Read name without a pattern. What
// lies at any depth, or matches a pattern, is not looked for: rules hold there.
// No root is hidden, nor what it lies in, of which the rest is.
func (g *Gate) Hidden() []string {
	roots, rules := g.confined()
	keep := append(slices.Clip(roots), g.o.ReadRoots...)
	var out []string
	add := func(p string) { out = append(out, g.around(p, keep)...) }
	if g.o.Home != "" {
		g.found(g.o.Home, atHome(), add)
	}
	if g.o.Own != "" && g.exists(g.o.Own) {
		add(g.o.Own)
	}
	for _, r := range rules {
		if r.family == reading {
			for _, p := range r.paths.named(roots) {
				if g.exists(p) {
					add(p)
				}
			}
		}
	}
	return outermost(out)
}

// Protected are the files and folders in the roots and in [Sandbox.Write] that
// commands must not write in a sandbox, as far as they exist now: what makes other programs run code,
// and what deny rules of Edit name without a pattern.
func (g *Gate) Protected() []string {
	roots, rules := g.confined()
	if g.o.Sandbox != nil {
		roots = append(roots, cleaned(g.o.Sandbox.Write)...)
	}
	var out []string
	add := func(p string) { out = append(out, p) }
	for _, root := range roots {
		g.found(root, inRoots(), add)
		for dir, names := range gitLike {
			g.repository(filepath.Join(root, dir), names, 0, add)
		}
		for _, p := range sensitivePaths[runs] {
			if strings.HasPrefix(p, "/") && within(root, filepath.Clean(p)) && g.exists(filepath.Clean(p)) {
				add(filepath.Clean(p))
			}
		}
	}
	for _, r := range rules {
		if r.family != writing {
			continue
		}
		for _, p := range r.paths.named(roots) {
			for _, root := range roots {
				switch {
				case within(p, root):
					add(root)
				case within(root, p) && g.exists(p):
					add(p)
				}
			}
		}
	}
	return outermost(out)
}

// repository adds what of a repository's folder makes others run code, and of
// those of its worktrees and submodules.
func (g *Gate) repository(dir string, names []string, depth int, add func(string)) {
	fi, err := g.fs.Lstat(dir)
	switch {
	case err != nil:
		return
	case fi.Mode().IsRegular(): // says where the folder is
		add(dir)
		return
	}
	for _, n := range names {
		if name := filepath.Join(dir, n); g.exists(name) {
			add(name)
		}
	}
	if filepath.Base(dir) == ".hg" || depth > 2 {
		return
	}
	for _, of := range []string{"worktrees", "modules"} {
		entries, err := g.fs.ReadDir(filepath.Join(dir, of))
		if err != nil {
			continue
		}
		for _, e := range entries[:min(len(entries), 256)] {
			if e.IsDir() {
				g.repository(filepath.Join(dir, of, e.Name()), names, depth+1, add)
			}
		}
	}
}

// confined are the roots and the deny rules over paths, of all sessions.
func (g *Gate) confined() (roots []string, rules []*rule) {
	g.mu.Lock()
	defer g.mu.Unlock()
	roots = slices.Clone(g.roots)
	sets := []*ruleSet{g.rules}
	for _, s := range g.sessions {
		sets = append(sets, s.rules)
		for _, r := range s.added {
			if !slices.Contains(roots, r) {
				roots = append(roots, r)
			}
		}
	}
	for _, set := range sets {
		for _, r := range set.deny {
			if r.paths != nil {
				rules = append(rules, r)
			}
		}
	}
	return roots, rules
}

// around is a path, or all beside what must be kept if that lies in it.
func (g *Gate) around(p string, keep []string) (out []string) {
	if slices.Contains(keep, p) {
		return nil
	}
	if !slices.ContainsFunc(keep, func(k string) bool { return within(p, k) }) {
		return []string{p}
	}
	entries, err := g.fs.ReadDir(p)
	if err != nil {
		return nil
	}
	for _, e := range entries[:min(len(entries), maxListed)] {
		out = append(out, g.around(filepath.Join(p, e.Name()), keep)...)
	}
	return out
}

// named are the paths that the pattern names without being one.
func (p *paths) named(roots []string) []string {
	switch {
	case p.literal != "" && p.exact:
		return []string{native(p.literal)}
	case p.name != "":
		var out []string
		for _, r := range roots {
			out = append(out, filepath.Join(r, p.name))
		}
		return out
	}
	return nil
}

// outermost is paths in order, without those that lie in others.
func outermost(in []string) []string {
	slices.SortFunc(in, func(a, b string) int {
		if len(a) != len(b) {
			return len(a) - len(b)
		}
		return strings.Compare(a, b)
	})
	in = slices.Compact(in)
	seen := map[string]bool{}
	out := in[:0]
	for _, p := range in {
		inner := false
		for d := filepath.Dir(p); !inner && d != filepath.Dir(d); d = filepath.Dir(d) {
			inner = seen[d]
		}
		if !inner {
			seen[p] = true
			out = append(out, p)
		}
	}
	slices.Sort(out)
	return out
}
