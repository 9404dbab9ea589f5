//go:build unix

package gitconfig_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/cantle-dev/cantle/permission/internal/gitconfig"
)

// TestHostileFiles has nothing that blocks, fills the memory, or passes for
// nothing.
func TestHostileFiles(t *testing.T) {
	for name, put := range map[string]func(string) error{
		"pipe":      func(p string) error { return syscall.Mkfifo(p, 0o644) },
		"directory": func(p string) error { return os.Mkdir(p, 0o755) },
		"device":    func(p string) error { return os.Symlink("/dev/zero", p) },
		"large":     func(p string) error { return os.WriteFile(p, make([]byte, 2<<20), 0o644) },
	} {
		dir := t.TempDir()
		repository(t, filepath.Join(dir, ".git"), "")
		p := filepath.Join(dir, ".git", "config")
		if err := os.Remove(p); err != nil {
			t.Fatal(err)
		}
		if err := put(p); err != nil {
			t.Fatal(err)
		}
		found := gitconfig.Runs(dir)
		if len(found) != 1 || found[0].When != gitconfig.Reading {
			t.Errorf("%s: %v", name, found)
		}
	}
	dir := t.TempDir()
	repository(t, filepath.Join(dir, ".git"), strings.Repeat("[core]\nfsmonitor=x\n", 5000))
	if n := len(gitconfig.Runs(dir)); n == 0 || n > 20 {
		t.Errorf("%d settings", n)
	}
}
