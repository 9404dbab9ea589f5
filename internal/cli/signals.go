package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// withSignals ends the context on Ctrl-C, SIGTERM and SIGHUP. A second one
// ends the program at once, after leave.
func withSignals(ctx context.Context, leave func(code int)) (context.Context, func(), func() os.Signal) {
	return notify(ctx, leave, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
}

// signalCode is the exit code after a signal.
func signalCode(s os.Signal) int {
	if s == os.Interrupt {
		return ExitInterrupted
	}
	return ExitTerminated
}

// oneWish is how long signals count as one: timeout(1) sends its own twice, to
// the program and to its group, and a terminal that closes sends several.
const oneWish = 250 * time.Millisecond

// notify ends the context on these signals, and the program, after leave, on a
// second one. It returns what gives them back, and what tells which came first.
// Those that the program was started to ignore, as by nohup, it goes on to
// ignore.
func notify(ctx context.Context, leave func(code int), sigs ...os.Signal) (context.Context, func(), func() os.Signal) {
	if leave == nil {
		leave = func(int) {}
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
		var first time.Time
		for {
			select {
			case s := <-ch:
				mu.Lock()
				again := got != nil
				if !again {
					got, first = s, time.Now()
				}
				mu.Unlock()
				if again {
					if time.Since(first) < oneWish {
						continue
					}
					leave(signalCode(s))
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
