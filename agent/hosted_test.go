package agent_test

import (
	"context"
	"testing"

	"github.com/cantle-dev/cantle/agent"
	"github.com/cantle-dev/cantle/builtin"
	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/llmtest"
	"github.com/cantle-dev/cantle/session"
)

// A search that the provider runs is offered as such, and its count is kept; a
// model that calls it all the same gets an error.
func TestHostedSearch(t *testing.T) {
	var offered []llm.ToolSpec
	calls := 0
	m := llmtest.Func(llm.Info{Provider: "test", Name: "m"}, func(_ context.Context, req *llm.Request) (*llm.Response, error) {
		offered = req.Tools
		r := &llm.Response{Stop: llm.StopEnd, Usage: &llm.Usage{Input: 1, Output: 1, Searches: 2}}
		r.Message = llm.Message{Role: llm.RoleAssistant, Parts: llm.Texts("done")}
		if calls++; calls == 1 {
			r.Stop = llm.StopToolUse
			r.Message.Parts = llm.Parts{llm.ToolCall{ID: "1", Name: "WebSearch", Input: []byte(`{"query":"x"}`)}}
		} else if p, ok := req.Messages[len(req.Messages)-1].Parts[0].(llm.ToolResult); !ok || !p.IsError {
			t.Errorf("%+v", req.Messages[len(req.Messages)-1])
		}
		return r, nil
	})
	a, err := agent.New(m, agent.Options{Tools: builtin.Tools(builtin.Options{Root: t.TempDir(), Web: builtin.WebOptions{Hosted: true}})})
	if err != nil {
		t.Fatal(err)
	}
	s, err := session.Open(t.Context(), new(session.Memory), "s", session.OpenOptions{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	res, err := a.Run(t.Context(), s, llm.Text{Text: "look"})
	if err != nil || res.Usage.Searches != 4 {
		t.Fatalf("%+v %v", res, err)
	}
	for _, s := range offered {
		if s.Name == "WebSearch" && s.Hosted == llm.HostedWebSearch && len(s.Input) == 0 {
			return
		}
	}
	t.Errorf("%+v", offered)
}
