package jsonl_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/cantle-dev/cantle/session"
)

// TestReadOnlyFolder reads, lists and searches sessions in a folder that may
// not be written to; what writes says why it cannot.
func TestReadOnlyFolder(t *testing.T) {
	dir := t.TempDir()
	closed(t, begin(t, open(t, dir), "a"))
	if os.Getuid() == 0 { // who may write anywhere, until this thread is another's
		if err := errors.Join(os.Chmod(filepath.Dir(dir), 0o755), os.Chown(filepath.Join(dir, "s.jsonl"), 65534, 65534)); err != nil {
			t.Fatal(err)
		}
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if err := syscall.Setfsuid(65534); err != nil {
			t.Skipf("another user's rights cannot be taken on: %v", err)
		}
		defer func() {
			if err := syscall.Setfsuid(0); err != nil {
				t.Error(err)
			}
		}()
	}
	if err := os.Chmod(dir, 0o500); err == nil {
		defer func() { _ = os.Chmod(dir, 0o700) }() // else the test's folder stays
	} else if os.Getuid() != 0 {
		t.Fatal(err)
	}
	st := open(t, dir)
	s, err := session.Open(t.Context(), st, "s", session.OpenOptions{ReadOnly: true})
	if err != nil || texts(s) != "a" {
		t.Fatalf("reading: %v", err)
	}
	if l := list(t, st); len(l) != 1 || l[0].Err != "" {
		t.Errorf("listed %+v", l)
	}
	n := 0
	for _, err := range st.Search(t.Context(), "a") {
		if err != nil {
			t.Error(err)
		}
		n++
	}
	if n != 1 {
		t.Errorf("found %d", n)
	}
	if _, err := session.Open(t.Context(), st, "s", session.OpenOptions{}); !errors.Is(err, os.ErrPermission) {
		t.Errorf("opened to be written to: %v", err)
	}
	if _, err := session.Open(t.Context(), st, "new", session.OpenOptions{Create: true}); !errors.Is(err, os.ErrPermission) {
		t.Errorf("begun: %v", err)
	}
	if _, err := st.Salvage(t.Context(), "s", "new"); !errors.Is(err, os.ErrPermission) {
		t.Errorf("salvaged: %v", err)
	}
	if err := st.Delete(t.Context(), "s"); !errors.Is(err, os.ErrPermission) {
		t.Errorf("deleted: %v", err)
	}
}
