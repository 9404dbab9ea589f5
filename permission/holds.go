package permission

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cantle-dev/cantle/internal/x/gitignore"
	"github.com/cantle-dev/cantle/permission/internal/shell"
)

// holds is a file that a deny or ask rule is for, in a folder that a command takes
// with all that is in it; "" is none that is known. Rules that are for a name
// wherever it lies are held to the files of that name that are found near the top
// of the workspace.
func (st *state) holds(r *rule, folder string, c *shell.Command) string {
	if r.paths.below(folder) {
		name := native(r.paths.literal)
		if _, err := st.g.fs.Lstat(name); err == nil && !st.passesOver(c, folder, name) {
			return name
		}
		return ""
	}
	if r.paths.literal != "" || slices.Contains(namesOnly, c.Name()) {
		return ""
	}
	var found []string
	if r.paths.name != "" {
		if name := filepath.Join(folder, r.paths.name); st.exists(name) {
			found = append(found, name)
		}
	}
	for _, name := range st.aliases().files {
		if within(folder, name) && r.paths.has(name, st.roots, st.g.fold) {
			found = append(found, name)
		}
	}
	slices.Sort(found)
	for _, name := range found {
		if !st.passesOver(c, folder, name) {
			return name
		}
	}
	return ""
}

func (st *state) exists(name string) bool {
	_, err := st.g.fs.Lstat(name)
	return err == nil
}

// searchers are programs that pass over hidden and ignored files, unless they are
// told otherwise by one of these flags.
var (
	searchers    = []string{"rg", "fd", "ag"}
	searchersAll = []string{"-u", "-uu", "-uuu", "--unrestricted", "--hidden", "-.", "--no-ignore", "--no-ignore-vcs", "-H", "-I", "-a", "--all-types", "--no-ignore-files"}
)

// passesOver reports whether a program that takes a folder with all that is in it
// leaves out a file, for being hidden or ignored.
func (st *state) passesOver(c *shell.Command, folder, name string) bool {
	all := searchersAll
	switch {
	case slices.Contains(searchers, c.Name()):
	case c.Name() == "git":
		all = []string{"-f", "--force", "--no-index", "--no-exclude-standard"}
	default:
		return false
	}
	for _, w := range c.Words[1:] {
		if !w.Known || slices.Contains(all, w.Text) || len(w.Text) > 2 && w.Text[0] == '-' && w.Text[1] != '-' && strings.ContainsAny(w.Text, "u.HIf") {
			return false
		}
	}
	rel, err := filepath.Rel(folder, name)
	if err != nil {
		return false
	}
	rel = filepath.ToSlash(rel)
	if c.Name() != "git" && (strings.HasPrefix(rel, ".") || strings.Contains(rel, "/.")) {
		return true
	}
	return st.ignored(name)
}

// ignored reports whether the ignore files of the workspace are for a file.
func (st *state) ignored(name string) bool {
	if _, local := st.g.fs.(localFS); !local {
		return false // nothing of it can be read
	}
	for _, root := range st.roots {
		if !within(root, name) || root == name {
			continue
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return false
		}
		rel = filepath.ToSlash(rel)
		var rules *gitignore.Stack
		for at := ""; ; {
			if b, err := ignoreFile(filepath.Join(root, at, ".gitignore")); err == nil {
				list, _ := gitignore.Parse(b)
				rules = rules.Push(at, list)
			}
			rest := strings.TrimPrefix(strings.TrimPrefix(rel, at), "/")
			next, _, more := strings.Cut(rest, "/")
			if !more {
				return rules.Ignored(rel, false)
			}
			at = strings.TrimPrefix(at+"/"+next, "/")
		}
	}
	return false
}

func ignoreFile(name string) ([]byte, error) {
	if fi, err := os.Lstat(name); err != nil || !fi.Mode().IsRegular() {
		return nil, os.ErrInvalid // git follows no link there either
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, gitignore.MaxSize))
}
