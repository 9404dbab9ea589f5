package wrap_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/llmtest"
	"github.com/cantle-dev/cantle/llm/wrap"
)

func hello() *llm.Request { return &llm.Request{Messages: []llm.Message{llm.UserText("hello")}} }

func TestWatchdog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			name  string
			reply llmtest.Reply
			took  time.Duration
			stall bool
			part  string
		}{
			{"never starts", llmtest.Stall(), 10 * time.Second, true, ""},
			{"stops", llmtest.Think("hm").Say("some text").Slow(time.Second).Stall(), 13 * time.Second, true, "some text"},
			{"slow but alive", llmtest.Say("a b c d e").Slow(9 * time.Second), 45 * time.Second, false, ""},
		} {
			m := wrap.Watchdog(llmtest.New(nil, c.reply), 10*time.Second)
			start := time.Now()
			_, err := llm.Generate(t.Context(), m, hello())
			if took := time.Since(start); took != c.took {
				t.Errorf("%s: took %s, want %s", c.name, took, c.took)
			}
			var e *llm.Error
			if stalled := errors.As(err, &e) && e.Kind == llm.KindStalled; stalled != c.stall {
				t.Errorf("%s: %v", c.name, err)
				continue
			}
			if c.part != "" && (e.Partial == nil || e.Partial.Message.Text() != c.part || len(e.Partial.Message.Parts) != 2) {
				t.Errorf("%s: partial %+v", c.name, e.Partial)
			}
		}
	})
}

func TestWatchdogLeavesTheCallerTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := wrap.Watchdog(llmtest.New(nil, llmtest.Say("a b c")), time.Second)
		for _, err := range m.Stream(t.Context(), hello()) {
			if err != nil {
				t.Fatal(err)
			}
			<-time.After(time.Hour) // fake time
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		m = wrap.Watchdog(llmtest.New(nil, llmtest.Stall()), time.Hour)
		if _, err := llm.Generate(ctx, m, hello()); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the caller's own deadline: %v", err)
		}
	})
}

func TestWrappersAreModels(t *testing.T) {
	plain := func() llm.Model { return llmtest.New(nil, llmtest.Times(20, llmtest.Say("fine, thanks"))...) }
	for name, wrapped := range map[string]func() llm.Model{
		"watchdog": func() llm.Model { return wrap.Watchdog(plain(), time.Minute) },
		"retry":    func() llm.Model { return wrap.Retry(plain(), wrap.RetryOptions{}) },
		"route":    func() llm.Model { return wrap.Route(plain(), plain(), wrap.RouteOptions{}) },
		"cache":    func() llm.Model { return wrap.CacheWatch(plain(), wrap.CacheWatchOptions{}) },
		"salvage":  func() llm.Model { return wrap.Salvage(plain()) },
		"fallback": func() llm.Model { return wrap.Fallback(plain(), wrap.FallbackOptions{}, plain()) },
	} {
		t.Run(name, func(t *testing.T) {
			llmtest.TestModel(t, llmtest.Harness{New: func(testing.TB, string) llm.Model { return wrapped() }})
			if _, ok := llm.As[*llmtest.Script](wrapped()); !ok {
				t.Error("the script inside is not found")
			}
		})
	}
}
