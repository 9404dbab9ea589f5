package agent

import "fmt"

// Events come from two sides: the loop's own goroutine calls emit, and
// everything else calls pump, which hands over to the loop. Only the loop's
// goroutine yields.

// emit yields d now. It is called on the loop's goroutine only.
func (r *runner) emit(d EventData) {
	r.drain()
	r.out(Event{Path: r.turn.Path, Turn: r.turn.Number, Data: d})
}

func (r *runner) out(e Event) {
	if r.stopped {
		return
	}
	r.seq++
	e.Seq = r.seq
	if e.Time.IsZero() {
		e.Time = r.opts.Now()
	}
	if e.Path == r.turn.Path { // a child's middleware has seen its own events
		for _, m := range r.mws {
			if m.Event != nil {
				r.observe(m, e.Data)
			}
		}
	}
	if !r.yield(e, nil) {
		r.stopped = true
		r.cancel(errBroken)
	}
}

// observe keeps an observer's panic from failing the run.
func (r *runner) observe(m Middleware, d EventData) {
	defer func() {
		if v := recover(); v != nil {
			r.mu.Lock()
			defer r.mu.Unlock()
			if len(r.held) < maxHeld {
				r.held = append(r.held, Event{Path: r.turn.Path, Turn: r.turn.Number, Data: Warning{
					Text: fmt.Sprintf("the observer %s panicked, and the run goes on: %v", m.Name, v),
				}})
			}
		}
	}()
	m.Event(r.ctx, r.turn, d)
}

// maxHeld bounds the events that are held while nobody takes them; the loop
// takes them between any two of its own.
const maxHeld = 4096

// pump hands an event from any goroutine to the loop's. While a phase is on it
// waits until the loop has taken it, which slows a flood down; between phases
// the event is held. After the run it is not taken.
func (r *runner) pump(e Event) (taken bool) {
	r.mu.Lock()
	if r.over {
		r.mu.Unlock()
		return false
	}
	ch, phase := r.events, r.phase
	if ch == nil {
		if len(r.held) < maxHeld {
			r.held = append(r.held, e)
		}
		r.mu.Unlock()
		return true
	}
	r.mu.Unlock()
	select {
	case ch <- e:
		return true
	case <-phase:
		return r.pump(e)
	}
}

// drain yields what was held.
func (r *runner) drain() {
	r.mu.Lock()
	held := r.held
	r.held = nil
	r.mu.Unlock()
	for _, e := range held {
		r.out(e)
	}
}

// do runs fn off the loop's goroutine, which yields what is pumped meanwhile.
// With Options.Parallel set, fn runs inline and what it pumps is held.
func (r *runner) do(fn func()) {
	if r.opts.Parallel != nil {
		fn()
		r.drain()
		return
	}
	r.drain()
	ch, phase, done := make(chan Event), make(chan struct{}), make(chan struct{})
	r.mu.Lock()
	r.events, r.phase = ch, phase
	r.mu.Unlock()
	r.hand(func() { defer close(done); fn() })
	for {
		select {
		case e := <-ch:
			r.out(e)
			continue
		case <-done:
		}
		break
	}
	r.mu.Lock()
	r.events, r.phase = nil, nil
	r.mu.Unlock()
	close(phase)
	r.drain()
}

// worker carries phases out, one after the other, on a goroutine whose stack
// has grown already. One that a phase has ended is followed by another.
type worker struct {
	jobs chan func()
	gone chan struct{} // closed when its goroutine has ended
}

// hand gives fn to the run's worker.
func (r *runner) hand(fn func()) {
	if w := r.worker; w != nil {
		select {
		case w.jobs <- fn:
			return
		case <-w.gone:
		}
	}
	w := &worker{jobs: make(chan func()), gone: make(chan struct{})}
	r.worker = w
	go func() {
		defer close(w.gone)
		for fn := range w.jobs {
			fn()
		}
	}()
	w.jobs <- fn
}

// dismiss ends the worker.
func (r *runner) dismiss() {
	if r.worker != nil {
		close(r.worker.jobs)
	}
}
