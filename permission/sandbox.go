package permission

import (
	"fmt"
	"slices"

	"github.com/cantle-dev/cantle/permission/internal/shell"
	"github.com/cantle-dev/cantle/tool"
)

// Sandbox says how the commands of Bash are confined. Whatever it says, deny
// rules, ask rules, sensitive paths and the plan mode hold as ever.
type Sandbox struct {
	// Holds reports whether commands really are confined now. It is called when a
	// decision depends on it, and may then open the sandbox. Nil is no.
	Holds func() bool
	// Auto lets a command run that stays inside, where the mode or the lack of a
	// rule would have asked.
	Auto bool
	// Excluded are commands that run outside, each as in the brackets of a rule
	// of Bash: "docker:*". If all commands of a line are, it runs outside, and is
	// decided on as if there were no sandbox.
	Excluded []string
	// Network says that the network is open to all commands.
	Network bool
	// Domains are the hosts that can be reached from inside, if there are some:
	// a command that is known to need the network is tried with those. Nil is no.
	Domains func() []string
	// Write are folders that commands may write in besides the roots, absolute:
	// what is in them is protected likewise, see [Gate.Protected].
	Write []string
}

func (s *Sandbox) domains() []string {
	if s.Domains == nil {
		return nil
	}
	return s.Domains()
}

// box is how the commands of a call stand to the sandbox.
type box struct {
	on       bool // there is a sandbox, and commands that it is for
	excluded bool // all of them run outside, as the settings have it
	outside  bool // the call asks to run outside
	network  bool // the call asks for the network, which no command is known to need
	needs    bool // a command is known to need the network
}

// inside reports whether the commands have no more than what the sandbox leaves
// to all of them.
func (b box) inside() bool { return b.on && !b.excluded && !b.outside && !b.network && !b.needs }

// places are the accesses without what a command gets beyond the sandbox.
func (st *state) places(acc []tool.Access) []tool.Access {
	beyond := func(a tool.Access) bool {
		return a.Target == tool.Anywhere && (a.Op == tool.Connect || a.Op == tool.Write)
	}
	command := func(a tool.Access) bool { return a.Op == tool.Exec }
	if st.g.o.Sandbox == nil || !slices.ContainsFunc(acc, command) || !slices.ContainsFunc(acc, beyond) {
		return acc
	}
	return slices.DeleteFunc(slices.Clone(acc), beyond)
}

// boxed looks at how the commands stand to the sandbox, and adds to the accesses
// what they get beyond it.
func (d *decision) boxed() {
	s := d.st.g.o.Sandbox
	if s == nil || len(d.lines) == 0 {
		return
	}
	d.box.on = true
	asks := func(op tool.Op) bool { return slices.Contains(d.acc, tool.Access{Op: op, Target: tool.Anywhere}) }
	add := func(op tool.Op) {
		if !asks(op) {
			d.acc = append(slices.Clip(d.acc), tool.Access{Op: op, Target: tool.Anywhere})
		}
	}
	needs := slices.ContainsFunc(d.lines, func(l *line) bool {
		return slices.ContainsFunc(l.analysis.Commands, func(c shell.Command) bool { return c.Network && !c.Doubt })
	})
	switch {
	case !slices.ContainsFunc(d.lines, func(l *line) bool { return !d.st.g.excludes(l) }):
		d.box.excluded = true
		add(tool.Write)
	case asks(tool.Write):
		d.box.outside = true
	case s.Network: // it is open anyway
	case needs && !asks(tool.Connect) && len(s.domains()) > 0: // with what it can reach
	case needs:
		d.box.needs = true
		add(tool.Connect)
	default:
		d.box.network = asks(tool.Connect)
	}
}

// excludes reports whether every command of a line is one that runs outside.
func (g *Gate) excludes(l *line) bool {
	if len(l.analysis.Unknown) > 0 {
		return false
	}
	n := 0
	for i := range l.analysis.Commands {
		c := &l.analysis.Commands[i]
		if c.Passes {
			continue
		}
		text, ok := ruled(c)
		if !ok || !slices.ContainsFunc(g.excluded, func(p *pattern) bool { sure, _ := p.matches(text); return sure }) {
			return false
		}
		n++
	}
	return n > 0
}

// auto reports whether the commands of the call may run for being confined.
func (d *decision) auto() bool {
	s := d.st.g.o.Sandbox
	return d.box.inside() && s.Auto && d.r.Spec.Name == "Bash" && d.st.g.holds()
}

func (g *Gate) holds() bool { s := g.o.Sandbox; return s != nil && s.Holds != nil && s.Holds() }

// placed says in v where the commands of the call would run.
func (d *decision) placed(v Verdict) Verdict {
	if !d.box.on || v.Effect == Deny {
		return v
	}
	in := !d.box.excluded && !d.box.outside && d.st.g.holds()
	network := !in || !d.box.inside() || d.st.g.o.Sandbox.Network
	if v.Sandbox, v.Network = &in, &network; !network {
		v.Hosts = d.st.g.o.Sandbox.domains()
	}
	return v
}

func parseExcluded(texts []string) ([]*pattern, error) {
	var out []*pattern
	for _, t := range texts {
		p, err := parsePattern(t)
		if err != nil {
			return nil, fmt.Errorf("permission: the excluded command %q: %w", t, err)
		}
		out = append(out, p)
	}
	return out, nil
}
