package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/session"
	"github.com/cantle-dev/cantle/tool"
)

// Turn is the run as middleware and tools see it: a new, unchanging value each
// turn. Its methods may be called from any goroutine.
type Turn struct {
	Number  int    // from 1; 0 before the first model call
	Path    string // "" is the agent itself, "explore-2" a child
	RunID   string // the run's id
	Session *session.Session
	Usage   Usage // of the run so far

	r *runner
}

type turnKey struct{}

// FromContext returns the turn that a tool, gate or model call runs in, or
// nil.
func FromContext(ctx context.Context) *Turn { t, _ := ctx.Value(turnKey{}).(*Turn); return t }

// Tool returns the run's tool of that name, or nil.
func (t *Turn) Tool(name string) tool.Tool { return t.r.tools[name].Tool }

// Tools returns the run's tools, in the order in which the model was told of
// them. The caller must not change the slice.
func (t *Turn) Tools() []tool.Tool { return t.r.order }

// Options returns the agent's options: a child is made from a changed copy.
func (t *Turn) Options() Options { return t.r.opts }

// Model returns the agent's model.
func (t *Turn) Model() llm.Model { return t.r.model }

// Emit shows d to whoever watches the run. After the run it does nothing.
func (t *Turn) Emit(d EventData) { t.r.pump(Event{Path: t.Path, Turn: t.Number, Data: d}) }

// Append records d in the session, with an id and time of the run. It is how
// features keep what must survive: as a [session.Note].
func (t *Turn) Append(ctx context.Context, d ...session.Data) error {
	return t.r.append(ctx, d...)
}

// Request builds the next request from the session's view.
func (t *Turn) Request() *llm.Request { return t.r.request() }

// Ask puts q to the Ask middleware and then to [Options.Ask]; with none, the
// answer is no. It waits for the answer. An answer that comes when ctx has ended,
// or that is to another question, is none.
func (t *Turn) Ask(ctx context.Context, q *Question) (*Answer, error) {
	if q.ID == "" {
		q.ID = t.r.opts.NewID()
	}
	q.Path = t.Path
	own := *q
	q = &own
	for _, m := range t.r.mws {
		if m.Question != nil {
			m.Question(ctx, t, q)
		}
	}
	if a, ok := t.r.recalled(q); ok {
		return t.answered(q, a), nil
	}
	t.Emit(Asked{q})
	a, err := t.r.askUser(ctx, t, q)
	switch {
	case errors.Is(err, ErrPending):
		return nil, &pendingQuestion{q}
	case err != nil:
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case a == nil:
		a = &Answer{Reason: "no answer was given", By: ByNobody}
	case a.Question != "" && a.Question != q.ID:
		err = fmt.Errorf("agent: the answer is to the question %q and not to %q", a.Question, q.ID)
	}
	if err != nil {
		t.r.interrupted(err)
		t.Emit(Answered{ID: q.ID, Reason: err.Error(), By: ByNobody})
		if q.Call != nil {
			t.r.note(q.Call.ID, verdict{Decision: Decision{By: ByNobody, Reason: err.Error()}})
		}
		return nil, err
	}
	a = t.answered(q, a)
	t.Emit(Answered{ID: q.ID, OK: a.OK, Reason: a.Reason, By: a.By})
	return a, nil
}

// answered notes the answer as a decision on the call that q is about.
func (t *Turn) answered(q *Question, a *Answer) *Answer {
	own := *a
	own.By = cmp.Or(own.By, ByUser)
	if q.Call != nil {
		t.r.note(q.Call.ID, verdict{Decision: Decision{By: own.By, Reason: own.Reason}, ok: own.OK, q: q, a: &own})
	}
	return &own
}

// askHost is the innermost AskFunc.
func (r *runner) askHost(ctx context.Context, t *Turn, q *Question) (*Answer, error) {
	if r.opts.Ask == nil {
		return &Answer{Reason: "nobody is there to answer", By: ByNobody}, nil
	}
	a, err := r.opts.Ask(ctx, t, q)
	if a == nil && err == nil {
		a = &Answer{Reason: "no answer was given", By: ByNobody}
	}
	return a, err
}
