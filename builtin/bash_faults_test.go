//go:build unix

package builtin_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cantle-dev/cantle/builtin"
	"github.com/cantle-dev/cantle/sandbox"
	"github.com/cantle-dev/cantle/sandbox/sandboxtest"
)

// TestBashNeverHangs has what has hung, lost or misread commands in agents.
// Each returns at once, with what it printed and how it ended.
func TestBashNeverHangs(t *testing.T) {
	for _, c := range []struct {
		name, command string
		text          string // the result begins so
		code          int
		left          bool // a process goes on, as a job
	}{
		{"a child holds the pipes", "sleep 300 & echo done", "done\n[It left running", 0, true},
		{"a child goes on printing", "while :; do echo tick; sleep 0.2; done & sleep 0.1", "tick\n", 0, true},
		{"a child floods", "yes >&2 & sleep 0.05", "y\ny\n", 0, true},
		{"a child in a session of its own", "setsid sleep 300 & echo done", "done\n[It left running", 0, true},
		{"a disowned child", "sleep 300 & disown; echo done", "done\n[It left running", 0, true},
		{"no output", "false", "(no output)\n[exit code 1]", 1, false},
		{"no terminal", "cat </dev/tty", "", 1, false},
		{"an editor", `$GIT_EDITOR file`, "(no output)\n[exit code 1]", 1, false},
		{"a visual editor", `$VISUAL file || $EDITOR file`, "(no output)\n[exit code 1]", 1, false},
		{"a sequence editor changes nothing", `$GIT_SEQUENCE_EDITOR todo`, "(no output)\n[exit code 1]", 1, false},
		{"a pager", `echo paged | $GIT_PAGER`, "paged", 0, false},
		{"input", "read x; echo [$x]; cat; echo end", "[]\nend", 0, false},
		{"much on the error stream first", "yes 0123456789 | head -c 1000000 >&2; echo end", "0123456789\n", 0, false},
		{"a signal is no time-out", "kill -TERM $$", "(no output)\n[terminated by SIGTERM]", 143, false},
		{"an exit code like a signal's is one", "exit 143", "(no output)\n[exit code 143]", 143, false},
		{"output that is no text, and failure", `printf '\377\376'; exit 3`, "\uFFFD\n[exit code 3]", 3, false},
		{"a trap", "trap 'echo bye' EXIT; echo hi", "hi\nbye", 0, false},
		{"a closed output", "exec >&- 2>&-; sleep 0.05; exit 4", "(no output)\n[exit code 4]", 4, false},
		{"a stopped child", "(kill -STOP $BASHPID) & sleep 0.05; echo end", "end\n[It left running", 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDesk(t)
			o := d.run(c.command)
			if o.took > 2*time.Second {
				t.Errorf("took %v", o.took)
			}
			if !strings.HasPrefix(o.text, c.text) || o.ExitCode == nil || *o.ExitCode != c.code || o.TimedOut || (o.Job != "") != c.left {
				t.Errorf("%.300q %+v", o.text, o.CommandDetail)
			}
			if !c.left {
				return
			}
			pids := d.table.List("")[0].PIDs
			if err := d.table.Close(); err != nil {
				t.Error(err)
			}
			for _, pid := range pids {
				if sandboxtest.Alive(pid) {
					t.Errorf("process %d is left", pid)
				}
			}
		})
	}
}

// The time-out of a command with children ends none of them alone: all become
// the job, and all end with it.
func TestBashTimeOutAndChildren(t *testing.T) {
	d := newDesk(t)
	o := d.with(map[string]any{"command": "bash -c 'echo $$ >pid; sleep 300; echo no' | cat", "timeout_ms": 100})
	pid := d.pid()
	if !o.TimedOut || o.Job == "" || !sandboxtest.Alive(pid) {
		t.Fatalf("%+v", o.CommandDetail)
	}
	pids := d.table.List("")[0].PIDs
	if len(pids) < 3 {
		t.Errorf("processes %v", pids)
	}
	if s := d.job(map[string]any{"action": "kill", "id": o.Job}); strings.Contains(s, "no\n") {
		t.Error(s)
	}
	for _, pid := range pids {
		if sandboxtest.Alive(pid) {
			t.Errorf("process %d is left", pid)
		}
	}
}

// What a program leaves when its runner is closed is nothing: the job of a run
// without a user must not keep the program.
func TestJobsEndWithTheRunner(t *testing.T) {
	run := sandbox.Local(sandbox.LocalOptions{})
	d := newDesk(t, func(o *builtin.Options) { o.Runner = run })
	d.with(map[string]any{"command": "trap '' TERM HUP; echo $$ >pid; while :; do sleep 300; done", "background": true})
	pid := d.pid()
	began := time.Now()
	if err := run.Close(); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > 2*time.Second || sandboxtest.Alive(pid) {
		t.Errorf("alive %v after %v", sandboxtest.Alive(pid), took)
	}
	if _, err := d.call(t.Context(), map[string]any{"command": "true"}); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("after the end: %v", err)
	}
}

// A command has no file of its own outside of what it writes: nothing is left
// behind when it ends, is ended, or is cancelled.
func TestBashLeavesNoFiles(t *testing.T) {
	tmp := t.TempDir()
	d := newDesk(t, func(o *builtin.Options) { o.Environ = []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + tmp} })
	d.run("echo hi")
	d.run("exit 3")
	if o := d.with(map[string]any{"command": "sleep 300", "timeout_ms": 50}); o.Job != "" {
		d.job(map[string]any{"action": "kill", "id": o.Job})
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := d.call(ctx, map[string]any{"command": "sleep 300"}); err == nil {
		t.Error("a cancelled command gave a result")
	}
	for _, dir := range []string{tmp, d.dir, d.out} {
		if ents, err := os.ReadDir(dir); err == nil && len(ents) > 0 {
			t.Errorf("left in %s: %v", filepath.Base(dir), ents)
		}
	}
}

// A job's output can be read while it runs, and asking again is no loop.
func TestJobsReadWhileTheyRun(t *testing.T) {
	d := newDesk(t)
	if !d.jobs.Spec().Polls {
		t.Error("asking for a job again and again would be taken for a loop")
	}
	d.with(map[string]any{"command": "echo one; until [ -e go ]; do sleep 0.01; done; echo two; sleep 300", "background": true})
	read := func(want string) {
		t.Helper()
		sandboxtest.Until(t, want, func() bool {
			return strings.HasPrefix(d.job(map[string]any{"action": "read", "id": "j1"}), want+"\n[j1 has been running")
		})
	}
	read("one")
	if err := os.WriteFile(filepath.Join(d.dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	read("two")
}
