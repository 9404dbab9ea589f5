package builtin_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/cantle-dev/cantle/builtin"
)

// Readers see the old content or the new and never a part of either.
func TestWriteFileIsAtomic(t *testing.T) {
	b := newBench(t)
	fsys := builtin.LocalFS()
	texts := map[string]bool{strings.Repeat("a", 200_000): true, strings.Repeat("b", 100_000): true}
	path := b.path("f")
	var first string
	for s := range texts {
		first = s
	}
	if err := fsys.WriteFile(path, []byte(first), 0o644); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			if got, err := os.ReadFile(path); err != nil || !texts[string(got)] {
				t.Errorf("%d bytes, %v", len(got), err)
				return
			}
		}
	})
	for range 20 {
		for s := range texts {
			if err := fsys.WriteFile(path, []byte(s), 0o644); err != nil {
				t.Error(err)
			}
		}
	}
	close(done)
	wg.Wait()
	if left, err := os.ReadDir(b.dir); err != nil || len(left) != 1 {
		t.Errorf("%v, %v", left, err)
	}
}

// A path that is swapped for a link again and again while it is read and
// written never leads out.
func TestNothingLeadsOutWhileAPathIsSwapped(t *testing.T) {
	b := newBench(t)
	outside, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{b.path("real"), outside} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	secret := filepath.Join(outside, "f")
	if err := os.WriteFile(secret, []byte("secret"), 0o644); err != nil {
		t.Fatal(err)
	}
	b.write("real/f", "mine")
	if err := os.Symlink(outside, b.path("link")); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			// d is the directory for a while, and then the link.
			_ = os.Rename(b.path("real"), b.path("d"))
			_ = os.Rename(b.path("d"), b.path("real"))
			_ = os.Rename(b.path("link"), b.path("d"))
			_ = os.Rename(b.path("d"), b.path("link"))
		}
	})
	fsys := builtin.LocalFS()
	path := b.path("d/f")
	for range 2000 {
		if f, err := fsys.Open(path); err == nil {
			var buf [16]byte
			n, _ := f.Read(buf[:])
			f.Close()
			if string(buf[:n]) == "secret" {
				t.Error("what lies outside was read")
			}
		}
	}
	for range 200 {
		_ = fsys.WriteFile(path, []byte("mine"), 0o644)
		_ = fsys.MkdirAll(b.path("d/new"), 0o755)
	}
	close(done)
	wg.Wait()
	if got, err := os.ReadFile(secret); err != nil || string(got) != "secret" {
		t.Errorf("what lies outside became %q, %v", got, err)
	}
	if es, err := os.ReadDir(outside); err != nil || len(es) != 1 {
		t.Errorf("outside there is %v, %v", es, err)
	}
}
