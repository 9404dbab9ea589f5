// Package jsonl keeps sessions in files: one journal a session, one record
// a line, appended and never rewritten.
//
//	st, err := jsonl.Open(dir, jsonl.Options{})
//	if err != nil {
//		return err
//	}
//	s, err := session.Open(ctx, st, "s1", session.OpenOptions{Create: true})
//
// An append is one write. A last line that a crash tore is cut off under the
// lock when the session is next opened, and said so; a line that cannot be read
// anywhere else is an error that names it, and [Store.Salvage] copies what can
// be read into a new session. What else belongs to a session, such as the whole
// output of a command, lies in the folder [Store.Dir].
package jsonl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"sync"

	"github.com/cantle-dev/cantle/session"
)

// Options configure a store. There are none yet.
type Options struct{}

// Store is a directory of sessions. It is safe for concurrent use; against
// other processes each session is locked.
type Store struct {
	dir string

	mu       sync.Mutex
	journals map[string]*journal
}

// Open opens the directory, which is made if it is not there.
func Open(dir string, _ Options) (*Store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("session: %w", err)
	}
	return &Store{dir: dir, journals: map[string]*journal{}}, nil
}

var idPattern = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_-]{0,127}$`)

func checkID(id string) error {
	if !idPattern.MatchString(id) {
		return fmt.Errorf("session: %q is not a session id: it has letters, digits, _ and -, 128 at most", id)
	}
	return nil
}

func (st *Store) file(id string) string { return filepath.Join(st.dir, id+".jsonl") }

// Dir is the folder for what else belongs to the session id. It is made when
// asked for.
func (st *Store) Dir(id string) (string, error) {
	if err := checkID(id); err != nil {
		return "", err
	}
	dir := filepath.Join(st.dir, id+".d")
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return "", fmt.Errorf("session %s: %w", id, err)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return "", fmt.Errorf("session %s: %w", id, err)
	}
	if !info.IsDir() {
		return "", fmt.Errorf("session %s: %s is not a folder", id, dir)
	}
	return dir, nil
}

// journal returns the scanned journal of a session.
func (st *Store) journal(id string) (*journal, error) {
	if err := checkID(id); err != nil {
		return nil, err
	}
	st.mu.Lock()
	j := st.journals[id]
	if j == nil {
		j = &journal{id: id, path: st.file(id), index: map[string]int32{}, kinds: map[string]string{}}
		st.journals[id] = j
	}
	st.mu.Unlock()
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.refresh(); err != nil {
		return nil, err
	}
	return j, nil
}

// forget drops what is known of a session, and its open file.
func (st *Store) forget(id string) {
	st.mu.Lock()
	j := st.journals[id]
	delete(st.journals, id)
	st.mu.Unlock()
	if j != nil {
		j.mu.Lock()
		j.close()
		j.mu.Unlock()
	}
}

// Append is [session.Store].Append.
func (st *Store) Append(_ context.Context, id, after string, entries ...session.Entry) error {
	j, err := st.journal(id)
	if err != nil && !errors.Is(err, session.ErrNotFound) {
		return err
	}
	if j == nil {
		st.mu.Lock()
		j = st.journals[id]
		st.mu.Unlock()
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.append(after, entries)
}

// Headers is [session.Store].Headers.
func (st *Store) Headers(_ context.Context, id string) iter.Seq2[session.Header, error] {
	return func(yield func(session.Header, error) bool) {
		j, err := st.journal(id)
		if err != nil {
			yield(session.Header{}, err)
			return
		}
		j.mu.Lock()
		n := len(j.recs)
		j.mu.Unlock()
		for i := range n {
			j.mu.Lock()
			r := j.recs[i]
			h := session.Header{ID: r.id, Parent: r.parent, Kind: r.kind}
			j.mu.Unlock()
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
		if err != nil {
			yield(session.Entry{}, err)
			return
		}
		next := j.places(ids)
		for {
			place, ok, err := next()
			if err == nil && !ok {
				return
			}
			if err == nil {
				err = ctx.Err()
			}
			var e session.Entry
			if err == nil {
				e, err = j.read(place)
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// Sync is [session.Syncer].Sync.
func (st *Store) Sync(_ context.Context, id string) error {
	st.mu.Lock()
	j := st.journals[id]
	st.mu.Unlock()
	if j == nil {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.sync()
}

// Repairs is [session.Repairer].Repairs.
func (st *Store) Repairs(id string) []session.Repair {
	st.mu.Lock()
	j := st.journals[id]
	st.mu.Unlock()
	if j == nil {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	r := j.repairs
	j.repairs = nil
	return r
}

// Lock is [session.Locker].Lock. A torn last line is repaired under it.
func (st *Store) Lock(_ context.Context, id string) (func() error, error) {
	if err := checkID(id); err != nil {
		return nil, err
	}
	l, err := lock(filepath.Join(st.dir, id+".lock"))
	if err != nil {
		var held *heldError
		if errors.As(err, &held) {
			return nil, &session.LockedError{Session: id, Holder: held.holder}
		}
		return nil, fmt.Errorf("session %s: lock: %w", id, err)
	}
	st.forget(id) // what another process wrote since is read anew
	st.mu.Lock()
	j := &journal{id: id, path: st.file(id), index: map[string]int32{}, kinds: map[string]string{}, locked: true}
	st.journals[id] = j
	st.mu.Unlock()
	return func() error {
		st.forget(id)
		return l.unlock()
	}, nil
}

// Delete is [session.Deleter].Delete. A session that is in use is not deleted.
func (st *Store) Delete(ctx context.Context, id string) error {
	if err := checkID(id); err != nil {
		return err
	}
	if _, err := os.Lstat(st.file(id)); err != nil {
		return fmt.Errorf("%w: %s", session.ErrNotFound, id)
	}
	unlock, err := st.Lock(ctx, id)
	if err != nil {
		return err
	}
	err = os.Remove(st.file(id))
	if err == nil {
		err = os.RemoveAll(filepath.Join(st.dir, id+".d")) // it follows no links
	}
	err = errors.Join(err, unlock())
	_ = os.Remove(filepath.Join(st.dir, id+".lock")) // an empty lock file does no harm
	if err != nil {
		return fmt.Errorf("session %s: delete: %w", id, err)
	}
	return nil
}

// Salvage copies what can be read of a corrupt session into the new session
// to, and returns how many lines could not be.
func (st *Store) Salvage(ctx context.Context, id, to string) (lost int, err error) {
	if err := errors.Join(checkID(id), checkID(to)); err != nil {
		return 0, err
	}
	if _, err := os.Lstat(st.file(to)); err == nil {
		return 0, fmt.Errorf("%w: %s", session.ErrExists, to)
	}
	f, err := os.Open(st.file(id))
	if err != nil {
		return 0, fmt.Errorf("%w: %s", session.ErrNotFound, id)
	}
	defer f.Close()
	after := ""
	seen := map[string]bool{}
	err = lines(f, func(_ int64, line []byte, _ bool) error {
		e, err := session.Decode(append([]byte(nil), line...))
		if err != nil || seen[e.ID] {
			lost++
			return nil
		}
		if err := st.Append(ctx, to, after, e); err != nil {
			return err
		}
		seen[e.ID] = true
		after = e.ID
		return nil
	})
	if err == nil && after == "" {
		err = fmt.Errorf("session %s: nothing in it can be read", id)
	}
	return lost, err
}

// lines calls fn with each line of r and where it starts; whole is false for
// a last line without its end.
func lines(r io.Reader, fn func(at int64, line []byte, whole bool) error) error {
	buf := make([]byte, 0, 256<<10)
	at := int64(0)
	for {
		if len(buf) == cap(buf) {
			grown := make([]byte, len(buf), 2*cap(buf))
			copy(grown, buf)
			buf = grown
		}
		n, err := r.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		start := 0
		for {
			i := indexByte(buf[start:], '\n')
			if i < 0 {
				break
			}
			if err := fn(at+int64(start), buf[start:start+i], true); err != nil {
				return err
			}
			start += i + 1
		}
		if start > 0 {
			at += int64(start)
			buf = buf[:copy(buf, buf[start:])]
		}
		if err == io.EOF {
			if len(buf) > 0 {
				return fn(at, buf, false)
			}
			return nil
		}
		if err != nil {
			return err
		}
	}
}
