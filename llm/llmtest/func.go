package llmtest

import (
	"context"
	"errors"
	"iter"

	"github.com/cantle-dev/cantle/llm"
)

// Func makes a model of a function that answers a whole request; its response
// is streamed in deltas. An empty Stop, Role, Model or Origin is filled in. The
// function may be called by several goroutines and must not change the request.
func Func(info llm.Info, fn func(ctx context.Context, req *llm.Request) (*llm.Response, error)) llm.Model {
	return &funcModel{info, fn}
}

type funcModel struct {
	info llm.Info
	fn   func(context.Context, *llm.Request) (*llm.Response, error)
}

func (m *funcModel) Info() llm.Info { return m.info }

func (m *funcModel) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return once(func(yield func(llm.Event, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(nil, err)
			return
		}
		resp, err := m.fn(ctx, req)
		if err == nil && resp == nil {
			err = errors.New("llmtest: the function returned neither a response nor an error")
		}
		if err != nil {
			var e *llm.Error
			if !errors.As(err, &e) && ctx.Err() == nil {
				err = &llm.Error{Kind: llm.KindServer, Provider: m.info.Provider, Model: m.info.Name, Err: err}
			}
			yield(nil, err)
			return
		}
		full := *resp
		if full.Message.Role == "" {
			full.Message.Role = llm.RoleAssistant
		}
		if full.Message.Origin == nil {
			full.Message.Origin = &llm.Origin{Provider: m.info.Provider, Model: m.info.Name, Wire: m.info.Wire}
		}
		if full.Model == "" {
			full.Model = m.info.Name
		}
		if full.Stop == "" {
			full.Stop = Reply{parts: full.Message.Parts}.stopReason()
		}
		for _, ev := range deltas(full.Message.Parts) {
			if err := ctx.Err(); err != nil {
				yield(nil, err)
				return
			}
			if !yield(ev, nil) {
				return
			}
		}
		yield(llm.Done{Response: &full}, nil)
	})
}
