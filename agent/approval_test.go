package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cantle-dev/cantle/agent"
	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/session"
	"github.com/cantle-dev/cantle/session/jsonl"
	"github.com/cantle-dev/cantle/tool"
)

// gating is a middleware with a gate.
func gating(gate agent.GateFunc) agent.Middleware {
	return agent.Middleware{Name: "gate", Gate: func(next agent.GateFunc) agent.GateFunc {
		return func(ctx context.Context, tn *agent.Turn, c *tool.Call) (*tool.Result, error) {
			if res, err := gate(ctx, tn, c); res != nil || err != nil {
				return res, err
			}
			return next(ctx, tn, c)
		}
	}}
}

// approve asks whether the call may run.
func approve(ctx context.Context, tn *agent.Turn, c *tool.Call) error {
	a, err := tn.Ask(ctx, &agent.Question{Kind: "approve", Call: &agent.QuestionCall{ID: c.ID, Name: c.Name, Input: c.Input, Access: c.Access}})
	switch {
	case err != nil:
		return err
	case !a.OK:
		return errors.New(a.Reason)
	}
	return nil
}

func logged(log *[]string, name string, parallel bool) tool.Tool {
	return tool.New(tool.Spec{Name: name, ReadOnly: parallel, Parallel: parallel, Access: tool.NoAccess}, func(_ context.Context, in textIn) (string, error) {
		*log = append(*log, "ran "+in.Text)
		return "ok", nil
	})
}

// TestAllAreApprovedBeforeAnyRuns: each call of a turn is decided on once, in
// order, and none runs before the last decision.
func TestAllAreApprovedBeforeAnyRuns(t *testing.T) {
	for _, inline := range []bool{false, true} {
		var log []string
		o := asking(func(q *agent.Question) (*agent.Answer, error) {
			log = append(log, "asked "+q.Call.ID)
			return &agent.Answer{OK: q.Call.ID != "2", Reason: "no"}, nil
		})
		o.Tools = []tool.Tool{logged(&log, "Look", true), logged(&log, "Do", false)}
		o.Parallelism = 1 // so that the log has an order
		if inline {
			o.Parallel = func(n int, do func(int)) {
				for i := range n {
					do(i)
				}
			}
		}
		m := &script{steps: []step{
			calls(call("1", "Do", `{"text":"1"}`), call("2", "Look", `{"text":"2"}`), call("3", "Look", `{"text":"3"}`), call("4", "Do", `{"text":"4"}`)),
			say("done"),
		}}
		res, err := run(t, m, o, open(t), "go")
		if err != nil || res.Calls != 3 {
			t.Fatalf("%+v, %v", res, err)
		}
		if want := []string{"asked 1", "asked 2", "asked 3", "asked 4", "ran 1", "ran 3", "ran 4"}; !slices.Equal(log, want) {
			t.Errorf("%q", log)
		}
	}
}

// TestWhatWasAnsweredIsNotAskedAgain: of a turn whose questions are answered in
// part, the answers are kept until the others have theirs.
func TestWhatWasAnsweredIsNotAskedAgain(t *testing.T) {
	var log []string
	pending := true
	o := asking(func(q *agent.Question) (*agent.Answer, error) {
		log = append(log, "asked "+q.Call.ID)
		if q.Call.ID == "2" && pending {
			return nil, agent.ErrPending
		}
		return &agent.Answer{OK: q.Call.ID != "3", Reason: "not this one", By: "tester"}, nil
	})
	o.Tools = []tool.Tool{logged(&log, "Do", false)}
	s := open(t)
	m := &script{steps: []step{calls(call("1", "Do", `{"text":"1"}`), call("2", "Do", `{"text":"2"}`), call("3", "Do", `{"text":"3"}`)), say("done")}}
	res, err := run(t, m, o, s, "go")
	if err != nil || res.Stop != agent.StopPending || len(res.Questions) != 1 || res.Questions[0].Call.ID != "2" {
		t.Fatalf("%+v, %v", res, err)
	}
	if err := s.Answer(t.Context(), "a", time.Now(), "2", json.RawMessage(`{"ok":true}`)); err != nil {
		t.Fatal(err)
	}
	res, err = run(t, m, o, s, "")
	if err != nil || res.Text != "done" || len(res.Denied) != 1 || res.Denied[0].CallID != "3" || res.Denied[0].By != "tester" {
		t.Fatalf("%+v, %v", res, err)
	}
	if want := []string{"asked 1", "asked 2", "asked 3", "ran 1", "ran 2"}; !slices.Equal(log, want) {
		t.Errorf("%q", log)
	}
	if d := decisions(t, s); d["1"].By != "tester" || d["2"].By != agent.ByUser || d["3"].Reason != "not this one" {
		t.Errorf("the journal says %+v", d)
	}
}

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

// TestAQuestionThatComesUpLaterWaitsToo: what decides became stricter while a
// question waited. Nothing that was answered is lost by the new question.
func TestAQuestionThatComesUpLaterWaitsToo(t *testing.T) {
	var log []string
	strict := false
	o := agent.Options{
		Tools: []tool.Tool{logged(&log, "Do", false)},
		Ask: func(context.Context, *agent.Turn, *agent.Question) (*agent.Answer, error) {
			return nil, agent.ErrPending
		},
		Middleware: []agent.Middleware{gating(func(ctx context.Context, tn *agent.Turn, c *tool.Call) (*tool.Result, error) {
			if c.ID == "1" || strict {
				return nil, approve(ctx, tn, c)
			}
			return nil, nil
		})},
	}
	s := open(t)
	m := &script{steps: []step{calls(call("1", "Do", `{"text":"1"}`), call("2", "Do", `{"text":"2"}`)), say("done")}}
	for _, id := range []string{"1", "2"} {
		res, err := run(t, m, o, s, map[string]string{"1": "go"}[id])
		if err != nil || res.Stop != agent.StopPending || len(res.Questions) != 1 || res.Questions[0].Call.ID != id || len(log) > 0 {
			t.Fatalf("before %s is answered: %+v, %v, %q", id, res, err, log)
		}
		if err := s.Answer(t.Context(), "a"+id, time.Now(), id, json.RawMessage(`{"ok":true}`)); err != nil {
			t.Fatal(err)
		}
		strict = true
	}
	if res, err := run(t, m, o, s, ""); err != nil || res.Text != "done" || !slices.Equal(log, []string{"ran 1", "ran 2"}) {
		t.Errorf("%+v, %v, %q", res, err, log)
	}
}

// TestAnAnswerIsToItsQuestion: an answer allows the input that was asked about,
// touching what was asked about, and no other.
func TestAnAnswerIsToItsQuestion(t *testing.T) {
	for _, c := range []struct {
		name string
		then func(q *agent.Question) // what became of the question meanwhile
		ok   bool
	}{
		{"the same", func(*agent.Question) {}, true},
		{"written otherwise", func(q *agent.Question) { q.Call.Input = json.RawMessage("{ \"text\" :\"1\"}") }, true},
		{"another input", func(q *agent.Question) { q.Call.Input = json.RawMessage(`{"text":"rm"}`) }, false},
		{"more of it", func(q *agent.Question) { q.Call.Input = json.RawMessage(`{"text":"1","all":true}`) }, false},
		{"another target", func(q *agent.Question) { q.Call.Access[0].Target = "/etc" }, false},
		{"more targets", func(q *agent.Question) {
			q.Call.Access = append(q.Call.Access, tool.Access{Op: tool.Write, Target: tool.Anywhere})
		}, false},
		{"another tool", func(q *agent.Question) { q.Call.Name = "Other" }, false},
		{"another kind", func(q *agent.Question) { q.Kind = "trust" }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var log []string
			asked := 0
			change := func(*agent.Question) {}
			o := agent.Options{
				Tools: []tool.Tool{logged(&log, "Do", false)},
				Ask: func(context.Context, *agent.Turn, *agent.Question) (*agent.Answer, error) {
					asked++
					return nil, agent.ErrPending
				},
				Middleware: []agent.Middleware{gating(func(ctx context.Context, tn *agent.Turn, c *tool.Call) (*tool.Result, error) {
					q := &agent.Question{Kind: "approve", Call: &agent.QuestionCall{
						ID: c.ID, Name: c.Name, Input: c.Input, Access: []tool.Access{{Op: tool.Write, Target: "/work"}},
					}}
					change(q)
					a, err := tn.Ask(ctx, q)
					if err != nil || a.OK {
						return nil, err
					}
					return nil, errors.New("no")
				})},
			}
			s := open(t)
			m := &script{steps: []step{calls(call("1", "Do", `{"text":"1"}`)), say("done")}}
			if _, err := run(t, m, o, s, "go"); err != nil {
				t.Fatal(err)
			}
			if err := s.Answer(t.Context(), "a", time.Now(), "1", json.RawMessage(`{"ok":true}`)); err != nil {
				t.Fatal(err)
			}
			change = c.then
			res, err := run(t, m, o, s, "")
			if err != nil || (res.Stop == agent.StopFinished) != c.ok || (len(log) == 1) != c.ok || (asked == 1) != c.ok {
				t.Errorf("%+v, %v, %q, asked %d times", res, err, log, asked)
			}
		})
	}
}

// TestARewriteIsNotTheFirstQuestionsAnswer: the answer to the question about a
// rewritten input, which waits, is none to the one about the input itself.
func TestARewriteIsNotTheFirstQuestionsAnswer(t *testing.T) {
	var log, asked []string
	answer := func(in string) (*agent.Answer, error) {
		if strings.Contains(in, "rm") {
			return &agent.Answer{OK: true, Data: json.RawMessage(`{"text":"ls"}`)}, nil
		}
		return nil, agent.ErrPending
	}
	o := agent.Options{
		Tools: []tool.Tool{logged(&log, "Do", false)},
		Ask: func(_ context.Context, _ *agent.Turn, q *agent.Question) (*agent.Answer, error) {
			asked = append(asked, string(q.Call.Input))
			return answer(string(q.Call.Input))
		},
		Middleware: []agent.Middleware{gating(func(ctx context.Context, tn *agent.Turn, c *tool.Call) (*tool.Result, error) {
			for {
				a, err := tn.Ask(ctx, &agent.Question{Kind: "approve", Call: &agent.QuestionCall{ID: c.ID, Name: c.Name, Input: c.Input}})
				switch {
				case err != nil:
					return nil, err
				case !a.OK:
					return nil, errors.New("no")
				case a.Data == nil:
					return nil, nil
				}
				c.Input = a.Data
			}
		})},
	}
	s := open(t)
	m := &script{steps: []step{calls(call("1", "Do", `{"text":"rm"}`)), say("done")}}
	if _, err := run(t, m, o, s, "go"); err != nil {
		t.Fatal(err)
	}
	if err := s.Answer(t.Context(), "a", time.Now(), "1", json.RawMessage(`{"ok":true}`)); err != nil {
		t.Fatal(err)
	}
	if res, err := run(t, m, o, s, ""); err != nil || res.Text != "done" || !slices.Equal(log, []string{"ran ls"}) {
		t.Errorf("%+v, %v, %q, asked %q", res, err, log, asked)
	}
}

// TestALateAnswerIsToNothing: of a question that the session went past, no answer
// is taken, also where a later call has the same id.
func TestALateAnswerIsToNothing(t *testing.T) {
	s := open(t)
	o := asking(func(*agent.Question) (*agent.Answer, error) { return nil, agent.ErrPending })
	m := &script{steps: []step{calls(call("1", "Echo", `{"text":"a"}`)), calls(call("2", "Echo", `{"text":"b"}`))}}
	first, err := run(t, m, o, s, "go")
	if err != nil {
		t.Fatal(err)
	}
	second, err := run(t, m, o, s, "something else")
	if err != nil || len(second.Questions) != 1 {
		t.Fatalf("%+v, %v", second, err)
	}
	late, err := json.Marshal(agent.Answer{OK: true, Question: first.Questions[0].ID})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Answer(t.Context(), "a", time.Now(), "2", late); err == nil || !strings.Contains(err.Error(), first.Questions[0].ID) {
		t.Errorf("%v", err)
	}
	right, err := json.Marshal(agent.Answer{OK: true, Question: second.Questions[0].ID})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Answer(t.Context(), "b", time.Now(), "2", right); err != nil {
		t.Error(err)
	}
	// While a run goes on it is the same.
	o = asking(func(q *agent.Question) (*agent.Answer, error) {
		return &agent.Answer{OK: true, Question: first.Questions[0].ID}, nil
	})
	m = &script{steps: []step{calls(call("1", "Echo", `{}`)), say("done")}}
	res, err := run(t, m, o, open(t), "go")
	if err != nil || res.Calls != 0 || len(res.Denied) != 1 || res.Denied[0].By != agent.ByNobody || !strings.Contains(res.Denied[0].Reason, "not to") {
		t.Errorf("%+v, %v", res, err)
	}
}

// TestTheModeOfTheMomentDecides: a yes from before the mode was switched is
// decided on in the mode of now.
func TestTheModeOfTheMomentDecides(t *testing.T) {
	var log []string
	plan := false
	o := agent.Options{
		Tools: []tool.Tool{logged(&log, "Do", false)},
		Ask: func(context.Context, *agent.Turn, *agent.Question) (*agent.Answer, error) {
			return nil, agent.ErrPending
		},
		Middleware: []agent.Middleware{gating(func(ctx context.Context, tn *agent.Turn, c *tool.Call) (*tool.Result, error) {
			if plan {
				tn.Decided(c, agent.Decision{By: agent.ByMode, Reason: "plan"})
				return nil, errors.New("plan mode only reads")
			}
			return nil, approve(ctx, tn, c)
		})},
	}
	s := open(t)
	m := &script{steps: []step{calls(call("1", "Do", `{}`)), say("done")}}
	if _, err := run(t, m, o, s, "go"); err != nil {
		t.Fatal(err)
	}
	if err := s.Answer(t.Context(), "a", time.Now(), "1", json.RawMessage(`{"ok":true}`)); err != nil {
		t.Fatal(err)
	}
	plan = true
	res, err := run(t, m, o, s, "")
	if err != nil || len(log) != 0 || len(res.Denied) != 1 || res.Denied[0].By != agent.ByMode {
		t.Errorf("%+v, %v, %q", res, err, log)
	}
}

// TestAnsweredElsewhereRunsOnce: the answer comes in another process, the run
// that carries it out is killed in the middle of the call, and the next one does
// not make the call again.
func TestAnsweredElsewhereRunsOnce(t *testing.T) {
	o := asking(func(*agent.Question) (*agent.Answer, error) { return nil, agent.ErrPending })
	dir, copied := t.TempDir(), t.TempDir()
	ran := 0
	o.Tools = []tool.Tool{tool.New(tool.Spec{Name: "Do", Access: tool.NoAccess}, func(context.Context, struct{}) (string, error) {
		if ran++; ran == 1 { // what a kill now would leave
			return "", os.CopyFS(copied, os.DirFS(dir))
		}
		return "", nil
	})}
	open := func(dir string) *session.Session {
		t.Helper()
		st, err := jsonl.Open(dir, jsonl.Options{})
		if err != nil {
			t.Fatal(err)
		}
		s, err := session.Open(t.Context(), st, "s", session.OpenOptions{Create: true})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	step1 := &script{steps: []step{calls(call("1", "Do", `{}`))}}
	s := open(dir)
	if res, err := run(t, step1, o, s, "go"); err != nil || res.Stop != agent.StopPending {
		t.Fatalf("%+v, %v", res, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(dir)
	if err := s.Answer(t.Context(), "a", time.Now(), "1", json.RawMessage(`{"ok":true}`)); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(dir)
	if res, err := run(t, &script{steps: []step{say("done")}}, o, s, ""); err != nil || res.Text != "done" || ran != 1 {
		t.Fatalf("%+v, %v, ran %d times", res, err, ran)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if left, err := filepath.Glob(filepath.Join(copied, "*")); err != nil || len(left) == 0 {
		t.Fatalf("nothing was copied: %v", err)
	}
	s = open(copied)
	m := &script{steps: []step{say("I shall look")}}
	if res, err := run(t, m, o, s, ""); err != nil || res.Text != "I shall look" || ran != 1 {
		t.Fatalf("%+v, %v, ran %d times", res, err, ran)
	}
	if got := results(m.reqs[0]); len(got) != 1 || !strings.Contains(got[0], "unknown") {
		t.Errorf("the model was told %q", got)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
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
