//go:build unix

package sandbox_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/cantle-dev/cantle/sandbox"
)

// TestRemoveTemp removes what commands may leave: links to what is not theirs,
// read-only directories, names that are no text.
func TestRemoveTemp(t *testing.T) {
	base := t.TempDir()
	temp, kept := filepath.Join(base, "temp"), filepath.Join(base, "kept")
	cmd := exec.Command("/bin/sh", "-ec", `mkdir temp kept kept/ro; echo kept >kept/file; chmod 555 kept/ro
cd temp; ln -s ../kept link; mkdir a a/b a/b/c; ln -s "$PWD/../kept" a/b/up; ln -s ../../../kept/ro a/b/ro; ln -s . loop; ln ../kept/file hard
mkfifo pipe; echo x >a/b/c/x; echo x >"$(printf 'a\nb\377')"; chmod 400 a/b/c/x; chmod 555 a/b/c a/b; chmod 000 a`)
	cmd.Dir = base
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	if err := sandbox.RemoveTemp(temp); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(temp); !os.IsNotExist(err) {
		t.Error("it is left")
	}
	fi, err := os.Stat(kept + "/ro")
	if err != nil || fi.Mode().Perm() != 0o555 {
		t.Errorf("%v %v", fi, err)
	}
	if b, err := os.ReadFile(kept + "/file"); err != nil || string(b) != "kept\n" {
		t.Errorf("%q %v", b, err)
	}
	// The folder itself is a link, or not there.
	if err := os.Symlink(kept, temp); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := sandbox.RemoveTemp(temp); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(kept + "/file"); err != nil {
		t.Error(err)
	}
	if err := os.Chmod(kept+"/ro", 0o700); err != nil {
		t.Fatal(err)
	}
}
