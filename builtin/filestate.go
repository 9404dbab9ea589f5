package builtin

import (
	"bytes"
	"container/list"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"sync"
	"time"
	"weak"

	"github.com/cantle-dev/cantle/agent"
	"github.com/cantle-dev/cantle/session"
)

// noteKind is the kind of the session's notes about files.
const noteKind = "builtin.file"

// hashMax is the size above which files are compared by size and time alone.
const hashMax = 64 << 20

// What is kept in memory to show how a file was changed.
const (
	keptFile  = 1 << 20 // bytes of one file
	keptTotal = 8 << 20
)

// Files remembers what each agent has read, so that nothing is replaced that
// the model has not seen. In an agent's run what it knows is recorded in the
// session, as notes, and read back from there at the start of each run: a
// session that was resumed, forked or taken back to an earlier point knows what
// was read on its own branch. A child has a memory of its own. It is safe for
// concurrent use.
type Files struct {
	mu    sync.Mutex
	views map[viewKey]*view
	alone view // for calls outside of any run
	kept  map[string]*list.Element
	order list.List // of *content, the one used last first
	size  int
	locks map[string]*pathLock
}

// NewFiles makes an empty memory.
func NewFiles() *Files {
	return &Files{
		views: map[viewKey]*view{}, alone: view{seen: map[string]seen{}},
		kept: map[string]*list.Element{}, locks: map[string]*pathLock{},
	}
}

type viewKey struct {
	session weak.Pointer[session.Session]
	agent   string // its path
}

// view is what one agent has seen on the branch that its run is on.
type view struct {
	mu   sync.Mutex
	run  string
	seen map[string]seen
}

// seen is what was seen of a file. Its slice and map are never changed.
type seen struct {
	Path  string    `json:"path"`
	Agent string    `json:"agent,omitempty"`
	Size  int64     `json:"size"`
	Mod   time.Time `json:"mod"`
	Hash  string    `json:"hash,omitempty"`  // of the content; "" above hashMax
	Lines [][2]int  `json:"lines,omitempty"` // ranges of lines that were shown
	Whole bool      `json:"whole,omitempty"`
	// Cut are the lines among Lines that were shown up to a column only.
	Cut map[int]int `json:"cut,omitempty"`
}

// glimpse is what a call showed of a file.
type glimpse struct {
	lines [][2]int
	parts []part // of those, the lines that were not shown whole
	total int    // how many lines the file has; below 0 if that is not known
}

// part is a part of a line: its bytes from from to to.
type part struct {
	line, from, to int
	end            bool // to is the line's end
}

// load returns the view of the agent that ctx belongs to, locked.
func (f *Files) load(ctx context.Context) (*view, error) {
	t := agent.FromContext(ctx)
	if t == nil {
		f.alone.mu.Lock()
		return &f.alone, nil
	}
	key := viewKey{weak.Make(t.Session), t.Path}
	f.mu.Lock()
	v := f.views[key]
	if v == nil {
		maps.DeleteFunc(f.views, func(k viewKey, _ *view) bool { return k.session.Value() == nil })
		v = &view{}
		f.views[key] = v
	}
	f.mu.Unlock()

	v.mu.Lock()
	if v.seen != nil && v.run == t.RunID {
		return v, nil
	}
	m := map[string]seen{}
	for n, err := range t.Session.Notes(ctx, noteKind) {
		if err != nil {
			v.mu.Unlock()
			return nil, fmt.Errorf("file: reading what was noted of files: %w", err)
		}
		var s seen
		if json.Unmarshal(n.Data, &s) == nil && s.Agent == t.Path {
			m[s.Path] = s
		}
	}
	v.seen, v.run = m, t.RunID
	return v, nil
}

// get returns what was seen of path.
func (f *Files) get(ctx context.Context, path string) (seen, bool, error) {
	v, err := f.load(ctx)
	if err != nil {
		return seen{}, false, err
	}
	defer v.mu.Unlock()
	s, ok := v.seen[path]
	return s, ok, nil
}

// saw adds what was shown of a file in the state now. What was seen of another
// content of it counts no longer.
func (f *Files) saw(ctx context.Context, now seen, g glimpse) error {
	v, err := f.load(ctx)
	if err != nil {
		return err
	}
	defer v.mu.Unlock()
	if old, ok := v.seen[now.Path]; ok && old.same(now) {
		now.Lines, now.Whole, now.Cut = old.Lines, old.Whole, old.Cut
	}
	return v.put(ctx, now.with(g))
}

// sawLines is saw for lines that were shown whole.
func (f *Files) sawLines(ctx context.Context, now seen, ranges [][2]int) error {
	if isNotebook(now.Path) { // of these, cells count
		return nil
	}
	return f.saw(ctx, now, glimpse{lines: ranges, total: -1})
}

// set replaces what was seen of a file.
func (f *Files) set(ctx context.Context, now seen) error {
	v, err := f.load(ctx)
	if err != nil {
		return err
	}
	defer v.mu.Unlock()
	return v.put(ctx, now)
}

// put records s, if it says anything new. v is locked.
func (v *view) put(ctx context.Context, s seen) error {
	old, ok := v.seen[s.Path]
	if ok && old.same(s) && old.Whole == s.Whole && slices.Equal(old.Lines, s.Lines) && maps.Equal(old.Cut, s.Cut) {
		return nil
	}
	if t := agent.FromContext(ctx); t != nil {
		s.Agent = t.Path
		data, err := json.Marshal(s)
		if err != nil {
			return err
		}
		if err := t.Append(ctx, session.Note{Kind: noteKind, Data: data}); err != nil {
			return fmt.Errorf("file: noting what was read: %w", err)
		}
	}
	v.seen[s.Path] = s
	return nil
}

// with is s after a further look.
func (s seen) with(g glimpse) seen {
	if s.Whole {
		return s
	}
	cuts := maps.Clone(s.Cut)
	for _, p := range g.parts {
		to, cut := cuts[p.line]
		switch {
		case !cut && s.shown(p.line, p.line): // all of it, before
		case p.from <= to && p.end:
			delete(cuts, p.line)
		default:
			if cuts == nil {
				cuts = map[int]int{}
			}
			if p.from <= to {
				to = max(to, p.to)
			}
			cuts[p.line] = to
		}
	}
	for _, r := range g.lines {
		s.Lines = merge(s.Lines, r)
		for n := range cuts {
			if r[0] <= n && n <= r[1] && !slices.ContainsFunc(g.parts, func(p part) bool { return p.line == n }) {
				delete(cuts, n) // the whole line, this time
			}
		}
	}
	if s.Cut = cuts; len(cuts) == 0 {
		s.Cut = nil
	}
	all := g.total == 0 || len(s.Lines) == 1 && s.Lines[0][0] <= 1 && s.Lines[0][1] >= g.total
	if g.total >= 0 && all && s.Cut == nil {
		s.Whole, s.Lines = true, nil
	}
	return s
}

func (s seen) same(o seen) bool {
	if s.Hash != "" || o.Hash != "" {
		return s.Hash == o.Hash
	}
	return s.Size == o.Size && s.Mod.Equal(o.Mod)
}

// shown reports whether the lines from to to were all shown.
func (s seen) shown(from, to int) bool {
	return s.Whole || slices.ContainsFunc(s.Lines, func(r [2]int) bool { return r[0] <= from && to <= r[1] })
}

// merge adds a range to a sorted list of ranges that do not touch.
func merge(rs [][2]int, r [2]int) [][2]int {
	if r[0] > r[1] {
		return rs
	}
	var out [][2]int
	for _, o := range rs {
		if o[1]+1 < r[0] || r[1]+1 < o[0] {
			out = append(out, o)
			continue
		}
		r = [2]int{min(r[0], o[0]), max(r[1], o[1])}
	}
	out = append(out, r)
	slices.SortFunc(out, func(a, b [2]int) int { return a[0] - b[0] })
	return out
}

// hashOf names a content.
func hashOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// stateOf is the state of a file that is open. content, if not nil, is all of
// it.
func stateOf(path string, info fs.FileInfo, content []byte) seen {
	s := seen{Path: path, Size: info.Size(), Mod: info.ModTime()}
	if content != nil && int64(len(content)) <= hashMax {
		s.Hash = hashOf(content)
	}
	return s
}

type content struct {
	hash string
	data []byte
}

// keep holds a content for [Files.was], if it is not too large.
func (f *Files) keep(hash string, data []byte) {
	if hash == "" || len(data) > keptFile {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if e := f.kept[hash]; e != nil {
		f.order.MoveToFront(e)
		return
	}
	f.kept[hash] = f.order.PushFront(&content{hash, bytes.Clone(data)})
	f.size += len(data)
	for f.size > keptTotal {
		c := f.order.Remove(f.order.Back()).(*content)
		delete(f.kept, c.hash)
		f.size -= len(c.data)
	}
}

// was returns the content of that hash, if it is still held.
func (f *Files) was(hash string) ([]byte, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if e := f.kept[hash]; e != nil {
		return e.Value.(*content).data, true
	}
	return nil, false
}

type pathLock struct {
	mu sync.Mutex
	n  int
}

// lock makes calls that change the file at path wait for one another, of
// whatever agent they are.
func (f *Files) lock(path string) (unlock func()) {
	f.mu.Lock()
	l := f.locks[path]
	if l == nil {
		l = &pathLock{}
		f.locks[path] = l
	}
	l.n++
	f.mu.Unlock()
	l.mu.Lock()
	return func() {
		l.mu.Unlock()
		f.mu.Lock()
		defer f.mu.Unlock()
		if l.n--; l.n == 0 {
			delete(f.locks, path)
		}
	}
}

// readAll reads a regular file of at most limit bytes.
func readAll(fsys FS, path string, limit int64) ([]byte, fs.FileInfo, error) {
	f, err := fsys.Open(path)
	if err != nil {
		return nil, nil, plainErr(path, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, plainErr(path, err)
	}
	if err := regular(path, info); err != nil {
		return nil, nil, err
	}
	if info.Size() > limit {
		return nil, nil, fmt.Errorf("%s has %d bytes, more than the %d MiB that this tool can change: use Bash", path, info.Size(), limit>>20)
	}
	b, err := readRest(path, info, f, limit)
	return b, info, err
}

// readRest reads all of a file that had at most limit bytes.
func readRest(path string, info fs.FileInfo, r io.Reader, limit int64) ([]byte, error) {
	b := bytes.NewBuffer(make([]byte, 0, info.Size()+bytes.MinRead))
	if _, err := b.ReadFrom(io.LimitReader(r, limit+1)); err != nil {
		return nil, plainErr(path, err)
	}
	if int64(b.Len()) > limit {
		return nil, fmt.Errorf("%s grew while it was read", path)
	}
	return b.Bytes(), nil
}

func regular(path string, info fs.FileInfo) error {
	switch m := info.Mode(); {
	case m.IsRegular():
		return nil
	case m.IsDir():
		return fmt.Errorf("%s is a directory", path)
	case m&fs.ModeNamedPipe != 0:
		return fmt.Errorf("%s is a named pipe, not a file", path)
	case m&fs.ModeSocket != 0:
		return fmt.Errorf("%s is a socket, not a file", path)
	}
	return fmt.Errorf("%s is a device, not a file", path)
}
