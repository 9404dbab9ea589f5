// Command cantle is a terminal coding agent.
package main

import (
	"context"
	"os"
	"runtime/debug"

	"github.com/cantle-dev/cantle/internal/cli"
	"github.com/cantle-dev/cantle/internal/x/procguard"
	"github.com/cantle-dev/cantle/sandbox"
)

func main() {
	sandbox.Main() // first: this process may be the helper
	// A run is short and its heap small: collecting less often costs 2 MiB and
	// saves a tenth of its work. What GOGC says counts before that.
	if set := debug.SetGCPercent(150); set != 100 {
		debug.SetGCPercent(set)
	}
	_ = procguard.Hide() // where it cannot, the manual says what that means
	os.Exit(cli.Main(context.Background(), cli.System(), os.Args[1:]))
}
