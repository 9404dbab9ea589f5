//go:build unix

package owntemp_test

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/cantle-dev/cantle/internal/x/owntemp"
)

// TestMake: what nobody holds goes, what somebody holds stays, and what is no
// folder, or a link to one, is not touched; also where many are at it.
func TestMake(t *testing.T) {
	base, other := t.TempDir(), t.TempDir()
	if err := os.WriteFile(other+"/kept", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if err := os.Mkdir(filepath.Join(base, "own-left"), 0o700); err != nil && !os.IsExist(err) {
			t.Fatal(err)
		}
		_ = os.WriteFile(base+"/own-file", nil, 0o600) // it may be there
		_ = os.Symlink(other, base+"/own-link")        // likewise
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				dir, release, err := owntemp.Make(base, "own-", os.RemoveAll)
				if err != nil {
					t.Error(err)
					return
				}
				defer release()
				if err := os.WriteFile(dir+"/x", nil, 0o600); err != nil {
					t.Error(err)
				}
				if _, second, err := owntemp.Make(base, "own-", os.RemoveAll); err != nil {
					t.Error(err)
				} else {
					second()
				}
				if _, err := os.Stat(dir + "/x"); err != nil {
					t.Errorf("one that is held was removed: %v", err)
				}
				if fi, err := os.Stat(dir); err != nil || fi.Mode().Perm() != 0o700 {
					t.Errorf("%v %v", fi, err)
				}
				if err := os.RemoveAll(dir); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if _, err := os.Stat(base + "/own-left"); err == nil {
			t.Error("one that was left is there")
		}
	}
	for _, name := range []string{other + "/kept", base + "/own-file", base + "/own-link"} {
		if _, err := os.Lstat(name); err != nil {
			t.Error(err)
		}
	}
}
