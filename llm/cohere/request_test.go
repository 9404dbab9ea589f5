package cohere_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/cohere"
	"github.com/cantle-dev/cantle/llm/internal/wirecase"
)

// sent returns the body that a model of these options posts.
func sent(t *testing.T, opts cohere.Options, req *llm.Request) string {
	t.Helper()
	var body []byte
	answers := wirecase.Canned{Body: `{"message":{"content":[{"type":"text","text":"ok"}]},"finish_reason":"COMPLETE"}`}
	opts.Client = &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		body, _ = io.ReadAll(r.Body)
		return answers.RoundTrip(r)
	})}
	if opts.BaseURL == "" {
		opts.BaseURL = "http://model.test"
	}
	if _, err := llm.Generate(t.Context(), cohere.New("m", opts), req); err != nil {
		t.Fatal(err)
	}
	if !json.Valid(body) {
		t.Fatalf("the request is not JSON: %s", body)
	}
	return string(body)
}

func TestRequest(t *testing.T) {
	img := llm.Blob{MIME: "image/png", Data: []byte("x")}
	pdf := llm.Blob{MIME: "application/pdf", Data: []byte("x"), Name: "a.pdf"}
	all := llm.Traits{Images: true, PDF: true, Thinking: true, Schema: true}
	mine := &llm.Origin{Provider: "cohere", Model: "m", Wire: cohere.Wire}
	sister := &llm.Origin{Provider: "cohere", Model: "n", Wire: cohere.Wire}
	other := &llm.Origin{Provider: "q", Model: "m", Wire: "anthropic"}
	temp := 0.0
	tools := []llm.ToolSpec{{Name: "Read", Description: "Reads.", Input: json.RawMessage(`{ "type":"object" }`)}, {Name: "Now"}}
	user := func(ps ...llm.Part) []llm.Message { return []llm.Message{{Role: llm.RoleUser, Parts: ps}} }
	said := func(o *llm.Origin, ps ...llm.Part) []llm.Message {
		return []llm.Message{llm.UserText("hi"), {Role: llm.RoleAssistant, Parts: ps, Origin: o}, llm.UserText("go on")}
	}
	x := user(llm.Text{Text: "x"})
	call := llm.ToolCall{ID: "functions.add:0", Name: "add", Input: json.RawMessage(`{"a":1}`)}
	think := llm.Thinking{Text: "hm", Signature: "sig"}
	schema := &llm.Schema{Name: "s", JSON: json.RawMessage(`{ "type":"object" }`)}
	for _, tt := range []struct {
		name      string
		opts      cohere.Options
		req       llm.Request
		want, not []string
	}{
		{"the prompt", cohere.Options{APIKey: "k"}, llm.Request{System: "s", MaxTokens: 9, Temperature: &temp, Stop: []string{"END"}, Messages: x}, []string{`"stream":true,"max_tokens":9,"temperature":0,"stop_sequences":["END"]`, `"messages":[{"role":"system","content":"s"},{"role":"user","content":"x"}]`}, []string{"thinking", "tools"}},
		{"temperature that is refused", cohere.Options{Info: llm.Info{Traits: llm.Traits{NoTemperature: true}}}, llm.Request{Temperature: &temp, Messages: x}, nil, []string{"temperature"}},
		{"tools", cohere.Options{}, llm.Request{Tools: tools, Messages: x}, []string{`"tools":[{"type":"function","function":{"name":"Read","description":"Reads.","parameters":{ "type":"object" }}},{"type":"function","function":{"name":"Now","parameters":{"type":"object","properties":{}}}}]`}, []string{"tool_choice"}},
		{"any tool", cohere.Options{}, llm.Request{Tools: tools, ToolChoice: llm.ToolChoice{Mode: llm.ChoiceAny}, Messages: x}, []string{`"tool_choice":"REQUIRED"`, "Now"}, nil},
		{"no tool", cohere.Options{}, llm.Request{Tools: tools, ToolChoice: llm.ToolChoice{Mode: llm.ChoiceNone}, Messages: x}, []string{`"tool_choice":"NONE"`, "Now"}, nil},
		{"one tool", cohere.Options{}, llm.Request{Tools: tools, ToolChoice: llm.ToolChoice{Mode: llm.ChoiceTool, Name: "Read"}, Messages: x}, []string{`"tool_choice":"REQUIRED"`, "Read"}, []string{"Now"}},
		{"schema", cohere.Options{Info: llm.Info{Traits: all}}, llm.Request{Schema: schema, Messages: x}, []string{`"response_format":{"type":"json_object","schema":{ "type":"object" }}`}, nil},
		{"schema beside tools", cohere.Options{Info: llm.Info{Traits: all}}, llm.Request{Schema: schema, Tools: tools, Messages: x}, nil, []string{"response_format"}},
		{"schema not known", cohere.Options{}, llm.Request{Schema: schema, Messages: x}, nil, []string{"response_format"}},
		{"effort", cohere.Options{Info: llm.Info{Traits: all}}, llm.Request{Effort: llm.EffortLow, Messages: x}, []string{`"thinking":{"type":"enabled","token_budget":4096}`}, nil},
		{"effort beyond the output", cohere.Options{Info: llm.Info{Traits: all}}, llm.Request{Effort: llm.EffortLow, MaxTokens: 1000, Messages: x}, []string{`"token_budget":750`}, nil},
		{"effort off", cohere.Options{Info: llm.Info{Traits: all}}, llm.Request{Effort: llm.EffortOff, Messages: x}, []string{`"thinking":{"type":"disabled"}`}, nil},
		{"effort in a word of its own", cohere.Options{Info: llm.Info{Traits: llm.Traits{Thinking: true, Efforts: map[llm.Effort]string{llm.EffortHigh: "enabled"}}}}, llm.Request{Effort: llm.EffortHigh, Messages: x}, []string{`"thinking":{"type":"enabled"}`}, nil},
		{"effort where there is no thinking", cohere.Options{}, llm.Request{Effort: llm.EffortHigh, Messages: x}, nil, []string{"thinking"}},
		{"image", cohere.Options{Info: llm.Info{Traits: all}}, llm.Request{Messages: user(llm.Text{Text: "see"}, img)}, []string{`"content":[{"type":"text","text":"see"},{"type":"image_url","image_url":{"url":"data:image/png;base64,eA=="}}]`}, nil},
		{"no image", cohere.Options{}, llm.Request{Messages: user(img)}, []string{"image/png was left out"}, []string{"base64"}},
		{"pdf", cohere.Options{Info: llm.Info{Traits: all}}, llm.Request{Messages: user(pdf)}, []string{"a.pdf was left out"}, []string{"base64"}},
		{"a text file", cohere.Options{}, llm.Request{Messages: user(llm.Blob{MIME: "text/plain", Name: "a.txt", Data: []byte("hello")})}, []string{`[a.txt]\nhello`}, nil},
		{"results before what else was said", cohere.Options{Info: llm.Info{Traits: all}}, llm.Request{Messages: user(llm.Text{Text: "look"}, llm.ToolResult{CallID: "1", Parts: llm.Parts{img}}, llm.ToolResult{CallID: "2"})}, []string{`{"role":"tool","tool_call_id":"1","content":"(see the files that follow)"},{"role":"tool","tool_call_id":"2","content":"(no output)"},{"role":"user"`}, nil},
		{"what its own wire keeps", cohere.Options{}, llm.Request{Messages: said(mine, think, llm.Native{Wire: cohere.Wire, Kind: cohere.KindPlan, Raw: json.RawMessage(`"I look."`)}, llm.Native{Wire: cohere.Wire, Kind: cohere.KindCitations, Raw: json.RawMessage(`[{"start":0 }]`)}, call)}, []string{`"tool_plan":"I look."`, `"citations":[{"start":0 }]`, `"content":[{"type":"thinking","thinking":"hm"}]`, `"tool_calls":[{"id":"functions.add:0","type":"function","function":{"name":"add","arguments":"{\"a\":1}"}}]`}, nil},
		{"another model's thinking", cohere.Options{}, llm.Request{Messages: said(sister, think, llm.Native{Wire: cohere.Wire, Kind: cohere.KindPlan, Raw: json.RawMessage(`"I look."`)}, call)}, []string{`"tool_plan":"I look."`}, []string{"hm"}},
		{"another wire's", cohere.Options{}, llm.Request{Messages: said(other, think, llm.Native{Wire: "anthropic", Kind: "server_tool_use", Raw: json.RawMessage(`{"opaque":1}`)}, llm.Native{Wire: cohere.Wire, Kind: cohere.KindPlan, Raw: json.RawMessage(`"opaque"`)}, call)}, []string{"functions.add:0"}, []string{"hm", "opaque", "sig"}},
		{"thinking alone", cohere.Options{}, llm.Request{Messages: said(mine, think)}, []string{`"hi"},{"role":"user"`}, []string{"assistant"}},
		{"a custom call", cohere.Options{}, llm.Request{Messages: said(other, llm.ToolCall{ID: "1", Name: "Patch\n", Custom: true, Input: json.RawMessage(`"a"`)})}, []string{`"name":"Patch","arguments":"{\"input\":\"a\"}"`}, nil},
		{"extra", cohere.Options{}, llm.Request{MaxTokens: 5, Extra: map[string]json.RawMessage{cohere.Wire: json.RawMessage(`{"max_tokens":7,"safety_mode":"OFF"}`)}, Messages: x}, []string{`"max_tokens":7`, `"safety_mode":"OFF"`}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			body := sent(t, tt.opts, &tt.req)
			for _, w := range tt.want {
				if !strings.Contains(body, w) {
					t.Errorf("no %s in %s", w, body)
				}
			}
			for _, w := range tt.not {
				if strings.Contains(body, w) {
					t.Errorf("%s in %s", w, body)
				}
			}
		})
	}
}

// TestGrows holds that a request starts with the bytes of the one before it.
func TestGrows(t *testing.T) {
	req := &llm.Request{System: "Be brief.", Tools: []llm.ToolSpec{{Name: "Read", Input: json.RawMessage(`{ "type":"object" }`)}}}
	add := func(m llm.Message) { req.Messages = append(req.Messages, m.Keep()) }
	add(llm.UserText("hi"))
	last := sent(t, cohere.Options{}, req)
	for i := range 20 {
		id := fmt.Sprint("call_", i)
		add(llm.Message{
			Role: llm.RoleAssistant, Origin: &llm.Origin{Provider: "cohere", Model: "m", Wire: cohere.Wire},
			Parts: llm.Parts{llm.Thinking{Text: "hm"}, llm.Text{Text: "<looking>"}, llm.ToolCall{ID: id, Name: "Read", Input: json.RawMessage(`{"a":"é"}`)}},
		})
		add(llm.Message{Role: llm.RoleUser, Parts: llm.Parts{llm.ToolResult{CallID: id, Parts: llm.Texts("done")}, llm.Text{Text: "and"}}})
		now := sent(t, cohere.Options{}, req)
		if !strings.HasPrefix(now, strings.TrimSuffix(last, "]}")) {
			t.Fatalf("turn %d does not extend the last:\n%s\n%s", i, last, now)
		}
		last = now
	}
}

// TestAddress holds which base URLs are understood.
func TestAddress(t *testing.T) {
	for _, base := range []string{"http://model.test", "http://model.test/v2/", "http://model.test/v2/chat", "http://model.test/compatibility/v1"} {
		got := ""
		m := cohere.New("m", cohere.Options{BaseURL: base, Client: &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			got = r.URL.String()
			return nil, io.ErrClosedPipe
		})}})
		if _, err := llm.Generate(t.Context(), m, hi); err == nil || got != "http://model.test/v2/chat" {
			t.Errorf("%s: the address is %s, error %v", base, got, err)
		}
	}
}

// TestErrors holds what kind of error Cohere's own are.
func TestErrors(t *testing.T) {
	for _, tt := range []struct {
		status int
		body   string
		kind   llm.Kind
	}{
		{401, `{"id":"1","message":"invalid api token"}`, llm.KindAuth},
		{400, `{"id":"1","message":"too many tokens: size limit exceeded by 25836 tokens. Try using shorter or fewer inputs.","error_type":"TOO_MANY_TOKENS"}`, llm.KindContextOverflow},
		{404, `{"id":"1","message":"model 'command' was removed on September 15, 2025."}`, llm.KindNotFound},
		{429, `{"id":"1","message":"You are using a Trial key, which is limited to 20 API calls / minute."}`, llm.KindRateLimit},
		{422, `{"id":"1","message":"invalid request: tool_call_id not found"}`, llm.KindInvalidRequest},
		{500, `{"id":"1","message":"internal server error"}`, llm.KindServer},
	} {
		m := cohere.New("m", cohere.Options{BaseURL: "http://model.test", Client: &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: tt.status, Header: http.Header{"X-Debug-Trace-Id": {"trace-1"}}, Body: io.NopCloser(strings.NewReader(tt.body)), Request: r}, nil
		})}})
		_, err := llm.Generate(t.Context(), m, hi)
		var e *llm.Error
		if !errors.As(err, &e) || e.Kind != tt.kind || e.RequestID != "trace-1" {
			t.Errorf("%s: error %v (%+v), want %s", tt.body, err, e, tt.kind)
		}
	}
}
