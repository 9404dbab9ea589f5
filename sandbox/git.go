package sandbox

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxModules bounds how many repositories within one are looked at.
const maxModules = 256

// Git says what a [Policy] needs so that git works in dir, an absolute path, and
// so that nothing that git runs can be changed: of write, what is outside of
// dir; of readOnly, hooks, configuration, and files that say where these are.
//
// The repository may be that of a directory above, and its data elsewhere, as of
// a worktree or a submodule; these are taken for what .git says only if they say
// so too. Of the repository that a worktree shares with others it is what a
// commit needs. Where a repository has no folder of hooks, an empty one is made,
// since what is not there cannot be protected.
//
// Files that are not there cannot be protected so: see [GitAbsent]. Not covered
// are repositories that commands make, into which git also looks where they make
// them submodules, and programs in the workspace that the configuration names.
func Git(dir string) (write, readOnly []string) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, nil
	}
	top := real
	for ; ; top = filepath.Dir(top) {
		if _, err := os.Lstat(filepath.Join(top, ".git")); err == nil {
			break
		}
		if top == filepath.Dir(top) {
			return nil, nil
		}
	}
	dot := filepath.Join(top, ".git")
	fi, err := os.Stat(dot)
	if err != nil {
		return nil, nil
	}
	if fi.IsDir() {
		if !isGit(dot) {
			return nil, nil
		}
		if top != real {
			write = append(write, dot)
		}
		return write, gitParts(dot, top)
	}
	readOnly = append(readOnly, dot)
	data, ok := gitLink(dot, "gitdir:")
	if !ok {
		return nil, readOnly
	}
	if shared, ok := gitLink(filepath.Join(data, "commondir"), ""); ok {
		if back, ok := gitLink(filepath.Join(data, "gitdir"), ""); !ok || !same(back, dot) || !isGit(shared) || filepath.Dir(filepath.Dir(data)) != shared {
			return nil, readOnly
		}
		write = append(write, data)
		for _, name := range []string{"objects", "refs", "logs"} {
			write = append(write, filepath.Join(shared, name))
		}
		readOnly = append(readOnly, filepath.Join(data, "commondir"), filepath.Join(data, "gitdir"), filepath.Join(data, "config.worktree"))
		return write, slices.Concat(readOnly, hooksPath(shared, top), included(filepath.Join(shared, "config")))
	}
	if at := gitSetting(data, "worktree"); !isGit(data) || at == "" || !same(join(data, at), top) {
		return nil, readOnly
	}
	return append(write, data), append(readOnly, gitParts(data, top)...)
}

// gitParts are what must not be written of a repository whose data is in data.
func gitParts(data, top string) []string {
	// It is there unless somebody took care that it is not; if it cannot be made,
	// a command cannot make it either.
	_ = os.Mkdir(filepath.Join(data, "hooks"), 0o777)
	out := append([]string{filepath.Join(data, "hooks"), filepath.Join(data, "config"), filepath.Join(data, "config.worktree"), filepath.Join(data, "commondir")}, hooksPath(data, top)...)
	out = append(out, included(filepath.Join(data, "config"))...)
	for _, w := range entries(filepath.Join(data, "worktrees")) {
		for _, name := range []string{"commondir", "gitdir", "config.worktree"} {
			out = append(out, filepath.Join(data, "worktrees", w, name))
		}
	}
	// Git looks into submodules by itself.
	left := maxModules
	var modules func(dir string, depth int)
	modules = func(dir string, depth int) {
		for _, name := range entries(dir) {
			if left--; left < 0 || depth > 8 {
				return
			}
			if m := filepath.Join(dir, name); isGit(m) {
				out = append(out, gitParts(m, "")...)
				if at := gitSetting(m, "worktree"); at != "" {
					out = append(out, filepath.Join(join(m, at), ".git")) // says where m is
				}
			} else {
				modules(m, depth+1)
			}
		}
	}
	modules(filepath.Join(data, "modules"), 0)
	if left < 0 { // too many to be told apart
		out = append(out, filepath.Join(data, "modules"))
	}
	return out
}

// GitAbsent are those of the files that [Git] says to protect, and that are not
// there, that no command has a reason to make: by one, git takes the
// configuration and the hooks of another folder. Whoever runs commands that may
// write beside them removes what they make of them.
func GitAbsent(readOnly []string) []string {
	return slices.DeleteFunc(slices.Clone(readOnly), func(path string) bool {
		_, err := os.Lstat(path)
		return filepath.Base(path) != "commondir" || !errors.Is(err, fs.ErrNotExist)
	})
}

// hooksPath is the folder of hooks that the configuration names, if it does.
func hooksPath(data, top string) []string {
	at := gitSetting(data, "hookspath")
	if at == "" || strings.HasPrefix(at, "~") || top == "" {
		return nil
	}
	dir := join(top, at)
	if rest, err := filepath.Rel(top, dir); err == nil && filepath.IsLocal(rest) {
		if root, err := os.OpenRoot(top); err == nil {
			_ = root.MkdirAll(rest, 0o777)
			root.Close()
		}
	}
	return []string{dir}
}

// gitSetting is a setting of the section core of a repository's configuration.
func gitSetting(data, name string) (value string) {
	gitSettings(filepath.Join(data, "config"), func(section, key, v string) {
		if section == "core" && key == name {
			value = v
		}
	})
	return value
}

// gitSettings calls each for every setting of a file of git's. Names are in
// lower case; of a section the first word is given.
func gitSettings(file string, each func(section, key, value string)) {
	b, ok := readSmall(file, 1<<20)
	if !ok {
		return
	}
	section := ""
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			head, rest, _ := strings.Cut(line[1:], "]")
			section, _, _ = strings.Cut(strings.ToLower(strings.TrimSpace(head)), " ")
			line = strings.TrimSpace(rest)
		}
		if key, v, ok := strings.Cut(line, "="); ok {
			v = strings.TrimSpace(v)
			if quoted, ok := strings.CutPrefix(v, `"`); ok {
				v, _, _ = strings.Cut(quoted, `"`)
			} else if i := strings.IndexAny(v, "#;"); i >= 0 {
				v = strings.TrimSpace(v[:i])
			}
			each(section, strings.ToLower(strings.TrimSpace(key)), strings.ReplaceAll(v, `\\`, `\`))
		}
	}
}

// included are the files that a file of git's includes, whatever it makes that
// depend on. Those of the user's home are none of a repository's.
func included(file string) []string {
	var out []string
	for at := 0; ; at++ {
		gitSettings(file, func(section, key, v string) {
			if (section != "include" && section != "includeif") || key != "path" || v == "" || strings.HasPrefix(v, "~") {
				return
			}
			if path := join(filepath.Dir(file), v); len(out) < maxIncluded && !slices.Contains(out, path) {
				out = append(out, path)
			}
		})
		if at == len(out) {
			return out
		}
		file = out[at]
	}
}

// maxIncluded bounds how many files of configuration are looked at.
const maxIncluded = 64

// gitLink is the directory that a file of git names after a word.
func gitLink(file, word string) (string, bool) {
	b, ok := readSmall(file, 8<<10)
	if !ok {
		return "", false
	}
	to, ok := strings.CutPrefix(strings.TrimRight(string(b), "\r\n"), word)
	if to = strings.TrimSpace(to); !ok || to == "" || strings.ContainsAny(to, "\x00\n") {
		return "", false
	}
	real, err := filepath.EvalSymlinks(join(filepath.Dir(file), to))
	return real, err == nil
}

// readSmall reads a regular file of at most so many bytes. It waits for nobody:
// a command may have put a pipe in its place.
func readSmall(file string, most int64) ([]byte, bool) {
	f, err := os.OpenFile(file, os.O_RDONLY|noWait, 0)
	if err != nil {
		return nil, false
	}
	defer f.Close()
	if fi, err := f.Stat(); err != nil || !fi.Mode().IsRegular() || fi.Size() > most {
		return nil, false
	}
	b, err := io.ReadAll(io.LimitReader(f, most+1))
	return b, err == nil && int64(len(b)) <= most
}

func join(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

func same(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// isGit reports whether a directory is what git takes for a repository's data.
func isGit(dir string) bool {
	for _, name := range []string{"objects", "refs"} {
		if fi, err := os.Stat(filepath.Join(dir, name)); err != nil || !fi.IsDir() {
			return false
		}
	}
	_, err := os.Lstat(filepath.Join(dir, "HEAD"))
	return err == nil
}

// entries are the names of directories in dir.
func entries(dir string) []string {
	list, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	list = slices.DeleteFunc(list, func(e fs.DirEntry) bool { return !e.IsDir() })
	names := make([]string, len(list))
	for i, e := range list {
		names[i] = e.Name()
	}
	return names
}
