package shell

import (
	"strings"

	"github.com/cantle-dev/cantle/tool"
)

// gitConfigRuns are the ends of the names of git's settings that hold a command.
var gitConfigRuns = []string{
	"pager", "editor", "command", "cmd", "fsmonitor", "hookspath", "askpass", "helper", "textconv", "driver", "program",
	"external", "clean", "smudge", "process", "uploadpack", "receivepack", "proxy", "vcs", "alternaterefscommand", "path", "browser", "tool", "packobjectshook", "update",
}

func (w *walker) git(at int) {
	c := w.out.Commands[at]
	t := known()
	global := sortArgs(t.gitFlags, c.Words[1:], true, false)
	harmless := w.options(at, global)
	for _, o := range global.options {
		switch o.name {
		case "c", "config-env":
			w.gitSetting(at, o.value)
		case "C":
			harmless = false
			w.access(at, tool.Read, o.value, true)
			dirs := w.out.Commands[at].Dirs
			w.out.Commands[at].Dirs = nil
			defer func() { w.retarget(at, dirs) }()
		case "exec-path", "git-dir", "work-tree":
			if o.has {
				w.access(at, tool.Read, o.value, true)
				if o.name == "git-dir" && len(global.operands) > 0 && global.operands[0].Text == "init" {
					w.access(at, tool.Write, o.value, true)
				}
				if o.name == "exec-path" {
					w.access(at, tool.Exec, o.value, true)
					w.say(at, Computed, "the commands of git are those that lie in a folder")
				}
			}
		}
	}
	if len(global.operands) == 0 {
		w.out.Commands[at].ReadOnly = harmless && !global.unknown && !global.doubt && w.quiet(at)
		return
	}
	verb, rest := global.operands[0], global.operands[1:]
	if !verb.Known || verb.Glob {
		if !w.doubt {
			w.reasonAt(c.Start, c.End, Computed, "the command of git is computed")
		}
		return
	}
	r, ok := t.git[verb.Text]
	if len(rest) > 0 && rest[0].Known {
		if of, found := t.git[verb.Text+" "+rest[0].Text]; found {
			r, ok, rest = of, true, rest[1:]
		} else if verb.Text == "bundle" || verb.Text == "notes" {
			ok = false
		}
	}
	if ok {
		a := sortArgs(r.flags, rest, false, false)
		plain := w.options(at, a)
		sure := w.operands(at, r, a)
		w.reading(at, harmless && plain && sure && !global.unknown && !a.unknown && !a.doubt && firstKnown(global))
		if !a.unknown && sure {
			return
		}
	}
	a := sortArgs(t.gitExec, rest, false, false)
	if !ok {
		w.options(at, a)
	} else {
		for _, o := range a.options {
			if o.does&executes != 0 && o.has {
				w.run(at, o.value)
			}
		}
	}
	w.gitVerb(at, verb.Text, rest, a)
}

// firstKnown says that nothing unsure stands in front of git's command.
func firstKnown(a args) bool { return !a.doubt || a.rest == 0 }

// retarget puts the accesses of git -C under no directory that is known.
func (w *walker) retarget(at int, dirs []string) {
	c := &w.out.Commands[at]
	for i := range c.Accesses {
		a := &c.Accesses[i]
		if (a.Op == tool.Read || a.Op == tool.Write) && i > 0 && !strings.HasPrefix(a.Target, "/") {
			a.Known = false
		}
	}
	c.Dirs = dirs
}

// gitSetting looks at name=value of git -c.
func (w *walker) gitSetting(at int, word Word) {
	key, _, _ := strings.Cut(word.Text, "=")
	value := cut(word, len(key)+1)
	key = strings.ToLower(key)
	if strings.HasPrefix(key, "alias.") || strings.HasPrefix(value.Text, "!") {
		w.run(at, cut(value, len(value.Text)-len(strings.TrimPrefix(value.Text, "!"))))
		return
	}
	for _, end := range gitConfigRuns {
		if strings.HasSuffix(key, end) && value.Text != "" && value.Text != "false" && value.Text != "cat" {
			w.run(at, value)
			return
		}
	}
	if !word.Known && !w.doubt {
		c := w.out.Commands[at]
		w.reasonAt(c.Start, c.End, Computed, "a setting of git is computed")
	}
}

// configures reports whether git config would change something: it is given a value,
// or a flag that is not known to be of a question.
func configures(rest []Word) bool {
	operands := 0
	for i, o := range rest {
		switch {
		case !o.Known || o.Glob:
			return true
		case i > 0 && listed(" -f --file --type --default ", rest[i-1].Text):
		case !strings.HasPrefix(o.Text, "-"):
			operands++
		case !listed(" -f --file --type --default --get --get-all --get-regexp --list -l --name-only --null -z --bool --int --path --show-origin --show-scope --includes ", o.Text) && !strings.HasPrefix(o.Text, "--file=") && !strings.HasPrefix(o.Text, "--type="):
			return true
		}
	}
	return operands > 1
}

// gitVerb finds what git's commands run, write and connect to.
func (w *walker) gitVerb(at int, verb string, rest []Word, a args) {
	all := a.operands
	for _, o := range rest {
		if after, ok := strings.CutPrefix(o.Text, "ext::"); ok {
			w.run(at, cut(o, len(o.Text)-len(after)))
		}
	}
	switch verb {
	case "archive", "format-patch":
		if o, ok := a.get("o"); ok && o.Text != "" {
			w.access(at, tool.Write, o, verb == "format-patch")
		} else if verb == "format-patch" {
			w.access(at, tool.Write, Word{Text: ".", Known: true}, false)
		}
	case "bundle", "init":
		if verb == "init" && len(all) == 0 {
			w.access(at, tool.Write, Word{Text: ".", Known: true}, true)
		}
		for i, o := range all {
			if verb == "init" && i == 0 || verb == "bundle" && i == 1 && all[0].Text == "create" {
				w.access(at, tool.Write, o, verb == "init")
			}
		}
	case "send-email":
		if o, ok := a.get("smtp-server"); ok && strings.HasPrefix(o.Text, "/") {
			w.run(at, o)
		}
	case "bisect":
		if len(rest) > 1 && rest[0].Text == "run" {
			w.words(at, false, rest[1:], nil)
		}
	case "submodule":
		for i, o := range rest {
			if o.Text == "foreach" {
				text := rest[i+1:]
				for len(text) > 0 && strings.HasPrefix(text[0].Text, "-") {
					text = text[1:]
				}
				w.run(at, joined(text))
			}
		}
	case "config":
		for i, o := range rest {
			op := tool.Read
			if configures(rest) {
				op = tool.Write
			}
			switch {
			case i > 0 && listed(" -f --file ", rest[i-1].Text):
				w.access(at, op, o, false)
			case strings.HasPrefix(o.Prefix, "--file="):
				w.access(at, op, cut(o, len("--file=")), false)
			}
			if strings.HasPrefix(o.Text, "!") {
				w.run(at, cut(o, 1))
			} else if i > 0 && strings.Contains(rest[i-1].Text, ".") {
				for _, end := range gitConfigRuns {
					if strings.HasSuffix(strings.ToLower(rest[i-1].Text), end) {
						w.access(at, tool.Exec, o, false)
						w.roughly(at, o.Text)
						break
					}
				}
			}
		}
	case "clone", "fetch", "pull", "push", "ls-remote":
		for _, o := range a.options {
			if o.has && (o.name == "c" || o.name == "config") && verb == "clone" {
				w.gitSetting(at, o.value)
			}
		}
		for i, o := range all {
			if strings.HasPrefix(o.Text, "ext::") {
				continue
			}
			if i == 0 {
				before, _, scp := strings.Cut(o.Text, ":")
				if strings.Contains(o.Text, "://") || !scp {
					w.access(at, tool.Connect, o, false)
				} else {
					o.Text = before
					w.access(at, tool.Connect, o, false)
				}
				if !strings.Contains(o.Text, "://") && !scp {
					n := len(w.out.Commands[at].Accesses) - 1
					w.out.Commands[at].Accesses[n].Known = false // a remote by its name
				}
			}
			if i == 1 && verb == "clone" {
				w.access(at, tool.Write, o, true)
			}
		}
		if verb == "clone" && len(all) == 1 {
			name := strings.TrimSuffix(strings.TrimSuffix(strings.TrimRight(all[0].Text, "/"), "/.git"), ".git")
			name = name[strings.LastIndexAny(name, "/:")+1:]
			w.access(at, tool.Write, Word{Text: name, Prefix: name, Known: all[0].Known && !listed(" . .. ", name) && name != "", Start: all[0].Start, End: all[0].End}, true)
		}
	case "add", "stage", "commit":
		here := Word{Text: ".", Known: true}
		if _, ok := a.get("A", "all", "u", "update", "a"); ok && (verb == "commit" || len(all) == 0) {
			w.access(at, tool.Read, here, true)
		}
		for _, o := range all {
			if strings.HasPrefix(o.Text, ":") { // as :/ and :(top), which may be for anything
				o = Word{Text: here.Text, Known: o.Known, Start: o.Start, End: o.End}
			}
			w.access(at, tool.Read, o, true)
		}
	case "apply", "am":
		for _, o := range all {
			w.access(at, tool.Read, o, false)
		}
		w.access(at, tool.Write, Word{Text: ".", Known: true}, false)
	case "rm", "mv", "checkout", "restore", "clean":
		if verb == "clean" && len(all) == 0 {
			w.access(at, tool.Write, Word{Text: ".", Known: true}, true)
		}
		for _, o := range all {
			w.access(at, tool.Write, o, true)
		}
	case "worktree":
		if len(all) > 1 && (all[0].Text == "add" || all[0].Text == "remove") {
			w.access(at, tool.Write, all[1], true)
		}
	}
}
