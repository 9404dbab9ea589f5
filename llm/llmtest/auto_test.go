package llmtest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/llmtest"
)

func TestSample(t *testing.T) {
	for _, c := range []struct{ schema, want string }{
		{``, `{}`},
		{`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"required":["b"]}`, `{"b":"text"}`},
		{`{"enum":["x","y"]}`, `"x"`},
		{`{"const":7,"type":"integer"}`, `7`},
		{`{"type":"integer","default":5}`, `5`},
		{`{"type":"integer","minimum":3}`, `3`},
		{`{"type":"integer","exclusiveMinimum":3}`, `4`},
		{`{"type":"integer","maximum":-3}`, `-3`},
		{`{"type":"integer","exclusiveMaximum":1}`, `0`},
		{`{"type":"integer","minimum":3,"multipleOf":5}`, `5`},
		{`{"type":"number","minimum":0.2,"maximum":0.4}`, `0.30000000000000004`},
		{`{"type":"number","exclusiveMinimum":0,"exclusiveMaximum":1}`, `0.5`},
		{`{"type":"string","minLength":6}`, `"textxx"`},
		{`{"type":"string","maxLength":2}`, `"xt"`},
		{`{"type":"string","format":"date"}`, `"2026-01-02"`},
		{`{"type":"string","pattern":"^[A-Z]{2}-\\d+$"}`, `"AA-0"`},
		{`{"type":["null","boolean"]}`, `true`},
		{`{"type":"array","items":{"type":"integer"}}`, `[]`},
		{`{"type":"array","items":{"type":"integer"},"minItems":2}`, `[1,1]`},
		{`{"type":"array","items":{"type":"integer"},"minItems":2,"uniqueItems":true}`, `[1,2]`},
		{`{"anyOf":[{"type":"null"},{"type":"string"}]}`, `null`},
		{`{"type":"object","properties":{"n":{"$ref":"#/$defs/n"}},"required":["n"],"$defs":{"n":{"type":"object","properties":{"v":{"type":"boolean"},"next":{"$ref":"#/$defs/n"}},"required":["v"]}}}`, `{"n":{"v":true}}`},
		{`{"$ref":"#/$defs/n","$defs":{"n":{"anyOf":[{"type":"object","properties":{"n":{"$ref":"#/$defs/n"}},"required":["n"]},{"type":"integer"}]}}}`, ``},
		{`{"allOf":[{"type":"object","required":["a"]},{"properties":{"a":{"type":"integer"}},"required":["a"]}]}`, `{"a":1}`},
	} {
		got, err := llmtest.Sample(json.RawMessage(c.schema))
		if err != nil || c.want != "" && string(got) != c.want {
			t.Errorf("%s: got %s %v, want %s", c.schema, got, err, c.want)
		}
	}
	for schema, want := range map[string]string{
		`{"$ref":"#/$defs/n","$defs":{"n":{"type":"object","properties":{"n":{"$ref":"#/$defs/n"}},"required":["n"]}}}`: "endless",
		`{"$ref":"#/$defs/zz"}`:                                                "leads nowhere",
		`{"type":"integer","minimum":5,"maximum":4}`:                           "within its limits",
		`{"type":"array","items":{"const":1},"minItems":2,"uniqueItems":true}`: "different items",
		`{"type":`: "unexpected end",
	} {
		if got, err := llmtest.Sample(json.RawMessage(schema)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %s, %v; want an error with %q", schema, got, err, want)
		}
	}
}

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
