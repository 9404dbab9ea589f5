// Package session keeps conversations: an append-only journal of entries that
// form a tree, so that a conversation can be resumed after a crash, branched
// and forked, and the view of it that a model is shown.
//
//	st, err := jsonl.Open(dir, jsonl.Options{})
//	if err != nil {
//		return err
//	}
//	s, err := session.Open(ctx, st, "s1", session.OpenOptions{Create: true})
//	if err != nil {
//		return err
//	}
//	defer s.Close()
//	for _, m := range s.Messages() {
//		fmt.Println(m.Role, m.Text())
//	}
//
// The journal is the truth and is never rewritten. The view mends what a crash
// or a cancel left, such as a call with no result, and says what it mended.
package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cantle-dev/cantle/llm"
)

// Session is an open conversation: the path from the first entry of a journal
// to its last, which is its leaf. It is safe for concurrent use.
type Session struct {
	id       string
	store    Store
	readOnly bool
	unlock   func() error

	mu      sync.Mutex
	busy    bool
	closed  bool
	nodes   []node
	index   map[string]int32
	view    view
	setup   *Setup
	pending map[string]Pending
	queue   []Queued
	repairs []Repair
}

// node is an entry as far as the tree needs it.
type node struct {
	id     string
	parent int32 // -1 for a root
	kind   string
}

// OpenOptions say how to open a session.
type OpenOptions struct {
	Create   bool // begin the session if it is not there
	ReadOnly bool // take no lock, and refuse to append
}

// Open reads the session id of st. One that is not there is [ErrNotFound],
// never a silent new one, unless opts say Create. Where st is a [Locker] the
// session is locked until Close.
func Open(ctx context.Context, st Store, id string, opts OpenOptions) (*Session, error) {
	if id == "" {
		return nil, errors.New("session: no id")
	}
	s := &Session{id: id, store: st, readOnly: opts.ReadOnly, index: map[string]int32{}, pending: map[string]Pending{}}
	if l, ok := st.(Locker); ok && !opts.ReadOnly {
		unlock, err := l.Lock(ctx, id)
		if err != nil {
			return nil, err
		}
		s.unlock = unlock
	}
	err := s.load(ctx)
	if errors.Is(err, ErrNotFound) && opts.Create {
		err = nil
	}
	if err != nil {
		if s.unlock != nil {
			_ = s.unlock() // the first error is the one to tell
		}
		return nil, err
	}
	if r, ok := st.(Repairer); ok {
		s.repairs = append(r.Repairs(id), s.repairs...)
	}
	return s, nil
}

// Close releases the lock. The session cannot be used afterwards.
func (s *Session) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	if s.unlock != nil {
		return s.unlock()
	}
	return nil
}

// ID is the session's id.
func (s *Session) ID() string { return s.id }

// Store is the store that the session is in.
func (s *Session) Store() Store { return s.store }

// Leaf is the ID of the last entry, or "".
func (s *Session) Leaf() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.leaf()
}

func (s *Session) leaf() string {
	if n := len(s.nodes); n > 0 {
		return s.nodes[n-1].id
	}
	return ""
}

// Use claims the session for one run. While it is claimed, a second claim is
// [ErrBusy].
func (s *Session) Use() (release func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, fmt.Errorf("session %s: closed", s.id)
	}
	if s.readOnly {
		return nil, fmt.Errorf("%w: %s", ErrReadOnly, s.id)
	}
	if s.busy {
		return nil, fmt.Errorf("%w: %s", ErrBusy, s.id)
	}
	s.busy = true
	return sync.OnceFunc(func() {
		s.mu.Lock()
		s.busy = false
		s.mu.Unlock()
	}), nil
}

// Append adds entries after the leaf, in one write. Parents are filled in,
// except that of a [Head], which says where its branch starts.
func (s *Session) Append(ctx context.Context, entries ...Entry) error {
	if len(entries) == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.readOnly {
		return fmt.Errorf("%w: %s", ErrReadOnly, s.id)
	}
	if s.closed {
		return fmt.Errorf("session %s: closed", s.id)
	}
	after := s.leaf()
	parent := after
	entries = slices.Clone(entries)
	for i := range entries {
		if _, isHead := entries[i].Data.(Head); !isHead || entries[i].Parent == "" {
			entries[i].Parent = parent
		}
		parent = entries[i].ID
	}
	if err := s.store.Append(ctx, s.id, after, entries...); err != nil {
		return err
	}
	rebuild := false
	for _, e := range entries {
		if _, dup := s.index[e.ID]; dup {
			continue
		}
		s.insert(Header{e.ID, e.Parent, e.Kind()})
		switch d := e.Data.(type) {
		case Message:
			s.view.add(e.ID, d, nil)
		case Compaction, Head:
			rebuild = true
		default:
			s.note(e.ID, d)
		}
	}
	if rebuild {
		return s.rebuild(ctx)
	}
	return nil
}

// insert adds a node to the tree. A parent that is not there, or not earlier,
// makes a root: so there is no cycle, whatever the journal says.
func (s *Session) insert(h Header) {
	if _, dup := s.index[h.ID]; dup {
		return
	}
	parent := int32(-1)
	if h.Parent != "" {
		if p, ok := s.index[h.Parent]; ok {
			parent = p
		} else {
			s.repairs = append(s.repairs, Repair{fmt.Sprintf("entry %s: its parent %s is not in the journal", h.ID, h.Parent)})
		}
	}
	s.index[h.ID] = int32(len(s.nodes))
	s.nodes = append(s.nodes, node{h.ID, parent, h.Kind})
}

// note takes account of data that is not part of the conversation.
func (s *Session) note(id string, d Data) {
	switch d := d.(type) {
	case Setup:
		s.setup = &d
	case Pending:
		p := s.pending[d.CallID]
		if d.Question == nil {
			d.Question = p.Question
		}
		if d.Answer == nil {
			d.Answer = p.Answer
		}
		s.pending[d.CallID] = d
	case Queued:
		if d.Done {
			s.queue = slices.DeleteFunc(s.queue, func(q Queued) bool { return q.ID == d.ID })
			return
		}
		d.ID = id
		s.queue = append(s.queue, d)
	}
}

func (s *Session) load(ctx context.Context) error {
	for h, err := range s.store.Headers(ctx, s.id) {
		if err != nil {
			return err
		}
		s.insert(h)
	}
	return s.rebuild(ctx)
}

// queueReach is how far from the leaf queued input is looked for. It is taken
// up at the end of its run, so what is further back was.
const queueReach = 5000

// rebuild makes the view anew from the path to the leaf. It reads the bodies
// that are in view and no others.
func (s *Session) rebuild(ctx context.Context) error {
	s.view.msgs, s.view.open = nil, nil
	s.setup, s.queue, s.pending = nil, nil, map[string]Pending{}
	if len(s.nodes) == 0 {
		return nil
	}
	var want []string // newest first
	var summary *Compaction
	keep, steps, setup := int32(-1), 0, false
	clears := map[string]string{}
	inView := true
	for i := int32(len(s.nodes) - 1); i >= 0; i = s.nodes[i].parent {
		n := s.nodes[i]
		steps++
		switch n.kind {
		case "message", "pending":
			if inView {
				want = append(want, n.id)
			}
		case "setup":
			if !setup {
				setup = true
				want = append(want, n.id)
			}
		case "queued":
			if steps <= queueReach {
				want = append(want, n.id)
			}
		case "compaction":
			if !inView || summary != nil {
				break
			}
			c, err := readOne[Compaction](ctx, s, n.id)
			if err != nil {
				return err
			}
			for _, call := range c.Clear {
				if _, later := clears[call]; !later {
					clears[call] = c.Stub
				}
			}
			if c.Summary != "" {
				summary = &c
				if k, ok := s.index[c.Keep]; ok {
					keep = k
				} else {
					keep = i // nothing before it is kept
					inView = false
				}
			}
		}
		if i == keep {
			inView = false
		}
		if !inView && setup && steps > queueReach {
			break
		}
	}
	slices.Reverse(want)
	if summary != nil {
		s.view.push(llm.UserText(summary.Summary))
	}
	return s.replay(ctx, want, clears)
}

func (s *Session) replay(ctx context.Context, want []string, clears map[string]string) error {
	if len(want) == 0 {
		return nil
	}
	var group []Entry // messages from one of the model to before its next
	flush := func() {
		for i, e := range group {
			var later llm.Parts
			for _, l := range group[i+1:] {
				for _, p := range l.Data.(Message).Parts {
					if isResult(p) {
						later = append(later, p)
					}
				}
			}
			s.view.add(e.ID, e.Data.(Message), later)
		}
		group = group[:0]
	}
	for e, err := range s.store.Read(ctx, s.id, want...) {
		if err != nil {
			return err
		}
		m, ok := e.Data.(Message)
		if !ok {
			s.note(e.ID, e.Data)
			continue
		}
		if len(clears) > 0 {
			m = cleared(e.ID, m, clears)
			e.Data = m
		}
		if m.Role == llm.RoleAssistant {
			flush()
		}
		group = append(group, e)
	}
	flush()
	s.repairs = append(s.repairs, s.view.repairs...)
	s.view.repairs = nil
	return nil
}

// cleared puts stubs in the place of results that a compaction cleared.
func cleared(id string, m Message, clears map[string]string) Message {
	var parts llm.Parts
	for i, p := range m.Parts {
		r, ok := p.(llm.ToolResult)
		if !ok {
			continue
		}
		if stub, ok := clears[id+"/"+r.CallID]; ok {
			if parts == nil {
				parts = slices.Clone(m.Parts)
			}
			r.Parts = llm.Texts(stub)
			parts[i] = r
		}
	}
	if parts != nil {
		m.Message = llm.Message{Role: m.Role, Parts: parts, Origin: m.Origin}
	}
	return m
}

func readOne[T Data](ctx context.Context, s *Session, id string) (T, error) {
	var zero T
	for e, err := range s.store.Read(ctx, s.id, id) {
		if err != nil {
			return zero, err
		}
		if d, ok := e.Data.(T); ok {
			return d, nil
		}
	}
	return zero, fmt.Errorf("session %s: entry %s is not of the kind that its header says", s.id, id)
}

// Messages is what a model should see of the conversation: valid on every
// wire, and, as long as nothing but messages is appended, each time an
// extension of what it was before. The slice and the messages must not be
// changed.
func (s *Session) Messages() []llm.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.view.messages()
}

// Dangling returns the calls of the last message that have no result.
func (s *Session) Dangling() []llm.ToolCall {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.view.open)
}

// Pending returns the questions about dangling calls, in the calls' order.
func (s *Session) Pending() []Pending {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Pending
	for _, c := range s.view.open {
		if p, ok := s.pending[c.ID]; ok {
			out = append(out, p)
		}
	}
	return out
}

// Answer records the answer to the question about a call, in any process. The
// next run of the session runs the call, once. A call that no question waits
// for is an error.
func (s *Session) Answer(ctx context.Context, entryID string, t time.Time, callID string, answer json.RawMessage) error {
	if !json.Valid(answer) {
		return fmt.Errorf("session %s: the answer for call %s is not JSON", s.id, callID)
	}
	var waiting []string
	for _, p := range s.Pending() {
		if p.State != PendingAsked {
			continue
		}
		if p.CallID == callID {
			return s.Append(ctx, Entry{ID: entryID, Time: t, Data: Pending{CallID: callID, State: PendingAnswered, Answer: answer}})
		}
		waiting = append(waiting, p.CallID)
	}
	if len(waiting) == 0 {
		return fmt.Errorf("session %s: no question waits for an answer", s.id)
	}
	return fmt.Errorf("session %s: no question about call %q waits: those that do are about %s", s.id, callID, strings.Join(waiting, ", "))
}

// Queue returns input that was queued and never taken up.
func (s *Session) Queue() []Queued {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.queue)
}

// Setup is the last setup on the path.
func (s *Session) Setup() (Setup, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.setup == nil {
		return Setup{}, false
	}
	return *s.setup, true
}

// Repairs returns what was mended since the last call.
func (s *Session) Repairs() []Repair {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := append(s.repairs, s.view.repairs...)
	s.repairs, s.view.repairs = nil, nil
	return out
}

// Sync puts the journal on stable storage, where the store can.
func (s *Session) Sync(ctx context.Context) error {
	if y, ok := s.store.(Syncer); ok {
		return y.Sync(ctx, s.id)
	}
	return nil
}

// path returns the nodes from the first to the one at id; "" is the leaf.
func (s *Session) path(id string) ([]node, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := int32(len(s.nodes) - 1)
	if id != "" {
		n, ok := s.index[id]
		if !ok {
			return nil, fmt.Errorf("%w: entry %s of session %s", ErrNotFound, id, s.id)
		}
		i = n
	}
	var out []node
	for ; i >= 0; i = s.nodes[i].parent {
		out = append(out, s.nodes[i])
	}
	slices.Reverse(out)
	return out, nil
}

// Path yields the entries from the first to the leaf; kinds, if given, choose
// among them by [Entry.Kind]. Only the bodies of those are read.
func (s *Session) Path(ctx context.Context, kinds ...string) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		nodes, err := s.path("")
		if err != nil {
			yield(Entry{}, err)
			return
		}
		var ids []string
		for _, n := range nodes {
			if len(kinds) == 0 || slices.Contains(kinds, n.kind) {
				ids = append(ids, n.id)
			}
		}
		if len(ids) == 0 {
			return
		}
		for e, err := range s.store.Read(ctx, s.id, ids...) {
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// Notes yields the notes of one owner on the path, also those from before a
// compaction.
func (s *Session) Notes(ctx context.Context, kind string) iter.Seq2[Note, error] {
	return func(yield func(Note, error) bool) {
		for e, err := range s.Path(ctx, notePrefix+kind) {
			if err != nil {
				yield(Note{}, err)
				return
			}
			if n, ok := e.Data.(Note); ok && !yield(n, nil) {
				return
			}
		}
	}
}

// Fork copies the path up to the entry at ("" is the leaf) into a new session
// of st, with the same entry ids, and opens it.
func (s *Session) Fork(ctx context.Context, st Store, id, at string) (*Session, error) {
	nodes, err := s.path(at)
	if err != nil {
		return nil, err
	}
	for _, err := range st.Headers(ctx, id) {
		if err == nil {
			return nil, fmt.Errorf("%w: %s", ErrExists, id)
		}
		if !errors.Is(err, ErrNotFound) {
			return nil, err
		}
	}
	f, err := Open(ctx, st, id, OpenOptions{Create: true})
	if err != nil || len(nodes) == 0 {
		return f, err
	}
	ids := make([]string, len(nodes))
	for i, n := range nodes {
		ids[i] = n.id
	}
	if err := f.copyFrom(ctx, s.store.Read(ctx, s.id, ids...)); err != nil {
		_ = f.Close() // the first error is the one to tell
		return nil, fmt.Errorf("session %s: fork: %w", s.id, err)
	}
	return f, nil
}

// copyBatch is how many entries a fork writes at a time.
const copyBatch = 256

func (s *Session) copyFrom(ctx context.Context, from iter.Seq2[Entry, error]) error {
	var batch []Entry
	after := ""
	write := func() error {
		if len(batch) == 0 {
			return nil
		}
		if err := s.store.Append(ctx, s.id, after, batch...); err != nil {
			return err
		}
		after = batch[len(batch)-1].ID
		batch = batch[:0]
		return nil
	}
	for e, err := range from {
		if err != nil {
			return err
		}
		if batch = append(batch, e); len(batch) == copyBatch {
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

// Branch makes the entry at the place where the next one goes on: what is
// appended next starts a branch there.
func (s *Session) Branch(ctx context.Context, entryID string, t time.Time, at, name string) error {
	s.mu.Lock()
	_, ok := s.index[at]
	s.mu.Unlock()
	if !ok {
		return fmt.Errorf("%w: entry %s of session %s", ErrNotFound, at, s.id)
	}
	return s.Append(ctx, Entry{ID: entryID, Parent: at, Time: t, Data: Head{Name: name}})
}
