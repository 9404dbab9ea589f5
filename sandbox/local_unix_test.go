//go:build unix

package sandbox_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/cantle-dev/cantle/sandbox"
	"github.com/cantle-dev/cantle/sandbox/sandboxtest"
)

func TestMain(m *testing.M) {
	sandbox.Main()
	// The program that is killed in TestKilled.
	if len(os.Args) == 2 && strings.HasPrefix(os.Args[1], "victim=") {
		victim(strings.TrimPrefix(os.Args[1], "victim="))
	}
	if len(os.Args) == 2 && programs[os.Args[1]] != nil {
		programs[os.Args[1]]()
		return
	}
	os.Exit(m.Run())
}

// programs are what the test binary is started again as, for what can only be
// tried in a process of its own.
var programs = map[string]func(){}

func TestLocal(t *testing.T) {
	sandboxtest.TestRunner(t, func(*testing.T) sandbox.Runner { return sandbox.Local(sandbox.LocalOptions{}) })
}

func TestLocalGroups(t *testing.T) {
	sandboxtest.TestRunner(t, func(t *testing.T) sandbox.Runner {
		r := sandbox.Local(sandbox.LocalOptions{NoSupervisor: true})
		if i := r.Info(); i.Sweeps || i.Supervise || i.Confines || i.Name != "local" {
			t.Errorf("%+v promises too much", i)
		}
		return r
	})
}

func victim(dir string) {
	run := sandbox.Local(sandbox.LocalOptions{})
	for _, script := range []string{
		"trap '' TERM HUP; echo $$ >a; while :; do sleep 300; done",
		"(setsid setsid sh -c 'trap \"\" TERM HUP; echo $$ >b; while :; do sleep 300; done' &); sleep 300",
		"setsid sh -c 'echo $$ >c; exec sleep 300' & until [ -s c ]; do :; done",
	} {
		if _, err := run.Start(context.Background(), command(dir, script)); err != nil {
			log.Fatal(err)
		}
	}
	select {}
}

func command(dir, script string) *sandbox.Command {
	return &sandbox.Command{Args: []string{"/bin/sh", "-c", script}, Dir: dir, Env: []string{"PATH=/usr/bin:/bin"}}
}

func TestKilled(t *testing.T) {
	r := sandbox.Local(sandbox.LocalOptions{})
	defer r.Close()
	if !r.Info().Supervise {
		t.Skip("no supervisor on this system: commands survive a kill of the program")
	}
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "victim="+dir)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var pids []int
	for _, f := range []string{"a", "b", "c"} {
		pids = append(pids, sandboxtest.ReadPID(t, filepath.Join(dir, f)))
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
	for _, pid := range pids {
		sandboxtest.Until(t, "the end of process "+strconv.Itoa(pid), func() bool { return !sandboxtest.Alive(pid) })
	}
}

// A command that kills its supervisor ends its own life, and the next one gets
// another supervisor.
func TestSupervisorKilled(t *testing.T) {
	r := sandbox.Local(sandbox.LocalOptions{})
	defer r.Close()
	if !r.Info().Supervise {
		t.Skip("no supervisor on this system")
	}
	dir := t.TempDir()
	p, err := r.Start(t.Context(), command(dir, "sleep 300 & echo $! >pid; until [ -e go ]; do sleep 0.01; done; kill -TERM $PPID; kill -KILL $PPID; sleep 300"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Wait(); err == nil || !strings.Contains(err.Error(), "supervisor") {
		t.Errorf("error %v", err)
	}
	<-p.Done()
	pid := sandboxtest.ReadPID(t, filepath.Join(dir, "pid"))
	sandboxtest.Until(t, "the child's end", func() bool { return !sandboxtest.Alive(pid) })
	for range 5 {
		// The idle supervisor is killed: the next start takes a new one.
		var out sandboxtest.Buffer
		c := command(dir, "echo $PPID")
		c.Stdout = &out
		p, err := r.Start(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Wait(); err != nil {
			t.Fatal(err)
		}
		<-p.Done()
		idle, err := strconv.Atoi(strings.TrimSpace(out.String()))
		if err != nil || idle == os.Getpid() {
			t.Fatalf("supervisor %q", out.String())
		}
		if err := syscall.Kill(idle, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		sandboxtest.Until(t, "the supervisor's end", func() bool { return syscall.Kill(idle, 0) != nil })
	}
}

// What runs under a supervisor can read its environment, which must be empty,
// and inherits none of its files.
func TestNothingInherited(t *testing.T) {
	t.Setenv("CANARY_API_KEY", "canary")
	r := sandbox.Local(sandbox.LocalOptions{})
	defer r.Close()
	if !r.Info().Supervise {
		t.Skip("no supervisor on this system")
	}
	var out sandboxtest.Buffer
	c := command(t.TempDir(), "tr '\\0' '\\n' </proc/$PPID/environ; env; ls /proc/self/fd | tr '\\n' ' '")
	c.Stdout = &out
	p, err := r.Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Wait(); err != nil {
		t.Fatal(err)
	}
	if s := out.String(); strings.Contains(s, "canary") || !strings.HasSuffix(s, "\n0 1 2 3 ") { // 3 is ls's own
		t.Errorf("%s", s)
	}
}

func BenchmarkTrue(b *testing.B) {
	for _, bench := range []struct {
		name string
		opts sandbox.LocalOptions
	}{{"supervisor", sandbox.LocalOptions{}}, {"group", sandbox.LocalOptions{NoSupervisor: true}}} {
		b.Run(bench.name, func(b *testing.B) {
			r := sandbox.Local(bench.opts)
			defer r.Close()
			for b.Loop() {
				p, err := r.Start(b.Context(), command("/", "true"))
				if err != nil {
					b.Fatal(err)
				}
				if exit, err := p.Wait(); err != nil || exit.Code != 0 {
					b.Fatal(exit, err)
				}
			}
		})
	}
	b.Run("floor", func(b *testing.B) {
		for b.Loop() {
			var out bytes.Buffer
			cmd := exec.Command("/bin/sh", "-c", "true")
			cmd.Stdout, cmd.Stderr = &out, &out
			if err := cmd.Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func Example() {
	run := sandbox.Local(sandbox.LocalOptions{})
	defer run.Close()
	var out sandboxtest.Buffer
	p, err := run.Start(context.Background(), &sandbox.Command{
		Args: []string{"/bin/sh", "-c", "sleep 300 & echo hello; exit 3"}, Dir: "/", Stdout: &out,
		Env: []string{"PATH=/usr/bin:/bin"},
	})
	if err != nil {
		log.Fatal(err)
	}
	exit, err := p.Wait()
	fmt.Print(out.String())
	fmt.Println(exit, err)
	fmt.Println(len(p.PIDs()), p.Stop(sandbox.Grace), len(p.PIDs()))
	// Output:
	// hello
	// exit code 3 <nil>
	// 1 <nil> 0
}
