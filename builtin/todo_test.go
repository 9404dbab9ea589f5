package builtin_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cantle-dev/cantle/agent"
	"github.com/cantle-dev/cantle/builtin"
	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/llmtest"
	"github.com/cantle-dev/cantle/session"
)

func TestTodoRules(t *testing.T) {
	b := newBench(t)
	b.fails("the list is empty", "TodoWrite", m{"remove": []string{"x"}})
	b.fails("nothing to do", "TodoWrite", m{})
	b.ok("TodoWrite", m{"todos": []m{{"content": "first", "id": "a"}, {"content": "second\nline", "status": "processing", "activeForm": "Seconding"}}})
	for want, in := range map[string]m{
		"do not go with": {"todos": []m{{"content": "x"}}, "add": []m{{"content": "y"}}},
		"clear empties":  {"todos": []m{{"content": "x"}}, "clear": true},
		"no entry is \"zzz\"; the list is:\n[ ] f": {"update": []m{{"id": "zzz"}}},
		"2 entries would be in progress":           {"update": []m{{"id": "a", "status": "in_progress"}}},
		"has no content":                           {"add": []m{{"content": " \n "}}},
		"4001 characters, more than 4000":          {"add": []m{{"content": strings.Repeat("é", 4001)}}},
		"two entries have the id":                  {"add": []m{{"content": "x", "id": "a"}}},
		"not of the form":                          {"add": []m{{"content": "x", "id": "../x"}}},
		"102 entries, more than 100":               {"add": many(100)},
	} {
		b.fails(want, "TodoWrite", in)
	}
	// Only what results counts: one may follow the other in one call.
	got := b.ok("TodoWrite", m{
		"add":    []m{{"content": "third"}, {"content": "first"}},
		"update": []m{{"id": "second line", "status": "completed"}, {"id": "a", "status": "in_progress", "content": "FIRST"}},
		"remove": []string{"third"},
	})
	if !strings.HasPrefix(got, "Todo list updated (1/2 completed):\n[~] FIRST (a)\n[x] second line (") {
		t.Errorf("%q", got)
	}
	res := b.result("TodoWrite", m{"add": many(98)})
	var list []builtin.Todo
	if err := json.Unmarshal(res.Detail, &list); err != nil || len(list) != 100 || list[1].Active != "Seconding" || res.Pin != "todo" {
		t.Errorf("%d entries, %v, %q", len(list), err, res.Pin)
	}
	id := list[5].ID
	if got := b.ok("TodoWrite", m{"todos": []m{{"content": "todo 3"}, {"content": "todo 3"}, {"content": "new"}}}); !strings.Contains(got, "todo 3 ("+id+")\n[ ] new") {
		t.Errorf("an entry that stays keeps its id, %s: %q", id, got)
	}
}

func many(n int) []m {
	out := make([]m, n)
	for i := range out {
		out[i] = m{"content": fmt.Sprintf("todo %d", i)}
	}
	return out
}

// A session's list is that of the branch.
func TestTodoOfASession(t *testing.T) {
	b := newBench(t)
	st := &session.Memory{}
	s := open(t, st, "s")
	tools := b.tools()
	b.runWith(tools, s, "TodoWrite", m{"todos": []m{{"content": "a"}}})
	at := s.Leaf()
	if got := b.runWith(tools, s, "TodoWrite", m{"add": []m{{"content": "b"}}}); !strings.Contains(got, "(0/2") {
		t.Error(got)
	}
	if got := b.run(open(t, st, "other"), "TodoWrite", m{"add": []m{{"content": "c"}}}); !strings.Contains(got, "(0/1") {
		t.Error(got)
	}
	if err := s.Branch(t.Context(), "back", time.Now(), at, ""); err != nil {
		t.Fatal(err)
	}
	if got := b.runWith(tools, s, "TodoWrite", m{"add": []m{{"content": "c"}}}); !strings.Contains(got, "(0/2 completed):\n[ ] a") || strings.Contains(got, "] b") {
		t.Error(got)
	}
}

func TestTodoOfAProject(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "todos")
	project := func() *bench { return newBench(t).with(func(o *builtin.Options) { o.TodoDir = dir }) }
	one := project()
	one.ok("TodoWrite", m{"todos": many(8)})

	// Programs that change different entries at once lose nothing.
	var wg sync.WaitGroup
	for i := range 8 {
		p := project()
		wg.Go(func() {
			for _, status := range []string{"in_progress", "completed"} {
				if status == "in_progress" && i > 0 {
					continue
				}
				if s, failed := p.call(t.Context(), "TodoWrite", m{"update": []m{{"id": fmt.Sprintf("todo %d", i), "status": status}}}); failed {
					t.Error(s)
				}
			}
		})
	}
	wg.Wait()
	got := project().ok("TodoWrite", m{"add": []m{{"content": "last"}}})
	if !strings.HasPrefix(got, "Todo list updated (8/9 completed):\n[x] todo 0") || !strings.Contains(got, "[x] todo 7") {
		t.Errorf("%s", got)
	}

	// What is no entry is passed over and left alone.
	for name, text := range map[string]string{"0000000000000000.json": "{", "1111111111111111.json": `{"task":{"id":"../x","content":"evil"}}`, "notes.txt": "mine"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got = project().ok("TodoWrite", m{"todos": []m{{"content": "last"}, {"content": "todo 5", "status": "completed"}, {"content": "new"}}})
	if !strings.HasPrefix(got, "Todo list updated (1/3 completed):\n[ ] last (") || strings.Contains(got, "evil") {
		t.Errorf("%s", got)
	}
	again := project().ok("TodoWrite", m{"update": []m{{"id": "new", "status": "pending"}}})
	if again != got {
		t.Errorf("another order: %s", again)
	}
	es, err := os.ReadDir(dir)
	if err != nil || len(es) != 6 {
		t.Errorf("%v, %v", es, err)
	}

	// A new session is told of it, once.
	m := llmtest.New(t, llmtest.Say("ok"), llmtest.Say("ok"))
	a, err := agent.New(m, agent.Options{Middleware: []agent.Middleware{builtin.CarryTodos(one.o)}})
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, &session.Memory{}, "s")
	for range 2 {
		if _, err := a.Run(t.Context(), s, llm.Text{Text: "hello"}); err != nil {
			t.Fatal(err)
		}
	}
	said := ""
	for _, msg := range s.Messages() {
		said += msg.Text()
	}
	if strings.Count(said, "The todo list of this project") != 1 || !strings.Contains(said, "[x] todo 5") {
		t.Errorf("%q", said)
	}
}

// Entries of one position are in the order of their ids, and the list is read
// anew for each call.
func TestTodoFilesOfAnotherProgram(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "todos")
	b := newBench(t).with(func(o *builtin.Options) { o.TodoDir = dir })
	b.ok("TodoWrite", m{"todos": []m{{"content": "one", "id": "b"}, {"content": "two", "id": "a"}}})
	es, err := os.ReadDir(dir)
	if err != nil || len(es) != 2 {
		t.Fatalf("%v, %v", es, err)
	}
	for _, e := range es {
		path := filepath.Join(dir, e.Name())
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		text = bytes.Replace(text, []byte(`"position": 1`), []byte(`"position": 0`), 1)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := b.ok("TodoWrite", m{"add": []m{{"content": "three", "id": "c"}}}); !strings.HasSuffix(got, "\n[ ] two (a)\n[ ] one (b)\n[ ] three (c)") {
		t.Errorf("%s", got)
	}
	for _, e := range es {
		if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
	if got := b.ok("TodoWrite", m{"update": []m{{"id": "c", "status": "completed"}}}); got != "Todo list updated (1/1 completed):\n[x] three (c)" {
		t.Errorf("%s", got)
	}
}

func TestCarriedOver(t *testing.T) {
	done := builtin.Todo{ID: "a", Content: "x", Status: "completed"}
	if builtin.CarriedOver(nil) != "" || builtin.CarriedOver([]builtin.Todo{done}) != "" {
		t.Error("there is nothing to do, and it is told")
	}
	got := builtin.CarriedOver([]builtin.Todo{done, {ID: "b", Content: "y", Status: "in_progress"}})
	if !strings.HasSuffix(got, "\n[x] x (a)\n[~] y (b)") {
		t.Errorf("%q", got)
	}
}
