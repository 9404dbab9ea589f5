package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/internal/config"
)

// TestProjectOfASubfolder: what a project restricts holds in the folders below
// it, up to the root of its repository and no further.
func TestProjectOfASubfolder(t *testing.T) {
	top, home := t.TempDir(), t.TempDir()
	write := func(name, text string) {
		t.Helper()
		name = filepath.Join(top, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(".cantle/settings.json", `{"permissions": {"deny": ["Bash(top:*)"]}}`) // outside of the repository
	write("repo/.git/HEAD", "ref: refs/heads/main\n")
	write("repo/.cantle/settings.json", `{"permissions": {"deny": ["Bash(rm:*)"]}}`)
	write("repo/a/b/x", "")
	write("repo/own/.cantle/settings.local.json", `{"permissions": {"deny": ["Bash(own:*)"]}}`)
	write("repo/own/c/x", "")
	write("plain/d/x", "")
	for dir, want := range map[string]struct{ project, deny, warning string }{
		"repo":       {"repo", "Bash(rm:*)", ""},
		"repo/a/b":   {"repo", "Bash(rm:*)", ""},
		"repo/own":   {"repo/own", "Bash(own:*)", "do not hold"},
		"repo/own/c": {"repo/own", "Bash(own:*)", "do not hold"},
		"plain/d":    {"plain/d", "", ""},
		"":           {"", "Bash(top:*)", ""},
	} {
		c, err := config.Load(config.Sources{Home: home, Dir: filepath.Join(top, dir), Getenv: func(string) string { return "" }})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(c.Permissions.Deny, " "); got != want.deny || c.Project != filepath.Join(top, want.project) {
			t.Errorf("in %q: project %s, deny %q", dir, c.Project, got)
		}
		if got := strings.Join(c.Warnings, "\n"); (want.warning == "") != (got == "") || !strings.Contains(got, want.warning) {
			t.Errorf("in %q: warnings %q", dir, got)
		}
	}
	// The user's own folder is no project's, wherever it lies.
	write("repo/.git/HEAD", "x")
	if got := config.ProjectDir(filepath.Join(top, "repo", ".cantle"), filepath.Join(top, "repo", "a")); got != filepath.Join(top, "repo", "a") {
		t.Errorf("the user's own folder is taken for a project's: %s", got)
	}
}
