package builtin

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"sync"
	"time"

	"github.com/cantle-dev/cantle/agent"
	"github.com/cantle-dev/cantle/session"
)

// Files remembers what each agent has read, so that nothing is replaced that
// the model has not seen. What it knows is kept in the session as notes, so
// that a resumed or forked session knows it too; a child has a memory of its
// own. It is safe for concurrent use.
type Files struct {
	mu sync.Mutex
	by map[string]map[string]seen // by agent, then by path
}

// NewFiles makes an empty memory.
func NewFiles() *Files { return &Files{by: map[string]map[string]seen{}} }

// noteKind is the kind of the session's notes about files.
const noteKind = "builtin.file"

// hashMax is the size above which files are compared by size and time alone.
const hashMax = 64 << 20

// seen is what was seen of a file.
type seen struct {
	Path  string    `json:"path"`
	Agent string    `json:"agent,omitempty"`
	Size  int64     `json:"size"`
	Mod   time.Time `json:"mod"`
	Hash  string    `json:"hash,omitempty"`  // of the content; "" above hashMax
	Lines [][2]int  `json:"lines,omitempty"` // ranges of lines that were shown
	Whole bool      `json:"whole,omitempty"`
}

// owner is the agent that a call belongs to.
func owner(ctx context.Context) (key, path string, t *agent.Turn) {
	if t = agent.FromContext(ctx); t == nil {
		return "", "", nil
	}
	return t.Session.ID() + "\x00" + t.Path, t.Path, t
}

// load returns the agent's memory, read from the session if need be. f.mu is
// held.
func (f *Files) load(ctx context.Context) (map[string]seen, error) {
	key, path, t := owner(ctx)
	if m, ok := f.by[key]; ok {
		return m, nil
	}
	m := map[string]seen{}
	if t != nil {
		for n, err := range t.Session.Notes(ctx, noteKind) {
			if err != nil {
				return nil, err
			}
			var s seen
			if json.Unmarshal(n.Data, &s) == nil && s.Agent == path {
				m[s.Path] = s
			}
		}
	}
	f.by[key] = m
	return m, nil
}

// get returns what was seen of path.
func (f *Files) get(ctx context.Context, path string) (seen, bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	m, err := f.load(ctx)
	s, ok := m[path]
	return s, ok, err
}

// saw adds lines from to to of a file in the state now; with whole, all of it.
func (f *Files) saw(ctx context.Context, now seen, from, to, total int) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	m, err := f.load(ctx)
	if err != nil {
		return err
	}
	if old, ok := m[now.Path]; ok && old.same(now) {
		now.Lines, now.Whole = old.Lines, old.Whole
	}
	if from <= to {
		now.Lines = merge(now.Lines, [2]int{from, to})
	}
	if total >= 0 && (total == 0 || len(now.Lines) == 1 && now.Lines[0][0] <= 1 && now.Lines[0][1] >= total) {
		now.Whole = true
	}
	if old, ok := m[now.Path]; ok && old.same(now) && old.Whole == now.Whole && slices.Equal(old.Lines, now.Lines) {
		return nil
	}
	m[now.Path] = now
	_, path, t := owner(ctx)
	if t == nil {
		return nil
	}
	now.Agent = path
	data, err := json.Marshal(now)
	if err != nil {
		return err
	}
	return t.Append(ctx, session.Note{Kind: noteKind, Data: data})
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

// stateOf is the state of a file that is open. content, if not nil, is all of
// it.
func stateOf(path string, info fs.FileInfo, content []byte) seen {
	s := seen{Path: path, Size: info.Size(), Mod: info.ModTime()}
	if content != nil && int64(len(content)) <= hashMax {
		sum := sha256.Sum256(content)
		s.Hash = hex.EncodeToString(sum[:16])
	}
	return s
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
		return nil, nil, fmt.Errorf("%s has %d bytes, more than the %d that can be changed by this tool: use Bash", path, info.Size(), limit)
	}
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, nil, plainErr(path, err)
	}
	if int64(len(b)) > limit {
		return nil, nil, fmt.Errorf("%s grew while it was read", path)
	}
	return b, info, nil
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
