//go:build linux

package bwrap_test

import (
	"testing"

	"github.com/cantle-dev/cantle/sandbox"
	"github.com/cantle-dev/cantle/sandbox/bwrap"
)

// BenchmarkNewBox is a command of a policy that no box is kept for.
func BenchmarkNewBox(b *testing.B) {
	run, err := bwrap.Open(b.Context(), bwrap.Options{})
	if err != nil {
		b.Skip(err)
	}
	defer run.Close()
	for b.Loop() {
		dir := b.TempDir()
		p, err := run.Start(b.Context(), &sandbox.Command{Args: []string{"/bin/sh", "-c", "true"}, Dir: dir, Policy: sandbox.Policy{WriteRoots: []string{dir}, NoNetwork: true}})
		if err != nil {
			b.Fatal(err)
		}
		if exit, err := p.Wait(); err != nil || exit.Code != 0 {
			b.Fatal(exit, err)
		}
	}
}
