package session

import (
	"context"
	"errors"
	"iter"
	"slices"
	"time"
)

// Path yields the entries from the first to the leaf; kinds, if given, choose
// among them by [Entry.Kind]. Only the bodies of those are read. Entries that
// are appended meanwhile are not yielded.
func (s *Session) Path(ctx context.Context, kinds ...string) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		s.mu.Lock()
		var ids []string
		for _, i := range s.path(int32(len(s.nodes)) - 1) {
			if n := s.nodes[i]; len(kinds) == 0 || slices.Contains(kinds, n.kind) {
				ids = append(ids, n.id)
			}
		}
		s.mu.Unlock()
		s.read(ctx, ids, yield)
	}
}

func (s *Session) read(ctx context.Context, ids []string, yield func(Entry, error) bool) {
	if len(ids) == 0 {
		return
	}
	for e, err := range s.store.Read(ctx, s.id, ids...) {
		if !yield(e, err) || err != nil {
			return
		}
	}
}

// Notes yields the notes of one owner on the path, also those from before a
// compaction.
func (s *Session) Notes(ctx context.Context, kind string) iter.Seq2[Note, error] {
	return func(yield func(Note, error) bool) {
		for e, err := range s.Path(ctx, notePrefix+kind) {
			n, ok := e.Data.(Note)
			if err == nil && !ok {
				continue
			}
			if !yield(n, err) || err != nil {
				return
			}
		}
	}
}

// Branches yields the last entry of each branch of the tree: those that no
// entry follows. The leaf is the last of them.
func (s *Session) Branches(ctx context.Context) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		s.mu.Lock()
		followed := make([]bool, len(s.nodes))
		for _, n := range s.nodes {
			if n.parent >= 0 {
				followed[n.parent] = true
			}
		}
		var ids []string
		for i, n := range s.nodes {
			if !followed[i] {
				ids = append(ids, n.id)
			}
		}
		s.mu.Unlock()
		s.read(ctx, ids, yield)
	}
}

// Title is the session's title: the last that it was given, on whatever
// branch, or else the beginning of what was first typed.
func (s *Session) Title(ctx context.Context) (string, error) {
	s.mu.Lock()
	var labels, messages []string
	for _, n := range s.nodes {
		switch n.kind {
		case "label":
			labels = append(labels, n.id)
		case "message":
			messages = append(messages, n.id)
		}
	}
	s.mu.Unlock()
	slices.Reverse(labels)
	var title string
	var err error
	s.read(ctx, labels, func(e Entry, e2 error) bool {
		l, ok := e.Data.(Label)
		if err = e2; ok && l.Target == "" {
			title, labels = l.Name, nil
			return false
		}
		return true
	})
	if title != "" || err != nil {
		return title, err
	}
	s.read(ctx, messages, func(e Entry, e2 error) bool {
		m, ok := e.Data.(Message)
		if err = e2; ok && m.Kind == KindInput {
			title = TitleOf(m.typed())
		}
		return title == ""
	})
	return title, err
}

// SetTitle gives the session a title; "" takes it away again.
func (s *Session) SetTitle(ctx context.Context, entryID string, t time.Time, title string) error {
	if len(title) > 4096 {
		return errors.New("session: a title has 4096 bytes at most")
	}
	return s.Append(ctx, Entry{ID: entryID, Time: t, Data: Label{Name: oneLine(title)}})
}
