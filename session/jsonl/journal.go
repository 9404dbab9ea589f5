package jsonl

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cantle-dev/cantle/session"
)

// journal is one file and the index of what is in it. Its methods are called
// with mu held, but for use, headers and read.
type journal struct {
	st   *Store
	id   string
	path string

	mu      sync.Mutex
	locked  bool    // by us: it may be written, and its torn end be repaired
	f       *handle // kept open while it is locked
	size    int64   // of the whole records
	mtime   time.Time
	end     int64 // of the file, with what is not a whole record
	recs    []rec
	index   map[string]int32
	kinds   []string
	kindOf  map[string]int32
	lines   int
	dirty   bool // appended since the last sync
	created bool // by us, and its place in the directory is not synced yet
	cut     bool // a failed write may have left something after size
	repairs []session.Repair
}

// rec is what is known of a record. There are many.
type rec struct {
	id     string
	at     int64
	n      int32
	parent int32 // the place of the entry; noParent, or a name in odd
	kind   int32
}

const noParent = -1

func newJournal(st *Store, id string, locked bool) *journal {
	return &journal{
		st: st, id: id, path: st.path(id, ".jsonl"), locked: locked,
		index: map[string]int32{}, kindOf: map[string]int32{},
	}
}

func (j *journal) errorf(format string, args ...any) error {
	return fmt.Errorf("session %s: "+format, append([]any{j.id}, args...)...)
}

// handle is an open file. It is closed by the last who has it, so that a read
// goes on to its end when the session is closed meanwhile.
type handle struct {
	*os.File
	holders atomic.Int32
}

func newHandle(f *os.File) *handle {
	h := &handle{File: f}
	h.holders.Store(1)
	return h
}

func (h *handle) release() error {
	if h.holders.Add(-1) > 0 {
		return nil
	}
	return h.Close()
}

// close gives the file up. What was appended is in the system's hands.
func (j *journal) close() error {
	if j.f == nil {
		return nil
	}
	f := j.f
	j.f = nil
	return f.release()
}

// file returns the open file, and what to call when it was used.
func (j *journal) file() (*os.File, func(), error) {
	f := j.f
	if f == nil {
		flag := os.O_RDONLY
		if j.locked {
			flag = os.O_RDWR | os.O_APPEND
		}
		opened, _, err := openFile(j.path, flag)
		if errors.Is(err, os.ErrNotExist) {
			return nil, nil, fmt.Errorf("%w: %s", session.ErrNotFound, j.id)
		}
		if err != nil {
			return nil, nil, j.errorf("%w", err)
		}
		f = newHandle(opened)
		if !j.locked {
			return f.File, func() { _ = f.release() }, nil // it is only read
		}
		j.f = f
	}
	f.holders.Add(1)
	return f.File, func() { _ = f.release() }, nil // whoever closes the journal is told
}

func (j *journal) use() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.refresh()
}

// refresh takes account of what was appended to the file by others, which
// happens to a journal that is only read.
func (j *journal) refresh() error {
	f, done, err := j.file()
	if err != nil {
		return err
	}
	defer done()
	info, err := f.Stat()
	if err != nil {
		return j.errorf("%w", err)
	}
	if j.locked && nameless(info) { // what is written to it is lost
		return j.errorf("%s was deleted or replaced while it was open: open the session again", j.path)
	}
	switch {
	case info.Size() == j.end && (j.locked || info.ModTime().Equal(j.mtime)):
		return nil // what is locked was last written by us
	case info.Size() < j.size:
		if !j.locked {
			j.forget()
			break
		}
		return j.errorf("%s became shorter while it was open: something else writes to it: open the session again", j.path)
	default:
		same, err := j.intact(f)
		if err != nil {
			return err
		}
		if !same && !j.locked {
			j.forget()
		} else if !same {
			return j.errorf("%s was changed while it was open: something else writes to it: open the session again", j.path)
		}
	}
	if j.cut {
		return nil // the next append cuts off what is after the records
	}
	if info.Size() > j.size {
		if err := j.scan(f, info.Size()); err != nil {
			return err
		}
		if info, err = f.Stat(); err != nil { // a repair may have changed it
			return j.errorf("%w", err)
		}
	}
	j.end, j.mtime = info.Size(), info.ModTime()
	return nil
}

func (j *journal) forget() {
	j.size, j.end, j.lines, j.recs, j.kinds = 0, 0, 0, nil, nil
	j.index, j.kindOf = map[string]int32{}, map[string]int32{}
}

// intact reports whether the last record is where it was.
func (j *journal) intact(f *os.File) (bool, error) {
	n := len(j.recs)
	if n == 0 {
		return true, nil
	}
	r := j.recs[n-1]
	b := make([]byte, min(int(r.n), headBytes))
	if _, err := f.ReadAt(b, r.at); err != nil {
		return false, j.errorf("%w", err)
	}
	h, _, ok := session.CutHeader(b)
	return !ok || string(h.ID) == r.id, nil
}

func (j *journal) last() string {
	if n := len(j.recs); n > 0 {
		return j.recs[n-1].id
	}
	return ""
}

// scan indexes the records from the known end on.
func (j *journal) scan(f *os.File, to int64) error {
	if grow := int((to - j.size) / 1200); len(j.recs) == 0 && grow > 0 {
		j.recs = make([]rec, 0, grow)
		j.index = make(map[string]int32, grow)
	}
	err := scanLines(f, j.size, to, func(l line) error {
		if !l.whole {
			return j.torn(f, l)
		}
		j.lines++
		if l.n > 0 {
			h, err := readHeader(f, l)
			if err != nil {
				return &session.CorruptError{Session: j.id, File: j.path, Line: j.lines, Err: err}
			}
			if l.n > math.MaxInt32 {
				return &session.CorruptError{Session: j.id, File: j.path, Line: j.lines, Err: errors.New("it is longer than 2 GiB")}
			}
			j.add(h, l.at, int32(l.n))
		}
		j.size = l.at + int64(l.n) + 1
		return nil
	})
	var c *session.CorruptError
	if err != nil && !errors.As(err, &c) {
		err = j.errorf("%w", err)
	}
	if err != nil && !j.locked {
		j.forget()
	}
	return err
}

// add indexes a record. Strings that repeat are shared, so that the index of
// a long session stays small.
func (j *journal) add(h session.RawHeader, at int64, n int32) {
	if _, dup := j.index[string(h.ID)]; dup {
		j.repairs = append(j.repairs, session.Repair{
			Kind: session.RepairTree, Entry: string(h.ID),
			Text: fmt.Sprintf("entry %s: a second one with this id, on line %d, is left out", h.ID, j.lines),
		})
		return
	}
	kind, ok := j.kindOf[string(h.Kind)]
	if !ok {
		kind = int32(len(j.kinds))
		name := string(h.Kind)
		j.kinds = append(j.kinds, name)
		j.kindOf[name] = kind
	}
	r := rec{id: string(h.ID), at: at, n: n, kind: kind, parent: noParent}
	if k := len(j.recs); k > 0 && j.recs[k-1].id == string(h.Parent) {
		r.parent = int32(k - 1)
	} else if i, ok := j.index[string(h.Parent)]; ok {
		r.parent = i
	} else if len(h.Parent) > 0 {
		// A name that is in no index is kept with the kinds; it is rare.
		r.parent = -2 - int32(len(j.kinds))
		j.kinds = append(j.kinds, string(h.Parent))
	}
	j.index[r.id] = int32(len(j.recs))
	j.recs = append(j.recs, r)
}

// headers yields all headers, as they are at this time: what is in an index is
// never changed.
func (j *journal) headers(yield func(session.Header) bool) {
	j.mu.Lock()
	recs, kinds := j.recs, j.kinds
	j.mu.Unlock()
	for _, r := range recs {
		h := session.Header{ID: r.id, Kind: kinds[r.kind]}
		switch {
		case r.parent >= 0:
			h.Parent = recs[r.parent].id
		case r.parent < noParent:
			h.Parent = kinds[-2-r.parent]
		}
		if !yield(h) {
			return
		}
	}
}

// torn deals with a last line that has no newline. If all of the record is
// there, only the newline is added. Otherwise it is set aside and cut off.
// Without the lock nothing is touched: another process may be writing it.
func (j *journal) torn(f *os.File, l line) error {
	whole := false
	if l.last == '}' {
		b := make([]byte, l.n)
		if _, err := f.ReadAt(b, l.at); err != nil {
			return err
		}
		_, err := session.Decode(b)
		whole = err == nil
	}
	if !j.locked {
		j.repairs = append(j.repairs, session.Repair{Kind: session.RepairTorn, Text: fmt.Sprintf(
			"the last %d bytes of the journal are not a whole record and are not shown: they are being written, or a crash tore them", l.n)})
		return nil
	}
	if whole {
		if _, err := f.Write([]byte{'\n'}); err != nil {
			return fmt.Errorf("the last record has no end and cannot be ended: %w", err)
		}
		j.lines++
		h, err := readHeader(f, l)
		if err != nil {
			return err
		}
		j.add(h, l.at, int32(l.n))
		j.size, j.dirty = l.at+int64(l.n)+1, true
		j.repairs = append(j.repairs, session.Repair{
			Kind: session.RepairTorn, Entry: string(h.ID),
			Text: "a crash cut the end of the last record's line: nothing of it is lost",
		})
		return nil
	}
	aside := j.st.path(j.id, ".torn")
	if err := setAside(aside, io.NewSectionReader(f, l.at, int64(l.n))); err != nil {
		return fmt.Errorf("the last record is torn and cannot be set aside: %w", err)
	}
	if err := f.Truncate(l.at); err != nil {
		return fmt.Errorf("the last record is torn and cannot be cut off: %w", err)
	}
	j.dirty = true
	j.repairs = append(j.repairs, session.Repair{Kind: session.RepairTorn, Text: fmt.Sprintf(
		"a crash tore the last record: its %d bytes are lost to the session, and kept in %s", l.n, filepath.Base(aside))})
	return nil
}

func setAside(path string, r io.Reader) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND|noFollow, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	if err == nil {
		_, err = f.Write([]byte{'\n'})
	}
	return errors.Join(err, f.Close())
}

// errUnlocked means that the lock was given back meanwhile.
var errUnlocked = errors.New("session: unlocked")

func (j *journal) appendLocked(after string, entries []session.Entry) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.locked {
		return errUnlocked
	}
	if err := j.refresh(); err != nil && !errors.Is(err, session.ErrNotFound) {
		return err
	}
	return j.append(after, entries)
}

// append writes the entries in one write, or none of them.
func (j *journal) append(after string, entries []session.Entry) error {
	ends := make([]int, len(entries))
	var buf []byte
	for i, e := range entries {
		var err error
		if buf, err = e.Encode(buf); err != nil {
			return err
		}
		if bytes.IndexByte(buf[start(ends, i):], '\n') >= 0 {
			return j.errorf("entry %s: its record has more than one line", e.ID)
		}
		buf = append(buf, '\n')
		ends[i] = len(buf)
	}
	skip, err := session.Retried(j.id, after, j.last(), entries, func(i int) (bool, bool, error) {
		k, ok := j.index[entries[i].ID]
		if !ok {
			return false, false, nil
		}
		r := j.recs[k]
		mine := buf[start(ends, i) : ends[i]-1]
		if int(r.n) != len(mine) {
			return true, false, nil
		}
		old := make([]byte, r.n)
		if _, err := j.f.ReadAt(old, r.at); err != nil {
			return true, false, j.errorf("%w", err)
		}
		return true, bytes.Equal(old, mine), nil
	})
	if err != nil || skip == len(entries) {
		return err
	}
	if err := j.put(buf[start(ends, skip):]); err != nil {
		return err
	}
	base := j.size - int64(start(ends, skip))
	for i := skip; i < len(entries); i++ {
		b := buf[start(ends, i) : ends[i]-1]
		at := base + int64(start(ends, i))
		h, err := readHeader(j.f, line{at: at, n: len(b), head: b, last: b[len(b)-1]})
		if err != nil {
			return j.errorf("%w", err)
		}
		j.lines++
		j.add(h, at, int32(len(b)))
		j.size = at + int64(len(b)) + 1
	}
	return nil
}

func start(ends []int, i int) int {
	if i == 0 {
		return 0
	}
	return ends[i-1]
}

// put writes b after the last record, as a whole or not at all.
func (j *journal) put(b []byte) error {
	fresh := false
	if j.f == nil {
		f, err := os.OpenFile(j.path, os.O_RDWR|os.O_APPEND|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return j.errorf("%w", err)
		}
		j.f, j.created, fresh = newHandle(f), true, true
	}
	if j.cut {
		if err := j.f.Truncate(j.size); err != nil {
			return j.errorf("nothing was recorded: what a failed write left cannot be cut off: %w", err)
		}
		j.cut = false
	}
	n, err := j.st.write(j.f.File, b)
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	if err != nil {
		if terr := j.f.Truncate(j.size); terr != nil {
			j.cut = true
		}
		j.end = j.size
		if fresh {
			j.discard()
		}
		return j.errorf("nothing was recorded: %w: make room, or mend the disk, and go on", err)
	}
	j.dirty = true
	j.end = j.size + int64(len(b))
	return nil
}

// discard removes the file that a failed write made, so that no session is left
// of which nothing is known. What cannot be removed stays, and no list shows it
// while it is empty.
func (j *journal) discard() {
	mine, err := j.f.Stat()
	if err != nil {
		return
	}
	_ = j.close() // nothing was recorded in it
	if there, err := os.Lstat(j.path); err == nil && os.SameFile(mine, there) && os.Remove(j.path) == nil {
		j.created, j.cut, j.end = false, false, 0
	}
}

// sync puts the records, and at first the file's place in its directory, on
// stable storage.
func (j *journal) sync() error {
	if j.f == nil || !j.dirty {
		return nil
	}
	if err := datasync(j.f.File); err != nil {
		return j.errorf("sync: %w", err)
	}
	if j.created {
		if err := syncDir(filepath.Dir(j.path)); err != nil {
			return j.errorf("sync: %w", err)
		}
		j.created = false
	}
	j.dirty = false
	return nil
}
