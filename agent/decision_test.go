package agent_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cantle-dev/cantle/agent"
	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/session"
	"github.com/cantle-dev/cantle/tool"
)

// decisions are those in the journal, by call.
func decisions(t *testing.T, s *session.Session) map[string]agent.Decision {
	t.Helper()
	out := map[string]agent.Decision{}
	for e, err := range s.Path(t.Context(), "message") {
		if err != nil {
			t.Fatal(err)
		}
		for id, d := range e.Data.(session.Message).Decisions {
			out[id] = d
		}
	}
	return out
}

// TestWhatDecidesBreaksDown: then the answer is no.
func TestWhatDecidesBreaksDown(t *testing.T) {
	asks := func(ask agent.AskFunc) agent.Options {
		return agent.Options{Ask: ask, Middleware: []agent.Middleware{gating(func(ctx context.Context, tn *agent.Turn, c *tool.Call) (*tool.Result, error) {
			return nil, approve(ctx, tn, c)
		})}}
	}
	gates := func(gate agent.GateFunc) agent.Options {
		return agent.Options{Middleware: []agent.Middleware{gating(gate)}}
	}
	for _, c := range []struct {
		name string
		o    agent.Options
		why  string
	}{
		{"a gate panics", gates(func(context.Context, *agent.Turn, *tool.Call) (*tool.Result, error) { panic("no") }), "internal error"},
		{"a gate panics with nil", gates(func(context.Context, *agent.Turn, *tool.Call) (*tool.Result, error) { panic(nil) }), "internal error"},
		{"a gate ends its goroutine", gates(func(context.Context, *agent.Turn, *tool.Call) (*tool.Result, error) {
			runtime.Goexit()
			return nil, nil
		}), "broke down"},
		{"an asker panics", asks(func(context.Context, *agent.Turn, *agent.Question) (*agent.Answer, error) { panic("no") }), "internal error"},
		{"an asker ends its goroutine", asks(func(context.Context, *agent.Turn, *agent.Question) (*agent.Answer, error) {
			runtime.Goexit()
			return nil, nil
		}), "broke down"},
		{"an asker says nothing", asks(func(context.Context, *agent.Turn, *agent.Question) (*agent.Answer, error) { return nil, nil }), "no answer was given"},
		{"an asker fails", asks(func(context.Context, *agent.Turn, *agent.Question) (*agent.Answer, error) {
			return &agent.Answer{OK: true}, errors.New("the line is dead")
		}), "the line is dead"},
		{"there is no asker", asks(nil), "nobody is there"},
		{"an asker among others says nothing", func() agent.Options {
			o := asks(func(context.Context, *agent.Turn, *agent.Question) (*agent.Answer, error) { return nil, nil })
			o.Middleware = append(o.Middleware, agent.Middleware{Ask: func(next agent.AskFunc) agent.AskFunc {
				return func(ctx context.Context, tn *agent.Turn, q *agent.Question) (*agent.Answer, error) {
					a, err := next(ctx, tn, q)
					if err == nil && a.OK { // which it may rely on to be there
						t.Error("no answer is a yes")
					}
					return a, err
				}
			}})
			return o
		}(), "no answer was given"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var log []string
			// No input at all, so that nothing but the decision keeps it from running.
			c.o.Tools = []tool.Tool{raw{&log}}
			m := &script{steps: []step{calls(llm.ToolCall{ID: "1", Name: "Raw"}, call("2", "Raw", `{}`)), say("done")}}
			res, err := run(t, m, c.o, open(t), "go")
			if err != nil || res.Text != "done" || len(log) != 0 || len(res.Denied) != 2 {
				t.Fatalf("%+v, %v, %q", res, err, log)
			}
			for _, d := range res.Denied {
				if !strings.Contains(d.Reason, c.why) {
					t.Errorf("denied since %q", d.Reason)
				}
			}
		})
	}
}

// raw is a tool that takes whatever comes.
type raw struct{ log *[]string }

func (raw) Spec() tool.Spec { return tool.Spec{Name: "Raw", Access: tool.NoAccess} }
func (r raw) Call(_ context.Context, c *tool.Call) (*tool.Result, error) {
	*r.log = append(*r.log, "ran "+string(c.Input))
	return nil, nil
}

// TestAToolThatEndsItsGoroutine has a result all the same.
func TestAToolThatEndsItsGoroutine(t *testing.T) {
	exit := tool.New(tool.Spec{Name: "Exit", ReadOnly: true, Parallel: true, Access: tool.NoAccess}, func(context.Context, textIn) (string, error) {
		runtime.Goexit()
		return "", nil
	})
	m := &script{steps: []step{calls(call("1", "Exit", `{"text":"1"}`), call("2", "Exit", `{"text":"2"}`)), calls(call("3", "Exit", `{"text":"3"}`)), calls(call("4", "Echo", `{}`)), say("done")}}
	res, err := run(t, m, agent.Options{Tools: []tool.Tool{exit, echo()}}, open(t), "go")
	if err != nil || res.Text != "done" {
		t.Fatalf("%+v, %v", res, err)
	}
	for _, req := range m.reqs[1:3] {
		for _, got := range results(req) {
			if !strings.Contains(got, "goroutine ended") {
				t.Errorf("%q", got)
			}
		}
	}
}

// TestAnAnswerThatComesTooLateIsNone: a yes that comes when the question's time,
// or the run, is over runs nothing.
func TestAnAnswerThatComesTooLateIsNone(t *testing.T) {
	errLate := errors.New("too late")
	synctest.Test(t, func(t *testing.T) {
		var log []string
		var answered []agent.Answered
		o := agent.Options{
			Tools: []tool.Tool{logged(&log, "Do", false)},
			Ask: func(ctx context.Context, _ *agent.Turn, q *agent.Question) (*agent.Answer, error) {
				<-ctx.Done()
				return &agent.Answer{OK: true}, nil
			},
			Middleware: []agent.Middleware{gating(func(ctx context.Context, tn *agent.Turn, c *tool.Call) (*tool.Result, error) {
				ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, errLate)
				defer cancel()
				return nil, approve(ctx, tn, c)
			}), {Event: func(_ context.Context, _ *agent.Turn, e agent.EventData) {
				if a, ok := e.(agent.Answered); ok {
					answered = append(answered, a)
				}
			}}},
		}
		m := &script{steps: []step{calls(call("1", "Do", `{}`)), say("done")}}
		res, err := run(t, m, o, open(t), "go")
		if err != nil || len(log) != 0 || len(res.Denied) != 1 || !strings.Contains(res.Denied[0].Reason, "too late") {
			t.Errorf("%+v, %v, %q", res, err, log)
		}
		if len(answered) != 1 || answered[0].OK || answered[0].By != agent.ByNobody {
			t.Errorf("%+v", answered)
		}
		o.Budget.Time = time.Second
		m = &script{steps: []step{calls(call("1", "Do", `{}`))}}
		res, err = run(t, m, o, open(t), "go")
		if err != nil || len(log) != 0 || res.Stop != agent.StopTime || len(answered) != 2 || answered[1].OK {
			t.Errorf("%+v, %v, %q, %+v", res, err, log, answered)
		}
	})
}

// TestWhoAnswers: what asks is asked in the order of its priority, the user last;
// who answers keeps those after it from being asked, and is named.
func TestWhoAnswers(t *testing.T) {
	var log []string
	by := func(name string, priority int, what string) agent.Middleware {
		return agent.Middleware{Name: name, Priority: priority, Ask: func(next agent.AskFunc) agent.AskFunc {
			return func(ctx context.Context, tn *agent.Turn, q *agent.Question) (*agent.Answer, error) {
				log = append(log, q.Call.ID+" "+name)
				if strings.Contains(string(q.Call.Input), what) {
					return &agent.Answer{OK: true, By: name, Reason: name + " says so"}, nil
				}
				return next(ctx, tn, q)
			}
		}}
	}
	o := asking(func(q *agent.Question) (*agent.Answer, error) {
		log = append(log, q.Call.ID+" user")
		return &agent.Answer{Reason: "not that"}, nil
	})
	o.Middleware = append(o.Middleware, by(agent.ByReviewer, 10, "safe"), by(agent.ByHook, -10, "known"))
	m := &script{steps: []step{
		calls(call("1", "Echo", `{"text":"known"}`), call("2", "Echo", `{"text":"safe"}`), call("3", "Echo", `{"text":"odd"}`)), say("done"),
	}}
	s := open(t)
	a, err := agent.New(m, o)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]*agent.Decision{}
	var answered []string
	for e, err := range a.Stream(t.Context(), s, llm.Text{Text: "go"}).Events() {
		if err != nil {
			t.Fatal(err)
		}
		switch d := e.Data.(type) {
		case agent.ToolStarted:
			got[d.Call.ID] = d.Decision
		case agent.ToolFinished:
			if was, ok := got[d.Call.ID]; ok && was != d.Decision {
				t.Errorf("%s was decided by %+v and then by %+v", d.Call.ID, was, d.Decision)
			}
			got[d.Call.ID] = d.Decision
		case agent.Answered:
			answered = append(answered, d.By)
		}
	}
	if want := []string{"1 hook", "2 hook", "2 reviewer", "3 hook", "3 reviewer", "3 user"}; !slices.Equal(log, want) {
		t.Errorf("%q", log)
	}
	if !slices.Equal(answered, []string{"hook", "reviewer", "user"}) {
		t.Errorf("answered by %q", answered)
	}
	journal := decisions(t, s)
	for id, want := range map[string]agent.Decision{
		"1": {By: "hook", Reason: "hook says so"}, "2": {By: "reviewer", Reason: "reviewer says so"}, "3": {By: "user", Reason: "not that"},
	} {
		if got[id] == nil || *got[id] != want || journal[id] != want {
			t.Errorf("%s: %+v, in the journal %+v, want %+v", id, got[id], journal[id], want)
		}
	}
}

// TestAnAnswerThatWasNotFollowedDecidedNothing: a gate that does otherwise than it
// was told has decided by itself.
func TestAnAnswerThatWasNotFollowedDecidedNothing(t *testing.T) {
	o := asking(func(*agent.Question) (*agent.Answer, error) { return &agent.Answer{OK: true}, nil })
	o.Middleware[0] = gating(func(ctx context.Context, tn *agent.Turn, c *tool.Call) (*tool.Result, error) {
		if err := approve(ctx, tn, c); err != nil {
			return nil, err
		}
		return nil, errors.New("the rules have changed meanwhile")
	})
	s := open(t)
	res, err := run(t, &script{steps: []step{calls(call("1", "Echo", `{}`)), say("done")}}, o, s, "go")
	if err != nil || len(res.Denied) != 1 || res.Denied[0].By != "" || len(decisions(t, s)) != 0 {
		t.Errorf("%+v, %v, %+v", res, err, decisions(t, s))
	}
}

// TestAChildsGateKnowsWhoStartedIt: what a session was denied holds for children,
// and what was denied to a child holds for the session, also where the child runs
// in the background, since its gates run in the context of the call that started
// it. The question says which agent asks.
func TestAChildsGateKnowsWhoStartedIt(t *testing.T) {
	type key struct{}
	type memory struct{ never map[string]bool }
	for _, background := range []bool{false, true} {
		var asked []string
		gate := gating(func(ctx context.Context, tn *agent.Turn, c *tool.Call) (*tool.Result, error) {
			mem := ctx.Value(key{}).(*memory)
			if c.Name != "Do" {
				return nil, nil
			}
			if mem.never[c.Name] {
				return nil, errors.New("never")
			}
			err := approve(ctx, tn, c)
			mem.never[c.Name] = err != nil
			return nil, err
		})
		var log []string
		o := agent.Options{Middleware: []agent.Middleware{gate}, Ask: func(_ context.Context, _ *agent.Turn, q *agent.Question) (*agent.Answer, error) {
			asked = append(asked, q.Path)
			return &agent.Answer{Reason: "never"}, nil
		}}
		start := tool.New(tool.Spec{Name: "Start", Access: tool.NoAccess}, func(ctx context.Context, _ struct{}) (string, error) {
			tn := agent.FromContext(ctx)
			a, err := agent.New(&script{steps: []step{calls(call("c", "Do", `{}`)), say("ok")}}, tn.Options())
			if err != nil {
				return "", err
			}
			s, err := session.Open(ctx, tn.Session.Store(), "child", session.OpenOptions{Create: true})
			if err != nil {
				return "", err
			}
			if !background {
				_, err = tn.Run(ctx, "kid", a, s, llm.Text{Text: "do"})
				return "", err
			}
			st, err := tn.Start(ctx, "kid", a, s, llm.Text{Text: "do"})
			if err == nil {
				<-st.Done()
			}
			return "", err
		})
		o.Tools = []tool.Tool{logged(&log, "Do", false), start}
		m := &script{steps: []step{calls(call("1", "Start", `{}`)), calls(call("2", "Do", `{}`)), say("done")}}
		a, err := agent.New(m, o)
		if err != nil {
			t.Fatal(err)
		}
		ctx := context.WithValue(t.Context(), key{}, &memory{never: map[string]bool{}})
		res, err := a.Run(ctx, open(t), llm.Text{Text: "go"})
		if err != nil || res.Text != "done" || len(log) != 0 || !slices.Equal(asked, []string{"kid"}) {
			t.Errorf("%+v, %v, %q, asked %q", res, err, log, asked)
		}
	}
}

// TestASideCallRunsNothing: calls in the answer to a helper's request are text.
func TestASideCallRunsNothing(t *testing.T) {
	var log []string
	helper := &script{steps: []step{calls(call("h", "Do", `{"text":"by the helper"}`))}}
	title := agent.Middleware{Name: "title", Stop: func(ctx context.Context, tn *agent.Turn) (llm.Parts, error) {
		resp, err := tn.Generate(ctx, "title", helper, tn.Request())
		if err != nil || len(resp.Message.Parts.Calls()) != 1 {
			t.Errorf("%+v, %v", resp, err)
		}
		return nil, nil
	}}
	allow := gating(func(context.Context, *agent.Turn, *tool.Call) (*tool.Result, error) { return nil, nil })
	s := open(t)
	res, err := run(t, &script{steps: []step{say("done")}}, agent.Options{Tools: []tool.Tool{logged(&log, "Do", false)}, Middleware: []agent.Middleware{title, allow}}, s, "go")
	if err != nil || res.Text != "done" || len(log) != 0 || len(helper.reqs) != 1 || len(s.Dangling()) != 0 {
		t.Errorf("%+v, %v, %q", res, err, log)
	}
}
