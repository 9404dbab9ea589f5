package permission

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/cantle-dev/cantle/permission/internal/gitconfig"
	"github.com/cantle-dev/cantle/permission/internal/shell"
)

// gitRuns says what a command of git would run because of the configuration
// that lies in the repository, or "". A rule for the command does not cover it:
// who allows "git status" everywhere does not allow what any repository has it
// run.
func (st *state) gitRuns(c *shell.Command) string {
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
