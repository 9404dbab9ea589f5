package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// withSignals ends the context on Ctrl-C, SIGTERM and SIGHUP. A second one
// ends the program at once, after leave.
func (e Env) withSignals(ctx context.Context, leave func(code int)) (context.Context, func(), func() os.Signal) {
	return e.notify(ctx, leave, interrupts...)
}

// interrupts are the signals that end a program.
var interrupts = []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}

// signals are taken for a run that promises a closing document, from the first
// moment on.
type signals struct {
	ctx   context.Context
	end   func()
	ended func() os.Signal
	leave atomic.Pointer[func(code int)]
}

// earlySignals takes the signals if args are of such a run; nil if not. Arguments
// in which the command does not come first are read before it is known.
func earlySignals(ctx context.Context, e Env, args []string) *signals {
	if len(args) == 0 || args[0] != "run" || !wantsDocument(args[1:]) {
		return nil
	}
	s := &signals{}
	leave := func(code int) { _ = jsonLine(e.Out, document(nil, errInterrupted, code)) }
	s.leave.Store(&leave)
	s.ctx, s.end, s.ended = e.withSignals(ctx, func(code int) { (*s.leave.Load())(code) })
	return s
}

// take hands the signals to the run: the results are those of withSignals.
func (e Env) take(ctx context.Context, leave func(code int)) (context.Context, func(), func() os.Signal) {
	s := e.early
	if s == nil {
		return e.withSignals(ctx, leave)
	}
	s.leave.Store(&leave)
	return s.ctx, s.end, s.ended
}

// stop gives them back.
func (s *signals) stop() {
	if s != nil {
		s.end()
	}
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
// second one, which also gives a terminal back that was lent. It returns what gives them back, and what tells which came first.
// Those that the program was started to ignore, as by nohup, it goes on to
// ignore.
func (e Env) notify(ctx context.Context, leave func(code int), sigs ...os.Signal) (context.Context, func(), func() os.Signal) {
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
					soon(e.lent.back)
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

// soon waits for f, but not for long: a terminal may be stopped.
func soon(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(patience):
	}
}

// lent is the terminal while something has it otherwise than it was.
type lent struct {
	mu   sync.Mutex
	undo func()
}

// take has undo called by back, or by what it returns, whichever comes first.
func (l *lent) take(undo func()) (back func()) {
	if l == nil {
		return undo
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.undo = undo
	return l.back
}

// back gives the terminal back. When it returns, that is done.
func (l *lent) back() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if undo := l.undo; undo != nil {
		l.undo = nil
		undo()
	}
}
