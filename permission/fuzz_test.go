package permission_test

import (
	"testing"

	"github.com/cantle-dev/cantle/permission"
	"github.com/cantle-dev/cantle/tool"
)

// FuzzDecide holds of any call and any rule: a decision is made, the same one
// each time; a denial by name stands whatever else is written; what is allowed
// in the strictest way is allowed in every looser one.
func FuzzDecide(f *testing.F) {
	for _, c := range []struct{ rule, text string }{
		{"Bash(git log:*)", "git log | head"},
		{"Bash(rm *)", "X=1 sudo rm -rf /; cat < .env"},
		{"Read(src/**)", "cat src/a"},
		{"WebFetch(domain:*.go.dev)", "curl https://go.dev"},
		{"Edit(~/x/[a-z]*)", "echo x > ~/x/y"},
		{`Bash(a\* "b c" 'd*')`, "a* 'b c' d"},
		{"mcp__a__*", "mcp__a__b"},
		{"Read(../../**)", "/proc/self/root/../x"},
		{"Bash(*)", "f() { :; }; f"},
	} {
		f.Add(c.rule, c.text)
	}
	f.Fuzz(func(t *testing.T, rule, text string) {
		valid := permission.CheckRule(rule) == nil
		requests := []permission.Request{
			{Spec: tool.Spec{Name: "Bash"}, Access: []tool.Access{{Op: tool.Exec, Target: text}}},
			{Spec: tool.Spec{Name: "Read", ReadOnly: true}, Access: []tool.Access{{Op: tool.Read, Target: text}}},
			{Spec: tool.Spec{Name: "Write"}, Access: []tool.Access{{Op: tool.Write, Target: text}}},
			{Spec: tool.Spec{Name: "WebFetch", ReadOnly: true}, Access: []tool.Access{{Op: tool.Connect, Target: text}}},
			{Spec: tool.Spec{Name: text}},
		}
		gate := func(mode permission.Mode, r permission.Rules) *permission.Gate {
			g, err := permission.New(permission.Options{Mode: mode, Rules: r, Roots: []string{"/no/such/place"}, Home: "/no/such/home"})
			if err != nil {
				t.Fatalf("%q is a rule to CheckRule, and not to New: %v", rule, err)
			}
			return g
		}
		rules := permission.Rules{}
		if valid {
			rules.Allow = []string{rule}
		}
		strict, normal, bypass := gate(permission.DontAsk, rules), gate(permission.Default, rules), gate(permission.Bypass, rules)
		edits := gate(permission.AcceptEdits, rules)
		none := gate(permission.Bypass, permission.Rules{Allow: []string{"*"}, Deny: []string{"*"}})
		for _, r := range requests {
			d, n, b, e := strict.Judge(r), normal.Judge(r), bypass.Judge(r), edits.Judge(r)
			if d.Effect == permission.Ask || d.Reason == "" || n.Effect == permission.Deny {
				t.Errorf("%q, %+v: %+v, %+v", rule, r, d, n)
			}
			if (d.Effect == permission.Allow) != (n.Effect == permission.Allow) || n.Effect == permission.Allow && (b.Effect != permission.Allow || e.Effect != permission.Allow) {
				t.Errorf("%q, %+v: %s, %s, %s, %s", rule, r, d.Effect, n.Effect, b.Effect, e.Effect)
			}
			if v := none.Judge(r); v.Effect != permission.Deny {
				t.Errorf("%+v is not denied: %+v", r, v)
			}
			for _, w := range n.Words {
				if w.Start < 0 || w.End > len(n.Text) || w.Start >= w.End {
					t.Errorf("%q: words %+v of %q", text, n.Words, n.Text)
				}
			}
			for _, s := range n.Suggest {
				if n.Firm {
					t.Errorf("%+v: firm, with %+v", r, s)
				}
			}
			if len(n.Suggest) > 0 { // what is suggested does what it is for
				with := rules
				with.Allow = append([]string(nil), rules.Allow...)
				for _, s := range n.Suggest {
					with.Allow = append(with.Allow, s.Rule)
				}
				if v := gate(permission.DontAsk, with).Judge(r); v.Effect != permission.Allow {
					t.Errorf("%+v: with %+v: %+v", r, n.Suggest, v)
				}
			}
			if valid { // denied wins over allowed
				both := rules
				both.Deny = rules.Allow
				allowed := n.Effect == permission.Allow && n.Rule != nil && n.Rule.Text == rule
				if v := gate(permission.Bypass, both).Judge(r); allowed && v.Effect != permission.Deny {
					t.Errorf("%q, %+v: allowed by the rule, and not denied by it: %+v", rule, r, v)
				}
			}
		}
		_ = normal.ExplainCommand(text, "").String()
		fuzzSandbox(t, rule, text, rules)
	})
}

// fuzzSandbox holds of any command line: a sandbox lifts nothing but what the
// mode or the lack of a rule would ask about, and only while it holds; nothing
// leaves it that the settings do not let out; where a command runs is said.
func fuzzSandbox(t *testing.T, rule, text string, rules permission.Rules) {
	gate := func(mode permission.Mode, s *permission.Sandbox) *permission.Gate {
		g, err := permission.New(permission.Options{Mode: mode, Rules: rules, Roots: []string{"/no/such/place"}, Home: "/no/such/home", Sandbox: s})
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	yes, no := func() bool { return true }, func() bool { return false }
	bash := func(beyond ...tool.Op) permission.Request {
		r := permission.Request{Spec: tool.Spec{Name: "Bash"}, Access: []tool.Access{{Op: tool.Exec, Target: text}}}
		for _, op := range beyond {
			r.Access = append(r.Access, tool.Access{Op: op, Target: tool.Anywhere})
		}
		return r
	}
	for _, mode := range permission.Modes() {
		plain := gate(mode, nil).Judge(bash())
		held := gate(mode, &permission.Sandbox{Holds: yes, Auto: true}).Judge(bash())
		gone := gate(mode, &permission.Sandbox{Holds: no, Auto: true}).Judge(bash())
		bare := gate(mode, &permission.Sandbox{Holds: yes}).Judge(bash())
		if gone.Effect != plain.Effect || bare.Effect != plain.Effect {
			t.Errorf("%s %q %q: %+v, in a sandbox that does not hold %+v, without auto %+v", mode, rule, text, plain, gone, bare)
		}
		if held.Effect != plain.Effect && (held.Effect != permission.Allow || plain.Firm || mode == permission.Plan && plain.Effect == permission.Deny) {
			t.Errorf("%s %q %q: %+v, in a sandbox %+v", mode, rule, text, plain, held)
		}
		if held.Effect == permission.Allow && !*held.Sandbox || plain.Sandbox != nil || gone.Effect == permission.Allow && *gone.Sandbox {
			t.Errorf("%s %q %q: where it runs: %+v, %+v, %+v", mode, rule, text, plain, held, gone)
		}
		for _, beyond := range [][]tool.Op{{tool.Write}, {tool.Write, tool.Connect}} {
			if v := gate(mode, &permission.Sandbox{Holds: yes, Auto: true, Network: true}).Judge(bash(beyond...)); v.Effect == permission.Allow {
				t.Errorf("%s %q %q: left the sandbox: %+v", mode, rule, text, v)
			}
		}
		if v := gate(mode, &permission.Sandbox{Holds: yes, Auto: true}).Judge(bash(tool.Connect)); v.Effect == permission.Allow && mode != permission.Bypass && plain.Effect != permission.Allow {
			t.Errorf("%s %q %q: reached the network: %+v", mode, rule, text, v)
		}
	}
	g := gate(permission.Default, nil)
	g.Hidden()
	g.Protected()
}

func BenchmarkDecide(b *testing.B) {
	rules := permission.Rules{
		Allow: []string{"Bash(git log:*)", "Bash(head:*)", "Bash(go test:*)", "Edit(/src/**)", "WebFetch(domain:go.dev)", "mcp__github__*"},
		Deny:  []string{"Bash(rm:*)", "Read(**/secret/**)", "Read(.env)", "Edit(/vendor/**)", "Bash(git push --force:*)"},
		Ask:   []string{"Bash(git push:*)"},
	}
	root := b.TempDir()
	g, err := permission.New(permission.Options{Roots: []string{root}, Home: "/home/u", Rules: rules})
	if err != nil {
		b.Fatal(err)
	}
	for name, r := range map[string]permission.Request{
		"read":  {Spec: tool.Spec{Name: "Read", ReadOnly: true}, Access: []tool.Access{{Op: tool.Read, Target: root + "/src/some/package/file.go"}}},
		"bash":  {Spec: tool.Spec{Name: "Bash"}, Access: []tool.Access{{Op: tool.Exec, Target: "cd src && git log --oneline -5 | head -3"}}},
		"ask":   {Spec: tool.Spec{Name: "Bash"}, Access: []tool.Access{{Op: tool.Exec, Target: "make build && ./bin/x --flag"}}},
		"fetch": {Spec: tool.Spec{Name: "WebFetch", ReadOnly: true}, Access: []tool.Access{{Op: tool.Connect, Target: "go.dev"}}},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				g.Judge(r)
			}
		})
	}
}
