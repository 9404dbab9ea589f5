package wrap

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/cantle-dev/cantle/llm"
)

// RetryOptions configure [Retry].
type RetryOptions struct {
	Attempts int           // in all; default 4. 1 is no retry
	Base     time.Duration // the bound of the first wait; it doubles; default 0.5 s
	// Cap is the longest wait; default 60 s. A provider that asks for a longer
	// one ends the retries, unless Wait allows it.
	Cap time.Duration
	// Wait is how long a request may wait in all where a provider asks for more
	// than Cap, or says when a quota that is used up comes back. Such waits are
	// not counted as attempts. The default is none: the error says when to come
	// back.
	Wait time.Duration
	// Rand is uniform over [0, 1); default math/rand/v2.
	Rand func() float64
}

// Retry tries a failed request again where that may help: when the provider is
// busy, failed, or asked to wait, and when the connection broke. Waits are
// random up to a bound that doubles (full jitter), and no shorter than what
// the provider asked for. Once a delta was shown, nothing is tried again; nor
// are requests that are wrong, unauthorised or over a quota.
//
// Before each further attempt it yields an [llm.Retrying].
func Retry(m llm.Model, o RetryOptions) llm.Model {
	if o.Attempts <= 0 {
		o.Attempts = 4
	}
	if o.Base <= 0 {
		o.Base = 500 * time.Millisecond
	}
	if o.Cap <= 0 {
		o.Cap = time.Minute
	}
	if o.Rand == nil {
		o.Rand = rand.Float64
	}
	return &retry{m, o}
}

type retry struct {
	llm.Model
	o RetryOptions
}

// Unwrap returns the model inside.
func (r *retry) Unwrap() llm.Model { return r.Model }

// Stream is [llm.Model].Stream.
func (r *retry) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return once(func(yield func(llm.Event, error) bool) {
		tries := tries{o: r.o, patience: r.o.Wait}
		for attempt := 1; ; attempt++ {
			shown, stopped, err := passOn(r.Model.Stream(ctx, req), yield)
			if err == nil || stopped {
				return
			}
			if shown || ctx.Err() != nil {
				yield(nil, err)
				return
			}
			wait, why := tries.next(err)
			if why != nil {
				yield(nil, why)
				return
			}
			if !yield(llm.Retrying{Attempt: attempt, Wait: wait, Err: err}, nil) {
				return
			}
			t := time.NewTimer(wait)
			select {
			case <-t.C:
			case <-ctx.Done():
				t.Stop()
				yield(nil, context.Cause(ctx))
				return
			}
		}
	})
}

// once makes a stream of run that can be ranged over once.
func once(run func(yield func(llm.Event, error) bool)) iter.Seq2[llm.Event, error] {
	var used atomic.Bool
	return func(yield func(llm.Event, error) bool) {
		if used.Swap(true) {
			yield(nil, llm.ErrUsed)
			return
		}
		run(yield)
	}
}

// passOn passes one stream on. Its error is not yielded yet. Shown says that
// a delta was, and stopped that the caller wants no more.
func passOn(seq iter.Seq2[llm.Event, error], yield func(llm.Event, error) bool) (shown, stopped bool, err error) {
	for ev, err := range seq {
		if err != nil {
			return shown, false, err
		}
		shown = shown || isDelta(ev)
		if !yield(ev, nil) {
			return shown, true, nil
		}
	}
	return shown, false, nil
}

// isDelta says whether ev is a piece of the response.
func isDelta(ev llm.Event) bool {
	switch ev.(type) {
	case llm.TextDelta, llm.ThinkingDelta, llm.CallDelta:
		return true
	}
	return false
}

// tries are the attempts of one request.
type tries struct {
	o        RetryOptions
	failed   int           // attempts that count
	patience time.Duration // what is left of Wait
}

// next is how long to wait after an attempt that failed with err, or why not
// to try again.
func (t *tries) next(err error) (time.Duration, error) {
	var e *llm.Error
	if !errors.As(err, &e) {
		return 0, err
	}
	asked := e.RetryAfter
	quota := e.Kind == llm.KindQuota && asked > 0 && !e.NoRetry
	switch {
	case quota && asked > t.patience:
		return 0, more(e, "the quota comes back "+when(asked))
	case !quota && !e.Retryable():
		return 0, err
	case asked > t.o.Cap && asked > t.patience:
		return 0, more(e, fmt.Sprintf("the provider asks to wait %v: try again %s", asked.Round(time.Second), when(asked)))
	case asked > t.o.Cap:
		// All who wait for the same moment should not come at once.
		t.patience -= asked
		return asked + t.jitter(t.o.Base), nil
	}
	t.failed++
	if t.failed >= t.o.Attempts {
		return 0, more(e, fmt.Sprintf("tried %d times", t.failed))
	}
	bound := t.o.Base
	for range t.failed - 1 {
		if bound >= t.o.Cap/2 {
			bound = t.o.Cap
			break
		}
		bound *= 2
	}
	wait := t.jitter(min(bound, t.o.Cap))
	if asked > 0 {
		// What was asked for, and a little more each time: a server that
		// always says 1 s must not use all attempts up in 3.
		wait = min(asked+wait, t.o.Cap)
	}
	return wait, nil
}

func (t *tries) jitter(bound time.Duration) time.Duration {
	return time.Duration(t.o.Rand() * float64(bound))
}

// when says when d from now is.
func when(d time.Duration) string {
	now := time.Now()
	at := now.Add(d)
	form := "at 15:04"
	if y, m, day := at.Date(); day != now.Day() || m != now.Month() || y != now.Year() {
		form = "on 2006-01-02 at 15:04"
	}
	return at.Format(form)
}

// more is e that says more, in brackets.
func more(e *llm.Error, what string) *llm.Error {
	out := *e
	out.Message = fmt.Sprintf("%s (%s)", said(e), what)
	return &out
}

// said is what an error says, without whose it is.
func said(e *llm.Error) string {
	switch {
	case e.Message != "":
		return e.Message
	case e.Err != nil:
		return e.Err.Error()
	}
	return string(e.Kind)
}
