package demo_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/demo"
	"github.com/cantle-dev/cantle/tool"
)

func TestSchemasAreFilledIn(t *testing.T) {
	m := demo.New("offline")
	for _, schema := range []string{
		`{"type":"object","properties":{"summary":{"type":"string"},"n":{"type":"integer","minimum":3}},"required":["summary","n"],"additionalProperties":false}`,
		`{"type":"object","properties":{"a":{"enum":["x","y"]},"b":{"const":7},"c":{"type":["null","boolean"]}},"required":["a","b","c"]}`,
		`{"type":"array","items":{"$ref":"#/$defs/p"},"minItems":2,"$defs":{"p":{"type":"object","required":["x"],"properties":{"x":{"type":"number","exclusiveMinimum":0,"maximum":0.25}}}}}`,
		`{"type":"string","pattern":"^[A-Z]{3}-[0-9]+(a|b)?$","minLength":8}`,
		`{"type":"string","pattern":"^\\d+$"}`,
		`{"type":"object","required":["answer"],"properties":{"answer":{"type":"string","maxLength":20}}}`,
		`{"type":"object","required":["k"],"properties":{"k":{"type":"string","minLength":40}}}`,
		`{"anyOf":[{"type":"object","required":["q"],"properties":{"q":{"type":"integer","maximum":-5}}},{"type":"null"}]}`,
		`{"type":"object","allOf":[{"$ref":"#/definitions/a"},{"properties":{"b":{"type":"boolean"}},"required":["b"]}],"definitions":{"a":{"properties":{"a":{"type":"string"}},"required":["a"]}}}`,
		`{"oneOf":[{"type":"integer"},{"type":"string"}]}`,
		`{"type":"integer","exclusiveMinimum":9007199254740000}`,
		`{}`,
		`true`,
	} {
		resp, err := llm.Generate(t.Context(), m, &llm.Request{
			Messages: []llm.Message{llm.UserText("Say it.")},
			Schema:   &llm.Schema{Name: "s", JSON: json.RawMessage(schema)},
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := tool.Validate(json.RawMessage(schema), json.RawMessage(resp.Message.Text())); err != nil {
			t.Errorf("%s is filled in with %s: %v", schema, resp.Message.Text(), err)
		}
	}
}

// TestHopelessSchemas have no value; filling them in comes to an end even so.
func TestHopelessSchemas(t *testing.T) {
	m := demo.New("offline")
	for _, schema := range []string{
		`{"type":"object","required":["a","b"],"properties":{"a":{"$ref":"#"},"b":{"$ref":"#"}}}`,
		`{"$ref":"#"}`, `{"allOf":[{"$ref":"#"}]}`, `{"$ref":"http://example.com/x"}`, `{"$ref":"#/none"}`,
		`{"type":"array","minItems":1000000000,"items":{"type":"array","minItems":1000000000}}`,
		`{"type":"string","minLength":1000000000000}`, `{"type":"string","pattern":"("}`, `{"type":"string","maxLength":-1}`,
		`{"type":"object","minProperties":1000000000}`, `{"type":7}`, `not JSON`, ``,
	} {
		resp, err := llm.Generate(t.Context(), m, &llm.Request{
			Messages: []llm.Message{llm.UserText("Say it.")},
			Schema:   &llm.Schema{JSON: json.RawMessage(schema)},
		})
		if err != nil || !json.Valid([]byte(resp.Message.Text())) {
			t.Errorf("%s: %.100v, %v", schema, resp.Message.Text(), err)
		}
	}
}

func TestAnswerTool(t *testing.T) {
	r := newRepo(t, map[string]string{"README.md": "# Beacon\n"})
	r.tools = append(r.tools, spec("final_answer", `"summary":{"type":"string"},"ok":{"type":"boolean"}`, "summary", "ok"))
	m := demo.New("offline")
	ms := ask("What is it?")
	for range 8 {
		resp, err := llm.Generate(t.Context(), m, &llm.Request{Messages: ms, Tools: r.tools})
		if err != nil {
			t.Fatal(err)
		}
		calls := resp.Message.Parts.Calls()
		if len(calls) == 0 {
			t.Fatalf("it answered in text: %s", resp.Message.Text())
		}
		if calls[0].Name == "final_answer" {
			var v struct{ Summary string }
			if err := json.Unmarshal(calls[0].Input, &v); err != nil || !strings.Contains(v.Summary, "# Beacon") || !strings.Contains(v.Summary, "stand-in") {
				t.Errorf("got %s, %v", calls[0].Input, err)
			}
			return
		}
		results := llm.Parts{}
		for _, c := range calls {
			results = append(results, r.run(t, c))
		}
		ms = append(ms, resp.Message, llm.Message{Role: llm.RoleUser, Parts: results})
	}
	t.Error("it never gave the answer")
}
