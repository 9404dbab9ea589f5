package permission_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/permission"
	"github.com/cantle-dev/cantle/tool"
)

func TestDecide(t *testing.T) {
	read := tool.Spec{Name: "Read", ReadOnly: true, Aliases: []string{"read_file"}}
	write := tool.Spec{Name: "Write"}
	bash := tool.Spec{Name: "Bash"}
	mcp := tool.Spec{Name: "mcp__github__push"}
	r := func(p string) []tool.Access { return []tool.Access{{Op: tool.Read, Target: p}} }
	w := func(p string) []tool.Access { return []tool.Access{{Op: tool.Write, Target: p}} }
	x := []tool.Access{{Op: tool.Exec, Target: "ls"}}
	for _, c := range []struct {
		mode  permission.Mode
		rules permission.Rules
		yes   bool
		spec  tool.Spec
		acc   []tool.Access
		want  permission.Effect
	}{
		{"default", permission.Rules{}, false, read, r("/w/a.go"), "allow"},
		{"default", permission.Rules{}, false, read, r("/w-evil/a"), "ask"},
		{"default", permission.Rules{}, false, read, r("/w/../etc/passwd"), "ask"},
		{"default", permission.Rules{}, false, write, w("/w/a.go"), "ask"},
		{"default", permission.Rules{}, false, bash, x, "ask"},
		{"default", permission.Rules{}, false, mcp, nil, "ask"},
		{"default", permission.Rules{}, false, read, []tool.Access{}, "allow"},
		{"acceptEdits", permission.Rules{}, false, write, w("/w/a.go"), "allow"},
		{"acceptEdits", permission.Rules{}, false, write, w("/etc/a"), "ask"},
		{"acceptEdits", permission.Rules{}, false, write, w("/w/.git/hooks/x"), "ask"},
		{"acceptEdits", permission.Rules{}, false, write, w("/w/.GIT/hooks/x"), "ask"},
		{"acceptEdits", permission.Rules{}, false, bash, x, "ask"},
		{"plan", permission.Rules{Allow: []string{"Write", "Bash"}}, true, write, w("/w/a.go"), "deny"},
		{"plan", permission.Rules{Allow: []string{"Bash"}}, true, bash, []tool.Access{{Op: tool.Exec, Target: "touch x"}}, "deny"},
		{"plan", permission.Rules{Allow: []string{"Bash"}}, true, bash, []tool.Access{{Op: tool.Exec, Target: "ls > x"}}, "deny"},
		{"plan", permission.Rules{Allow: []string{"Bash"}}, true, bash, []tool.Access{{Op: tool.Exec, Target: "ls $(rm x)"}}, "deny"},
		{"plan", permission.Rules{Allow: []string{"Bash"}}, false, bash, x, "allow"},
		{"plan", permission.Rules{}, false, bash, x, "ask"},
		{"plan", permission.Rules{}, false, read, r("/w/a.go"), "allow"},
		{"dontAsk", permission.Rules{}, false, bash, x, "deny"},
		{"dontAsk", permission.Rules{Allow: []string{"Bash"}}, false, bash, x, "allow"},
		{"bypassPermissions", permission.Rules{}, false, bash, x, "allow"},
		{"bypassPermissions", permission.Rules{Deny: []string{"Bash"}}, true, bash, x, "deny"},
		{"bypassPermissions", permission.Rules{Ask: []string{"Bash"}}, true, bash, x, "ask"},
		{"bypassPermissions", permission.Rules{}, true, read, r("/w/.env"), "ask"},
		{"bypassPermissions", permission.Rules{}, true, read, r("/home/u/.ssh/id_rsa"), "ask"},
		{"bypassPermissions", permission.Rules{}, true, read, r("/w/.env.example"), "allow"},
		{"default", permission.Rules{Allow: []string{"Read"}}, true, read, r("/w/.env.local"), "ask"},
		{"default", permission.Rules{}, true, write, w("/w/a.go"), "allow"},
		{"default", permission.Rules{Deny: []string{"mcp__github__*"}}, true, mcp, nil, "deny"},
		{"default", permission.Rules{Deny: []string{"read_file"}}, false, read, r("/w/a.go"), "deny"},
		{"default", permission.Rules{Allow: []string{"Bash"}, Deny: []string{"Bash"}}, true, bash, x, "deny"},
		{"auto", permission.Rules{}, false, bash, x, "allow"},
	} {
		g, err := permission.New(permission.Options{Mode: c.mode, Rules: c.rules, Yes: c.yes, Roots: []string{"/w"}})
		if err != nil {
			t.Fatal(err)
		}
		if v := g.Decide(c.spec, c.acc); v.Effect != c.want || v.Reason == "" {
			t.Errorf("%s %+v yes=%v %s %v: %+v, want %s", c.mode, c.rules, c.yes, c.spec.Name, c.acc, v, c.want)
		}
	}
}

func TestOwnFolder(t *testing.T) {
	for path, want := range map[string]permission.Effect{
		"/own/settings.json":  permission.Ask,
		"/own/sessions/a":     permission.Ask,
		"/own":                permission.Ask,
		"/own/../own/x":       permission.Ask,
		"/own-not/x":          permission.Allow,
		"/own/work/x":         permission.Allow,
		"/w/x":                permission.Allow,
		"/w/.vscode/tasks":    permission.Ask,
		"/w/.HUSKY/post":      permission.Ask,
		"/home/u/.bash_login": permission.Ask,
	} {
		g, err := permission.New(permission.Options{
			Mode: permission.Bypass, Yes: true, Roots: []string{"/w", "/own/work"}, Own: "/own", Rules: permission.Rules{Allow: []string{"Write"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if v := g.Decide(tool.Spec{Name: "Write"}, []tool.Access{{Op: tool.Write, Target: path}}); v.Effect != want {
			t.Errorf("%s: %+v, want %s", path, v, want)
		}
	}
}

func TestRulesThatAreNotUnderstoodAreErrors(t *testing.T) {
	for _, r := range []string{
		"", " ", "Read /etc", "[a-", "Bash(git:*", "Bash()", "Bash( )", "Bash(:*)", "(ls)", "WebFetch(go.dev)", "WebFetch(domain:)", "WebFetch(domain:https://go.dev/)",
		"WebFetch(domain:a.*.b)", "Read(!x)", "Read([a)", "Read(a/*/../b)", "mcp__a__b(x)", "B*(x)", "Read(a\nb)", "Read\x00",
	} {
		if _, err := permission.New(permission.Options{Rules: permission.Rules{Deny: []string{r}}}); err == nil || !strings.Contains(err.Error(), strconv.Quote(r)) {
			t.Errorf("the rule %q was taken, or is not named: %v", r, err)
		}
	}
	if _, err := permission.New(permission.Options{Mode: "nope"}); err == nil {
		t.Error("an unknown mode was taken")
	}
}
