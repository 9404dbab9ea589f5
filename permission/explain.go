package permission

import (
	"fmt"
	"strings"

	"github.com/cantle-dev/cantle/tool"
)

// Explanation is a decision with how each part of the call fared.
type Explanation struct {
	Verdict
	Mode  Mode   `json:"mode"`
	Parts []Part `json:"parts,omitempty"`
}

// Part is one command of a command line, or one thing that a call touches.
type Part struct {
	What   string `json:"what"`           // "run git log", "write /etc/x"
	Effect Effect `json:"effect"`         // by itself
	Rule   *Rule  `json:"rule,omitempty"` // that decided, if one did
	Reason string `json:"reason,omitempty"`
}

// Explain decides as [Gate.Judge] does and says why, part by part.
func (g *Gate) Explain(r Request) Explanation {
	st := g.state(r.Session)
	v, _ := g.judge(st, r)
	out := Explanation{Verdict: v, Mode: st.mode}
	d := st.prepare(r)
	for _, t := range d.own {
		if t.op == tool.Exec {
			continue
		}
		one := *d
		one.own, one.all, one.lines = []touched{t}, []touched{t}, nil
		out.Parts = append(out.Parts, one.part(string(t.op)+" "+t.shown))
	}
	for _, l := range d.lines {
		for i := range l.analysis.Commands {
			c := &l.analysis.Commands[i]
			analysis := *l.analysis
			analysis.Commands = l.analysis.Commands[i : i+1]
			one := *d
			one.own = []touched{{op: tool.Exec}} // one, as there is one line
			if !d.box.inside() {
				one.box = box{} // what goes beyond it is a part of its own
			}
			one.lines = []*line{{analysis: &analysis, of: l.of[i : i+1], touched: l.of[i], git: l.git[i : i+1]}}
			one.all = l.of[i]
			what := "run " + show(c)
			if len(c.Via) > 0 {
				what += ", by " + strings.Join(c.Via, ", ")
			}
			for _, t := range l.of[i] {
				if t.op == tool.Write {
					what += ", which writes " + t.shown
				}
			}
			if c.Doubt {
				what += ", if it is read so"
			}
			p := one.part(what)
			if c.Passes && p.Effect != Deny {
				p = Part{What: what, Effect: Allow, Reason: "it only runs what follows it"}
			}
			out.Parts = append(out.Parts, p)
		}
	}
	one := *d
	one.own, one.all, one.lines = nil, nil, nil
	switch {
	case d.box.outside:
		out.Parts = append(out.Parts, one.part("run outside of the sandbox"))
	case d.box.network:
		out.Parts = append(out.Parts, one.part(reach))
	}
	return out
}

func (d *decision) part(what string) Part {
	v := d.decide()
	return Part{What: what, Effect: v.Effect, Rule: v.Rule, Reason: v.Reason}
}

// ExplainCommand explains a command line that Bash would run in dir; "" is the
// first root.
func (g *Gate) ExplainCommand(command, dir string) Explanation {
	return g.Explain(Request{Spec: tool.Spec{Name: "Bash"}, Dir: dir, Access: []tool.Access{{Op: tool.Exec, Target: command}}})
}

// String says it for people: the decision, the rule and its file, then each
// part, and what could be granted. Bytes that a terminal would act on are
// escaped.
func (e Explanation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", e.Effect, visible(e.Reason))
	if e.Rule != nil {
		if s := e.Rule.Source.String(); s != "" {
			fmt.Fprintf(&b, "rule: %s, in %s\n", visible(e.Rule.Text), visible(s))
		} else {
			fmt.Fprintf(&b, "rule: %s\n", visible(e.Rule.Text))
		}
	}
	fmt.Fprintf(&b, "mode: %s\n", e.Mode)
	if e.Sandbox != nil {
		where, network := "outside of the sandbox", "without the network"
		if *e.Sandbox {
			where = "in the sandbox"
		}
		switch {
		case *e.Network:
			network = "with the network"
		case len(e.Hosts) > 0:
			network = "with " + visible(strings.Join(e.Hosts, ", ")) + " alone"
		}
		fmt.Fprintf(&b, "runs: %s, %s\n", where, network)
	}
	for _, p := range e.Parts {
		fmt.Fprintf(&b, "  %-5s  %s", p.Effect, visible(p.What))
		if p.Rule != nil {
			fmt.Fprintf(&b, "  [%s]", visible(p.Rule.Text))
		}
		b.WriteByte('\n')
	}
	if len(e.Suggest) > 0 {
		var rules []string
		for _, s := range e.Suggest {
			rules = append(rules, visible(s.Rule))
		}
		fmt.Fprintf(&b, "to allow it: %s\n", strings.Join(rules, ", "))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// visible is a text in which nothing can hide: control bytes, signs that turn
// the direction of writing and those that do not show are escaped.
func visible(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r < ' ', r == 0x7f, r >= 0x80 && r < 0xa0, r == 0xad, r >= 0x200b && r <= 0x200f, r >= 0x2028 && r <= 0x202e,
			r >= 0x2060 && r <= 0x206f, r == 0xfeff, r == 0xfffd, r >= 0xe0000 && r <= 0xe007f:
			fmt.Fprintf(&b, `\u{%x}`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
