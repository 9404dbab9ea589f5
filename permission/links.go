package permission

import (
	"path"
	"slices"
	"strings"
)

// aliased adds the other names of a file that has several, of those names that
// are sensitive or that rules are about: a hard link shares what it links to.
func (st *state) aliased(ways []string) []string {
	out := ways
	for _, w := range ways {
		fi, err := st.g.fs.Lstat(w)
		if err != nil {
			continue
		}
		id, ok := idOf(fi)
		if !ok || id.Links < 2 {
			continue
		}
		if name, ok := st.aliases().files[FileID{Dev: id.Dev, Inode: id.Inode}]; ok && !slices.Contains(out, name) {
			out = append(slices.Clip(out), name)
		}
	}
	return out
}

// maxAliases bounds the files that are looked at for aliases.
const maxAliases = 5000

// aliases are the files that are sensitive or that a deny or ask rule is about,
// as far as they lie where such files lie: at home, in the workspace, and where
// the pattern of the rule begins.
type aliases struct {
	sets  []*ruleSet
	roots []string
	files map[FileID]string // with no Links
	many  bool              // one of them has more than one name
}

// aliases are those of now; in a run, those since the last call that could have
// changed something.
func (st *state) aliases() *aliases {
	if st.links == nil && st.run {
		if known := st.g.links.Load(); known != nil && slices.Equal(known.sets, st.sets) && slices.Equal(known.roots, st.roots) {
			st.links = known
		}
	}
	if st.links == nil {
		st.links = st.findAliases()
		if st.run {
			st.g.links.Store(st.links)
		}
	}
	return st.links
}

func (st *state) findAliases() *aliases {
	out := &aliases{sets: st.sets, roots: st.roots, files: map[FileID]string{}}
	seen, limit := 0, maxAliases
	add := func(name string, r *rule) (dir bool) {
		seen++
		fi, err := st.g.fs.Lstat(name)
		if err != nil {
			return false
		}
		if id, ok := idOf(fi); ok && (r == nil || r.paths.has(name, st.roots, st.g.fold)) {
			out.files[FileID{Dev: id.Dev, Inode: id.Inode}] = name
			out.many = out.many || id.Links > 1
		}
		return fi.IsDir()
	}
	children := func(dir string, each func(name string)) {
		entries, err := st.g.fs.ReadDir(dir)
		if err != nil {
			return
		}
		for _, e := range entries {
			if seen > limit {
				return
			}
			each(strings.TrimSuffix(dir, "/") + "/" + e.Name())
		}
	}
	// Sensitive ones, by the names that are in the folders.
	bases := slices.Clone(st.roots)
	if st.g.o.Home != "" {
		bases = append(bases, st.g.o.Home)
	}
	for _, list := range guards() {
		for _, gd := range list {
			if len(gd.names) > 2 || strings.Contains(gd.path, "*") {
				continue
			}
			below := bases
			if gd.anchored {
				below = []string{""}
			}
			for _, b := range below {
				if name := b + "/" + gd.path; add(name, nil) && gd.folder && gd.kind != runs {
					children(name, func(n string) { add(n, nil) })
				}
			}
		}
	}
	if st.g.o.Own != "" {
		children(st.g.o.Own, func(n string) {
			if add(n, nil) && path.Base(n) == "credentials" {
				children(n, func(n string) { add(n, nil) })
			}
		})
	}
	for _, set := range st.sets {
		for _, r := range slices.Concat(set.deny, set.ask) {
			if r.paths == nil {
				continue
			}
			starts, most := []string{native(r.paths.literal)}, maxAliases
			if r.paths.literal == "" { // it may be anywhere
				starts, most = st.roots, min(maxAliases, seen+1000)
			}
			limit = most
			for _, s := range starts {
				var walk func(name string, depth int)
				walk = func(name string, depth int) {
					if dir := add(name, r); dir && depth < 12 && seen < most {
						children(name, func(n string) { walk(n, depth+1) })
					}
				}
				walk(s, 0)
			}
		}
	}
	return out
}
