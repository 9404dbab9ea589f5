package app_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/cantle-dev/cantle/internal/app"
	"github.com/cantle-dev/cantle/internal/config"
	"github.com/cantle-dev/cantle/llm/llmtest"
)

// eachSandbox runs a test in each of the sandboxes of this machine that are
// found by themselves.
func eachSandbox(t *testing.T, test func(t *testing.T, w *world)) {
	found := false
	for _, mode := range []string{"bubblewrap", "landlock", "seatbelt"} {
		if _, err := (app.Options{Config: &config.Config{Sandbox: config.Sandbox{Mode: mode}}}).Sandbox(t.Context()); err != nil {
			continue
		}
		found = true
		t.Run(mode, func(t *testing.T) {
			w := newWorld(t)
			w.dir = real(t, w.dir)
			w.change = func(o *app.Options) { o.Config.Sandbox.Mode = mode }
			test(t, w)
		})
	}
	if !found {
		t.Skip("there is no sandbox here")
	}
}

func real(t *testing.T, dir string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// also adds to what a world changes.
func (w *world) also(change func(*app.Options)) {
	was := w.change
	w.change = func(o *app.Options) { was(o); change(o) }
}

// TestNoFolderIsSwapped: a folder to write in that lies in another is not one
// that a command can turn into a link to anywhere, which the next could write.
func TestNoFolderIsSwapped(t *testing.T) {
	for name, where := range map[string]func(w *world) string{
		"a setting": func(w *world) string {
			dir := filepath.Join(w.dir, "a/b")
			w.write("a/b/x", "")
			w.also(func(o *app.Options) { o.Config.Sandbox.Write = []string{dir} })
			return dir
		},
		"a setting of what is not there": func(w *world) string {
			dir := filepath.Join(w.dir, "a/b")
			w.also(func(o *app.Options) { o.Config.Sandbox.Write = []string{dir} })
			return dir
		},
		"a directory": func(w *world) string {
			w.write("a/b/x", "")
			w.also(func(o *app.Options) { o.Config.Permissions.AdditionalDirectories = []string{"a/b"} })
			return filepath.Join(w.dir, "a/b")
		},
		"the cache": func(w *world) string {
			w.also(func(o *app.Options) {
				o.Getenv = func(name string) string {
					return map[string]string{"XDG_CACHE_HOME": filepath.Join(w.dir, "a")}[name]
				}
			})
			return filepath.Join(w.dir, "a/cantle/commands", config.ProjectID(w.dir))
		},
		"the folder for temporary files": func(w *world) string {
			w.write("a/x", "")
			w.t.Setenv("TMPDIR", filepath.Join(w.dir, "a"))
			return "${TMPDIR:?}"
		},
	} {
		t.Run(name, func(t *testing.T) {
			eachSandbox(t, func(t *testing.T, w *world) {
				outside := real(t, t.TempDir())
				if err := os.Mkdir(outside+"/dir", 0o755); err != nil {
					t.Fatal(err)
				}
				dir := where(w)
				w.write("swap", fmt.Sprintf("d=%[1]s; case $d in %[2]s/*) mv a a2; mkdir -p $(dirname $d) && ln -s %[3]s/dir $d;; *) rmdir $d; ln -s %[3]s/dir $d;; esac; echo done", dir, w.dir, outside))
				w.write("then", "echo evil >"+outside+"/dir/x; echo evil >$TMPDIR/y; echo done")
				got := w.bash(m{"command": "bash swap"}, m{"command": "bash then"})
				if name == "the cache" { // in another session; settings are an error there
					got = append(got, w.bash(m{"command": "bash then"})...)
				}
				if n := strings.Count(strings.Join(got, "\n"), "done"); n < 2 {
					t.Errorf("not all ran: %q", got)
				}
				for _, name := range []string{"x", "y"} {
					if _, err := os.Stat(outside + "/dir/" + name); err == nil {
						t.Errorf("it wrote outside: %q", got)
					}
				}
			})
		})
	}
}

// TestNoFolderThroughALink: a folder to write in is not found through a link in
// the workspace, which may have come with it.
func TestNoFolderThroughALink(t *testing.T) {
	for key, change := range map[string]func(o *app.Options){
		"permissions.additionalDirectories": func(o *app.Options) { o.Config.Permissions.AdditionalDirectories = []string{"data/x"} },
		"sandbox.write":                     func(o *app.Options) { o.Config.Sandbox.Write = []string{filepath.Join(o.Dir, "data/x")} },
	} {
		w := newWorld(t)
		outside := t.TempDir()
		if err := os.Mkdir(outside+"/x", 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(outside, filepath.Join(w.dir, "data")); err != nil {
			t.Fatal(err)
		}
		o := app.Options{Config: &config.Config{Model: app.DemoModel}, Home: w.home, Dir: real(t, w.dir), Getenv: func(string) string { return "" }}
		change(&o)
		a, err := app.New(t.Context(), o)
		if err == nil {
			a.Close()
		}
		if err == nil || !strings.Contains(err.Error(), key) || !strings.Contains(err.Error(), "symbolic link") || !strings.Contains(err.Error(), outside) {
			t.Errorf("%s: %v", key, err)
		}
	}
}

// TestOwnFolderIsKept: where the program's own folder could be made by commands,
// it is there, and they cannot write in it.
func TestOwnFolderIsKept(t *testing.T) {
	eachSandbox(t, func(t *testing.T, w *world) {
		w.also(func(o *app.Options) {
			o.Home, o.User, o.Session.None, o.Config.Sandbox.AutoAllow, o.Yes = filepath.Join(w.dir, ".cantle"), w.dir, true, true, false
		})
		w.write("script", "mkdir -p .cantle; echo '{}' >.cantle/settings.json; mv .cantle x; echo done")
		got := w.bash(m{"command": "bash script"})
		if _, err := os.Stat(filepath.Join(w.dir, ".cantle/settings.json")); err == nil {
			t.Errorf("it wrote the user's own settings: %q", got)
		}
	})
}

// TestWhatIsExposedIsAskedAbout: a command is not run without asking in a sandbox
// that does not keep from it what is the user's alone.
func TestWhatIsExposedIsAskedAbout(t *testing.T) {
	eachSandbox(t, func(t *testing.T, w *world) {
		own := t.TempDir()
		w.write(".ssh/id", "canary")
		w.also(func(o *app.Options) { o.User, o.Home, o.Config.Sandbox.AutoAllow, o.Yes = w.dir, own, true, false })
		if got := w.bash(m{"command": "cat .s*/id; echo ran"}); strings.Contains(got[0], "canary") {
			t.Errorf("it read what is hidden: %q", got)
		}
		w.also(func(o *app.Options) { o.Home = filepath.Join(w.dir, ".cantle") })
		if err := os.Symlink(own, filepath.Join(w.dir, ".cantle")); err != nil {
			t.Fatal(err)
		}
		w.write("script", "rm .cantle; mkdir .cantle; echo '{}' >.cantle/settings.json")
		if got := w.bash(m{"command": "bash script"}); !strings.HasPrefix(got[0], "Denied: ") {
			t.Errorf("it ran: %q", got)
		}
	})
}

// TestGitIsNotRedirected: a file that is not there, and by which git takes
// another configuration, cannot be made, nor is the command that makes it left.
func TestGitIsNotRedirected(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	eachSandbox(t, func(t *testing.T, w *world) {
		if strings.HasSuffix(t.Name(), "landlock") {
			t.Skip("Landlock keeps nothing in the workspace from writing, and says so")
		}
		canary := filepath.Join(t.TempDir(), "ran")
		git := func(args ...string) string {
			cmd := exec.Command("git", append([]string{"-C", w.dir}, args...)...)
			cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1"}
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("git %v: %v %s", args, err, out)
			}
			return string(out)
		}
		git("init", "-q")
		w.write("script", `cp -r .git evil; printf '[core]\n\trepositoryformatversion=0\n\tfsmonitor = "touch `+canary+`; false"\n' >evil/config
mkdir .git/commondir; rmdir .git/commondir; echo ../evil >.git/commondir; while :; do sleep 0.01; echo ../evil >.git/commondir; done`)
		got := w.bash(m{"command": "bash script"}, m{"command": "git status --short && echo fine"}, m{"command": "(setsid bash script &) ; echo left", "timeout_ms": 2000}, m{"command": "sleep 0.5; [ -e .git/commondir ] || echo gone"})
		if !strings.Contains(got[0], "commondir") || !strings.Contains(got[1], "fine") || !strings.Contains(got[3], "gone") {
			t.Errorf("%q", got)
		}
		git("status", "--short")
		if _, err := os.Stat(canary); err == nil {
			t.Errorf("git ran what a command wrote: %q", got)
		}
	})
}

// TestOddTemporaryFolders: commands have a temporary folder wherever TMPDIR leads.
func TestOddTemporaryFolders(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/file", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"relative": "x", "missing": dir + "/missing", "read-only": "/proc", "a file": dir + "/file", "a pattern": dir + "/[x-"} {
		t.Run(name, func(t *testing.T) {
			eachSandbox(t, func(t *testing.T, w *world) {
				if err := os.MkdirAll(dir+"/[x-", 0o700); err != nil {
					t.Fatal(err)
				}
				t.Setenv("TMPDIR", text)
				if got := w.bash(m{"command": "echo x >$TMPDIR/x && cat $TMPDIR/x"}); got[0] != "x" {
					t.Errorf("%q", got)
				}
			})
		})
	}
}

// TestAllMayBeWritten: where commands may write in all places for temporary
// files, these are where they usually are.
func TestAllMayBeWritten(t *testing.T) {
	eachSandbox(t, func(t *testing.T, w *world) {
		w.also(func(o *app.Options) {
			o.Config.Sandbox.Write = []string{"/tmp", "/var/tmp", os.TempDir()}
			o.Environ = append(o.Environ, "TMPDIR="+os.TempDir())
		})
		if got := w.bash(m{"command": "f=$(mktemp) && echo x >$f && cat $f; rm $f"}); got[0] != "x" {
			t.Errorf("%q", got)
		}
	})
}

// TestFoldersOfMany: programs that run at once take none of each other's folders
// for one that was left, and leave none.
func TestFoldersOfMany(t *testing.T) {
	base := t.TempDir()
	t.Setenv("TMPDIR", base)
	eachSandbox(t, func(t *testing.T, w *world) {
		left := filepath.Join(base, "cantle-commands-left")
		if err := os.MkdirAll(left+"/dir", 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(left+"/dir", 0o500); err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for range 12 {
			a, _ := w.open(llmtest.Call("Bash", m{"command": "echo x >$TMPDIR/x; sleep 0.1; cat $TMPDIR/x"}), llmtest.Say("ok").Want(llmtest.LastResult("x")))
			wg.Go(func() {
				say(t, a, "go")
				if err := a.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if list, err := filepath.Glob(base + "/cantle-commands-*"); err != nil || len(list) > 0 {
			t.Errorf("%v are left, %v", list, err)
		}
	})
}
