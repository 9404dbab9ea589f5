package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cantle-dev/cantle/agent"
	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/session"
	"github.com/cantle-dev/cantle/tool"
)

// script is a model that answers with its steps, one a request.
type script struct {
	info  llm.Info
	mu    sync.Mutex
	steps []step
	reqs  []llm.Request
}

type step struct {
	parts llm.Parts
	stop  llm.StopReason
	usage llm.Usage
	err   error
	hang  bool // until the context ends, after the text
}

func (m *script) Info() llm.Info {
	i := m.info
	if i.Name == "" {
		i.Provider, i.Name = "test", "script"
	}
	return i
}

func (m *script) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		m.mu.Lock()
		m.reqs = append(m.reqs, *req)
		if len(m.steps) == 0 {
			m.mu.Unlock()
			yield(nil, errors.New("script: no step is left"))
			return
		}
		s := m.steps[0]
		m.steps = m.steps[1:]
		m.mu.Unlock()
		for _, p := range s.parts {
			if t, ok := p.(llm.Text); ok && !yield(llm.TextDelta{Text: t.Text}, nil) {
				return
			}
		}
		if s.hang {
			<-ctx.Done()
			s.err = context.Cause(ctx)
		}
		if s.err != nil {
			yield(nil, s.err)
			return
		}
		stop := s.stop
		if stop == "" {
			stop = llm.StopEnd
			if len(s.parts.Calls()) > 0 {
				stop = llm.StopToolUse
			}
		}
		u := s.usage
		if u == (llm.Usage{}) {
			u = llm.Usage{Input: 10, Output: 5}
		}
		yield(llm.Done{Response: &llm.Response{Message: llm.Message{Role: llm.RoleAssistant, Parts: s.parts}, Stop: stop, Usage: &u}}, nil)
	}
}

func say(text string) step { return step{parts: llm.Texts(text)} }

func calls(cs ...llm.ToolCall) step {
	var s step
	for _, c := range cs {
		s.parts = append(s.parts, c)
	}
	return s
}

func call(id, name, input string) llm.ToolCall {
	return llm.ToolCall{ID: id, Name: name, Input: json.RawMessage(input)}
}

func open(t testing.TB) *session.Session {
	t.Helper()
	s, err := session.Open(t.Context(), new(session.Memory), "s1", session.OpenOptions{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

type textIn struct {
	Text string `json:"text,omitempty"`
}

func echo() tool.Tool {
	return tool.New(tool.Spec{Name: "Echo", ReadOnly: true, Parallel: true, Access: tool.NoAccess},
		func(_ context.Context, in textIn) (string, error) { return "echo " + in.Text, nil })
}

func run(t *testing.T, m llm.Model, o agent.Options, s *session.Session, in string) (*agent.Result, error) {
	t.Helper()
	a, err := agent.New(m, o)
	if err != nil {
		t.Fatal(err)
	}
	var parts llm.Parts
	if in != "" {
		parts = llm.Texts(in)
	}
	return a.Run(t.Context(), s, parts...)
}

// results are the texts of the results in the request's last message.
func results(req llm.Request) []string {
	var out []string
	for _, p := range req.Messages[len(req.Messages)-1].Parts {
		if r, ok := p.(llm.ToolResult); ok {
			out = append(out, r.Parts.Text())
		}
	}
	return out
}

func TestCallThenAnswer(t *testing.T) {
	m := &script{steps: []step{calls(call("1", "Echo", `{"text":"hi"}`)), say("done")}}
	res, err := run(t, m, agent.Options{System: "Be brief.", Tools: []tool.Tool{echo()}}, open(t), "go")
	if err != nil || res.Text != "done" || res.Stop != agent.StopFinished || res.Turns != 2 || res.Calls != 1 {
		t.Fatalf("%+v, %v", res, err)
	}
	if got := results(m.reqs[1]); !slices.Equal(got, []string{"echo hi"}) {
		t.Errorf("the model saw %q", got)
	}
	if res.Usage.Requests != 2 || res.Usage.Input != 20 || res.Cost != nil {
		t.Errorf("usage %+v, cost %v", res.Usage, res.Cost)
	}
}

func TestEachRequestExtendsTheLast(t *testing.T) {
	m := &script{}
	for i := range 20 {
		m.steps = append(m.steps, calls(call(fmt.Sprint(i), "Echo", `{"text":"x"}`)))
	}
	m.steps = append(m.steps, say("done"))
	if _, err := run(t, m, agent.Options{System: "s", Tools: []tool.Tool{echo()}}, open(t), "go"); err != nil {
		t.Fatal(err)
	}
	last := ""
	for i, r := range m.reqs {
		b, err := json.Marshal(r.Messages)
		if err != nil {
			t.Fatal(err)
		}
		if s := strings.TrimSuffix(last, "]"); !strings.HasPrefix(string(b), s) {
			t.Fatalf("request %d does not extend the one before it", i+1)
		}
		last = string(b)
	}
}

func TestBadCallsAreAnsweredForTheModel(t *testing.T) {
	boom := tool.New(tool.Spec{Name: "Boom"}, func(context.Context, struct{}) (string, error) { panic("no") })
	m := &script{steps: []step{
		calls(call("1", "Ecko", `{}`), call("2", "Echo", `{"texd":"x"}`), call("3", "Boom", `{}`),
			llm.ToolCall{ID: "4", Name: "Echo", Input: json.RawMessage(`{}`), Malformed: `{"text":`}),
		say("sorry"),
	}}
	res, err := run(t, m, agent.Options{Tools: []tool.Tool{echo(), boom}}, open(t), "go")
	if err != nil || res.Text != "sorry" {
		t.Fatalf("%+v, %v", res, err)
	}
	for i, want := range []string{"Did you mean Echo?", `did you mean "text"?`, "internal error", "not a JSON object"} {
		if got := results(m.reqs[1])[i]; !strings.Contains(got, want) {
			t.Errorf("result %d: %q, want %q", i+1, got, want)
		}
	}
}

func TestCutCallIsNotRun(t *testing.T) {
	ran := 0
	count := tool.New(tool.Spec{Name: "Count"}, func(context.Context, struct{}) (string, error) { ran++; return "ok", nil })
	cut := calls(call("1", "Count", `{}`), call("2", "Count", `{}`))
	cut.stop = llm.StopMaxTokens
	m := &script{steps: []step{cut, say("done")}}
	if _, err := run(t, m, agent.Options{Tools: []tool.Tool{count}}, open(t), "go"); err != nil {
		t.Fatal(err)
	}
	if got := results(m.reqs[1]); ran != 1 || !strings.Contains(got[1], "cut at the output limit") {
		t.Errorf("%d ran; %q", ran, got)
	}
}

func TestCutAnswerIsContinuedAndStitched(t *testing.T) {
	cut := func(s string) step { st := say(s); st.stop = llm.StopMaxTokens; return st }
	m := &script{steps: []step{cut("one "), cut("two "), say("three")}}
	res, err := run(t, m, agent.Options{}, open(t), "go")
	if err != nil || res.Text != "one two three" || res.Turns != 3 {
		t.Errorf("%+v, %v", res, err)
	}
	m = &script{steps: []step{cut("1"), cut("2"), cut("3"), cut("4")}}
	res, err = run(t, m, agent.Options{}, open(t), "go")
	if err != nil || res.Stop != agent.StopMaxTokens || res.Text != "1234" {
		t.Errorf("%+v, %v", res, err)
	}
}

func TestRepeatedCallIsRefusedThenStops(t *testing.T) {
	same := calls(call("1", "Echo", `{"text":"x"}`))
	m := &script{steps: []step{same, same, same, same, say("never")}}
	res, err := run(t, m, agent.Options{Tools: []tool.Tool{echo()}}, open(t), "go")
	if err != nil || res.Stop != agent.StopRepeated || res.Calls != 2 || len(m.reqs) != 4 {
		t.Fatalf("%+v, %v, %d requests", res, err, len(m.reqs))
	}
}

func TestCancelInMidStreamKeepsTheText(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	half := say("half an ")
	half.hang = true
	s := open(t)
	a, _ := agent.New(&script{steps: []step{half}}, agent.Options{})
	st := a.Stream(ctx, s, llm.Text{Text: "go"})
	for e, err := range st.Events() {
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := e.Data.(agent.TextDelta); ok {
			cancel(errors.New("the user pressed Ctrl-C"))
		}
	}
	if r := st.Result(); r.Stop != agent.StopInterrupted || r.Text != "half an " || !strings.Contains(r.Reason, "Ctrl-C") {
		t.Errorf("%+v", r)
	}
	m := &script{steps: []step{say("ok")}}
	if _, err := run(t, m, agent.Options{}, s, "go on"); err != nil {
		t.Fatal(err)
	}
	if got := m.reqs[0].Messages[1].Text(); got != "half an " {
		t.Errorf("the model saw %q of its own answer", got)
	}
}

func TestCancelInMidToolRecordsEveryResult(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	wait := tool.New(tool.Spec{Name: "Wait", ReadOnly: true, Parallel: true}, func(ctx context.Context, _ struct{}) (string, error) {
		cancel()
		<-ctx.Done()
		return "", ctx.Err()
	})
	s := open(t)
	a, _ := agent.New(&script{steps: []step{calls(call("1", "Wait", `{}`), call("2", "Wait", `{}`), call("3", "Echo", `{}`))}},
		agent.Options{Tools: []tool.Tool{wait, echo()}, Parallelism: 1})
	res, err := a.Run(ctx, s, llm.Text{Text: "go"})
	if err != nil || res.Stop != agent.StopInterrupted {
		t.Fatalf("%+v, %v", res, err)
	}
	if d := s.Dangling(); len(d) != 0 {
		t.Errorf("%d calls have no result", len(d))
	}
}

func TestBreakStopsTheRun(t *testing.T) {
	s := open(t)
	a, _ := agent.New(&script{steps: []step{say("a"), say("b")}}, agent.Options{})
	st := a.Stream(t.Context(), s, llm.Text{Text: "go"})
	for e := range st.Events() {
		if _, ok := e.Data.(agent.TurnStarted); ok {
			break
		}
	}
	if r := st.Result(); r == nil || r.Stop != agent.StopInterrupted {
		t.Errorf("%+v", r)
	}
	for _, err := range st.Events() {
		if !errors.Is(err, llm.ErrUsed) {
			t.Errorf("a second range: %v", err)
		}
	}
	if release, err := s.Use(); err != nil {
		t.Error(err)
	} else {
		release()
	}
}

func TestOverlapOnOneSessionIsRefused(t *testing.T) {
	s := open(t)
	release, _ := s.Use()
	defer release()
	if _, err := run(t, &script{}, agent.Options{}, s, "go"); !errors.Is(err, session.ErrBusy) {
		t.Errorf("got %v", err)
	}
}

func TestGateDecidesInOrderAndSealsTheInput(t *testing.T) {
	var order []string
	gate := agent.Middleware{Name: "gate", Gate: func(next agent.GateFunc) agent.GateFunc {
		return func(ctx context.Context, tn *agent.Turn, c *tool.Call) (*tool.Result, error) {
			order = append(order, c.ID)
			switch c.ID {
			case "1":
				return nil, errors.New("not this one")
			case "2":
				c.Input = json.RawMessage(`{"text":"rewritten"}`)
			}
			return next(ctx, tn, c)
		}
	}}
	meddle := agent.Middleware{Name: "meddle", Tool: func(next agent.ToolFunc) agent.ToolFunc {
		return func(ctx context.Context, tn *agent.Turn, c *tool.Call) (*tool.Result, error) {
			if c.ID == "3" {
				c.Input = json.RawMessage(`{"text":"sneaky"}`)
			}
			return next(ctx, tn, c)
		}
	}}
	m := &script{steps: []step{calls(call("1", "Echo", `{}`), call("2", "Echo", `{}`), call("3", "Echo", `{}`)), say("ok")}}
	res, err := run(t, m, agent.Options{Tools: []tool.Tool{echo()}, Middleware: []agent.Middleware{gate, meddle}}, open(t), "go")
	if err != nil || len(res.Denied) != 1 || !slices.Equal(order, []string{"1", "2", "3"}) {
		t.Fatalf("%+v, %v, %v", res, err, order)
	}
	got := results(m.reqs[1])
	if !strings.Contains(got[0], "Denied: not this one") || got[1] != "echo rewritten" || !strings.Contains(got[2], "changed after it was decided on") {
		t.Errorf("%q", got)
	}
}

func asking(answer func(q *agent.Question) (*agent.Answer, error)) agent.Options {
	return agent.Options{
		Tools: []tool.Tool{echo()},
		Ask: func(_ context.Context, _ *agent.Turn, q *agent.Question) (*agent.Answer, error) {
			return answer(q)
		},
		Middleware: []agent.Middleware{{Name: "ask", Gate: func(next agent.GateFunc) agent.GateFunc {
			return func(ctx context.Context, tn *agent.Turn, c *tool.Call) (*tool.Result, error) {
				a, err := tn.Ask(ctx, &agent.Question{Kind: "approve", Call: &agent.QuestionCall{ID: c.ID, Name: c.Name, Input: c.Input}})
				if err != nil {
					return nil, err
				}
				if !a.OK {
					return nil, errors.New(a.Reason)
				}
				return next(ctx, tn, c)
			}
		}}},
	}
}

func TestPendingIsAnsweredInAnotherRunAndRunsOnce(t *testing.T) {
	s := open(t)
	m := &script{steps: []step{calls(call("1", "Echo", `{"text":"hi"}`)), say("done")}}
	o := asking(func(*agent.Question) (*agent.Answer, error) { return nil, agent.ErrPending })
	res, err := run(t, m, o, s, "go")
	if err != nil || res.Stop != agent.StopPending {
		t.Fatalf("%+v, %v", res, err)
	}
	if len(res.Questions) != 1 || res.Questions[0].Call.ID != "1" {
		t.Errorf("the questions that wait: %+v", res.Questions)
	}
	if res, err = run(t, m, o, s, ""); err != nil || res.Stop != agent.StopPending || len(res.Questions) != 1 {
		t.Fatalf("unanswered: %+v, %v", res, err)
	}
	if err := s.Answer(t.Context(), "a0", time.Now(), "2", json.RawMessage(`{"ok":true}`)); err == nil {
		t.Error("an answer to no question was taken")
	}
	if err := s.Answer(t.Context(), "a1", time.Now(), "1", json.RawMessage(`{"ok":true}`)); err != nil {
		t.Fatal(err)
	}
	res, err = run(t, m, o, s, "")
	if err != nil || res.Text != "done" || res.Calls != 1 {
		t.Fatalf("%+v, %v", res, err)
	}
	if got := results(m.reqs[1]); !slices.Equal(got, []string{"echo hi"}) {
		t.Errorf("%q", got)
	}
}

func TestSteerSkipsWhatHasNotBegun(t *testing.T) {
	var st *agent.Stream
	first := tool.New(tool.Spec{Name: "First"}, func(context.Context, struct{}) (string, error) {
		st.Steer(llm.Text{Text: "stop that"})
		st.FollowUp(llm.Text{Text: "and then this"})
		return "ran", nil
	})
	m := &script{steps: []step{calls(call("1", "First", `{}`), call("2", "First", `{}`)), say("ok"), say("after")}}
	a, _ := agent.New(m, agent.Options{Tools: []tool.Tool{first}})
	st = a.Stream(t.Context(), open(t), llm.Text{Text: "go"})
	for _, err := range st.Events() {
		if err != nil {
			t.Fatal(err)
		}
	}
	msgs := m.reqs[1].Messages
	if got := msgs[len(msgs)-1].Text(); got != "stop that" {
		t.Errorf("the model saw %q", got)
	}
	if got := msgs[len(msgs)-2].Parts[1].(llm.ToolResult).Parts.Text(); !strings.Contains(got, "Skipped") {
		t.Errorf("the second call: %q", got)
	}
	if st.Result().Text != "after" || len(m.reqs) != 3 {
		t.Errorf("%+v after %d requests", st.Result(), len(m.reqs))
	}
	if st.Steer(llm.Text{Text: "late"}) {
		t.Error("a steer after the end was taken")
	}
}

type weather struct {
	City string `json:"city"`
	C    int    `json:"c" min:"-90" max:"60"`
}

func (w *weather) Validate() error {
	if w.City != "Oslo" {
		return errors.New("only Oslo will do")
	}
	return nil
}

func TestRunAs(t *testing.T) {
	m := &script{steps: []step{
		calls(call("1", agent.AnswerTool, `{"city":"Oslo","c":99}`)),
		calls(call("2", agent.AnswerTool, `{"city":"Rome","c":21}`)),
		calls(call("3", agent.AnswerTool, `{"city":"Oslo","c":21}`)),
	}}
	a, _ := agent.New(m, agent.Options{Tools: []tool.Tool{echo()}})
	w, _, err := agent.RunAs[weather](t.Context(), a, open(t), llm.Text{Text: "?"})
	if err != nil || w != (weather{"Oslo", 21}) || len(m.reqs) != 3 {
		t.Fatalf("%+v, %v, %d requests", w, err, len(m.reqs))
	}
	native := &script{info: llm.Info{Name: "m", Traits: llm.Traits{Schema: true}}, steps: []step{say("no"), say("no"), say("still no")}}
	a, _ = agent.New(native, agent.Options{})
	_, _, err = agent.RunAs[weather](t.Context(), a, open(t), llm.Text{Text: "?"})
	var se *agent.SchemaError
	if !errors.As(err, &se) || se.Text != "still no" || native.reqs[0].Schema == nil {
		t.Errorf("got %v", err)
	}
}
