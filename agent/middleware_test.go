package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/agent"
	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/session"
	"github.com/cantle-dev/cantle/tool"
)

// tracing is a middleware that writes down what it wraps.
func tracing(name string, priority int, log *[]string) agent.Middleware {
	note := func(what string) { *log = append(*log, what+" "+name) }
	return agent.Middleware{
		Name: name, Priority: priority,
		Start: func(context.Context, *agent.Turn, *agent.Setup) error { note("start"); return nil },
		Prompt: func(_ context.Context, _ *agent.Turn, in llm.Parts) (llm.Parts, error) {
			note("prompt")
			return in, nil
		},
		Model: func(next agent.ModelFunc) agent.ModelFunc {
			return func(ctx context.Context, tn *agent.Turn, req *llm.Request) iter.Seq2[llm.Event, error] {
				note("model")
				return next(ctx, tn, req)
			}
		},
		Gate: func(next agent.GateFunc) agent.GateFunc {
			return func(ctx context.Context, tn *agent.Turn, c *tool.Call) (*tool.Result, error) {
				note("gate")
				return next(ctx, tn, c)
			}
		},
		Tool: func(next agent.ToolFunc) agent.ToolFunc {
			return func(ctx context.Context, tn *agent.Turn, c *tool.Call) (*tool.Result, error) {
				note("tool")
				return next(ctx, tn, c)
			}
		},
		Stop: func(context.Context, *agent.Turn) (llm.Parts, error) { note("stop"); return nil, nil },
	}
}

func TestMiddlewareOrder(t *testing.T) {
	var log []string
	m := &script{steps: []step{calls(call("1", "Echo", `{}`)), say("done")}}
	o := agent.Options{Tools: []tool.Tool{echo()}, Middleware: []agent.Middleware{
		tracing("inner", 10, &log), tracing("a", 0, &log), tracing("b", 0, &log), tracing("outer", -10, &log),
	}}
	if _, err := run(t, m, o, open(t), "go"); err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, what := range []string{"start", "prompt", "model", "gate", "tool", "model", "stop"} {
		for _, name := range []string{"outer", "a", "b", "inner"} {
			want = append(want, what+" "+name)
		}
	}
	if !slices.Equal(log, want) {
		t.Errorf("got  %q\nwant %q", log, want)
	}
	if o.Middleware[0].Name != "inner" {
		t.Error("the caller's slice was sorted")
	}
}

func TestPromptChangesWhatTheModelGets(t *testing.T) {
	s := open(t)
	add := agent.Middleware{Name: "add", Prompt: func(_ context.Context, _ *agent.Turn, in llm.Parts) (llm.Parts, error) {
		return append(slices.Clone(in), llm.Text{Text: " (todo: 3)"}), nil
	}}
	m := &script{steps: []step{say("ok")}}
	a, err := agent.New(m, agent.Options{Middleware: []agent.Middleware{add}})
	if err != nil {
		t.Fatal(err)
	}
	shown := 0
	for e, err := range a.Stream(t.Context(), s, llm.Text{Text: "go"}).Events() {
		if err != nil {
			t.Fatal(err)
		}
		if in, ok := e.Data.(agent.Input); ok {
			shown++
			if in.Parts.Text() != "go (todo: 3)" {
				t.Errorf("shown %q", in.Parts.Text())
			}
		}
	}
	if shown != 1 || m.reqs[0].Messages[0].Text() != "go (todo: 3)" {
		t.Errorf("shown %d times; the model saw %q", shown, m.reqs[0].Messages[0].Text())
	}
	for e, err := range s.Path(t.Context(), "message") {
		if err != nil {
			t.Fatal(err)
		}
		if d := e.Data.(session.Message); d.Kind == session.KindInput && d.Typed.Text() != "go" {
			t.Errorf("typed %q", d.Typed.Text())
		}
	}
}

func TestModelMiddlewareReplacesTheRequestAndSeesTheStream(t *testing.T) {
	var seen strings.Builder
	swap := agent.Middleware{Name: "swap", Model: func(next agent.ModelFunc) agent.ModelFunc {
		return func(ctx context.Context, tn *agent.Turn, req *llm.Request) iter.Seq2[llm.Event, error] {
			other := *req
			other.MaxTokens = 7
			return func(yield func(llm.Event, error) bool) {
				for e, err := range next(ctx, tn, &other) {
					if d, ok := e.(llm.TextDelta); ok {
						seen.WriteString(d.Text)
					}
					if !yield(e, err) {
						return
					}
				}
			}
		}
	}}
	m := &script{steps: []step{say("hello")}}
	res, err := run(t, m, agent.Options{Middleware: []agent.Middleware{swap}}, open(t), "go")
	if err != nil || res.Text != "hello" || seen.String() != "hello" || m.reqs[0].MaxTokens != 7 {
		t.Errorf("%+v, %v, saw %q, %+v", res, err, seen.String(), m.reqs[0])
	}
}

func TestToolMiddlewareAnswersOrFails(t *testing.T) {
	cache := agent.Middleware{Name: "cache", Tool: func(next agent.ToolFunc) agent.ToolFunc {
		return func(ctx context.Context, tn *agent.Turn, c *tool.Call) (*tool.Result, error) {
			switch c.ID {
			case "1":
				return tool.Text("cached"), nil
			case "2":
				return nil, errors.New("not now")
			case "3":
				panic("a bug")
			}
			return next(ctx, tn, c)
		}
	}}
	m := &script{steps: []step{calls(call("1", "Echo", `{}`), call("2", "Echo", `{}`), call("3", "Echo", `{}`), call("4", "Echo", `{}`)), say("done")}}
	res, err := run(t, m, agent.Options{Tools: []tool.Tool{echo()}, Middleware: []agent.Middleware{cache}}, open(t), "go")
	if err != nil || res.Stop != agent.StopFinished {
		t.Fatalf("%+v, %v", res, err)
	}
	if got := results(m.reqs[1]); !slices.Equal(got, []string{"cached", "not now", "internal error: a bug", "echo "}) {
		t.Errorf("%q", got)
	}
}

func TestAnObserverCannotFailARun(t *testing.T) {
	n := 0
	bad := agent.Middleware{Name: "bad", Event: func(_ context.Context, _ *agent.Turn, e agent.EventData) {
		if _, ok := e.(agent.Warning); !ok {
			panic("no")
		}
		n++
	}}
	res, err := run(t, &script{steps: []step{say("ok")}}, agent.Options{Middleware: []agent.Middleware{bad}}, open(t), "go")
	if err != nil || res.Text != "ok" || n == 0 {
		t.Errorf("%+v, %v, %d warnings", res, err, n)
	}
}

func TestAskMiddlewareAnswersFirst(t *testing.T) {
	asked := 0
	o := asking(func(*agent.Question) (*agent.Answer, error) { asked++; return &agent.Answer{}, nil })
	o.Middleware = append(o.Middleware, agent.Middleware{Name: "reviewer", Ask: func(next agent.AskFunc) agent.AskFunc {
		return func(ctx context.Context, tn *agent.Turn, q *agent.Question) (*agent.Answer, error) {
			if q.Call.ID == "1" {
				return &agent.Answer{OK: true}, nil
			}
			return next(ctx, tn, q)
		}
	}})
	m := &script{steps: []step{calls(call("1", "Echo", `{}`), call("2", "Echo", `{}`)), say("done")}}
	res, err := run(t, m, o, open(t), "go")
	if err != nil || asked != 1 || res.Calls != 1 || len(res.Denied) != 1 || res.Denied[0].CallID != "2" {
		t.Errorf("%+v, %v, asked %d times", res, err, asked)
	}
}

// TestOneGateForAll: a gate decides the calls of children too, made from
// a copy of the options, and those of any kind of tool.
func TestOneGateForAll(t *testing.T) {
	var decided []string
	gate := agent.Middleware{Name: "gate", Gate: func(next agent.GateFunc) agent.GateFunc {
		return func(ctx context.Context, tn *agent.Turn, c *tool.Call) (*tool.Result, error) {
			decided = append(decided, tn.Path+" "+c.Name)
			if c.Name == "Custom" {
				return nil, errors.New("not this one")
			}
			return next(ctx, tn, c)
		}
	}}
	ran := 0
	custom := tool.New(tool.Spec{Name: "Custom"}, func(context.Context, struct{}) (string, error) { ran++; return "ok", nil })
	child := func() llm.Model {
		return &script{steps: []step{calls(call("1", "Custom", `{}`), call("2", "Echo", `{}`)), say("from the child")}}
	}
	m := &script{steps: []step{calls(call("1", "Agent", `{}`)), calls(call("2", "Custom", `{}`)), say("done")}}
	res, err := run(t, m, agent.Options{
		Tools:      []tool.Tool{echo(), spawner(child, func(o *agent.Options) { o.Tools = []tool.Tool{echo(), custom} }), custom},
		Middleware: []agent.Middleware{gate},
	}, open(t), "go")
	if err != nil || ran != 0 {
		t.Fatalf("%+v, %v, ran %d times", res, err, ran)
	}
	if want := []string{" Agent", "child1 Custom", "child1 Echo", " Custom"}; !slices.Equal(decided, want) {
		t.Errorf("decided %q, want %q", decided, want)
	}
}

func TestAChildsFailureIsAnErrorForItsParent(t *testing.T) {
	child := func() llm.Model {
		return &script{steps: []step{{parts: llm.Texts("usage limit reached"), err: &llm.Error{Kind: llm.KindQuota, Message: "usage limit reached"}}}}
	}
	m := &script{steps: []step{calls(call("1", "Agent", `{}`)), say("done")}}
	s := open(t)
	if _, err := run(t, m, agent.Options{Tools: []tool.Tool{spawner(child, nil)}}, s, "go"); err != nil {
		t.Fatal(err)
	}
	r := s.Messages()[2].Parts[0].(llm.ToolResult)
	if !r.IsError || !strings.Contains(r.Parts.Text(), "usage limit reached") {
		t.Errorf("%+v", r)
	}
}

func TestOneCallsTroubleIsItsOwn(t *testing.T) {
	fail := tool.New(tool.Spec{Name: "Grep", ReadOnly: true, Parallel: true}, func(context.Context, struct{}) (string, error) {
		return "", errors.New("exit status 1")
	})
	m := &script{steps: []step{
		calls(call("1", "Read\n", `{}`), call("2", "Grep", `{}`), call("3", "Echo", `{"text":"hi"}`), call("4", "", `{}`)), say("done"),
	}}
	res, err := run(t, m, agent.Options{Tools: []tool.Tool{echo(), fail}}, open(t), "go")
	if err != nil || res.Stop != agent.StopFinished {
		t.Fatalf("%+v, %v", res, err)
	}
	got := results(m.reqs[1])
	if len(got) != 4 || !strings.Contains(got[0], "No tool is named") || got[1] != "exit status 1" || got[2] != "echo hi" || !strings.Contains(got[3], "No tool") {
		t.Errorf("%q", got)
	}
}

func TestChildLimits(t *testing.T) {
	kid := &script{}
	for i := range 30 {
		kid.steps = append(kid.steps, calls(call("1", "Echo", `{"text":"`+strings.Repeat("x", i)+`"}`)))
	}
	m := &script{steps: []step{calls(call("1", "Agent", `{}`)), say("done")}}
	o := agent.Options{Tools: []tool.Tool{spawner(func() llm.Model { return kid }, func(o *agent.Options) { o.Tools = []tool.Tool{echo()} })}}
	if _, err := run(t, m, o, open(t), "go"); err != nil || len(kid.reqs) != agent.DefaultChildTurns {
		t.Errorf("%d requests, %v", len(kid.reqs), err)
	}
	if got := results(m.reqs[1])[0]; !strings.Contains(got, "max_turns") {
		t.Errorf("the parent was told %q", got)
	}
}

// streamed is a model whose one answer comes in pieces of n bytes.
type streamed struct {
	text string
	n    int
	tool bool
}

func (m streamed) Info() llm.Info {
	return llm.Info{Provider: "t", Name: "m", Traits: llm.Traits{Schema: !m.tool}}
}

func (m streamed) Stream(_ context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		for piece := range slices.Chunk([]byte(m.text), m.n) {
			var e llm.Event = llm.TextDelta{Text: string(piece)}
			if m.tool {
				e = llm.CallDelta{ID: "1", Name: agent.AnswerTool, Input: string(piece)}
			}
			if !yield(e, nil) {
				return
			}
		}
		parts := llm.Texts(m.text)
		if m.tool {
			parts = llm.Parts{llm.ToolCall{ID: "1", Name: agent.AnswerTool, Input: json.RawMessage(m.text)}}
		}
		yield(llm.Done{Response: &llm.Response{Message: llm.Message{Role: llm.RoleAssistant, Parts: parts}}}, nil)
	}
}

func TestPartialsAreValidHoweverTheAnswerIsCut(t *testing.T) {
	const answer = `{"city":"Os\"lo, \\ é","list":[1,{"a":[true,null,"` + "x, y: {]" + `"]},-2.5e3],"text":"` +
		"0123456789012345678901234567890123456789012345678901234567890123456789" + `","end":{"deep":[[[]]]}}`
	schema := &llm.Schema{Name: "a", JSON: json.RawMessage(`{"type":"object"}`)}
	for _, byTool := range []bool{false, true} {
		for n := 1; n < 40; n++ {
			a, err := agent.New(streamed{answer, n, byTool}, agent.Options{Schema: schema})
			if err != nil {
				t.Fatal(err)
			}
			st := a.Stream(t.Context(), open(t), llm.Text{Text: "go"})
			count := 0
			for e, err := range st.Events() {
				if err != nil {
					t.Fatal(err)
				}
				if p, ok := e.Data.(agent.Partial); ok {
					count++
					var v map[string]any
					if err := json.Unmarshal(p.Value, &v); err != nil {
						t.Fatalf("pieces of %d: %s: %v", n, p.Value, err)
					}
				}
			}
			if res := st.Result(); string(res.Value) != answer || count < 2 {
				t.Fatalf("pieces of %d: %d partials, %+v", n, count, res)
			}
		}
	}
}
