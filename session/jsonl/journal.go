package jsonl

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/cantle-dev/cantle/session"
)

// journal is one file and the index of what is in it. Its mutex is held by the
// callers of its lower-case methods, except read and places.
type journal struct {
	mu     sync.Mutex
	id     string
	path   string
	f      *os.File
	size   int64 // of the whole records
	recs   []rec
	index  map[string]int32
	kinds  map[string]string // interned
	locked bool              // by us: a torn tail may be repaired
	dirty  bool              // appended since the last sync
	made   bool              // the directory entry is on disk

	repairs []session.Repair
}

// rec is a record's header and place.
type rec struct {
	id, parent, kind string
	at               int64
	n                int32
}

func indexByte(b []byte, c byte) int { return bytes.IndexByte(b, c) }

func (j *journal) close() {
	if j.f != nil {
		_ = j.f.Close() // every write was checked
		j.f = nil
	}
}

// refresh opens the file and scans what is new in it.
func (j *journal) refresh() error {
	if j.f == nil {
		info, err := os.Lstat(j.path)
		if errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("%w: %s", session.ErrNotFound, j.id)
		}
		if err != nil {
			return fmt.Errorf("session %s: %w", j.id, err)
		}
		if !info.Mode().IsRegular() {
			return fmt.Errorf("session %s: %s is not a regular file", j.id, j.path)
		}
		f, err := os.OpenFile(j.path, os.O_RDWR|os.O_APPEND, 0)
		if errors.Is(err, os.ErrPermission) {
			f, err = os.Open(j.path)
		}
		if err != nil {
			return fmt.Errorf("session %s: %w", j.id, err)
		}
		j.f, j.made = f, true
	}
	info, err := j.f.Stat()
	if err != nil {
		return fmt.Errorf("session %s: %w", j.id, err)
	}
	switch {
	case info.Size() == j.size:
		return nil
	case info.Size() < j.size:
		return fmt.Errorf("session %s: %s became shorter while it was open: open it again", j.id, j.path)
	case j.locked && len(j.recs) > 0:
		return &session.ConflictError{Session: j.id, Want: j.last(), Have: "an entry that another writer appended"}
	}
	return j.scan()
}

func (j *journal) last() string {
	if n := len(j.recs); n > 0 {
		return j.recs[n-1].id
	}
	return ""
}

// scan indexes the records from j.size on.
func (j *journal) scan() error {
	if _, err := j.f.Seek(j.size, io.SeekStart); err != nil {
		return fmt.Errorf("session %s: %w", j.id, err)
	}
	base := j.size
	line := len(j.recs)
	err := lines(j.f, func(at int64, b []byte, whole bool) error {
		line++
		if !whole {
			return j.torn(base+at, b)
		}
		id, parent, kind, err := header(b)
		if err != nil {
			return &session.CorruptError{Session: j.id, File: j.path, Line: line, Err: err}
		}
		j.add(id, parent, kind, base+at, len(b))
		return nil
	})
	if err != nil {
		var c *session.CorruptError
		if errors.As(err, &c) {
			return err
		}
		return fmt.Errorf("session %s: %w", j.id, err)
	}
	return nil
}

// add indexes a record. Strings that repeat are shared, so that the index of a
// long session stays small.
func (j *journal) add(id, parent, kind []byte, at int64, n int) {
	r := rec{id: string(id), at: at, n: int32(n)}
	if k := len(j.recs); k > 0 && j.recs[k-1].id == string(parent) {
		r.parent = j.recs[k-1].id
	} else if i, ok := j.index[string(parent)]; ok {
		r.parent = j.recs[i].id
	} else {
		r.parent = string(parent)
	}
	k, ok := j.kinds[string(kind)]
	if !ok {
		k = string(kind)
		j.kinds[k] = k
	}
	r.kind = k
	j.size = at + int64(n) + 1
	if _, dup := j.index[r.id]; dup {
		j.repairs = append(j.repairs, session.Repair{Text: "a second entry with the id " + r.id + " is left out"})
		return
	}
	j.index[r.id] = int32(len(j.recs))
	j.recs = append(j.recs, r)
}

// torn deals with a last line without its end. Under our lock it is set aside
// and cut off; without, it is what another process is writing just now.
func (j *journal) torn(at int64, b []byte) error {
	if !j.locked {
		return nil
	}
	aside := j.path + ".torn"
	if err := os.WriteFile(aside, b, 0o600); err != nil {
		return fmt.Errorf("the last record is torn and cannot be set aside: %w", err)
	}
	if err := j.f.Truncate(at); err != nil {
		return fmt.Errorf("the last record is torn and cannot be cut off: %w", err)
	}
	j.dirty = true
	j.repairs = append(j.repairs, session.Repair{Text: fmt.Sprintf(
		"the last record was torn by a crash: %d bytes of it are lost to the session, and kept in %s", len(b), filepath.Base(aside))})
	return nil
}

// header reads the fixed start of a record: {"v":1,"id":"…","parent":"…","kind":"…"
func header(b []byte) (id, parent, kind []byte, err error) {
	const start = `{"v":1,"id":"`
	bad := errors.New("it does not begin as a record does")
	if len(b) < len(start) || string(b[:len(start)]) != start {
		if bytes.HasPrefix(b, []byte(`{"v":`)) && !bytes.HasPrefix(b, []byte(`{"v":1,`)) {
			return nil, nil, nil, errors.New("it is of another version: use a newer program")
		}
		return nil, nil, nil, bad
	}
	rest := b[len(start):]
	take := func(sep string) []byte {
		i := bytes.IndexByte(rest, '"')
		if i < 0 || !bytes.HasPrefix(rest[i:], []byte(sep)) {
			err = bad
			return nil
		}
		v := rest[:i]
		rest = rest[i+len(sep):]
		return v
	}
	id = take(`","parent":"`)
	if err == nil {
		parent = take(`","kind":"`)
	}
	if err == nil {
		kind = take(`","time":"`)
	}
	if err == nil && (len(id) == 0 || len(kind) == 0 || b[len(b)-1] != '}') {
		err = bad
	}
	return id, parent, kind, err
}

// append writes the entries in one write, or none of them.
func (j *journal) append(after string, entries []session.Entry) error {
	var buf []byte
	type added struct {
		id, parent, kind string
		at, n            int
	}
	var fresh []added
	for _, e := range entries {
		if _, dup := j.index[e.ID]; dup {
			continue
		}
		start := len(buf)
		var err error
		if buf, err = e.Encode(buf); err != nil {
			return err
		}
		fresh = append(fresh, added{e.ID, e.Parent, e.Kind(), start, len(buf) - start})
		buf = append(buf, '\n')
	}
	if len(fresh) == 0 {
		return nil // a retry of what was written
	}
	if have := j.last(); have != after && len(fresh) == len(entries) {
		return &session.ConflictError{Session: j.id, Want: after, Have: have}
	}
	if j.f == nil {
		f, err := os.OpenFile(j.path, os.O_RDWR|os.O_APPEND|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return fmt.Errorf("session %s: %w", j.id, err)
		}
		j.f = f
	}
	if n, err := j.f.Write(buf); err != nil {
		if n > 0 {
			if terr := j.f.Truncate(j.size); terr != nil {
				err = errors.Join(err, terr)
			}
		}
		return fmt.Errorf("session %s: nothing was recorded: %w: make room, or fix the disk, and go on", j.id, err)
	}
	base := j.size
	for _, a := range fresh {
		j.add([]byte(a.id), []byte(a.parent), []byte(a.kind), base+int64(a.at), a.n)
	}
	j.dirty = true
	return nil
}

func (j *journal) sync() error {
	if j.f == nil || !j.dirty {
		return nil
	}
	if err := datasync(j.f); err != nil {
		return fmt.Errorf("session %s: %w", j.id, err)
	}
	j.dirty = false
	if !j.made {
		d, err := os.Open(filepath.Dir(j.path))
		if err != nil {
			return fmt.Errorf("session %s: %w", j.id, err)
		}
		err = d.Sync()
		_ = d.Close() // it was only read
		if err != nil && !errors.Is(err, os.ErrInvalid) && !strings.Contains(err.Error(), "not supported") {
			return fmt.Errorf("session %s: %w", j.id, err)
		}
		j.made = true
	}
	return nil
}

type place struct {
	at   int64
	n    int32
	id   string
	file *os.File
}

// places returns a function that steps through the places of the entries.
func (j *journal) places(ids []string) func() (place, bool, error) {
	j.mu.Lock()
	all, n := len(ids) == 0, len(ids)
	if all {
		n = len(j.recs)
	}
	j.mu.Unlock()
	i := 0
	return func() (place, bool, error) {
		if i >= n {
			return place{}, false, nil
		}
		j.mu.Lock()
		defer j.mu.Unlock()
		at := int32(i)
		if !all {
			var ok bool
			if at, ok = j.index[ids[i]]; !ok {
				return place{}, false, fmt.Errorf("%w: entry %s of session %s", session.ErrNotFound, ids[i], j.id)
			}
		}
		i++
		if j.f == nil {
			return place{}, false, fmt.Errorf("session %s: closed", j.id)
		}
		r := j.recs[at]
		return place{r.at, r.n, r.id, j.f}, true, nil
	}
}

func (j *journal) read(p place) (session.Entry, error) {
	b := make([]byte, p.n)
	if _, err := p.file.ReadAt(b, p.at); err != nil {
		return session.Entry{}, fmt.Errorf("session %s: entry %s: %w", j.id, p.id, err)
	}
	e, err := session.Decode(b)
	if err != nil {
		j.mu.Lock()
		line := int(j.index[p.id]) + 1
		j.mu.Unlock()
		return session.Entry{}, &session.CorruptError{Session: j.id, File: j.path, Line: line, Err: err}
	}
	return e, nil
}
