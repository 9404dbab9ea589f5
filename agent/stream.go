package agent

import (
	"context"
	"iter"
	"sync"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/session"
)

// Stream is one run. Events performs it; the other methods may be called from
// any goroutine, before, while and after it goes on.
type Stream struct {
	a      *Agent
	ctx    context.Context
	s      *session.Session
	in     llm.Parts
	parent *Turn
	path   string
	cancel context.CancelCauseFunc // of a child
	done   chan struct{}

	mu     sync.Mutex
	used   bool
	ended  bool
	result *Result
	r      *runner // once it has begun
	queue  []queued
	relay  *relay // set when a child is handed over: see Options.Detach
}

// Events performs the run. It is single-use: a second range yields
// [llm.ErrUsed]. yield is called from the ranging goroutine only. If the run
// cannot go on, the last pair is a zero Event and the error, after a
// [RunEnded]. Breaking off cancels the run and returns when its tools have
// stopped; what came so far is in the session.
//
// On a stream that [Options.Detach] was given, Events does not perform the run,
// which goes on by itself: it yields what happens from then on, numbered from
// 1, to the RunEnded. The run waits for whoever reads. While nobody does, 4,096
// events are kept and those after them are dropped, except the last.
func (st *Stream) Events() iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		st.mu.Lock()
		used := st.used
		st.used = true
		relay := st.relay
		st.mu.Unlock()
		if used {
			yield(Event{}, llm.ErrUsed)
			return
		}
		if relay != nil {
			relay.read(st, yield)
			return
		}
		st.perform(yield)
	}
}

func (st *Stream) perform(yield func(Event, error) bool) {
	defer func() { // also when middleware panicked
		st.mu.Lock()
		st.ended = true
		st.mu.Unlock()
		close(st.done)
	}()
	run(st, yield)
}

// Done is closed when the run has ended.
func (st *Stream) Done() <-chan struct{} { return st.done }

// Result is nil until the run has ended, and stays nil when it never began.
func (st *Stream) Result() *Result {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.result
}

func (st *Stream) runner() *runner {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.r
}

func (st *Stream) finish(res *Result) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.ended, st.result = true, res
}
