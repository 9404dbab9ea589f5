package shell

import (
	"path"
	"slices"
	"strings"
)

// outcome is the set of directories that a shell may be in after a command, by
// how the command ended. nil is unknown; an empty set is never reached.
type outcome struct{ ok, fail []string }

func always(dirs []string) outcome { return outcome{ok: dirs, fail: dirs} }

func (o outcome) any() []string { return union(o.ok, o.fail) }

// maxDirs bounds the set.
const maxDirs = 8

func union(a, b []string) []string {
	if a == nil || b == nil {
		return nil
	}
	out := slices.Clone(a)
	for _, d := range b {
		if !slices.Contains(out, d) {
			out = append(out, d)
		}
	}
	if len(out) > maxDirs {
		return nil
	}
	if out == nil {
		out = []string{}
	}
	return out
}

func same(a, b []string) bool {
	if (a == nil) != (b == nil) || len(a) != len(b) {
		return false
	}
	for _, d := range a {
		if !slices.Contains(b, d) {
			return false
		}
	}
	return true
}

// move follows a builtin that changes the directory or ends the shell. What it
// cannot follow leaves the directory unknown.
func (w *walker) move(c *Command) {
	from := w.dirs.any()
	switch name := c.Name(); name {
	case "exit", "return":
		if w.place&(InFunction|InText) == 0 && name == "exit" {
			w.dirs = always([]string{})
		}
		return
	case "cd":
	case "pushd", "popd", "source", ".":
		w.dirs = always(nil)
		w.lost = w.lost || name == "source" || name == "."
		return
	default:
		return
	}
	args := c.Words[1:]
	if len(args) > 0 && args[0].Known && args[0].Text == "--" {
		args = args[1:]
	}
	target := w.home()
	if len(args) == 1 && args[0].Known && !args[0].Glob {
		target = args[0].Text
	} else if len(args) > 0 {
		target = ""
	}
	if target == "" || target[0] == '-' || upAgain(target) || w.lost || len(c.Assigns) > 0 {
		w.dirs = always(nil)
		return
	}
	if path.IsAbs(target) {
		w.dirs = outcome{ok: []string{path.Clean(target)}, fail: from}
		return
	}
	if from == nil {
		w.dirs = always(nil)
		return
	}
	to := []string{}
	for _, d := range from {
		to = append(to, path.Join(d, target))
	}
	w.dirs = outcome{ok: to, fail: from}
}

// upAgain says that a path goes down and up again, where cd has two ways to go.
func upAgain(p string) bool {
	down := path.IsAbs(p)
	for part := range strings.SplitSeq(p, "/") {
		switch part {
		case "", ".":
		case "..":
			if down {
				return true
			}
		default:
			down = true
		}
	}
	return false
}
