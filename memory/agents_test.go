package memory_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/memory"
)

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestChain(t *testing.T) {
	top := t.TempDir()
	p := filepath.Join(top, "p")
	write(t, filepath.Join(top, "AGENTS.md"), "above the project")
	write(t, filepath.Join(top, "home", "AGENTS.md"), "user")
	write(t, filepath.Join(p, ".git", "HEAD"), "x")
	write(t, filepath.Join(p, "AGENTS.md"), "root")
	write(t, filepath.Join(p, "CLAUDE.md"), "not this one")
	write(t, filepath.Join(p, "sub", "CLAUDE.md"), "sub "+strings.Repeat("é", memory.MaxFile))
	write(t, filepath.Join(p, "sub", "AGENTS.local.md"), "local")
	write(t, filepath.Join(top, "secret"), "secret")
	if err := os.Symlink(filepath.Join(top, "secret"), filepath.Join(p, "AGENTS.local.md")); err != nil {
		t.Skip("no symbolic links here: ", err)
	}
	files, err := memory.Instructions(memory.Options{Home: filepath.Join(top, "home"), Dir: filepath.Join(p, "sub")})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range files {
		first, _, _ := strings.Cut(f.Text, " ")
		got = append(got, first)
	}
	if s := strings.Join(got, ","); s != "user,root,sub,local" {
		t.Errorf("got %s", s)
	}
	sec := memory.Section(files)
	if !files[2].Cut || !strings.Contains(sec, "cut after") || strings.Contains(sec, "\uFFFD") || strings.Contains(sec, "secret") {
		t.Error("the long file was not cut well")
	}
}

func TestLinksThatLeadNowhere(t *testing.T) {
	for name, target := range map[string]string{"circle": "AGENTS.md", "through a file": "f/x", "gone": "gone"} {
		p := t.TempDir()
		write(t, filepath.Join(p, "f"), "a file")
		write(t, filepath.Join(p, "CLAUDE.md"), "the other")
		if err := os.Symlink(target, filepath.Join(p, "AGENTS.md")); err != nil {
			t.Skip("no symbolic links here: ", err)
		}
		files, err := memory.Instructions(memory.Options{Dir: p})
		if err != nil || len(files) != 1 || files[0].Text != "the other" {
			t.Errorf("%s: %+v, %v", name, files, err)
		}
	}
}
