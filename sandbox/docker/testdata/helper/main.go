// Command helper is what runs in the containers of the tests.
package main

import (
	"fmt"
	"os"

	"github.com/cantle-dev/cantle/sandbox"
	"github.com/cantle-dev/cantle/sandbox/sandboxtest"
)

func main() {
	sandbox.Main()
	sandboxtest.Main()
	fmt.Fprintln(os.Stderr, "it runs in containers alone")
	os.Exit(2)
}
