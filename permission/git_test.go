package permission_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/permission"
	"github.com/cantle-dev/cantle/tool"
)

// TestGitOfARepository: rules for git do not cover what the configuration in
// a repository has git run. What users set in theirs is covered as ever.
func TestGitOfARepository(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for at, config := range map[string]string{
		".git": "[core]\n\thooksPath = .husky/_\n[alias]\n\tst = status\n\tevil = \"!./x\"\n[core]\n\tsshCommand = ./x\n", "bare": "[core]\n\tfsmonitor = ./x\n",
	} {
		for _, name := range []string{"objects", "refs"} {
			if err := os.MkdirAll(filepath.Join(dir, at, name), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		for name, text := range map[string]string{"HEAD": "ref: refs/heads/main\n", "config": config} {
			if err := os.WriteFile(filepath.Join(dir, at, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	rules := permission.Rules{Allow: []string{"Bash(git:*)", "Bash(cd:*)", "Bash(X=1 git:*)"}}
	for _, c := range []struct {
		command string
		want    permission.Effect
		plan    permission.Effect
	}{
		{"git status", permission.Allow, permission.Allow},
		{"git diff --stat", permission.Allow, permission.Allow},
		{"git st", permission.Allow, permission.Deny},
		{"git commit -m x", permission.Allow, permission.Deny},
		{"git fetch", permission.Ask, permission.Deny},
		{"git evil", permission.Ask, permission.Deny},
		{"git -C bare log", permission.Ask, permission.Deny},
		{"git -C . -C bare log", permission.Ask, permission.Deny},
		{"git --git-dir=bare log", permission.Ask, permission.Deny},
		{"git --git-dir bare log", permission.Ask, permission.Deny},
		{"git -c a.b=c -C bare log", permission.Ask, permission.Deny},
		{"cd bare && git status", permission.Ask, permission.Deny},
		{"cd bare/objects; git status", permission.Ask, permission.Deny},
		{"X=1 git -C bare status", permission.Ask, permission.Deny},
		{"env git -C bare status", permission.Ask, permission.Deny},
		{"git -C $X status", permission.Ask, permission.Deny},
	} {
		for mode, want := range map[permission.Mode]permission.Effect{permission.Default: c.want, permission.Plan: c.plan, permission.Bypass: permission.Allow} {
			g, err := permission.New(permission.Options{Mode: mode, Roots: []string{dir}, Rules: rules})
			if err != nil {
				t.Fatal(err)
			}
			v := g.Decide(tool.Spec{Name: "Bash"}, []tool.Access{{Op: tool.Exec, Target: c.command}})
			if v.Effect != want {
				t.Errorf("%s: %s: %s, not %s: %s", mode, c.command, v.Effect, want, v.Reason)
			}
			if v.Effect == permission.Ask && len(v.Suggest) > 0 {
				t.Errorf("%s: %s: it suggests %v", mode, c.command, v.Suggest)
			}
		}
	}
	g, err := permission.New(permission.Options{Roots: []string{dir}, Rules: rules})
	if err != nil {
		t.Fatal(err)
	}
	if v := g.ExplainCommand("git -C bare status", dir); !strings.Contains(v.Reason, "core.fsmonitor = ./x, in "+dir+"/bare/config") {
		t.Error(v.Reason)
	}
}

// TestChosenHosts: a search service on this machine is asked about as any host
// is, and is no way to what else is there.
func TestChosenHosts(t *testing.T) {
	g, err := permission.New(permission.Options{
		Hosts: map[string][]string{"WebSearch": {"localhost", "169.254.169.254"}},
		Rules: permission.Rules{Allow: []string{"WebSearch", "WebFetch"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, url string
		want      permission.Effect
	}{
		{"WebSearch", "http://localhost:8888/s?q=x", permission.Allow},
		{"WebSearch", "http://127.0.0.1/", permission.Ask},
		{"WebFetch", "http://localhost:8888/", permission.Ask},
		{"WebSearch", "http://169.254.169.254/latest", permission.Ask},
	} {
		if v := g.Decide(tool.Spec{Name: c.name}, []tool.Access{{Op: tool.Connect, Target: c.url}}); v.Effect != c.want {
			t.Errorf("%s of %s: %s: %s", c.name, c.url, v.Effect, v.Reason)
		}
	}
}

// TestHostsWithinTheSandbox: where some hosts can be reached inside, a command
// that needs the network is tried with those, and asks for more like any other.
func TestHostsWithinTheSandbox(t *testing.T) {
	for _, domains := range []bool{false, true} {
		g, err := permission.New(permission.Options{Roots: []string{"/w"}, Sandbox: &permission.Sandbox{
			Auto: true, Holds: func() bool { return true }, Domains: func() bool { return domains },
		}})
		if err != nil {
			t.Fatal(err)
		}
		command := tool.Access{Op: tool.Exec, Target: "npm install"}
		want := permission.Ask
		if domains {
			want = permission.Allow
		}
		if v := g.Decide(tool.Spec{Name: "Bash"}, []tool.Access{command}); v.Effect != want || *v.Network == domains {
			t.Errorf("domains %v: %s: %s", domains, v.Effect, v.Reason)
		}
		v := g.Decide(tool.Spec{Name: "Bash"}, []tool.Access{command, {Op: tool.Connect, Target: tool.Anywhere}})
		if v.Effect != permission.Ask || !*v.Network {
			t.Errorf("domains %v: with the network: %s: %s", domains, v.Effect, v.Reason)
		}
	}
}
