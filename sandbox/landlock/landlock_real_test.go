//go:build linux

package landlock_test

import (
	"os"
	"testing"

	"github.com/cantle-dev/cantle/sandbox"
	"github.com/cantle-dev/cantle/sandbox/landlock"
	"github.com/cantle-dev/cantle/sandbox/sandboxtest"
)

func TestMain(m *testing.M) {
	sandbox.Main()
	sandboxtest.Main()
	os.Exit(m.Run())
}

func open(t *testing.T) sandbox.Runner {
	run, err := landlock.Open()
	if err != nil {
		t.Skip(err)
	}
	return run
}

func TestRunner(t *testing.T) { sandboxtest.TestRunner(t, open) }

func TestRunnerUnderPolicy(t *testing.T) {
	sandboxtest.TestRunner(t, func(t *testing.T) sandbox.Runner {
		return sandboxtest.Under(open(t), func(c *sandbox.Command) sandbox.Policy {
			return sandbox.Policy{WriteRoots: []string{c.Dir}, NoNetwork: true}
		})
	})
}

func TestEscapes(t *testing.T) { sandboxtest.Escapes(t, open, sandboxtest.EscapeOptions{}) }

func TestTemp(t *testing.T) { sandboxtest.Temp(t, open) }

func TestGit(t *testing.T) { sandboxtest.Git(t, open) }

func TestWork(t *testing.T) { sandboxtest.Work(t, open, false) }

func TestKilled(t *testing.T) {
	sandboxtest.Killed(t, open, func(c *sandbox.Command) sandbox.Policy {
		return sandbox.Policy{WriteRoots: []string{c.Dir}, NoNetwork: true}
	})
}

func TestNobody(t *testing.T) {
	sandboxtest.AsNobody(t, "^(TestRunnerUnderPolicy|TestEscapes|TestKilled|TestTemp|TestGit)$")
}

func BenchmarkTrue(b *testing.B) {
	run, err := landlock.Open()
	if err != nil {
		b.Skip(err)
	}
	defer run.Close()
	dir := b.TempDir()
	p := sandbox.Policy{WriteRoots: []string{dir}, Hide: []string{"/root/.ssh"}, NoNetwork: true}
	for b.Loop() {
		c := &sandbox.Command{Args: []string{"/bin/sh", "-c", "true"}, Dir: dir, Policy: p}
		proc, err := run.Start(b.Context(), c)
		if err != nil {
			b.Fatal(err)
		}
		if exit, err := proc.Wait(); err != nil || exit.Code != 0 {
			b.Fatal(exit, err)
		}
	}
}
