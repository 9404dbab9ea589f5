// Command cantle is a terminal coding agent.
package main

import (
	"context"
	"os"

	"github.com/cantle-dev/cantle/internal/cli"
	"github.com/cantle-dev/cantle/internal/x/procguard"
	"github.com/cantle-dev/cantle/sandbox"
)

func main() {
	sandbox.Main()       // first: this process may be the helper
	_ = procguard.Hide() // where it cannot, the manual says what that means
	os.Exit(cli.Main(context.Background(), cli.System(), os.Args[1:]))
}
