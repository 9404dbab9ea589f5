package permission

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cantle-dev/cantle/permission/internal/shell"
	"github.com/cantle-dev/cantle/tool"
)

// free is what is decided where nothing firm is: by allow rules and the mode.
func (d *decision) free() Verdict {
	changed := d.st.g.o.Changed != nil && d.st.g.o.Changed(d.r.Spec.Name)
	if !changed {
		for _, set := range d.st.sets {
			for _, r := range set.allow {
				switch {
				case !d.whole(r):
				case d.box.network: // which no rule is about
					return Verdict{Effect: Ask, Reason: "it would " + reach, Needs: []string{reach}}
				default:
					return Verdict{Effect: Allow, Reason: r.String() + " allows it"}.at(r)
				}
			}
		}
	}
	switch {
	case changed:
		return Verdict{Effect: Ask, Reason: "the tool is no longer what it was when it was allowed"}
	case d.r.Access == nil:
		return Verdict{Effect: Ask, Reason: "the tool does not say what it touches"}
	}
	v := Verdict{Effect: Allow, Reason: "it is free in this mode"}
	for _, t := range d.own {
		if t.op == tool.Exec {
			continue
		}
		by, ok := d.covered(t, false)
		switch {
		case !ok:
			v.Needs = append(v.Needs, d.need(t))
		case by != nil && v.Rule == nil:
			v = v.at(by)
			v.Reason = by.String() + " allows it"
		}
	}
	own := len(v.Needs)
	for _, l := range d.lines {
		by := d.line(l, &v)
		if by != nil && v.Rule == nil {
			v = v.at(by)
			v.Reason = by.String() + " allows it"
		}
	}
	if d.box.network {
		v.Needs = append(v.Needs, reach)
	}
	if len(v.Needs) > own && d.auto() {
		v.Needs, v.Words, v.Rule, v.Reason = v.Needs[:own], nil, nil, "it stays inside of the sandbox"
	}
	if len(v.Needs) > 0 {
		v.Effect, v.Rule = Ask, nil
		v.Reason = "it would " + strings.Join(v.Needs[:min(len(v.Needs), 3)], ", and ")
		if n := len(v.Needs) - 3; n > 0 {
			v.Reason += fmt.Sprintf(", and %d more", n)
		}
	}
	return v
}

const reach = "reach the network"

// whole reports whether an allow rule is for the call whatever it touches.
func (d *decision) whole(r *rule) bool {
	switch {
	case !r.named(d.names):
		return false
	case r.content == "":
		return !slices.ContainsFunc(d.lines, func(l *line) bool { return len(l.analysis.Unknown) > 0 })
	case r.family == agents || r.family == skills:
		l := labels(d.r.Input)
		return len(l) > 0 && !slices.ContainsFunc(l, func(l string) bool { return !like(r.content, l) })
	}
	return false
}

// need is what a rule is wanted for, as a phrase.
func (d *decision) need(t touched) string {
	switch t.op {
	case tool.Read, tool.Write:
		switch {
		case t.why != "":
			return fmt.Sprintf("%s %s: %s", t.op, t.shown, t.why)
		case d.st.inside(t, d.st.roots):
			return fmt.Sprintf("%s %s, in the workspace", t.op, t.shown)
		}
		return fmt.Sprintf("%s %s, outside of the workspace", t.op, t.shown)
	}
	return fmt.Sprintf("%s to %s", t.op, t.shown)
}

// covered reports whether an access that is no command may be made: by the mode
// or by a rule, which it gives. With free, a command rule covers what is written
// in the workspace.
func (d *decision) covered(t touched, free bool) (*rule, bool) {
	st := d.st
	switch t.op {
	case tool.Read:
		if st.inside(t, append(slices.Clip(st.roots), st.g.o.ReadRoots...)) {
			return nil, true
		}
	case tool.Write:
		if (free || st.mode == AcceptEdits) && st.inside(t, st.roots) && !slices.ContainsFunc(st.g.o.ReadRoots, func(r string) bool { return within(r, t.ways[0]) }) {
			return nil, true
		}
	case tool.Connect:
		for _, set := range st.sets {
			for _, r := range set.allow {
				if r.family == hosts && t.host != "" && (r.content != "" && hostLike(r.host, t.host)) {
					return r, true
				}
			}
		}
		return nil, false
	default:
		return nil, false
	}
	if t.why != "" || len(t.ways) == 0 {
		return nil, false
	}
	for _, set := range st.sets {
		for _, r := range set.allow {
			if r.paths == nil || r.family == plain && !r.named(d.names) || (r.family == writing) != (t.op == tool.Write) && r.family != plain {
				continue
			}
			if !slices.ContainsFunc(t.ways, func(w string) bool { return !r.paths.has(w, st.roots, st.g.fold) }) {
				return r, true
			}
		}
	}
	return nil, false
}

// named reports whether an allow rule names a host, or those below one that it
// is below.
func (d *decision) named(host string) bool {
	for _, set := range d.st.sets {
		for _, r := range set.allow {
			if r.family == hosts && r.content != "" && r.host != "*" && hostLike(r.host, host) {
				return true
			}
		}
	}
	return false
}

// line adds to v what no rule covers of a command line, and gives the first
// rule that covers some of it.
func (d *decision) line(l *line, v *Verdict) (by *rule) {
	need := func(phrase string, s Span) {
		v.Needs = append(v.Needs, phrase)
		v.Words = append(v.Words, spans(s)...)
	}
	if !slices.Contains(d.names, "Bash") {
		need("run a command", Span{})
		return nil
	}
	for _, u := range l.analysis.Unknown {
		need("do what cannot be known: "+u.Text, Span{u.Start, u.End})
	}
	if len(l.analysis.Commands) == 0 && len(l.analysis.Unknown) == 0 {
		need("run a command that is empty", Span{})
	}
	free := l.runs()
	for i := range l.analysis.Commands {
		c := &l.analysis.Commands[i]
		if c.Doubt {
			continue
		}
		if !c.Passes {
			r := d.command(c)
			if r == nil {
				r = d.byWrapper(l, c)
			}
			switch {
			case r == nil:
				need("run "+show(c), Span{c.Start, c.End})
			case r != redirectsAlone && by == nil:
				by = r
			}
		}
		if why := l.git[i]; why != "" {
			need(why, Span{c.Start, c.End})
		}
		for _, t := range l.of[i] {
			switch t.op {
			case tool.Write:
				if r, ok := d.covered(t, free); !ok {
					need(d.need(t), t.span)
				} else if by == nil {
					by = r
				}
			case tool.Read:
				if t.why != "" {
					need(d.need(t), t.span)
				}
			}
		}
		for _, r := range c.Redirects {
			if (r.Write || r.Read) && strings.HasPrefix(r.Target.Prefix, "/dev/tcp/") || strings.HasPrefix(r.Target.Prefix, "/dev/udp/") {
				need("connect to "+r.Target.Text, Span{r.Target.Start, r.Target.End})
			}
		}
	}
	return by
}

// command is the allow rule that covers a command, or nil.
func (d *decision) command(c *shell.Command) *rule {
	if len(c.Words) == 0 && !slices.ContainsFunc(c.Assigns, func(a shell.Assign) bool { return !a.Harmless }) {
		return redirectsAlone
	}
	text, ok := ruled(c)
	if !ok {
		return nil
	}
	for _, set := range d.st.sets {
		for _, r := range set.allow {
			if r.command == nil {
				continue
			}
			if sure, _ := r.command.matches(text); sure {
				return r
			}
		}
	}
	return nil
}

// byWrapper is the allow rule for a command that runs c by its own last words, if
// the rule names c too, as "npx tsc:*" does: who writes npx:* does not allow what
// npx may be given.
func (d *decision) byWrapper(l *line, c *shell.Command) *rule {
	if len(c.Via) == 0 || len(c.Words) == 0 || len(c.Assigns) > 0 {
		return nil
	}
	for i := range l.analysis.Commands {
		o := &l.analysis.Commands[i]
		if o == c {
			break
		}
		n := len(o.Words) - len(c.Words)
		if o.Doubt || n <= 0 || !slices.EqualFunc(o.Words[n:], c.Words, func(a, b shell.Word) bool { return a.Known && a.Start == b.Start && a.Text == b.Text }) {
			continue
		}
		text, ok := ruled(o)
		if !ok {
			continue
		}
		for _, set := range d.st.sets {
			for _, r := range set.allow {
				if r.command == nil || r.command.names() <= n {
					continue
				}
				if sure, _ := r.command.matches(text); sure {
					return r
				}
			}
		}
	}
	return nil
}

// ruled is a command as allow rules look at it, if they can be for it.
func ruled(c *shell.Command) (text []byte, ok bool) {
	if len(c.Words) == 0 {
		return nil, false
	}
	if w := c.Words[0]; !w.Known || w.Glob || w.Many {
		return nil, false
	}
	var words []shell.Word
	for _, a := range c.Assigns {
		if a.Harmless {
			continue
		}
		// Another variable may do anything: the rule must have it too.
		w := a.Value
		w.Text, w.Prefix = a.Name+"="+w.Text, a.Name+"="+w.Prefix
		words = append(words, w)
	}
	return subject(append(words, c.Words...)), true
}

// redirectsAlone stands for the rule of a command that is none: what it writes
// is looked at by itself.
var redirectsAlone = &rule{Rule: Rule{Text: "Bash", Effect: Allow}}

// show is a command in a phrase.
func show(c *shell.Command) string {
	text := strings.Join(strings.Fields(c.String()), " ")
	if text == "" && len(c.Assigns) > 0 {
		return "with the variable " + c.Assigns[0].Name + " set"
	}
	if len(text) > 200 {
		text = text[:strings.LastIndexByte(text[:200], ' ')+1] + "…"
	}
	return text
}
