package permission

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cantle-dev/cantle/tool"
)

// Request is a call that is to be decided on.
type Request struct {
	Spec    tool.Spec
	Input   json.RawMessage // what rules of Agent and Skill are about
	Dir     string          // the call's working directory; "" is the first root
	Session string          // whose grants count; "" is none
	// Access is what the call would touch. Nil means that the tool does not say.
	Access []tool.Access
}

// Decide decides on a call of a tool that would touch acc. A nil acc means that
// the tool does not say.
func (g *Gate) Decide(spec tool.Spec, acc []tool.Access) Verdict {
	return g.Judge(Request{Spec: spec, Access: acc})
}

// Judge decides on a call, without asking and without changing anything.
func (g *Gate) Judge(r Request) Verdict {
	v, _ := g.judge(g.state(r.Session), r)
	return v
}

// judge is Judge, and gives the accesses with what is to run.
func (g *Gate) judge(st *state, r Request) (Verdict, []tool.Access) {
	d := st.prepare(r)
	v := d.decide()
	if v.Effect == Ask && !v.Firm {
		v.Suggest = d.suggest()
	}
	return v, d.acc
}

// decision is one call on its way to a verdict.
type decision struct {
	st    *state
	r     Request
	names []string // of the tool: all that rules may know it by
	acc   []tool.Access
	own   []touched // what the tool says, the command lines apart
	lines []*line   // the command lines
	all   []touched // all of it
	box   box
}

func (st *state) prepare(r Request) *decision {
	if r.Dir == "" {
		r.Dir = st.g.dir()
	}
	d := &decision{st: st, r: r, names: namesOf(r.Spec), acc: r.Access}
	d.own = st.ofTool(st.places(r.Access), r.Dir)
	d.all = d.own
	for i, a := range r.Access {
		if a.Op != tool.Exec {
			continue
		}
		l := st.analyse(a.Target, r.Dir)
		d.lines = append(d.lines, l)
		d.all = append(slices.Clip(d.all), l.touched...)
		if l.analysis.Text != a.Target {
			if &d.acc[0] == &r.Access[0] {
				d.acc = slices.Clone(d.acc)
			}
			d.acc[i].Target = l.analysis.Text
		}
	}
	d.boxed()
	return d
}

func namesOf(spec tool.Spec) []string {
	names := []string{spec.Name}
	if own := ownName(spec.Name); own != spec.Name {
		names = append(names, own)
	}
	for _, a := range spec.Aliases {
		names = append(names, a)
		if own := ownName(a); !slices.Contains(names, own) {
			names = append(names, own)
		}
	}
	return names
}

func (d *decision) decide() Verdict {
	v := d.firm()
	switch {
	case v.Effect == Deny || d.st.mode == Plan && v.Effect == Ask && !d.changesNothing():
		if v.Effect != Deny {
			return d.text(Verdict{Effect: Deny, Reason: planned})
		}
		return d.text(v)
	case d.st.mode == Plan && !d.changesNothing():
		return d.text(Verdict{Effect: Deny, Reason: planned})
	case v.Effect == "":
		v = d.free()
	}
	if v.Effect == Ask {
		switch {
		case !v.Firm && (d.st.g.o.Yes || d.st.mode == Bypass):
			v = Verdict{Effect: Allow, Reason: "the mode lets everything run that nothing forbids"}
			if d.st.g.o.Yes {
				v.Reason = "answered yes in advance"
			}
		case d.st.mode == DontAsk:
			v.Effect, v.Reason = Deny, v.Reason+", and the mode is not to ask"
		}
	}
	return d.text(v)
}

const planned = "plan mode is read-only: present the plan instead"

func (d *decision) text(v Verdict) Verdict {
	if len(d.lines) > 0 {
		v.Text = d.lines[0].analysis.Text
	}
	return d.placed(v)
}

// changesNothing reports whether plan mode lets the call be decided on.
func (d *decision) changesNothing() bool {
	if d.box.outside || d.box.network {
		return false
	}
	if d.r.Spec.ReadOnly {
		return !slices.ContainsFunc(d.all, func(t touched) bool { return t.op == tool.Write })
	}
	for _, l := range d.lines {
		if !l.analysis.ReadOnly() || slices.ContainsFunc(l.git, func(why string) bool { return why != "" }) {
			return false
		}
	}
	return len(d.lines) > 0 && len(d.lines) == len(d.own)
}

// firm is what holds in every mode: denials, ask rules and sensitive paths. No
// effect is none of them.
func (d *decision) firm() Verdict {
	const outside = "it would run outside of the sandbox"
	v := d.held()
	switch {
	case !d.box.outside || v.Effect == Deny:
	case v.Effect == "":
		v = Verdict{Effect: Ask, Reason: outside, Firm: true}
	default:
		v.Reason += ", and " + outside
	}
	return v
}

// held is what rules and paths hold to in every mode.
func (d *decision) held() Verdict {
	for _, set := range d.st.sets {
		for _, r := range set.deny {
			if hit, ok := d.hit(r); ok && !hit.perhaps {
				return Verdict{Effect: Deny, Reason: hit.of(r) + " denies it", Words: hit.words}.at(r)
			}
		}
	}
	for _, set := range d.st.sets {
		for _, r := range set.ask {
			if hit, ok := d.hit(r); ok {
				return Verdict{Effect: Ask, Reason: hit.of(r) + " asks", Firm: true, Words: hit.words}.at(r)
			}
		}
		for _, r := range set.deny {
			if hit, ok := d.hit(r); ok {
				return Verdict{Effect: Ask, Reason: hit.of(r) + " may deny it, which shows only when it runs", Firm: true, Words: hit.words}.at(r)
			}
		}
	}
	for _, t := range d.all {
		if why := d.st.risk(t); why != "" {
			return Verdict{Effect: Ask, Reason: why, Firm: true, Words: spans(t.span)}
		}
	}
	for _, t := range d.own {
		switch {
		case t.op == tool.Connect && t.why != "":
			return Verdict{Effect: Ask, Reason: "it would connect to " + t.shown + ": " + t.why, Firm: true}
		case t.op == tool.Connect:
			if why := notPublic(t.host, d.named(t.host) || d.chosen(t.host)); why != "" {
				return Verdict{Effect: Ask, Reason: "it would connect to " + t.shown + ": " + why, Firm: true}
			}
		case (t.op == tool.Read || t.op == tool.Write) && t.why != "":
			return Verdict{Effect: Ask, Reason: fmt.Sprintf("it would %s %s: %s", t.op, t.shown, t.why), Firm: true}
		}
	}
	for _, t := range d.all {
		if t.command != nil && (t.op == tool.Read || t.op == tool.Write) && t.why != "" && d.st.restricts(true) {
			return Verdict{Effect: Ask, Reason: fmt.Sprintf("no deny rule can be held to, for it would %s %s: %s", t.op, t.shown, t.why), Firm: true, Words: spans(t.span)}
		}
	}
	for _, l := range d.lines {
		for i := range l.analysis.Commands {
			c := &l.analysis.Commands[i]
			if c.Code && !c.Doubt && d.st.restricts(true) {
				return Verdict{Effect: Ask, Reason: "no deny rule for paths can be held to, for it would run a program of its own: " + show(c), Firm: true, Words: spans(Span{c.Start, c.End})}
			}
		}
		if len(l.analysis.Unknown) > 0 && d.st.restricts(false) {
			u := l.analysis.Unknown[0]
			return Verdict{Effect: Ask, Reason: "it cannot be known what it would run, so that no deny rule can be held to: " + u.Text, Firm: true, Words: l.unknown()}
		}
	}
	return Verdict{}
}

// chosen reports whether a host is one that the user chose for the tool.
func (d *decision) chosen(host string) bool {
	return slices.ContainsFunc(d.st.g.o.Hosts[d.r.Spec.Name], func(h string) bool { return h != "" && hostLike(h, host) })
}

// risk says why an access is asked about in every mode.
func (st *state) risk(t touched) string {
	op := t.op
	if op == guess {
		op = tool.Read
	}
	for _, w := range t.ways {
		if why := st.sensitive(op, t.shown, w); why != "" {
			return why
		}
	}
	if t.tree {
		if why := st.holdsSecrets(t); why != "" {
			return why
		}
	}
	if t.tree && t.op == tool.Write && (t.command == nil || !slices.Contains(sourcesOnly, t.command.Name())) {
		for _, w := range t.ways {
			for _, root := range st.roots {
				if within(w, root) {
					return "it would write " + t.shown + ", which holds the whole workspace"
				}
			}
			if _, err := st.g.fs.Lstat(filepath.Join(w, ".git")); err == nil {
				return "it would write " + t.shown + ", in which a repository lies"
			}
		}
	}
	return ""
}

// sourcesOnly are programs that, given a folder, change the files of a project in
// it, or their modes, and nothing in the folder of a repository.
var sourcesOnly = []string{"git", "gofmt", "goimports", "gofumpt", "prettier", "eslint", "biome", "ruff", "black", "isort", "rubocop", "rustfmt", "dprint", "chmod", "chown"}

// namesOnly are programs that look at the names in a folder, and not into files.
var namesOnly = []string{"ls", "find", "fd", "du", "tree", "exa", "eza"}

// holdsSecrets says why a folder outside of the workspace, or of one that is the
// whole home directory, is asked about with all that is in it: for what is sensitive in the user's home.
func (st *state) holdsSecrets(t touched) string {
	home := st.g.o.Home
	if home == "" || t.op != tool.Write && t.command != nil && slices.Contains(namesOnly, t.command.Name()) || st.inside(t, st.projects()) {
		return ""
	}
	op := t.op
	if op == guess {
		op = tool.Read
	}
	for _, w := range t.ways {
		if within(w, home) {
			return fmt.Sprintf("it would %s %s, which holds all that is in the home directory", op, t.shown)
		}
		found := ""
		if within(home, w) {
			st.g.found(home, atHome(), func(p string) {
				if within(w, p) {
					found = p
				}
			})
		}
		if found != "" {
			return fmt.Sprintf("it would %s all in %s, where %s lies", op, t.shown, found)
		}
	}
	return ""
}

// projects are the roots of the workspace without those that the home directory
// lies in: what is in them is not for that the project's.
func (st *state) projects() []string {
	return slices.DeleteFunc(slices.Clone(st.roots), func(root string) bool { return within(root, st.g.o.Home) })
}

// hit is how a rule meets a call.
type hit struct {
	what    string // "" is the tool itself
	words   []Span
	perhaps bool
}

func (h hit) of(r *rule) string {
	if h.what == "" {
		return r.String()
	}
	return h.what + ": " + r.String()
}

// hit reports whether a deny or ask rule is for the call.
func (d *decision) hit(r *rule) (hit, bool) {
	if r.content == "" {
		if r.named(d.names) {
			return hit{}, true
		}
		if r.family == commands && len(d.lines) > 0 { // whatever the tool is called that runs them
			return hit{}, true
		}
		return hit{}, false
	}
	switch r.family {
	case commands:
		var maybe *hit
		for _, l := range d.lines {
			h, ok := l.hit(r.command, d.st.g.fold)
			if ok && !h.perhaps {
				return h, true
			}
			if ok && maybe == nil {
				maybe = &h
			}
		}
		if maybe != nil {
			return *maybe, true
		}
	case reading, writing:
		return d.hitPath(r)
	case plain:
		if !r.named(d.names) {
			return hit{}, false
		}
		if h, ok := d.hitPath(r); ok {
			return h, true
		}
		// What it touches cannot be held against the rule: so the rule holds.
		return hit{}, !slices.ContainsFunc(d.own, func(t touched) bool { return t.op == tool.Read || t.op == tool.Write })
	case hosts:
		for _, t := range d.all {
			if t.op == tool.Connect && t.host != "" && hostLike(r.host, t.host) {
				return hit{"it would connect to " + t.shown, spans(t.span), false}, true
			}
		}
	case agents, skills:
		return hit{}, r.named(d.names) && slices.ContainsFunc(labels(d.r.Input), func(l string) bool { return like(r.content, l) })
	}
	return hit{}, false
}

func (d *decision) hitPath(r *rule) (hit, bool) {
	var maybe *hit
	for _, t := range d.all {
		switch t.op {
		case tool.Read, guess:
			if r.family == writing {
				continue
			}
		case tool.Write:
		default:
			continue
		}
		verb := string(t.op)
		if t.op == guess {
			verb = "may read"
		} else {
			verb = "would " + verb
		}
		for _, w := range t.ways {
			if r.paths.has(w, d.st.roots, d.st.g.fold) {
				return hit{"it " + verb + " " + t.shown, spans(t.span), false}, true
			}
			// A folder with all that is in it, in which what the rule is about
			// lies: a command shows or changes it too.
			if t.tree && t.command != nil && maybe == nil {
				if name := d.st.holds(r, w, t.command); name != "" {
					maybe = &hit{"it " + verb + " all in " + t.shown + ", where " + name + " lies", spans(t.span), true}
				}
			}
		}
	}
	if maybe != nil {
		return *maybe, true
	}
	return hit{}, false
}

// labels are what an input calls an agent or a skill.
func labels(input json.RawMessage) []string {
	var in map[string]any
	if json.Unmarshal(input, &in) != nil {
		return nil
	}
	var out []string
	for _, k := range []string{"subagent_type", "agent_type", "agent", "type", "name", "skill", "skill_name", "command"} {
		if s, ok := in[k].(string); ok {
			out = append(out, strings.TrimSpace(s))
		}
	}
	return out
}

func spans(s Span) []Span {
	if s.End <= s.Start {
		return nil
	}
	return []Span{s}
}

// inside reports whether all that a path stands for lies in the workspace.
func (st *state) inside(t touched, roots []string) bool {
	if t.why != "" || len(t.ways) == 0 {
		return false
	}
	for _, w := range t.ways {
		if !slices.ContainsFunc(roots, func(root string) bool {
			return within(root, w) || st.g.fold && within(strings.ToLower(root), strings.ToLower(w))
		}) {
			return false
		}
	}
	return true
}
