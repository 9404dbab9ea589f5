package app_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/cantle-dev/cantle/internal/app"
	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/llmtest"
)

type m map[string]any

const carried = "The todo list of this project"

func TestTodosOfAProject(t *testing.T) {
	w := newWorld(t)
	seen := w.run("plan it",
		llmtest.Call("TodoWrite", m{"todos": []m{{"content": "write the parser", "status": "in_progress"}, {"content": "test it"}}}),
		llmtest.Call("TodoWrite", m{"update": []m{{"id": "sing", "status": "completed"}}}),
		llmtest.Call("TodoWrite", m{"update": []m{{"id": "test it", "status": "in_progress"}}}),
		llmtest.Call("TodoWrite", m{"add": []m{{"content": "test it"}}}),
		llmtest.Say("planned"))
	for i, want := range []string{
		1: "Todo list updated (0/2 completed):\n[~] write the parser (", 2: "no entry is \"sing\"; the list is:\n[~] write the parser",
		3: "2 entries would be in progress", 4: "Todo list updated (0/2 completed)",
	} {
		if got, ok := seen[i].LastResult(); i > 0 && (!ok || !strings.Contains(got, want)) {
			t.Errorf("result %d: %q, want %q", i, got, want)
		}
	}

	// A new session, in a folder of the project, is told with its first prompt,
	// and not as if the user had written it.
	w.write("sub/x", "")
	top := w.dir
	w.dir = filepath.Join(top, "sub")
	a, srv := w.open(llmtest.Say("hello"), llmtest.Say("again"),
		llmtest.Call("TodoWrite", m{"update": []m{{"id": "write the parser", "status": "completed"}, {"id": "test it", "status": "completed"}}}), llmtest.Say("done"))
	say(t, a, "hi")
	say(t, a, "more")
	say(t, a, "finish")
	first, second := srv.Requests()[0], srv.Requests()[1]
	if got := first.LastText(); !strings.Contains(got, "hi") || !strings.Contains(got, carried) || !strings.Contains(got, "[~] write the parser (") || !strings.Contains(got, "[ ] test it (") {
		t.Errorf("the first prompt: %q", got)
	}
	if strings.Contains(first.Request.System, "parser") || strings.Count(asJSON(t, second.Request.Messages), carried) != 1 {
		t.Error("it is in the system prompt, or told twice")
	}
	for e, err := range a.Session.Path(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if text := asJSON(t, e); strings.Contains(text, carried) && !strings.Contains(text, `"typed":[{"type":"text","text":"hi"}]`) {
			t.Errorf("it is told as the user's own words: %s", text)
		}
	}

	// What is done is not carried over.
	w.dir = top
	if got := w.run("hi", llmtest.Say("ok"))[0].LastText(); strings.Contains(got, carried) {
		t.Errorf("all done: %q", got)
	}
}

func TestTodosBelongToTheirProject(t *testing.T) {
	w := newWorld(t)
	write := llmtest.Call("TodoWrite", m{"todos": []m{{"content": "mine"}}})
	w.run("plan", write, llmtest.Say("ok"))
	other := newWorld(t)
	other.home = w.home
	if got := other.run("hi", llmtest.Say("ok"))[0].LastText(); strings.Contains(got, carried) {
		t.Errorf("in another project: %q", got)
	}
	dirs, err := os.ReadDir(filepath.Join(w.home, "todos"))
	if err != nil || len(dirs) != 1 || !strings.HasPrefix(dirs[0].Name(), filepath.Base(w.dir)+"-") {
		t.Errorf("%v, %v", dirs, err)
	}
	for name, change := range map[string]func(*app.Options){
		"a scope of the session": func(o *app.Options) { o.Config.TodoScope = "session" },
		"no session":             func(o *app.Options) { o.Session.None = true },
	} {
		w := newWorld(t)
		w.change = change
		w.run("plan", write, llmtest.Say("ok"))
		if got := w.run("hi", llmtest.Say("ok"))[0].LastText(); strings.Contains(got, carried) {
			t.Errorf("%s: %q", name, got)
		}
		if _, err := os.Stat(filepath.Join(w.home, "todos")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: a list was left: %v", name, err)
		}
	}
}

// A model with a small window cannot change the list, and is not told of it.
func TestTodosOfALeanModel(t *testing.T) {
	w := newWorld(t)
	w.run("plan", llmtest.Call("TodoWrite", m{"todos": []m{{"content": "mine"}}}), llmtest.Say("ok"))
	w.change = func(o *app.Options) {
		o.Config.Models["t:m"] = lean
	}
	if got := w.run("hi", llmtest.Say("ok"))[0].LastText(); strings.Contains(got, carried) {
		t.Errorf("%q", got)
	}
}

// Two programs that change different entries at once lose nothing.
func TestTwoWritersOfTodos(t *testing.T) {
	w := newWorld(t)
	var list []m
	for _, c := range "abcdefgh" {
		list = append(list, m{"content": "task " + string(c)})
	}
	w.run("plan", llmtest.Call("TodoWrite", m{"todos": list}), llmtest.Say("ok"))
	var wg sync.WaitGroup
	for _, half := range []string{"abcd", "efgh"} {
		var steps []llmtest.Reply
		for _, c := range half {
			steps = append(steps, llmtest.Call("TodoWrite", m{"update": []m{{"id": "task " + string(c), "status": "completed"}}}))
		}
		a, _ := w.open(append(steps, llmtest.Say("ok"))...)
		wg.Go(func() {
			if _, err := a.Agent.Run(t.Context(), a.Session, llm.Text{Text: "work"}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	got, _ := w.run("look", llmtest.Call("TodoWrite", m{"add": []m{{"content": "last"}}}), llmtest.Say("ok"))[1].LastResult()
	if !strings.HasPrefix(got, "Todo list updated (8/9 completed)") {
		t.Error(got)
	}
}
