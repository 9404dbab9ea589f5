package gemini_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/gemini"
	"github.com/cantle-dev/cantle/llm/internal/wirecase"
)

// capture is a transport that keeps the request.
type capture struct {
	req  *http.Request
	body string
	resp string
}

func (c *capture) RoundTrip(r *http.Request) (*http.Response, error) {
	b, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	c.req, c.body = r, string(b)
	resp := c.resp
	if resp == "" {
		resp = `{"candidates":[{"finishReason":"STOP"}]}`
	}
	return &http.Response{StatusCode: 200, Header: http.Header{}, Request: r, Body: io.NopCloser(strings.NewReader(resp))}, nil
}

// sent returns the body that a model of these options posts.
func sent(t testing.TB, name string, opts gemini.Options, req *llm.Request) string {
	t.Helper()
	c := &capture{}
	opts.Client, opts.BaseURL = &http.Client{Transport: c}, "http://gemini.test"
	if _, err := llm.Generate(t.Context(), gemini.New(name, opts), req); err != nil {
		t.Fatal(err)
	}
	if !json.Valid([]byte(c.body)) {
		t.Fatalf("the request is not JSON: %s", c.body)
	}
	return c.body
}

func traits(t llm.Traits) gemini.Options { return gemini.Options{Info: llm.Info{Traits: t}} }

func ask(change func(*llm.Request)) *llm.Request {
	r := &llm.Request{Messages: []llm.Message{llm.UserText("hi")}}
	change(r)
	return r
}

func effort(e llm.Effort) *llm.Request { return ask(func(r *llm.Request) { r.Effort = e }) }

func TestBody(t *testing.T) {
	temp := 0.5
	tool := llm.ToolSpec{Name: "Read", Description: "reads <x>", Input: json.RawMessage(`{ "type" : "object", "$defs":{"a":{}}, "additionalProperties":false }`)}
	decl := `{"name":"Read","description":"reads <x>","parametersJsonSchema":` + string(tool.Input) + `}`
	schema := &llm.Schema{Name: "s", JSON: json.RawMessage(`{"type": "object"}`)}
	thinker := traits(llm.Traits{Thinking: true})
	extra := func(s string) func(*llm.Request) {
		return func(r *llm.Request) {
			r.Tools, r.MaxTokens, r.ToolChoice.Mode = []llm.ToolSpec{tool}, 5, llm.ChoiceAny
			r.Extra = map[string]json.RawMessage{"gemini": json.RawMessage(s), "openai-chat": json.RawMessage(`{"x":1}`)}
		}
	}
	const hi = `"contents":[{"role":"user","parts":[{"text":"hi"}]}]`
	tests := []struct {
		name, model string
		opts        gemini.Options
		req         *llm.Request
		want        string
	}{
		{"least", "gemini-3-x", gemini.Options{}, ask(func(*llm.Request) {}), `{` + hi + `}`},
		{"all", "gemini-3-x", gemini.Options{}, ask(func(r *llm.Request) {
			r.System, r.Tools, r.MaxTokens, r.Temperature, r.Stop = "Be <brief>.", []llm.ToolSpec{tool, {Name: "Ls"}}, 77, &temp, []string{"END"}
			r.ToolChoice = llm.ToolChoice{Mode: llm.ChoiceTool, Name: "Read"}
		}), `{"generationConfig":{"maxOutputTokens":77,"temperature":0.5,"stopSequences":["END"]},` +
			`"toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["Read"]}},` +
			`"tools":[{"functionDeclarations":[` + decl + `,{"name":"Ls","parametersJsonSchema":{"type":"object","properties":{}}}]}],` +
			`"systemInstruction":{"parts":[{"text":"Be <brief>."}]},` + hi + `}`},
		{"the model's cap", "gemini-3-x", gemini.Options{Info: llm.Info{Output: 100}}, ask(func(r *llm.Request) { r.MaxTokens = 999 }), `{"generationConfig":{"maxOutputTokens":100},` + hi + `}`},
		{"no temperature", "gemini-3-x", traits(llm.Traits{NoTemperature: true}), ask(func(r *llm.Request) { r.Temperature = &temp }), `{` + hi + `}`},
		{"any", "gemini-3-x", gemini.Options{}, ask(func(r *llm.Request) { r.Tools, r.ToolChoice.Mode = []llm.ToolSpec{tool}, llm.ChoiceAny }), `{"toolConfig":{"functionCallingConfig":{"mode":"ANY"}},"tools":[{"functionDeclarations":[` + decl + `]}],` + hi + `}`},
		{"none", "gemini-3-x", gemini.Options{}, ask(func(r *llm.Request) { r.Tools, r.ToolChoice.Mode = []llm.ToolSpec{tool}, llm.ChoiceNone }), `{"toolConfig":{"functionCallingConfig":{"mode":"NONE"}},"tools":[{"functionDeclarations":[` + decl + `]}],` + hi + `}`},
		{"auto", "gemini-3-x", gemini.Options{}, ask(func(r *llm.Request) { r.Tools = []llm.ToolSpec{tool} }), `{"tools":[{"functionDeclarations":[` + decl + `]}],` + hi + `}`},
		{"choice without tools", "gemini-3-x", gemini.Options{}, ask(func(r *llm.Request) { r.ToolChoice.Mode = llm.ChoiceAny }), `{` + hi + `}`},

		{"schema", "gemini-2.5-x", traits(llm.Traits{Schema: true}), ask(func(r *llm.Request) { r.Schema = schema }), `{"generationConfig":{"responseMimeType":"application/json","responseJsonSchema":{"type": "object"}},` + hi + `}`},
		{"schema that is not enforced", "gemini-2.5-x", gemini.Options{}, ask(func(r *llm.Request) { r.Schema = schema }), `{` + hi + `}`},
		{"schema beside tools, 2.5", "gemini-2.5-x", traits(llm.Traits{Schema: true}), ask(func(r *llm.Request) { r.Schema, r.Tools = schema, []llm.ToolSpec{tool} }), `{"tools":[{"functionDeclarations":[` + decl + `]}],` + hi + `}`},
		{"schema beside tools, 3", "gemini-3-x", traits(llm.Traits{Schema: true}), ask(func(r *llm.Request) { r.Schema, r.Tools = schema, []llm.ToolSpec{tool} }), `{"generationConfig":{"responseMimeType":"application/json","responseJsonSchema":{"type": "object"}},"tools":[{"functionDeclarations":[` + decl + `]}],` + hi + `}`},

		{"effort on a model without", "gemini-2.5-x", gemini.Options{}, effort(llm.EffortHigh), `{` + hi + `}`},
		{"thoughts are shown", "gemini-2.5-x", thinker, effort(""), `{"generationConfig":{"thinkingConfig":{"includeThoughts":true}},` + hi + `}`},
		{"budget", "gemini-2.5-flash", thinker, effort(llm.EffortMedium), `{"generationConfig":{"thinkingConfig":{"thinkingBudget":8192,"includeThoughts":true}},` + hi + `}`},
		{"budget, off", "gemini-2.5-flash", thinker, effort(llm.EffortOff), `{"generationConfig":{"thinkingConfig":{"thinkingBudget":0}},` + hi + `}`},
		{"budget of a pro, off", "gemini-2.5-pro", thinker, effort(llm.EffortOff), `{"generationConfig":{"thinkingConfig":{"thinkingBudget":128,"includeThoughts":true}},` + hi + `}`},
		{"own budget", "gemini-2.5-x", traits(llm.Traits{Thinking: true, Efforts: map[llm.Effort]string{llm.EffortHigh: "999", llm.EffortOff: ""}}), effort(llm.EffortHigh), `{"generationConfig":{"thinkingConfig":{"thinkingBudget":999,"includeThoughts":true}},` + hi + `}`},
		{"own budget, not sent", "gemini-2.5-x", traits(llm.Traits{Thinking: true, Efforts: map[llm.Effort]string{llm.EffortOff: ""}}), effort(llm.EffortOff), `{"generationConfig":{"thinkingConfig":{"includeThoughts":true}},` + hi + `}`},
		{"no number in the name", "gemini-flash-latest", thinker, effort(llm.EffortLow), `{"generationConfig":{"thinkingConfig":{"thinkingBudget":2048,"includeThoughts":true}},` + hi + `}`},
		{"level", "gemini-3.1-x", thinker, effort(llm.EffortXHigh), `{"generationConfig":{"thinkingConfig":{"thinkingLevel":"high","includeThoughts":true}},` + hi + `}`},
		{"level, own word", "gemini-3-x", traits(llm.Traits{Thinking: true, Efforts: map[llm.Effort]string{llm.EffortMinimal: "minimal"}}), effort(llm.EffortMinimal), `{"generationConfig":{"thinkingConfig":{"thinkingLevel":"minimal","includeThoughts":true}},` + hi + `}`},
		{"level by its style", "other", traits(llm.Traits{Thinking: true, ThinkingStyle: "level"}), effort(llm.EffortOff), `{"generationConfig":{"thinkingConfig":{"thinkingLevel":"low","includeThoughts":true}},` + hi + `}`},
		{"budget by its style", "gemini-3-x", traits(llm.Traits{Thinking: true, ThinkingStyle: "budget"}), effort(llm.EffortHigh), `{"generationConfig":{"thinkingConfig":{"thinkingBudget":16384,"includeThoughts":true}},` + hi + `}`},

		{
			"extra", "gemini-3-x",
			gemini.Options{},
			ask(extra(`{"safetySettings":[],"generationConfig":{"seed":1,"maxOutputTokens":null},"toolConfig":{"retrievalConfig":{}},"tools":[{"googleSearch":{}}]}`)),
			`{"safetySettings":[],"generationConfig":{"seed":1},"toolConfig":{"retrievalConfig":{},"functionCallingConfig":{"mode":"ANY"}},` +
				`"tools":[{"functionDeclarations":[` + decl + `]},{"googleSearch":{}}],` + hi + `}`,
		},
		{
			"extra alone", "gemini-3-x",
			gemini.Options{},
			ask(func(r *llm.Request) {
				r.Extra = map[string]json.RawMessage{"gemini": json.RawMessage(`{"tools":[{"googleSearch":{}}],"generationConfig":{"seed":1}}`)}
			}),
			`{"generationConfig":{"seed":1},"tools":[{"googleSearch":{}}],` + hi + `}`,
		},
		{
			"no extra tools", "gemini-3-x",
			gemini.Options{},
			ask(extra(`{"generationConfig":null,"toolConfig":null,"tools":[ ]}`)),
			`{"tools":[{"functionDeclarations":[` + decl + `]}],` + hi + `}`,
		},
		{
			"extra takes out", "gemini-3-x",
			gemini.Options{},
			ask(extra(`{"generationConfig":null,"toolConfig":null,"tools":null}`)),
			`{` + hi + `}`,
		},
	}
	for _, tt := range tests {
		if got := sent(t, tt.model, tt.opts, tt.req); got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.name, got, tt.want)
		}
	}
}

func TestHeadersAndAddress(t *testing.T) {
	for _, tt := range []struct {
		name, base, path, want string
	}{
		{"gemini-x", "", "", "https://generativelanguage.googleapis.com/v1beta/models/gemini-x"},
		{"models/gemini-x", "http://h:1/", "", "http://h:1/v1beta/models/gemini-x"},
		{"gemini-x", "http://h/p/v1beta/", "", "http://h/p/v1beta/models/gemini-x"},
		{"gemini-x", "http://h/v1", "", "http://h/v1/models/gemini-x"},
		{"tunedModels/mine", "http://h", "", "http://h/v1beta/tunedModels/mine"},
		{"a b/c?d", "http://h", "", "http://h/v1beta/models/a%20b%2Fc%3Fd"},
		{"gemini-x", "http://h", "/v1/projects/p/locations/l/publishers/google/models/gemini-x", "http://h/v1/projects/p/locations/l/publishers/google/models/gemini-x"},
	} {
		c := &capture{}
		m := gemini.New(tt.name, gemini.Options{
			APIKey: "secret-key", BaseURL: tt.base, Path: tt.path, Client: &http.Client{Transport: c}, Header: http.Header{"x-more": {"1"}},
			Sign: func(r *http.Request) error { r.Header.Set("Authorization", "Bearer t"); return nil },
		})
		if _, err := llm.Generate(t.Context(), m, hi); err != nil {
			t.Fatal(err)
		}
		if got := c.req.URL.String(); got != tt.want+":streamGenerateContent?alt=sse" {
			t.Errorf("%s: %s", tt.name, got)
		}
		if h := c.req.Header; h.Get("X-Goog-Api-Key") != "secret-key" || h.Get("X-More") != "1" || h.Get("Authorization") != "Bearer t" {
			t.Errorf("headers %v", h)
		}
	}
	m := gemini.New("models/gemini-x", gemini.Options{})
	if got := m.Info(); got.Name != "gemini-x" || got.Wire != gemini.Wire || got.Provider != "google" {
		t.Errorf("%+v", got)
	}
}

func result(id string, parts ...llm.Part) llm.ToolResult {
	return llm.ToolResult{CallID: id, Name: "Read", Parts: parts}
}

func user(parts ...llm.Part) llm.Message { return llm.Message{Role: llm.RoleUser, Parts: parts} }

func model(o *llm.Origin, parts ...llm.Part) llm.Message {
	return llm.Message{Role: llm.RoleAssistant, Parts: parts, Origin: o}
}

func call(id, raw string) llm.ToolCall {
	return llm.ToolCall{ID: id, Name: "Read", Input: json.RawMessage(`{"a":1}`), Raw: json.RawMessage(raw)}
}

func TestMessages(t *testing.T) {
	own := &llm.Origin{Provider: "google", Model: "gemini-3-x", Wire: "gemini"}
	dated := &llm.Origin{Provider: "google", Model: "gemini-3-x-preview-09-2025", Wire: "gemini"}
	older := &llm.Origin{Provider: "google", Model: "gemini-2.5-x", Wire: "gemini"}
	elsewhere := &llm.Origin{Provider: "vertex", Model: "gemini-3-x", Wire: "gemini"}
	claude := &llm.Origin{Provider: "anthropic", Model: "c", Wire: "anthropic"}
	const unsigned = `,"thoughtSignature":"c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I="`
	signedText := llm.Text{Text: "t", Raw: json.RawMessage(`{"text":"t","thoughtSignature":"c2ln"}`)}
	signedCall := `{"functionCall":{"name":"Read","args":{"a":1}},"thoughtSignature":"c2ln"}`
	png := llm.Blob{MIME: "image/png", Data: []byte("hi")}
	const pngPart = `{"inlineData":{"mimeType":"image/png","data":"aGk="}}`
	const hi = `{"role":"user","parts":[{"text":"hi"}]}`
	const onward = `{"role":"user","parts":[{"text":"(The conversation goes on.)"}]}`
	sees := llm.Traits{Images: true, PDF: true}
	tests := []struct {
		name, model string
		traits      llm.Traits
		ms          []llm.Message
		want        string
	}{
		{
			"signatures go back in their parts", "gemini-3-x", sees,
			[]llm.Message{
				llm.UserText("hi"),
				model(own, llm.Thinking{Text: "hm"}, signedText, call("gemini_0123_0", signedCall), call("gemini_0123_1", ""), llm.Text{Raw: json.RawMessage(`{"text":"","thoughtSignature":"c2lo"}`)}),
				user(result("gemini_0123_0", llm.Text{Text: "x"}), result("gemini_0123_1", llm.Text{Text: "y"})),
			},
			hi + `,{"role":"model","parts":[{"text":"t","thoughtSignature":"c2ln"},` + signedCall + `,{"functionCall":{"name":"Read","args":{"a":1}}},{"text":"","thoughtSignature":"c2lo"}]},` +
				`{"role":"user","parts":[{"functionResponse":{"name":"Read","response":{"output":"x"}}},{"functionResponse":{"name":"Read","response":{"output":"y"}}}]}`,
		},
		{
			"to another date of the model, too", "gemini-3-x", sees,
			[]llm.Message{llm.UserText("hi"), model(dated, signedText)},
			hi + `,{"role":"model","parts":[{"text":"t","thoughtSignature":"c2ln"}]}`,
		},
		{
			"but not to another provider", "gemini-3-x", sees,
			[]llm.Message{llm.UserText("hi"), model(elsewhere, llm.Thinking{Text: "hm", Raw: json.RawMessage(`{"text":"hm","thought":true,"thoughtSignature":"x"}`)}, signedText, llm.Native{Wire: "gemini", Kind: "executableCode", Raw: json.RawMessage(`{"executableCode":{}}`)})},
			hi + `,{"role":"model","parts":[{"text":"t"}]}`,
		},
		{
			"ids that the server gave", "gemini-3-x", sees,
			[]llm.Message{
				llm.UserText("hi"),
				model(own, call("abcd", `{"functionCall":{"name":"Read","args":{"a":1},"id":"abcd"},"thoughtSignature":"c2ln"}`), call("efgh", "")),
				user(result("abcd", llm.Text{Text: "x"}), llm.ToolResult{CallID: "efgh", IsError: true, Parts: llm.Texts("no", "way")}),
			},
			hi + `,{"role":"model","parts":[{"functionCall":{"name":"Read","args":{"a":1},"id":"abcd"},"thoughtSignature":"c2ln"},{"functionCall":{"id":"efgh","name":"Read","args":{"a":1}}}]},` +
				`{"role":"user","parts":[{"functionResponse":{"id":"abcd","name":"Read","response":{"output":"x"}}},{"functionResponse":{"id":"efgh","name":"Read","response":{"error":"no\nway"}}}]}`,
		},
		{
			"calls of another provider", "gemini-3-x", sees,
			[]llm.Message{
				llm.UserText("hi"),
				model(claude, llm.Thinking{Text: "hm", Signature: "s"}, llm.Text{Text: "t"}, call("toolu_1", `{"type":"tool_use"}`), call("toolu_2", "")),
				user(result("toolu_1", llm.Text{Text: "x"}), result("toolu_2", llm.Text{Text: "y"})),
			},
			hi + `,{"role":"model","parts":[{"text":"t"},{"functionCall":{"id":"toolu_1","name":"Read","args":{"a":1}}` + unsigned + `},{"functionCall":{"id":"toolu_2","name":"Read","args":{"a":1}}}]},` +
				`{"role":"user","parts":[{"functionResponse":{"id":"toolu_1","name":"Read","response":{"output":"x"}}},{"functionResponse":{"id":"toolu_2","name":"Read","response":{"output":"y"}}}]}`,
		},
		{
			"calls of another provider, to a model without ids", "gemini-2.5-x", sees,
			[]llm.Message{llm.UserText("hi"), model(claude, call("toolu_1", "")), user(result("toolu_1", llm.Text{Text: "x"}))},
			hi + `,{"role":"model","parts":[{"functionCall":{"name":"Read","args":{"a":1}}}]},{"role":"user","parts":[{"functionResponse":{"name":"Read","response":{"output":"x"}}}]}`,
		},
		{
			"calls of an older generation", "gemini-3-x", sees,
			[]llm.Message{llm.UserText("hi"), model(older, call("gemini_00_0", signedCall)), user(result("gemini_00_0", llm.Text{Text: "x"}))},
			hi + `,{"role":"model","parts":[{"functionCall":{"name":"Read","args":{"a":1}}` + unsigned + `}]},{"role":"user","parts":[{"functionResponse":{"name":"Read","response":{"output":"x"}}}]}`,
		},
		{
			"calls of another provider, to the latest", "gemini-flash-latest", sees,
			[]llm.Message{llm.UserText("hi"), model(claude, call("toolu_1", "")), user(result("toolu_1", llm.Text{Text: "x"}))},
			hi + `,{"role":"model","parts":[{"functionCall":{"id":"toolu_1","name":"Read","args":{"a":1}}` + unsigned + `}]},{"role":"user","parts":[{"functionResponse":{"id":"toolu_1","name":"Read","response":{"output":"x"}}}]}`,
		},
		{
			"names and custom tools", "gemini-2.5-x", sees,
			[]llm.Message{
				llm.UserText("hi"),
				model(claude, llm.ToolCall{ID: "1", Name: "1 bäd", Input: json.RawMessage(`"free"`), Custom: true}, llm.ToolCall{ID: "2"}),
				user(llm.ToolResult{CallID: "1"}, llm.ToolResult{CallID: "2"}, llm.ToolResult{CallID: "lost"}),
			},
			hi + `,{"role":"model","parts":[{"functionCall":{"name":"__b__d","args":{"input":"free"}}},{"functionCall":{"name":"unnamed","args":{}}}]},` +
				`{"role":"user","parts":[{"functionResponse":{"name":"__b__d","response":{"output":"(no output)"}}},{"functionResponse":{"name":"unnamed","response":{"output":"(no output)"}}},{"functionResponse":{"name":"unnamed","response":{"output":"(no output)"}}}]}`,
		},
		{
			"neighbours make one content, results first", "gemini-3-x", sees,
			[]llm.Message{
				llm.UserText("hi"), model(own, call("a", "")), model(own, call("b", "")),
				user(llm.Text{Text: "and"}, result("a", llm.Text{Text: "x"})), user(result("b", llm.Text{Text: "y"})), llm.UserText(""), llm.UserText("more"),
			},
			hi + `,{"role":"model","parts":[{"functionCall":{"id":"a","name":"Read","args":{"a":1}}},{"functionCall":{"id":"b","name":"Read","args":{"a":1}}}]},` +
				`{"role":"user","parts":[{"functionResponse":{"id":"a","name":"Read","response":{"output":"x"}}},{"functionResponse":{"id":"b","name":"Read","response":{"output":"y"}}},{"text":"and"},{"text":"more"}]}`,
		},
		{
			"the user comes first", "gemini-3-x", sees,
			[]llm.Message{user(), model(own, llm.Text{Text: "a"}), llm.UserText("hi")},
			onward + `,{"role":"model","parts":[{"text":"a"}]},` + hi,
		},
		{
			"files in a result", "gemini-3-x", sees,
			[]llm.Message{llm.UserText("hi"), model(own, call("a", "")), user(result("a", llm.Text{Text: "x"}, png, llm.Blob{MIME: "audio/mpeg", Data: []byte("hi")}))},
			hi + `,{"role":"model","parts":[{"functionCall":{"id":"a","name":"Read","args":{"a":1}}}]},{"role":"user","parts":[{"functionResponse":{"id":"a","name":"Read","response":{"output":"x"},"parts":[` + pngPart + `]}},{"inlineData":{"mimeType":"audio/mp3","data":"aGk="}}]}`,
		},
		{
			"files of a result, before generation 3", "gemini-2.5-x", sees,
			[]llm.Message{llm.UserText("hi"), model(older, call("a", "")), user(result("a", png))},
			hi + `,{"role":"model","parts":[{"functionCall":{"id":"a","name":"Read","args":{"a":1}}}]},{"role":"user","parts":[{"functionResponse":{"id":"a","name":"Read","response":{"output":"(see the files)"}}},` + pngPart + `]}`,
		},
		{
			"files", "gemini-3-x", sees,
			[]llm.Message{user(
				llm.Blob{MIME: "image/jpg; x=y", Data: []byte("hi")}, llm.Blob{MIME: "application/pdf", Data: []byte("hi")}, llm.Blob{MIME: "audio/wav", Data: []byte("hi")},
				llm.Blob{MIME: "image/png", URL: "https://x/y.png"}, llm.Blob{MIME: "text/csv", Name: "a.csv", Data: []byte("1,2")},
				llm.Blob{MIME: "image/gif", Data: []byte("hi")}, llm.Blob{MIME: "application/zip", Name: "a.zip", Data: []byte("hi")}, llm.Blob{},
			)},
			`{"role":"user","parts":[{"inlineData":{"mimeType":"image/jpeg","data":"aGk="}},{"inlineData":{"mimeType":"application/pdf","data":"aGk="}},{"inlineData":{"mimeType":"audio/wav","data":"aGk="}},` +
				`{"fileData":{"mimeType":"image/png","fileUri":"https://x/y.png"}},{"text":"[a.csv]\n1,2"},` +
				`{"text":"[image/gif was left out: the model takes no files of this type]"},{"text":"[a.zip was left out: the model takes no files of this type]"},{"text":"[a file was left out: it is empty]"}]}`,
		},
		{
			"files to a model that takes none", "gemini-3-x",
			llm.Traits{},
			[]llm.Message{user(png, llm.Blob{MIME: "application/pdf", Name: "a.pdf", Data: []byte("hi")})},
			`{"role":"user","parts":[{"text":"[image/png was left out: this model takes no images]"},{"text":"[a.pdf was left out: this model takes no documents]"}]}`,
		},
		{
			"files that the model made", "gemini-3-x", sees,
			[]llm.Message{
				llm.UserText("hi"),
				model(own, png, llm.Native{Wire: "gemini", Kind: "thoughtSignature", Raw: json.RawMessage(`{"thoughtSignature":"c2ln"}`)}, png),
				llm.UserText("hi"), model(elsewhere, png, llm.Native{Wire: "gemini", Kind: "thoughtSignature", Raw: json.RawMessage(`{"thoughtSignature":"c2ln"}`)}),
			},
			hi + `,{"role":"model","parts":[{"thoughtSignature":"c2ln","inlineData":{"mimeType":"image/png","data":"aGk="}},` + pngPart + `]},` + hi +
				`,{"role":"model","parts":[{"text":"[image/png was left out: the model is not shown files as its own words]"}]}`,
		},
		{
			"parts of the provider's own tools", "gemini-3-x", sees,
			[]llm.Message{
				llm.UserText("hi"),
				model(own, llm.Native{Wire: "gemini", Kind: "toolCall", Raw: json.RawMessage(`{"toolCall":{"id":"s"}}`)}, llm.Native{Wire: "gemini", Kind: "groundingMetadata", Raw: json.RawMessage(`{"x":1}`)}, llm.Native{Wire: "anthropic", Kind: "x", Raw: json.RawMessage(`{"x":1}`)}, llm.Unknown{Kind: "later", Raw: json.RawMessage(`{}`)}),
			},
			hi + `,{"role":"model","parts":[{"toolCall":{"id":"s"}}]}`,
		},
	}
	for _, tt := range tests {
		got := sent(t, tt.model, traits(tt.traits), &llm.Request{Messages: tt.ms})
		if want := `{"contents":[` + tt.want + `]}`; got != want {
			t.Errorf("%s:\n got %s\nwant %s", tt.name, got, want)
		}
	}
}

// TestRoundTrip sends every answer in testdata back and looks for the
// signatures that were in it, each in the part that it came in.
func TestRoundTrip(t *testing.T) {
	for _, name := range []string{"thinking", "signature-on-text", "signature-alone", "calls-parallel", "calls-with-ids", "calls-with-one-id", "call-pieces", "server-tools", "files", "whole"} {
		body := wirecase.Answer(t, "testdata/"+name+".txt")
		r, err := llm.Generate(t.Context(), answer(body, false), hi)
		if err != nil {
			t.Fatal(name, err)
		}
		// What is kept in a file and read again is the same.
		kept, err := json.Marshal(r.Message)
		if err != nil {
			t.Fatal(err)
		}
		var again llm.Message
		if err := json.Unmarshal(kept, &again); err != nil {
			t.Fatal(err)
		}
		opts := gemini.Options{Info: llm.Info{Traits: llm.Traits{Images: true, PDF: true}}}
		got := sent(t, "gemini-3-x", opts, &llm.Request{Messages: []llm.Message{llm.UserText("hi"), again}})
		want := strings.Count(body, "thoughtSignature")
		if n := strings.Count(got, "thoughtSignature"); n != want {
			t.Errorf("%s: %d signatures, want %d: %s", name, n, want, got)
		}
		if name == "signature-on-text" && !strings.Contains(got, `"parts":[{"text":"a"},{"text":"b","thoughtSignature":"c2ln"},{"text":"cd"},{"text":"thought","thought":true,"thoughtSignature":"dGg="}]`) {
			t.Errorf("%s: %s", name, got)
		}
		if name == "call-pieces" && !strings.Contains(got, `{"functionCall":{"id":"i1","name":"edit","args":{"path":"a/b \"q\"",`) {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestInvalidRequests(t *testing.T) {
	for want, req := range map[string]*llm.Request{
		`message 1 has the role "system": must be user or assistant`:             {Messages: []llm.Message{{Role: "system"}}},
		`no message has any content`:                                             {},
		`the input schema of the tool "Read" is not JSON`:                        ask(func(r *llm.Request) { r.Tools = []llm.ToolSpec{{Name: "Read", Input: json.RawMessage(`{`)}} }),
		`the extra fields for gemini are no JSON object: unexpected end of JSON`: ask(func(r *llm.Request) { r.Extra = map[string]json.RawMessage{"gemini": json.RawMessage(`{`)} }),
		`the extra fields for gemini: generationConfig: `: ask(func(r *llm.Request) {
			r.MaxTokens, r.Extra = 1, map[string]json.RawMessage{"gemini": json.RawMessage(`{"generationConfig":7}`)}
		}),
	} {
		_, err := llm.Generate(t.Context(), gemini.New("gemini-x", gemini.Options{BaseURL: "http://gemini.test"}), req)
		if !llm.IsKind(err, llm.KindInvalidRequest) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// TestPrefix: each request of a conversation starts with the one before it.
func TestPrefix(t *testing.T) {
	own := &llm.Origin{Provider: "google", Model: "gemini-3-x", Wire: "gemini"}
	req := &llm.Request{System: "s", Tools: []llm.ToolSpec{{Name: "Read", Input: json.RawMessage(`{"type":"object"}`)}}}
	req.Messages = append(req.Messages, llm.UserText("hi").Keep())
	var last []byte
	for i := range 20 {
		body := []byte(sent(t, "gemini-3-x", traits(llm.Traits{Images: true}), req))
		if last != nil && !bytes.HasPrefix(body, last) {
			t.Fatalf("turn %d: %s\ndoes not start with\n%s", i, body, last)
		}
		last = bytes.TrimSuffix(body, []byte("]}"))
		id := fmt.Sprintf("gemini_%d_0", i)
		req.Messages = append(req.Messages,
			model(own, llm.Thinking{Text: "hm"}, call(id, `{"functionCall":{"name":"Read","args":{}},"thoughtSignature":"c2ln"}`)).Keep(),
			user(result(id, llm.Text{Text: "x"}, llm.Blob{MIME: "image/png", Data: []byte("hi")})).Keep())
	}
}

// TestKept: a message is encoded once, and again for a model that takes other
// things.
func TestKept(t *testing.T) {
	png := llm.Blob{MIME: "image/png", Data: []byte("hi")}
	ms := []llm.Message{user(png).Keep()}
	a := sent(t, "gemini-3-x", traits(llm.Traits{Images: true}), &llm.Request{Messages: ms})
	b := sent(t, "gemini-3-x", traits(llm.Traits{}), &llm.Request{Messages: ms})
	if a == b || !strings.Contains(a, "inlineData") || strings.Contains(b, "inlineData") {
		t.Errorf("%s\n%s", a, b)
	}
}

func TestFromEnv(t *testing.T) {
	env := map[string]string{}
	getenv := func(k string) string { return env[k] }
	if _, err := gemini.FromEnv("gemini-x", getenv, gemini.Options{}); err == nil || !strings.Contains(err.Error(), "GEMINI_API_KEY or GOOGLE_API_KEY") {
		t.Error(err)
	}
	for _, k := range []string{"GOOGLE_API_KEY", "GEMINI_API_KEY"} {
		env[k] = " of-" + k + "\n"
		c := &capture{}
		m, err := gemini.FromEnv("gemini-x", getenv, gemini.Options{Client: &http.Client{Transport: c}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := llm.Generate(t.Context(), m, hi); err != nil || c.req.Header.Get("X-Goog-Api-Key") != "of-"+k {
			t.Error(err, c.req.Header)
		}
	}
}

// A request is counted as a whole, with its system prompt and its tools.
func TestCountTokens(t *testing.T) {
	req := ask(func(r *llm.Request) {
		r.System, r.Tools = "s", []llm.ToolSpec{{Name: "Read"}}
		r.ToolChoice = llm.ToolChoice{Mode: llm.ChoiceAny}
		r.Extra = map[string]json.RawMessage{gemini.Wire: json.RawMessage(`{"labels":{"a":"b"}}`)}
	})
	const rest = `"tools":[{"functionDeclarations":[{"name":"Read","parametersJsonSchema":{"type":"object","properties":{}}}]}],"systemInstruction":{"parts":[{"text":"s"}]},"contents":[{"role":"user","parts":[{"text":"hi"}]}]}`
	for path, c := range map[string]struct{ url, body string }{
		"": {"/v1beta/models/gemini-3-x:countTokens", `{"generateContentRequest":{"model":"models/gemini-3-x",` + rest + `}`},
		"/v1/projects/p/locations/l/publishers/google/models/m": {"/v1/projects/p/locations/l/publishers/google/models/m:countTokens", `{` + rest},
	} {
		seen := &capture{resp: `{"totalTokens":42,"promptTokensDetails":[]}`}
		m := gemini.New("gemini-3-x", gemini.Options{BaseURL: "http://gemini.test", Path: path, Client: &http.Client{Transport: seen}})
		n, err := llm.CountTokens(t.Context(), m, req)
		if err != nil || n != 42 || seen.req.URL.Path != c.url || seen.body != c.body {
			t.Errorf("%d %v %s %s", n, err, seen.req.URL, seen.body)
		}
	}
	none := gemini.New("m", gemini.Options{BaseURL: "http://gemini.test", Client: wirecase.Canned{Status: 404, Body: `{"error":{"code":404,"message":"no such method"}}`}.Client()})
	if n, err := none.CountTokens(t.Context(), req); err != nil || n != llm.Estimate(req) {
		t.Error(n, err)
	}
	odd := gemini.New("m", gemini.Options{BaseURL: "http://gemini.test", Client: wirecase.Canned{Body: `{"tokens":1}`}.Client()})
	if _, err := odd.CountTokens(t.Context(), req); !llm.IsKind(err, llm.KindCorrupt) {
		t.Error(err)
	}
}
