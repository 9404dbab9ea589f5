package wrap

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"sync/atomic"
	"time"

	"github.com/cantle-dev/cantle/llm"
)

// Watchdog ends a request when no event has come for idle: with an
// [llm.KindStalled] error, whose Partial holds the text and thinking so far. The
// time that the caller takes over an event does not count. It needs a model
// that honours its context. An idle of 0 or less is no watchdog: m is returned
// as it is.
//
// The adapters for wires watch the bytes of their connections themselves, and
// so see keep-alives that are no events; this is for any other model.
func Watchdog(m llm.Model, idle time.Duration) llm.Model {
	if idle <= 0 {
		return m
	}
	return &watchdog{m, idle}
}

type watchdog struct {
	llm.Model
	idle time.Duration
}

// Unwrap returns the model inside.
func (w *watchdog) Unwrap() llm.Model { return w.Model }

// Stream is [llm.Model].Stream.
func (w *watchdog) Stream(parent context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return once(func(yield func(llm.Event, error) bool) {
		ctx, cancel := context.WithCancel(parent)
		defer cancel()
		var fired atomic.Bool
		timer := time.AfterFunc(w.idle, func() {
			fired.Store(true)
			cancel()
		})
		defer timer.Stop()
		var got llm.Parts // one for each delta
		for ev, err := range w.Model.Stream(ctx, req) {
			timer.Stop()
			if err != nil {
				if fired.Load() && parent.Err() == nil {
					err = w.stalled(got, err)
				}
				yield(nil, err)
				return
			}
			switch d := ev.(type) {
			case llm.TextDelta:
				got = append(got, llm.Text{Text: d.Text})
			case llm.ThinkingDelta:
				got = append(got, llm.Thinking{Text: d.Text})
			}
			if !yield(ev, nil) {
				return
			}
			if _, done := ev.(llm.Done); !done && !fired.Load() {
				timer.Reset(w.idle)
			}
		}
	})
}

func (w *watchdog) stalled(got llm.Parts, cause error) error {
	info := w.Info()
	e := &llm.Error{
		Kind: llm.KindStalled, Provider: info.Provider, Model: info.Name, Err: cause,
		Message: fmt.Sprintf("nothing came for %v", w.idle),
	}
	if got != nil {
		e.Partial = &llm.Response{Model: info.Name, Stop: llm.StopError, Message: llm.Message{
			Role: llm.RoleAssistant, Parts: join(got),
			Origin: &llm.Origin{Provider: info.Provider, Model: info.Name, Wire: info.Wire},
		}}
	}
	return e
}

// join makes one part of neighbours of the same kind.
func join(deltas llm.Parts) llm.Parts {
	var out llm.Parts
	var b strings.Builder
	for i, p := range deltas {
		thinking := false
		switch p := p.(type) {
		case llm.Text:
			b.WriteString(p.Text)
		case llm.Thinking:
			thinking = true
			b.WriteString(p.Text)
		}
		if i+1 < len(deltas) {
			if _, next := deltas[i+1].(llm.Thinking); next == thinking {
				continue
			}
		}
		if thinking {
			out = append(out, llm.Thinking{Text: b.String()})
		} else {
			out = append(out, llm.Text{Text: b.String()})
		}
		b.Reset()
	}
	return out
}
