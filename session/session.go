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
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/cantle-dev/cantle/llm"
)

// Session is an open conversation: the path from the first entry of a journal
// to its last, which is its leaf. It is safe for concurrent use.
type Session struct {
	id       string
	store    Store
	readOnly bool
	unlock   func() error

	mu     sync.Mutex
	busy   bool
	closed bool
	broken error // the view could not be read again after an append
	nodes  []node
	index  map[string]int32
	state
	repairs []Repair
	told    map[Repair]bool
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
	s := &Session{id: id, store: st, readOnly: opts.ReadOnly, index: map[string]int32{}, told: map[Repair]bool{}}
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
		s.repaired(r.Repairs(id)...)
	}
	return s, nil
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
	if err := s.writable(); err != nil {
		return nil, err
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

// writable is an error where nothing may be appended.
func (s *Session) writable() error {
	switch {
	case s.closed:
		return fmt.Errorf("%w: %s", ErrClosed, s.id)
	case s.readOnly:
		return fmt.Errorf("%w: %s", ErrReadOnly, s.id)
	}
	return s.broken
}

// Append adds entries after the leaf, in one write: all of them or none.
// Parents are filled in, except that of a [Head], which says where its branch
// starts. After an error the same call may be made again.
func (s *Session) Append(ctx context.Context, entries ...Entry) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.append(ctx, entries...)
}

func (s *Session) append(ctx context.Context, entries ...Entry) error {
	if len(entries) == 0 {
		return nil
	}
	if err := s.writable(); err != nil {
		return err
	}
	after := s.leaf()
	parent := after
	entries = slices.Clone(entries)
	for i := range entries {
		e := &entries[i]
		e.raw = nil
		switch h, isHead := e.Data.(Head); {
		case isHead && h.Root:
			e.Parent = ""
		case isHead && e.Parent != "":
			if _, ok := s.index[e.Parent]; !ok {
				return fmt.Errorf("%w: entry %s of session %s, where a branch was to start", ErrNotFound, e.Parent, s.id)
			}
		default:
			e.Parent = parent
		}
		parent = e.ID
	}
	if err := s.store.Append(ctx, s.id, after, entries...); err != nil {
		return err
	}
	again := false
	for _, e := range entries {
		if _, there := s.index[e.ID]; there {
			continue // a retry of what was appended
		}
		s.insert(Header{e.ID, e.Parent, e.Kind()})
		switch e.Data.(type) {
		case Compaction, Head:
			again = true
		default:
			if !again {
				s.add(e.ID, e.Data)
			}
		}
	}
	if !again {
		s.repaired(s.view.repairs...)
		s.view.repairs = nil
		return nil
	}
	// What was appended is not taken back, so the context has no say any more.
	if err := s.rebuild(context.WithoutCancel(ctx)); err != nil {
		s.broken = fmt.Errorf("session %s: its view could not be read again, open it anew: %w", s.id, err)
		return s.broken
	}
	return nil
}

// Messages is what a model should see of the conversation: valid on every
// wire, where the id of a call that an earlier one has is shown as another,
// and, as long as no [Compaction] or [Head] is appended, each time an
// extension of what it was before, of the same values. The slice and the
// messages must not be changed. It costs nothing to ask again.
func (s *Session) Messages() []llm.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.view.messages()
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

// Repairs returns what was mended since the last call, each thing once.
func (s *Session) Repairs() []Repair {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.repairs
	s.repairs = nil
	return out
}

// Sync puts the journal on stable storage, where the store can.
func (s *Session) Sync(ctx context.Context) error {
	if y, ok := s.store.(Syncer); ok {
		return y.Sync(ctx, s.id)
	}
	return nil
}
