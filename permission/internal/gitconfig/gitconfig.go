// Package gitconfig says what git would run because of the configuration that
// lies in a repository itself.
//
//	for _, s := range gitconfig.Runs(dir) {
//		fmt.Println(s.File, s.Name, s.Value, s.When) // …/.git/config core.fsmonitor ./x reading
//	}
//
// No clone brings such a configuration. It comes with a folder that was copied
// or unpacked, lies in a bare repository within another one, or was written
// there: and with it "git status" runs anything. What git users set themselves
// in their repositories is told apart by When, and left out where it is common
// and known: hooks, and the filters of Git LFS.
//
// The format is that of git-config(1). What cannot be read as that counts as a
// setting that runs something, for git may read it in another way.
package gitconfig

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// When says which commands of git a setting is of.
type When string

// The times.
const (
	Reading When = "reading" // all that look at files or commits, as status, diff and log
	Remote  When = "remote"  // those that use the network
	Alias   When = "alias"   // the one that the setting defines
)

// Setting is a setting that has git run something.
type Setting struct {
	File  string
	Name  string // as core.fsmonitor, without the case that git does not heed
	Value string
	When  When
}

// maxBytes bounds a configuration file. maxFound bounds what is told.
const (
	maxBytes = 1 << 20
	maxFound = 20
)

// Runs looks for the repository that git would find from an absolute directory,
// and lists what its own configuration would have git run. It runs nothing, and
// is safe for concurrent use.
func Runs(dir string) []Setting {
	for at := filepath.Clean(dir); ; at = filepath.Dir(at) {
		if folder, ok := folderOf(at); ok {
			return in(folder, at)
		}
		if at == filepath.Dir(at) {
			return nil
		}
	}
}

// Has reports whether git finds the folder of a repository in a directory, under
// the name that such a folder has there.
func Has(dir string) bool {
	folder, ok := folderOf(dir)
	return ok && folder != dir
}

// folderOf is the folder of the repository that is at a directory.
func folderOf(at string) (string, bool) {
	dot := filepath.Join(at, ".git")
	switch fi, err := os.Stat(dot); {
	case err == nil && fi.IsDir() && isFolder(dot):
		return dot, true
	case err == nil && fi.Mode().IsRegular():
		b, err := read(dot)
		if rest, ok := strings.CutPrefix(string(b), "gitdir:"); ok && err == nil {
			return absolute(at, strings.TrimSpace(rest)), true
		}
	}
	return at, isFolder(at)
}

// isFolder reports whether git takes a directory for the folder of a repository.
func isFolder(dir string) bool {
	if _, err := os.Lstat(filepath.Join(dir, "HEAD")); err != nil {
		return false
	}
	if _, err := os.Stat(filepath.Join(dir, "commondir")); err == nil {
		return true
	}
	for _, name := range []string{"objects", "refs"} {
		if fi, err := os.Stat(filepath.Join(dir, name)); err != nil || !fi.IsDir() {
			return false
		}
	}
	return true
}

const worktree = "core.worktree"

// same reports whether two paths are one directory.
func same(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

func absolute(from, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(from, path)
}

// in lists the settings of a repository's folder: its own, those of the working
// tree at a directory, and those of the repository that it belongs to.
func in(folder, at string) (out []Setting) {
	files := []string{filepath.Join(folder, "config"), filepath.Join(folder, "config.worktree")}
	if b, err := read(filepath.Join(folder, "commondir")); err == nil {
		common := absolute(folder, strings.TrimSpace(string(b)))
		files = append(files, filepath.Join(common, "config"), filepath.Join(common, "config.worktree"))
	}
	for _, file := range append(files, modules(folder)...) {
		b, err := read(file)
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			out = append(out, Setting{file, "", "it cannot be read: " + err.Error(), Reading})
			continue
		}
		for _, s := range parse(string(b)) {
			if s.name == worktree && (same(absolute(folder, s.value), at) || filepath.Dir(file) != folder) {
				continue // as submodules have it
			}
			if when := runs(s.name, s.value); when != "" {
				out = append(out, Setting{file, s.name, s.value, when})
			}
		}
	}
	return out[:min(len(out), maxFound)]
}

// maxModules bounds the folders of submodules that are looked through.
const maxModules = 2_000

// modules are the configurations of the submodules that a repository's folder
// holds, in which git runs itself when it looks at the whole.
func modules(folder string) (files []string) {
	left := maxModules
	var walk func(dir string, depth int)
	walk = func(dir string, depth int) {
		ents, err := os.ReadDir(dir)
		if err != nil || depth == 0 {
			return
		}
		for _, e := range ents {
			if left--; left < 0 {
				return
			}
			at := filepath.Join(dir, e.Name())
			switch {
			case !e.IsDir():
			case isFolder(at):
				files = append(files, filepath.Join(at, "config"), filepath.Join(at, "config.worktree"))
				walk(filepath.Join(at, "modules"), depth-1)
			default: // a submodule's name may have slashes
				walk(at, depth-1)
			}
		}
	}
	const deepest = 12
	walk(filepath.Join(folder, "modules"), deepest)
	return files
}

// read reads a file that is a regular one, and no longer than it may be.
func read(name string) ([]byte, error) {
	fi, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !fi.Mode().IsRegular() || fi.Size() > maxBytes {
		return nil, &os.PathError{Op: "read", Path: name, Err: os.ErrInvalid}
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxBytes))
}

// commands are the settings whose value is a command, by the parts of their
// names; a star is any subsection, and "" none.
var commands = []struct {
	section, sub, key string
	when              When
}{
	{"core", "", "fsmonitor", Reading},
	{"core", "", "worktree", Reading}, // the files are elsewhere than they seem
	{"filter", "*", "clean", Reading},
	{"filter", "*", "smudge", Reading},
	{"filter", "*", "process", Reading},
	{"diff", "", "external", Reading},
	{"diff", "*", "command", Reading},
	{"diff", "*", "textconv", Reading},
	{"gpg", "", "program", Reading},
	{"gpg", "*", "program", Reading},
	{"gpg", "*", "defaultkeycommand", Reading},
	{"include", "", "path", Reading},
	{"includeif", "*", "path", Reading},
	{"core", "", "sshcommand", Remote},
	{"core", "", "gitproxy", Remote},
	{"core", "", "askpass", Remote},
	{"core", "", "alternaterefscommand", Remote},
	{"credential", "", "helper", Remote},
	{"credential", "*", "helper", Remote},
	{"remote", "*", "uploadpack", Remote},
	{"remote", "*", "receivepack", Remote},
	{"remote", "*", "vcs", Remote},
	{"uploadpack", "", "packobjectshook", Remote},
	{"protocol", "", "allow", Remote},
	{"protocol", "*", "allow", Remote},
	{"alias", "", "*", Alias},
	{"alias", "*", "command", Alias},
}

// lfs are the values that Git LFS writes.
var lfs = []string{"git-lfs clean -- %f", "git-lfs smudge -- %f", "git-lfs filter-process", "git-lfs smudge --skip -- %f", "git-lfs filter-process --skip"}

// booleans are the values that make a setting of what could be a command.
var booleans = []string{"", "true", "false", "yes", "no", "on", "off", "0", "1"}

// runs says when a setting has git run something; "" is never.
func runs(name, value string) When {
	if name == broken {
		return Reading
	}
	section, rest, _ := strings.Cut(name, ".")
	sub, key := "", rest
	if i := strings.LastIndexByte(rest, '.'); i >= 0 {
		sub, key = rest[:i], rest[i+1:]
	}
	for _, c := range commands {
		if c.section != section || c.key != key && c.key != "*" || (c.sub == "") != (sub == "") {
			continue
		}
		switch v := strings.TrimSpace(value); {
		case key == "fsmonitor" && slices.Contains(booleans, strings.ToLower(v)),
			section == "filter" && slices.Contains(lfs, v),
			section == "protocol" && (v == "never" || v == "user"),
			section == "alias" && !strings.HasPrefix(v, "!"),
			key != "fsmonitor" && v == "":
			return ""
		}
		return c.when
	}
	if section == "remote" && (key == "url" || key == "pushurl") && strings.HasPrefix(strings.TrimSpace(value), "ext::") {
		return Remote
	}
	return ""
}
