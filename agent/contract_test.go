package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cantle-dev/cantle/agent"
	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/session"
	"github.com/cantle-dev/cantle/tool"
)

// goroutine is the number of the calling goroutine.
func goroutine() string {
	b := make([]byte, 64)
	b = b[:runtime.Stack(b, false)]
	return string(bytes.Fields(b)[1])
}

// TestEventsComeWhileToolsGatesAndQuestionsRun: each of them waits until the
// host has seen an event that it caused, so that it ends only if the loop's
// goroutine goes on yielding; and it does so in one goroutine, which is none of
// theirs.
func TestEventsComeWhileToolsGatesAndQuestionsRun(t *testing.T) {
	home := goroutine()
	var others sync.Map
	seen := map[string]chan struct{}{"gate": make(chan struct{}), "ask": make(chan struct{}), "tool": make(chan struct{})}
	meet := func(ctx context.Context, tn *agent.Turn, what string) {
		others.Store(goroutine(), what)
		if what != "ask" {
			tn.Emit(agent.Custom{Kind: what})
		}
		<-seen[what]
	}
	slow := tool.New(tool.Spec{Name: "Slow"}, func(ctx context.Context, _ struct{}) (string, error) {
		meet(ctx, agent.FromContext(ctx), "tool")
		return "ok", nil
	})
	o := asking(func(*agent.Question) (*agent.Answer, error) {
		meet(t.Context(), nil, "ask")
		return &agent.Answer{OK: true}, nil
	})
	o.Tools = []tool.Tool{slow}
	o.Middleware = append(o.Middleware, agent.Middleware{Name: "meet", Gate: func(next agent.GateFunc) agent.GateFunc {
		return func(ctx context.Context, tn *agent.Turn, c *tool.Call) (*tool.Result, error) {
			meet(ctx, tn, "gate")
			return next(ctx, tn, c)
		}
	}})
	a, err := agent.New(&script{steps: []step{calls(call("1", "Slow", `{}`)), say("done")}}, o)
	if err != nil {
		t.Fatal(err)
	}
	for e, err := range a.Stream(t.Context(), open(t), llm.Text{Text: "go"}).Events() {
		if err != nil {
			t.Fatal(err)
		}
		if goroutine() != home {
			t.Error("an event came in another goroutine")
		}
		switch d := e.Data.(type) {
		case agent.Custom:
			close(seen[d.Kind])
		case agent.Asked:
			close(seen["ask"])
		}
	}
	if _, ok := others.Load(home); ok {
		t.Error("a tool, a gate or a question ran in the loop's goroutine")
	}
}

// TestParallelSeamRunsInline: with Options.Parallel the loop starts no
// goroutine, and what is emitted meanwhile comes after.
func TestParallelSeamRunsInline(t *testing.T) {
	home := goroutine()
	spy := tool.New(tool.Spec{Name: "Spy", ReadOnly: true, Parallel: true}, func(ctx context.Context, in textIn) (string, error) {
		if goroutine() != home {
			t.Error("a tool ran in another goroutine")
		}
		agent.FromContext(ctx).Emit(agent.Custom{Kind: in.Text})
		return "ok", nil
	})
	o := asking(func(*agent.Question) (*agent.Answer, error) {
		if goroutine() != home {
			t.Error("a question was put in another goroutine")
		}
		return &agent.Answer{OK: true}, nil
	})
	o.Tools = []tool.Tool{spy}
	groups := 0
	o.Parallel = func(n int, do func(int)) {
		groups++
		for i := range n {
			do(i)
		}
	}
	m := &script{steps: []step{calls(call("1", "Spy", `{"text":"a"}`), call("2", "Spy", `{"text":"b"}`)), say("done")}}
	a, err := agent.New(m, o)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for e, err := range a.Stream(t.Context(), open(t), llm.Text{Text: "go"}).Events() {
		if err != nil {
			t.Fatal(err)
		}
		if c, ok := e.Data.(agent.Custom); ok {
			got = append(got, c.Kind)
		}
	}
	if groups != 1 || !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("%d groups, %q", groups, got)
	}
}

func TestBreakWaitsForTools(t *testing.T) {
	var ended atomic.Bool
	slow := tool.New(tool.Spec{Name: "Slow"}, func(ctx context.Context, _ struct{}) (string, error) {
		agent.FromContext(ctx).Emit(agent.Custom{Kind: "begun"})
		<-ctx.Done()
		for range 1000 { // takes its time to stop
			runtime.Gosched()
		}
		ended.Store(true)
		return "", ctx.Err()
	})
	s := open(t)
	a, err := agent.New(&script{steps: []step{calls(call("1", "Slow", `{}`))}}, agent.Options{Tools: []tool.Tool{slow}})
	if err != nil {
		t.Fatal(err)
	}
	for e := range a.Stream(t.Context(), s, llm.Text{Text: "go"}).Events() {
		if _, ok := e.Data.(agent.Custom); ok {
			break
		}
	}
	if !ended.Load() || len(s.Dangling()) != 0 {
		t.Errorf("the tool has ended: %v; %d calls have no result", ended.Load(), len(s.Dangling()))
	}
}

func TestATurnIsANewValueEachTurn(t *testing.T) {
	var turns []*agent.Turn
	var was []agent.Turn
	keep := tool.New(tool.Spec{Name: "Keep"}, func(ctx context.Context, _ textIn) (string, error) {
		tn := agent.FromContext(ctx)
		turns, was = append(turns, tn), append(was, *tn)
		return "ok", nil
	})
	m := &script{steps: []step{calls(call("1", "Keep", `{"text":"a"}`)), calls(call("2", "Keep", `{"text":"b"}`)), say("done")}}
	if _, err := run(t, m, agent.Options{Tools: []tool.Tool{keep}}, open(t), "go"); err != nil {
		t.Fatal(err)
	}
	if turns[0] == turns[1] || *turns[0] != was[0] || turns[0].Number != 1 || turns[1].Number != 2 ||
		turns[0].Usage.Requests != 0 || turns[1].Usage.Requests != 1 {
		t.Errorf("%+v, %+v", turns[0], turns[1])
	}
	if agent.FromContext(t.Context()) != nil {
		t.Error("there is a turn outside of a run")
	}
}

// TestSameSeamsSameJournal: the loop has no clock and no ids but those of its
// options, so two runs with the same seams write the same.
func TestSameSeamsSameJournal(t *testing.T) {
	once := func() (journal, events string) {
		n := 0
		at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		o := agent.Options{
			Tools: []tool.Tool{echo()},
			NewID: func() string { n++; return "id" + strconv.Itoa(n) },
			Now:   func() time.Time { at = at.Add(time.Second); return at },
			Parallel: func(n int, do func(int)) {
				for i := range n {
					do(i)
				}
			},
		}
		s := open(t)
		a, err := agent.New(&script{steps: []step{calls(call("", "Echo", `{}`), call("", "Echo", `{"text":"b"}`)), say("done")}}, o)
		if err != nil {
			t.Fatal(err)
		}
		st := a.Stream(t.Context(), s, llm.Text{Text: "go"})
		st.FollowUp(llm.Text{Text: "more"})
		var ev []byte
		for e, err := range st.Events() {
			if err != nil {
				break // no step is left for the follow-up
			}
			b, err := json.Marshal(e)
			if err != nil {
				t.Fatal(err)
			}
			ev = append(append(ev, b...), '\n')
		}
		var out []byte
		for e, err := range s.Path(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			b, err := e.Encode(nil)
			if err != nil {
				t.Fatal(err)
			}
			out = append(append(out, b...), '\n')
		}
		return string(out), string(ev)
	}
	j1, e1 := once()
	j2, e2 := once()
	if j1 != j2 || e1 != e2 || j1 == "" {
		t.Errorf("the journals are\n%s\nand\n%s\nthe events\n%s\nand\n%s", j1, j2, e1, e2)
	}
}

// TestSetupIsRecordedWhereItDiffers, so that a break in the prefix of requests
// can be named.
func TestSetupIsRecordedWhereItDiffers(t *testing.T) {
	s := open(t)
	for _, o := range []agent.Options{
		{System: "a"}, {System: "a"}, {System: "b"}, {System: "b", Tools: []tool.Tool{echo()}}, {System: "b", Tools: []tool.Tool{echo()}},
	} {
		if _, err := run(t, &script{steps: []step{say("ok")}}, o, s, "go"); err != nil {
			t.Fatal(err)
		}
	}
	var setups []session.Setup
	for e, err := range s.Path(t.Context(), "setup") {
		if err != nil {
			t.Fatal(err)
		}
		setups = append(setups, e.Data.(session.Setup))
	}
	if len(setups) != 3 || setups[0].System == setups[1].System || setups[1].System != setups[2].System || len(setups[2].Tools) != 1 {
		t.Errorf("%+v", setups)
	}
}

// TestNoticeIsOnTheNextUserMessage, and neither the system prompt nor the list
// of tools changes within a run.
func TestNoticeIsOnTheNextUserMessage(t *testing.T) {
	note := tool.New(tool.Spec{Name: "Note"}, func(ctx context.Context, in textIn) (string, error) {
		agent.FromContext(ctx).Notice(llm.Text{Text: "the mode is now " + in.Text})
		return "ok", nil
	})
	m := &script{steps: []step{calls(call("1", "Note", `{"text":"plan"}`)), calls(call("2", "Note", `{"text":"auto"}`)), say("done")}}
	if _, err := run(t, m, agent.Options{System: "s", Tools: []tool.Tool{note}}, open(t), "go"); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"go", "the mode is now plan", "the mode is now auto"} {
		r := m.reqs[i]
		if last := r.Messages[len(r.Messages)-1]; last.Role != llm.RoleUser || last.Text() != want {
			t.Errorf("request %d ends in %s %q", i+1, last.Role, last.Text())
		}
		if r.System != "s" || len(r.Tools) != 1 || r.Tools[0].Name != "Note" {
			t.Errorf("request %d: %q, %v", i+1, r.System, r.Tools)
		}
	}
}

func TestDeltasAreNotRecorded(t *testing.T) {
	s := open(t)
	m := &script{steps: []step{{parts: llm.Parts{llm.Thinking{Text: "hm", Signature: "x"}, llm.Text{Text: "one "}, llm.Text{Text: "two"}}}}}
	if _, err := run(t, m, agent.Options{}, s, "go"); err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for e, err := range s.Path(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		kinds = append(kinds, e.Kind())
	}
	if !slices.Equal(kinds, []string{"setup", "run_started", "message", "message", "run_ended"}) {
		t.Errorf("%q", kinds)
	}
	if text := s.Messages()[1].Text(); text != "one two" {
		t.Errorf("the text is %q", text)
	}
}

func TestProgressIsInOrderAndEndsWithItsCall(t *testing.T) {
	var late func(llm.Part)
	work := tool.New(tool.Spec{Name: "Work", Access: tool.NoAccess}, func(context.Context, struct{}) (string, error) { return "done", nil })
	progress := agent.Middleware{Name: "progress", Tool: func(next agent.ToolFunc) agent.ToolFunc {
		return func(ctx context.Context, tn *agent.Turn, c *tool.Call) (*tool.Result, error) {
			for i := range 100 {
				c.Progress(llm.Text{Text: "step " + strconv.Itoa(i)})
			}
			late = c.Progress
			return next(ctx, tn, c)
		}
	}}
	a, err := agent.New(&script{steps: []step{calls(call("1", "Work", `{}`)), say("ok")}}, agent.Options{Tools: []tool.Tool{work}, Middleware: []agent.Middleware{progress}})
	if err != nil {
		t.Fatal(err)
	}
	s := open(t)
	n, over := 0, false
	for e, err := range a.Stream(t.Context(), s, llm.Text{Text: "go"}).Events() {
		if err != nil {
			t.Fatal(err)
		}
		switch d := e.Data.(type) {
		case agent.ToolProgress:
			if d.CallID != "1" || d.Parts.Text() != "step "+strconv.Itoa(n) || over {
				t.Errorf("progress %d: %+v, the call over: %v", n, d, over)
			}
			n++
		case agent.ToolFinished:
			over = true
			late(llm.Text{Text: "late"})
		}
	}
	if n != 100 {
		t.Errorf("%d events of progress", n)
	}
	for e, err := range s.Path(t.Context()) {
		if b, _ := json.Marshal(e.Data); err != nil || strings.Contains(string(b), "late") || strings.Contains(string(b), "step") {
			t.Errorf("%s, %v: progress was recorded", b, err)
		}
	}
}

func TestOneAgentRunsManySessionsAtOnce(t *testing.T) {
	const n = 20
	a, err := agent.New(parrot{}, agent.Options{Tools: []tool.Tool{echo()}})
	if err != nil {
		t.Fatal(err)
	}
	store := new(session.Memory)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			s, err := session.Open(t.Context(), store, fmt.Sprint("s", i), session.OpenOptions{Create: true})
			if err != nil {
				t.Error(err)
				return
			}
			for k := range 3 {
				want := fmt.Sprint(i, "-", k)
				if res, err := a.Run(t.Context(), s, llm.Text{Text: want}); err != nil || res.Text != "echo "+want {
					t.Errorf("%s: %+v, %v", want, res, err)
				}
			}
		})
	}
	wg.Wait()
}

// parrot calls Echo with the last input and then says what it gave.
type parrot struct{}

func (parrot) Info() llm.Info { return llm.Info{Provider: "test", Name: "parrot"} }

func (parrot) Stream(_ context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		last := req.Messages[len(req.Messages)-1]
		parts := llm.Texts("")
		switch p := last.Parts[0].(type) {
		case llm.Text:
			in, err := json.Marshal(textIn{p.Text})
			if err != nil {
				yield(nil, err)
				return
			}
			parts = llm.Parts{llm.ToolCall{Name: "Echo", Input: in}}
		case llm.ToolResult:
			parts = llm.Texts(p.Parts.Text())
		}
		yield(llm.Done{Response: &llm.Response{Message: llm.Message{Role: llm.RoleAssistant, Parts: parts}}}, nil)
	}
}

type nameless struct{}

func (nameless) Spec() tool.Spec                                        { return tool.Spec{} }
func (nameless) Call(context.Context, *tool.Call) (*tool.Result, error) { return nil, nil }

func TestNewRefusesWhatCannotRun(t *testing.T) {
	for want, o := range map[string]agent.Options{
		`two tools are named "Echo"`:  {Tools: []tool.Tool{echo(), echo()}},
		"a tool has no name":          {Tools: []tool.Tool{nameless{}}},
		"a tool is nil":               {Tools: []tool.Tool{nil}},
		"the answer's schema is not ": {Schema: &llm.Schema{JSON: json.RawMessage("{")}},
	} {
		if _, err := agent.New(&script{}, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if _, err := agent.New(nil, agent.Options{}); err == nil {
		t.Error("an agent without a model")
	}
	// A tool that a middleware adds is held to the same, before any request.
	again := agent.Middleware{Name: "again", Start: func(_ context.Context, _ *agent.Turn, s *agent.Setup) error {
		s.Tools = append(s.Tools, echo())
		return nil
	}}
	m := &script{}
	if _, err := run(t, m, agent.Options{Tools: []tool.Tool{echo()}, Middleware: []agent.Middleware{again}}, open(t), "go"); err == nil || len(m.reqs) != 0 {
		t.Errorf("%v after %d requests", err, len(m.reqs))
	}
	if _, err := run(t, m, agent.Options{}, open(t), ""); err == nil || errors.Is(err, session.ErrBusy) {
		t.Errorf("nothing to do: %v", err)
	}
}
