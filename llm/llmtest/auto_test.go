package llmtest_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/llmtest"
)

func ExampleAuto() {
	m := llmtest.Auto()
	req := &llm.Request{
		Messages: []llm.Message{llm.UserText("Try everything.")},
		Tools: []llm.ToolSpec{
			{Name: "Roll", Input: json.RawMessage(`{"type":"object","properties":{"sides":{"type":"integer","minimum":2}},"required":["sides"]}`)},
			{Name: "Flip", Input: json.RawMessage(`{"type":"object"}`)},
		},
	}
	for {
		resp, err := llm.Collect(m.Stream(context.Background(), req))
		if err != nil {
			fmt.Println(err)
			return
		}
		calls := resp.Message.Parts.Calls()
		if len(calls) == 0 {
			fmt.Println(resp.Message.Text())
			return
		}
		var results llm.Parts
		for _, c := range calls {
			fmt.Println(c.ID, c.Name, string(c.Input))
			results = append(results, llm.ToolResult{CallID: c.ID, Parts: llm.Texts("fine")})
		}
		req.Messages = append(req.Messages, resp.Message, llm.Message{Role: llm.RoleUser, Parts: results})
	}
	// Output:
	// call_1 Roll {"sides":2}
	// call_2 Flip {}
	// Roll returned: fine
	// Flip returned: fine
}
