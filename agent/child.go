package agent

import (
	"context"
	"fmt"
	"path"
	"slices"
	"sync"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/session"
)

// Run runs a as a child of this run and waits for its end: its events come out
// of this run with their Path, its spending is in this budget, and it is
// cancelled with ctx and with this run. name is made part of the path.
//
// The error is an [ErrBudget] where children are too many or nest too deep, and
// its text is fit for the model.
func (t *Turn) Run(ctx context.Context, name string, a *Agent, s *session.Session, in ...llm.Part) (*Result, error) {
	st, err := t.child(ctx, name, a, s, in)
	if err != nil {
		return nil, err
	}
	return t.perform(st)
}

// Start is [Turn.Run] in the background: the child runs on when the call that
// started it has ended, whatever becomes of ctx, and ends with this run, unless
// [Options.Detach] takes it. Its end is seen by [Stream.Done]; its events come
// out of this run, so the stream's own are not to be ranged over.
func (t *Turn) Start(ctx context.Context, name string, a *Agent, s *session.Session, in ...llm.Part) (*Stream, error) {
	st, err := t.child(context.WithoutCancel(ctx), name, a, s, in)
	if err != nil {
		return nil, err
	}
	go func() { _, _ = t.perform(st) }() // how it ended is in the stream
	return st, nil
}

// child prepares a child and counts it in.
func (t *Turn) child(ctx context.Context, name string, a *Agent, s *session.Session, in llm.Parts) (*Stream, error) {
	depth := 1
	for p := t; p.r.st.parent != nil; p = p.r.st.parent {
		depth++
	}
	if d := t.r.root().budget.Depth; d > 0 && depth > d {
		return nil, &haltError{StopSpawns, fmt.Sprintf("agents nest %d deep already, the most that they may: do this part without another", d)}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	st := a.Stream(ctx, s, in...)
	st.parent, st.path, st.cancel = t, path.Join(t.Path, name), cancel
	st.used = true // by perform
	if err := t.r.adopt(st); err != nil {
		cancel(nil)
		return nil, err
	}
	return st, nil
}

// perform carries a child out.
func (t *Turn) perform(st *Stream) (*Result, error) {
	defer st.cancel(nil)
	defer t.r.release(st)
	defer context.AfterFunc(t.r.ctx, func() {
		if st.handedTo() == nil {
			st.cancel(context.Cause(t.r.ctx))
		}
	})()
	var failed error
	_, panicked := safely(func() (any, error) {
		st.perform(func(ev Event, err error) bool {
			switch {
			case err != nil:
				failed = err
			case !t.r.pump(ev):
				if to := st.handedTo(); to != nil {
					to.put(ev)
				}
			}
			return true
		})
		return nil, nil
	})
	if panicked != nil { // in its middleware; the host must not die of it
		failed = fmt.Errorf("agent: %s: %w", st.path, panicked)
		t.Emit(Warning{failed.Error()})
	}
	if to := st.handedTo(); to != nil {
		to.close(failed)
	}
	t.childSpent(st, st.runner())
	return st.Result(), failed
}

// childSpent records what a child used, by agent and by model, so that the
// session knows it even if this run never comes to its end. After this run's
// end the child's responses were recorded one by one.
func (t *Turn) childSpent(st *Stream, r *runner) {
	t.r.mu.Lock()
	over := t.r.over
	t.r.mu.Unlock()
	if r == nil || over {
		return
	}
	r.mu.Lock()
	bill := slices.Clone(r.bill)
	r.mu.Unlock()
	for _, b := range bill {
		sp := session.SideSpent{Purpose: "child", Path: b.path, Model: b.model, Requests: b.requests}
		if b.reported {
			sp.Usage = &b.usage
		}
		if !b.unpriced {
			sp.Cost = &b.cost
		}
		if err := t.r.spent(st.ctx, sp); err != nil {
			t.Emit(Warning{fmt.Sprintf("what %s used could not be recorded: %v", st.path, err)})
			return
		}
	}
}

// adopt counts a child that begins, in the budget too.
func (r *runner) adopt(st *Stream) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closing {
		return fmt.Errorf("agent: %s cannot begin: the run that started it has ended", st.path)
	}
	if err := r.pot.spawn(); err != nil {
		return err
	}
	r.children[st] = true
	return nil
}

func (r *runner) release(st *Stream) {
	r.mu.Lock()
	delete(r.children, st)
	if len(r.children) == 0 {
		r.alone.Broadcast()
	}
	r.mu.Unlock()
}

// awaitChildren waits for the children that outlived their calls, or hands
// them to Detach. There are none after it.
func (r *runner) awaitChildren() {
	r.mu.Lock()
	var live []*Stream
	for st := range r.children {
		live = append(live, st)
	}
	detach := r.opts.Detach != nil && r.ctx.Err() == nil
	r.closing = detach || len(live) == 0
	r.mu.Unlock()
	switch {
	case len(live) == 0:
	case detach:
		for _, st := range live {
			st.mu.Lock()
			st.relay = newRelay()
			st.used = false // for whoever takes it over
			st.mu.Unlock()
			r.opts.Detach(st)
		}
	default:
		r.do(func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			for len(r.children) > 0 {
				r.alone.Wait()
			}
			r.closing = true
		})
	}
}

func (st *Stream) handedTo() *relay {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.relay
}

// relay carries the events of a child that was handed over from the goroutine
// that performs it to the one that reads.
type relay struct {
	mu      sync.Mutex
	changed *sync.Cond
	held    []Event
	reading bool
	broken  bool // the reader went away
	over    bool
	err     error
}

func newRelay() *relay {
	y := new(relay)
	y.changed = sync.NewCond(&y.mu)
	return y
}

func (y *relay) put(e Event) {
	y.mu.Lock()
	defer y.mu.Unlock()
	for y.reading && !y.broken && len(y.held) >= maxHeld {
		y.changed.Wait()
	}
	_, last := e.Data.(RunEnded)
	if y.broken || len(y.held) >= maxHeld && !last {
		return
	}
	y.held = append(y.held, e)
	y.changed.Broadcast()
}

func (y *relay) close(err error) {
	y.mu.Lock()
	y.over, y.err = true, err
	y.changed.Broadcast()
	y.mu.Unlock()
}

// read yields what comes, in the caller's goroutine. A caller that breaks off
// cancels the child and waits for it.
func (y *relay) read(st *Stream, yield func(Event, error) bool) {
	whole := false
	defer func() {
		y.mu.Lock()
		y.broken = true
		y.changed.Broadcast()
		y.mu.Unlock()
		if !whole {
			st.cancel(errBroken)
			<-st.done
		}
	}()
	for seq := 1; ; seq++ {
		e, ok, err := y.next()
		if !ok {
			whole = true
			if err != nil {
				yield(Event{}, err)
			}
			return
		}
		e.Seq = seq
		if !yield(e, nil) {
			return
		}
	}
}

func (y *relay) next() (e Event, ok bool, err error) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.reading = true
	for len(y.held) == 0 && !y.over {
		y.changed.Wait()
	}
	if len(y.held) == 0 {
		return Event{}, false, y.err
	}
	e = y.held[0]
	y.held = y.held[1:]
	y.changed.Broadcast()
	return e, true, nil
}
