package config_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/internal/config"
)

func (f folder) settings() config.InProject { return config.InProject{Home: f.home, Dir: f.dir} }

// A file in a project is made for all who may read the project, and what the
// user writes into it counts at once.
func TestInProjectMakesTheFile(t *testing.T) {
	f := newFolder(t, nil)
	if err := f.settings().Add("permissions.allow", "Bash(make:*)"); err != nil {
		t.Fatal(err)
	}
	local := config.InProject{Home: f.home, Dir: f.dir, Local: true}
	if err := local.Set("model", "a:b"); err != nil {
		t.Fatal(err)
	}
	if c := f.load(); c.Model != "a:b" || !slices.Equal(c.Permissions.Allow, []string{"Bash(make:*)"}) || len(c.Warnings) != 0 || c.Trust.Level != config.Trusted {
		t.Errorf("%+v", c)
	}
	if runtime.GOOS != "windows" {
		umask := fs.FileMode(0o777)
		if err := os.Mkdir(f.path("x"), 0o755); err == nil {
			info, _ := os.Stat(f.path("x"))
			umask = info.Mode().Perm()
		}
		for name, want := range map[string]fs.FileMode{".cantle": 0o755, ".cantle/settings.json": 0o644, ".cantle/settings.local.json": 0o644} {
			if info, err := os.Stat(f.path(name)); err != nil || info.Mode().Perm() != want&umask {
				t.Errorf("%s: %v, %v", name, info.Mode(), err)
			}
		}
	}
	if list, err := os.ReadDir(f.path(".cantle")); err != nil || len(list) != 2 {
		t.Errorf("%v, %v", list, err)
	}
	if err := f.settings().Remove("permissions.allow", "Bash(make:*)"); err != nil || f.state().Level != config.Trusted {
		t.Errorf("%v: %+v", err, f.state())
	}
	if err := f.settings().Remove("permissions.allow", "x"); !errors.Is(err, config.ErrNotThere) {
		t.Errorf("got %v", err)
	}
}

// Nothing is written through a link that comes with a project.
func TestInProjectFollowsNoLink(t *testing.T) {
	for _, at := range []string{".cantle", ".cantle/settings.json"} {
		for _, dangling := range []bool{false, true} {
			f := newFolder(t, map[string]string{"../out/settings.json": "{}"})
			target := f.path("../out")
			if at != ".cantle" {
				target = filepath.Join(target, "settings.json")
			}
			if dangling {
				target += "-none"
			}
			f.link(target, at)
			if err := f.settings().Set("model", "a:b"); err == nil || !strings.Contains(err.Error(), "is a symbolic link that came with the project") {
				t.Errorf("%s: %v", at, err)
			}
			if got := content(t, f.path("../out/settings.json")); got != "{}" {
				t.Errorf("%s: it was written through: %s", at, got)
			}
			if _, err := os.Lstat(target); dangling && err == nil {
				t.Errorf("%s: %s was made", at, target)
			}
		}
	}
	f := newFolder(t, map[string]string{".cantle": "a file"})
	if err := f.settings().Set("model", "a:b"); err == nil || !strings.Contains(err.Error(), "is no folder") {
		t.Errorf("got %v", err)
	}
	f = newFolder(t, map[string]string{".cantle/settings.json/x": ""})
	if err := f.settings().Set("model", "a:b"); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("got %v", err)
	}
}

// Trust is renewed where it was there, and only for what was written.
func TestInProjectRenewsTrust(t *testing.T) {
	for name, w := range map[string]struct {
		before func(f folder)
		want   config.TrustLevel
	}{
		"trusted":     {func(f folder) { f.trust() }, config.Trusted},
		"never":       {func(folder) {}, config.Untrusted},
		"changed":     {func(f folder) { f.trust(); f.write(".cantle/hooks/evil", "x") }, config.Changed},
		"other trust": {func(f folder) { f.write(".cantle/hooks/evil", "x"); f.trust(); f.remove(".cantle/hooks/evil") }, config.Changed},
	} {
		f := newFolder(t, all())
		w.before(f)
		if err := f.settings().Add("permissions.allow", "Read"); err != nil {
			t.Fatal(err)
		}
		if s := f.state(); s.Level != w.want {
			t.Errorf("%s: %+v", name, s)
		}
		if c := f.load(); slices.Contains(c.Permissions.Allow, "Read") != (w.want == config.Trusted) {
			t.Errorf("%s: %+v", name, c)
		}
	}
	// With hooks in it that nobody has seen, a folder is not trusted for a rule.
	f := newFolder(t, map[string]string{".cantle/hooks/evil": "x"})
	if err := f.settings().Add("permissions.allow", "Read"); err != nil || f.state().Level != config.Untrusted {
		t.Errorf("%v: %+v", err, f.state())
	}
}

func TestInProjectRefuses(t *testing.T) {
	f := newFolder(t, map[string]string{".cantle/settings.json": "{}"})
	for key, value := range map[string]string{
		"providers.x.baseUrl": "http://127.0.0.1:1", "envPassthrough": "CI", "permissions.reviewer.model": "a:b", "web.allowPrivate": "true", "aliases.a": "b:c",
		"permissions": `{"reviewer": {"model": "a:b"}}`, "env.LD_PRELOAD": "x", "env.X": "${HOME}", "permissions.defaultMode": "bypassPermissions", "models.a:b": `{"price": {"input": 1, "output": 1}}`,
	} {
		if err := f.settings().Set(key, value); err == nil || !strings.Contains(err.Error(), "a project may") {
			t.Errorf("%s: %v", key, err)
		}
	}
	if err := f.settings().Set("maxTurns", "many"); err == nil || content(t, f.path(".cantle/settings.json")) != "{}" {
		t.Errorf("got %v", err)
	}
	f.write(".cantle/settings.json", strings.Repeat("[", 100))
	if err := f.settings().Set("maxTurns", "3"); err == nil || !strings.Contains(err.Error(), "more than 64") {
		t.Errorf("got %v", err)
	}
}

// A file that an editor began with a byte order mark is read, trusted and kept.
func TestByteOrderMark(t *testing.T) {
	f := newFolder(t, map[string]string{".cantle/settings.json": "\uFEFF{\n  \"maxTurns\": 3\n}\n"})
	if c := f.load(); c.MaxTurns != 3 {
		t.Errorf("%+v", c)
	}
	if err := f.settings().Set("model", "a:b"); err != nil {
		t.Fatal(err)
	}
	if got, want := content(t, f.path(".cantle/settings.json")), "\uFEFF{\n  \"maxTurns\": 3,\n  \"model\": \"a:b\"\n}\n"; got != want {
		t.Errorf("got %q", got)
	}
	if c := f.load(); c.Model != "a:b" {
		t.Errorf("%+v", c)
	}
	f.write(".cantle/settings.json", "\uFEFF{\n\"modle\": 1}")
	if _, err := config.Load(config.Sources{Home: f.home, Dir: f.dir, Getenv: func(string) string { return "" }}); err == nil || !strings.Contains(err.Error(), "settings.json:2: modle") {
		t.Errorf("got %v", err)
	}
}
