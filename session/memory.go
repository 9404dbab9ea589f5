package session

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
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
}

// Append is [Store].Append.
func (m *Memory) Append(_ context.Context, id, after string, entries ...Entry) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	j := m.m[id]
	if j == nil {
		j = &memJournal{index: map[string]int{}}
	}
	have := ""
	if n := len(j.entries); n > 0 {
		have = j.entries[n-1].ID
	}
	var fresh []Entry
	for _, e := range entries {
		if _, err := e.Encode(nil); err != nil {
			return err
		}
		if _, ok := j.index[e.ID]; !ok {
			fresh = append(fresh, e)
		}
	}
	if len(fresh) == 0 && len(entries) > 0 {
		return nil
	}
	if have != after && len(fresh) == len(entries) {
		return &ConflictError{Session: id, Want: after, Have: have}
	}
	if m.m == nil {
		m.m = map[string]*memJournal{}
	}
	m.m[id] = j
	m.n++
	j.touched = m.n
	for _, e := range fresh {
		j.index[e.ID] = len(j.entries)
		j.entries = append(j.entries, e)
	}
	return nil
}

func (m *Memory) get(id string) ([]Entry, map[string]int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	j := m.m[id]
	if j == nil {
		return nil, nil, fmt.Errorf("%w: %s", ErrNotFound, id)
	}
	return j.entries[:len(j.entries):len(j.entries)], j.index, nil
}

// Headers is [Store].Headers.
func (m *Memory) Headers(_ context.Context, id string) iter.Seq2[Header, error] {
	return func(yield func(Header, error) bool) {
		es, _, err := m.get(id)
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
func (m *Memory) Read(_ context.Context, id string, ids ...string) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		es, index, err := m.get(id)
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
			if !ok {
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
		m.mu.Lock()
		ids := make([]string, 0, len(m.m))
		for id := range m.m {
			ids = append(ids, id)
		}
		slices.SortFunc(ids, func(a, b string) int { return m.m[b].touched - m.m[a].touched })
		m.mu.Unlock()
		for _, id := range ids {
			es, _, err := m.get(id)
			if err != nil {
				continue // deleted meanwhile
			}
			if !yield(Describe(id, slices.Values(es)), nil) {
				return
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

// titleBytes bounds a title that is made from what was typed.
const titleBytes = 120

// Describe makes the Info of a session from its entries. Size is left for the
// store.
func Describe(id string, entries iter.Seq[Entry]) Info {
	info := Info{ID: id}
	typed := ""
	for e := range entries {
		if info.Created.IsZero() {
			info.Created = e.Time
		}
		info.Updated = e.Time
		switch d := e.Data.(type) {
		case Message:
			if typed == "" && d.Kind == KindInput {
				typed = d.Typed.Text()
				if typed == "" {
					typed = d.Text()
				}
			}
			if d.Model != "" {
				info.Model = d.Model
			}
		case RunStarted:
			if d.Dir != "" && d.Path == "" {
				info.Dir = d.Dir
			}
		case Label:
			if d.Target == "" {
				info.Title = d.Name
			}
		}
	}
	if info.Title == "" {
		info.Title = TitleOf(typed)
	}
	return info
}

// TitleOf is the first line of text, at most 120 bytes of it.
func TitleOf(text string) string {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	if len(text) <= titleBytes {
		return text
	}
	n := titleBytes
	for n > 0 && text[n]&0xC0 == 0x80 {
		n--
	}
	return text[:n] + "…"
}
