package wrap

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/cantle-dev/cantle/llm"
)

// FallbackOptions configure [Fallback].
type FallbackOptions struct {
	// Turn names the user turn that a request belongs to: requests of one turn
	// stay with the model that took over, and the next turn tries the first
	// model again. The default is [TurnOf]. A program with an agent returns the
	// id of the run.
	Turn func(ctx context.Context, req *llm.Request) string
}

// Fallback answers with the first of the models, and with the next ones where
// it cannot: see [Switches] for the errors that this is done for. Each model
// should be a [Retry] of its own, so that one is given up only when waiting did
// not help. Once a delta was shown, nothing is switched.
//
// It yields an [llm.Switched] each time. A model whose window does not hold the
// request, or that takes no tools where there are some, is passed over. Where
// all fail, the error is the first model's and says what became of the others.
//
// Info and Unwrap are those of the first model. The response names in its
// Origin the model that gave it, and PriceOf finds that model's price.
func Fallback(first llm.Model, o FallbackOptions, others ...llm.Model) llm.Model {
	if len(others) == 0 {
		return first
	}
	if o.Turn == nil {
		o.Turn = func(_ context.Context, req *llm.Request) string { return TurnOf(req) }
	}
	return &fallback{group: append(group{first}, others...), o: o, at: newRecent[int](maxTurns)}
}

// maxTurns is how many turns at once are remembered.
const maxTurns = 1024

type fallback struct {
	group
	o  FallbackOptions
	at *recent[int] // the model that took a turn over
}

// Info is that of the first model.
func (f *fallback) Info() llm.Info { return f.group[0].Info() }

// Unwrap returns the first model.
func (f *fallback) Unwrap() llm.Model { return f.group[0] }

// Switches says whether an error of kind k is one that another model may be
// asked for:
//
//	overloaded, rate_limit, server      the provider cannot now; another can
//	network, stream_…                   it cannot be reached, or broke off
//	quota                               it is used up, and waiting does not help
//	invalid_request                     no: the request is wrong, and the fault must show
//	context_overflow, too_large         no: it must be made smaller, for any model
//	content_filter                      no: a refusal is not to be shopped around
//	auth, permission, not_found         no: a setting is wrong; to answer all the same
//	                                    would hide it, and send the conversation elsewhere
func Switches(k llm.Kind) bool { return k == llm.KindQuota || k.Retryable() }

// Stream is [llm.Model].Stream.
func (f *fallback) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return once(func(yield func(llm.Event, error) bool) {
		turn := f.o.Turn(ctx, req)
		start, _ := f.at.get(turn)
		var first *llm.Error
		var rest []string // what became of the others
		from := ""        // the model that failed last
		var last error
		for i := range f.group {
			n := (start + i) % len(f.group)
			m := f.group[n]
			info := m.Info()
			if first != nil {
				if why := unfit(info, req); why != "" {
					rest = append(rest, info.Ref()+": "+why)
					continue
				}
				f.at.put(turn, n)
				if !yield(llm.Switched{From: from, To: info.Ref(), Err: last}, nil) {
					return
				}
			}
			shown, stopped, err := passOn(served(ctx, m, capped(m, req)), yield)
			if stopped || err == nil {
				return
			}
			var e *llm.Error
			if shown || ctx.Err() != nil || !errors.As(err, &e) || n == 0 && !Switches(e.Kind) {
				yield(nil, err)
				return
			}
			if first == nil {
				first = e
			} else {
				rest = append(rest, e.Error())
			}
			from, last = info.Ref(), err
		}
		f.at.drop(turn) // the next request begins with the first model
		if len(rest) > 0 {
			first = more(first, "and no other model could answer: "+strings.Join(rest, "; "))
		}
		yield(nil, first)
	})
}

// served is the stream of m, whose response says that it is m's.
func served(ctx context.Context, m llm.Model, req *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		for ev, err := range m.Stream(ctx, req) {
			if d, ok := ev.(llm.Done); ok && d.Response != nil && d.Response.Message.Origin == nil {
				info, r := m.Info(), *d.Response
				r.Message.Origin = &llm.Origin{Provider: info.Provider, Model: info.Name, Wire: info.Wire}
				ev = llm.Done{Response: &r}
			}
			if !yield(ev, err) {
				return
			}
		}
	}
}

// unfit is why a model cannot take req, or "".
func unfit(i llm.Info, req *llm.Request) string {
	if i.Traits.NoTools && len(req.Tools) > 0 {
		return "it takes no tools"
	}
	if n := llm.Estimate(req); i.Context > 0 && n > i.Context {
		return fmt.Sprintf("some %d tokens do not fit its window of %d", n, i.Context)
	}
	return ""
}

// capped is req with no more output than m has.
func capped(m llm.Model, req *llm.Request) *llm.Request {
	most := m.Info().Output
	if most <= 0 || req.MaxTokens <= most {
		return req
	}
	out := *req
	out.MaxTokens = most
	return &out
}

// group is the models of a wrapper that has several.
type group []llm.Model

// PriceOf is the price of the model of that provider and name, as a response
// has them in its Origin; nil is unknown.
func (g group) PriceOf(provider, model string) *llm.Price {
	if m, ok := g.find(provider, model); ok {
		return m.Info().Price
	}
	return nil
}

// find is the model of that provider and name, in wrappers inside too.
func (g group) find(provider, model string) (llm.Model, bool) {
	for _, m := range g {
		if inner, ok := llm.As[interface {
			find(provider, model string) (llm.Model, bool)
		}](m); ok {
			if m, ok := inner.find(provider, model); ok {
				return m, true
			}
			continue
		}
		if i := m.Info(); i.Provider == provider && i.Name == model {
			return m, true
		}
	}
	return nil, false
}

// Models are the models that may answer, those of wrappers inside among them,
// each once.
func (g group) Models() []llm.Model {
	var out []llm.Model
	for _, m := range g {
		if inner, ok := llm.As[interface{ Models() []llm.Model }](m); ok {
			out = append(out, inner.Models()...)
			continue
		}
		out = append(out, m)
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(out, func(m llm.Model) bool {
		ref := m.Info().Ref()
		again := seen[ref]
		seen[ref] = true
		return again
	})
}
