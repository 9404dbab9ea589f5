package agent_test

import (
	"context"
	"slices"
	"testing"

	"github.com/cantle-dev/cantle/agent"
	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/session"
	"github.com/cantle-dev/cantle/tool"
)

func texts(qs []agent.Queued) []string {
	var out []string
	for _, q := range qs {
		out = append(out, string(q.Kind)+" "+q.Parts.Text())
	}
	return out
}

func drive(t *testing.T, st *agent.Stream) *agent.Result {
	t.Helper()
	for _, err := range st.Events() {
		if err != nil {
			t.Fatal(err)
		}
	}
	return st.Result()
}

// inputs are what the user's side of a request says, notices and all.
func inputs(req llm.Request) []string {
	var out []string
	for _, m := range req.Messages {
		if text := m.Text(); m.Role == llm.RoleUser && text != "" {
			out = append(out, text)
		}
	}
	return out
}

func TestQueueIsListedEditedReorderedDeleted(t *testing.T) {
	m := &script{steps: []step{say("1"), say("2"), say("3"), say("4")}}
	a, err := agent.New(m, agent.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := open(t)
	st := a.Stream(t.Context(), s, llm.Text{Text: "go"})
	for _, text := range []string{"a", "b", "c", "d"} {
		st.FollowUp(llm.Text{Text: text})
	}
	before := st.Queued()
	if got := texts(before); !slices.Equal(got, []string{"followup a", "followup b", "followup c", "followup d"}) {
		t.Fatalf("%q", got)
	}
	st.EditQueue(func(q []agent.Queued) []agent.Queued {
		q[1].Parts = llm.Texts("B")                             // edited
		q = slices.Delete(q, 2, 3)                              // c is deleted
		q[1], q[2] = q[2], q[1]                                 // d before B
		return append(q, agent.Queued{}, agent.Queued{ID: "x"}) // nothing
	})
	after := st.Queued()
	if got := texts(after); !slices.Equal(got, []string{"followup a", "followup d", "followup B"}) {
		t.Fatalf("%q", got)
	}
	if after[0].ID != before[0].ID || after[2].ID != before[1].ID {
		t.Errorf("ids changed: %+v, %+v", before, after)
	}
	// The journal has the same, in the same order.
	var left []string
	for _, q := range s.Queue() {
		left = append(left, q.Parts.Text())
	}
	if !slices.Equal(left, []string{"a", "d", "B"}) {
		t.Errorf("the journal has %q", left)
	}
	if drive(t, st); len(s.Queue()) != 0 || len(st.Queued()) != 0 {
		t.Errorf("%v, %v are left", s.Queue(), st.Queued())
	}
	if got := inputs(m.reqs[3]); !slices.Equal(got, []string{"go", "a", "d", "B"}) {
		t.Errorf("the model saw %q", got)
	}
}

func TestQueueSurvivesACrash(t *testing.T) {
	store := new(session.Memory)
	s, err := session.Open(t.Context(), store, "s", session.OpenOptions{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	a, err := agent.New(&script{steps: []step{say("1")}}, agent.Options{})
	if err != nil {
		t.Fatal(err)
	}
	drive(t, a.Stream(t.Context(), s, llm.Text{Text: "go"}))
	st := a.Stream(t.Context(), s)
	st.FollowUp(llm.Text{Text: "later"})
	st.FollowUp(llm.Text{Text: "last"})
	st.EditQueue(func(q []agent.Queued) []agent.Queued { q[0].Parts = llm.Texts("soon"); return q })
	s.Close() // and the program is gone

	if s, err = session.Open(t.Context(), store, "s", session.OpenOptions{}); err != nil {
		t.Fatal(err)
	}
	m := &script{steps: []step{say("2"), say("3")}}
	if a, err = agent.New(m, agent.Options{}); err != nil {
		t.Fatal(err)
	}
	st = a.Stream(t.Context(), s) // with no input of its own
	if res := drive(t, st); res.Stop != agent.StopFinished || res.Text != "3" {
		t.Errorf("%+v", res)
	}
	if got := inputs(m.reqs[1]); !slices.Equal(got, []string{"go", "soon", "last"}) || len(s.Queue()) != 0 {
		t.Errorf("the model saw %q; %d are left", got, len(s.Queue()))
	}
}

func TestWhatWasAddedBeforeTheRunIsTakenOnce(t *testing.T) {
	m := &script{steps: []step{say("1"), say("2")}}
	a, err := agent.New(m, agent.Options{})
	if err != nil {
		t.Fatal(err)
	}
	st := a.Stream(t.Context(), open(t), llm.Text{Text: "go"})
	st.FollowUp(llm.Text{Text: "more"})
	drive(t, st)
	if got := inputs(m.reqs[1]); !slices.Equal(got, []string{"go", "more"}) || len(m.reqs) != 2 {
		t.Errorf("the model saw %q", got)
	}
}

func TestFollowUpArrivesOnlyWhenIdle(t *testing.T) {
	var st *agent.Stream
	first := tool.New(tool.Spec{Name: "First"}, func(context.Context, struct{}) (string, error) {
		st.FollowUp(llm.Text{Text: "then"})
		return "ran", nil
	})
	m := &script{steps: []step{calls(call("1", "First", `{}`)), calls(call("2", "Echo", `{}`)), say("done"), say("after")}}
	a, err := agent.New(m, agent.Options{Tools: []tool.Tool{first, echo()}})
	if err != nil {
		t.Fatal(err)
	}
	st = a.Stream(t.Context(), open(t), llm.Text{Text: "go"})
	drive(t, st)
	for i, want := range [][]string{{"go"}, {"go"}, {"go"}, {"go", "then"}} {
		if got := inputs(m.reqs[i]); !slices.Equal(got, want) {
			t.Errorf("request %d: %q", i+1, got)
		}
	}
}

func TestACancelledRunGivesWhatWasQueuedBack(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	half := say("half")
	half.hang = true
	a, err := agent.New(&script{steps: []step{half}}, agent.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := open(t)
	st := a.Stream(ctx, s, llm.Text{Text: "go"})
	for e, err := range st.Events() {
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := e.Data.(agent.TextDelta); ok {
			st.FollowUp(llm.Text{Text: "then"})
			st.Steer(llm.Text{Text: "no, this"})
			cancel()
		}
	}
	if st.Result().Stop != agent.StopInterrupted || st.FollowUp(llm.Text{Text: "late"}) {
		t.Errorf("%+v", st.Result())
	}
	if got := texts(st.Unqueue()); !slices.Equal(got, []string{"followup then", "steer no, this"}) {
		t.Errorf("%q came back", got)
	}
	if len(st.Unqueue()) != 0 || len(s.Queue()) != 0 {
		t.Error("it is still there")
	}
}

func TestABlockedFollowUpBlocksOnce(t *testing.T) {
	block := agent.Middleware{Name: "block", Prompt: func(_ context.Context, _ *agent.Turn, in llm.Parts) (llm.Parts, error) {
		if in.Text() == "bad" {
			return nil, agent.Block("not that")
		}
		return in, nil
	}}
	m := &script{steps: []step{say("1"), say("2")}}
	a, err := agent.New(m, agent.Options{Middleware: []agent.Middleware{block}})
	if err != nil {
		t.Fatal(err)
	}
	s := open(t)
	st := a.Stream(t.Context(), s, llm.Text{Text: "go"})
	st.FollowUp(llm.Text{Text: "bad"})
	if res := drive(t, st); res.Stop != agent.StopBlocked || len(s.Queue()) != 0 {
		t.Errorf("%+v, %d left", res, len(s.Queue()))
	}
	if res := drive(t, a.Stream(t.Context(), s, llm.Text{Text: "good"})); res.Stop != agent.StopFinished {
		t.Errorf("%+v", res)
	}
}

func TestQueueWithoutAJournalStillWaits(t *testing.T) {
	m := &script{steps: []step{say("1")}}
	a, err := agent.New(m, agent.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := session.Open(t.Context(), &stopping{full: true}, "s1", session.OpenOptions{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	st := a.Stream(t.Context(), s, llm.Text{Text: "go"})
	if !st.FollowUp(llm.Text{Text: "more"}) {
		t.Error("it was not taken")
	}
	for _, err = range st.Events() {
		if err != nil {
			break
		}
	}
	if err == nil || st.Result().Stop != agent.StopError {
		t.Errorf("%v, %+v", err, st.Result())
	}
	if got := texts(st.Unqueue()); !slices.Equal(got, []string{"followup more"}) {
		t.Errorf("%q", got)
	}
}

func TestRepairsAreEvents(t *testing.T) {
	s := open(t)
	m := llm.Message{Role: llm.RoleAssistant, Parts: llm.Parts{call("1", "Echo", `{}`), call("2", "Echo", `{}`)}}
	for i, d := range []session.Data{
		session.Message{Message: llm.UserText("go")},
		session.Message{Message: m},
		session.Message{Message: llm.Message{Role: llm.RoleUser, Parts: llm.Parts{
			llm.ToolResult{CallID: "9", Parts: llm.Texts("whose?")},
		}}, Kind: session.KindResults},
	} {
		if err := s.Append(t.Context(), session.Entry{ID: string(rune('a' + i)), Data: d}); err != nil {
			t.Fatal(err)
		}
	}
	a, err := agent.New(&script{steps: []step{say("ok")}}, agent.Options{Tools: []tool.Tool{echo()}})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for e, err := range a.Stream(t.Context(), s, llm.Text{Text: "go on"}).Events() {
		if err != nil {
			t.Fatal(err)
		}
		if r, ok := e.Data.(agent.Repaired); ok && r.Text != "" {
			got[r.CallID] = r.Kind
		}
	}
	if len(got) != 3 || got["1"] != string(session.RepairNoResult) || got["2"] != got["1"] || got["9"] != string(session.RepairNoCall) {
		t.Errorf("%v", got)
	}
}
