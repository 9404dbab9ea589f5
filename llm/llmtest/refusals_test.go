package llmtest_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/llm/llmtest"
)

// TestRefusalsOfOtherWires: what a provider answers 400 to, so does the server,
// and it says what is wrong and where.
func TestRefusalsOfOtherWires(t *testing.T) {
	const (
		responses = "/v1/responses"
		gemini    = "/v1beta/models/gemini-3-m:generateContent"
		old       = "/v1beta/models/gemini-2.5-m:generateContent"
		bedrock   = "/model/us.anthropic.claude-m-v1%3A0/converse"
		kimi      = "/model/moonshot.kimi/converse"
		invoke    = "/model/us.anthropic.claude-m-v1%3A0/invoke"
		vertex    = "/v1/projects/p/locations/l/publishers/anthropic/models/claude-m:streamRawPredict"
		cohere    = "/v2/chat"
		ollama    = "/api/chat"
	)
	input := func(items string) string { return `{"model":"m","store":false,"input":[` + items + `]}` }
	const fc = `{"type":"function_call","call_id":"a","name":"T","arguments":"{}"}`
	const out = `{"type":"function_call_output","call_id":"a","output":"r"}`
	const says = `{"role":"user","content":"q"}`
	reasoning := `{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"t"}],"encrypted_content":"` + llmtest.Sign("t") + `1"}`
	contents := func(list string) string { return `{"contents":[` + list + `]}` }
	const gq, gc = `{"role":"user","parts":[{"text":"q"}]}`, `{"functionCall":{"name":"T","args":{}}}`
	signed := `{"functionCall":{"name":"T"},"thoughtSignature":"` + llmtest.CallSignature("T") + `"}`
	const gr = `{"functionResponse":{"name":"T","response":{"result":"r"}}}`
	model := func(parts string) string { return `{"role":"model","parts":[` + parts + `]}` }
	user := func(parts string) string { return `{"role":"user","parts":[` + parts + `]}` }
	declare := func(schema string) string {
		return `{"contents":[` + gq + `],"tools":[{"functionDeclarations":[{"name":"T","parameters":` + schema + `}]}]}`
	}
	const toolConfig = `,"toolConfig":{"tools":[{"toolSpec":{"name":"T","inputSchema":{"json":{"type":"object"}}}}]}}`
	converse := func(list string) string { return `{"messages":[` + list + `]` + toolConfig }
	bu := func(blocks string) string { return `{"role":"user","content":[` + blocks + `]}` }
	ba := func(blocks string) string { return `{"role":"assistant","content":[` + blocks + `]}` }
	const bt, use, res = `{"text":"q"}`, `{"toolUse":{"toolUseId":"a","name":"T","input":{}}}`, `{"toolResult":{"toolUseId":"a","content":[{"text":"r"}]}}`
	const point = `{"cachePoint":{"type":"default"}}`
	document := func(name string) string {
		return `{"document":{"format":"pdf","name":"` + name + `","source":{"bytes":"AAAA"}}}`
	}
	chat := func(list string) string { return `{"model":"m","messages":[` + list + `]}` }
	const cc = says + `,{"role":"assistant","tool_calls":[{"id":"T_1:x","type":"function","function":{"name":"T","arguments":"{}"}}]}`
	const cr = `,{"role":"tool","tool_call_id":"T_1:x","content":"r"}`
	const claude = `"max_tokens":9,"messages":[` + says + `]}`

	for _, c := range []struct{ path, name, body, want string }{
		{responses, "good", input(says + "," + reasoning + "," + fc + "," + out), ""},
		{responses, "text", `{"model":"m","input":"q"}`, ""},
		{responses, "call without output", input(says + "," + fc), "no tool output found for function call a"},
		{responses, "call and then the user", input(says + "," + fc + "," + says), "input[2]: no tool output found for function call a"},
		{responses, "output without call", input(says + "," + out), "no tool call found for function call output with call_id a"},
		{responses, "output twice", input(says + "," + fc + "," + out + "," + out), "input[3]: no tool call found"},
		{responses, "reasoning at the end", input(says + "," + reasoning), "without its required following item"},
		{responses, "reasoning before the user", input(says + "," + reasoning + "," + says), "input[2]: item 'rs_1' of type 'reasoning' was provided without its required following item"},
		{responses, "reasoning by id alone", input(says + `,{"type":"reasoning","id":"rs_1","summary":[]},` + fc + "," + out), "not persisted when `store` is set to false"},
		{responses, "reasoning of the start", input(says + "," + strings.Replace(reasoning, `1"}`, `0"}`, 1) + "," + fc + "," + out), "could not be verified"},
		{responses, "id of a call", input(says + "," + strings.Replace(fc, `"call_id"`, `"id":"call_1","call_id"`, 1) + "," + out), "expected an ID that begins with 'fc'"},
		{responses, "name", input(says + "," + strings.Replace(fc, `"T"`, `"a b"`, 1) + "," + out), `.name: "a b"`},
		{responses, "arguments", input(says + "," + strings.Replace(fc, `"{}"`, `{}`, 1) + "," + out), ".arguments: must be a string"},
		{responses, "input text of the assistant", input(says + `,{"role":"assistant","content":[{"type":"input_text","text":"x"}]}`), `invalid value "input_text"`},
		{responses, "few tokens", `{"model":"m","input":"q","max_output_tokens":15}`, "must be at least 16"},
		{responses, "field", `{"model":"m","input":"q","max_tokens":99}`, "unknown parameter: max_tokens"},
		{responses, "tool", `{"model":"m","input":"q","tools":[{"type":"function","function":{"name":"T"}}]}`, `tools[0].name: ""`},

		{gemini, "good", contents(gq + "," + model(signed) + "," + user(gr)), ""},
		{old, "good without signature", contents(gq + "," + model(gc+","+gc) + "," + user(gr+","+gr)), ""},
		{gemini, "no signature", contents(gq + "," + model(gc) + "," + user(gr)), "is missing a thought_signature"},
		{gemini, "another's signature", contents(gq + "," + model(strings.Replace(signed, `"name":"T"`, `"name":"U"`, 1)) + "," + user(strings.Replace(gr, `"T"`, `"U"`, 1))), "is not valid"},
		{gemini, "the documented stand-in", contents(gq + "," + model(`{"functionCall":{"name":"T"},"thoughtSignature":"skip_thought_signature_validator"}`) + "," + user(gr)), ""},
		{gemini, "no signature in a turn that is over", contents(gq + "," + model(gc) + "," + user(gr) + "," + model(`{"text":"x"}`) + "," + gq), ""},
		{old, "one response for two calls", contents(gq + "," + model(gc+","+gc) + "," + user(gr)), "number of function response parts is equal to the number of function call parts of the function call turn: 2, not 1"},
		{old, "no response", contents(gq + "," + model(gc) + "," + gq), "1, not 0"},
		{old, "response without call", contents(user(gr)), "comes immediately after a function call turn"},
		{old, "call at the end", contents(gq + "," + model(gc)), "has no function response turn after it"},
		{old, "response to another name", contents(gq + "," + model(gc) + "," + user(strings.Replace(gr, `"T"`, `"U"`, 1))), `"U", but the call was of "T"`},
		{old, "response that is a text", contents(gq + "," + model(gc) + "," + user(`{"functionResponse":{"name":"T","response":"r"}}`)), "response: must be an object"},
		{gemini, "two of the user", contents(gq + "," + gq), "alternate between user and model"},
		{gemini, "model first", contents(model(`{"text":"x"}`) + "," + gq), "start with a user role"},
		{gemini, "model last", contents(gq + "," + model(`{"text":"x"}`)), "end with a user role"},
		{gemini, "role", contents(`{"role":"assistant","parts":[{"text":"x"}]}`), "valid role"},
		{gemini, "no parts", contents(`{"role":"user","parts":[]}`), "must not be empty"},
		{gemini, "empty text", contents(user(`{"text":""}`)), ".text: must not be empty"},
		{gemini, "empty part", contents(user(`{}`)), "required oneof field 'data'"},
		{gemini, "no contents", `{}`, "contents is not specified"},
		{gemini, "field", `{"messages":[]}`, "unknown name: messages"},
		{gemini, "schema", declare(`{"type":"object","additionalProperties":false}`), "function_declarations[0].parameters: unknown name: additionalProperties"},
		{gemini, "deep schema", declare(`{"type":"object","properties":{"x":{"$ref":"#"}}}`), "properties[x]: unknown name: $ref"},
		{gemini, "two types", declare(`{"type":"object","properties":{"x":{"type":["string","null"]}}}`), "cannot start list"},
		{gemini, "required that is not there", declare(`{"type":"object","required":["x"]}`), "property is not defined"},
		{gemini, "schema of JSON", strings.Replace(declare(`{"type":"object","additionalProperties":false}`), "parameters", "parametersJsonSchema", 1), ""},

		{bedrock, "good", converse(bu(bt) + "," + ba(use) + "," + bu(res+`,{"text":"go on"},`+point)), ""},
		{bedrock, "no result", converse(bu(bt) + "," + ba(use) + "," + bu(bt)), "messages.2.content: expected toolResult blocks for the following Ids: a"},
		{bedrock, "no result at the end", converse(bu(bt) + "," + ba(use)), "expected toolResult blocks at messages.2.content"},
		{bedrock, "result without use", converse(bu(bt + "," + res)), "exceeds the number of toolUse blocks"},
		{bedrock, "two results", converse(bu(bt) + "," + ba(use) + "," + bu(res+","+res)), "exceeds the number"},
		{bedrock, "no tools", `{"messages":[` + bu(bt) + "," + ba(use) + "," + bu(res) + `]}`, "toolConfig field must be defined"},
		{bedrock, "assistant first", converse(ba(bt)), "must start with a user message"},
		{bedrock, "two of the user", converse(bu(bt) + "," + bu(bt)), "must alternate"},
		{bedrock, "blank", converse(bu(`{"text":" "}`)), "messages.0.content.0: the text field in the ContentBlock object is blank"},
		{bedrock, "empty", converse(bu("")), "the content field is empty"},
		{bedrock, "id", converse(bu(bt) + "," + ba(strings.Replace(use, `"a"`, `"f.T:0"`, 1)) + "," + bu(res)), `toolUseId: "f.T:0"`},
		{kimi, "id", converse(bu(bt) + "," + ba(strings.Replace(use, `"a"`, `"f.T:0"`, 1)) + "," + bu(strings.Replace(res, `"a"`, `"f.T:0"`, 1))), ""},
		{bedrock, "input", converse(bu(bt) + "," + ba(strings.Replace(use, `{}`, `"{}"`, 1)) + "," + bu(res)), "toolUse.input: must be an object"},
		{bedrock, "blank result", converse(bu(bt) + "," + ba(use) + "," + bu(strings.Replace(res, `"r"`, `""`, 1))), "toolResult.content.0: the text field"},
		{bedrock, "five points", converse(bu(bt + strings.Repeat(","+point, 5))), "a maximum of 4 cache points"},
		{bedrock, "point first", converse(bu(point + "," + bt)), "nothing stands before it"},
		{bedrock, "document", converse(bu(bt + "," + document("a (1)"))), ""},
		{bedrock, "name of a document", converse(bu(bt + "," + document("a.pdf"))), `document.name: "a.pdf"`},
		{bedrock, "two spaces", converse(bu(bt + "," + document("a  b"))), "single spaces"},
		{bedrock, "document alone", converse(bu(document("a"))), "must have a text too"},
		{bedrock, "six documents", converse(bu(bt + strings.Repeat(","+document("a"), 6))), "too many documents"},
		{bedrock, "signature", converse(bu(bt) + "," + ba(`{"reasoningContent":{"reasoningText":{"text":"x","signature":"y"}}}`)), "invalid signature"},
		{bedrock, "description", `{"messages":[` + bu(bt) + `],"toolConfig":{"tools":[{"toolSpec":{"name":"T","description":"","inputSchema":{"json":{"type":"object"}}}}]}}`, "description: the least length is 1"},
		{bedrock, "field", `{"max_tokens":1,"messages":[` + bu(bt) + `]}`, "max_tokens: extra inputs"},

		{invoke, "good", `{"anthropic_version":"bedrock-2023-05-31",` + claude, ""},
		{invoke, "version", `{` + claude, "anthropic_version"},
		{invoke, "model", `{"model":"m","anthropic_version":"bedrock-2023-05-31",` + claude, "model: extra inputs"},
		{invoke, "stream", `{"stream":true,"anthropic_version":"bedrock-2023-05-31",` + claude, "stream: extra inputs"},
		{vertex, "good", `{"stream":true,"anthropic_version":"vertex-2023-10-16",` + claude, ""},
		{vertex, "no stream", `{"anthropic_version":"vertex-2023-10-16",` + claude, "the address ends in :streamRawPredict"},

		{cohere, "good", chat(cc + cr), ""},
		{cohere, "no result", chat(cc + "," + says), "without a tool result: T_1:x"},
		{cohere, "no result at the end", chat(cc), "without a tool result"},
		{cohere, "result without call", chat(says + cr), `tool_call_id: "T_1:x" is not found`},
		{cohere, "result twice", chat(cc + cr + cr), "once each"},
		{cohere, "empty", chat(`{"role":"user","content":""}`), "at least 1 token"},
		{cohere, "assistant last", chat(says + `,{"role":"assistant","content":"x"}`), "the last message"},
		{cohere, "choice", `{"model":"m","tool_choice":"auto","messages":[` + says + `]}`, "REQUIRED, NONE"},
		{cohere, "field", `{"model":"m","max_completion_tokens":1,"messages":[` + says + `]}`, "unknown field: max_completion_tokens"},

		{ollama, "anything in any order", chat(`{"role":"tool","content":"r"},` + says + `,{"role":"assistant","content":""}`), ""},
		{ollama, "arguments", chat(`{"role":"assistant","tool_calls":[{"function":{"name":"T","arguments":"{}"}}]}`), "cannot unmarshal string"},
		{ollama, "content", chat(`{"role":"user","content":[{"type":"text","text":"x"}]}`), "cannot unmarshal array"},
		{ollama, "role", chat(`{"role":"developer","content":"x"}`), "invalid role"},
		{ollama, "model", `{"messages":[]}`, "model is required"},
	} {
		t.Run(c.path+"/"+c.name, func(t *testing.T) {
			tb := &fakeTB{}
			s := llmtest.NewServer(tb, llmtest.Play(nil, llmtest.Say("ok")))
			status, body, err := postTo(t, s, c.path, c.body)
			if err != nil {
				t.Fatal(err)
			}
			failed := tb.end()
			if c.want == "" {
				if status != http.StatusOK || failed != "" {
					t.Fatalf("refused: %d %s %s", status, body, failed)
				}
				return
			}
			if status != http.StatusBadRequest || !strings.Contains(failed, c.want) {
				t.Errorf("got %d %s, the test failed with %q, want %q", status, body, failed, c.want)
			}
		})
	}
}
