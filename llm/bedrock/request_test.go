package bedrock_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/bedrock"
	"github.com/cantle-dev/cantle/llm/internal/wirecase"
)

// capture is a transport that keeps the request.
type capture struct {
	req  *http.Request
	sent string
	body []byte
}

func (c *capture) RoundTrip(r *http.Request) (*http.Response, error) {
	b, _ := io.ReadAll(r.Body)
	c.req, c.sent = r, string(b)
	body := c.body
	if body == nil {
		body = []byte(`{"output":{"message":{"content":[]}},"stopReason":"end_turn"}`)
	}
	return wirecase.Canned{Body: string(body)}.RoundTrip(r)
}

// sent returns the body that a model of these options posts.
func sent(t testing.TB, o bedrock.Options, req *llm.Request) string {
	t.Helper()
	return sentBy(t, "anthropic.claude-sonnet-4-6", o, req)
}

func sentBy(t testing.TB, name string, o bedrock.Options, req *llm.Request) string {
	t.Helper()
	c := &capture{}
	o.Client, o.BaseURL, o.APIKey = &http.Client{Transport: c}, "http://bedrock.test", "key-for-tests"
	if _, err := llm.Generate(t.Context(), bedrock.New(name, o), req); err != nil {
		t.Fatal(err)
	}
	if !json.Valid([]byte(c.sent)) {
		t.Fatalf("the request is not JSON: %s", c.sent)
	}
	return c.sent
}

var plain = bedrock.Options{NoCache: true}

func able(style string, output int) bedrock.Options {
	return bedrock.Options{NoCache: true, Info: llm.Info{Output: output, Traits: llm.Traits{Thinking: true, Schema: true, ThinkingStyle: style}}}
}

func ask(change func(*llm.Request)) *llm.Request {
	r := &llm.Request{Messages: []llm.Message{llm.UserText("hi")}}
	change(r)
	return r
}

func TestBody(t *testing.T) {
	temp := 0.5
	tool := llm.ToolSpec{Name: "Read", Description: "reads <x>", Input: json.RawMessage(`{ "type" : "object" }`)}
	const hi = `"messages":[{"role":"user","content":[{"text":"hi"}]}]}`
	const point = `{"cachePoint":{"type":"default"}}`
	const hour = `{"cachePoint":{"type":"default","ttl":"1h"}}`
	effort := func(e llm.Effort) *llm.Request {
		return ask(func(r *llm.Request) { r.Effort, r.Temperature = e, &temp })
	}
	full := ask(func(r *llm.Request) { r.System, r.Tools = "s", []llm.ToolSpec{{Name: "Ls"}} })
	called := ask(func(r *llm.Request) {
		r.Messages = append(r.Messages, llm.Message{Role: llm.RoleAssistant, Parts: llm.Parts{llm.ToolCall{ID: "t", Name: "Ls"}}},
			llm.Message{Role: llm.RoleUser, Parts: llm.Parts{llm.ToolResult{CallID: "t", Parts: llm.Texts("x")}}})
	})
	const calledAs = `"messages":[{"role":"user","content":[{"text":"hi"}]},{"role":"assistant","content":[{"toolUse":{"toolUseId":"t","name":"Ls","input":{}}}]},{"role":"user","content":[{"toolResult":{"toolUseId":"t","content":[{"text":"x"}]}}]}]}`
	least := func(tokens int) bedrock.Options {
		return bedrock.Options{Info: llm.Info{Traits: llm.Traits{MinCache: tokens}}}
	}
	with := func(r *llm.Request, change func(*llm.Request)) *llm.Request {
		c := *r
		change(&c)
		return &c
	}
	tests := []struct {
		name, model string
		opts        bedrock.Options
		req         *llm.Request
		want        string
	}{
		{"least", "", plain, ask(func(*llm.Request) {}), `{` + hi},
		{"all", "", plain, ask(func(r *llm.Request) {
			r.System, r.Tools, r.MaxTokens, r.Temperature, r.Stop = "Be <brief>.", []llm.ToolSpec{tool, {Name: "Ls"}}, 77, &temp, []string{"END"}
			r.ToolChoice = llm.ToolChoice{Mode: llm.ChoiceTool, Name: "Read"}
		}), `{"inferenceConfig":{"maxTokens":77,"temperature":0.5,"stopSequences":["END"]},"additionalModelResponseFieldPaths":["/stop_sequence"],` +
			`"toolConfig":{"tools":[{"toolSpec":{"name":"Read","description":"reads <x>","inputSchema":{"json":{ "type" : "object" }}}},{"toolSpec":{"name":"Ls","inputSchema":{"json":{"type":"object"}}}}],"toolChoice":{"tool":{"name":"Read"}}},` +
			`"system":[{"text":"Be <brief>."}],` + hi},
		{"any", "", plain, ask(func(r *llm.Request) { r.Tools, r.ToolChoice.Mode = []llm.ToolSpec{{Name: "Ls"}}, llm.ChoiceAny }), `{"toolConfig":{"tools":[{"toolSpec":{"name":"Ls","inputSchema":{"json":{"type":"object"}}}}],"toolChoice":{"any":{}}},` + hi},
		{"none", "", plain, ask(func(r *llm.Request) { r.Tools, r.ToolChoice.Mode = []llm.ToolSpec{{Name: "Ls"}}, llm.ChoiceNone }), `{` + hi},
		{"none after a call", "", plain, with(called, func(r *llm.Request) { r.Tools, r.ToolChoice.Mode = []llm.ToolSpec{{Name: "Ls"}}, llm.ChoiceNone }), `{"toolConfig":{"tools":[{"toolSpec":{"name":"Ls","inputSchema":{"json":{"type":"object"}}}}]},` + calledAs},
		{"no tools after a call", "", plain, called, `{"toolConfig":{"tools":[{"toolSpec":{"name":"Ls","description":"Not at hand now: do not call it.","inputSchema":{"json":{"type":"object"}}}}]},` + calledAs},

		{"points", "", bedrock.Options{CacheTTL: "5m"}, full, `{"toolConfig":{"tools":[{"toolSpec":{"name":"Ls","inputSchema":{"json":{"type":"object"}}}},` + point + `]},"system":[{"text":"s"},` + point + `],"messages":[{"role":"user","content":[{"text":"hi"},` + point + `]}]}`},
		{"points for an hour", "us.anthropic.claude-sonnet-4-5-20250929-v1:0", bedrock.Options{CacheTTL: "1h"}, full, `{"toolConfig":{"tools":[{"toolSpec":{"name":"Ls","inputSchema":{"json":{"type":"object"}}}},` + hour + `]},"system":[{"text":"s"},` + hour + `],"messages":[{"role":"user","content":[{"text":"hi"},` + hour + `]}]}`},
		{"Nova's points", "eu.amazon.nova-pro-v1:0", bedrock.Options{CacheTTL: "1h"}, full, `{"toolConfig":{"tools":[{"toolSpec":{"name":"Ls","inputSchema":{"json":{"type":"object"}}}}]},"system":[{"text":"s"},` + point + `],"messages":[{"role":"user","content":[{"text":"hi"},` + point + `]}]}`},
		{"points of a profile", "arn:aws:bedrock:us-east-1:1:application-inference-profile/x", bedrock.Options{Family: "anthropic.claude-sonnet-4-6"}, ask(func(*llm.Request) {}), `{"messages":[{"role":"user","content":[{"text":"hi"},` + point + `]}]}`},
		{"no points in what is too short", "", least(1024), full, `{"toolConfig":{"tools":[{"toolSpec":{"name":"Ls","inputSchema":{"json":{"type":"object"}}}}]},"system":[{"text":"s"}],` + hi},
		{"a point after what is long enough", "", least(4), with(full, func(r *llm.Request) { r.System = "a longer one" }), `{"toolConfig":{"tools":[{"toolSpec":{"name":"Ls","inputSchema":{"json":{"type":"object"}}}}]},"system":[{"text":"a longer one"},` + point + `],"messages":[{"role":"user","content":[{"text":"hi"},` + point + `]}]}`},
		{"no points", "meta.llama3-3-70b-instruct-v1:0", bedrock.Options{}, ask(func(*llm.Request) {}), `{` + hi},
		{"nor for an old Claude", "anthropic.claude-3-5-sonnet-20240620-v1:0", bedrock.Options{}, ask(func(*llm.Request) {}), `{` + hi},

		{"the model's cap", "", bedrock.Options{NoCache: true, Info: llm.Info{Output: 4096}}, ask(func(r *llm.Request) { r.MaxTokens = 9999 }), `{"inferenceConfig":{"maxTokens":4096},` + hi},
		{"a large cap", "", bedrock.Options{NoCache: true, Info: llm.Info{Output: 128_000}}, ask(func(*llm.Request) {}), `{"inferenceConfig":{"maxTokens":32000},` + hi},
		{"no temperature", "", bedrock.Options{NoCache: true, Info: llm.Info{Traits: llm.Traits{NoTemperature: true}}}, ask(func(r *llm.Request) { r.Temperature = &temp }), `{` + hi},
		{"effort on a model without", "", plain, ask(func(r *llm.Request) { r.Effort = llm.EffortHigh }), `{` + hi},
		{"budget", "us.anthropic.claude-3-7-sonnet-20250219-v1:0", able("", 0), effort(llm.EffortHigh), `{"inferenceConfig":{"maxTokens":24576},"additionalModelRequestFields":{"thinking":{"type":"enabled","budget_tokens":16384}},` + hi},
		{"budget within the cap", "", able("budget", 16_000), effort(llm.EffortXHigh), `{"inferenceConfig":{"maxTokens":16000},"additionalModelRequestFields":{"thinking":{"type":"enabled","budget_tokens":8000}},` + hi},
		{"no room for a budget", "", able("budget", 500), effort(llm.EffortLow), `{"inferenceConfig":{"maxTokens":500,"temperature":0.5},` + hi},
		{"off", "", able("budget", 0), effort(llm.EffortOff), `{"inferenceConfig":{"temperature":0.5},"additionalModelRequestFields":{"thinking":{"type":"disabled"}},` + hi},
		{"a forced call before a budget", "", able("budget", 0), ask(func(r *llm.Request) {
			r.Effort, r.Tools, r.ToolChoice.Mode = llm.EffortLow, []llm.ToolSpec{{Name: "Ls"}}, llm.ChoiceAny
		}), `{"toolConfig":{"tools":[{"toolSpec":{"name":"Ls","inputSchema":{"json":{"type":"object"}}}}],"toolChoice":{"any":{}}},` + hi},
		{"adaptive", "global.anthropic.claude-opus-4-7", able("", 0), effort(llm.EffortXHigh), `{"additionalModelRequestFields":{"thinking":{"type":"adaptive"},"output_config":{"effort":"max"}},` + hi},
		{"adaptive with a schema", "global.anthropic.claude-opus-4-7", able("", 0), ask(func(r *llm.Request) {
			r.Effort, r.Schema = llm.EffortLow, &llm.Schema{Name: "an answer", JSON: json.RawMessage(`{"type": "object"}`)}
		}), `{"additionalModelRequestFields":{"thinking":{"type":"adaptive"}},"outputConfig":{"textFormat":{"type":"json_schema","structure":{"jsonSchema":{"name":"an_answer","schema":"{\"type\": \"object\"}"}}},"effort":"low"},` + hi},
		{"Nova", "us.amazon.nova-2-lite-v1:0", able("", 60000), effort(llm.EffortLow), `{"inferenceConfig":{"maxTokens":32000},"additionalModelRequestFields":{"reasoningConfig":{"type":"enabled","maxReasoningEffort":"low"}},` + hi},
		{"Nova's highest", "us.amazon.nova-2-lite-v1:0", able("", 60000), effort(llm.EffortXHigh), `{"additionalModelRequestFields":{"reasoningConfig":{"type":"enabled","maxReasoningEffort":"high"}},` + hi},
		{"Nova off", "us.amazon.nova-2-lite-v1:0", able("", 0), effort(llm.EffortOff), `{"inferenceConfig":{"temperature":0.5},"additionalModelRequestFields":{"reasoningConfig":{"type":"disabled"}},` + hi},
		{"gpt-oss", "openai.gpt-oss-120b-1:0", able("", 0), effort(llm.EffortMedium), `{"inferenceConfig":{"temperature":0.5},"additionalModelRequestFields":{"reasoning_effort":"medium"},` + hi},
		{"qwen", "qwen.qwen3-32b-v1:0", able("", 0), effort(llm.EffortHigh), `{"inferenceConfig":{"temperature":0.5},"additionalModelRequestFields":{"reasoning_config":"high"},` + hi},
		{"a style that is not known", "deepseek.v3-v1:0", able("", 0), effort(llm.EffortHigh), `{"inferenceConfig":{"temperature":0.5},` + hi},
		{
			"the model's own words", "",
			bedrock.Options{NoCache: true, Info: llm.Info{Traits: llm.Traits{Thinking: true, Efforts: map[llm.Effort]string{llm.EffortOff: "", llm.EffortXHigh: "xhigh"}}}},
			effort(llm.EffortXHigh),
			`{"additionalModelRequestFields":{"thinking":{"type":"adaptive"},"output_config":{"effort":"xhigh"}},` + hi,
		},
		{"an effort without a word", "", bedrock.Options{NoCache: true, Info: llm.Info{Traits: llm.Traits{Thinking: true, Efforts: map[llm.Effort]string{llm.EffortOff: ""}}}}, ask(func(r *llm.Request) { r.Effort = llm.EffortOff }), `{` + hi},
		{"betas", "", bedrock.Options{NoCache: true, Beta: []string{"a"}}, ask(func(*llm.Request) {}), `{"additionalModelRequestFields":{"anthropic_beta":["a"]},` + hi},
		{"a schema that is not enforced", "", plain, ask(func(r *llm.Request) { r.Schema = &llm.Schema{JSON: json.RawMessage(`{}`)} }), `{` + hi},
		{"extra", "", plain, ask(func(r *llm.Request) {
			r.Extra = map[string]json.RawMessage{"bedrock": json.RawMessage(`{"guardrailConfig":{"guardrailIdentifier":"g","guardrailVersion":"1"}}`), "anthropic": json.RawMessage(`{"x":1}`)}
		}), `{"guardrailConfig":{"guardrailIdentifier":"g","guardrailVersion":"1"},` + hi},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.model == "" {
				tt.model = "anthropic.claude-sonnet-4-6"
			}
			if got := sentBy(t, tt.model, tt.opts, tt.req); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestInvalidRequests(t *testing.T) {
	for in, req := range map[string]*llm.Request{
		"role":         {Messages: []llm.Message{{Role: "system", Parts: llm.Texts("x")}}},
		"content":      {Messages: []llm.Message{llm.UserText(" \n")}},
		`"Broken"`:     ask(func(r *llm.Request) { r.Tools = []llm.ToolSpec{{Name: "Broken", Input: json.RawMessage(`{`)}} }),
		"extra fields": ask(func(r *llm.Request) { r.Extra = map[string]json.RawMessage{"bedrock": json.RawMessage(`[]`)} }),
	} {
		_, err := llm.Generate(t.Context(), answer(nil), req)
		if !llm.IsKind(err, llm.KindInvalidRequest) || !strings.Contains(err.Error(), in) {
			t.Errorf("%s: %v", in, err)
		}
	}
}

func user(ps ...llm.Part) llm.Message { return llm.Message{Role: llm.RoleUser, Parts: ps} }

func model(o *llm.Origin, ps ...llm.Part) llm.Message {
	return llm.Message{Role: llm.RoleAssistant, Parts: ps, Origin: o}
}

func result(id string, ps ...llm.Part) llm.ToolResult { return llm.ToolResult{CallID: id, Parts: ps} }

func TestMessages(t *testing.T) {
	raw := func(s string) json.RawMessage { return json.RawMessage(s) }
	const name, cousin, other = "us.anthropic.claude-sonnet-4-6", "anthropic.claude-sonnet-4-6", "anthropic.claude-opus-4-6-v1"
	from := func(model string) *llm.Origin { return &llm.Origin{Provider: "bedrock", Model: model, Wire: "bedrock"} }
	opaque := []llm.Part{
		llm.Thinking{Text: "hm", Signature: "s+/="},
		llm.Thinking{Raw: raw(`{"reasoningContent":{"redactedContent":"AA=="}}`)},
		llm.Native{Wire: "bedrock", Kind: "toolUse", Raw: raw(`{"toolUse":{"toolUseId":"s","name":"n","type":"server_tool_use","input":{}}}`)},
		llm.Native{Wire: "anthropic", Kind: "x", Raw: raw(`{}`)},
		llm.Text{Text: "said", Raw: raw(`{"citationsContent":{"content":[{"text":"said"}]}}`)},
	}
	const back = `{"reasoningContent":{"reasoningText":{"text":"hm","signature":"s+/="}}} {"reasoningContent":{"redactedContent":"AA=="}} {"toolUse":{"toolUseId":"s","name":"n","type":"server_tool_use","input":{}}} {"citationsContent":{"content":[{"text":"said"}]}}`
	see := bedrock.Options{NoCache: true, Info: llm.Info{Traits: llm.Traits{Images: true, PDF: true}}}
	png, pdf := llm.Blob{MIME: "image/png", Data: []byte("x")}, llm.Blob{MIME: "application/pdf", Data: []byte("x"), Name: "My  report_(1)… final.v2.pdf"}
	long := strings.Repeat("x", 65)
	tests := []struct {
		name, model string
		opts        bedrock.Options
		in          []llm.Message
		want        string
	}{
		{"opaque parts go back", name, plain, []llm.Message{llm.UserText("a"), model(from(name), opaque...)}, `user: {"text":"a"} | assistant: ` + back},
		{"in the family too", name, plain, []llm.Message{llm.UserText("a"), model(from(cousin), opaque...)}, `user: {"text":"a"} | assistant: ` + back},
		{"not in another", name, plain, []llm.Message{llm.UserText("a"), model(from(other), opaque...)}, `user: {"text":"a"} | assistant: {"text":"said"}`},
		{"nor of another wire", name, plain, []llm.Message{llm.UserText("a"), model(&llm.Origin{Provider: "bedrock", Model: name, Wire: "anthropic"}, opaque...)}, `user: {"text":"a"} | assistant: {"text":"said"}`},
		{"nor of nobody", name, plain, []llm.Message{llm.UserText("a"), model(nil, opaque...)}, `user: {"text":"a"} | assistant: {"text":"said"}`},
		{"unsigned thinking", name, plain, []llm.Message{llm.UserText("a"), model(from(name), llm.Thinking{Text: "hm"}, llm.Text{Text: "b"})}, `user: {"text":"a"} | assistant: {"text":"b"}`},
		{"thinking at the end", name, plain, []llm.Message{llm.UserText("a"), model(from(name), llm.Text{Text: "b"}, llm.Thinking{Text: "hm", Signature: "s"}), llm.UserText("c")}, `user: {"text":"a"} | assistant: {"text":"b"} | user: {"text":"c"}`},
		{"neighbours are joined", name, plain, []llm.Message{llm.UserText("a"), llm.UserText("b"), model(nil, llm.Text{Text: "c"}), model(nil, llm.Text{Text: "d"}), llm.UserText("e")}, `user: {"text":"a"} {"text":"b"} | assistant: {"text":"c"} {"text":"d"} | user: {"text":"e"}`},
		{"blank text and empty messages", name, plain, []llm.Message{llm.UserText("a"), model(nil, llm.Text{Text: " \n"}, llm.Thinking{Text: "x"}), llm.UserText(""), llm.UserText("b"), {Role: llm.RoleUser}}, `user: {"text":"a"} {"text":"b"}`},
		{
			"results first", name, plain,
			[]llm.Message{llm.UserText("a"), model(nil, llm.ToolCall{ID: "1", Name: "f"}, llm.ToolCall{ID: "2", Name: "f"}), user(llm.Text{Text: "note"}, result("1")), user(llm.Text{Text: "more"}, result("2", llm.Text{Text: "out"}))},
			`user: {"text":"a"} | assistant: {"toolUse":{"toolUseId":"1","name":"f","input":{}}} {"toolUse":{"toolUseId":"2","name":"f","input":{}}} | user: {"toolResult":{"toolUseId":"1","content":[{"text":"(no output)"}]}} {"toolResult":{"toolUseId":"2","content":[{"text":"out"}]}} {"text":"note"} {"text":"more"}`,
		},
		{
			"ids and names", name, plain,
			[]llm.Message{llm.UserText("a"), model(nil, llm.ToolCall{ID: "functions.add:0", Name: "Re ad\n", Input: raw(`{"a":1}`)}, llm.ToolCall{ID: long, Name: "", Input: raw(` {} `)}), user(result("functions.add:0"), result(long))},
			`user: {"text":"a"} | assistant: {"toolUse":{"toolUseId":"mapped_ZnVuY3Rpb25zLmFkZDow","name":"Re_ad_","input":{"a":1}}} {"toolUse":{"toolUseId":"mapped_h_lTfF_fEgSC99WNJentWD9SwCtOME6oFNsWM61WWu1-k","name":"unnamed","input":{}}} | user: {"toolResult":{"toolUseId":"mapped_ZnVuY3Rpb25zLmFkZDow","content":[{"text":"(no output)"}]}} {"toolResult":{"toolUseId":"mapped_h_lTfF_fEgSC99WNJentWD9SwCtOME6oFNsWM61WWu1-k","content":[{"text":"(no output)"}]}}`,
		},
		{"a custom call", name, plain, []llm.Message{llm.UserText("a"), model(nil, llm.ToolCall{ID: "1", Name: "patch", Custom: true, Input: raw(`"*** x"`)})}, `user: {"text":"a"} | assistant: {"toolUse":{"toolUseId":"1","name":"patch","input":{"input":"*** x"}}}`},
		{"an error", name, plain, []llm.Message{llm.UserText("a"), user(llm.ToolResult{CallID: "1", IsError: true, Parts: llm.Texts("bad")})}, `user: {"toolResult":{"toolUseId":"1","content":[{"text":"bad"}],"status":"error"}} {"text":"a"}`},
		{"an error without a status", "meta.llama3", plain, []llm.Message{user(llm.ToolResult{CallID: "1", IsError: true, Parts: llm.Texts("bad")})}, `user: {"toolResult":{"toolUseId":"1","content":[{"text":"The call failed:"},{"text":"bad"}]}}`},
		{"images", name, see, []llm.Message{user(png, llm.Blob{MIME: "image/jpg", Data: []byte("x")}, llm.Blob{MIME: "image/png", URL: "s3://b/k"}, llm.Blob{MIME: "image/png", URL: "https://x/y", Name: "y"})}, `user: {"image":{"format":"png","source":{"bytes":"eA=="}}} {"image":{"format":"jpeg","source":{"bytes":"eA=="}}} {"image":{"format":"png","source":{"s3Location":{"uri":"s3://b/k"}}}} {"text":"[y was left out: Bedrock does not fetch files: it takes their bytes]"}`},
		{"what is not taken", name, plain, []llm.Message{user(png, pdf, llm.Blob{MIME: "image/png"}, llm.Blob{MIME: "video/mp4", Data: []byte("x")})}, `user: {"text":"[image/png was left out: this model takes no images]"} {"text":"[My  report_(1)… final.v2.pdf was left out: this model takes no documents]"} {"text":"[image/png was left out: it is empty]"} {"text":"[video/mp4 was left out: the model takes no files of this type]"}`},
		{
			"documents have names of their own, and a text", name, see,
			[]llm.Message{user(pdf, pdf), model(nil, llm.Text{Text: "b"}), user(pdf, llm.Text{Text: "c"}), model(nil, llm.Text{Text: "d"}), user(llm.Blob{MIME: "application/pdf", Data: []byte("x"), Name: "…"})},
			`user: {"document":{"format":"pdf","name":"My report (1) final v2 1-1","source":{"bytes":"eA=="}}} {"document":{"format":"pdf","name":"My report (1) final v2 1-2","source":{"bytes":"eA=="}}} {"text":"(the file above)"} | assistant: {"text":"b"} | user: {"document":{"format":"pdf","name":"My report (1) final v2 3-1","source":{"bytes":"eA=="}}} {"text":"c"} | assistant: {"text":"d"} | user: {"document":{"format":"pdf","name":"document 5-1","source":{"bytes":"eA=="}}} {"text":"(the file above)"}`,
		},
		{"text files", name, plain, []llm.Message{user(llm.Blob{MIME: "text/csv; charset=utf-8", Name: "t.csv", Data: []byte("a,\xff")})}, `user: {"text":"[t.csv]\na,�"}`},
		{"files in a result", name, see, []llm.Message{user(result("1", png, llm.Native{Wire: "bedrock", Raw: raw(`{}`)}), result("2", pdf))}, `user: {"toolResult":{"toolUseId":"1","content":[{"image":{"format":"png","source":{"bytes":"eA=="}}}]}} {"toolResult":{"toolUseId":"2","content":[{"document":{"format":"pdf","name":"My report (1) final v2 1-1","source":{"bytes":"eA=="}}},{"text":"(the file above)"}]}}`},
		{"files beside a result", "meta.llama4", see, []llm.Message{user(result("1", png))}, `user: {"toolResult":{"toolUseId":"1","content":[{"text":"(the files that follow)"}]}} {"image":{"format":"png","source":{"bytes":"eA=="}}}`},
		{"a file of a model's", name, see, []llm.Message{llm.UserText("a"), model(nil, png)}, `user: {"text":"a"} | assistant: {"text":"[image/png was left out: the model is not shown files as its own words]"}`},
		{"the model first", name, plain, []llm.Message{model(nil, llm.Text{Text: "b"}), llm.UserText("c")}, `user: {"text":"(The conversation goes on.)"} | assistant: {"text":"b"} | user: {"text":"c"}`},
		{"unknown parts", name, plain, []llm.Message{user(llm.Unknown{Kind: "hologram", Raw: raw(`{}`)}, llm.Text{Text: "a"})}, `user: {"text":"a"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := show(t, sentBy(t, tt.model, tt.opts, &llm.Request{Messages: tt.in})); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// show writes the messages of a body on one line.
func show(t *testing.T, body string) string {
	t.Helper()
	var r struct {
		Messages []struct {
			Role    string
			Content []json.RawMessage
		}
	}
	if err := json.Unmarshal([]byte(body), &r); err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, m := range r.Messages {
		line := m.Role + ":"
		for _, c := range m.Content {
			line += " " + string(c)
		}
		out = append(out, line)
	}
	return strings.Join(out, " | ")
}

// TestThinkingLoop: a turn that began without thinking goes on without.
func TestThinkingLoop(t *testing.T) {
	own := &llm.Origin{Provider: "bedrock", Model: "anthropic.claude-sonnet-4-6", Wire: "bedrock"}
	call := llm.ToolCall{ID: "1", Name: "f"}
	for name, tt := range map[string]struct {
		turn llm.Message
		on   bool
	}{
		"unsigned": {model(own, call), false},
		"foreign":  {model(&llm.Origin{Wire: "openai-chat"}, llm.Thinking{Text: "x", Signature: "s"}, call), false},
		"signed":   {model(own, llm.Thinking{Text: "x", Signature: "s"}, call), true},
	} {
		req := &llm.Request{Effort: llm.EffortLow, Messages: []llm.Message{llm.UserText("a"), tt.turn, user(result("1"))}}
		if got := strings.Contains(sent(t, able("budget", 0), req), "budget_tokens"); got != tt.on {
			t.Errorf("%s: thinking %t", name, got)
		}
	}
}

// TestPrefix: with the cache points taken out, each request extends the last,
// byte for byte.
func TestPrefix(t *testing.T) {
	o := bedrock.Options{CacheTTL: "1h", Info: llm.Info{Output: 64000, Traits: llm.Traits{Images: true, PDF: true, Thinking: true}}}
	own := &llm.Origin{Provider: "bedrock", Model: "anthropic.claude-sonnet-4-6", Wire: "bedrock"}
	req := &llm.Request{System: "s", Tools: []llm.ToolSpec{{Name: "f"}}, Effort: llm.EffortHigh, Messages: []llm.Message{
		user(llm.Text{Text: "go"}, llm.Blob{MIME: "application/pdf", Data: []byte("x"), Name: "a.pdf"}).Keep(),
	}}
	const point = `,{"cachePoint":{"type":"default","ttl":"1h"}}`
	prev := ""
	for i := range 20 {
		body := sent(t, o, req)
		if n, want := strings.Count(body, point), min(i, 1)+3; n != want {
			t.Errorf("turn %d: %d cache points, want %d", i, n, want)
		}
		body = strings.ReplaceAll(body, point, "")
		if !strings.HasPrefix(body, strings.TrimSuffix(prev, "]}")) {
			t.Fatalf("turn %d: %s\ndoes not extend %s", i, body, prev)
		}
		prev = body
		id := fmt.Sprintf("tooluse_%d", i)
		req.Messages = append(req.Messages,
			model(own, llm.Thinking{Text: "hm", Signature: "s"}, llm.Text{Text: "I look."}, llm.ToolCall{ID: id, Name: "f", Input: json.RawMessage(`{"n":1}`)}).Keep(),
			user(result(id, llm.Text{Text: "out"}, llm.Blob{MIME: "application/pdf", Data: []byte("y")})).Keep())
	}
}

// TestKept: what is kept of a message is not taken for another model's form.
func TestKept(t *testing.T) {
	msg := user(llm.Blob{MIME: "image/png", Name: "a.png", Data: []byte("x")}).Keep()
	req := &llm.Request{Messages: []llm.Message{msg}}
	blind := sent(t, plain, req)
	seeing := sent(t, bedrock.Options{NoCache: true, Info: llm.Info{Traits: llm.Traits{Images: true}}}, req)
	if !strings.Contains(blind, "left out") || !strings.Contains(seeing, "bytes") {
		t.Errorf("%s\n%s", blind, seeing)
	}
}

// A request is counted under the model's own id, with its system prompt and its
// tools.
func TestCountTokens(t *testing.T) {
	c := &capture{body: []byte(`{"inputTokens":42}`)}
	o := options(c)
	req := ask(func(r *llm.Request) { r.System, r.Tools, r.MaxTokens = "s", []llm.ToolSpec{{Name: "Ls"}}, 9 })
	n, err := llm.CountTokens(t.Context(), bedrock.New("us.anthropic.claude-x-v1:0", o), req)
	const want = `{"input":{"converse":{"toolConfig":{"tools":[{"toolSpec":{"name":"Ls","inputSchema":{"json":{"type":"object"}}}}]},"system":[{"text":"s"}],"messages":[{"role":"user","content":[{"text":"hi"}]}]}}}`
	if err != nil || n != 42 || c.req.URL.Path != "/model/anthropic.claude-x-v1:0/count-tokens" || c.sent != want {
		t.Errorf("%d %v %s %s", n, err, c.req.URL.Path, c.sent)
	}
	o = options(wirecase.Canned{Status: 400, Body: `{"message":"The provided model doesn't support counting tokens."}`})
	if n, err := bedrock.New("meta.x", o).CountTokens(t.Context(), req); err != nil || n != llm.Estimate(req) {
		t.Error(n, err)
	}
}
