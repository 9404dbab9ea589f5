package session

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"
)

// Branch makes the entry at the place where the next one goes on: what is
// appended next starts a branch there. With at "" the branch starts before the
// first entry, with an empty conversation. The other branches stay.
func (s *Session) Branch(ctx context.Context, entryID string, t time.Time, at, name string) error {
	return s.Append(ctx, Entry{ID: entryID, Parent: at, Time: t, Data: Head{Name: name, Root: at == ""}})
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
