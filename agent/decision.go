package agent

import (
	"github.com/cantle-dev/cantle/session"
	"github.com/cantle-dev/cantle/tool"
)

// Decision says by whom a call was allowed or denied, and why. It is in the
// call's events, and in the journal with the call's result.
type Decision = session.Decision

// Who decides. Others may be named.
const (
	ByRule     = "rule"
	ByMode     = "mode"
	ByHook     = "hook"
	ByReviewer = "reviewer"
	ByUser     = "user"
	ByNobody   = "nobody" // a question was not answered
)

// verdict is a decision while the call's gate still may decide otherwise.
type verdict struct {
	Decision
	noted bool // by Turn.Decided: it is so whatever the gate returns

	q  *Question // else it is that of an answer
	a  *Answer
	ok bool
}

// answeredQuestion is a question about a call with its answer.
type answeredQuestion struct {
	q *Question
	a *Answer
}

// Decided notes, in a Gate, who decides on the call that it is deciding on. The
// last note counts. What an answer to a question about the call decided is noted
// by itself: see [Answer.By].
func (t *Turn) Decided(c *tool.Call, d Decision) {
	t.r.note(c.ID, verdict{Decision: d, noted: true})
}

// note keeps v if the call is the one that is being decided on.
func (r *runner) note(call string, v verdict) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.deciding == "" || r.deciding != call {
		return
	}
	r.verdict = &v
	if v.a != nil {
		r.reply = &answeredQuestion{v.q, v.a}
	}
}

// begin begins the decision on a call.
func (r *runner) begin(o *one) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.deciding, r.verdict, r.reply = o.call.ID, nil, nil
}

// decided ends it. An answer that the gate did not follow decided nothing.
func (r *runner) decided(o *one, allowed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if v := r.verdict; v != nil && v.By != "" && (v.noted || v.ok == allowed) {
		o.decision = &v.Decision
	}
	o.answered = r.reply
	r.deciding, r.verdict, r.reply = "", nil, nil
}
