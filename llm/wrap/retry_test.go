package wrap_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/wrap"
)

// failing is a model that fails with its errors, one after another, and then
// answers.
type failing struct {
	errs  []error
	text  bool // a delta comes before each error
	calls int
}

func (f *failing) Info() llm.Info { return llm.Info{Provider: "p", Name: "m"} }

func (f *failing) Stream(context.Context, *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		f.calls++
		if f.calls <= len(f.errs) {
			if f.text && !yield(llm.TextDelta{Text: "x"}, nil) {
				return
			}
			yield(nil, f.errs[f.calls-1])
			return
		}
		yield(llm.Done{Response: &llm.Response{}}, nil)
	}
}

func busy(after time.Duration) error {
	return &llm.Error{Kind: llm.KindOverloaded, Status: 529, RetryAfter: after}
}

func TestRetry(t *testing.T) {
	for name, c := range map[string]struct {
		errs  []error
		text  bool
		calls int
		wait  time.Duration // exactly, with Rand 0.5
		err   string
	}{
		"busy, then well":       {errs: []error{busy(0), busy(0)}, calls: 3, wait: 250*time.Millisecond + 500*time.Millisecond},
		"asked to wait":         {errs: []error{busy(3 * time.Second)}, calls: 2, wait: 3*time.Second + 250*time.Millisecond},
		"asked to wait an hour": {errs: []error{busy(time.Hour)}, calls: 1, err: "1h0m0s"},
		"never":                 {errs: []error{busy(0), busy(0), busy(0), busy(0)}, calls: 4, wait: 1750 * time.Millisecond, err: "tried 4 times"},
		"after a delta":         {errs: []error{busy(0)}, text: true, calls: 1, err: "overloaded"},
		"the key":               {errs: []error{&llm.Error{Kind: llm.KindAuth}}, calls: 1, err: "auth"},
		"a quota":               {errs: []error{&llm.Error{Kind: llm.KindQuota}}, calls: 1, err: "quota"},
		"forbidden":             {errs: []error{&llm.Error{Kind: llm.KindServer, NoRetry: true}}, calls: 1, err: "server"},
		"no model error":        {errs: []error{errors.New("odd")}, calls: 1, err: "odd"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &failing{errs: c.errs, text: c.text}
				began := time.Now()
				_, err := llm.Generate(t.Context(), wrap.Retry(f, wrap.RetryOptions{Rand: func() float64 { return 0.5 }}), &llm.Request{})
				if f.calls != c.calls || time.Since(began) != c.wait {
					t.Errorf("%d calls in %v, want %d in %v", f.calls, time.Since(began), c.calls, c.wait)
				}
				if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
					t.Errorf("got %v, want %q", err, c.err)
				}
			})
		})
	}
}

// TestRetryWaits holds that a wait which the provider asked for is waited for
// where that is wanted, and otherwise said.
func TestRetryWaits(t *testing.T) {
	quota := func(after time.Duration) error { return &llm.Error{Kind: llm.KindQuota, RetryAfter: after} }
	for name, c := range map[string]struct {
		errs  []error
		wait  time.Duration // the option
		calls int
		took  time.Duration
		err   []string
	}{
		"a quota with a reset":         {errs: []error{quota(3 * time.Hour)}, calls: 1, err: []string{"quota", "comes back", "{15:04}"}},
		"a reset on another day":       {errs: []error{quota(72 * time.Hour)}, calls: 1, err: []string{"{2006-01-02}"}},
		"a quota that is waited for":   {errs: []error{quota(3 * time.Hour)}, wait: 4 * time.Hour, calls: 2, took: 3*time.Hour + 250*time.Millisecond},
		"a quota for ever":             {errs: []error{quota(0)}, wait: 100 * time.Hour, calls: 1, err: []string{"quota"}},
		"too long a wait":              {errs: []error{busy(5 * time.Hour)}, wait: 4 * time.Hour, calls: 1, err: []string{"5h0m0s"}},
		"in all":                       {errs: []error{busy(3 * time.Hour), busy(3 * time.Hour)}, wait: 4 * time.Hour, calls: 2, took: 3*time.Hour + 250*time.Millisecond, err: []string{"3h0m0s"}},
		"long waits are no attempts":   {errs: []error{busy(time.Hour), busy(time.Hour), busy(time.Hour), busy(time.Hour), busy(time.Hour)}, wait: 6 * time.Hour, calls: 6, took: 5 * (time.Hour + 250*time.Millisecond)},
		"a quota that is back at once": {errs: []error{quota(1), quota(1), quota(1), quota(1), quota(1), quota(1)}, wait: time.Hour, calls: 4, took: 1750*time.Millisecond + 3, err: []string{"tried 4 times"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &failing{errs: c.errs}
				began := time.Now()
				o := wrap.RetryOptions{Wait: c.wait, Rand: func() float64 { return 0.5 }}
				_, err := llm.Generate(t.Context(), wrap.Retry(f, o), &llm.Request{})
				if f.calls != c.calls || time.Since(began) != c.took {
					t.Errorf("%d calls in %v, want %d in %v", f.calls, time.Since(began), c.calls, c.took)
				}
				if (err == nil) != (c.err == nil) {
					t.Fatal(err)
				}
				for _, w := range c.err {
					if form, ok := strings.CutPrefix(w, "{"); ok { // a time by the test's clock
						var e *llm.Error
						errors.As(err, &e)
						w = began.Add(e.RetryAfter).Format(strings.TrimSuffix(form, "}"))
					}
					if !strings.Contains(err.Error(), w) {
						t.Errorf("%v does not say %q", err, w)
					}
				}
			})
		})
	}
}

// TestRetryWaitsAreBounded holds that no number of attempts makes a wait
// longer than the cap, or none.
func TestRetryWaitsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &failing{}
		for range 99 {
			f.errs = append(f.errs, busy(0))
		}
		m := wrap.Retry(f, wrap.RetryOptions{Attempts: 100, Rand: func() float64 { return 1 }})
		bound := 500 * time.Millisecond
		for ev, err := range m.Stream(t.Context(), hello()) {
			if err != nil {
				t.Fatal(err)
			}
			r, ok := ev.(llm.Retrying)
			if !ok {
				continue
			}
			if want := min(bound, time.Minute); r.Wait != want {
				t.Fatalf("attempt %d waits %v, want %v", r.Attempt, r.Wait, want)
			}
			bound = min(2*bound, time.Minute)
		}
		if f.calls != 100 {
			t.Errorf("%d calls", f.calls)
		}
	})
}

func TestRetryStopsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		_, err := llm.Generate(ctx, wrap.Retry(&failing{errs: []error{busy(30 * time.Second)}}, wrap.RetryOptions{}), &llm.Request{})
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}
