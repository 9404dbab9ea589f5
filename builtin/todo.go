package builtin

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/cantle-dev/cantle/session"
	"github.com/cantle-dev/cantle/tool"
)

//go:embed todo.md
var todoText string

// Bounds of a list.
const (
	todoMax     = 100
	todoMaxText = 4000
)

// Todo is an entry of the list.
type Todo struct {
	ID      string `json:"id"`
	Content string `json:"content"`
	Status  string `json:"status"` // pending, in_progress, completed
}

type todoIn struct {
	Todos  []todoItem   `json:"todos,omitempty" doc:"the whole new list"`
	Clear  bool         `json:"clear,omitempty" doc:"empty the list"`
	Add    []todoItem   `json:"add,omitempty"`
	Update []todoChange `json:"update,omitempty"`
	Remove []string     `json:"remove,omitempty" doc:"ids or contents"`
}

type todoItem struct {
	Content string `json:"content" alias:"text,task"`
	Status  string `json:"status,omitempty" enum:"pending,in_progress,processing,completed"`
	ID      string `json:"id,omitempty"`
	Active  string `json:"activeForm,omitempty" alias:"active_form"`
}

type todoChange struct {
	Ref     string `json:"id" doc:"id or exact content" alias:"ref,content_ref"`
	Status  string `json:"status,omitempty" enum:"pending,in_progress,processing,completed"`
	Content string `json:"content,omitempty"`
}

// todoKind is the kind of the session's notes that hold a list.
const todoKind = "builtin.todo"

// todos keeps the lists of agents, and in their sessions.
type todos struct {
	mu sync.Mutex
	by map[string][]Todo
}

type todoNote struct {
	Agent string `json:"agent,omitempty"`
	Todos []Todo `json:"todos"`
}

// TodoWrite makes the tool that keeps the todo list. A list belongs to its
// session, which a resumed or forked one inherits, and to one agent in it.
func TodoWrite(o Options) tool.Tool {
	l := &todos{by: map[string][]Todo{}}
	return tool.New(tool.Spec{
		Name: "TodoWrite", Description: strings.TrimSpace(todoText), ReadOnly: true, Access: tool.NoAccess, Aliases: []string{"todo_write"},
	}, func(ctx context.Context, in todoIn) (*tool.Result, error) { return l.write(ctx, in) })
}

func (l *todos) write(ctx context.Context, in todoIn) (*tool.Result, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	key, path, t := owner(ctx)
	list, ok := l.by[key]
	if !ok && t != nil {
		for n, err := range t.Session.Notes(ctx, todoKind) {
			if err != nil {
				return nil, tool.Fatal(err)
			}
			var note todoNote
			if json.Unmarshal(n.Data, &note) == nil && note.Agent == path {
				list = note.Todos
			}
		}
	}
	next, err := in.apply(list)
	if err != nil {
		return nil, err
	}
	l.by[key] = next
	if t != nil {
		data, err := json.Marshal(todoNote{path, next})
		if err != nil {
			return nil, err
		}
		if err := t.Append(ctx, session.Note{Kind: todoKind, Data: data}); err != nil {
			return nil, tool.Fatal(err)
		}
	}
	detail, err := json.Marshal(next)
	if err != nil {
		return nil, err
	}
	res := tool.Text(render(next))
	res.Detail, res.Pin = detail, "todo"
	return res, nil
}

// apply makes the changes: add, then update, then remove. All or none.
func (in todoIn) apply(list []Todo) ([]Todo, error) {
	changes := len(in.Add) + len(in.Update) + len(in.Remove)
	if (in.Todos != nil || in.Clear) && changes > 0 {
		return nil, errors.New("todos replaces the list: it does not go with add, update or remove")
	}
	if in.Todos == nil && !in.Clear && changes == 0 {
		return nil, errors.New("nothing to do: give todos, or add, update or remove")
	}
	var next []Todo
	add := in.Todos
	if in.Todos == nil && !in.Clear {
		next, add = append(next, list...), in.Add
	}
	for _, a := range add {
		text := strings.TrimSpace(a.Content)
		if text == "" {
			return nil, errors.New("an entry has no content")
		}
		if len(text) > todoMaxText {
			return nil, fmt.Errorf("an entry has %d characters, more than %d", len(text), todoMaxText)
		}
		if _, err := find(next, text); err == nil {
			continue // it is there
		}
		id := a.ID
		if id == "" {
			sum := sha256.Sum256([]byte(text))
			id = hex.EncodeToString(sum[:4])
		}
		next = append(next, Todo{id, text, status(a.Status, "pending")})
	}
	for _, u := range in.Update {
		i, err := find(next, u.Ref)
		if err != nil {
			return nil, err
		}
		next[i].Status = status(u.Status, next[i].Status)
		if c := strings.TrimSpace(u.Content); c != "" && c != u.Ref {
			next[i].Content = c
		}
	}
	for _, r := range in.Remove {
		i, err := find(next, r)
		if err != nil {
			return nil, err
		}
		next = append(next[:i:i], next[i+1:]...)
	}
	if len(next) > todoMax {
		return nil, fmt.Errorf("the list would have %d entries, more than %d", len(next), todoMax)
	}
	active := 0
	for _, t := range next {
		if t.Status == "in_progress" {
			active++
		}
	}
	if active > 1 {
		return nil, fmt.Errorf("%d entries would be in progress: one at most may be", active)
	}
	return next, nil
}

func status(s, otherwise string) string {
	switch s {
	case "":
		return otherwise
	case "processing":
		return "in_progress"
	}
	return s
}

func find(list []Todo, ref string) (int, error) {
	for i, t := range list {
		if t.ID == ref || t.Content == ref {
			return i, nil
		}
	}
	return 0, fmt.Errorf("no entry is %q; the list is:\n%s", cut(ref, 80), render(list))
}

func render(list []Todo) string {
	if len(list) == 0 {
		return "Todo list cleared."
	}
	done := 0
	var b strings.Builder
	for _, t := range list {
		mark := "[ ]"
		switch t.Status {
		case "in_progress":
			mark = "[~]"
		case "completed":
			mark = "[x]"
			done++
		}
		fmt.Fprintf(&b, "\n%s %s (%s)", mark, t.Content, t.ID)
	}
	return fmt.Sprintf("Todo list updated (%d/%d completed):%s", done, len(list), b.String())
}
