package session

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/cantle-dev/cantle/llm"
)

// Branch makes the entry at the place where the next one goes on: what is
// appended next starts a branch there. With at "" the branch starts before the
// first entry, with an empty conversation. The other branches stay.
func (s *Session) Branch(ctx context.Context, entryID string, t time.Time, at, name string) error {
	return s.Append(ctx, Entry{ID: entryID, Parent: at, Time: t, Data: Head{Name: name, Root: at == ""}})
}

// Retry starts a branch before a run of the path, "" for the last, and returns
// what the user gave that run, for whoever wants to give it again; nil if it
// was to go on without. Nothing is run. A run that is not there is
// [ErrNotFound], and while one goes on it is [ErrBusy].
func (s *Session) Retry(ctx context.Context, entryID string, t time.Time, run string) (llm.Parts, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy {
		return nil, fmt.Errorf("%w: %s", ErrBusy, s.id)
	}
	path := s.path(int32(len(s.nodes)) - 1)
	at, err := s.started(ctx, path, run)
	if err != nil {
		return nil, err
	}
	in, err := s.given(ctx, path[at+1:])
	if err != nil {
		return nil, err
	}
	before := ""
	if at > 0 {
		before = s.nodes[path[at-1]].id
	}
	return in, s.append(ctx, Entry{ID: entryID, Parent: before, Time: t, Data: Head{Name: "retry", Root: at == 0}})
}

// started is the place on the path where the run began.
func (s *Session) started(ctx context.Context, path []int32, run string) (int, error) {
	for k := len(path) - 1; k >= 0; k-- {
		n := s.nodes[path[k]]
		if n.kind != "run_started" {
			continue
		}
		for e, err := range s.store.Read(ctx, s.id, n.id) {
			if err != nil {
				return 0, err
			}
			if r, ok := e.Data.(RunStarted); ok && (run == "" || r.RunID == run) {
				return k, nil
			}
		}
	}
	if run == "" {
		return 0, fmt.Errorf("%w: session %s has no run", ErrNotFound, s.id)
	}
	return 0, fmt.Errorf("%w: run %s of session %s", ErrNotFound, run, s.id)
}

// given is the input of the run that has just begun.
func (s *Session) given(ctx context.Context, path []int32) (llm.Parts, error) {
	for _, i := range path {
		switch n := s.nodes[i]; n.kind {
		case "run_started", "run_ended":
			return nil, nil
		case "message":
			for e, err := range s.store.Read(ctx, s.id, n.id) {
				if err != nil {
					return nil, err
				}
				m, ok := e.Data.(Message)
				switch {
				case !ok || m.Role == llm.RoleAssistant:
					return nil, nil
				case m.Kind == KindInput && len(m.Typed) > 0:
					return m.Typed, nil
				case m.Kind == KindInput:
					return m.Parts, nil
				}
			}
		}
	}
	return nil, nil
}

// copyBatch is how many entries, and copyBytes how much, a fork writes at
// a time.
const (
	copyBatch = 512
	copyBytes = 4 << 20
)

// Fork copies the path up to the entry at ("" is the leaf) into a new session
// of st, with the same entry ids and the same records, and opens it. A session
// with that id is [ErrExists]. If it fails nothing is left of the copy, where
// st is a [Deleter].
func (s *Session) Fork(ctx context.Context, st Store, id, at string) (*Session, error) {
	s.mu.Lock()
	i, err := s.place(at)
	if err != nil {
		s.mu.Unlock()
		return nil, err
	}
	var ids []string
	for _, k := range s.path(i) {
		ids = append(ids, s.nodes[k].id)
	}
	s.mu.Unlock()
	f, err := Open(ctx, st, id, OpenOptions{Create: true})
	if err != nil {
		return nil, err
	}
	if f.Leaf() != "" {
		return nil, errors.Join(fmt.Errorf("%w: %s", ErrExists, id), f.Close())
	}
	if len(ids) == 0 {
		return f, nil
	}
	if err := f.copyFrom(ctx, s.store.Read(ctx, s.id, ids...)); err != nil {
		_ = f.Close() // the first error is the one to tell
		if d, ok := st.(Deleter); ok {
			_ = d.Delete(context.WithoutCancel(ctx), id) // a part of a copy helps nobody
		}
		return nil, fmt.Errorf("session %s: fork: %w", s.id, err)
	}
	return f, nil
}

func (s *Session) copyFrom(ctx context.Context, from iter.Seq2[Entry, error]) error {
	var batch []Entry
	after, size := "", 0
	write := func() error {
		if len(batch) == 0 {
			return nil
		}
		if err := s.store.Append(ctx, s.id, after, batch...); err != nil {
			return err
		}
		after = batch[len(batch)-1].ID
		batch, size = batch[:0], 0
		return nil
	}
	for e, err := range from {
		if err != nil {
			return err
		}
		batch = append(batch, e)
		if size += len(e.raw); len(batch) == copyBatch || size >= copyBytes {
			if err := write(); err != nil {
				return err
			}
		}
	}
	if err := write(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.load(ctx)
}
