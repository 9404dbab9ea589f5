package ollama_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/internal/wirecase"
	"github.com/cantle-dev/cantle/llm/ollama"
)

// sent returns the body that a model of these options posts.
func sent(t *testing.T, opts ollama.Options, req *llm.Request) string {
	t.Helper()
	var body []byte
	answers := wirecase.Canned{Body: `{"message":{"content":"ok"},"done":true}`}
	opts.Client = &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		body, _ = io.ReadAll(r.Body)
		return answers.RoundTrip(r)
	})}
	if opts.BaseURL == "" {
		opts.BaseURL = "http://model.test"
	}
	if _, err := llm.Generate(t.Context(), ollama.New("m", opts), req); err != nil {
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
	mine := &llm.Origin{Provider: "ollama", Model: "m", Wire: ollama.Wire}
	sister := &llm.Origin{Provider: "ollama", Model: "n", Wire: ollama.Wire}
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
		opts      ollama.Options
		req       llm.Request
		want, not []string
	}{
		{"the prompt", ollama.Options{}, llm.Request{System: "s", MaxTokens: 9, Temperature: &temp, Stop: []string{"END"}, Messages: x}, []string{`{"model":"m","stream":true,"truncate":false,"shift":false,"options":{"num_ctx":8192,"num_predict":9,"temperature":0,"stop":["END"]},"messages":[{"role":"system","content":"s"},{"role":"user","content":"x"}]}`}, nil},
		{"temperature that is refused", ollama.Options{Info: llm.Info{Traits: llm.Traits{NoTemperature: true}}}, llm.Request{Temperature: &temp, Messages: x}, nil, []string{"temperature"}},
		{"the window of the model", ollama.Options{Info: llm.Info{Context: 32768}}, llm.Request{Messages: x}, []string{`"num_ctx":32768`}, nil},
		{"a window of one's own", ollama.Options{NumCtx: 4096, Info: llm.Info{Context: 32768}}, llm.Request{Messages: x}, []string{`"num_ctx":4096`}, nil},
		{"the server's window", ollama.Options{NumCtx: -1, Info: llm.Info{Context: 32768}}, llm.Request{Messages: x}, []string{`"options":{}`}, nil},
		{"a model elsewhere", ollama.Options{BaseURL: "https://ollama.com"}, llm.Request{Messages: x}, []string{`"options":{}`}, nil},
		{"kept alive", ollama.Options{KeepAlive: 30 * time.Minute}, llm.Request{Messages: x}, []string{`"keep_alive":"1800s"`}, nil},
		{"kept alive for ever", ollama.Options{KeepAlive: -1}, llm.Request{Messages: x}, []string{`"keep_alive":-1`}, nil},
		{"tools", ollama.Options{}, llm.Request{Tools: tools, Messages: x}, []string{`"tools":[{"type":"function","function":{"name":"Read","description":"Reads.","parameters":{ "type":"object" }}},{"type":"function","function":{"name":"Now","parameters":{"type":"object","properties":{}}}}]`}, nil},
		{"any tool", ollama.Options{}, llm.Request{Tools: tools, ToolChoice: llm.ToolChoice{Mode: llm.ChoiceAny}, Messages: x}, []string{"Read", "Now"}, nil},
		{"no tool", ollama.Options{}, llm.Request{Tools: tools, ToolChoice: llm.ToolChoice{Mode: llm.ChoiceNone}, Messages: x}, nil, []string{"tools"}},
		{"one tool", ollama.Options{}, llm.Request{Tools: tools, ToolChoice: llm.ToolChoice{Mode: llm.ChoiceTool, Name: "Now"}, Messages: x}, []string{"Now"}, []string{"Read"}},
		{"schema", ollama.Options{Info: llm.Info{Traits: all}}, llm.Request{Schema: schema, Messages: x}, []string{`"format":{ "type":"object" }`}, nil},
		{"schema beside tools", ollama.Options{Info: llm.Info{Traits: all}}, llm.Request{Schema: schema, Tools: tools, Messages: x}, nil, []string{"format"}},
		{"effort", ollama.Options{Info: llm.Info{Traits: all}}, llm.Request{Effort: llm.EffortLow, Messages: x}, []string{`"think":true`}, nil},
		{"effort off", ollama.Options{Info: llm.Info{Traits: all}}, llm.Request{Effort: llm.EffortOff, Messages: x}, []string{`"think":false`}, nil},
		{"effort in words", ollama.Options{Info: llm.Info{Traits: llm.Traits{Thinking: true, ThinkingStyle: "levels"}}}, llm.Request{Effort: llm.EffortXHigh, Messages: x}, []string{`"think":"high"`}, nil},
		{"effort in a word of its own", ollama.Options{Info: llm.Info{Traits: llm.Traits{Thinking: true, Efforts: map[llm.Effort]string{llm.EffortHigh: "max"}}}}, llm.Request{Effort: llm.EffortHigh, Messages: x}, []string{`"think":"max"`}, nil},
		{"effort where there is no thinking", ollama.Options{}, llm.Request{Effort: llm.EffortHigh, Messages: x}, nil, []string{"think"}},
		{"image", ollama.Options{Info: llm.Info{Traits: all}}, llm.Request{Messages: user(llm.Text{Text: "see"}, img, img)}, []string{`{"role":"user","content":"see","images":["eA==","eA=="]}`}, nil},
		{"no image", ollama.Options{}, llm.Request{Messages: user(img)}, []string{"image/png was left out"}, []string{"images"}},
		{"an image that is elsewhere", ollama.Options{Info: llm.Info{Traits: all}}, llm.Request{Messages: user(llm.Blob{MIME: "image/png", URL: "https://example.com/a.png"})}, []string{"image/png was left out"}, nil},
		{"pdf", ollama.Options{Info: llm.Info{Traits: all}}, llm.Request{Messages: user(pdf)}, []string{"a.pdf was left out"}, nil},
		{"results before what else was said", ollama.Options{Info: llm.Info{Traits: all}}, llm.Request{Messages: append(said(mine, call), user(llm.Text{Text: "look"}, llm.ToolResult{CallID: call.ID, Parts: llm.Parts{img}}, llm.ToolResult{CallID: "2", Name: "now"})...)}, []string{`{"role":"tool","content":"(see the files that follow)","tool_name":"add","tool_call_id":"functions.add:0"},{"role":"tool","content":"(no output)","tool_name":"now","tool_call_id":"2"},{"role":"user","content":"The files that the tool returned:\n\nlook","images":["eA=="]}`}, nil},
		{"its own thinking", ollama.Options{}, llm.Request{Messages: said(mine, think, llm.Text{Text: " "}, call)}, []string{`{"role":"assistant","content":"","thinking":"hm","tool_calls":[{"id":"functions.add:0","function":{"index":0,"name":"add","arguments":{"a":1}}}]}`}, nil},
		{"another model's thinking", ollama.Options{}, llm.Request{Messages: said(sister, think, call)}, []string{"functions.add:0"}, []string{"hm"}},
		{"another wire's", ollama.Options{}, llm.Request{Messages: said(other, think, llm.Native{Wire: "anthropic", Kind: "server_tool_use", Raw: json.RawMessage(`{"opaque":1}`)}, llm.Text{Text: "ok"})}, []string{`"content":"ok"`}, []string{"hm", "opaque", "sig"}},
		{"thinking alone", ollama.Options{}, llm.Request{Messages: said(mine, think)}, []string{`"hi"},{"role":"user"`}, []string{"assistant"}},
		{"a custom call", ollama.Options{}, llm.Request{Messages: said(other, llm.ToolCall{ID: "1", Name: "Patch\n", Custom: true, Input: json.RawMessage(`"a"`)})}, []string{`"name":"Patch","arguments":{"input":"a"}`}, nil},
		{"extra", ollama.Options{}, llm.Request{Extra: map[string]json.RawMessage{ollama.Wire: json.RawMessage(`{"truncate":true,"logprobs":true}`)}, Messages: x}, []string{`"truncate":true`, `"logprobs":true`}, nil},
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
	last := sent(t, ollama.Options{}, req)
	for i := range 20 {
		id := fmt.Sprint("call_", i)
		add(llm.Message{
			Role: llm.RoleAssistant, Origin: &llm.Origin{Provider: "ollama", Model: "m", Wire: ollama.Wire},
			Parts: llm.Parts{llm.Thinking{Text: "hm"}, llm.Text{Text: "<looking>"}, llm.ToolCall{ID: id, Name: "Read", Input: json.RawMessage(`{"a":"é"}`)}},
		})
		add(llm.Message{Role: llm.RoleUser, Parts: llm.Parts{llm.ToolResult{CallID: id, Parts: llm.Texts("done")}, llm.Text{Text: "and"}}})
		now := sent(t, ollama.Options{}, req)
		if !strings.HasPrefix(now, strings.TrimSuffix(last, "]}")) {
			t.Fatalf("turn %d does not extend the last:\n%s\n%s", i, last, now)
		}
		last = now
	}
}

// TestAddress holds which base URLs are understood.
func TestAddress(t *testing.T) {
	for _, base := range []string{"http://model.test", "http://model.test/api/", "http://model.test/api/chat", "http://model.test/v1"} {
		got := ""
		m := ollama.New("m", ollama.Options{BaseURL: base, Client: &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			got = r.URL.String()
			return nil, io.ErrClosedPipe
		})}})
		if _, err := llm.Generate(t.Context(), m, hi); err == nil || got != "http://model.test/api/chat" {
			t.Errorf("%s: the address is %s, error %v", base, got, err)
		}
	}
}

// TestWindow holds what is known of the window, and that a prompt that is
// plainly too long is not sent.
func TestWindow(t *testing.T) {
	for _, tt := range []struct {
		name string
		opts ollama.Options
		want int
	}{
		{"m", ollama.Options{}, ollama.DefaultContext},
		{"m", ollama.Options{Info: llm.Info{Context: 500}}, 500},
		{"m", ollama.Options{NumCtx: 700, Info: llm.Info{Context: 500}}, 700},
		{"m", ollama.Options{BaseURL: "https://ollama.com/v1"}, 0},
		{"m:120b-cloud", ollama.Options{}, 0},
		{"m:120b-cloud", ollama.Options{Info: llm.Info{Context: 131_072}}, 131_072},
	} {
		m := ollama.New(tt.name, tt.opts)
		if got := m.Info().Context; got != tt.want {
			t.Errorf("%s %+v: the window is %d, want %d", tt.name, tt.opts, got, tt.want)
		}
	}
	posts := 0
	m := ollama.New("m", ollama.Options{Info: llm.Info{Context: 1000, Traits: llm.Traits{Images: true}}, Client: &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		posts++
		return wirecase.Canned{Body: `{"message":{"content":"ok"},"done":true}`}.RoundTrip(r)
	})}})
	ask := func(text string, more ...llm.Part) error {
		_, err := llm.Generate(t.Context(), m, &llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Parts: append(llm.Parts{llm.Text{Text: text}}, more...)}}})
		return err
	}
	err := ask(strings.Repeat("x", 6000))
	if !llm.IsKind(err, llm.KindContextOverflow) || !strings.Contains(err.Error(), "num_ctx) is 1000") || posts != 0 {
		t.Errorf("error %v after %d requests", err, posts)
	}
	if err := ask(strings.Repeat("x", 4000)); err != nil || posts != 1 {
		t.Errorf("near the window the server counts: error %v after %d requests", err, posts)
	}
	if err := ask(strings.Repeat("x", 6000), llm.Blob{MIME: "image/png", Data: []byte("x")}); err != nil || posts != 2 {
		t.Errorf("what images take is not guessed at: error %v after %d requests", err, posts)
	}
}

func TestShow(t *testing.T) {
	for _, tt := range []struct {
		body string
		want ollama.Details
	}{
		{`{"parameters":"stop \"x y\"\nnum_ctx    4096\n","model_info":{"qwen3.context_length":40960,"qwen3.block_count":3},"capabilities":["completion","tools","thinking"]}`, ollama.Details{Max: 40960, NumCtx: 4096, Listed: true, Tools: true, Thinking: true}},
		{`{"model_info":null}`, ollama.Details{}},
		{`{"parameters":7,"model_info":{"a.context_length":"many"},"capabilities":["tools",1],"details":[]}`, ollama.Details{Listed: true, Tools: true}},
	} {
		got, err := answer(tt.body).Show(t.Context())
		if err != nil || got != tt.want {
			t.Errorf("%s: %+v, %v", tt.body, got, err)
		}
	}
	for _, body := range []string{"", "[]", "<html></html>"} {
		if got, err := answer(body).Show(t.Context()); err == nil {
			t.Errorf("%q: %+v and no error", body, got)
		}
	}
}
