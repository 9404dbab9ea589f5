package agent_test

import (
	"flag"
	"testing"

	"github.com/cantle-dev/cantle/agent/agenttest"
)

var _ = flag.Bool("update", false, "rewrite the outcome of the scripts in testdata")

func TestScripts(t *testing.T) { agenttest.Run(t, "testdata/*.txtar") }
