package anthropic_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/anthropic"
)

// capture is a transport that keeps the request.
type capture struct {
	req  *http.Request
	body string
	resp string
}

func (c *capture) RoundTrip(r *http.Request) (*http.Response, error) {
	b, _ := io.ReadAll(r.Body)
	c.req, c.body = r, string(b)
	resp := c.resp
	if resp == "" {
		resp = `{"type":"message","id":"m","content":[],"stop_reason":"end_turn"}`
	}
	return &http.Response{StatusCode: 200, Header: http.Header{}, Request: r, Body: io.NopCloser(strings.NewReader(resp))}, nil
}

// sent returns the body that a model of these options posts.
func sent(t testing.TB, opts anthropic.Options, req *llm.Request) string {
	t.Helper()
	c := &capture{}
	opts.Client, opts.BaseURL = &http.Client{Transport: c}, "http://anthropic.test"
	if _, err := llm.Generate(t.Context(), anthropic.New("claude-x", opts), req); err != nil {
		t.Fatal(err)
	}
	if !json.Valid([]byte(c.body)) {
		t.Fatalf("the request is not JSON: %s", c.body)
	}
	return c.body
}

var plain = anthropic.Options{NoCache: true}

func thinker(output int) anthropic.Options {
	return anthropic.Options{NoCache: true, Info: llm.Info{Output: output, Traits: llm.Traits{Thinking: true}}}
}

func ask(change func(*llm.Request)) *llm.Request {
	r := &llm.Request{Messages: []llm.Message{llm.UserText("hi")}}
	change(r)
	return r
}

func TestBody(t *testing.T) {
	temp := 0.5
	tool := llm.ToolSpec{Name: "Read", Description: "reads <x>", Input: json.RawMessage(`{ "type" : "object" }`)}
	schema := &llm.Schema{Name: "s", JSON: json.RawMessage(`{"type": "object"}`)}
	const hi = `"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}]`
	tests := []struct {
		name string
		opts anthropic.Options
		req  *llm.Request
		want string
	}{
		{"least", plain, ask(func(*llm.Request) {}), `{"model":"claude-x","stream":true,"max_tokens":8192,` + hi + `}`},
		{"all", plain, ask(func(r *llm.Request) {
			r.System, r.Tools, r.MaxTokens, r.Temperature, r.Stop = "Be <brief>.", []llm.ToolSpec{tool, {Name: "Ls"}}, 77, &temp, []string{"END"}
			r.ToolChoice = llm.ToolChoice{Mode: llm.ChoiceTool, Name: "Read"}
		}), `{"model":"claude-x","stream":true,"max_tokens":77,"temperature":0.5,"stop_sequences":["END"],"tool_choice":{"type":"tool","name":"Read"},` +
			`"tools":[{"name":"Read","description":"reads <x>","input_schema":{ "type" : "object" }},{"name":"Ls","input_schema":{"type":"object"}}],` +
			`"system":[{"type":"text","text":"Be <brief>."}],` + hi + `}`},
		{
			"marks",
			anthropic.Options{CacheTTL: "1h"},
			ask(func(r *llm.Request) { r.System, r.Tools = "s", []llm.ToolSpec{tool} }),
			`{"model":"claude-x","stream":true,"max_tokens":8192,"tools":[{"name":"Read","description":"reads <x>","input_schema":{ "type" : "object" },"cache_control":{"type":"ephemeral","ttl":"1h"}}],` +
				`"system":[{"type":"text","text":"s","cache_control":{"type":"ephemeral","ttl":"1h"}}],` +
				`"messages":[{"role":"user","content":[{"type":"text","text":"hi","cache_control":{"type":"ephemeral","ttl":"1h"}}]}]}`,
		},
		{"the model's cap", anthropic.Options{NoCache: true, Info: llm.Info{Output: 4096}}, ask(func(r *llm.Request) { r.MaxTokens = 9999 }), `{"model":"claude-x","stream":true,"max_tokens":4096,` + hi + `}`},
		{"a large cap", anthropic.Options{NoCache: true, Info: llm.Info{Output: 128_000}}, ask(func(*llm.Request) {}), `{"model":"claude-x","stream":true,"max_tokens":32000,` + hi + `}`},
		{"no temperature", anthropic.Options{NoCache: true, Info: llm.Info{Traits: llm.Traits{NoTemperature: true}}}, ask(func(r *llm.Request) { r.Temperature = &temp }), `{"model":"claude-x","stream":true,"max_tokens":8192,` + hi + `}`},
		{"effort on a model without", plain, ask(func(r *llm.Request) { r.Effort = llm.EffortHigh }), `{"model":"claude-x","stream":true,"max_tokens":8192,` + hi + `}`},
		{"effort off", thinker(0), ask(func(r *llm.Request) { r.Effort = llm.EffortOff }), `{"model":"claude-x","stream":true,"max_tokens":8192,"thinking":{"type":"disabled"},` + hi + `}`},
		{"budget on top", thinker(0), ask(func(r *llm.Request) { r.Effort, r.Temperature = llm.EffortHigh, &temp }), `{"model":"claude-x","stream":true,"max_tokens":24576,"thinking":{"type":"enabled","budget_tokens":16384},` + hi + `}`},
		{"budget within the cap", thinker(16_000), ask(func(r *llm.Request) { r.Effort = llm.EffortXHigh }), `{"model":"claude-x","stream":true,"max_tokens":16000,"thinking":{"type":"enabled","budget_tokens":8000},` + hi + `}`},
		{"budget within what was asked", thinker(0), ask(func(r *llm.Request) { r.Effort, r.MaxTokens = llm.EffortLow, 4096 }), `{"model":"claude-x","stream":true,"max_tokens":4096,"thinking":{"type":"enabled","budget_tokens":2048},` + hi + `}`},
		{"no room for a budget", thinker(0), ask(func(r *llm.Request) { r.Effort, r.MaxTokens = llm.EffortLow, 500 }), `{"model":"claude-x","stream":true,"max_tokens":500,` + hi + `}`},
		{"a forced call before thinking", thinker(0), ask(func(r *llm.Request) {
			r.Effort, r.Tools, r.ToolChoice.Mode = llm.EffortLow, []llm.ToolSpec{{Name: "Ls"}}, llm.ChoiceAny
		}), `{"model":"claude-x","stream":true,"max_tokens":8192,"tool_choice":{"type":"any"},"tools":[{"name":"Ls","input_schema":{"type":"object"}}],` + hi + `}`},
		{
			"adaptive",
			anthropic.Options{NoCache: true, Info: llm.Info{Traits: llm.Traits{Schema: true, Thinking: true, ThinkingStyle: "adaptive"}}},
			ask(func(r *llm.Request) { r.Effort, r.Schema = llm.EffortXHigh, schema }),
			`{"model":"claude-x","stream":true,"max_tokens":8192,"thinking":{"type":"adaptive"},"output_config":{"effort":"max","format":{"type":"json_schema","schema":{"type": "object"}}},` + hi + `}`,
		},
		{
			"adaptive in the model's own words",
			anthropic.Options{NoCache: true, Info: llm.Info{Traits: llm.Traits{Thinking: true, ThinkingStyle: "adaptive", Efforts: map[llm.Effort]string{llm.EffortXHigh: "xhigh"}}}},
			ask(func(r *llm.Request) { r.Effort = llm.EffortXHigh }),
			`{"model":"claude-x","stream":true,"max_tokens":8192,"thinking":{"type":"adaptive"},"output_config":{"effort":"xhigh"},` + hi + `}`,
		},
		{"a schema that is not enforced", plain, ask(func(r *llm.Request) { r.Schema = schema }), `{"model":"claude-x","stream":true,"max_tokens":8192,` + hi + `}`},
		{"choice without tools", plain, ask(func(r *llm.Request) { r.ToolChoice.Mode = llm.ChoiceAny }), `{"model":"claude-x","stream":true,"max_tokens":8192,` + hi + `}`},
		{
			"none", plain, ask(func(r *llm.Request) { r.Tools, r.ToolChoice.Mode = []llm.ToolSpec{{Name: "Ls"}}, llm.ChoiceNone }),
			`{"model":"claude-x","stream":true,"max_tokens":8192,"tool_choice":{"type":"none"},"tools":[{"name":"Ls","input_schema":{"type":"object"}}],` + hi + `}`,
		},
		{"extra", plain, ask(func(r *llm.Request) {
			r.Extra = map[string]json.RawMessage{"anthropic": json.RawMessage(`{"max_tokens":1,"service_tier":"auto"}`), "openai-chat": json.RawMessage(`{"x":1}`)}
		}), `{"service_tier":"auto","model":"claude-x","stream":true,"max_tokens":1,` + hi + `}`},
		{
			"in a cloud",
			anthropic.Options{NoCache: true, BodyVersion: "vertex-2023-10-16", Path: "/models/claude-x:streamRawPredict"},
			ask(func(*llm.Request) {}),
			`{"anthropic_version":"vertex-2023-10-16","stream":true,"max_tokens":8192,` + hi + `}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := sent(t, tt.opts, tt.req); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestHeadersAndAddress(t *testing.T) {
	tests := []struct {
		opts       anthropic.Options
		url, check string
	}{
		{anthropic.Options{APIKey: "k-123"}, "https://api.anthropic.com/v1/messages", "k-123 2023-06-01  "},
		{anthropic.Options{BaseURL: "http://h/v1/", Version: "v", Beta: []string{"a", "b"}}, "http://h/v1/messages", " v a,b "},
		{anthropic.Options{BaseURL: "http://h/anthropic", Header: http.Header{"x-team": {"t"}, "X-Api-Key": {"own"}}, APIKey: "k"}, "http://h/anthropic/v1/messages", "own 2023-06-01  t"},
		{anthropic.Options{BaseURL: "http://h/v1/projects", Path: "/m:rawPredict", BodyVersion: "x", Sign: func(r *http.Request) error {
			r.Header.Set("X-Team", "signed")
			return nil
		}}, "http://h/v1/projects/m:rawPredict", "   signed"},
	}
	for _, tt := range tests {
		c := &capture{}
		tt.opts.Client = &http.Client{Transport: c}
		if _, err := llm.Generate(t.Context(), anthropic.New("claude-x", tt.opts), hi); err != nil {
			t.Fatal(err)
		}
		h := c.req.Header
		got := fmt.Sprint(h.Get("X-Api-Key"), " ", h.Get("Anthropic-Version"), " ", h.Get("Anthropic-Beta"), " ", h.Get("X-Team"))
		if c.req.URL.String() != tt.url || got != tt.check {
			t.Errorf("%s %q, want %s %q", c.req.URL, got, tt.url, tt.check)
		}
	}
}

func result(id string, parts ...llm.Part) llm.ToolResult {
	return llm.ToolResult{CallID: id, Parts: parts}
}

func user(parts ...llm.Part) llm.Message { return llm.Message{Role: llm.RoleUser, Parts: parts} }

func model(o *llm.Origin, parts ...llm.Part) llm.Message {
	return llm.Message{Role: llm.RoleAssistant, Parts: parts, Origin: o}
}

var own = &llm.Origin{Provider: "anthropic", Model: "claude-x-20260101", Wire: "anthropic"}

func TestMessages(t *testing.T) {
	see := anthropic.Options{NoCache: true, Info: llm.Info{Traits: llm.Traits{Images: true, PDF: true}}}
	raw := func(s string) json.RawMessage { return json.RawMessage(s) }
	opaque := llm.Parts{
		llm.Thinking{Text: "hm", Signature: "S"},
		llm.Thinking{Raw: raw(`{"type":"redacted_thinking","data":"E"}`)},
		llm.Native{Wire: "anthropic", Kind: "server_tool_use", Raw: raw(`{"type":"server_tool_use"}`)},
		llm.Text{Text: "said", Raw: raw(`{"type":"text","text":"said","citations":[1]}`)},
		llm.Thinking{Text: "not signed"},
	}
	tests := []struct {
		name string
		opts anthropic.Options
		in   []llm.Message
		want string
	}{
		{
			"own blobs go back", plain,
			[]llm.Message{llm.UserText("a"), model(own, opaque...)},
			`user: text a | assistant: {"signature":"S","thinking":"hm","type":"thinking"} , {"data":"E","type":"redacted_thinking"} , {"type":"server_tool_use"} , {"citations":[1],"text":"said","type":"text"}`,
		},
		{
			"thinking that nothing follows does not", plain,
			[]llm.Message{llm.UserText("a"), model(own, opaque[0]), llm.UserText("b"), model(own, llm.Text{Text: "c"}, opaque[1], llm.Text{Text: " "})},
			`user: text a , text b | assistant: text c`,
		},
		{"those of another model do not", plain, []llm.Message{llm.UserText("a"), model(&llm.Origin{Provider: "anthropic", Model: "claude-y", Wire: "anthropic"}, opaque...)}, `user: text a | assistant: text said`},
		{"nor of another provider", plain, []llm.Message{llm.UserText("a"), model(&llm.Origin{Provider: "vertex", Model: "claude-x", Wire: "anthropic"}, opaque...)}, `user: text a | assistant: text said`},
		{"nor of another wire", plain, []llm.Message{llm.UserText("a"), model(&llm.Origin{Provider: "anthropic", Model: "claude-x", Wire: "openai-chat"}, opaque...)}, `user: text a | assistant: text said`},
		{"nor of nobody", plain, []llm.Message{llm.UserText("a"), model(nil, opaque...)}, `user: text a | assistant: text said`},
		{
			"neighbours are joined", plain,
			[]llm.Message{llm.UserText("a"), llm.UserText("b"), model(nil, llm.Text{Text: "c"}), model(nil, llm.Text{Text: "d"}), llm.UserText("e")},
			`user: text a , text b | assistant: text c , text d | user: text e`,
		},
		{
			"blank text and empty messages", plain,
			[]llm.Message{llm.UserText("a"), model(nil, llm.Text{Text: " \n"}, llm.Thinking{Text: "x"}), llm.UserText(""), llm.UserText("b"), {Role: llm.RoleUser}},
			`user: text a , text b`,
		},
		{"results first", plain, []llm.Message{
			llm.UserText("a"), model(nil, llm.ToolCall{ID: "1", Name: "f"}, llm.ToolCall{ID: "2", Name: "f"}), user(llm.Text{Text: "note"}, result("1")), user(llm.Text{Text: "more"}, result("2", llm.Text{Text: "out"})),
		}, `user: text a | assistant: call 1 f {} , call 2 f {} | user: result 1 [text (no output)] , result 2 [text out] , text note , text more`},
		{"ids and names", plain, []llm.Message{
			llm.UserText("a"), model(nil, llm.ToolCall{ID: "functions.add:0", Name: "Re ad\n", Input: raw(`{"a":1}`)}, llm.ToolCall{ID: "functions_add_0", Name: "", Input: raw(` {} `)}), user(result("functions.add:0"), result("functions_add_0")),
		}, `user: text a | assistant: call mapped_ZnVuY3Rpb25zLmFkZDow Re_ad_ {"a":1} , call functions_add_0 unnamed {} | user: result mapped_ZnVuY3Rpb25zLmFkZDow [text (no output)] , result functions_add_0 [text (no output)]`},
		{"a custom call", plain, []llm.Message{llm.UserText("a"), model(nil, llm.ToolCall{ID: "1", Name: "patch", Custom: true, Input: raw(`"*** x"`)})}, `user: text a | assistant: call 1 patch {"input":"*** x"}`},
		{"a malformed call goes back as {}", plain, []llm.Message{llm.UserText("a"), model(own, llm.ToolCall{ID: "1", Name: "f", Input: raw(`{}`), Malformed: `{"a`})}, `user: text a | assistant: call 1 f {}`},
		{"an error", plain, []llm.Message{llm.UserText("a"), user(llm.ToolResult{CallID: "1", IsError: true, Parts: llm.Texts("bad")})}, `user: error 1 [text bad] , text a`},
		{
			"images", see,
			[]llm.Message{user(llm.Blob{MIME: "image/png", Data: []byte("x")}, llm.Blob{MIME: "image/jpg", Data: []byte("x")}, llm.Blob{MIME: "image/png", URL: "https://x/y"}, llm.Blob{MIME: "application/pdf", Data: []byte("x")})},
			`user: {"source":{"data":"eA==","media_type":"image/png","type":"base64"},"type":"image"} , {"source":{"data":"eA==","media_type":"image/jpeg","type":"base64"},"type":"image"} , {"source":{"type":"url","url":"https://x/y"},"type":"image"} , {"source":{"data":"eA==","media_type":"application/pdf","type":"base64"},"type":"document"}`,
		},
		{
			"images that are not taken", plain,
			[]llm.Message{user(llm.Blob{MIME: "image/png", Name: "a.png", Data: []byte("x")}, llm.Blob{MIME: "application/pdf", Data: []byte("x")})},
			`user: text [a.png was left out: this model takes no images] , text [application/pdf was left out: this model takes no documents]`,
		},
		{
			"other files", see,
			[]llm.Message{user(llm.Blob{MIME: "image/tiff", Data: []byte("x")}, llm.Blob{MIME: "text/csv; charset=utf-8", Name: "t.csv", Data: []byte("a,b")}, llm.Blob{MIME: "text/csv", Data: []byte("\xff")}, llm.Blob{MIME: "image/png"})},
			`user: text [image/tiff was left out: the model takes no files of this type] , text [t.csv]` + "\n" + `a,b , text [text/csv was left out: the model takes no files of this type] , text [image/png was left out: it is empty]`,
		},
		{
			"an image in a result", see,
			[]llm.Message{user(result("1", llm.Blob{MIME: "image/png", Data: []byte("x")}, llm.Native{Wire: "anthropic", Raw: raw(`{}`)}))},
			`user: result 1 [{"source":{"data":"eA==","media_type":"image/png","type":"base64"},"type":"image"}]`,
		},
		{"the model first", plain, []llm.Message{model(nil, llm.Text{Text: "b"}), llm.UserText("c")}, `user: text (The conversation goes on.) | assistant: text b | user: text c`},
		{"unknown parts", plain, []llm.Message{user(llm.Unknown{Kind: "hologram", Raw: raw(`{}`)}, llm.Text{Text: "a"})}, `user: text a`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := show(t, sent(t, tt.opts, &llm.Request{Messages: tt.in})); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// show writes the messages of a body on one line.
func show(t *testing.T, body string) string {
	t.Helper()
	type block struct {
		Type, Text, ID, Name string
		Input                json.RawMessage
		ToolUseID            string `json:"tool_use_id"`
		Content              []json.RawMessage
		IsError              bool `json:"is_error"`
		Citations            json.RawMessage
	}
	var one func(raw json.RawMessage) string
	list := func(raws []json.RawMessage) string {
		var out []string
		for _, r := range raws {
			out = append(out, one(r))
		}
		return strings.Join(out, " , ")
	}
	one = func(raw json.RawMessage) string {
		var b block
		if err := json.Unmarshal(raw, &b); err != nil {
			t.Fatal(err)
		}
		switch {
		case b.Type == "text" && b.Citations == nil:
			return "text " + b.Text
		case b.Type == "tool_use":
			return fmt.Sprintf("call %s %s %s", b.ID, b.Name, b.Input)
		case b.Type == "tool_result" && b.IsError:
			return fmt.Sprintf("error %s [%s]", b.ToolUseID, list(b.Content))
		case b.Type == "tool_result":
			return fmt.Sprintf("result %s [%s]", b.ToolUseID, list(b.Content))
		}
		var v any
		_ = json.Unmarshal(raw, &v)
		sorted, _ := json.Marshal(v)
		return string(sorted)
	}
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
		out = append(out, m.Role+": "+list(m.Content))
	}
	return strings.Join(out, " | ")
}

// TestThinkingInATurn checks that a turn that did not begin with this model's
// thinking goes on without.
func TestThinkingInATurn(t *testing.T) {
	call := llm.ToolCall{ID: "1", Name: "f", Input: json.RawMessage(`{}`)}
	signed := llm.Thinking{Text: "x", Signature: "S"}
	tests := []struct {
		name string
		in   []llm.Message
		want bool
	}{
		{"a new turn", []llm.Message{llm.UserText("a"), model(nil, call), user(result("1")), model(nil, llm.Text{Text: "b"}), llm.UserText("c")}, true},
		{"its own turn", []llm.Message{llm.UserText("a"), model(own, signed, call), user(result("1"))}, true},
		{"its own turn, thought about once", []llm.Message{llm.UserText("a"), model(own, signed, call), user(result("1")), model(own, call), user(result("1"), llm.Text{Text: "steer"})}, true},
		{"another's turn", []llm.Message{llm.UserText("a"), model(nil, signed, call), user(result("1"))}, false},
		{"its own turn without thinking", []llm.Message{llm.UserText("a"), model(own, call), user(result("1"))}, false},
	}
	for _, tt := range tests {
		body := sent(t, thinker(0), &llm.Request{Effort: llm.EffortLow, Messages: tt.in})
		if strings.Contains(body, `"thinking":{"type":"enabled"`) != tt.want {
			t.Errorf("%s: %s", tt.name, body)
		}
	}
}

func TestInvalidRequests(t *testing.T) {
	for want, r := range map[string]*llm.Request{
		"no message has any content":        {Messages: []llm.Message{llm.UserText(" ")}},
		`has the role "system"`:             {Messages: []llm.Message{{Role: "system"}}},
		`input schema of the tool "f"`:      {Messages: hi.Messages, Tools: []llm.ToolSpec{{Name: "f", Input: json.RawMessage(`{`)}}},
		"the extra fields of the request: ": {Messages: hi.Messages, Extra: map[string]json.RawMessage{"anthropic": json.RawMessage(`[]`)}},
	} {
		_, err := llm.Generate(t.Context(), answer(""), r)
		if !llm.IsKind(err, llm.KindInvalidRequest) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestGrows holds that each request starts with the bytes of the one before,
// cache marks aside, that there are four marks at most, and that the end that
// was marked last time is marked again.
func TestGrows(t *testing.T) {
	const mark = `,"cache_control":{"type":"ephemeral"}`
	req := &llm.Request{System: "Be brief.", Tools: []llm.ToolSpec{{Name: "Read", Input: json.RawMessage(`{}`)}}}
	add := func(m llm.Message) { req.Messages = append(req.Messages, m.Keep()) }
	add(llm.UserText("hi"))
	var last, lastMarked string
	for i := range 5 {
		now := sent(t, anthropic.Options{}, req)
		if n := strings.Count(now, mark); n > 4 || n < 3 {
			t.Errorf("%d marks in %s", n, now)
		}
		bare := strings.ReplaceAll(now, mark, "")
		if !strings.HasPrefix(bare, strings.TrimSuffix(last, "]}]}")) {
			t.Errorf("%s\ndoes not extend\n%s", bare, last)
		}
		if end := strings.LastIndex(lastMarked, mark); end > 0 {
			before := strings.ReplaceAll(lastMarked[:end], mark, "")
			if !strings.HasPrefix(bare, before) || !strings.Contains(now, before[len(before)-12:]+mark) {
				t.Errorf("the mark of the last request is not in %s", now)
			}
		}
		last, lastMarked = bare, now
		id := fmt.Sprint("call_", i)
		add(model(own, llm.Thinking{Text: "h", Signature: "S"}, llm.Text{Text: "<looking>"}, llm.ToolCall{ID: id, Name: "Read", Input: json.RawMessage(`{"a":"é"}`)}))
		add(user(result(id, llm.Text{Text: fmt.Sprint("done ", i)}), llm.Text{Text: fmt.Sprint("and so on ", i)}))
	}
}

func TestUser(t *testing.T) {
	body := sent(t, plain, ask(func(r *llm.Request) { r.User = "u-1" }))
	if !strings.Contains(body, `"metadata":{"user_id":"u-1"}`) {
		t.Error(body)
	}
}

// TestKept checks that a kept message is encoded for each form that it is sent
// in, and not more often.
func TestKept(t *testing.T) {
	msg := user(llm.Blob{MIME: "image/png", Name: "a.png", Data: []byte("x")}).Keep()
	req := &llm.Request{Messages: []llm.Message{msg}}
	blind := sent(t, plain, req)
	seeing := sent(t, anthropic.Options{NoCache: true, Info: llm.Info{Traits: llm.Traits{Images: true}}}, req)
	if !strings.Contains(blind, "left out") || !strings.Contains(seeing, "base64") {
		t.Errorf("%s\n%s", blind, seeing)
	}
}

func TestCountTokens(t *testing.T) {
	c := &capture{resp: `{"input_tokens":42}`}
	o := thinker(0)
	o.Client = &http.Client{Transport: c}
	m := anthropic.New("claude-x", o)
	req := ask(func(r *llm.Request) { r.System, r.Effort, r.MaxTokens = "s", llm.EffortLow, 9000 })
	n, err := llm.CountTokens(t.Context(), m, req)
	const want = `{"model":"claude-x","thinking":{"type":"enabled","budget_tokens":4096},"system":[{"type":"text","text":"s"}],"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}]}`
	if err != nil || n != 42 || c.req.URL.Path != "/v1/messages/count_tokens" || c.body != want {
		t.Errorf("%d, %v, %s %s", n, err, c.req.URL, c.body)
	}
	c.resp = `{}`
	if _, err := m.CountTokens(t.Context(), req); !llm.IsKind(err, llm.KindCorrupt) {
		t.Errorf("%v", err)
	}
	o.Path = "/elsewhere"
	if n, err := anthropic.New("claude-x", o).CountTokens(t.Context(), req); err != nil || n != llm.Estimate(req) {
		t.Errorf("%d, %v", n, err)
	}
}

func TestFromEnv(t *testing.T) {
	none := func(string) string { return " " }
	if _, err := anthropic.FromEnv("claude-x", none, plain); err == nil || !strings.Contains(err.Error(), anthropic.KeyVariable) {
		t.Errorf("%v", err)
	}
	c := &capture{}
	m, err := anthropic.FromEnv("claude-x", func(k string) string { return "of " + k + "\n" }, anthropic.Options{Client: &http.Client{Transport: c}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := llm.Generate(t.Context(), m, hi); err != nil || c.req.Header.Get("X-Api-Key") != "of ANTHROPIC_API_KEY" {
		t.Errorf("%v %v", err, c.req.Header)
	}
}
