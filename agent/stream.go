package agent

import (
	"context"
	"iter"
	"sync"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/session"
)

// Stream is one run. Events performs it; the other methods may be called from
// any goroutine while it goes on.
type Stream struct {
	a      *Agent
	ctx    context.Context
	s      *session.Session
	in     llm.Parts
	parent *Turn
	path   string
	done   chan struct{}

	mu     sync.Mutex
	used   bool
	ended  bool
	result *Result
	queue  []queued
}

type queued struct {
	id    string // of the Queued entry; "" when it could not be recorded
	kind  session.MessageKind
	parts llm.Parts
}

// Events performs the run. It is single-use: a second range yields
// [llm.ErrUsed]. yield is called from the ranging goroutine only. If the run
// cannot go on, the last pair is a zero Event and the error, after a
// [RunEnded]. Breaking off cancels the run and returns when its tools have
// stopped; what came so far is in the session.
func (st *Stream) Events() iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		st.mu.Lock()
		used := st.used
		st.used = true
		st.mu.Unlock()
		if used {
			yield(Event{}, llm.ErrUsed)
			return
		}
		defer close(st.done)
		run(st, yield)
	}
}

// Done is closed when the run has ended.
func (st *Stream) Done() <-chan struct{} { return st.done }

// Result is nil until the run has ended, and stays nil when it never began.
func (st *Stream) Result() *Result {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.result
}

// Steer adds input that the model sees as soon as the calls that have begun
// are done: calls of the turn that have not begun are skipped. It reports
// whether the run will still see it; when it does not, the run is over.
func (st *Stream) Steer(in ...llm.Part) bool { return st.push(session.KindSteer, in) }

// FollowUp adds input for when the run would end.
func (st *Stream) FollowUp(in ...llm.Part) bool { return st.push(session.KindFollowUp, in) }

func (st *Stream) push(kind session.MessageKind, in llm.Parts) bool {
	if len(in) == 0 {
		return false
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.ended {
		return false
	}
	q := queued{id: st.a.opts.NewID(), kind: kind, parts: in}
	// Recorded at once, so that it survives a crash. If the journal cannot be
	// written the run itself will say so.
	if err := st.s.Append(context.WithoutCancel(st.ctx), session.Entry{
		ID: q.id, Time: st.a.opts.Now(),
		Data: session.Queued{Kind: kind, Parts: in},
	}); err != nil {
		q.id = ""
	}
	st.queue = append(st.queue, q)
	return true
}

// Queued returns what waits, in order.
func (st *Stream) Queued() []llm.Parts {
	st.mu.Lock()
	defer st.mu.Unlock()
	var out []llm.Parts
	for _, q := range st.queue {
		out = append(out, q.parts)
	}
	return out
}

// Unqueue takes everything that waits back, for the user to edit.
func (st *Stream) Unqueue() []llm.Parts {
	out := st.Queued()
	for range out {
		q, ok := st.pop("")
		if !ok {
			break
		}
		st.settled(q)
	}
	return out
}

func (st *Stream) settled(q queued) {
	if q.id == "" {
		return
	}
	// An error here means that the input is offered again after a crash, which
	// is the lesser evil.
	_ = st.s.Append(context.WithoutCancel(st.ctx), session.Entry{
		ID: st.a.opts.NewID(), Time: st.a.opts.Now(),
		Data: session.Queued{ID: q.id, Kind: q.kind, Done: true},
	})
}

// pop takes the first that waits, of a kind or of any.
func (st *Stream) pop(kind session.MessageKind) (queued, bool) {
	st.mu.Lock()
	defer st.mu.Unlock()
	for i, q := range st.queue {
		if kind == "" || q.kind == kind {
			st.queue = append(st.queue[:i:i], st.queue[i+1:]...)
			return q, true
		}
	}
	return queued{}, false
}

func (st *Stream) steered() bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	for _, q := range st.queue {
		if q.kind == session.KindSteer {
			return true
		}
	}
	return false
}

// end closes the queue; it refuses while something waits.
func (st *Stream) end() bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	if len(st.queue) > 0 {
		return false
	}
	st.ended = true
	return true
}

func (st *Stream) finish(res *Result) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.ended, st.result = true, res
}
