// Package permission decides on tool calls: it is the innermost gate of an
// agent, and the one place where policy sits. Built-in, MCP and custom tools,
// and the calls of children, all pass it.
//
//	gate, err := permission.New(permission.Options{Mode: permission.Default, Roots: []string{dir}})
//	if err != nil {
//		return err
//	}
//	a, err := agent.New(m, agent.Options{Middleware: []agent.Middleware{gate.Middleware()}})
//
// A call is decided by what it would touch: see tool.Access. Deny rules come
// first, in every mode; then ask rules and sensitive paths, which hold in every
// mode too; then allow rules; then the mode.
package permission

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/cantle-dev/cantle/agent"
	"github.com/cantle-dev/cantle/tool"
)

// Mode says what happens to a call that no rule decides.
type Mode string

// The modes.
const (
	Default     Mode = "default"           // reads in the workspace run, all else is asked about
	AcceptEdits Mode = "acceptEdits"       // as default, and writes in the workspace run
	Plan        Mode = "plan"              // nothing that changes anything runs
	DontAsk     Mode = "dontAsk"           // as default, and what would be asked is denied
	Bypass      Mode = "bypassPermissions" // everything runs that no rule forbids
)

// Modes lists the modes.
func Modes() []Mode { return []Mode{Default, AcceptEdits, Plan, DontAsk, Bypass} }

// ParseMode reads a mode by its name or by one of the other names for it: ask,
// auto and deny.
func ParseMode(s string) (Mode, error) {
	switch s {
	case "", "ask":
		return Default, nil
	case "auto":
		return Bypass, nil
	case "deny":
		return DontAsk, nil
	}
	for _, m := range Modes() {
		if strings.EqualFold(s, string(m)) {
			return m, nil
		}
	}
	return "", fmt.Errorf("permission: %q is not a mode: use default, acceptEdits, plan, dontAsk or bypassPermissions", s)
}

// Rules name tools, bare: "Bash", "Write", "mcp__github__*". A star stands for
// any characters. A tool's aliases count as its name.
type Rules struct{ Allow, Deny, Ask []string }

// Options configure a gate.
type Options struct {
	Mode  Mode
	Rules Rules
	Roots []string // the workspace: absolute, links resolved
	// Yes answers yes where the mode asks. Ask rules and sensitive paths are
	// still asked about.
	Yes bool
	// Own is the folder of the program's settings and sessions, links resolved:
	// to write there is sensitive, for it could grant permissions. "" is none.
	Own string
}

// Gate decides on calls. It is safe for concurrent use.
type Gate struct {
	rules Rules
	roots []string
	yes   bool
	own   string

	mu      sync.Mutex
	mode    Mode
	granted map[string]bool // tools that the user allowed for this run
}

// New makes a gate. A rule that it does not understand is an error: no
// restriction is ever passed over in silence.
func New(o Options) (*Gate, error) {
	mode, err := ParseMode(string(o.Mode))
	if err != nil {
		return nil, err
	}
	for list, rules := range map[string][]string{"allow": o.Rules.Allow, "deny": o.Rules.Deny, "ask": o.Rules.Ask} {
		for _, r := range rules {
			if err := CheckRule(r); err != nil {
				return nil, fmt.Errorf("permission: %s rule %w", list, err)
			}
		}
	}
	for _, r := range o.Roots {
		if !filepath.IsAbs(r) {
			return nil, fmt.Errorf("permission: the root %q is not absolute", r)
		}
	}
	return &Gate{rules: o.Rules, roots: slices.Clone(o.Roots), yes: o.Yes, own: o.Own, mode: mode, granted: map[string]bool{}}, nil
}

// CheckRule says what is wrong with a rule that a gate would not understand.
func CheckRule(r string) error {
	switch {
	case strings.ContainsAny(r, "()"):
		return fmt.Errorf("%q: rules with a matcher in brackets are not supported yet: name the tool alone", r)
	case strings.TrimSpace(r) == "" || strings.ContainsAny(r, " \t\n/[]?{}\\"):
		return fmt.Errorf("%q is not the name of a tool", r)
	}
	return nil
}

// Mode is the mode that is on.
func (g *Gate) Mode() Mode {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.mode
}

// SetMode changes the mode for the calls that follow. The caller tells the
// model, by a notice.
func (g *Gate) SetMode(m Mode) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.mode = m
}

// Effect is what becomes of a call.
type Effect string

// The effects.
const (
	Allow Effect = "allow"
	Ask   Effect = "ask"
	Deny  Effect = "deny"
)

// Verdict is a decision and why.
type Verdict struct {
	Effect Effect
	Reason string
	// Firm is set on an Ask that neither Yes nor the bypass mode answers.
	Firm bool
}

// Decide decides on a call of a tool that would touch acc. A nil acc means that
// the tool does not say.
func (g *Gate) Decide(spec tool.Spec, acc []tool.Access) Verdict {
	g.mu.Lock()
	mode, granted := g.mode, g.granted[spec.Name]
	g.mu.Unlock()
	if r, ok := match(g.rules.Deny, spec); ok {
		return Verdict{Effect: Deny, Reason: fmt.Sprintf("the rule %q denies it", r)}
	}
	if mode == Plan && !spec.ReadOnly {
		return Verdict{Effect: Deny, Reason: "plan mode is read-only: present the plan instead"}
	}
	v := g.asks(spec, acc, mode, granted)
	if v.Effect != Ask {
		return v
	}
	if !v.Firm && (g.yes || mode == Bypass) {
		return Verdict{Effect: Allow, Reason: "answered yes in advance"}
	}
	if mode == DontAsk {
		return Verdict{Effect: Deny, Reason: v.Reason + ", and the mode is not to ask"}
	}
	return v
}

func (g *Gate) asks(spec tool.Spec, acc []tool.Access, mode Mode, granted bool) Verdict {
	if r, ok := match(g.rules.Ask, spec); ok {
		return Verdict{Effect: Ask, Reason: fmt.Sprintf("the rule %q asks", r), Firm: true}
	}
	for _, a := range acc {
		if why := g.sensitive(a); why != "" {
			return Verdict{Effect: Ask, Reason: why, Firm: true}
		}
	}
	if granted {
		return Verdict{Effect: Allow, Reason: "the user allowed it"}
	}
	if r, ok := match(g.rules.Allow, spec); ok {
		return Verdict{Effect: Allow, Reason: fmt.Sprintf("the rule %q allows it", r)}
	}
	if acc == nil {
		return Verdict{Effect: Ask, Reason: "the tool does not say what it touches"}
	}
	for _, a := range acc {
		switch {
		case a.Op == tool.Read && g.inside(a.Target):
		case a.Op == tool.Write && mode == AcceptEdits && g.inside(a.Target):
		case a.Op == tool.Read || a.Op == tool.Write:
			where := "outside of the workspace"
			if g.inside(a.Target) {
				where = "in the workspace"
			}
			return Verdict{Effect: Ask, Reason: fmt.Sprintf("it would %s %s, %s", a.Op, a.Target, where)}
		case a.Op == tool.Exec:
			return Verdict{Effect: Ask, Reason: "it would run a command"}
		default:
			return Verdict{Effect: Ask, Reason: fmt.Sprintf("it would %s to %s", a.Op, a.Target)}
		}
	}
	return Verdict{Effect: Allow, Reason: "it is free in this mode"}
}

func match(rules []string, spec tool.Spec) (string, bool) {
	for _, r := range rules {
		if like(r, spec.Name) || slices.ContainsFunc(spec.Aliases, func(a string) bool { return like(r, a) }) {
			return r, true
		}
	}
	return "", false
}

// like matches a rule, in which a star stands for any characters.
func like(rule, name string) bool {
	first, rest, star := strings.Cut(rule, "*")
	if !star {
		return rule == name
	}
	if !strings.HasPrefix(name, first) {
		return false
	}
	name = name[len(first):]
	for {
		part, more, star := strings.Cut(rest, "*")
		if !star {
			return strings.HasSuffix(name, rest)
		}
		i := strings.Index(name, part)
		if i < 0 {
			return false
		}
		name, rest = name[i+len(part):], more
	}
}

// inside reports whether a path lies in the workspace.
func (g *Gate) inside(path string) bool {
	return slices.ContainsFunc(g.roots, func(root string) bool { return within(root, path) })
}

func within(root, path string) bool {
	rel, err := filepath.Rel(root, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// check is what a running tool may ask of a path that it comes across.
func (g *Gate) check(spec tool.Spec) func(tool.Access) error {
	return func(a tool.Access) error {
		if v := g.Decide(spec, []tool.Access{a}); v.Effect != Allow {
			return errors.New(v.Reason)
		}
		return nil
	}
}

// Middleware is the gate of an agent. It is the innermost: whatever hooks make
// of a call, this decides on the result.
func (g *Gate) Middleware() agent.Middleware {
	return agent.Middleware{Name: "permission", Priority: 1000, Gate: func(next agent.GateFunc) agent.GateFunc {
		return func(ctx context.Context, t *agent.Turn, c *tool.Call) (*tool.Result, error) {
			if res, err := next(ctx, t, c); res != nil || err != nil {
				return res, err
			}
			return g.gate(ctx, t, c)
		}
	}}
}

// Asked is the data of the gate's questions: why it asks, and whether only a
// person may say yes, to this one call.
type Asked struct {
	Reason string `json:"reason"`
	Firm   bool   `json:"firm,omitempty"`
}

func (g *Gate) gate(ctx context.Context, t *agent.Turn, c *tool.Call) (*tool.Result, error) {
	tl := t.Tool(c.Name)
	for {
		spec := tl.Spec()
		var acc []tool.Access
		if spec.Access != nil {
			var err error
			if acc, err = spec.Access(ctx, c); err != nil {
				return tool.Error(err.Error()), nil // for the model: nothing to ask about
			}
			if acc == nil {
				acc = []tool.Access{}
			}
		}
		v := g.Decide(spec, resolved(acc))
		switch v.Effect {
		case Deny:
			return nil, errors.New(v.Reason)
		case Allow:
			c.Access, c.Check = acc, g.check(spec)
			return nil, nil
		}
		q := &agent.Question{Kind: "approve", Call: &agent.QuestionCall{ID: c.ID, Name: c.Name, Input: c.Input, Access: acc}}
		var err error
		if q.Data, err = json.Marshal(Asked{Reason: v.Reason, Firm: v.Firm}); err != nil {
			return nil, err
		}
		c.Access = acc
		if p, ok := tl.(tool.Previewer); ok {
			pre, err := p.Preview(ctx, c)
			if err != nil {
				return tool.Error(err.Error()), nil
			}
			q.Call.Preview = pre
		}
		a, err := t.Ask(ctx, q)
		if err != nil {
			return nil, err
		}
		if !a.OK {
			reason := a.Reason
			if reason == "" {
				reason = "the user said no"
			}
			return nil, fmt.Errorf("%s: %s", v.Reason, reason)
		}
		if string(a.Data) == `"always"` && !v.Firm {
			g.mu.Lock()
			g.granted[spec.Name] = true
			g.mu.Unlock()
		} else if len(a.Data) > 0 && a.Data[0] == '{' && string(a.Data) != string(c.Input) {
			c.Input = a.Data // rewritten by the user: decided on again
			continue
		}
		c.Check = g.check(spec)
		return nil, nil
	}
}
