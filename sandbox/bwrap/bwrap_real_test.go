//go:build linux

package bwrap_test

import (
	"os"
	"testing"

	"github.com/cantle-dev/cantle/sandbox"
	"github.com/cantle-dev/cantle/sandbox/bwrap"
	"github.com/cantle-dev/cantle/sandbox/sandboxtest"
)

func TestMain(m *testing.M) {
	sandbox.Main()
	sandboxtest.Main()
	os.Exit(m.Run())
}

func open(t *testing.T) sandbox.Runner {
	run, err := bwrap.Open(t.Context(), bwrap.Options{})
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
