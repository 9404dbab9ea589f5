package session

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/cantle-dev/cantle/llm"
)

// Store keeps journals. These three methods are required; a store may also be
// a [Syncer], [Locker], [Lister], [Searcher], [Deleter] or [Repairer].
// Implementations are safe for concurrent use and pass sessiontest.
type Store interface {
	// Append adds entries after the last one, whose ID is after ("" for a new
	// session), in order and all or none. If the journal's last entry is
	// another, it is a *ConflictError. A retry is harmless: if the first of the
	// entries are the journal's last already, with the same records, only the
	// rest is added. One that is there with another record is [ErrExists].
	Append(ctx context.Context, id, after string, entries ...Entry) error
	// Headers yields what is known of each entry without decoding it, in the
	// order of appending. A session that is not there is [ErrNotFound].
	Headers(ctx context.Context, id string) iter.Seq2[Header, error]
	// Read yields those entries in the order asked for, or all of them if none
	// is named. One that is not there is an error.
	Read(ctx context.Context, id string, entries ...string) iter.Seq2[Entry, error]
}

// Header is the part of an entry that a scan reads. An entry whose ID an
// earlier one has is in no scan.
type Header struct{ ID, Parent, Kind string }

// The optional interfaces of stores.
type (
	// Syncer puts what was appended on stable storage.
	Syncer interface {
		Sync(ctx context.Context, id string) error
	}
	// Locker keeps a second writer out. A session that is locked is a
	// *LockedError.
	Locker interface {
		Lock(ctx context.Context, id string) (unlock func() error, err error)
	}
	// Lister lists the sessions, the one changed last first.
	Lister interface {
		List(ctx context.Context) iter.Seq2[Info, error]
	}
	// Searcher finds text in sessions.
	Searcher interface {
		Search(ctx context.Context, query string) iter.Seq2[Hit, error]
	}
	// Deleter deletes a session with all that belongs to it.
	Deleter interface {
		Delete(ctx context.Context, id string) error
	}
	// Repairer tells, once each, what had to be repaired to read a session.
	Repairer interface {
		Repairs(id string) []Repair
	}
)

// Info describes a session in a list.
type Info struct {
	ID       string    `json:"id"`
	Title    string    `json:"title"`            // as labelled, or else the prompt
	Prompt   string    `json:"prompt,omitempty"` // the beginning of what was first typed: see [TitleOf]
	Dir      string    `json:"dir,omitempty"`    // the working directory of the last run
	Model    string    `json:"model,omitempty"`  // of the last run
	Agent    string    `json:"agent,omitempty"`  // the path of a child's agent; "" for a session of the user's
	Created  time.Time `json:"created"`          // the time of the first entry
	Updated  time.Time `json:"updated"`          // the time of the last one
	Entries  int       `json:"entries"`
	Messages int       `json:"messages"` // on all branches
	Runs     int       `json:"runs"`     // that began
	Size     int64     `json:"size"`     // bytes
	// Cost is that of the runs that ended, on all branches. It is nil if none
	// did, or if that of any is unknown.
	Cost *llm.Money `json:"cost,omitempty"`
	// Err says why a session cannot be read; the other fields are then what
	// could be. It can be salvaged: see the store.
	Err string `json:"error,omitempty"`
}

// Hit is a place where a search found something. Snippet is one line around it.
type Hit struct{ Session, Entry, Snippet string }

// Repair is something that was mended so that a session could be read, or
// shown to a model. The journal itself keeps what it was.
type Repair struct {
	Kind  RepairKind
	Entry string // the entry that it was seen at, if it was at one
	Call  string // the id of the call, if it is about one
	Text  string // all of it, for people
}

// RepairKind says what was mended.
type RepairKind string

// The kinds of repairs.
const (
	RepairTorn     RepairKind = "torn"      // the end of the journal was half written
	RepairLock     RepairKind = "lock"      // there are no locks: see the store
	RepairTree     RepairKind = "tree"      // an entry's parent or id
	RepairNoResult RepairKind = "no_result" // a call without a result
	RepairNoCall   RepairKind = "no_call"   // a result without a call, or a second one
	RepairCall     RepairKind = "call"      // a call that cannot be sent back
	RepairMessage  RepairKind = "message"   // a message, or a part, that cannot be sent
	RepairView     RepairKind = "view"      // a compaction that names what is not there
)

// The conditions that a caller chooses by.
var (
	ErrNotFound = errors.New("session: not found")
	ErrExists   = errors.New("session: exists already") // a session, or an entry with other content
	ErrBusy     = errors.New("session: a run is going on in it already")
	ErrClosed   = errors.New("session: closed")
	ErrReadOnly = errors.New("session: opened for reading only")
)

// ConflictError means that another writer appended to the journal.
type ConflictError struct{ Session, Want, Have string }

func (e *ConflictError) Error() string {
	return fmt.Sprintf("session %s: changed by another writer: its last entry is %q, not %q: open it again", e.Session, e.Have, e.Want)
}

// LockedError means that another process has the session open.
type LockedError struct {
	Session string
	Holder  string // such as "process 812 on this machine"; "" if unknown
}

func (e *LockedError) Error() string {
	by := e.Holder
	if by == "" {
		by = "another process"
	}
	return fmt.Sprintf("session %s: in use by %s: end that first", e.Session, by)
}

// CorruptError names the place where a journal cannot be read.
type CorruptError struct {
	Session, File string
	Line          int
	Err           error
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("session %s: %s, line %d cannot be read: %v: salvage what can be read into a new session", e.Session, e.File, e.Line, e.Err)
}

func (e *CorruptError) Unwrap() error { return e.Err }
