//go:build unix

package sandboxtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cantle-dev/cantle/sandbox"
)

// Buffer is a bytes.Buffer that is safe for concurrent use.
type Buffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// patience bounds what should take no time, on a busy machine.
const patience = 10 * time.Second

// Until polls cond, and fails the test when it does not come true.
func Until(t testing.TB, what string, cond func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); !cond(); <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("%s: not within %v", what, patience)
		}
	}
}

// Alive reports whether a process runs; one that only waits to be reaped does
// not.
func Alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		_, err := os.Stat("/proc/self/stat")
		return err != nil // no /proc: the signal's word counts
	}
	f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	return f[0] != "Z" && f[0] != "X"
}

// ReadPID waits for a number in a file.
func ReadPID(t testing.TB, file string) int {
	t.Helper()
	var pid int
	Until(t, "a pid in "+filepath.Base(file), func() bool {
		b, err := os.ReadFile(file)
		if err != nil || !bytes.HasSuffix(b, []byte("\n")) {
			return false
		}
		pid, err = strconv.Atoi(strings.TrimSpace(string(b)))
		return err == nil
	})
	return pid
}

// outside is the number on this machine of a process that works in dir and calls
// itself pid: in a namespace of its own it has another one there.
func outside(t testing.TB, dir string, pid int) int {
	t.Helper()
	want, err := os.Stat(dir)
	if err != nil {
		t.Fatal(err)
	}
	status, err := filepath.Glob("/proc/[0-9]*/status")
	if err != nil || status == nil {
		return pid // no /proc, no namespaces
	}
	for _, s := range status {
		b, err := os.ReadFile(s)
		if err != nil {
			continue
		}
		_, rest, ok := strings.Cut(string(b), "\nNSpid:")
		line, _, _ := strings.Cut(rest, "\n")
		f := strings.Fields(line)
		if !ok || len(f) == 0 || f[len(f)-1] != strconv.Itoa(pid) {
			continue
		}
		at, err := os.Stat(filepath.Join(filepath.Dir(s), "cwd"))
		if err == nil && os.SameFile(at, want) {
			n, err := strconv.Atoi(f[0])
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatalf("no process that calls itself %d works in %s", pid, dir)
	return 0
}

// Under holds every command of a runner to a policy that depends on it, so
// that [TestRunner] can be run in it.
func Under(run sandbox.Runner, policy func(*sandbox.Command) sandbox.Policy) sandbox.Runner {
	return under{run, policy}
}

type under struct {
	sandbox.Runner
	policy func(*sandbox.Command) sandbox.Policy
}

func (u under) Start(ctx context.Context, c *sandbox.Command) (sandbox.Process, error) {
	held := *c
	held.Policy = u.policy(c)
	return u.Runner.Start(ctx, &held)
}

// TestRunner holds the runner that open makes to the contract. Its commands
// are for a POSIX shell.
func TestRunner(t *testing.T, open func(t *testing.T) sandbox.Runner) {
	run := open(t)
	t.Cleanup(func() {
		if err := run.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		_, err := run.Start(context.Background(), shell(t.TempDir(), "true", nil))
		if !errors.Is(err, sandbox.ErrClosed) {
			t.Errorf("Start on a closed runner: %v", err)
		}
	})
	start := func(t *testing.T, dir, script string, out *Buffer) sandbox.Process {
		t.Helper()
		p, err := run.Start(t.Context(), shell(dir, script, out))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := p.Stop(0); err != nil {
				t.Error(err)
			}
		})
		return p
	}

	t.Run("exits", func(t *testing.T) {
		t.Setenv("INHERITED", "not")
		for _, c := range []struct {
			script, out string
			exit        sandbox.Exit
		}{
			{"true", "", sandbox.Exit{}},
			{"echo one; echo two >&2; echo three", "one\ntwo\nthree\n", sandbox.Exit{}},
			{"exit 7", "", sandbox.Exit{Code: 7}},
			{"exit 143", "", sandbox.Exit{Code: 143}},
			{"kill -TERM $$", "", sandbox.Exit{Code: 143, Signal: "SIGTERM"}},
			{"kill -KILL $$", "", sandbox.Exit{Code: 137, Signal: "SIGKILL"}},
			{"cat; read x || echo eof", "eof\n", sandbox.Exit{}},
			{"(: </dev/tty) 2>/dev/null || echo no terminal", "no terminal\n", sandbox.Exit{}},
			{"echo [$INHERITED] $A", "[] b\n", sandbox.Exit{}},
			{"/no/such/program 2>/dev/null", "", sandbox.Exit{Code: 127}},
		} {
			var out Buffer
			p := start(t, t.TempDir(), c.script, &out)
			exit, err := p.Wait()
			if err != nil || exit != c.exit || out.String() != c.out {
				t.Errorf("%s: %+v %v, output %q; want %+v, %q", c.script, exit, err, out.String(), c.exit, c.out)
			}
			select {
			case <-p.Done():
			case <-time.After(patience):
				t.Errorf("%s: not done", c.script)
			}
		}
	})
	t.Run("two streams", func(t *testing.T) {
		var out, errs Buffer
		c := shell(t.TempDir(), "i=0; while [ $i -lt 3000 ]; do echo 0123456789012345678901234567890123456789 >&2; i=$((i+1)); done; echo end", &out)
		c.Stderr = &errs
		p, err := run.Start(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		if exit, err := p.Wait(); err != nil || exit.Code != 0 || out.String() != "end\n" || len(errs.String()) != 41*3000 {
			t.Errorf("%+v %v, %d and %d bytes", exit, err, len(out.String()), len(errs.String()))
		}
	})
	t.Run("bad commands", func(t *testing.T) {
		gone := filepath.Join(t.TempDir(), "gone")
		for _, c := range []struct {
			cmd  *sandbox.Command
			want string
		}{
			{&sandbox.Command{Dir: "/"}, "no program"},
			{&sandbox.Command{Args: []string{"sh"}, Dir: "/"}, "absolute"},
			{&sandbox.Command{Args: []string{"/bin/sh"}, Dir: "x"}, "absolute"},
			{&sandbox.Command{Args: []string{"/bin/sh", "-c", "a\x00b"}, Dir: "/"}, "NUL"},
			{&sandbox.Command{Args: []string{"/bin/sh", "-c", "true"}, Dir: gone}, "does not exist"},
			{&sandbox.Command{Args: []string{"/no/such/program"}, Dir: "/"}, "/no/such/program"},
			{&sandbox.Command{Args: []string{"/bin/sh", "-c", strings.Repeat("x", 200<<10)}, Dir: "/"}, "too long"},
		} {
			_, err := run.Start(t.Context(), c.cmd)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "sandbox: ") {
				t.Errorf("%.60q: error %v, want %q", c.cmd.Args, err, c.want)
			}
		}
		if !run.Info().Confines {
			c := shell(t.TempDir(), "true", nil)
			c.Policy.NoNetwork = true
			if _, err := run.Start(t.Context(), c); !errors.Is(err, sandbox.ErrPolicy) {
				t.Errorf("a policy that cannot be held: %v", err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := run.Start(ctx, shell(t.TempDir(), "true", nil)); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
	})
	t.Run("input", func(t *testing.T) {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		for _, c := range []struct {
			input *os.File
			want  string
		}{{r, "one\ntwo\n."}, {nil, "."}} {
			var out Buffer
			cmd := shell(t.TempDir(), "cat; printf .", &out)
			cmd.Stdin = c.input
			p, err := run.Start(t.Context(), cmd)
			if err != nil {
				t.Fatal(err)
			}
			if c.input != nil {
				// A part at a time, which it waits for.
				for _, s := range []string{"one\n", "two\n"} {
					if _, err := w.WriteString(s); err != nil {
						t.Fatal(err)
					}
					Until(t, s, func() bool { return strings.HasSuffix(out.String(), s) })
				}
				w.Close()
			}
			if exit, err := p.Wait(); err != nil || exit.Code != 0 || out.String() != c.want {
				t.Errorf("%s %v %q, want %q", exit, err, out.String(), c.want)
			}
		}
		r.Close()
		cmd := shell(t.TempDir(), "cat", nil)
		cmd.Stdin = r
		if _, err := run.Start(t.Context(), cmd); !errors.Is(err, os.ErrClosed) {
			t.Errorf("input that is closed: %v", err)
		}
	})
	t.Run("to the end", func(t *testing.T) {
		dir := t.TempDir()
		var out Buffer
		exit, err := sandbox.Run(t.Context(), run, shell(dir, "sleep 300 & echo $! >pid; echo hi; exit 3", &out))
		if err != nil || exit.Code != 3 || out.String() != "hi\n" {
			t.Errorf("%s %v %q", exit, err, out.String())
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		over := errors.New("over")
		go func() {
			ReadPID(t, filepath.Join(dir, "second"))
			cancel(over)
		}()
		exit, err = sandbox.Run(ctx, run, shell(dir, "echo $$ >second; exec sleep 300", nil))
		if !errors.Is(err, over) || exit != (sandbox.Exit{}) && exit.Signal != "SIGTERM" && exit.Signal != "SIGKILL" {
			t.Errorf("%+v %v", exit, err)
		}
		if _, err := sandbox.Run(ctx, run, shell(dir, "true", nil)); !errors.Is(err, over) {
			t.Error(err)
		}
	})
	t.Run("background", func(t *testing.T) {
		forms := []string{"sleep 300 & echo $! >pid; echo hi", "(trap '' HUP; exec sleep 300) >/dev/null 2>&1 & echo $! >pid; echo hi"}
		if run.Info().Sweeps {
			forms = append(forms,
				"setsid sh -c 'echo $$ >pid; exec sleep 300' & until [ -s pid ]; do :; done; echo hi",
				"(setsid setsid sh -c 'echo $$ >pid; trap \"\" TERM HUP; while :; do sleep 300; done' >/dev/null 2>&1 &) ; until [ -s pid ]; do :; done; echo hi",
			)
		}
		for _, script := range forms {
			var out Buffer
			dir := t.TempDir()
			p := start(t, dir, script, &out)
			began := time.Now()
			exit, err := p.Wait()
			if took := time.Since(began); took > time.Second {
				t.Errorf("%s: returned after %v", script, took)
			}
			if err != nil || exit.Code != 0 || out.String() != "hi\n" {
				t.Errorf("%s: %+v %v %q", script, exit, err, out.String())
			}
			pid := outside(t, dir, ReadPID(t, filepath.Join(dir, "pid")))
			if !Alive(pid) {
				t.Errorf("%s: the child was killed", script)
			}
			if len(p.PIDs()) == 0 {
				t.Errorf("%s: no process listed", script)
			}
			select {
			case <-p.Done():
				t.Errorf("%s: done, with a child left", script)
			default:
			}
			if err := p.Stop(sandbox.Grace); err != nil {
				t.Error(err)
			}
			if Alive(pid) {
				t.Errorf("%s: the child survived", script)
			}
			if p.PIDs() != nil {
				t.Errorf("%s: listed after its end: %v", script, p.PIDs())
			}
		}
	})
	t.Run("output goes on", func(t *testing.T) {
		var out Buffer
		dir := t.TempDir()
		p := start(t, dir, "(until [ -e go ]; do sleep 0.01; done; echo later) & echo now", &out)
		if _, err := p.Wait(); err != nil || out.String() != "now\n" {
			t.Fatalf("%v %q", err, out.String())
		}
		if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		select {
		case <-p.Done():
		case <-time.After(patience):
			t.Fatal("not done")
		}
		if out.String() != "now\nlater\n" {
			t.Errorf("%q", out.String())
		}
	})
	t.Run("a flood never blocks the return", func(t *testing.T) {
		p := start(t, t.TempDir(), "yes & echo hi", nil)
		began := time.Now()
		if _, err := p.Wait(); err != nil || time.Since(began) > 2*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
	t.Run("stop within half a second", func(t *testing.T) {
		for _, script := range []string{
			"trap '' TERM; echo $$ >pid; while :; do sleep 300; done",
			"trap '' TERM; (trap '' TERM; (trap '' TERM; sh -c 'echo $$ >pid; while :; do sleep 300; done'; :); :); :",
			"echo $$ >pid; kill -STOP $$; while :; do sleep 300; done",
		} {
			dir := t.TempDir()
			p := start(t, dir, script, nil)
			pid := outside(t, dir, ReadPID(t, filepath.Join(dir, "pid")))
			began := time.Now()
			if err := p.Stop(sandbox.Grace); err != nil {
				t.Error(err)
			}
			took := time.Since(began)
			if Alive(pid) || took > 500*time.Millisecond {
				t.Errorf("%s: alive %v after %v", script, Alive(pid), took)
			}
			if exit, err := p.Wait(); err != nil || exit.Signal == "" {
				t.Errorf("%s: %+v %v", script, exit, err)
			}
		}
	})
	t.Run("nothing goes on when its child is stopped", func(t *testing.T) {
		for range 10 {
			dir := t.TempDir()
			p := start(t, dir, "sh -c 'echo $$ >pid; sleep 300; sleep 300; echo >inner'; echo >outer", nil)
			ReadPID(t, filepath.Join(dir, "pid"))
			if err := p.Stop(0); err != nil {
				t.Error(err)
			}
			if exit, err := p.Wait(); err != nil || exit.Signal != "SIGKILL" {
				t.Errorf("%+v %v", exit, err)
			}
			for _, f := range []string{"inner", "outer"} {
				if _, err := os.Stat(filepath.Join(dir, f)); err == nil {
					t.Errorf("the %s shell went on to its next command", f)
				}
			}
		}
	})
	t.Run("a program may clean up", func(t *testing.T) {
		var out Buffer
		dir := t.TempDir()
		p := start(t, dir, "exec 2>/dev/null; trap 'echo cleaned; exit 3' TERM; echo $$ >pid; while :; do sleep 0.01; done", &out)
		ReadPID(t, filepath.Join(dir, "pid"))
		if err := p.Stop(patience); err != nil {
			t.Error(err)
		}
		if exit, _ := p.Wait(); exit.Code != 3 || out.String() != "cleaned\n" {
			t.Errorf("%+v %q", exit, out.String())
		}
	})
	t.Run("many at once", func(t *testing.T) {
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				for j := range 4 {
					var out Buffer
					want := fmt.Sprintf("%d %d\n", i, j)
					p, err := run.Start(t.Context(), shell("/", "echo "+want, &out))
					if err != nil {
						t.Error(err)
						return
					}
					if exit, err := p.Wait(); err != nil || exit.Code != 0 || out.String() != want {
						t.Errorf("%q: %+v %v %q", want, exit, err, out.String())
					}
					if j%2 == 0 {
						if err := p.Stop(0); err != nil {
							t.Error(err)
						}
					}
				}
			})
		}
		wg.Wait()
	})
	t.Run("close kills", func(t *testing.T) {
		other := open(t)
		dir := t.TempDir()
		p, err := other.Start(t.Context(), shell(dir, "trap '' TERM; echo $$ >pid; while :; do sleep 300; done", nil))
		if err != nil {
			t.Fatal(err)
		}
		pid := outside(t, dir, ReadPID(t, filepath.Join(dir, "pid")))
		if err := other.Close(); err != nil {
			t.Error(err)
		}
		if Alive(pid) {
			t.Error("alive after Close")
		}
		<-p.Done()
	})
}

func shell(dir, script string, out *Buffer) *sandbox.Command {
	c := &sandbox.Command{
		Args: []string{"/bin/sh", "-c", script}, Dir: dir,
		Env: []string{"PATH=/usr/local/bin:/usr/bin:/bin", "A=b"},
	}
	if out != nil {
		c.Stdout = out
	}
	return c
}
