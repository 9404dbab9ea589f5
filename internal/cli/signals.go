package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// withSignals ends the context on Ctrl-C, SIGTERM and SIGHUP. A second one
// ends the program at once, after leave.
func withSignals(ctx context.Context, leave func()) (context.Context, func(), func() os.Signal) {
	return notify(ctx, leave, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
}

// signalCode is the exit code after a signal.
func signalCode(s os.Signal) int {
	if s == os.Interrupt {
		return ExitInterrupted
	}
	return ExitTerminated
}

// notify ends the context on these signals, and the program, after leave, on a
// second one. It returns what gives them back, and what tells which came first.
// Those that the program was started to ignore, as by nohup, it goes on to
// ignore.
func notify(ctx context.Context, leave func(), sigs ...os.Signal) (context.Context, func(), func() os.Signal) {
	if leave == nil {
		leave = func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	ch := make(chan os.Signal, 2)
	for _, s := range sigs {
		if !signal.Ignored(s) {
			signal.Notify(ch, s)
		}
	}
	var mu sync.Mutex
	var got os.Signal
	done := make(chan struct{})
	go func() {
		for {
			select {
			case s := <-ch:
				mu.Lock()
				again := got != nil
				if !again {
					got = s
				}
				mu.Unlock()
				if again {
					leave()
					os.Exit(signalCode(s))
				}
				cancel(fmt.Errorf("the program got the signal %q", s))
			case <-done:
				return
			}
		}
	}()
	stop := sync.OnceFunc(func() {
		signal.Stop(ch)
		close(done)
		cancel(context.Canceled)
	})
	return ctx, stop, func() os.Signal {
		mu.Lock()
		defer mu.Unlock()
		return got
	}
}
