package builtin_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cantle-dev/cantle/tool"
)

// makeTree writes files, by name, into a new directory.
func makeTree(t testing.TB, files map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		full := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// age makes files older, the first named the newest.
func age(t testing.TB, dir string, names ...string) {
	t.Helper()
	for i, n := range names {
		when := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(-time.Duration(i) * time.Hour)
		if err := os.Chtimes(filepath.Join(dir, n), when, when); err != nil {
			t.Fatal(err)
		}
	}
}

// find runs a tool as the loop does: what it would touch, then the call.
func find(t testing.TB, tl tool.Tool, dir, input string, check func(tool.Access) error) (*tool.Result, error) {
	t.Helper()
	c := &tool.Call{Name: tl.Spec().Name, Input: json.RawMessage(input), Dir: dir, Check: check}
	access, err := tl.Spec().Access(t.Context(), c)
	if err != nil {
		return nil, err
	}
	if len(access) == 0 || access[0].Op != tool.Read || !filepath.IsAbs(access[0].Target) {
		t.Fatalf("access %v", access)
	}
	c.Access = access
	return tool.Run(t.Context(), tl, c)
}

func text(t testing.TB, r *tool.Result, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return r.Parts.Text()
}

// deny refuses everything whose path holds what.
func deny(what string) func(tool.Access) error {
	return func(a tool.Access) error {
		if strings.Contains(a.Target, what) {
			return errors.New("denied")
		}
		return nil
	}
}

// cancelled runs a call whose context has ended.
func cancelled(t testing.TB, tl tool.Tool, dir, input string) error {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := tool.Run(ctx, tl, &tool.Call{Name: tl.Spec().Name, Input: json.RawMessage(input), Dir: dir})
	return err
}
