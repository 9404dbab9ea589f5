package permission_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/permission"
)

// made makes files, and folders where a name ends in a slash.
func made(t testing.TB, base string, names ...string) {
	t.Helper()
	for _, n := range names {
		p := filepath.Join(base, n)
		dir := filepath.Dir(p)
		if strings.HasSuffix(n, "/") {
			dir = p
		}
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if dir != p {
			if err := os.WriteFile(p, []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// relative is paths from base, those elsewhere as they are.
func relative(base string, paths []string) []string {
	out := make([]string, len(paths))
	for i, p := range paths {
		out[i] = strings.TrimPrefix(p, base+"/")
	}
	return out
}

func TestWhatASandboxHides(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	made(t, base, "h/.ssh/id", "h/.aws/x", "h/.netrc", "h/.config/gh/hosts.yml", "h/.config/nvim/init.lua", "h/.config/google-chrome-beta/x", "h/.bash_history",
		"h/pass.kdbx", "h/.env", "h/.env.example", "h/notes", "h/.bashrc", "h/.cantle/settings.json", "h/.cantle/skills/s/run.sh", "h/.cantle/credentials/a",
		"w/safe/k", "w/a[1]", "w/plain", "w/sub/plain", "w/x.key", "w/ro", "w/.env", "out/a/b", "out/c")
	g, err := permission.New(permission.Options{
		Roots: []string{base + "/w", base + "/out/a"}, Home: base + "/h", Own: base + "/h/.cantle", ReadRoots: []string{base + "/h/.cantle/skills"},
		Rules: permission.Rules{
			Deny:  []string{"Read(safe/**)", `Read(/a\[1\])`, "Read(plain)", "Read(*.key)", "Edit(ro)", "Read(none/x)", "Read(/" + base + "/out)", "Grep(~/notes)", "Read(//**/zzz)", "Bash(rm:*)", "Read"},
			Allow: []string{"Read(safe/**)"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"h/.aws", "h/.bash_history", "h/.cantle/credentials", "h/.cantle/settings.json", "h/.config/gh", "h/.config/google-chrome-beta", "h/.env", "h/.netrc", "h/.ssh",
		"h/notes", "h/pass.kdbx", "out/c", "w/a[1]", "w/plain", "w/safe",
	}
	if got := relative(base, g.Hidden()); !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
	// What comes later counts from then on, and so does what is denied later.
	made(t, base, "h/.kube/config", "w/late")
	if err := g.Update("s", permission.Update{Type: permission.AddRules, Behavior: permission.Deny, Rules: []string{"Read(late)"}}); err != nil {
		t.Fatal(err)
	}
	got := relative(base, g.Hidden())
	if !slices.Contains(got, "h/.kube") || !slices.Contains(got, "w/late") {
		t.Errorf("%q", got)
	}
}

func TestWhatASandboxProtects(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	made(t, base, "w/.git/hooks/", "w/.git/config", "w/.git/objects/", "w/.git/HEAD", "w/.git/modules/sub/hooks/", "w/.git/modules/sub/config", "w/.git/worktrees/x/config.worktree",
		"w/.cantle/settings.json", "w/.vscode/tasks.json", "w/.github/workflows/ci.yml", "w/.github/CODEOWNERS", "w/Jenkinsfile", "w/.mcp.json", "w/.env", "w/src/a.go",
		"w/vendor/x", "w/deep/vendor/x", "v/.git", "v/.husky/x", "w/.hg/hgrc", "w/.hg/store/", "w/etc/x", "w/keep/a")
	g, err := permission.New(permission.Options{
		Roots: []string{base + "/w", base + "/v"}, Home: base + "/h",
		Rules: permission.Rules{Deny: []string{"Edit(/vendor/**)", "Edit(none)", "Edit(*.lock)", "Edit(//usr/**)", "Write(keep/a)", "Read(src)"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"v/.git", "v/.husky", "w/.cantle", "w/.git/config", "w/.git/hooks", "w/.git/modules/sub/config", "w/.git/modules/sub/hooks", "w/.git/worktrees/x/config.worktree",
		"w/.github/workflows", "w/.hg/hgrc", "w/.mcp.json", "w/.vscode", "w/Jenkinsfile", "w/keep/a", "w/vendor",
	}
	if got := relative(base, g.Protected()); !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
	made(t, base, "w/.idea/x")
	if got := relative(base, g.Protected()); !slices.Contains(got, "w/.idea") {
		t.Errorf("%q", got)
	}
	made(t, base, "h/.bashrc", "h/.local/bin/x", "h/.config/x", "h/notes/x")
	g, err = permission.New(permission.Options{Roots: []string{base + "/v"}, Home: base + "/h", Sandbox: &permission.Sandbox{Write: []string{base + "/h"}}})
	if err != nil {
		t.Fatal(err)
	}
	if got := relative(base, g.Protected()); !slices.Equal(got, []string{"h/.bashrc", "h/.config", "h/.local/bin", "v/.git", "v/.husky"}) {
		t.Errorf("%q", got)
	}
	// Whoever may write nothing at all writes nothing in a sandbox either.
	g, err = permission.New(permission.Options{Roots: []string{base + "/w"}, Rules: permission.Rules{Deny: []string{"Edit(/**)"}}})
	if err != nil {
		t.Fatal(err)
	}
	if got := g.Protected(); !slices.Equal(got, []string{base + "/w"}) {
		t.Errorf("%q", got)
	}
}

func BenchmarkConfine(b *testing.B) {
	base := b.TempDir()
	made(b, base, "h/.ssh/id", "h/.aws/x", "h/.config/gh/x", "h/.config/nvim/x", "h/.cargo/registry/x", "h/.local/share/x", "w/.git/hooks/", "w/.git/config", "w/.github/workflows/x", "h/.cantle/x")
	for i := range 150 {
		made(b, base, "h/file"+string(rune('a'+i%26))+strings.Repeat("x", i/26), "h/.config/app"+strings.Repeat("y", i%40)+"/")
	}
	g, err := permission.New(permission.Options{Roots: []string{base + "/w"}, Home: base + "/h", Own: base + "/h/.cantle", Rules: permission.Rules{Deny: []string{"Read(safe/**)", "Edit(/vendor)"}}})
	if err != nil {
		b.Fatal(err)
	}
	b.Run("hidden", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			g.Hidden()
		}
	})
	b.Run("protected", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			g.Protected()
		}
	})
}
