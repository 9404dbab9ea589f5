package agent_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/agent"
	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/tool"
)

func TestCallsWithoutAnIDAreAnswered(t *testing.T) {
	raw := json.RawMessage(`{"id":"","type":"tool_use"}`)
	bad := llm.Parts{
		llm.ToolCall{Name: "Echo", Input: json.RawMessage(`{"text":"a"}`), Raw: raw},
		llm.ToolCall{Input: json.RawMessage(`{}`)}, // a ghost
		llm.ToolCall{Name: "Echo", Input: json.RawMessage(`{"text":"b"}`)},
		llm.ToolCall{ID: "x", Input: json.RawMessage(`{}`)},
	}
	m := &script{steps: []step{
		{parts: bad},
		{parts: slices.Clone(bad[:1])},
		{parts: llm.Parts{llm.ToolCall{Input: json.RawMessage(`{}`)}}}, // nothing but a ghost
		say("done"),
	}}
	s := open(t)
	res, err := run(t, m, agent.Options{Tools: []tool.Tool{echo()}}, s, "go")
	if err != nil || res.Stop != agent.StopFinished || res.Calls != 3 {
		t.Fatalf("%+v, %v", res, err)
	}
	if got := results(m.reqs[1]); len(got) != 3 || got[0] != "echo a" || got[1] != "echo b" {
		t.Errorf("%q", got)
	}
	seen := map[string]bool{}
	for _, msg := range s.Messages() {
		for _, c := range msg.Parts.Calls() {
			if c.ID == "" || c.Name == "" || seen[c.ID] || len(c.Raw) > 0 {
				t.Errorf("call %+v is in view", c)
			}
			seen[c.ID] = true
		}
	}
	if len(seen) != 4 {
		t.Errorf("%d calls are in view", len(seen))
	}
	if r := s.Repairs(); len(r) != 0 {
		t.Errorf("%v", r)
	}
	if c := bad[0].(llm.ToolCall); c.ID != "" {
		t.Error("the model's own response was changed")
	}
}

func TestArgumentsThatAreNoJSONAreMalformed(t *testing.T) {
	m := &script{steps: []step{calls(call("1", "Echo", `{"text":`), call("2", "Echo", ""), call("3", "Echo", `{"text":"c"}`)), say("done")}}
	s := open(t)
	res, err := run(t, m, agent.Options{Tools: []tool.Tool{echo()}}, s, "go")
	if err != nil || res.Stop != agent.StopFinished || res.Calls != 2 {
		t.Fatalf("%+v, %v", res, err)
	}
	if got := results(m.reqs[1]); len(got) != 3 || !strings.Contains(got[0], `{"text":`) || got[1] != "echo " || got[2] != "echo c" {
		t.Errorf("%q", got)
	}
	if r := s.Repairs(); len(r) != 0 {
		t.Errorf("%v", r)
	}
}
