// Package wrap adds behaviour to models: each function takes a Model and
// returns one.
//
//	m = wrap.Retry(m, wrap.RetryOptions{})
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
	Attempts int           // in all; default 4
	Base     time.Duration // the bound of the first wait; it doubles; default 0.5 s
	// Cap is the longest wait; default 60 s. A provider that asks for a longer
	// one ends the retries.
	Cap time.Duration
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
	var used atomic.Bool
	return func(yield func(llm.Event, error) bool) {
		if used.Swap(true) {
			yield(nil, llm.ErrUsed)
			return
		}
		for attempt := 1; ; attempt++ {
			shown, stopped, err := r.attempt(ctx, req, yield)
			if err == nil || stopped {
				return
			}
			wait, why := r.wait(err, attempt)
			if shown || why != nil || ctx.Err() != nil {
				if why != nil && !shown {
					err = why
				}
				yield(nil, err)
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
	}
}

// attempt makes one attempt. Its error is not yielded yet.
func (r *retry) attempt(ctx context.Context, req *llm.Request, yield func(llm.Event, error) bool) (shown, stopped bool, err error) {
	for ev, err := range r.Model.Stream(ctx, req) {
		if err != nil {
			return shown, false, err
		}
		switch ev.(type) {
		case llm.TextDelta, llm.ThinkingDelta, llm.CallDelta:
			shown = true
		}
		if !yield(ev, nil) {
			return shown, true, nil
		}
	}
	return shown, false, nil
}

// wait is how long to wait after the attempt that failed with err, or why not
// to try again.
func (r *retry) wait(err error, attempt int) (time.Duration, error) {
	var e *llm.Error
	if !errors.As(err, &e) || !e.Retryable() {
		return 0, err
	}
	if e.RetryAfter > r.o.Cap {
		long := *e
		long.Message = fmt.Sprintf("%s (the provider asks to wait %v: try again then)", said(e), e.RetryAfter.Round(time.Second))
		return 0, &long
	}
	if attempt >= r.o.Attempts {
		last := *e
		last.Message = fmt.Sprintf("%s (tried %d times)", said(e), attempt)
		return 0, &last
	}
	bound := min(r.o.Base<<(attempt-1), r.o.Cap)
	wait := time.Duration(r.o.Rand() * float64(bound))
	if e.RetryAfter > 0 {
		// What was asked for, and a little more each time: a server that
		// always says 1 s must not use all attempts up in 3.
		wait = min(e.RetryAfter+wait, r.o.Cap)
	}
	return wait, nil
}

// said is what an error says, without whose it is.
func said(e *llm.Error) string {
	if e.Message == "" && e.Err != nil {
		return e.Err.Error()
	}
	return e.Message
}
