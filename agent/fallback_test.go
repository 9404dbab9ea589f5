package agent_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/agent"
	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/llmtest"
	"github.com/cantle-dev/cantle/llm/wrap"
	"github.com/cantle-dev/cantle/tool"
)

// named is a script of that name.
func named(t *testing.T, name string, steps ...llmtest.Reply) *llmtest.Script {
	m := llmtest.New(t, steps...)
	i := m.Info()
	i.Provider, i.Name = "p", name
	m.SetInfo(i)
	return m
}

// retrying is m with three attempts that wait for nothing.
func retrying(m llm.Model) llm.Model {
	return wrap.Retry(m, wrap.RetryOptions{Attempts: 3, Rand: func() float64 { return 0 }})
}

func fails(k llm.Kind) llmtest.Reply { return llmtest.Fail(&llm.Error{Kind: k, Message: "no"}) }

// TestFallbackForOneTurnOfTheUser: the second model answers when the first was
// busy three times, and all that follows in the run, also what is steered in,
// a notice, and a side call; the next run begins with the first again.
func TestFallbackForOneTurnOfTheUser(t *testing.T) {
	main := named(t, "main", append(llmtest.Times(3, fails(llm.KindOverloaded)), llmtest.Say("I am back"), llmtest.Say("a title, too"))...)
	spare := named(t, "spare", llmtest.Call("Note", nil), llmtest.Say("done"), llmtest.Say("a title"))
	m := wrap.Fallback(retrying(main), wrap.FallbackOptions{Turn: byRun}, retrying(spare))
	note := tool.New(tool.Spec{Name: "Note", ReadOnly: true, Access: tool.NoAccess}, func(ctx context.Context, _ struct{}) (string, error) {
		agent.FromContext(ctx).Notice(llm.Text{Text: "something changed"})
		return "ok", nil
	})
	title := agent.Middleware{Name: "title", Stop: func(ctx context.Context, tn *agent.Turn) (llm.Parts, error) {
		_, err := tn.Generate(ctx, "title", nil, &llm.Request{Messages: []llm.Message{llm.UserText("title?")}})
		return nil, err
	}}
	a, s := newAgent(t, m, agent.Options{Tools: []tool.Tool{note}, Middleware: []agent.Middleware{title}}), open(t)
	seen, res, err := watch[agent.Switched](t, a, s, llm.Text{Text: "go"})
	if err != nil || res.Text != "done" || len(seen) != 1 || seen[0].From != "p:main" || seen[0].To != "p:spare" || !strings.Contains(seen[0].Error, "tried 3 times") {
		t.Fatalf("%+v, %+v, %v", seen, res, err)
	}
	if seen, res, err = watch[agent.Switched](t, a, s, llm.Text{Text: "and now?"}); err != nil || res.Text != "I am back" || len(seen) != 0 {
		t.Errorf("%+v, %+v, %v", seen, res, err)
	}
}

// TestAWrongRequestIsNotSentElsewhere, since the fault must show.
func TestAWrongRequestIsNotSentElsewhere(t *testing.T) {
	m := wrap.Fallback(retrying(named(t, "main", fails(llm.KindInvalidRequest))), wrap.FallbackOptions{Turn: byRun}, named(t, "spare"))
	res, err := run(t, m, agent.Options{}, open(t), "go")
	if !llm.IsKind(err, llm.KindInvalidRequest) || res.Stop != agent.StopError {
		t.Errorf("%+v, %v", res, err)
	}
}

// TestAHelpersFailureEndsNoRun: whoever asked for a side call that fails, and
// whatever it does with the error, the run goes on, and the user is told.
func TestAHelpersFailureEndsNoRun(t *testing.T) {
	helper := func() llm.Model { return named(t, "helper", fails(llm.KindQuota)) }
	ask := func(ctx context.Context, tn *agent.Turn) error {
		_, err := tn.Generate(ctx, "help", helper(), &llm.Request{Messages: []llm.Message{llm.UserText("?")}})
		if !llm.IsKind(err, llm.KindQuota) {
			t.Errorf("the helper's error is %v", err)
		}
		return err
	}
	for name, mw := range map[string]agent.Middleware{
		"title": {Stop: func(ctx context.Context, tn *agent.Turn) (llm.Parts, error) { return nil, ask(ctx, tn) }},
		"reviewer": {Gate: func(next agent.GateFunc) agent.GateFunc {
			return func(ctx context.Context, tn *agent.Turn, c *tool.Call) (*tool.Result, error) {
				return nil, ask(ctx, tn)
			}
		}},
		"tool": {Tool: func(next agent.ToolFunc) agent.ToolFunc {
			return func(ctx context.Context, tn *agent.Turn, c *tool.Call) (*tool.Result, error) {
				return nil, ask(ctx, tn)
			}
		}},
		"compaction": {Model: func(next agent.ModelFunc) agent.ModelFunc {
			return func(ctx context.Context, tn *agent.Turn, req *llm.Request) iter.Seq2[llm.Event, error] {
				if tn.Number == 1 {
					_ = ask(ctx, tn)
				}
				return next(ctx, tn, req)
			}
		}},
		"prompt": {Prompt: func(ctx context.Context, tn *agent.Turn, in llm.Parts) (llm.Parts, error) {
			_ = ask(ctx, tn)
			return in, nil
		}},
	} {
		m := llmtest.New(t, llmtest.Call("Echo", nil), llmtest.Say("done"))
		a := newAgent(t, m, agent.Options{Tools: []tool.Tool{echo()}, Middleware: []agent.Middleware{mw}})
		seen, res, err := watch[agent.Warning](t, a, open(t), llm.Text{Text: "go"})
		if err != nil || res.Stop != agent.StopFinished || res.Text != "done" || len(seen) != 1 || !strings.Contains(seen[0].Text, "help: p:helper: quota: no") {
			t.Errorf("%s: %+v, %+v, %v", name, seen, res, err)
		}
	}
}

// TestAHelpersErrorIsNotTheRequests: one that a Model function gives up for is
// not taken for the conversation's own: nothing is taken out of the view for it,
// and what it used is counted once.
func TestAHelpersErrorIsNotTheRequests(t *testing.T) {
	used := llm.Usage{Input: 100, Output: 10}
	over := &llm.Error{Kind: llm.KindContextOverflow, Message: "too long", Partial: &llm.Response{Usage: &used}}
	helper := &script{steps: []step{{err: over}}}
	mw := agent.Middleware{Name: "compact", Model: func(next agent.ModelFunc) agent.ModelFunc {
		return func(ctx context.Context, tn *agent.Turn, req *llm.Request) iter.Seq2[llm.Event, error] {
			if tn.Number == 1 {
				return next(ctx, tn, req)
			}
			return func(yield func(llm.Event, error) bool) {
				_, err := tn.Generate(ctx, "compaction", helper, req)
				yield(nil, err)
			}
		}
	}}
	s := open(t)
	m := &script{steps: []step{{parts: llm.Parts{call("1", "Read", `{}`)}, usage: used}}}
	res, err := run(t, m, agent.Options{Tools: []tool.Tool{reader(5000)}, Middleware: []agent.Middleware{mw}}, s, "go")
	if err == nil || res.Stop != agent.StopError || len(compactions(t, s)) > 0 || res.Usage.Requests != 2 || res.Usage.Total() != 220 {
		t.Errorf("%+v, %v", res, err)
	}
}

// TestAStopFunctionsOwnFailure is another thing: that of no helper fails the run.
func TestAStopFunctionsOwnFailure(t *testing.T) {
	mw := agent.Middleware{Name: "mine", Stop: func(context.Context, *agent.Turn) (llm.Parts, error) { return nil, errors.New("broken") }}
	if res, err := run(t, llmtest.New(t, llmtest.Say("ok")), agent.Options{Middleware: []agent.Middleware{mw}}, open(t), "go"); err == nil || res.Stop != agent.StopError {
		t.Errorf("%+v, %v", res, err)
	}
}

// TestAViewMadeSmallerIsNoCacheBreak: a watch that is told of it says nothing,
// and one that is not names the message that is another.
func TestAViewMadeSmallerIsNoCacheBreak(t *testing.T) {
	for _, told := range []bool{true, false} {
		over := llmtest.Fail(&llm.Error{Kind: llm.KindTooLarge, Message: "no"})
		m := llmtest.New(t,
			llmtest.Call("Read", nil).Usage(llm.Usage{Input: 1, CacheWrite: 9000}), llmtest.Call("Echo", nil).Usage(llm.Usage{Input: 1, CacheRead: 9000}),
			over, llmtest.Parts().Stop(llm.StopPause).Usage(llm.Usage{Input: 9000}), llmtest.Say("done"))
		w := wrap.CacheWatch(m, wrap.CacheWatchOptions{})
		watching := agent.Middleware{Name: "cachewatch", Event: func(_ context.Context, tn *agent.Turn, e agent.EventData) {
			if _, ok := e.(agent.Compacted); ok && told {
				w.Reset(tn.Session.ID())
			}
		}}
		a := newAgent(t, w, agent.Options{Tools: []tool.Tool{reader(5000), echo()}, Middleware: []agent.Middleware{watching}})
		seen, res, err := watch[agent.Notice](t, a, open(t), llm.Text{Text: "go"})
		if err != nil || res.Text != "done" || told && len(seen) != 0 || !told && (len(seen) != 1 || !strings.Contains(seen[0].Text, "message 3 of 3 changed (result of Read)")) {
			t.Errorf("told %v: %+v, %+v, %v", told, seen, res, err)
		}
	}
}

// TestAJudgeIsASideCall: the route's question is priced and budgeted with the
// run, and where the judge fails the rules decide.
func TestAJudgeIsASideCall(t *testing.T) {
	side := func(ctx context.Context, m llm.Model, req *llm.Request) (*llm.Response, error) {
		return agent.FromContext(ctx).Generate(ctx, "route", m, req)
	}
	judge := named(t, "judge", llmtest.Say("plain"), fails(llm.KindQuota))
	m := wrap.Route(named(t, "frontier"), named(t, "cheap", llmtest.Say("one"), llmtest.Say("two")), wrap.RouteOptions{Turn: byRun, Judge: judge, Generate: side})
	a, s := newAgent(t, m, agent.Options{}), open(t)
	if res, err := a.Run(t.Context(), s, llm.Text{Text: "hi"}); err != nil || res.Text != "one" || res.Usage.Requests != 2 {
		t.Errorf("%+v, %v", res, err)
	}
	if seen, res, err := watch[agent.Warning](t, a, s, llm.Text{Text: "hi"}); err != nil || res.Text != "two" || len(seen) != 1 {
		t.Errorf("%+v, %+v, %v", seen, res, err)
	}
}
