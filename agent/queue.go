package agent

import (
	"context"
	"slices"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/session"
)

// Queued is input that waits for its time: see [Stream.Steer] and
// [Stream.FollowUp]. It is in the session's journal, so that a crash does not
// lose it: the session's next run takes it up.
type Queued struct {
	ID    string
	Kind  session.MessageKind // session.KindSteer or session.KindFollowUp
	Parts llm.Parts
}

type queued struct {
	Queued
	entry string // of the journal; "" when it could not be recorded
}

// done is the record that q waits no more.
func (q queued) done() []session.Data {
	if q.entry == "" {
		return nil
	}
	return []session.Data{session.Queued{ID: q.entry, Kind: q.Kind, Done: true}}
}

// Steer adds input that the model sees as soon as the calls that have begun
// are done: calls of the turn that have not begun are skipped. It reports
// whether the run will still see it; when it does not, the run is over.
func (st *Stream) Steer(in ...llm.Part) bool { return st.push(session.KindSteer, in) }

// FollowUp adds input for when the run would end. It reports whether the run
// will still see it.
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
	q := queued{Queued: Queued{ID: st.a.opts.NewID(), Kind: kind, Parts: slices.Clone(in)}}
	q.entry = q.ID
	st.record([]*queued{&q}, nil)
	st.queue = append(st.queue, q)
	return true
}

// record journals what waits from now on, after what waits no more. If the
// journal cannot be written the run itself will say so; what is not recorded
// waits all the same.
func (st *Stream) record(add []*queued, done []session.Data) {
	now := st.a.opts.Now()
	var es []session.Entry
	for _, d := range done {
		es = append(es, session.Entry{ID: st.a.opts.NewID(), Time: now, Data: d})
	}
	for _, q := range add {
		es = append(es, session.Entry{ID: q.entry, Time: now, Data: session.Queued{Kind: q.Kind, Parts: q.Parts}})
	}
	if err := st.s.Append(context.WithoutCancel(st.ctx), es...); err != nil {
		for _, q := range add {
			q.entry = ""
		}
	}
}

// restore puts what an earlier run left before what was added to this one.
func (st *Stream) restore(left []session.Queued) {
	st.mu.Lock()
	defer st.mu.Unlock()
	var old []queued
	for _, q := range left {
		if q.Kind != session.KindSteer && q.Kind != session.KindFollowUp {
			continue
		}
		if !slices.ContainsFunc(st.queue, func(o queued) bool { return o.entry == q.ID }) {
			old = append(old, queued{Queued{q.ID, q.Kind, q.Parts}, q.ID})
		}
	}
	st.queue = append(old, st.queue...)
}

// Queued returns what waits, in order. It is there also when the run has
// ended: what a cancelled run did not come to.
func (st *Stream) Queued() []Queued {
	st.mu.Lock()
	defer st.mu.Unlock()
	out := make([]Queued, len(st.queue))
	for i, q := range st.queue {
		out[i] = q.Queued
	}
	return out
}

// EditQueue lets edit change what waits: it gets what waits, in order, and
// returns what shall wait instead, with items changed, left out, added or in
// another order. Nothing is taken up meanwhile, so an item that edit does not
// get any more has been sent. An item without an ID is a new one and gets one; without
// Parts it is left out. edit must not call methods of the stream.
func (st *Stream) EditQueue(edit func(q []Queued) []Queued) {
	st.mu.Lock()
	defer st.mu.Unlock()
	was := st.queue
	in := make([]Queued, len(was))
	for i, q := range was {
		in[i] = q.Queued
		in[i].Parts = slices.Clone(q.Parts)
	}
	var out []queued
	for _, q := range edit(in) {
		if len(q.Parts) == 0 {
			continue
		}
		if q.ID == "" {
			q.ID = st.a.opts.NewID()
		}
		if q.Kind != session.KindSteer {
			q.Kind = session.KindFollowUp
		}
		out = append(out, queued{Queued: q})
	}
	// What is the same at the front stays as it is recorded. The journal keeps
	// the order of the rest by recording it anew.
	same := 0
	for same < len(was) && same < len(out) && was[same].sameAs(out[same].Queued) {
		out[same] = was[same]
		same++
	}
	var done []session.Data
	for _, q := range was[same:] {
		done = append(done, q.done()...)
	}
	var add []*queued
	for i := range out[same:] {
		q := &out[same+i]
		q.entry = st.a.opts.NewID()
		add = append(add, q)
	}
	st.queue = out
	st.record(add, done)
}

func (q queued) sameAs(o Queued) bool {
	if q.ID != o.ID || q.Kind != o.Kind {
		return false
	}
	a, err := q.Parts.MarshalJSON()
	b, err2 := o.Parts.MarshalJSON()
	return err == nil && err2 == nil && string(a) == string(b)
}

// Unqueue takes everything that waits back, for the user to edit: after a
// cancel it is what the run did not come to.
func (st *Stream) Unqueue() []Queued {
	var out []Queued
	st.EditQueue(func(q []Queued) []Queued { out = q; return nil })
	return out
}

// pop takes the first that waits, of a kind or of any.
func (st *Stream) pop(kind session.MessageKind) (queued, bool) {
	st.mu.Lock()
	defer st.mu.Unlock()
	for i, q := range st.queue {
		if kind == "" || q.Kind == kind {
			st.queue = slices.Concat(st.queue[:i], st.queue[i+1:])
			return q, true
		}
	}
	return queued{}, false
}

func (st *Stream) steered() bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	return slices.ContainsFunc(st.queue, func(q queued) bool { return q.Kind == session.KindSteer })
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
