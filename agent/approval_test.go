package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cantle-dev/cantle/agent"
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
