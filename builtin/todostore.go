package builtin

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cantle-dev/cantle/agent"
	"github.com/cantle-dev/cantle/internal/x/atomicfile"
	"github.com/cantle-dev/cantle/session"
	"github.com/cantle-dev/cantle/tool"
)

// todoStore keeps a list. save is told what load gave, so that it writes what
// has changed and nothing else.
type todoStore interface {
	load(ctx context.Context) ([]Todo, error)
	save(ctx context.Context, old, next []Todo) error
}

// memoryTodos is the list of calls that belong to no run.
type memoryTodos struct{ list []Todo }

func (m *memoryTodos) load(context.Context) ([]Todo, error) { return m.list, nil }

func (m *memoryTodos) save(_ context.Context, _, next []Todo) error {
	m.list = next
	return nil
}

// todoKind is the kind of the session's notes that hold a list.
const todoKind = "builtin.todo"

type todoNote struct {
	Agent string `json:"agent,omitempty"`
	Todos []Todo `json:"todos"`
}

// sessionTodos keeps the list of an agent in its session. The last note on the
// branch counts.
type sessionTodos struct{ t *agent.Turn }

func (s sessionTodos) load(ctx context.Context) ([]Todo, error) {
	var list []Todo
	for n, err := range s.t.Session.Notes(ctx, todoKind) {
		if err != nil {
			return nil, fmt.Errorf("todo: %w", err)
		}
		var note todoNote
		if json.Unmarshal(n.Data, &note) == nil && note.Agent == s.t.Path {
			list = note.Todos
		}
	}
	return list, nil
}

func (s sessionTodos) save(ctx context.Context, _, next []Todo) error {
	data, err := json.Marshal(todoNote{s.t.Path, next})
	if err != nil {
		return err
	}
	// What cannot be recorded must not be taken for done.
	return tool.Fatal(s.t.Append(ctx, session.Note{Kind: todoKind, Data: data}))
}

// dirTodos keeps a list in a directory, one file an entry, so that two
// programs that change different entries lose nothing of one another.
type dirTodos string

// todoFile is the content of an entry's file.
type todoFile struct {
	Updated  time.Time `json:"updated"`
	Position int       `json:"position"`
	Task     Todo      `json:"task"`
}

// todoFileMax is the size above which a file is not looked at.
const todoFileMax = 64 << 10

func (d dirTodos) load(context.Context) ([]Todo, error) {
	files, err := d.read()
	if err != nil {
		return nil, err
	}
	list := make([]Todo, len(files))
	for i, f := range files {
		list[i] = f.Task
	}
	return list, nil
}

// read returns the entries in order. A file that holds none is passed over,
// and left alone.
func (d dirTodos) read() ([]todoFile, error) {
	es, err := os.ReadDir(string(d))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("todo: %w", err)
	}
	var out []todoFile
	for _, e := range es {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || info.Size() > todoFileMax || filepath.Ext(e.Name()) != ".json" {
			continue
		}
		b, err := os.ReadFile(filepath.Join(string(d), e.Name()))
		if err != nil {
			continue // it has just gone
		}
		var f todoFile
		if json.Unmarshal(b, &f) != nil || f.Task.ID == "" || strings.TrimSpace(f.Task.Content) == "" || e.Name() != todoName(f.Task.ID) {
			continue
		}
		f.Task.Status = status(f.Task.Status, "pending")
		out = append(out, f)
	}
	slices.SortFunc(out, func(a, b todoFile) int {
		return cmp.Or(cmp.Compare(a.Position, b.Position), strings.Compare(a.Task.ID, b.Task.ID))
	})
	return out, nil
}

// todoName is the name of an entry's file. It does not depend on what file
// systems make of letters.
func todoName(id string) string { return hashOf([]byte(id))[:16] + ".json" }

func (d dirTodos) save(_ context.Context, old, next []Todo) error {
	if len(next) > 0 {
		if err := os.MkdirAll(string(d), 0o700); err != nil {
			return fmt.Errorf("todo: %w", err)
		}
	}
	files, err := d.read()
	if err != nil {
		return err
	}
	at := map[string]int{}
	for _, f := range files {
		at[f.Task.ID] = f.Position
	}
	had := map[string]Todo{}
	for _, t := range old {
		had[t.ID] = t
	}
	last := -1
	for _, t := range next {
		pos, placed := at[t.ID]
		if !placed || pos <= last {
			pos = last + 1
		}
		last = pos
		was, ok := had[t.ID]
		delete(had, t.ID)
		if ok && was == t && (placed && at[t.ID] == pos) {
			continue
		}
		if ok && was == t && !placed {
			continue // another program has just removed it
		}
		b, err := json.MarshalIndent(todoFile{time.Now().UTC(), pos, t}, "", "  ")
		if err != nil {
			return err
		}
		if err := atomicfile.Write(filepath.Join(string(d), todoName(t.ID)), append(b, '\n'), atomicfile.Options{Mode: 0o600, NoSync: true}); err != nil {
			return fmt.Errorf("todo: %w", err)
		}
	}
	for id := range had { // what is in the old list and not in the new
		if err := os.Remove(filepath.Join(string(d), todoName(id))); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("todo: %w", err)
		}
	}
	return nil
}
