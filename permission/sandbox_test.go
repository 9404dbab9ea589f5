package permission_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/agent"
	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/llmtest"
	"github.com/cantle-dev/cantle/permission"
	"github.com/cantle-dev/cantle/tool"
)

// boxed is one combination of all that counts for a command in a sandbox.
type boxed struct {
	mode                        permission.Mode
	yes                         bool
	rule                        permission.Effect // "" is none
	sandbox, holds, auto, world bool
	line                        string
	asks                        tool.Op // Connect is the network, Write is outside
}

// The lines, and rules for them.
const (
	plainLine, networkLine, excludedLine = "make x", "git fetch", "docker restart x"
	unknownLine, sensitiveLine           = "$X y", "make x > .git/config"
	mixedLine                            = "docker restart x; make x"
)

var ruleOf = map[string]string{
	plainLine: "Bash(make:*)", networkLine: "Bash(git fetch:*)", excludedLine: "Bash(docker:*)", unknownLine: "Bash(make:*)", sensitiveLine: "Bash(make:*)",
	mixedLine: "Bash(docker:*)",
}

// want says again, in other words, what is to be decided.
func (b boxed) want() (effect permission.Effect, outside, network bool) {
	on := b.sandbox
	excluded := on && b.line == excludedLine
	outside = excluded || on && b.asks == tool.Write
	network = on && (b.asks == tool.Connect || b.line == networkLine && !b.world && !outside)
	unasked := on && b.asks == tool.Connect && !b.world && b.line != networkLine && !excluded // the network, of itself
	confined := on && b.holds && !outside && (b.world || !network)

	sure := b.line != unknownLine
	firm := b.rule == permission.Ask || b.rule == permission.Deny || b.line == sensitiveLine || outside && !excluded
	allowed := b.auto && confined || b.rule == permission.Allow && sure && b.line != mixedLine && !unasked
	switch {
	case b.rule == permission.Deny && sure:
		effect = permission.Deny
	case b.mode == permission.Plan:
		effect = permission.Deny
	case firm || !allowed:
		effect = permission.Ask
		if !firm && (b.yes || b.mode == permission.Bypass) {
			effect = permission.Allow
		} else if b.mode == permission.DontAsk {
			effect = permission.Deny
		}
	default:
		effect = permission.Allow
	}
	return effect, outside, network
}

func (b boxed) access() []tool.Access {
	acc := []tool.Access{{Op: tool.Exec, Target: b.line}}
	if b.asks != "" {
		acc = append(acc, tool.Access{Op: b.asks, Target: tool.Anywhere})
	}
	return acc
}

func (b boxed) gate(t *testing.T) *permission.Gate {
	t.Helper()
	o := permission.Options{Mode: b.mode, Yes: b.yes, Roots: []string{"/w"}}
	switch rule := []string{ruleOf[b.line]}; b.rule {
	case permission.Allow:
		o.Rules.Allow = rule
	case permission.Ask:
		o.Rules.Ask = rule
	case permission.Deny:
		o.Rules.Deny = rule
	}
	if b.sandbox {
		o.Sandbox = &permission.Sandbox{Holds: func() bool { return b.holds }, Auto: b.auto, Network: b.world, Excluded: []string{"docker:*"}}
	}
	g, err := permission.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestEveryCombinationWithASandbox(t *testing.T) {
	both := []bool{false, true}
	n := 0
	for _, mode := range permission.Modes() {
		for _, rule := range []permission.Effect{"", permission.Allow, permission.Ask, permission.Deny} {
			for line := range ruleOf {
				for _, asks := range []tool.Op{"", tool.Connect, tool.Write} {
					for i := range 32 {
						b := boxed{mode, both[i&1], rule, both[i>>1&1], both[i>>2&1], both[i>>3&1], both[i>>4&1], line, asks}
						if !b.sandbox && (b.holds || b.auto || b.world || asks != "") {
							continue
						}
						n++
						b.check(t)
					}
				}
			}
		}
	}
	t.Log(n, "combinations")
}

func said(b *bool) bool { return b != nil }

func (b boxed) check(t *testing.T) {
	t.Helper()
	g := b.gate(t)
	r := permission.Request{Spec: tool.Spec{Name: "Bash"}, Access: b.access()}
	v := g.Judge(r)
	want, outside, network := b.want()
	if v.Effect != want || v.Reason == "" {
		t.Errorf("%+v: %+v, want %s", b, v, want)
		return
	}
	if v.Effect == permission.Deny {
		return
	}
	in := b.holds && !outside
	if said(v.Sandbox) != b.sandbox || said(v.Network) != b.sandbox || b.sandbox && (*v.Sandbox != in || *v.Network != (!in || network || b.world)) {
		t.Errorf("%+v: sandbox %v, network %v", b, v.Sandbox, v.Network)
	}
	for _, s := range v.Suggest {
		if b.asks != "" && b.line != networkLine && !(b.line == excludedLine) && !b.world || v.Firm {
			t.Errorf("%+v: suggests %+v", b, s)
		}
	}
	if e := g.Explain(r); e.Effect != v.Effect || e.Reason != v.Reason {
		t.Errorf("%+v: explained as %+v, decided as %+v", b, e, v)
	}
}

// What a call is decided on is what it runs with: what it gets beyond the
// sandbox is in its accesses, and only if it was decided on.
func TestWhatRunsBeyondTheSandboxIsDecided(t *testing.T) {
	type in struct {
		Command string `json:"command"`
		Sandbox string `json:"sandbox,omitempty"`
	}
	beyond := map[string]tool.Op{"network": tool.Connect, "off": tool.Write}
	for _, c := range []struct {
		line, sandbox string
		network       bool
		want          string // the accesses beyond, "" is none
		firm          bool
	}{
		{line: plainLine, want: ""},
		{line: plainLine, sandbox: "network", want: "connect"},
		{line: plainLine, sandbox: "off", want: "write", firm: true},
		{line: networkLine, want: "connect"},
		{line: networkLine, network: true, want: ""},
		{line: networkLine, sandbox: "network", want: "connect"},
		{line: "timeout 5 " + networkLine + " | cat", want: "connect"},
		{line: excludedLine, want: "write"},
		{line: excludedLine, sandbox: "network", want: "connect write"},
		{line: excludedLine, sandbox: "off", want: "write"},
		{line: "nice " + excludedLine, want: "write"},
		{line: excludedLine + "; docker ps", want: "write"},
		{line: mixedLine, want: ""},
		{line: excludedLine + " && " + networkLine, want: "connect"},
		{line: excludedLine + " | $X", want: ""},
		{line: "X=1 " + excludedLine, want: ""},
		{line: "docker", want: "write"},
		{line: "dockerd", want: ""},
		{line: "sudo docker ps", want: ""},
		{line: "echo docker restart x", want: ""},
		{line: "docker ps $(make)", want: ""},
		{line: "docker() { make; }; docker ps", want: ""},
		{line: "> x", want: ""},
		{line: "{ make; } > x", want: ""},
	} {
		var ran []tool.Access
		var asked permission.Verdict
		spec := tool.Spec{Name: "Bash", Access: tool.AccessFor(func(_ context.Context, _ *tool.Call, v in) ([]tool.Access, error) {
			acc := []tool.Access{{Op: tool.Exec, Target: v.Command}}
			if op := beyond[v.Sandbox]; op != "" {
				acc = append(acc, tool.Access{Op: op, Target: tool.Anywhere})
			}
			return acc, nil
		})}
		bash := tool.New(spec, func(ctx context.Context, _ in) (string, error) {
			ran = tool.FromContext(ctx).Access
			return "", nil
		})
		g, err := permission.New(permission.Options{Roots: []string{"/w"}, Sandbox: &permission.Sandbox{
			Holds: func() bool { return true }, Network: c.network, Excluded: []string{"docker:*"},
		}})
		if err != nil {
			t.Fatal(err)
		}
		a, err := agent.New(llmtest.New(t, llmtest.Call("Bash", in{c.line, c.sandbox}), llmtest.Say("ok")), agent.Options{
			Tools: []tool.Tool{bash}, Middleware: []agent.Middleware{g.Middleware()}, Dir: "/w",
			Ask: func(_ context.Context, _ *agent.Turn, q *agent.Question) (*agent.Answer, error) {
				return &agent.Answer{OK: true}, json.Unmarshal(q.Data, &asked)
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		w := newGateWorld(t, permission.Options{})
		if _, err := a.Run(t.Context(), w.session("s"), llm.Text{Text: "go"}); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, a := range ran[min(1, len(ran)):] {
			if a.Target != tool.Anywhere {
				t.Errorf("%+v: %+v", c, a)
			}
			got = append(got, string(a.Op))
		}
		if s := strings.Join(got, " "); len(ran) == 0 || s != c.want || asked.Firm != c.firm {
			t.Errorf("%+v: ran with %+v, asked %+v", c, ran, asked)
		}
		out := strings.Contains(c.want, "write")
		if asked.Reason != "" && (*asked.Sandbox == out || *asked.Network != (out || c.network || c.want == "connect")) {
			t.Errorf("%+v: the question says sandbox %v, network %v", c, asked.Sandbox, asked.Network)
		}
	}
}

// A child that asks to leave the sandbox is asked about as its parent is.
func TestChildrenStayInTheSandbox(t *testing.T) {
	holds := func() bool { return true }
	w := newGateWorld(t, permission.Options{
		Mode: permission.DontAsk, Sandbox: &permission.Sandbox{Holds: holds, Auto: true}, Rules: permission.Rules{Allow: []string{"Agent", "Bash"}},
	})
	type in struct {
		Off bool `json:"off"`
	}
	w.extra = []tool.Tool{tool.New(tool.Spec{Name: "Agent", Access: tool.NoAccess}, func(ctx context.Context, _ in) (string, error) {
		turn := agent.FromContext(ctx)
		o := turn.Options()
		o.Tools = []tool.Tool{tool.New(tool.Spec{Name: "Bash", Access: tool.AccessFor(func(_ context.Context, _ *tool.Call, v in) ([]tool.Access, error) {
			acc := []tool.Access{{Op: tool.Exec, Target: "make"}}
			if v.Off {
				acc = append(acc, tool.Access{Op: tool.Write, Target: tool.Anywhere})
			}
			return acc, nil
		})}, func(_ context.Context, v in) (string, error) {
			w.ran = append(w.ran, fmt.Sprint(v.Off))
			return "", nil
		})}
		a, err := agent.New(llmtest.New(t, llmtest.Call("Bash", in{true}), llmtest.Call("Bash", in{false}), llmtest.Say("done")), o)
		if err != nil {
			return "", err
		}
		_, err = turn.Run(ctx, "c", a, w.session("child"), llm.Text{Text: "do"})
		return "", err
	})}
	if _, err := w.run(w.session("s"), llmtest.Call("Agent", in{}), llmtest.Say("ok")); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(w.ran, []string{"false"}) {
		t.Errorf("ran %q", w.ran)
	}
}

// The sandbox is looked at only where a decision or a question depends on it.
func TestTheSandboxIsNotOpenedForNothing(t *testing.T) {
	n := 0
	g, err := permission.New(permission.Options{Roots: []string{"/w"}, Rules: permission.Rules{Deny: []string{"Bash(rm:*)"}}, Sandbox: &permission.Sandbox{
		Auto: true, Holds: func() bool { n++; return true },
	}})
	if err != nil {
		t.Fatal(err)
	}
	g.Decide(tool.Spec{Name: "Read", ReadOnly: true}, []tool.Access{{Op: tool.Read, Target: "/w/a"}})
	g.Decide(tool.Spec{Name: "Write"}, []tool.Access{{Op: tool.Write, Target: "/w/a"}})
	if g.ExplainCommand("rm x", ""); n > 0 {
		t.Errorf("looked %d times", n)
	}
	if v := g.ExplainCommand("make", ""); v.Effect != permission.Allow || n == 0 || !*v.Sandbox || *v.Network {
		t.Errorf("%+v, %d", v, n)
	}
	// A tool that is not Bash runs its commands itself.
	if v := g.Decide(tool.Spec{Name: "run_command"}, []tool.Access{{Op: tool.Exec, Target: "make"}}); v.Effect != permission.Ask {
		t.Errorf("%+v", v)
	}
	if _, err := permission.New(permission.Options{Sandbox: &permission.Sandbox{Excluded: []string{"docker:*", ":*"}}}); err == nil || !strings.Contains(err.Error(), `":*"`) {
		t.Errorf("%v", err)
	}
}
