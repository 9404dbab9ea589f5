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
