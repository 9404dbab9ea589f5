package permission_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/agent"
	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/llmtest"
	"github.com/cantle-dev/cantle/permission"
	"github.com/cantle-dev/cantle/session"
	"github.com/cantle-dev/cantle/tool"
)

// asked reports whether a path is asked about in every mode, yes or not, and
// fails if the modes differ.
func asked(t *testing.T, op tool.Op, path string) bool {
	t.Helper()
	n := 0
	for _, mode := range permission.Modes() {
		g, err := permission.New(permission.Options{Mode: mode, Yes: true, Roots: []string{"/"}, Rules: permission.Rules{Allow: []string{"*"}}})
		if err != nil {
			t.Fatal(err)
		}
		spec := tool.Spec{Name: "T", ReadOnly: op == tool.Read}
		if v := g.Decide(spec, []tool.Access{{Op: op, Target: path}}); v.Effect != permission.Allow && (op == tool.Read || mode != permission.Plan) {
			n++
		}
	}
	all := len(permission.Modes())
	if op == tool.Write {
		all-- // plan denies every write
	}
	if n != 0 && n != all {
		t.Errorf("%s %s: asked about in %d of %d modes", op, path, n, all)
	}
	return n > 0
}

func TestSensitivePaths(t *testing.T) {
	const both, write, none = "both", "write", "none"
	for path, want := range map[string]string{
		"/home/u/.ssh": both, "/home/u/.ssh/config": both, "/home/u/.SSH/x/y": both, "/w/.ssh/key": both, "/w/a.ssh/key": none,
		"/home/u/.aws/credentials": both, "/home/u/.netrc": both, "/home/u/_netrc": both, "/home/u/.docker/config.json": both, "/home/u/.kube/config": both,
		"/home/u/.config/gh/hosts.yml": both, "/home/u/.config/gcloud/access_tokens.db": both, "/home/u/.config/rclone/rclone.conf": both,
		"/home/u/.config/nvim/init.lua": write, "/home/u/.config/ghostty/config": write, "/home/u/.config/hub": both, "/home/u/.config/hubs": write,
		"/home/u/.cargo/credentials": both, "/home/u/.cargo/credentials.toml": both, "/home/u/.cargo/config": write, "/w/.cargo/config.toml": write, "/w/.yarnrc.yml": write, "/w/.cargo/audit.toml": none, "/w/cargo/config.toml": none,
		"/w/.env": both, "/w/sub/.env.local": both, "/w/prod.env": both, "/w/.envrc": both, "/w/.ENV": both, "/w/.env. ": both, "/w/.env::$DATA": both,
		"/w/.e\u200cnv": both, "/w/.\u017fsh/x": both, "/w/x/../.env": both, "/w/.env/../a": none, "/w/./.env": both,
		"/w/.env.example": none, "/w/.env.SAMPLE": none, "/w/.ssh/.env.example": both, "/w/.environment": none, "/w/env": none, "/w/my.env.go": none,
		"/proc/1/environ": both, "/proc/self/task/7/environ": both, "/proc/self/mem": both, "/proc/self/cwd/.env": both, "/proc/self/root/proc/1/environ": both,
		"/proc/1/status": none, "/w/environ": none, "/etc/shadow": both, "/etc/passwd": write, "/run/secrets/db": both,
		"/home/u/.bash_history": both, "/home/u/.local/share/fish/fish_history": both, "/home/u/.zsh_history": both,
		"/home/u/.mozilla/firefox/x/logins.json": both, "/home/u/.config/google-chrome-beta/Default/Cookies": both,
		"/home/u/Library/Application Support/Google/Chrome/Default/Login Data": both, "/home/u/Library/Keychains/login.keychain-db": both,
		"/home/u/.bashrc": write, "/w/.git/hooks/pre-commit": write, "/w/.GIT/config": write, "/w/git~1/config": write, "/w/.gitignore": none,
		"/w/.mcp.json": write, "/w/.cantle/settings.json": write, "/w/.vscode/tasks.json": write, "/home/u/.local/bin/ls": write,
		"/w/.github/workflows/ci.yml": write, "/w/.github/CODEOWNERS": none, "/w/.gitlab-ci.yml": write, "/w/Jenkinsfile": write, "/w/.circleci/config.yml": write, "/w/.agents/skills/x": write,
		"/w/main.go": none, "/w/secrets.go": none, "/w/credentials/main.go": none, "/": none,
	} {
		read, wrote := asked(t, tool.Read, path), asked(t, tool.Write, path)
		got := map[[2]bool]string{{true, true}: both, {false, true}: write, {false, false}: none, {true, false}: "read"}[[2]bool{read, wrote}]
		if got != want {
			t.Errorf("%q: %s, want %s", path, got, want)
		}
	}
}

// A link to what is sensitive, or out of the workspace, is what it leads to.
func TestLinksAreFollowed(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	other, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"alias": ".env", "new": ".ssh/authorized_keys", "out": other, "dir": "."} {
		if err := os.Symlink(to, filepath.Join(root, link)); err != nil {
			t.Skip("no symbolic links here: ", err)
		}
	}
	for name, text := range map[string]string{".env": "x", "a": "x"} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	type in struct {
		Path string `json:"path"`
	}
	look := tool.New(tool.Spec{
		Name: "Look", ReadOnly: true, Access: func(_ context.Context, c *tool.Call) ([]tool.Access, error) {
			v, err := tool.Decode[in](c.Input)
			return []tool.Access{{Op: tool.Read, Target: filepath.Join(root, v.Path)}}, err
		},
	}, func(context.Context, in) (string, error) { return "seen", nil })
	gate, err := permission.New(permission.Options{Roots: []string{root}})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"alias": "credentials", "new": "credentials", "out/x": "outside of the workspace", "dir/dir/.env": "credentials",
		"a": "seen", "dir/a": "seen", "none/b": "seen",
	} {
		m := llmtest.New(t, llmtest.Call("Look", in{name}), llmtest.Say("ok"))
		a, err := agent.New(m, agent.Options{Tools: []tool.Tool{look}, Middleware: []agent.Middleware{gate.Middleware()}})
		if err != nil {
			t.Fatal(err)
		}
		s, err := session.Open(t.Context(), new(session.Memory), "s", session.OpenOptions{Create: true})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.Run(t.Context(), s, llm.Text{Text: "look"}); err != nil {
			t.Fatal(err)
		}
		got, err := json.Marshal(s.Messages())
		if err != nil || !strings.Contains(string(got), want) || want != "seen" && strings.Contains(string(got), "seen") {
			t.Errorf("%s: %s, want %q", name, got, want)
		}
	}
}

func BenchmarkSensitive(b *testing.B) {
	g, err := permission.New(permission.Options{Roots: []string{"/home/u/project"}})
	if err != nil {
		b.Fatal(err)
	}
	acc := []tool.Access{{Op: tool.Read, Target: "/home/u/project/internal/some/package/with/a/file.go"}}
	for b.Loop() {
		g.Decide(tool.Spec{Name: "Grep", ReadOnly: true}, acc)
	}
}
