package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/session"
	"github.com/cantle-dev/cantle/tool"
)

// recalled answers a question from the journal: it was answered while no run
// was going on. An answer to a question about another input of the call, or
// about one that touched other things or for other reasons, is none.
func (r *runner) recalled(q *Question) (*Answer, bool) {
	if q.Call == nil {
		return nil, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	was, ok := r.recall[q.Call.ID]
	if !ok || !was.q.same(q) {
		return nil, false
	}
	delete(r.recall, q.Call.ID)
	return was.a, true
}

// same reports whether an answer to one of the questions is one to the other.
func (q *Question) same(o *Question) bool {
	if q.Kind != o.Kind || q.Basis != o.Basis || q.Call == nil || o.Call == nil || q.Call.Name != o.Call.Name {
		return false
	}
	return bytes.Equal(tool.Canonical(q.Call.Input), tool.Canonical(o.Call.Input)) && slices.Equal(q.Call.Access, o.Call.Access)
}

// wait ends the run if questions wait, and records them, with those of the turn
// that were answered already, so that none of these is asked again.
func (r *runner) wait(ones []*one) (bool, error) {
	var data []session.Data
	var open []*Question
	for _, o := range ones {
		var p session.Pending
		var q *Question
		switch {
		case o.pending != nil:
			q, p.State = o.pending, session.PendingAsked
			open = append(open, q)
		case o.answered != nil:
			q, p.State = o.answered.q, session.PendingAnswered
			b, err := json.Marshal(o.answered.a)
			if err != nil {
				return false, fmt.Errorf("agent: answer: %w", err)
			}
			p.Answer = b
		default:
			continue
		}
		b, err := json.Marshal(q)
		if err != nil {
			return false, fmt.Errorf("agent: question: %w", err)
		}
		p.CallID, p.Question = o.call.ID, b
		data = append(data, p)
	}
	if len(open) == 0 || r.ctx.Err() != nil {
		return false, nil
	}
	r.res.Questions = append(r.res.Questions, open...)
	r.stop(StopPending, fmt.Sprintf("%d question(s) wait for an answer", len(open)))
	return true, r.append(r.ctx, data...)
}

// runAnswered runs the calls that a run ended on, now that their questions are
// answered: they are decided on anew, with the answers.
func (r *runner) runAnswered(calls []llm.ToolCall, pending map[string]session.Pending) error {
	for _, c := range calls {
		p, ok := pending[c.ID]
		if ok && p.State == session.PendingTaken {
			return r.recordLost(calls, pending)
		}
		if ok {
			var a Answer
			if err := json.Unmarshal(p.Answer, &a); err != nil {
				a = Answer{Reason: fmt.Sprintf("the recorded answer cannot be read: %v", err)}
			}
			var q Question
			if json.Unmarshal(p.Question, &q) == nil { // else it is asked again
				r.recall[c.ID] = answeredQuestion{&q, &a}
			}
		}
	}
	r.resuming = true
	return r.carryOut(r.prepare(calls))
}

// takeUp records that the calls are taken up. That is on disk before any of them
// runs, so that none is run twice whatever happens.
func (r *runner) takeUp(ones []*one) error {
	taken := make([]session.Data, len(ones))
	for i, o := range ones {
		taken[i] = session.Pending{CallID: o.call.ID, State: session.PendingTaken}
	}
	if err := r.append(r.ctx, taken...); err != nil {
		return err
	}
	if err := r.s.Sync(r.ctx); err != nil {
		return fmt.Errorf("agent: the session could not be written to disk: %w", err)
	}
	r.synced = true
	return nil
}
