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

// A line can make the repository that git then runs in.
func TestGitOfARepositoryThatTheLineMakes(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{".git/objects", ".git/refs", "sub", "testdata/evil"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, ".git", "HEAD"), []byte("ref: refs/heads/main\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	var allow []string
	for _, name := range []string{"git", "cd", "cp", "mv", "mkdir", "echo", "printf", "tar", "touch", "rm", "rsync", "unzip"} {
		allow = append(allow, "Bash("+name+":*)")
	}
	g, err := permission.New(permission.Options{Roots: []string{dir}, Rules: permission.Rules{Allow: allow}, Mode: permission.AcceptEdits})
	if err != nil {
		t.Fatal(err)
	}
	for command, want := range map[string]permission.Effect{
		"cp -r testdata/evil x && cd x && git status":                                             permission.Ask,
		"cp -r testdata/evil x && git -C x status":                                                permission.Ask,
		"cp -r testdata/evil x; git --git-dir=x status":                                           permission.Ask,
		"mv testdata/evil x && cd x/y && git status":                                              permission.Ask,
		"mkdir -p sub/objects sub/refs; echo x > sub/HEAD; echo y > sub/config; cd sub; git diff": permission.Ask,
		"cd sub && mkdir objects refs && echo ref > HEAD && printf x > config && git log":         permission.Ask,
		"cd sub && tar xf ../testdata/evil.tar && git status":                                     permission.Ask,
		"unzip testdata/evil.zip -d sub; git -C sub status":                                       permission.Ask,
		"cp testdata/config sub/config; (cd sub/objects && git status)":                           permission.Ask,
		"cp -r testdata/evil x && git status":                                                     permission.Allow,
		"echo x > config && git add config":                                                       permission.Allow,
		"echo x > a && git add a && git commit -m x":                                              permission.Allow,
		"cd sub && echo x > a && git add a":                                                       permission.Allow,
		"mkdir x && cd x && git init && git status":                                               permission.Allow,
		"cp -r testdata/a . && git status":                                                        permission.Allow,
		"cd sub && git status":                                                                    permission.Allow,
		"rm -f config && git status":                                                              permission.Allow,
	} {
		if v := g.ExplainCommand(command, dir); v.Effect != want {
			t.Errorf("%s: %s, not %s: %s", command, v.Effect, want, v.Reason)
		}
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
			Auto: true, Holds: func() bool { return true }, Domains: func() []string {
				if domains {
					return []string{"registry.npmjs.org"}
				}
				return nil
			},
		}})
		if err != nil {
			t.Fatal(err)
		}
		command := tool.Access{Op: tool.Exec, Target: "npm install"}
		want := permission.Ask
		if domains {
			want = permission.Allow
		}
		if v := g.Decide(tool.Spec{Name: "Bash"}, []tool.Access{command}); v.Effect != want || *v.Network == domains || len(v.Hosts) == 0 == domains {
			t.Errorf("domains %v: %s: %s, %v", domains, v.Effect, v.Reason, v.Hosts)
		}
		why := g.ExplainCommand("npm test", "/w").String()
		if want := "runs: in the sandbox, with registry.npmjs.org alone"; domains != strings.Contains(why, want) {
			t.Errorf("domains %v: %s", domains, why)
		}
		v := g.Decide(tool.Spec{Name: "Bash"}, []tool.Access{command, {Op: tool.Connect, Target: tool.Anywhere}})
		if v.Effect != permission.Ask || !*v.Network {
			t.Errorf("domains %v: with the network: %s: %s", domains, v.Effect, v.Reason)
		}
	}
}
