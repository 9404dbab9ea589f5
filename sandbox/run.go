package sandbox

import (
	"context"
	"fmt"
)

// Run runs a command to its end, and ends what it left running. When the
// context ends first, the command is stopped with [Grace], and the error is the
// context's cause; the Exit says how the command ended then. An exit code other
// than 0 is no error.
//
// It is how a program stands in for a command: Stdin is its own, and the signals
// that it gets itself end the context.
func Run(ctx context.Context, r Runner, c *Command) (Exit, error) {
	p, err := r.Start(ctx, c)
	if err != nil {
		return Exit{}, err
	}
	exited := make(chan struct{})
	var exit Exit
	go func() {
		exit, err = p.Wait()
		close(exited)
	}()
	var cause error
	select {
	case <-exited:
	case <-ctx.Done():
		cause = fmt.Errorf("sandbox: stopped: %w", context.Cause(ctx))
	}
	stopped := p.Stop(Grace)
	if stopped != nil {
		return Exit{}, stopped
	}
	<-exited
	if cause != nil {
		return exit, cause
	}
	return exit, err
}
