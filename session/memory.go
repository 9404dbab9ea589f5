package session

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"
)

// Memory is a Store that forgets at exit. Its zero value is ready.
type Memory struct {
	mu sync.Mutex
	m  map[string]*memJournal
	n  int // appends, for the order of a list
}

type memJournal struct {
	entries []Entry
	index   map[string]int
	touched int
	size    int64 // of the records, as if they were in a file
}

// Append is [Store].Append.
func (m *Memory) Append(ctx context.Context, id, after string, entries ...Entry) error {
	if err := ctx.Err(); err != nil || len(entries) == 0 {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	j := m.m[id]
	if j == nil {
		j = &memJournal{index: map[string]int{}}
	}
	lines := make([][]byte, len(entries))
	for i, e := range entries {
		var err error
		if lines[i], err = e.Encode(nil); err != nil {
			return err
		}
	}
	have := ""
	if n := len(j.entries); n > 0 {
		have = j.entries[n-1].ID
	}
	skip, err := Retried(id, after, have, entries, func(i int) (bool, bool, error) {
		k, ok := j.index[entries[i].ID]
		if !ok {
			return false, false, nil
		}
		old, err := j.entries[k].Encode(nil)
		return true, bytes.Equal(old, lines[i]), err
	})
	if err != nil || skip == len(entries) {
		return err
	}
	if m.m == nil {
		m.m = map[string]*memJournal{}
	}
	m.m[id] = j
	m.n++
	j.touched = m.n
	for i, e := range entries[skip:] {
		j.index[e.ID] = len(j.entries)
		j.entries = append(j.entries, e)
		j.size += int64(len(lines[skip+i])) + 1
	}
	return nil
}

func (m *Memory) get(ctx context.Context, id string) ([]Entry, map[string]int, error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	j := m.m[id]
	if j == nil {
		return nil, nil, fmt.Errorf("%w: %s", ErrNotFound, id)
	}
	return j.entries[:len(j.entries):len(j.entries)], j.index, nil
}

// Headers is [Store].Headers.
func (m *Memory) Headers(ctx context.Context, id string) iter.Seq2[Header, error] {
	return func(yield func(Header, error) bool) {
		es, _, err := m.get(ctx, id)
		if err != nil {
			yield(Header{}, err)
			return
		}
		for _, e := range es {
			if !yield(Header{e.ID, e.Parent, e.Kind()}, nil) {
				return
			}
		}
	}
}

// Read is [Store].Read.
func (m *Memory) Read(ctx context.Context, id string, ids ...string) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		es, index, err := m.get(ctx, id)
		if err != nil {
			yield(Entry{}, err)
			return
		}
		if len(ids) == 0 {
			for _, e := range es {
				if !yield(e, nil) {
					return
				}
			}
			return
		}
		for _, want := range ids {
			m.mu.Lock()
			i, ok := index[want]
			m.mu.Unlock()
			if !ok || i >= len(es) { // or appended since
				yield(Entry{}, fmt.Errorf("%w: entry %s of session %s", ErrNotFound, want, id))
				return
			}
			if !yield(es[i], nil) {
				return
			}
		}
	}
}

// List is [Lister].List.
func (m *Memory) List(context.Context) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		type one struct {
			id      string
			entries []Entry
			touched int
			size    int64
		}
		m.mu.Lock()
		all := make([]one, 0, len(m.m))
		for id, j := range m.m {
			all = append(all, one{id, j.entries[:len(j.entries):len(j.entries)], j.touched, j.size})
		}
		m.mu.Unlock()
		slices.SortFunc(all, func(a, b one) int {
			if c := b.entries[len(b.entries)-1].Time.Compare(a.entries[len(a.entries)-1].Time); c != 0 {
				return c
			}
			return b.touched - a.touched
		})
		for _, o := range all {
			info := Describe(o.id, slices.Values(o.entries))
			info.Size = o.size
			if !yield(info, nil) {
				return
			}
		}
	}
}

// Search is [Searcher].Search.
func (m *Memory) Search(ctx context.Context, query string) iter.Seq2[Hit, error] {
	return func(yield func(Hit, error) bool) {
		for info := range m.List(ctx) {
			es, _, err := m.get(ctx, info.ID)
			if err != nil {
				continue // deleted meanwhile
			}
			for _, e := range es {
				if err := ctx.Err(); err != nil {
					yield(Hit{}, err)
					return
				}
				if text, ok := e.Find(query); ok && !yield(Hit{info.ID, e.ID, text}, nil) {
					return
				}
			}
		}
	}
}

// Delete is [Deleter].Delete.
func (m *Memory) Delete(_ context.Context, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.m[id]; !ok {
		return fmt.Errorf("%w: %s", ErrNotFound, id)
	}
	delete(m.m, id)
	return nil
}
