package agent_test

import (
	"context"
	"math"
	"testing"

	"github.com/cantle-dev/cantle/agent"
	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/llmtest"
	"github.com/cantle-dev/cantle/session"
	"github.com/cantle-dev/cantle/tool"
)

// impossible are counts that no provider should report, and some have.
var impossible = map[string]llm.Usage{
	"negative":                     {Input: -100, Output: -5, CacheRead: -7, CacheWrite: -1, Reasoning: -3},
	"more cached than there was":   {Input: -50, CacheRead: 500, Output: 10},
	"more thinking than there was": {Input: 10, Output: 5, Reasoning: 900},
	"without bounds":               {Input: math.MaxInt64 / 2, Output: math.MaxInt64 / 2},
	"of no sense":                  {Input: 3, Output: -1, CacheWrite: 2, CacheWrite1h: 70, ToolPrompt: 90},
}

// possible is an error where u has a number that cannot be.
func possible(t *testing.T, u llm.Usage) {
	t.Helper()
	for _, n := range []int64{u.Input, u.Output, u.CacheRead, u.CacheWrite, u.CacheWrite1h, u.Reasoning, u.ToolPrompt, u.Prompt(), u.Total()} {
		if n < 0 {
			t.Errorf("negative: %+v", u)
		}
	}
	if u.Reasoning > u.Output || u.CacheWrite1h > u.CacheWrite || u.Total() != u.Input+u.CacheRead+u.CacheWrite+u.Output {
		t.Errorf("a part is more than the whole: %+v", u)
	}
}

// TestUsageThatCannotBe: whatever a server says it used, on each wire, the sums
// are of what can be.
func TestUsageThatCannotBe(t *testing.T) {
	for name, u := range impossible {
		t.Run(name, func(t *testing.T) {
			onWires(t, func(t *testing.T, m llm.Model) {
				s := open(t)
				res, err := run(t, m, agent.Options{Tools: []tool.Tool{echo()}}, s, "go")
				if err != nil || res.Text != "ok" {
					t.Fatalf("%+v, %v", res, err)
				}
				possible(t, res.Usage.Usage)
				for e, err := range s.Path(t.Context(), "message") {
					if err != nil {
						t.Fatal(err)
					}
					if u := e.Data.(session.Message).Usage; u != nil {
						possible(t, *u)
					}
				}
			}, llmtest.Call("Echo", nil).Usage(u), llmtest.Say("ok").Usage(u))
		})
	}
}

// TestUsageThatCannotBeSpendsNoLess: a model that is no adapter of a wire, and
// counts below zero, gives its budget nothing back; nor does a side call, nor
// what came before a failure.
func TestUsageThatCannotBeSpendsNoLess(t *testing.T) {
	gift := llm.Usage{Input: -1_000_000, Output: -1_000_000}
	side := agent.Middleware{Name: "side", Stop: func(ctx context.Context, tn *agent.Turn) (llm.Parts, error) {
		resp, err := tn.Generate(ctx, "title", nil, &llm.Request{Messages: []llm.Message{llm.UserText("title?")}})
		if err == nil {
			possible(t, *resp.Usage)
		}
		return nil, err
	}}
	m := llmtest.New(t, llmtest.Call("Echo", nil).Usage(gift), llmtest.Say("ok").Usage(gift), llmtest.Say("a title").Usage(gift))
	s := open(t)
	res, err := run(t, m, agent.Options{Tools: []tool.Tool{echo()}, Middleware: []agent.Middleware{side}}, s, "go")
	if err != nil || res.Usage.Total() != 0 || res.Usage.Requests != 3 || *res.Cost != 0 {
		t.Errorf("%+v, %v", res, err)
	}
	partial := &llm.Response{Usage: &gift}
	failing := &script{steps: []step{{err: &llm.Error{Kind: llm.KindServer, Partial: partial}}}}
	if res, err = run(t, failing, agent.Options{}, s, "go"); err == nil || res.Usage.Total() != 0 {
		t.Errorf("%+v, %v", res, err)
	}
	u, _, err := s.Spent(t.Context())
	if err != nil || u.Total() != 0 {
		t.Errorf("the journal has %+v, %v", u, err)
	}
}
