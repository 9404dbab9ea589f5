package app_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/agent"
	"github.com/cantle-dev/cantle/internal/app"
	"github.com/cantle-dev/cantle/internal/config"
	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/llmtest"
	"github.com/cantle-dev/cantle/sandbox"
)

func TestMain(m *testing.M) {
	sandbox.Main()
	os.Exit(m.Run())
}

// confines reports whether this machine has a sandbox, of which it gives the
// name.
func confines(t *testing.T) string {
	t.Helper()
	r, err := app.Options{Config: &config.Config{}}.Sandbox(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if r.Name == "none" || r.Name == "outer" {
		t.Skip(r)
	}
	return r.Name
}

// bash runs a command in a new app and gives what the model was told.
func (w *world) bash(input m, more ...m) []string {
	w.t.Helper()
	replies := []llmtest.Reply{llmtest.Call("Bash", input)}
	for _, in := range more {
		replies = append(replies, llmtest.Call("Bash", in))
	}
	var out []string
	for _, e := range w.run("go", append(replies, llmtest.Say("ok"))...)[1:] {
		text, _ := e.LastResult()
		out = append(out, text)
	}
	return out
}

// TestCommandsAreConfined: a command writes in the workspace and in a temporary
// folder that the next one finds; nowhere else, and it reaches nothing.
func TestCommandsAreConfined(t *testing.T) {
	name := confines(t)
	w := newWorld(t)
	user, outside := t.TempDir(), t.TempDir()
	write := func(name, text string) {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(user, ".ssh/id_rsa"), "canary")
	w.write(".git/hooks/x", "")
	write(filepath.Join(user, "diary"), "canary")
	w.change = func(o *app.Options) { o.User, o.Config.Sandbox.Hide = user, []string{"~/diary"} }
	script := filepath.Join(w.dir, "script")
	write(script, "#!/bin/sh\ncat "+user+"/.ssh/id_rsa "+user+"/diary\necho x >"+outside+"/x\nexec 3<>/dev/tcp/127.0.0.1/9\necho evil >.git/hooks/x\necho x >in && echo wrote\necho x >$TMPDIR/kept && echo $XDG_CACHE_HOME $GOCACHE\n")
	got := w.bash(m{"command": "bash script"}, m{"command": "cat $TMPDIR/kept; echo $TMPDIR"})
	if !strings.Contains(got[0], "wrote\n"+filepath.Join(user, ".cache")) || strings.Contains(got[0], "canary") {
		t.Error(got[0])
	}
	if _, err := os.Stat(filepath.Join(outside, "x")); err == nil {
		t.Error("it wrote outside")
	}
	if b, err := os.ReadFile(filepath.Join(w.dir, ".git/hooks/x")); name != "landlock" && (err != nil || len(b) > 0) {
		t.Errorf("it changed a hook: %q, %v", b, err)
	}
	kept, temp, _ := strings.Cut(got[1], "\n")
	if kept != "x" {
		t.Errorf("the temporary folder was not kept: %q", got[1])
	}
	if _, err := os.Stat(temp); err != nil && name == "landlock" || os.Getenv("TMPDIR") != "" && err != nil {
		t.Errorf("the temporary folder is gone before its session: %v", err)
	}
}

// TestOutsideIsAskedAbout: a model that wants to leave the sandbox needs a person,
// also where all else is answered yes.
func TestOutsideIsAskedAbout(t *testing.T) {
	confines(t)
	w := newWorld(t)
	outside := t.TempDir()
	command := "echo x >" + outside + "/x; echo done"
	w.change = func(o *app.Options) { o.Config.Permissions.AdditionalDirectories = []string{outside} }
	got := w.bash(m{"command": "true", "sandbox": "off"}, m{"command": command})
	if !strings.Contains(got[0], "outside of the sandbox") {
		t.Error(got[0])
	}
	if !strings.Contains(got[1], "done") { // a further directory is one to write in
		t.Error(got[1])
	}
}

// TestAutoAllow: with it, what stays in the sandbox runs with nobody to ask, and
// what leaves it does not.
func TestAutoAllow(t *testing.T) {
	confines(t)
	w := newWorld(t)
	w.change = func(o *app.Options) { o.Yes, o.Config.Sandbox.AutoAllow = false, true }
	got := w.bash(m{"command": "echo ran; touch made"}, m{"command": "curl http://127.0.0.1:9/"}, m{"command": "echo ran", "sandbox": "network"}, m{"command": "cat .env"})
	if got[0] != "ran" {
		t.Errorf("in the sandbox: %s", got[0])
	}
	for i, r := range got[1:] {
		if !strings.HasPrefix(r, "Denied: ") {
			t.Errorf("%d: it ran: %s", i+1, r)
		}
	}
}

// TestASandboxThatCannotBeHad is an error before anything runs, and names the
// setting.
func TestASandboxThatCannotBeHad(t *testing.T) {
	for mode, want := range map[string]string{"docker": "sandbox.image: the sandbox cannot be had: docker: no image was named", "seatbelt": "sandbox.mode: the sandbox cannot be had", "firejail": "there is no sandbox"} {
		o := app.Options{
			Config: &config.Config{Model: app.DemoModel, Sandbox: config.Sandbox{Mode: mode}},
			Home:   t.TempDir(), Dir: t.TempDir(), Getenv: func(string) string { return "" },
		}
		a, err := app.New(t.Context(), o)
		if err == nil {
			a.Close()
			t.Errorf("%s: no error", mode)
		} else if !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", mode, err)
		}
	}
}

// TestTheSandboxIsTold: front ends hear, once, in which sandbox commands run.
func TestTheSandboxIsTold(t *testing.T) {
	name := confines(t)
	w := newWorld(t)
	a, _ := w.open(llmtest.Call("Bash", m{"command": "true"}), llmtest.Call("Bash", m{"command": "true"}), llmtest.Say("ok"))
	n := 0
	for e, err := range a.Agent.Stream(t.Context(), a.Session, llm.Text{Text: "go"}).Events() {
		if err != nil {
			t.Fatal(err)
		}
		if c, ok := e.Data.(agent.Custom); ok && c.Kind == "sandbox" {
			if n++; !strings.Contains(string(c.Data), `"name":"`+name+`"`) {
				t.Errorf("%s", c.Data)
			}
		}
	}
	if n != 1 {
		t.Errorf("it was told %d times", n)
	}
}

// TestTrackedFilesStay: a file that a deny rule is for, and that git tracks, is
// not hidden, since git would take it for deleted; then nothing runs for being
// confined. One that git does not track is hidden.
func TestTrackedFilesStay(t *testing.T) {
	name := confines(t)
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not installed")
	}
	for _, tracked := range []bool{false, true} {
		w := &world{t: t, home: t.TempDir(), dir: t.TempDir()}
		w.write("secrets/k.txt", "canary\n")
		w.write("main.go", "package main\n")
		for _, args := range [][]string{{"init", "-q"}, {"add", "main.go"}, {"add", "secrets"}} {
			if args[1] == "secrets" && !tracked {
				w.write(".gitignore", "secrets\n.gitignore\n")
				continue
			}
			if out, err := exec.Command(git, append([]string{"-C", w.dir}, args...)...).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
		}
		w.change = func(o *app.Options) {
			o.Yes = false
			o.Config.Layers = []config.Layer{{Name: "user", Deny: []string{"Read(./secrets/**)"}, Allow: []string{"Bash(git status:*)"}}}
			o.Config.Sandbox.AutoAllow = true
		}
		w.write("read", "cat secrets/k.txt\n")
		got := w.bash(m{"command": "git status --short"}, m{"command": "sh read"})
		if strings.Contains(got[0], " D ") {
			t.Errorf("tracked %v: git sees %s", tracked, got[0])
		}
		switch {
		case strings.Contains(got[1], "canary"):
			t.Errorf("tracked %v: it was read: %s", tracked, got[1])
		case (tracked || name == "landlock") != strings.HasPrefix(got[1], "Denied: "):
			t.Errorf("tracked %v: %s", tracked, got[1])
		}
	}
}
