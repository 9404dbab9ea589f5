package agent

import (
	"encoding/json"
	"fmt"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/session"
)

// recalled answers a question from the journal: it was answered while no run
// was going on.
func (r *runner) recalled(q *Question) (*Answer, bool) {
	if q.Call == nil {
		return nil, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	a, ok := r.recall[q.Call.ID]
	delete(r.recall, q.Call.ID)
	return a, ok
}

// runAnswered runs the calls that a run ended on, now that their questions are
// answered. That they are taken up is on disk before any of them runs, so that
// none is run twice whatever happens.
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
			r.recall[c.ID] = &a
		}
	}
	var taken []session.Data
	for _, c := range calls {
		taken = append(taken, session.Pending{CallID: c.ID, State: session.PendingTaken})
	}
	if err := r.append(r.ctx, taken...); err != nil {
		return err
	}
	if err := r.s.Sync(r.ctx); err != nil {
		return fmt.Errorf("agent: the session could not be written to disk: %w", err)
	}
	r.synced = true
	return r.carryOut(r.prepare(calls))
}
