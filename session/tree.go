package session

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/cantle-dev/cantle/llm"
)

// node is an entry as far as the tree needs it.
type node struct {
	id     string
	parent int32 // its place in the journal; -1 for a root
	kind   string
}

// insert adds a node to the tree. A parent is always an earlier entry, so
// that there is no cycle, whatever the journal says: an entry whose parent is
// not there, or is not earlier, goes on from the one before it.
func (s *Session) insert(h Header) {
	if _, dup := s.index[h.ID]; dup {
		s.repaired(Repair{RepairTree, h.ID, "", fmt.Sprintf("entry %s: a second one with this id is left out", h.ID)})
		return
	}
	n := int32(len(s.nodes))
	parent, ok := n-1, n > 0 && s.nodes[n-1].id == h.Parent // as most have it
	if !ok {
		parent, ok = s.index[h.Parent]
	}
	switch {
	case h.Parent == "" && (h.Kind == "head" || n == 0):
		parent = -1
	case !ok:
		parent = n - 1
		s.repaired(Repair{RepairTree, h.ID, "", fmt.Sprintf("entry %s: its parent %q is not before it in the journal: it follows the entry before it", h.ID, h.Parent)})
	}
	s.index[h.ID] = n
	if n == int32(cap(s.nodes)) {
		s.nodes = slices.Grow(s.nodes, max(64, int(n))) // append alone grows a long one by a quarter at a time
	}
	s.nodes = append(s.nodes, node{h.ID, parent, h.Kind})
}

// repaired keeps r for [Session.Repairs], unless it was told already: the view
// is made anew after a compaction and finds the same things.
func (s *Session) repaired(rs ...Repair) {
	for _, r := range rs {
		if !s.told[r] {
			s.told[r] = true
			s.repairs = append(s.repairs, r)
		}
	}
}

// path returns the places of the entries from the first to the one at i.
func (s *Session) path(i int32) []int32 {
	var out []int32
	for ; i >= 0; i = s.nodes[i].parent {
		out = append(out, i)
	}
	slices.Reverse(out)
	return out
}

// place finds an entry; "" is the leaf. It is -1 where there is no entry yet.
func (s *Session) place(id string) (int32, error) {
	if id == "" {
		return int32(len(s.nodes)) - 1, nil
	}
	i, ok := s.index[id]
	if !ok {
		return 0, fmt.Errorf("%w: entry %s of session %s", ErrNotFound, id, s.id)
	}
	return i, nil
}

// state is what is kept of the path, apart from the tree.
type state struct {
	view    view
	setup   *Setup
	pending map[string]Pending // by call id, of the last message's calls
	queue   []Queued
}

// add takes account of the path's next entry. Compactions and heads are not
// its affair: they need the path read again.
func (st *state) add(id string, d Data) {
	switch d := d.(type) {
	case Message:
		if d.Role == llm.RoleAssistant {
			st.pending = nil // ids of calls come again
		}
		st.view.add(id, d)
	case Setup:
		st.setup = &d
	case Pending:
		p := st.pending[d.CallID]
		if d.Question == nil {
			d.Question = p.Question
		}
		if d.Answer == nil {
			d.Answer = p.Answer
		}
		if st.pending == nil {
			st.pending = map[string]Pending{}
		}
		st.pending[d.CallID] = d
	case Queued:
		if d.Done {
			st.queue = slices.DeleteFunc(st.queue, func(q Queued) bool { return q.ID == d.ID })
			return
		}
		d.ID = id
		st.queue = append(st.queue, d)
	}
}

// scope is the part of a path that is in view, and how.
type scope struct {
	from    int // in the path: messages before it are not in view
	summary string
	clears  map[string]string // "entry/call" or "entry" to its stub
}

// scope reads the compactions that bear on the view, the last first.
func (s *Session) scope(ctx context.Context, path []int32) (scope, error) {
	sc := scope{clears: map[string]string{}}
	undone := map[string]bool{}
	for k := len(path) - 1; k >= sc.from; k-- {
		n := s.nodes[path[k]]
		if n.kind != "compaction" || undone[n.id] {
			continue
		}
		c, err := s.compaction(ctx, n.id)
		if err != nil {
			return sc, err
		}
		if c.Undo != "" {
			undone[c.Undo] = true
		}
		for _, what := range c.Clear {
			entry, _, _ := strings.Cut(what, "/")
			if i, ok := s.index[entry]; !ok || i >= path[k] {
				s.repaired(Repair{RepairView, n.id, "", fmt.Sprintf("entry %s: the compaction clears %q, which is not before it", n.id, what)})
			} else if _, later := sc.clears[what]; !later {
				sc.clears[what] = c.Stub
			}
		}
		if c.Summary == "" || sc.summary != "" {
			continue
		}
		sc.summary, sc.from = c.Summary, k
		if c.Keep == "" {
			continue
		}
		// Places rise along a path.
		keep, ok := s.index[c.Keep]
		at, found := slices.BinarySearch(path[:k], keep)
		if !ok || !found {
			s.repaired(Repair{RepairView, n.id, "", fmt.Sprintf("entry %s: the compaction keeps what follows %q, which is not before it: nothing before it is in view", n.id, c.Keep)})
			continue
		}
		sc.from = at
	}
	return sc, nil
}

func (s *Session) compaction(ctx context.Context, id string) (Compaction, error) {
	for e, err := range s.store.Read(ctx, s.id, id) {
		if err != nil {
			return Compaction{}, err
		}
		if c, ok := e.Data.(Compaction); ok {
			return c, nil
		}
	}
	return Compaction{}, fmt.Errorf("session %s: entry %s is not the compaction that its header says", s.id, id)
}

// rebuild makes the state anew from the path to the leaf. It reads the bodies
// that matter and no others. On an error the state is what it was.
func (s *Session) rebuild(ctx context.Context) error {
	path := s.path(int32(len(s.nodes)) - 1)
	sc, err := s.scope(ctx, path)
	if err != nil {
		return err
	}
	var want []string
	setup := -1
	for k, i := range path {
		switch s.nodes[i].kind {
		case "setup":
			setup = k
		case "queued":
			want = append(want, s.nodes[i].id)
		case "message", "pending":
			if k >= sc.from {
				want = append(want, s.nodes[i].id)
			}
		}
	}
	if setup >= 0 {
		want = append(want, s.nodes[path[setup]].id)
	}
	var st state
	if sc.summary != "" {
		st.view.pushUser(place{}, llm.Texts(sc.summary))
	}
	if len(want) > 0 {
		for e, err := range s.store.Read(ctx, s.id, want...) {
			if err != nil {
				return err
			}
			if m, ok := e.Data.(Message); ok && len(sc.clears) > 0 {
				e.Data = cleared(e.ID, m, sc.clears)
			}
			st.add(e.ID, e.Data)
		}
	}
	s.state = st
	s.repaired(s.view.repairs...)
	s.view.repairs = nil
	return nil
}

// cleared puts stubs in the place of what compactions cleared.
func cleared(id string, m Message, clears map[string]string) Message {
	stub, blobs := clears[id]
	parts, changed := stubbed(m.Parts, stub, blobs)
	for i, p := range parts {
		r, ok := p.(llm.ToolResult)
		if !ok {
			continue
		}
		inner, other := r.Parts, false
		if text, ok := clears[id+"/"+r.CallID]; ok {
			inner, other = llm.Texts(text), true
		} else {
			inner, other = stubbed(inner, stub, blobs)
		}
		if !other {
			continue
		}
		if !changed {
			parts, changed = slices.Clone(parts), true
		}
		r.Parts = inner
		parts[i] = r
	}
	if changed {
		m.Message = llm.Message{Role: m.Role, Parts: parts, Origin: m.Origin}
	}
	return m
}

// stubbed returns ps with the stub for each blob.
func stubbed(ps llm.Parts, stub string, blobs bool) (llm.Parts, bool) {
	if !blobs || !slices.ContainsFunc(ps, isBlob) {
		return ps, false
	}
	ps = slices.Clone(ps)
	for i, p := range ps {
		if isBlob(p) {
			ps[i] = llm.Text{Text: stub}
		}
	}
	return ps, true
}

func isBlob(p llm.Part) bool { _, ok := p.(llm.Blob); return ok }
