//go:build unix

package auto_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"os"

	"github.com/cantle-dev/cantle/sandbox"
	"github.com/cantle-dev/cantle/sandbox/auto"
)

// The program's main begins with sandbox.Main().
func Example() {
	ctx := context.Background()
	run, report, err := auto.Open(ctx, auto.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer run.Close()
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	var out bytes.Buffer
	p, err := run.Start(ctx, &sandbox.Command{
		Args: []string{"/bin/sh", "-c", "echo hello >greeting; cat greeting"}, Dir: dir, Env: []string{"PATH=/usr/bin:/bin"},
		Stdout: &out, Policy: sandbox.Policy{WriteRoots: []string{dir}, NoNetwork: true},
	})
	if err != nil {
		log.Fatal(err)
	}
	exit, err := p.Wait()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s%s, with a report: %v\n", out.String(), exit, report.Why != "")
	// Output:
	// hello
	// exit code 0, with a report: true
}
