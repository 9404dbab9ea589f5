package permission

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/cantle-dev/cantle/permission/internal/shell"
	"github.com/cantle-dev/cantle/tool"
)

// maxSuggest bounds the rules that one call would need. Beyond that, to grant
// them at once is not to know what is granted.
const maxSuggest = 6

// suggest gives the rules with which the call would have been allowed, or none
// where no rules could do that.
func (d *decision) suggest() []Suggestion {
	if d.box.network {
		return nil
	}
	var texts []string
	add := func(text string) bool {
		if text == "" {
			return false
		}
		if !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
		return len(texts) <= maxSuggest
	}
	switch own := ownName(d.r.Spec.Name); {
	case d.r.Access == nil || len(d.own) == 0:
		if l := labels(d.r.Input); len(l) > 0 && (own == "Agent" || own == "Skill") {
			add(own + "(" + strings.NewReplacer("*", "").Replace(l[0]) + ")")
		} else {
			add(own)
		}
	default:
		for _, t := range d.own {
			if t.op == tool.Exec {
				continue
			}
			if _, ok := d.covered(t, false); !ok && !add(d.narrow(t, true)) {
				return nil
			}
		}
		for _, l := range d.lines {
			if !d.suggestLine(l, add) {
				return nil
			}
		}
	}
	return d.verified(texts)
}

func (d *decision) suggestLine(l *line, add func(string) bool) bool {
	if len(l.analysis.Unknown) > 0 {
		return false
	}
	if !slices.Contains(d.names, "Bash") {
		return add(d.r.Spec.Name)
	}
	for i := range l.analysis.Commands {
		c := &l.analysis.Commands[i]
		if !c.Passes && d.command(c) == nil && !add(narrowCommand(c)) {
			return false
		}
		for _, t := range l.of[i] {
			if _, ok := d.covered(t, l.runs()); t.op == tool.Write && !ok && !add(d.narrow(t, false)) {
				return false
			}
		}
	}
	return true
}

// verified are the texts as suggestions, if they do what they are for.
func (d *decision) verified(texts []string) []Suggestion {
	extra := &ruleSet{}
	var out []Suggestion
	for _, text := range texts {
		r, err := parseRule(Rule{Text: text, Effect: Allow}, d.st.g.at)
		if err != nil {
			return nil
		}
		extra.allow = append(extra.allow, r)
		out = append(out, Suggestion{Rule: text})
	}
	with := *d.st
	with.mode, with.sets = Default, append(slices.Clone(d.st.sets), extra)
	try := *d
	try.st = &with
	if v := try.firm(); v.Effect != "" {
		return nil
	}
	if v := try.free(); v.Effect != Allow {
		return nil
	}
	return out
}

// narrow is the rule for an access: to the folder of a file in the project, or
// to the file alone.
func (d *decision) narrow(t touched, folder bool) string {
	name := ""
	switch t.op {
	case tool.Connect:
		if t.host == "" {
			return ""
		}
		return "WebFetch(domain:" + t.host + ")"
	case tool.Read:
		name = "Read"
	case tool.Write:
		name = "Edit"
	default:
		return ""
	}
	if len(t.ways) == 0 {
		return ""
	}
	p := t.ways[0]
	root := d.st.g.at.root
	if root != "" && root != string(filepath.Separator) && within(root, p) && p != root {
		rel := filepath.ToSlash(strings.TrimPrefix(p[len(root):], string(filepath.Separator)))
		if dir, _, ok := cutLast(rel); ok && folder {
			return name + "(/" + escapePath(dir) + "/**)"
		}
		return name + "(/" + escapePath(rel) + ")"
	}
	return name + "(/" + escapePath(filepath.ToSlash(p)) + ")"
}

func cutLast(p string) (dir, base string, ok bool) {
	i := strings.LastIndexByte(p, '/')
	if i < 0 {
		return "", p, false
	}
	return p[:i], p[i+1:], true
}

func escapePath(p string) string {
	var b strings.Builder
	for i := range len(p) {
		if strings.IndexByte(`*?[\`, p[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(p[i])
	}
	return b.String()
}

// subcommands are the programs whose first words say what they do, and how many
// of them.
var subcommands = map[string]int{
	"git": 1, "go": 1, "cargo": 1, "npm": 1, "pnpm": 1, "yarn": 1, "bun": 1, "deno": 1, "make": 1, "just": 1, "task": 1, "docker": 1, "podman": 1,
	"kubectl": 1, "helm": 1, "terraform": 1, "gh": 2, "glab": 2, "aws": 2, "gcloud": 2, "az": 2, "pip": 1, "pip3": 1, "poetry": 1, "uv": 1, "brew": 1,
	"apt": 1, "dnf": 1, "systemctl": 1, "dotnet": 1, "mvn": 1, "gradle": 1, "bundle": 1, "rails": 1, "mix": 1, "swift": 1, "zig": 1, "cmake": 0, "hg": 1, "jj": 1,
}

// takeAny are subcommands that run whatever comes after them, so that the next
// word counts too.
var takeAny = []string{"run", "exec", "x", "dlx", "compose", "tool", "stack"}

// narrowCommand is the rule for a command: for its program and subcommand, or
// for what only reads, the program; for all else the command as it is.
func narrowCommand(c *shell.Command) string {
	sure := func(w shell.Word) bool { return w.Known && !w.Glob && !w.Many }
	if len(c.Words) == 0 || !sure(c.Words[0]) {
		return ""
	}
	for _, a := range c.Assigns {
		if !a.Harmless {
			return ""
		}
	}
	name := c.Words[0].Text
	n, has := subcommands[name]
	if has && n > 0 {
		words := []string{name}
		for i := 1; i <= n && i < len(c.Words); i++ {
			w := c.Words[i]
			if !sure(w) || !word(w.Text) {
				break
			}
			words = append(words, w.Text)
			if slices.Contains(takeAny, w.Text) {
				n++
			}
		}
		if len(words) > n {
			return "Bash(" + strings.Join(words, " ") + ":*)"
		}
	} else if c.ReadOnly && word(name) {
		return "Bash(" + name + ":*)"
	}
	var b strings.Builder
	for i, w := range c.Words {
		if !sure(w) || w.Text == "" {
			return ""
		}
		if i > 0 {
			b.WriteByte(' ')
		}
		for j := range len(w.Text) {
			if strings.IndexByte(" \t\n'\"\\*", w.Text[j]) >= 0 {
				b.WriteByte('\\')
			}
			b.WriteByte(w.Text[j])
		}
	}
	return "Bash(" + b.String() + ")"
}

// word reports whether a text is a plain word, as subcommands are.
func word(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c|0x20 < 'a' || c|0x20 > 'z') && (i == 0 || (c < '0' || c > '9') && strings.IndexByte("-_:.", c) < 0) {
			return false
		}
	}
	return s != ""
}

// matchesCall reports whether a rule alone would have been for a call, at least
// for one of the commands that it would run or one of the files it would touch.
func (st *state) matchesCall(r *rule, q Request) bool {
	d := st.prepare(q)
	if d.whole(r) {
		return true
	}
	for _, l := range d.lines {
		for i := range l.analysis.Commands {
			if c := &l.analysis.Commands[i]; r.command != nil && !c.Doubt {
				if sure, _ := r.command.matches(subject(c.Words)); sure {
					return true
				}
			}
		}
	}
	for _, t := range d.all {
		switch {
		case r.paths != nil && len(t.ways) > 0 && (r.family == writing) == (t.op == tool.Write) &&
			!slices.ContainsFunc(t.ways, func(w string) bool { return !r.paths.has(w, st.roots, st.g.fold) }):
			return true
		case r.family == hosts && r.host != "" && t.op == tool.Connect && hostLike(r.host, t.host):
			return true
		}
	}
	return false
}
