package agent

import (
	"context"
	"errors"
	"slices"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/session"
)

// Generate is a side call: a summary, a title, a reviewer. It is budgeted and
// priced with the run, what it used is recorded as a [session.SideSpent] with
// its purpose, and it is no part of the conversation. A nil model means the
// run's own.
//
// Its failure is the helper's and not the run's: it is told as a [Warning], and
// who asked goes on without the answer. A Stop function that returns the error
// does not fail the run.
func (t *Turn) Generate(ctx context.Context, purpose string, m llm.Model, req *llm.Request) (*llm.Response, error) {
	r := t.r
	if m == nil {
		m = r.model
	}
	ctx = context.WithValue(ctx, turnKey{}, t)
	settle := func(amount) {}
	if r.metered() {
		est, err := r.price(m, llm.Usage{Input: int64(llm.Estimate(req)), Output: 1})
		if err != nil {
			return nil, err
		}
		if settle, err = r.pot.reserve(est); err != nil {
			return nil, err
		}
	}
	resp, failed := llm.Generate(ctx, m, req)
	if failed != nil {
		resp = partialOf(failed)
		failed = &sideError{purpose, failed}
		if ctx.Err() == nil {
			t.Emit(Warning{failed.Error()})
		}
		if resp == nil || resp.Usage == nil { // it used nothing that is known
			settle(amount{})
			return nil, failed
		}
	}
	if u := sound(resp.Usage); u != resp.Usage {
		whole := *resp
		whole.Usage = u
		resp = &whole
	}
	cost := priced(m, resp)
	settle(amountOf(resp.Usage, cost))
	model := served(m.Info(), resp)
	r.charge(model, resp.Usage, cost)
	err := r.spent(ctx, session.SideSpent{Purpose: purpose, Path: t.Path, Model: model, Usage: resp.Usage, Cost: cost})
	switch {
	case failed != nil:
		return nil, failed
	case err != nil:
		return nil, err
	}
	return resp, nil
}

// sideError is the failure of a side call.
type sideError struct {
	purpose string
	err     error
}

func (e *sideError) Error() string { return "agent: " + e.purpose + ": " + e.err.Error() }
func (e *sideError) Unwrap() error { return e.err }

// modelError is the error of the conversation's own request in err, if there is
// one: that of a side call has been accounted for.
func modelError(err error) (*llm.Error, bool) {
	e, ok := errors.AsType[*llm.Error](err)
	if side, is := errors.AsType[*sideError](err); ok && is {
		if in, _ := errors.AsType[*llm.Error](side.err); in == e {
			return nil, false
		}
	}
	return e, ok
}

// spent records what was used apart from the messages of the conversation.
func (r *runner) spent(ctx context.Context, s session.SideSpent) error {
	s.Run = r.res.Run
	n, err := s.Note()
	if err != nil {
		return err
	}
	return r.append(ctx, n)
}

// charge adds a response to the sums of the run and of all above it. Where one
// of those has ended already, it is recorded in its session.
func (r *runner) charge(model string, u *llm.Usage, cost *llm.Money) {
	for q := r; ; q = q.st.parent.r {
		q.mu.Lock()
		q.usage.add(u)
		if cost == nil {
			q.unpriced = true
		} else {
			q.cost += *cost
		}
		q.bill = enter(q.bill, r.turn.Path, model, u, cost)
		late := q.over && q != r
		q.mu.Unlock()
		if late {
			// An error is that run's session closed or its disk full: what is
			// then lost is a sum, and the child's own session has it.
			_ = q.spent(r.ctx, session.SideSpent{Purpose: "child", Path: r.turn.Path, Model: model, Usage: u, Cost: cost})
		}
		if q.st.parent == nil {
			return
		}
	}
}

// item is what one agent used of one model.
type item struct {
	path, model string
	requests    int
	usage       llm.Usage
	reported    bool
	cost        llm.Money
	unpriced    bool
}

// enter adds a response to a bill.
func enter(bill []item, path, model string, u *llm.Usage, cost *llm.Money) []item {
	i := slices.IndexFunc(bill, func(b item) bool { return b.path == path && b.model == model })
	if i < 0 {
		i = len(bill)
		bill = append(bill, item{path: path, model: model})
	}
	b := &bill[i]
	b.requests++
	if u != nil {
		b.reported = true
		b.usage.Add(*u)
	}
	if cost == nil {
		b.unpriced = true
	} else {
		b.cost += *cost
	}
	return bill
}
