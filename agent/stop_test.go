package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/agent"
	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/session"
	"github.com/cantle-dev/cantle/tool"
)

// mute is a model whose provider reports no usage.
type mute struct{ script }

func (m *mute) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		for e, err := range m.script.Stream(ctx, req) {
			if d, ok := e.(llm.Done); ok {
				d.Response.Usage = nil
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

func ending(name string, c tool.Control) tool.Tool {
	return tool.New(tool.Spec{Name: name}, func(context.Context, struct{}) (*tool.Result, error) {
		return &tool.Result{Parts: llm.Texts("by " + name), Control: c}, nil
	})
}

func stopped(s step, why llm.StopReason) step { s.stop = why; return s }

// TestEveryStop ends a run in each way, and holds what all ends have in
// common: every call in the journal has a result or a question, the journal
// says how the run ended, the last event has the result, and the session can
// go on.
func TestEveryStop(t *testing.T) {
	fail := tool.New(tool.Spec{Name: "Fail"}, func(_ context.Context, in textIn) (string, error) { return "", errors.New("no") })
	boom := tool.New(tool.Spec{Name: "Boom"}, func(context.Context, struct{}) (string, error) { panic("no") })
	hang := tool.New(tool.Spec{Name: "Hang"}, func(ctx context.Context, _ struct{}) (string, error) { <-ctx.Done(); return "", ctx.Err() })
	fatal := tool.New(tool.Spec{Name: "Fatal"}, func(context.Context, struct{}) (string, error) {
		return "", tool.Fatal(errors.New("the machine is on fire"))
	})
	tools := []tool.Tool{
		echo(), fail, boom, hang, fatal,
		ending("Finish", tool.Complete), ending("Reject", tool.Reject), ending("Cancel", tool.Cancel),
	}
	two := func(name string) step { return calls(call("1", name, `{}`), call("2", "Echo", `{}`)) }
	failing := func(n int) (out []step) {
		for i := range n {
			out = append(out, calls(call("1", "Fail", fmt.Sprintf(`{"text":"%d"}`, i))))
		}
		return out
	}
	malformed := step{parts: llm.Parts{llm.ToolCall{ID: "1", Name: "Echo", Input: json.RawMessage(`{}`), Malformed: `{"text":`}}}
	halt := func(s agent.Stop) agent.Options {
		return agent.Options{Middleware: []agent.Middleware{{Name: "halt", Stop: func(context.Context, *agent.Turn) (llm.Parts, error) {
			return nil, agent.Halt(s, "because")
		}}}}
	}
	pending := asking(func(*agent.Question) (*agent.Answer, error) { return nil, agent.ErrPending })
	panics := agent.Options{Middleware: []agent.Middleware{{Name: "p", Gate: func(agent.GateFunc) agent.GateFunc {
		return func(context.Context, *agent.Turn, *tool.Call) (*tool.Result, error) { panic("in a gate") }
	}}}}
	ends := agent.Interrupt("by the user")
	interrupts := func(m agent.Middleware) agent.Options { return agent.Options{Middleware: []agent.Middleware{m}} }
	endsGate := interrupts(gating(func(context.Context, *agent.Turn, *tool.Call) (*tool.Result, error) {
		return nil, fmt.Errorf("a gate: %w", ends)
	}))
	endsAsk := asking(func(*agent.Question) (*agent.Answer, error) { return &agent.Answer{OK: true}, ends })
	endsTool := interrupts(agent.Middleware{Tool: func(agent.ToolFunc) agent.ToolFunc {
		return func(context.Context, *agent.Turn, *tool.Call) (*tool.Result, error) { return nil, ends }
	}})
	endsFatal := interrupts(gating(func(context.Context, *agent.Turn, *tool.Call) (*tool.Result, error) { return nil, tool.Fatal(ends) }))
	endsModel := interrupts(agent.Middleware{Model: func(agent.ModelFunc) agent.ModelFunc {
		return func(context.Context, *agent.Turn, *llm.Request) iter.Seq2[llm.Event, error] {
			return func(yield func(llm.Event, error) bool) { yield(nil, ends) }
		}
	}})
	endsStop := interrupts(agent.Middleware{Stop: func(context.Context, *agent.Turn) (llm.Parts, error) { return nil, ends }})
	endsPrompt := interrupts(agent.Middleware{Prompt: func(context.Context, *agent.Turn, llm.Parts) (llm.Parts, error) { return nil, ends }})
	for _, c := range []struct {
		name   string
		o      agent.Options
		steps  []step
		stop   agent.Stop
		status agent.Status
		reason string
		err    bool
	}{
		{"an answer", agent.Options{}, []step{say("ok")}, agent.StopFinished, agent.StatusCompleted, "", false},
		{"a tool completes", agent.Options{}, []step{two("Finish")}, agent.StopCompleted, agent.StatusCompleted, "", false},
		{"a tool rejects", agent.Options{}, []step{two("Reject")}, agent.StopRejected, agent.StatusRejected, "by Reject", false},
		{"a tool cancels", agent.Options{}, []step{two("Cancel")}, agent.StopCancelled, agent.StatusCancelled, "by Cancel", false},
		{"a cancel", agent.Options{}, []step{two("Hang")}, agent.StopInterrupted, agent.StatusCancelled, "canceled", false},
		{"an interrupt by a gate", endsGate, []step{two("Echo")}, agent.StopInterrupted, agent.StatusCancelled, "by the user", false},
		{"an interrupt by a gate, as fatal", endsFatal, []step{two("Echo")}, agent.StopInterrupted, agent.StatusCancelled, "by the user", false},
		{"an interrupt by who is asked", endsAsk, []step{calls(call("1", "Echo", `{}`))}, agent.StopInterrupted, agent.StatusCancelled, "by the user", false},
		{"an interrupt by what wraps tools", endsTool, []step{two("Echo")}, agent.StopInterrupted, agent.StatusCancelled, "by the user", false},
		{"an interrupt by what wraps the model", endsModel, nil, agent.StopInterrupted, agent.StatusCancelled, "by the user", false},
		{"an interrupt at the end", endsStop, []step{say("ok")}, agent.StopInterrupted, agent.StatusCancelled, "by the user", false},
		{"an interrupt of the input", endsPrompt, nil, agent.StopInterrupted, agent.StatusCancelled, "by the user", false},
		{"a question", pending, []step{calls(call("1", "Echo", `{}`))}, agent.StopPending, agent.StatusPending, "1 question", false},
		{"a refusal", agent.Options{}, []step{stopped(say("I will not"), llm.StopRefusal)}, agent.StopRefused, agent.StatusRejected, "", false},
		{"a filter", agent.Options{}, []step{stopped(say("x"), llm.StopContentFilter)}, agent.StopFiltered, agent.StatusRejected, "", false},
		{"a refusal with calls", agent.Options{}, []step{stopped(two("Fail"), llm.StopRefusal), say("ok")}, agent.StopFinished, agent.StatusCompleted, "", false},
		{"nothing, twice", agent.Options{}, []step{{}, {}}, agent.StopEmpty, agent.StatusLimited, "", false},
		{"blanks and thinking", agent.Options{}, []step{say(" \n"), {parts: llm.Parts{llm.Thinking{Text: "hm"}}}}, agent.StopEmpty, agent.StatusLimited, "", false},
		{"calls that are not there", agent.Options{}, []step{stopped(step{}, llm.StopToolUse), stopped(step{}, llm.StopToolUse)}, agent.StopEmpty, agent.StatusLimited, "", false},
		{"failures in a row", agent.Options{}, failing(4), agent.StopErrors, agent.StatusLimited, "4 turns in a row", false},
		{"malformed calls in a row", agent.Options{}, []step{malformed, malformed, malformed, malformed}, agent.StopErrors, agent.StatusLimited, "", false},
		{"panics in a row", agent.Options{Budget: agent.Budget{Errors: 1}}, []step{calls(call("1", "Boom", `{}`)), calls(call("2", "Boom", `{}`))}, agent.StopErrors, agent.StatusLimited, "", false},
		{"a gate that panics", panics, []step{two("Fail"), say("ok")}, agent.StopFinished, agent.StatusCompleted, "", false},
		{"no finish", agent.Options{RequireFinish: true}, []step{say("a"), say("b"), say("c")}, agent.StopNoFinish, agent.StatusLimited, "3 times", false},
		{"calls", agent.Options{Budget: agent.Budget{Calls: 1}}, []step{two("Echo")}, agent.StopCalls, agent.StatusLimited, "limit of 1", false},
		{"compaction", halt(agent.StopCompaction), []step{say("ok")}, agent.StopCompaction, agent.StatusFailed, "because", true},
		{"a halt", halt(agent.StopTokens), []step{say("ok")}, agent.StopTokens, agent.StatusLimited, "because", false},
		{"overflow", agent.Options{}, []step{{err: &llm.Error{Kind: llm.KindContextOverflow}}}, agent.StopOverflow, agent.StatusFailed, "", true},
		{"a body that is too large", agent.Options{}, []step{{err: &llm.Error{Kind: llm.KindTooLarge}}}, agent.StopOverflow, agent.StatusFailed, "new session", true},
		{"an error", agent.Options{}, []step{{parts: llm.Texts("half"), err: &llm.Error{Kind: llm.KindOverloaded}}}, agent.StopError, agent.StatusFailed, "", true},
		{"a model that stops with an error", agent.Options{}, []step{stopped(say("x"), llm.StopError), stopped(say("y"), llm.StopError)}, agent.StopError, agent.StatusFailed, "2 times in a row", true},
		{"a broken tool", agent.Options{}, []step{two("Fatal")}, agent.StopError, agent.StatusFailed, "on fire", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.o.Tools == nil {
				c.o.Tools = tools
			}
			m := &script{steps: c.steps}
			a, err := agent.New(m, c.o)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			s := open(t)
			st := a.Stream(ctx, s, llm.Text{Text: "go"})
			var last agent.EventData
			var failed error
			finished := map[string]int{}
			for e, err := range st.Events() {
				if failed = err; err != nil {
					continue
				}
				last = e.Data
				switch d := e.Data.(type) {
				case agent.ToolStarted:
					if d.Call.Name == "Hang" {
						cancel()
					}
				case agent.ToolFinished:
					finished[d.Call.ID+d.Call.Name]++
				}
			}
			res := st.Result()
			if res.Stop != c.stop || res.Stop.Status() != c.status || !strings.Contains(res.Reason, c.reason) || (failed != nil) != c.err {
				t.Fatalf("%+v, %v", res, failed)
			}
			if end, ok := last.(agent.RunEnded); !ok || end.Result != res {
				t.Errorf("the last event is %T", last)
			}
			if n := len(s.Dangling()); n != len(s.Pending()) {
				t.Errorf("%d calls have no result", n)
			}
			var ended session.RunEnded
			for e, err := range s.Path(t.Context(), "run_ended") {
				if err != nil {
					t.Fatal(err)
				}
				ended = e.Data.(session.RunEnded)
			}
			if ended.Stop != string(c.stop) || ended.RunID != res.Run || ended.Turns != res.Turns || (ended.Error != "") != c.err || !c.err && ended.Reason != res.Reason {
				t.Errorf("the journal says %+v", ended)
			}
			if len(m.steps) != 0 {
				t.Errorf("%d steps are left", len(m.steps))
			}
			more := &script{steps: []step{say("more")}}
			if again, err := run(t, more, agent.Options{Tools: tools}, s, "go on"); err != nil || again.Text != "more" {
				t.Errorf("afterwards: %+v, %v", again, err)
			}
		})
	}
}

func TestStopWithoutUsage(t *testing.T) {
	m := &mute{script{steps: []step{calls(call("1", "Echo", `{}`))}}}
	res, err := run(t, m, agent.Options{Tools: []tool.Tool{echo()}, Budget: agent.Budget{Tokens: 1000}}, open(t), "go")
	if err != nil || res.Stop != agent.StopNoUsage || res.Stop.Status() != agent.StatusLimited || res.Usage.Reported != 0 {
		t.Errorf("%+v, %v", res, err)
	}
}

// TestAnEndingCallLeavesNoneBehind: calls after the one that ends the run are
// not run, and have results.
func TestAnEndingCallLeavesNoneBehind(t *testing.T) {
	s := open(t)
	m := &script{steps: []step{calls(call("1", "Reject", `{}`), call("2", "Echo", `{}`))}}
	res, err := run(t, m, agent.Options{Tools: []tool.Tool{echo(), ending("Reject", tool.Reject)}}, s, "go")
	if err != nil || res.Calls != 1 {
		t.Fatalf("%+v, %v", res, err)
	}
	ms := s.Messages()
	if r := ms[len(ms)-1].Parts[1].(llm.ToolResult); !r.IsError || !strings.Contains(r.Parts.Text(), "ended the task") {
		t.Errorf("%+v", r)
	}
}

func TestStopFunctionsAreBounded(t *testing.T) {
	asked, warned := 0, 0
	always := agent.Middleware{Name: "always", Stop: func(context.Context, *agent.Turn) (llm.Parts, error) {
		asked++
		return llm.Texts("not yet"), nil
	}, Event: func(_ context.Context, _ *agent.Turn, e agent.EventData) {
		if w, ok := e.(agent.Warning); ok && strings.Contains(w.Text, "always") {
			warned++
		}
	}}
	m := &script{}
	for range agent.MaxStops + 1 {
		m.steps = append(m.steps, say("done"))
	}
	res, err := run(t, m, agent.Options{Middleware: []agent.Middleware{always}}, open(t), "go")
	if err != nil || res.Stop != agent.StopFinished || asked != agent.MaxStops || warned != 1 {
		t.Errorf("asked %d times, warned %d times: %+v, %v", asked, warned, res, err)
	}
	// A run that did not end well is not kept going.
	asked = 0
	m = &script{steps: []step{{err: &llm.Error{Kind: llm.KindServer}}}}
	if _, err = run(t, m, agent.Options{Middleware: []agent.Middleware{always}}, open(t), "go"); err == nil || asked != 0 {
		t.Errorf("asked %d times, %v", asked, err)
	}
}
