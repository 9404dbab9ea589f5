package builtin

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/cantle-dev/cantle/agent"
	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/tool"
)

//go:embed todo.md
var todoText string

// Bounds of a list.
const (
	todoMax     = 100
	todoMaxText = 4000 // characters
)

// Todo is an entry of the list.
type Todo struct {
	ID      string `json:"id"`
	Content string `json:"content"`
	Status  string `json:"status"`               // pending, in_progress or completed
	Active  string `json:"activeForm,omitempty"` // what to show while it is in progress
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
	Ref     string `json:"id" doc:"id or exact content" alias:"ref"`
	Status  string `json:"status,omitempty" enum:"pending,in_progress,processing,completed"`
	Content string `json:"content,omitempty" doc:"a new content"`
	Active  string `json:"activeForm,omitempty" alias:"active_form"`
}

// TodoWrite makes the tool that keeps the todo list. Without
// [Options.TodoDir], a list belongs to one agent in its session, and a resumed
// or forked session has it as it was there. With it, the list of the agent
// itself is the project's, for all sessions; a child has its own in any case.
func TodoWrite(o Options) tool.Tool {
	l := &todoTool{o: o}
	return tool.New(tool.Spec{
		Name: "TodoWrite", Description: strings.TrimSpace(todoText), ReadOnly: true, Access: tool.NoAccess, Aliases: []string{"todo_write"},
	}, l.write)
}

type todoTool struct {
	o     Options
	mu    sync.Mutex
	alone memoryTodos
}

// store is where the list of the agent that ctx belongs to is kept.
func (l *todoTool) store(ctx context.Context) todoStore {
	t := agent.FromContext(ctx)
	switch {
	case l.o.TodoDir != "" && (t == nil || t.Path == ""):
		return dirTodos(l.o.TodoDir)
	case t != nil:
		return sessionTodos{t}
	}
	return &l.alone
}

func (l *todoTool) write(ctx context.Context, in todoIn) (*tool.Result, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	st := l.store(ctx)
	list, err := st.load(ctx)
	if err != nil {
		return nil, err
	}
	next, err := in.apply(list)
	if err != nil {
		return nil, err
	}
	if err := st.save(ctx, list, next); err != nil {
		return nil, err
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
	whole := in.Todos != nil || in.Clear
	switch {
	case whole && changes > 0:
		return nil, errors.New("todos and clear replace the list: they do not go with add, update or remove")
	case len(in.Todos) > 0 && in.Clear:
		return nil, errors.New("clear empties the list: it does not go with todos")
	case !whole && changes == 0:
		return nil, errors.New("nothing to do: give todos, or add, update or remove")
	}
	next, add := slices.Clone(list), in.Add
	if whole {
		next, add = nil, in.Todos
	}
	for _, a := range add {
		text, err := todoContent(a.Content)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(next, func(t Todo) bool { return t.Content == text }) {
			continue // it is there
		}
		id := a.ID
		switch {
		case id == "":
			id = todoID(text, next, list)
		case !idForm().MatchString(id):
			return nil, fmt.Errorf("the id %q is not of the form %s: leave it out and one is made", cut(id, 80), idForm())
		case slices.ContainsFunc(next, func(t Todo) bool { return t.ID == id }):
			return nil, fmt.Errorf("two entries have the id %q", id)
		}
		next = append(next, Todo{ID: id, Content: text, Status: status(a.Status, "pending"), Active: a.Active})
	}
	for _, u := range in.Update {
		i, err := find(next, u.Ref)
		if err != nil {
			return nil, err
		}
		next[i].Status = status(u.Status, next[i].Status)
		if u.Active != "" {
			next[i].Active = u.Active
		}
		if u.Content != "" {
			if next[i].Content, err = todoContent(u.Content); err != nil {
				return nil, err
			}
		}
	}
	for _, r := range in.Remove {
		i, err := find(next, r)
		if err != nil {
			return nil, err
		}
		next = slices.Delete(next, i, i+1)
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
		return nil, fmt.Errorf("%d entries would be in progress, and one at most may be: set the others to pending or completed\n%s", active, lines(next))
	}
	return next, nil
}

// idForm is what an id given by a model looks like.
var idForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`) })

// todoID is the id that an entry had in the old list, or a new one.
func todoID(text string, next, old []Todo) string {
	taken := func(id string) bool {
		return slices.ContainsFunc(next, func(t Todo) bool { return t.ID == id })
	}
	for _, t := range old {
		if t.Content == text && !taken(t.ID) {
			return t.ID
		}
	}
	for n := 0; ; n++ {
		id := hashOf(fmt.Appendf(nil, "%d %s", n, text))[:8]
		if !taken(id) {
			return id
		}
	}
}

// todoContent is a content on one line.
func todoContent(s string) (string, error) {
	s = strings.TrimSpace(strings.NewReplacer("\r\n", " ", "\n", " ", "\r", " ").Replace(s))
	if s == "" {
		return "", errors.New("an entry has no content")
	}
	if n := utf8.RuneCountInString(s); n > todoMaxText {
		return "", fmt.Errorf("an entry has %d characters, more than %d", n, todoMaxText)
	}
	return s, nil
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

// find returns the entry of that id, or else of that content.
func find(list []Todo, ref string) (int, error) {
	if i := slices.IndexFunc(list, func(t Todo) bool { return t.ID == ref }); i >= 0 {
		return i, nil
	}
	if text, err := todoContent(ref); err == nil {
		if i := slices.IndexFunc(list, func(t Todo) bool { return t.Content == text }); i >= 0 {
			return i, nil
		}
	}
	if len(list) == 0 {
		return 0, fmt.Errorf("no entry is %q: the list is empty", cut(ref, 80))
	}
	return 0, fmt.Errorf("no entry is %q; the list is:\n%s", cut(ref, 80), lines(list))
}

func render(list []Todo) string {
	if len(list) == 0 {
		return "Todo list cleared."
	}
	return fmt.Sprintf("Todo list updated (%d/%d completed):\n%s", completed(list), len(list), lines(list))
}

func completed(list []Todo) int {
	n := 0
	for _, t := range list {
		if t.Status == "completed" {
			n++
		}
	}
	return n
}

// lines is the list as the model sees it.
func lines(list []Todo) string {
	var out []string
	for _, t := range list {
		mark := "[ ]"
		switch t.Status {
		case "in_progress":
			mark = "[~]"
		case "completed":
			mark = "[x]"
		}
		out = append(out, fmt.Sprintf("%s %s (%s)", mark, t.Content, t.ID))
	}
	return strings.Join(out, "\n")
}

// CarriedOver is what a new session is told of a list that an earlier one
// left; "" if there is nothing to do in it.
func CarriedOver(list []Todo) string {
	if completed(list) == len(list) {
		return ""
	}
	return "The todo list of this project, from an earlier session. It may be out of date; TodoWrite changes or clears it.\n" + lines(list)
}

// CarryTodos makes the middleware that adds [CarriedOver] to the first prompt
// of a session, where the list is the project's: see [Options.TodoDir]. A
// session's own list needs no carrying.
func CarryTodos(o Options) agent.Middleware {
	return agent.Middleware{Name: "todos", Prompt: func(ctx context.Context, t *agent.Turn, in llm.Parts) (llm.Parts, error) {
		if o.TodoDir == "" || t.Path != "" || len(t.Session.Messages()) > 0 {
			return in, nil
		}
		list, err := dirTodos(o.TodoDir).load(ctx)
		if err != nil {
			return nil, err
		}
		if text := CarriedOver(list); text != "" {
			in = append(slices.Clone(in), llm.Text{Text: text})
		}
		return in, nil
	}}
}
