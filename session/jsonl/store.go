// Package jsonl keeps sessions in files: one journal a session, one record
// a line, appended and never rewritten.
//
//	st, err := jsonl.Open(dir, jsonl.Options{})
//	if err != nil {
//		return err
//	}
//	s, err := session.Open(ctx, st, "s1", session.OpenOptions{Create: true})
//
// The session s1 is the file s1.jsonl in dir. An append is one write, under
// the lock of the session, s1.lock, which the system frees when the process
// ends, however it ends. A last line that a crash tore is cut off when the
// session is next opened for writing, kept in s1.torn, and told of as
// a [session.Repair]; a line that cannot be read anywhere else is
// a [*session.CorruptError] that names it, and [Store.Salvage] copies what can
// be read into a new session. What else belongs to a session, such as the whole
// output of a command, lies in the folder [Store.Dir], s1.d.
//
// Opening a session reads the headers of its records and decodes the bodies
// that are in view. A list reads what was appended since the last list; it
// keeps what it knows in a file of its own, which may be deleted at any time.
package jsonl

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/cantle-dev/cantle/session"
)

// Options configure a store. There are none yet.
type Options struct{}

// Store is a directory of sessions. It is safe for concurrent use; against
// other processes, and other stores of the same directory, each session is
// locked.
type Store struct {
	dir string
	// Seams: disks get full, and some file systems have no locks.
	write func(*os.File, []byte) (int, error)
	flock func(*os.File) (held bool, err error)

	mu     sync.Mutex
	locked map[string]*journal
	loose  []*journal // read lately without a lock, the last used first

	listing sync.Mutex // guards the list's index
}

// maxLoose is how many indexes of sessions that nobody has locked are kept.
const maxLoose = 4

// Open opens the directory, which is made if it is not there, for the user
// alone.
func Open(dir string, _ Options) (*Store, error) {
	if dir == "" {
		return nil, errors.New("session: no directory for the sessions")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("session: %w", err)
	}
	return &Store{dir: dir, write: (*os.File).Write, flock: flock, locked: map[string]*journal{}}, nil
}

const maxID = 128 // bytes

func checkID(id string) error {
	other := func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-')
	}
	if id == "" || len(id) > maxID || id[0] == '-' || strings.ContainsFunc(id, other) || reserved(id) {
		return fmt.Errorf("session: %q is not a session id: it has letters, digits, _ and -, 128 at most, and is no path", id)
	}
	return nil
}

// reserved reports whether id is a device on Windows, whatever follows the dot.
func reserved(id string) bool {
	switch id = strings.ToLower(id); {
	case id == "con", id == "prn", id == "aux", id == "nul":
		return true
	case len(id) == 4:
		return (id[:3] == "com" || id[:3] == "lpt") && id[3] >= '0' && id[3] <= '9'
	}
	return false
}

func (st *Store) path(id, ext string) string { return filepath.Join(st.dir, id+ext) }

// Dir is the folder for what else belongs to the session id. It is made when
// asked for, and deleted with the session.
func (st *Store) Dir(id string) (string, error) {
	if err := checkID(id); err != nil {
		return "", err
	}
	dir := st.path(id, ".d")
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return "", fmt.Errorf("session %s: %w", id, err)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return "", fmt.Errorf("session %s: %w", id, err)
	}
	if !info.IsDir() {
		return "", fmt.Errorf("session %s: %s is not a folder: move it away", id, dir)
	}
	return dir, nil
}

// journal returns what is known of a session: of the one that we have locked,
// or of one that is only read.
func (st *Store) journal(id string) (*journal, error) {
	if err := checkID(id); err != nil {
		return nil, err
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	if j := st.locked[id]; j != nil {
		return j, nil
	}
	i := slices.IndexFunc(st.loose, func(j *journal) bool { return j.id == id })
	if i < 0 {
		st.loose = append(st.loose, newJournal(st, id, false))
		i = len(st.loose) - 1
	}
	j := st.loose[i]
	st.loose = slices.Insert(slices.Delete(st.loose, i, i+1), 0, j)
	if len(st.loose) > maxLoose {
		st.loose = slices.Delete(st.loose, maxLoose, len(st.loose))
	}
	return j, nil
}

// Append is [session.Store].Append. A session that is not locked by this store
// is locked for the time of the write.
func (st *Store) Append(ctx context.Context, id, after string, entries ...session.Entry) (err error) {
	if err := checkID(id); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil || len(entries) == 0 {
		return err
	}
	for {
		st.mu.Lock()
		j := st.locked[id]
		st.mu.Unlock()
		if j == nil {
			unlock, err := st.Lock(ctx, id)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, unlock()) }()
			return st.Append(ctx, id, after, entries...)
		}
		if err := j.appendLocked(after, entries); err != errUnlocked {
			return err
		}
	}
}

// Headers is [session.Store].Headers.
func (st *Store) Headers(ctx context.Context, id string) iter.Seq2[session.Header, error] {
	return func(yield func(session.Header, error) bool) {
		j, err := st.journal(id)
		if err == nil {
			err = j.use()
		}
		if err != nil {
			yield(session.Header{}, err)
			return
		}
		n := 0
		for h := range j.headers {
			if n++; n%4096 == 1 && ctx.Err() != nil {
				yield(session.Header{}, ctx.Err())
				return
			}
			if !yield(h, nil) {
				return
			}
		}
	}
}

// Read is [session.Store].Read.
func (st *Store) Read(ctx context.Context, id string, ids ...string) iter.Seq2[session.Entry, error] {
	return func(yield func(session.Entry, error) bool) {
		j, err := st.journal(id)
		if err == nil {
			err = j.use()
		}
		if err == nil {
			err = j.read(ctx, ids, yield)
		}
		if err != nil {
			yield(session.Entry{}, err)
		}
	}
}

// Sync is [session.Syncer].Sync.
func (st *Store) Sync(_ context.Context, id string) error {
	if err := checkID(id); err != nil {
		return err
	}
	st.mu.Lock()
	j := st.locked[id]
	st.mu.Unlock()
	if j != nil {
		j.mu.Lock()
		defer j.mu.Unlock()
	}
	if j == nil || !j.locked {
		j := newJournal(st, id, false)
		f, _, err := openFile(j.path, os.O_RDWR)
		if errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("%w: %s", session.ErrNotFound, id)
		}
		if err != nil {
			return j.errorf("sync: %w", err)
		}
		j.f, j.dirty, j.created = newHandle(f), true, true
		return errors.Join(j.sync(), j.close())
	}
	return j.sync()
}

// Repairs is [session.Repairer].Repairs.
func (st *Store) Repairs(id string) []session.Repair {
	j, err := st.journal(id)
	if err != nil {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	r := j.repairs
	j.repairs = nil
	return r
}

// Lock is [session.Locker].Lock. A torn last line is repaired under it. On
// a file system that has no locks the session is opened without one, which is
// told as a [session.Repair]; a second writer is then noticed when it writes.
// A lock whose holder has ended is waited for, a second at most: what a process
// was starting when it was killed may have it for a moment longer.
func (st *Store) Lock(ctx context.Context, id string) (func() error, error) {
	if err := checkID(id); err != nil {
		return nil, err
	}
	l, err := lock(ctx, st.path(id, ".lock"), st.flock)
	if err != nil {
		var held *heldError
		if errors.As(err, &held) {
			return nil, &session.LockedError{Session: id, Holder: held.holder}
		}
		return nil, fmt.Errorf("session %s: lock: %w", id, err)
	}
	j := newJournal(st, id, true)
	if l.without != nil {
		j.repairs = append(j.repairs, session.Repair{Kind: session.RepairLock, Text: fmt.Sprintf(
			"the file system of %s has no locks (%v): see to it that no other process writes to this session", st.dir, l.without)})
	}
	st.mu.Lock()
	st.locked[id] = j
	// What was read without the lock is read anew: it may have a torn end.
	st.loose = slices.DeleteFunc(st.loose, func(j *journal) bool { return j.id == id })
	st.mu.Unlock()
	return sync.OnceValue(func() error {
		st.mu.Lock()
		delete(st.locked, id)
		st.mu.Unlock()
		// Whoever got hold of j before may read on, and write no more.
		j.mu.Lock()
		err := j.close()
		j.locked = false
		j.mu.Unlock()
		return errors.Join(err, l.unlock())
	}), nil
}

// Delete is [session.Deleter].Delete. A session that is in use is not deleted.
func (st *Store) Delete(ctx context.Context, id string) error {
	if err := checkID(id); err != nil {
		return err
	}
	if _, err := os.Lstat(st.path(id, ".jsonl")); errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%w: %s", session.ErrNotFound, id)
	}
	unlock, err := st.Lock(ctx, id)
	if err != nil {
		return err
	}
	// The journal goes last, so that what fails half way can be done again.
	// RemoveAll follows no links.
	for _, ext := range []string{".d", ".torn", ".jsonl"} {
		if err == nil {
			err = os.RemoveAll(st.path(id, ext))
		}
	}
	if err = errors.Join(err, unlock()); err != nil {
		return fmt.Errorf("session %s: delete: %w", id, err)
	}
	return nil
}

// isSession returns the id of the session whose journal has that name.
func isSession(name string) (id string, ok bool) {
	id, ok = strings.CutSuffix(name, ".jsonl")
	return id, ok && checkID(id) == nil
}
