//go:build unix

package walk_test

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/cantle-dev/cantle/internal/x/walk"
)

func TestPipesAreNeverTouched(t *testing.T) {
	dir := tree(t, t.TempDir(), "a", "d/")
	for _, name := range []string{"pipe", ".gitignore", "d/.gitignore"} {
		if err := syscall.Mkfifo(filepath.Join(dir, name), 0o644); err != nil {
			t.Skipf("no pipes here: %v", err)
		}
	}
	got, s := list(t, dir, walk.Options{Excludes: filepath.Join(dir, "pipe")})
	if len(got) != 1 || s.Special != 3 || s.Unreadable != 1 {
		t.Errorf("%q %+v", got, s)
	}
}
