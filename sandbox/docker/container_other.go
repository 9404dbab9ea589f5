//go:build !linux

package docker

import (
	"context"
	"fmt"
	"runtime"

	"github.com/cantle-dev/cantle/sandbox"
)

// Open fails: in a container this program is the supervisor, and on a system
// other than Linux it cannot be.
func Open(ctx context.Context, opts Options) (sandbox.Runner, error) {
	program, err := find(opts)
	if err != nil {
		return nil, err
	}
	if _, err := check(ctx, program, opts); err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("docker: %w: on %s this program cannot be run in a container: run all of it in one, and name the sandbox outer", ErrUnavailable, runtime.GOOS)
}
