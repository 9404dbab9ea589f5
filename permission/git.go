package permission

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cantle-dev/cantle/permission/internal/gitconfig"
	"github.com/cantle-dev/cantle/permission/internal/shell"
	"github.com/cantle-dev/cantle/tool"
)

// gitRuns says what a command of git would run because of the configuration
// that lies in the repository, or "". A rule for the command does not cover it:
// who allows "git status" everywhere does not allow what any repository has it
// run.
func (st *state) gitRuns(c *shell.Command, before []touched) string {
	if c.Name() != "git" || c.Doubt {
		return ""
	}
	if _, local := st.g.fs.(localFS); !local {
		return "" // nothing of it can be read
	}
	verb, dirs, ok := gitDirs(c)
	if !ok {
		return "run git in a folder that cannot be known, whose configuration may have it run anything"
	}
	for _, dir := range dirs {
		if t, ok := st.remade(dir, before); ok && verb != "init" && verb != "clone" {
			return fmt.Sprintf("run git in %s, whose configuration may have it run anything: the line itself may write that, as %s", dir, t.shown)
		}
		for _, s := range gitconfig.Runs(dir) {
			if s.When == gitconfig.Remote && !c.Network || s.When == gitconfig.Alias && s.Name != "alias."+verb && !strings.HasPrefix(s.Name, "alias."+verb+".") {
				continue
			}
			return fmt.Sprintf("have git run what the repository's own configuration names: %s = %s, in %s", s.Name, s.Value, s.File)
		}
	}
	return ""
}

// gitDirs are the folders that a command of git would run in, or would take for
// a repository, and what it is to do there.
func gitDirs(c *shell.Command) (verb string, dirs []string, ok bool) {
	dirs, ok = c.Dirs, len(c.Dirs) > 0
	at := func(path string) {
		for i, dir := range dirs {
			if dirs[i] = path; !filepath.IsAbs(path) {
				dirs[i] = filepath.Join(dir, path)
			}
		}
	}
	words := c.Words[1:]
	for i := 0; i < len(words); i++ {
		w := words[i]
		name, value, has := strings.Cut(w.Text, "=")
		switch {
		case !w.Known:
			return "", nil, false
		case w.Text == "-C", w.Text == "--git-dir":
			if i++; i == len(words) || !words[i].Known {
				return "", nil, false
			}
			dirs = append([]string{}, dirs...)
			at(words[i].Text)
		case name == "--git-dir" && has:
			dirs = append([]string{}, dirs...)
			at(value)
		case w.Text == "-c", w.Text == "--config-env", w.Text == "--work-tree", w.Text == "--namespace", w.Text == "--super-prefix", w.Text == "--attr-source":
			i++
		case strings.HasPrefix(w.Text, "-"):
		default:
			return strings.ToLower(w.Text), dirs, ok
		}
	}
	return "", dirs, ok
}

// inRepository are names of what makes a folder one that git takes for
// a repository, and of its configuration.
var inRepository = []string{"HEAD", "config", "config.worktree", "commondir", "objects", "refs", ".git"}

// remade reports whether what is touched may make a repository of a folder that
// git is to run in, or of one that it lies in. Where one is already, to write in
// it is asked about anyway.
func (st *state) remade(dir string, before []touched) (touched, bool) {
	at := filepath.Clean(dir)
	for _, t := range before {
		if t.op != tool.Write || t.command != nil && slices.Contains(foldersOnly, t.command.Name()) {
			continue
		}
		for _, w := range t.ways {
			folder := at
			switch {
			case t.tree && within(w, at): // all of it may come from elsewhere
			case slices.Contains(inRepository, filepath.Base(w)) && within(filepath.Dir(w), at):
				folder = filepath.Dir(w)
			default:
				continue
			}
			if !gitconfig.Has(folder) {
				return t, true
			}
		}
	}
	return touched{}, false
}

// foldersOnly are programs that make nothing that git could read.
var foldersOnly = []string{"mkdir", "touch", "git"}
