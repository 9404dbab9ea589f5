//go:build unix

package builtin_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cantle-dev/cantle/builtin"
	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/sandbox"
	"github.com/cantle-dev/cantle/sandbox/sandboxtest"
	"github.com/cantle-dev/cantle/tool"
)

func TestJobs(t *testing.T) {
	d := newDesk(t)
	if s := d.job(map[string]any{"action": "read", "id": "j1"}); s != "error: there are no jobs" {
		t.Error(s)
	}
	o := d.with(map[string]any{"command": "echo $$ >pid; seq 1 20000; trap '' TERM; while :; do sleep 300; done", "background": true})
	if o.Job != "j1" || o.took > time.Second || o.ExitCode != nil || !strings.HasPrefix(o.text, "[It runs in the background as job j1") {
		t.Fatalf("%q %+v", o.text, o.CommandDetail)
	}
	pid := d.pid()
	// All of it can be read, in pieces, though memory holds its end alone.
	var all strings.Builder
	sandboxtest.Until(t, "all output", func() bool {
		s := d.job(map[string]any{"action": "read", "id": "j1"})
		text, note, ok := strings.Cut(s, "\n[j1 has been running")
		if !ok || len(text) > 30_000 {
			t.Fatalf("%d bytes: …%q", len(text), s[max(0, len(s)-200):])
		}
		if text != "(no new output)" {
			all.WriteString(text)
			if !strings.Contains(note, "more to read") || strings.HasSuffix(text, "20000") {
				all.WriteByte('\n')
			}
		}
		return strings.HasSuffix(text, "20000")
	})
	var want strings.Builder
	for i := range 20000 {
		fmt.Fprintln(&want, i+1)
	}
	if strings.ReplaceAll(all.String(), "\n", "") != strings.ReplaceAll(want.String(), "\n", "") {
		t.Errorf("%d bytes were read, %d written", all.Len(), want.Len())
	}
	if s := d.job(map[string]any{"action": "wait", "id": "j1", "timeout_ms": 10}); !strings.HasPrefix(s, "(no new output)\n[j1 has been running") {
		t.Errorf("wait: %s", s)
	}
	for in, want := range map[string]string{
		`{"action":"kill"}`:                           "error: id is missing; the jobs are j1",
		`{"action":"kill","id":"j7"}`:                 `error: there is no job "j7"; the jobs are j1`,
		`{"action":"stop","id":"j1"}`:                 "error: invalid arguments",
		`{"action":"list","id":"j1"}`:                 "j1: has been running",
		`{"action":"read","job":"j1"}`:                "(no new output)",
		`{"action":"read","id":"j1","offset":108890}`: "000\n[j1 has",
	} {
		var m map[string]any
		if err := json.Unmarshal([]byte(in), &m); err != nil {
			t.Fatal(err)
		}
		if s := d.job(m); !strings.HasPrefix(s, want) {
			t.Errorf("%s: %s", in, s)
		}
	}
	began := time.Now()
	if s := d.job(map[string]any{"action": "kill", "id": "j1"}); !strings.Contains(s, "[j1 ended: terminated by SIGKILL; it was killed through Jobs; next offset 108894]") {
		t.Errorf("kill: %s", s)
	}
	if sandboxtest.Alive(pid) || time.Since(began) > 500*time.Millisecond {
		t.Errorf("alive %v after %v", sandboxtest.Alive(pid), time.Since(began))
	}
	if got := d.table.Finished(""); len(got) != 0 {
		t.Errorf("the model knows, and is told again: %+v", got)
	}
}

func TestJobTableEnd(t *testing.T) {
	d := newDesk(t)
	d.with(map[string]any{"command": "echo $$ >pid; exec sleep 300", "background": true})
	pid := d.pid()
	if err := d.table.Close(); err != nil {
		t.Error(err)
	}
	if sandboxtest.Alive(pid) || len(d.table.List("")) != 0 {
		t.Error("a job outlived its table")
	}
}

func TestJobsAreBounded(t *testing.T) {
	d := newDesk(t)
	for range 32 {
		d.with(map[string]any{"command": "sleep 300", "background": true})
	}
	if _, err := d.call(t.Context(), map[string]any{"command": "sleep 300", "background": true}); err == nil || !strings.Contains(err.Error(), "32 jobs are running") {
		t.Errorf("error %v", err)
	}
	if o := d.with(map[string]any{"command": "echo hi; sleep 300", "timeout_ms": 100}); !o.TimedOut || o.Job != "" || !strings.Contains(o.text, "was ended, since 32 jobs are running") {
		t.Errorf("%s", o.text)
	}
	if o := d.run("sleep 300 & echo hi"); o.Job != "" || !strings.Contains(o.text, "What it left running was ended") {
		t.Errorf("%s", o.text)
	}
	d.job(map[string]any{"action": "kill", "id": "j5"})
	if o := d.with(map[string]any{"command": "true", "background": true}); o.Job != "j33" {
		t.Errorf("%+v", o.CommandDetail)
	}
	if err := d.table.Close(); err != nil {
		t.Error(err)
	}
}

// slowRunner runs nothing: its one process ends when it is stopped.
type slowRunner struct {
	mu      sync.Mutex
	out     io.Writer
	stopped time.Time
	done    chan struct{}
}

func (r *slowRunner) Start(_ context.Context, c *sandbox.Command) (sandbox.Process, error) {
	if c.Stdout == nil {
		return nil, errors.New("no output")
	}
	r.out, r.done = c.Stdout, make(chan struct{})
	return r, nil
}
func (r *slowRunner) Info() sandbox.Info { return sandbox.Info{Name: "slow"} }
func (r *slowRunner) Close() error       { return nil }
func (r *slowRunner) PID() int           { return 1 }
func (r *slowRunner) PIDs() []int        { return nil }

func (r *slowRunner) Wait() (sandbox.Exit, error) {
	<-r.done
	return sandbox.Exit{Code: 137, Signal: "SIGKILL"}, nil
}
func (r *slowRunner) Done() <-chan struct{} { return r.done }

func (r *slowRunner) Stop(time.Duration) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopped.IsZero() {
		r.stopped = time.Now()
		close(r.done)
	}
	return nil
}

// With no time-out given, a silent command shows signs of life, becomes a job
// after the default and is ended at the cap.
func TestBashTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		run := &slowRunner{}
		table := builtin.NewJobs()
		bash := builtin.Bash(builtin.Options{Runner: run, Jobs: table})
		began := time.Now()
		var beats []time.Duration
		c := &tool.Call{Name: "Bash", Dir: "/", Input: input(map[string]any{"command": "silence"})}
		c.Progress = func(p llm.Part) {
			if !strings.HasPrefix(p.(llm.Text).Text, "[no output for ") {
				t.Errorf("shown %v", p)
			}
			beats = append(beats, time.Since(began))
		}
		res, err := tool.Run(t.Context(), bash, c)
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took != 120*time.Second {
			t.Errorf("returned after %v", took)
		}
		if len(beats) != 7 && len(beats) != 8 || beats[0] != 15*time.Second || beats[1] != 30*time.Second {
			t.Errorf("signs of life at %v", beats)
		}
		if s := res.Parts.Text(); s != "[It has not ended after 2m0s, and goes on in the background as job j1, for 30m0s at most. Read it, wait for it or kill it with Jobs.]" {
			t.Errorf("%s", s)
		}
		<-run.done
		if took := run.stopped.Sub(began); took != 30*time.Minute {
			t.Errorf("ended after %v", took)
		}
		synctest.Wait()
		got := table.Finished("")
		if len(got) != 1 || !strings.Contains(got[0].Status, "ended after 30m0s") {
			t.Errorf("%+v", got)
		}
	})
}

// What the descriptions say is what holds.
func TestBashAndJobsDescriptions(t *testing.T) {
	d := newDesk(t)
	size := 0
	for _, c := range []struct {
		tool tool.Tool
		want []string
	}{
		{d.bash, []string{"more than 30000 bytes", "120000 ms unless", "600000 at most", "after 30 minutes", `"maximum":600000`}},
		{d.jobs, []string{"30000 unless given", "600000 at most", "At most 32 jobs", `"maximum":600000`}},
	} {
		s := c.tool.Spec()
		text := s.Description + string(s.Input)
		size += len(text)
		for _, w := range c.want {
			if !strings.Contains(text, w) {
				t.Errorf("%s does not say %q", s.Name, w)
			}
		}
	}
	if size > 3000 {
		t.Errorf("they take %d bytes", size)
	}
	t.Logf("%d bytes", size)
	// The bounds themselves: what is just allowed is whole, one more is not.
	if o := d.run("head -c 30000 /dev/zero | tr '\\0' x"); o.Truncated || len(o.text) != 30000 {
		t.Errorf("%d bytes, truncated %v", len(o.text), o.Truncated)
	}
	if o := d.run("head -c 30001 /dev/zero | tr '\\0' x"); !o.Truncated {
		t.Error("30001 bytes are shown whole")
	}
	if _, err := d.call(t.Context(), map[string]any{"command": "true", "timeout_ms": 600001}); err == nil {
		t.Error("a time-out beyond the bound was taken")
	}
	if strings.Contains(d.bash.Spec().Description, "setsid may survive") == (runtime.GOOS == "linux") {
		t.Error("what may survive is not said truly")
	}
}
