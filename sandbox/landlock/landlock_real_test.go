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
