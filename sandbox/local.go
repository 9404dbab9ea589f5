package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
)

// mainCalled is set by [Main]: only a program that calls it can be started
// again as a supervisor. It is the one thing that must be known of the whole
// program.
var mainCalled atomic.Bool

// LocalOptions configure [Local].
type LocalOptions struct {
	// NoSupervisor uses process groups alone, as where there is no supervisor.
	NoSupervisor bool
}

// Local returns a runner that runs commands on this machine, with the rights
// of this program.
//
// On Linux, in a program that calls [Main], each command runs under a
// supervisor: a second process of this program, kept for the next command,
// that adopts orphans and ends them. Elsewhere, and on a Linux without /proc,
// processes that leave the command's session survive, and Info says so: on
// other Unix systems Stop ends the process group, on Windows the tree of
// parents and children that taskkill finds, at once and without a request.
func Local(opts LocalOptions) Runner {
	return &local{sup: newPool(opts), live: map[Process]struct{}{}}
}

type local struct {
	sup      *pool    // nil: process groups alone
	confiner Confiner // nil: nothing is confined

	mu     sync.Mutex
	closed bool
	live   map[Process]struct{}
	starts sync.WaitGroup
}

func (l *local) Info() Info {
	i := Info{Name: "local"}
	if l.confiner != nil {
		i = l.confiner.Info()
	}
	i.Sweeps = l.sup != nil || groupsSweep
	i.Supervise = i.Sweeps
	return i
}

func (l *local) Start(ctx context.Context, c *Command) (Process, error) {
	if l.confiner == nil && !c.Policy.IsZero() {
		return nil, fmt.Errorf("sandbox: local: %w: choose a runner that confines", ErrPolicy)
	}
	if err := c.check(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("sandbox: not started: %w", context.Cause(ctx))
	}
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil, fmt.Errorf("sandbox: %w", ErrClosed)
	}
	l.starts.Add(1)
	l.mu.Unlock()
	defer l.starts.Done()
	p, err := l.launch(ctx, c)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	l.live[p] = struct{}{}
	l.mu.Unlock()
	go func() {
		<-p.Done()
		l.mu.Lock()
		delete(l.live, p)
		l.mu.Unlock()
	}()
	return p, nil
}

// boxTries is how often a box is tried: what it is made of may be gone by the
// time that it is made.
const boxTries = 5

func (l *local) launch(ctx context.Context, c *Command) (Process, error) {
	var how *Launch
	for try := 1; ; try++ {
		run := c
		if l.confiner != nil {
			var err error
			if how, err = l.confiner.Launch(c); err != nil {
				return nil, err
			}
			run = prefixed(c, how)
		}
		if l.sup == nil {
			return startGroup(run)
		}
		p, err := l.sup.start(ctx, run, how)
		if _, box := errors.AsType[*BoxError](err); !box || try == boxTries || ctx.Err() != nil {
			return p, err
		}
	}
}

func (l *local) Close() error {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.starts.Wait()
	l.mu.Lock()
	var live []Process
	for p := range l.live {
		live = append(live, p)
	}
	l.mu.Unlock()
	errs := make([]error, len(live))
	var wg sync.WaitGroup
	for i, p := range live {
		wg.Go(func() { errs[i] = p.Stop(Grace) })
	}
	wg.Wait()
	if l.sup != nil {
		l.sup.close()
	}
	if l.confiner != nil {
		errs = append(errs, l.confiner.Close())
	}
	return errors.Join(errs...)
}

func checkDir(dir string) error {
	fi, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("sandbox: the working directory %s does not exist; it was moved or deleted: %w", dir, fs.ErrNotExist)
	case err != nil:
		return fmt.Errorf("sandbox: the working directory: %w", err)
	case !fi.IsDir():
		return fmt.Errorf("sandbox: the working directory %s is not a directory", dir)
	}
	return nil
}
