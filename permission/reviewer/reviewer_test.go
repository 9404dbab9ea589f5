package reviewer_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cantle-dev/cantle/agent"
	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/llmtest"
	"github.com/cantle-dev/cantle/permission"
	"github.com/cantle-dev/cantle/permission/reviewer"
	"github.com/cantle-dev/cantle/session"
	"github.com/cantle-dev/cantle/tool"
)

func TestEachVerdict(t *testing.T) {
	m := llmtest.New(t,
		says("allow", "the tests are what was asked for"),
		says("deny", "the task is about\ntests\u202e alone"),
		says("ask", "it is not clear"))
	w := newWorld(t, m)
	w.answer = func() *agent.Answer { return &agent.Answer{OK: true} }
	w.run(t, "Run the tests.", bash("go test ./..."), bash("git add ."), bash("mkdir out"))
	if len(w.ran) != 2 || !strings.Contains(w.ran[0], "go test") || !strings.Contains(w.ran[1], "mkdir") {
		t.Errorf("ran %q", w.ran)
	}
	if len(w.asked) != 1 || !strings.Contains(string(w.asked[0].Call.Input), "mkdir") {
		t.Errorf("asked %+v", w.asked)
	}
	if got := w.results()[1]; !strings.Contains(got, `the reviewer said no: the task is about tests\u{202e} alone`) || strings.Contains(got, "the user") {
		t.Errorf("the model was told %q", got)
	}
	var by []string
	for _, e := range w.events {
		switch d := e.Data.(type) {
		case agent.Answered:
			by = append(by, d.By+": "+d.Reason)
		case agent.ToolFinished:
			if d.Decision == nil {
				t.Errorf("no decision on %s", d.Call.Input)
				continue
			}
			by = append(by, d.Decision.By)
		}
	}
	want := "reviewer: allowed by the reviewer: the tests are what was asked for|reviewer|" +
		`reviewer: the reviewer said no: the task is about tests\u{202e} alone|reviewer|user: |user`
	if got := strings.Join(by, "|"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	rs := w.reviews(t)
	if len(rs) != 3 || rs[0].Verdict != permission.Allow || rs[1].Verdict != permission.Deny || rs[2].Verdict != permission.Ask || !rs[2].Asked || rs[2].Reason != "it is not clear" {
		t.Errorf("%+v", rs)
	}
}

// TestFirmIsTheUsers: what only a person may answer does not come to the model.
func TestFirmIsTheUsers(t *testing.T) {
	m := newObedient()
	w := newWorld(t, m)
	w.perm.Rules = permission.Rules{Ask: []string{"Bash(make:*)"}, Deny: []string{"Bash(just:*)"}}
	w.run(t, "Do all of it.",
		bash("make test"),             // an ask rule
		bash("just test"),             // a deny rule
		bash("touch .git/hooks/post"), // sensitive
		bash("cp .env.x/../.env out"), // sensitive
		bash("go test > .bashrc"),     // sensitive
		llmtest.Call("Write", map[string]string{"file_path": ".vscode/tasks.json"}),
		llmtest.Call("Read", map[string]string{"file_path": "/home/u/.ssh/id_rsa"}),
	)
	if m.asked() != 0 || len(w.ran) != 0 || len(w.asked) != 6 {
		t.Errorf("the model was asked %d times, ran %q, the user %d times", m.asked(), w.ran, len(w.asked))
	}
	if rs := w.reviews(t); len(rs) != 0 {
		t.Errorf("%+v", rs)
	}
}

// TestOnlyApprovals: other questions, and approvals that do not come from the
// gate, are the user's.
func TestOnlyApprovals(t *testing.T) {
	m := newObedient()
	w := newWorld(t, m)
	put := []*agent.Question{
		{Kind: "plan", Call: &agent.QuestionCall{Name: "Bash"}, Data: json.RawMessage(`{"reason":"x"}`)},
		{Kind: "approve", Data: json.RawMessage(`{"reason":"x"}`)},
		{Kind: "approve", Call: &agent.QuestionCall{Name: "Bash", Input: json.RawMessage(`{}`)}},
		{Kind: "approve", Call: &agent.QuestionCall{Name: "Bash", Input: json.RawMessage(`{}`)}, Data: json.RawMessage(`{"reason":""}`)},
		{Kind: "approve", Call: &agent.QuestionCall{Name: "None", Input: json.RawMessage(`{}`)}, Data: json.RawMessage(`{"reason":"x"}`)},
		{Kind: "approve", Call: &agent.QuestionCall{Name: "Bash", Input: json.RawMessage("{\"a\":\"\xff\"}")}, Data: json.RawMessage(`{"reason":"x"}`)},
	}
	w.agent.Middleware = []agent.Middleware{{Name: "asks", Tool: func(next agent.ToolFunc) agent.ToolFunc {
		return func(ctx context.Context, tn *agent.Turn, c *tool.Call) (*tool.Result, error) {
			for _, q := range put {
				if a, err := tn.Ask(ctx, q); err != nil || a.OK {
					t.Errorf("%+v: %+v, %v", q, a, err)
				}
			}
			return next(ctx, tn, c)
		}
	}}}
	w.perm.Mode = permission.Bypass
	w.run(t, "Go.", bash("ls"))
	if len(w.asked) != len(put) || m.asked() != 0 {
		t.Errorf("the user was asked %d times of %d, the model %d times", len(w.asked), len(put), m.asked())
	}
}

// stuck is a model that pays no attention to its context.
type stuck struct{ free chan struct{} }

func (stuck) Info() llm.Info { return llm.Info{Provider: "t", Name: "stuck"} }

func (s stuck) Stream(context.Context, *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		<-s.free
		yield(nil, errors.New("late"))
	}
}

// broken is a model that panics.
type broken struct{ stuck }

func (broken) Stream(context.Context, *llm.Request) iter.Seq2[llm.Event, error] { panic("a bug") }

// TestTroubleIsTheUsers: whatever becomes of the helper, the run goes on and the
// user is asked; headless nobody is, and the answer is no.
func TestTroubleIsTheUsers(t *testing.T) {
	for _, tt := range []struct {
		name   string
		model  func(t *testing.T) llm.Model
		change func(w *world)
		want   string
	}{
		{"error", func(t *testing.T) llm.Model { return llmtest.New(t, llmtest.Status(500, nil)) }, nil, "500"},
		{"cut", func(t *testing.T) llm.Model { return llmtest.New(t, says("allow", "x").CutAfter(1)) }, nil, "cut"},
		{"time", func(t *testing.T) llm.Model { return llmtest.New(t, llmtest.Stall()) }, nil, "it took too long: 30s"},
		{"own time", func(t *testing.T) llm.Model { return llmtest.New(t, llmtest.Stall()) }, func(w *world) { w.o.Timeout = time.Second }, "it took too long: 1s"},
		{"time of the question", func(t *testing.T) llm.Model { return llmtest.New(t, llmtest.Stall()) }, func(w *world) { w.perm.AskTimeout = 4 * time.Second }, "it took too long: 2s"},
		{"deaf", func(t *testing.T) llm.Model {
			s := stuck{make(chan struct{})}
			t.Cleanup(func() { close(s.free) })
			return s
		}, nil, "it took too long"},
		{"panic", func(*testing.T) llm.Model { return broken{} }, nil, "it broke down: a bug"},
		{"budget", func(*testing.T) llm.Model { return newObedient() }, func(w *world) {
			// The conversation is far smaller than what the reviewer is told.
			w.o.Instructions = strings.Repeat("be careful ", 2900)
			w.agent.Budget.Tokens = 6000
		}, "over budget"},
		{"durable", func(t *testing.T) llm.Model { return llmtest.New(t, llmtest.Stall()) }, func(w *world) {
			w.agent.Parallel = func(n int, f func(int)) {
				for i := range n {
					f(i)
				}
			}
		}, "it took too long"},
	} {
		for _, headless := range []bool{false, true} {
			t.Run(tt.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := newWorld(t, tt.model(t))
					w.answer = func() *agent.Answer { return &agent.Answer{OK: true} }
					if headless {
						w.agent.Ask = func(context.Context, *agent.Turn, *agent.Question) (*agent.Answer, error) {
							return &agent.Answer{Reason: "nobody is there", By: agent.ByNobody}, nil
						}
					}
					if tt.change != nil {
						tt.change(w)
					}
					res := w.run(t, "Run the tests.", bash("go test ./..."))
					if res.Stop != agent.StopFinished || res.Text != "done" {
						t.Fatalf("%+v", res)
					}
					if !headless && (len(w.asked) != 1 || len(w.ran) != 1) || headless && len(w.ran) != 0 {
						t.Errorf("asked %d, ran %q", len(w.asked), w.ran)
					}
					rs := w.reviews(t)
					if len(rs) != 1 || rs[0].Verdict != permission.Ask || !strings.Contains(rs[0].Reason, tt.want) {
						t.Errorf("%+v", rs)
					}
					if got := w.warnings(); !strings.Contains(got, tt.want) {
						t.Errorf("warned %q", got)
					}
					if headless && !strings.Contains(w.results()[0], "nobody is there") {
						t.Errorf("%q", w.results())
					}
				})
			})
		}
	}
}

func TestCancelledIsNotAnswered(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	m := llmtest.Func(llm.Info{Provider: "t", Name: "m", Traits: llm.Traits{Schema: true}}, func(ctx context.Context, _ *llm.Request) (*llm.Response, error) {
		cancel()
		<-ctx.Done()
		return nil, ctx.Err()
	})
	w := newWorld(t, m)
	w.answer = func() *agent.Answer { return &agent.Answer{OK: true} }
	a, err := agent.New(llmtest.New(t, bash("go test ./...")), w.options(t))
	if err != nil {
		t.Fatal(err)
	}
	s, err := session.Open(t.Context(), w.store, "s", session.OpenOptions{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	if res, _ := a.Run(ctx, s, llm.Text{Text: "Run the tests."}); len(w.ran) != 0 || res.Stop != agent.StopInterrupted {
		t.Errorf("ran %q, %+v", w.ran, res)
	}
}

func TestCostIsTheRuns(t *testing.T) {
	m := llmtest.New(t, says("allow", "fine").Usage(llm.Usage{Input: 1000, Output: 10}))
	w := newWorld(t, m)
	res := w.run(t, "Run the tests.", bash("go test ./..."))
	if res.Usage.Input < 1000 || res.Cost == nil || *res.Cost <= 0 {
		t.Errorf("%+v, %v", res.Usage, res.Cost)
	}
	s, err := session.Open(t.Context(), w.store, "s", session.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for n, err := range s.Path(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if note, ok := n.Data.(session.Note); ok && strings.Contains(string(note.Data), `"reviewer"`) {
			found = true
		}
	}
	if !found {
		t.Error("what the reviewer used is not in the journal")
	}
}

// TestDeniedAgain: the model is not asked of the same call twice, and after three
// denials in a row the user is.
func TestDeniedAgain(t *testing.T) {
	m := llmtest.New(t, says("deny", "not now"), says("deny", "nor this"), says("deny", "nor that"), says("allow", "well"))
	w := newWorld(t, m)
	w.run(t, "Work.",
		llmtest.Call("Bash", map[string]any{"command": "go test ./...", "note": 1}),
		llmtest.Call("Bash", map[string]any{"note": 1, "command": "go test ./..."}), // the same
		bash("mkdir a"), // the third denial
		bash("mkdir b"), // the user's: no
		bash("mkdir c"), // the reviewer's again: no
		bash("mkdir b"), // the user said no
		bash("mkdir d"), // yes
	)
	if len(w.asked) != 2 || !strings.Contains(string(w.asked[0].Call.Input), "mkdir b") || !strings.Contains(string(w.asked[1].Call.Input), "mkdir b") {
		t.Errorf("asked %d times", len(w.asked))
	}
	if len(w.ran) != 1 || !strings.Contains(w.ran[0], "mkdir d") {
		t.Errorf("ran %q", w.ran)
	}
	if got := w.results(); !strings.Contains(got[1], "not now") || !strings.Contains(got[3], "no, says the user") {
		t.Errorf("%q", got)
	}
	// What the user refused is told to the reviewer.
	if text := m.Requests()[2].Messages[0].Text(); !strings.Contains(text, "user_refused_before") || !strings.Contains(text, "no, says the user") {
		t.Errorf("%s", text)
	}
	// Another run begins anew.
	m.Add(says("allow", "now"))
	before := len(w.ran)
	w.run(t, "Now run the tests.", llmtest.Call("Bash", map[string]any{"command": "go test ./...", "note": 1}))
	if len(w.ran) != before+1 {
		t.Errorf("ran %q", w.ran)
	}
}

// TestGrantsNothing: an answer is for the one call, with the input that it had.
func TestGrantsNothing(t *testing.T) {
	m := llmtest.New(t, says("allow", "once"), says("ask", "again?"))
	w := newWorld(t, m)
	w.run(t, "Run the tests.", bash("go test ./a"), bash("go test ./b"))
	if len(w.ran) != 1 || len(w.asked) != 1 {
		t.Errorf("ran %q, asked %d", w.ran, len(w.asked))
	}
	s, err := session.Open(t.Context(), w.store, "s", session.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range s.Notes(t.Context(), permission.NoteKind) {
		t.Errorf("a permission was recorded: %v", err)
	}
}

// TestStartSaysWhatIsWrong: options that cannot be used end the run.
func TestStartSaysWhatIsWrong(t *testing.T) {
	for _, tt := range []struct {
		o    reviewer.Options
		want string
	}{
		{reviewer.Options{Roots: []string{"rel"}}, "not absolute"},
		{reviewer.Options{Rules: permission.Rules{Allow: []string{"Bash("}}}, "bracket"},
		{reviewer.Options{Instructions: strings.Repeat("x", 40<<10)}, "shorten"},
	} {
		a, err := agent.New(llmtest.New(nil), agent.Options{Middleware: []agent.Middleware{reviewer.New(newObedient(), tt.o)}})
		if err != nil {
			t.Fatal(err)
		}
		s, err := session.Open(t.Context(), new(session.Memory), "s", session.OpenOptions{Create: true})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.Run(t.Context(), s, llm.Text{Text: "go"}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: %v", tt.o, err)
		}
	}
}

// TestTheGateHasTheLastWord: what changed while the reviewer was thinking counts.
func TestTheGateHasTheLastWord(t *testing.T) {
	var w *world
	m := llmtest.Func(llm.Info{Provider: "t", Name: "m", Traits: llm.Traits{Schema: true}}, func(context.Context, *llm.Request) (*llm.Response, error) {
		w.gate.SetMode(permission.Plan)
		return &llm.Response{Message: llm.Message{Role: llm.RoleAssistant, Parts: llm.Texts(`{"reason":"ok","verdict":"allow"}`)}, Stop: llm.StopEnd}, nil
	})
	w = newWorld(t, m)
	if w.run(t, "Run the tests.", bash("go test ./...")); len(w.ran) != 0 || !strings.Contains(w.results()[0], "plan mode") {
		t.Errorf("ran %q, %q", w.ran, w.results())
	}
}

// TestPendingIsPending: a question that goes on to the user may wait for him.
func TestPendingIsPending(t *testing.T) {
	m := llmtest.New(t, says("ask", "?"))
	w := newWorld(t, m)
	w.agent.Ask = func(context.Context, *agent.Turn, *agent.Question) (*agent.Answer, error) {
		return nil, agent.ErrPending
	}
	res := w.runModel(t, llmtest.New(t, bash("go test ./...")), "Run the tests.")
	if res.Stop != agent.StopPending || len(res.Questions) != 1 || len(w.ran) != 0 {
		t.Errorf("%+v, ran %q", res, w.ran)
	}
}

// TestManyAtOnce: runs share a reviewer, and none sees what another decided.
func TestManyAtOnce(t *testing.T) {
	m := llmtest.Func(llm.Info{Provider: "t", Name: "m", Traits: llm.Traits{Schema: true}}, func(_ context.Context, req *llm.Request) (*llm.Response, error) {
		verdict := "allow"
		if strings.Contains(req.Messages[0].Text(), "Do not.") {
			verdict = "deny"
		}
		return &llm.Response{
			Message: llm.Message{Role: llm.RoleAssistant, Parts: llm.Texts(`{"reason":"so","verdict":"` + verdict + `"}`)}, Stop: llm.StopEnd,
		}, nil
	})
	w := newWorld(t, m)
	o := w.options(t)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			words := "Do."
			if i%2 == 1 {
				words = "Do not."
			}
			a, err := agent.New(llmtest.New(nil, bash("go test ./..."), bash("go test ./..."), llmtest.Say("done")), o)
			if err != nil {
				t.Error(err)
				return
			}
			s, err := session.Open(t.Context(), w.store, fmt.Sprint(i), session.OpenOptions{Create: true})
			if err != nil {
				t.Error(err)
				return
			}
			if res, err := a.Run(t.Context(), s, llm.Text{Text: words}); err != nil || len(res.Denied) != 2*(i%2) {
				t.Errorf("%d: %+v, %v", i, res, err)
			}
		})
	}
	wg.Wait()
	if len(w.ran) != 8 || len(w.asked) != 0 {
		t.Errorf("ran %d, asked %d", len(w.ran), len(w.asked))
	}
}
