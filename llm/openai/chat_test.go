package openai_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/internal/wirecase"
	"github.com/cantle-dev/cantle/llm/openai"
)

var update = flag.Bool("update", false, "write what is made of the streams into testdata")

// answer makes a model that is always answered with body.
func answer(body string) *openai.Chat {
	return openai.NewChat("m", openai.Options{BaseURL: "http://chat.test/v1", APIKey: "key-for-tests", Client: wirecase.Canned{Body: body}.Client()})
}

var hi = wirecase.Hi()

// sent returns the body that a model of these options would post.
func sent(t *testing.T, name string, opts openai.Options, req *llm.Request) string {
	t.Helper()
	var body []byte
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ = io.ReadAll(r.Body)
		_, _ = io.WriteString(w, `{"choices":[{"message":{"content":"ok"},"finish_reason":"stop"}]}`)
	}))
	defer srv.Close()
	opts.BaseURL = srv.URL
	if _, err := llm.Generate(t.Context(), openai.NewChat(name, opts), req); err != nil {
		t.Fatal(err)
	}
	if !json.Valid(body) {
		t.Fatalf("the request is not JSON: %s", body)
	}
	return string(body)
}

// TestStreams holds what is made of the answers in testdata.
func TestStreams(t *testing.T) {
	wirecase.Golden(t, "testdata/*.txt", *update, func(_ *testing.T, _, body string) llm.Model { return answer(body) })
}

// TestGrows holds that a request starts with the bytes of the one before it.
func TestGrows(t *testing.T) {
	req := &llm.Request{System: "Be brief.", Tools: []llm.ToolSpec{{Name: "Read", Input: json.RawMessage(`{ "type":"object" }`)}}}
	add := func(m llm.Message) { req.Messages = append(req.Messages, m.Keep()) }
	add(llm.UserText("hi"))
	last := sent(t, "m", openai.Options{}, req)
	if !strings.Contains(last, `"parameters":{ "type":"object" }`) {
		t.Errorf("the schema was changed: %s", last)
	}
	for i := range 3 {
		id := fmt.Sprint("call_", i)
		add(llm.Message{Role: llm.RoleAssistant, Parts: llm.Parts{llm.Text{Text: "<looking>"}, llm.ToolCall{ID: id, Name: "Read", Input: json.RawMessage(`{"a":"é"}`)}}})
		add(llm.Message{Role: llm.RoleUser, Parts: llm.Parts{llm.ToolResult{CallID: id, Parts: llm.Texts("done")}, llm.Text{Text: "and"}}})
		now := sent(t, "m", openai.Options{}, req)
		if !strings.HasPrefix(now, strings.TrimSuffix(last, "]}")) {
			t.Fatalf("turn %d does not extend the last:\n%s\n%s", i, last, now)
		}
		last = now
	}
}

func TestRequest(t *testing.T) {
	img := llm.Blob{MIME: "image/png", Data: []byte("x")}
	pdf := llm.Blob{MIME: "application/pdf", Data: []byte("x"), Name: "a.pdf"}
	all := llm.Traits{Images: true, PDF: true, Thinking: true, Schema: true}
	mine := &llm.Origin{Provider: "p", Model: "m", Wire: openai.WireChat}
	temp := 0.0
	user := func(ps ...llm.Part) []llm.Message { return []llm.Message{{Role: llm.RoleUser, Parts: ps}} }
	said := func(o *llm.Origin, ps ...llm.Part) []llm.Message {
		return []llm.Message{llm.UserText("hi"), {Role: llm.RoleAssistant, Parts: ps, Origin: o}, llm.UserText("go on")}
	}
	call := llm.ToolCall{ID: "functions.add:0", Name: "add", Input: json.RawMessage(`{}`), Raw: json.RawMessage(`{"google":{"thought_signature":"sig"}}`)}
	think := llm.Thinking{Text: "hm", Raw: json.RawMessage(`[{"type":"reasoning.encrypted","data":"opaque"}]`)}
	for _, tt := range []struct {
		name      string
		provider  string
		traits    llm.Traits
		req       llm.Request
		want, not []string
	}{
		{"image", "p", all, llm.Request{Messages: user(img)}, []string{`"url":"data:image/png;base64,eA=="`}, nil},
		{"no image", "p", llm.Traits{}, llm.Request{Messages: user(img)}, []string{`image/png was left out`}, []string{"base64"}},
		{"pdf", "openai", all, llm.Request{Messages: user(pdf)}, []string{`"file":{"filename":"a.pdf"`}, nil},
		{"pdf where there are no files", "p", all, llm.Request{Messages: user(pdf)}, []string{`a.pdf was left out`}, []string{"base64"}},
		{
			"results before what else was said", "p", all,
			llm.Request{Messages: user(llm.Text{Text: "look"}, llm.ToolResult{CallID: "1", Parts: llm.Parts{img}}, llm.ToolResult{CallID: "2"})},
			[]string{`"tool_call_id":"1","content":"(see the files that follow)"},{"role":"tool","tool_call_id":"2","content":"(no output)"},{"role":"user"`},
			nil,
		},
		{"our own blobs", "p", all, llm.Request{Messages: said(mine, think, call)}, []string{`"reasoning_details":[{"type":"reasoning.encrypted","data":"opaque"}]`, `"extra_content":{"google":{"thought_signature":"sig"}}`}, nil},
		{"another's blobs", "q", all, llm.Request{Messages: said(mine, think, call)}, []string{`"functions.add:0"`}, []string{"opaque", "sig"}},
		{"thinking alone", "p", all, llm.Request{Messages: said(mine, think)}, []string{`"hi"},{"role":"user"`}, []string{"assistant"}},
		{"thinking that must be there", "deepseek", all, llm.Request{Messages: said(nil, call)}, []string{`"reasoning_content":""`}, nil},
		{"short ids", "mistral", all, llm.Request{Messages: append(said(nil, call), user(llm.ToolResult{CallID: call.ID})...)}, nil, []string{"functions.add:0"}},
		{"a name that is none", "p", all, llm.Request{Messages: said(nil, llm.ToolCall{ID: "1", Name: "Read\n", Input: json.RawMessage(`{}`)})}, []string{`"name":"Read"`}, nil},
		{"no name", "p", all, llm.Request{Messages: said(nil, llm.ToolCall{ID: "1", Input: json.RawMessage(`{}`)})}, []string{`"name":"unnamed"`}, nil},
		{"openai", "openai", all, llm.Request{System: "s", MaxTokens: 9, Effort: llm.EffortMinimal, CacheKey: "k", Messages: user(llm.Text{Text: "x"})}, []string{`"role":"developer"`, `"max_completion_tokens":9`, `"reasoning_effort":"minimal"`, `"prompt_cache_key":"k"`}, nil},
		{"unknown", "p", all, llm.Request{System: "s", MaxTokens: 9, Effort: llm.EffortLow, CacheKey: "k", Messages: user(llm.Text{Text: "x"})}, []string{`"role":"system"`, `"max_tokens":9`}, []string{"effort", "cache_key"}},
		{"openrouter", "openrouter", all, llm.Request{Effort: llm.EffortHigh, Messages: user(llm.Text{Text: "x"})}, []string{`"reasoning":{"effort":"high"}`}, nil},
		{"zai", "zai", all, llm.Request{Effort: llm.EffortOff, Messages: user(llm.Text{Text: "x"})}, []string{`"thinking":{"type":"disabled"}`}, nil},
		{"vllm", "vllm", all, llm.Request{Effort: llm.EffortLow, Messages: user(llm.Text{Text: "x"})}, []string{`"chat_template_kwargs":{"enable_thinking":true}`}, nil},
		{"a model of another style", "vllm", llm.Traits{Thinking: true, ThinkingStyle: "flat"}, llm.Request{Effort: llm.EffortLow, Messages: user(llm.Text{Text: "x"})}, []string{`"reasoning_effort":"low"`}, []string{"template"}},
		{"own words", "groq", llm.Traits{Thinking: true, Efforts: map[llm.Effort]string{llm.EffortLow: "default", llm.EffortOff: ""}}, llm.Request{Effort: llm.EffortLow, Messages: user(llm.Text{Text: "x"})}, []string{`"reasoning_effort":"default"`}, nil},
		{"no word", "groq", llm.Traits{Thinking: true, Efforts: map[llm.Effort]string{llm.EffortOff: ""}}, llm.Request{Effort: llm.EffortOff, Messages: user(llm.Text{Text: "x"})}, nil, []string{"reasoning_effort"}},
		{"temperature refused by the model", "p", llm.Traits{NoTemperature: true}, llm.Request{Temperature: &temp, Messages: user(llm.Text{Text: "x"})}, nil, []string{"temperature"}},
		{"schema", "p", all, llm.Request{Schema: &llm.Schema{Name: "s", JSON: json.RawMessage(`{ }`)}, Messages: user(llm.Text{Text: "x"})}, []string{`"response_format":{"type":"json_schema","json_schema":{"name":"s","schema":{ }}}`}, nil},
		{"extra", "p", all, llm.Request{MaxTokens: 5, Extra: map[string]json.RawMessage{openai.WireChat: json.RawMessage(`{"max_tokens":7,"service_tier":"flex"}`)}, Messages: user(llm.Text{Text: "x"})}, []string{`"max_tokens":7`, `"service_tier":"flex"`}, nil},
		{
			"custom tool", "openai", all,
			llm.Request{Tools: []llm.ToolSpec{{Name: "Patch", Format: json.RawMessage(`{"type":"text"}`)}}, ToolChoice: llm.ToolChoice{Mode: llm.ChoiceTool, Name: "Patch"}, Messages: said(nil, llm.ToolCall{ID: "1", Name: "Patch", Custom: true, Input: json.RawMessage(`"a"`)})},
			[]string{`"format":{"type":"text"}`, `"tool_choice":{"type":"custom","custom":{"name":"Patch"}}`, `"custom":{"name":"Patch","input":"a"}`},
			nil,
		},
		{
			"custom tool in the form of Responses", "openai", all,
			llm.Request{Tools: []llm.ToolSpec{{Name: "Patch", Format: json.RawMessage(`{"type":"grammar","syntax":"lark","definition":"start: /x/"}`)}}, Messages: hi.Messages},
			[]string{`"format":{"type":"grammar","grammar":{"definition":"start: /x/","syntax":"lark"}}`},
			nil,
		},
		{
			"custom tool where there are none", "p", all,
			llm.Request{Tools: []llm.ToolSpec{{Name: "Patch", Format: json.RawMessage(`{"type":"text"}`)}}, Messages: said(nil, llm.ToolCall{ID: "1", Name: "Patch", Custom: true, Input: json.RawMessage(`"a"`)})},
			[]string{`"arguments":"{\"input\":\"a\"}"`},
			[]string{`custom`},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			body := sent(t, "m", openai.Options{Info: llm.Info{Provider: tt.provider, Traits: tt.traits}}, &tt.req)
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

// TestLearns holds that what a refusal teaches is remembered, also by requests
// that were refused at the same time.
func TestLearns(t *testing.T) {
	const n = 8
	var mu sync.Mutex
	posts := 0
	var first sync.WaitGroup
	first.Add(n)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		posts++
		mu.Unlock()
		refuse := ""
		switch {
		case bytes.Contains(body, []byte(`"max_tokens":`)):
			first.Done()
			first.Wait()
			refuse = `{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","type":"invalid_request_error","param":"max_tokens","code":"unsupported_parameter"}}`
		case bytes.Contains(body, []byte(`"temperature":`)):
			refuse = `{"error":{"message":"Unsupported value: 'temperature' does not support 0 with this model.","type":"invalid_request_error","param":"temperature"}}`
		case bytes.Contains(body, []byte(`"stream_options":`)):
			w.WriteHeader(http.StatusUnprocessableEntity)
			_, _ = io.WriteString(w, `{"detail":"stream_options: Extra inputs are not permitted"}`)
			return
		}
		if refuse != "" {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, refuse)
			return
		}
		_, _ = io.WriteString(w, `{"choices":[{"message":{"content":"ok"},"finish_reason":"stop"}]}`)
	}))
	defer srv.Close()
	// What is learned is for the address and the name: other tests have others.
	m := openai.NewChat("learns", openai.Options{BaseURL: srv.URL})
	temp := 0.0
	req := &llm.Request{Messages: hi.Messages, MaxTokens: 10, Temperature: &temp}
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			if _, err := llm.Generate(t.Context(), m, req); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	mu.Lock()
	posts = 0
	mu.Unlock()
	if _, err := llm.Generate(t.Context(), m, req); err != nil {
		t.Fatal(err)
	}
	if posts != 1 {
		t.Errorf("%d posts after it was learned", posts)
	}
	// A field that the caller forces is not argued about.
	forced := *req
	forced.Extra = map[string]json.RawMessage{openai.WireChat: json.RawMessage(`{"temperature":1}`)}
	posts = 0
	if _, err := llm.Generate(t.Context(), m, &forced); !llm.IsKind(err, llm.KindInvalidRequest) {
		t.Error("forced: ", err)
	}
	if posts != 1 {
		t.Errorf("%d posts of a forced field", posts)
	}
}

func TestAddress(t *testing.T) {
	for _, path := range []string{"/v1", "/v1/", "/v1/chat/completions", "/v1/chat/completions/", "/v1?api-version=2"} {
		var got *http.Request
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			got = r
			_, _ = io.WriteString(w, `{"choices":[{"message":{"content":"ok"}}]}`)
		}))
		_, err := llm.Generate(t.Context(), openai.NewChat("m", openai.Options{BaseURL: srv.URL + path}), hi)
		srv.Close()
		if err != nil || got.URL.Path != "/v1/chat/completions" || strings.Contains(path, "?") != (got.URL.RawQuery == "api-version=2") {
			t.Errorf("%s: %v %v", path, got.URL, err)
		}
		if got.Header.Get("Authorization") != "" {
			t.Error("a key was sent where there is none")
		}
	}
	for base, want := range map[string]string{
		"https://api.openai.com/v1": "openai", "https://x.openai.azure.com/openai/v1": "azure", "http://localhost:8080/v1": "localhost:8080",
		"https://evil-api.openai.com.example/v1": "evil-api.openai.com.example", "": "openai-compatible",
	} {
		if got := openai.ProviderOf(base); got != want {
			t.Errorf("%s is %s, want %s", base, got, want)
		}
	}
	if p := openai.Profiles()["groq"]; p.MaxField != "max_completion_tokens" {
		t.Errorf("groq: %+v", p)
	}
}

// TestUsed holds that a stream is used once, and that no error shows the key.
func TestUsed(t *testing.T) {
	seq := answer(`{"error":{"message":"bad key-for-tests"}}`).Stream(t.Context(), hi)
	_, err := llm.Collect(seq)
	if err == nil || strings.Contains(err.Error(), "key-for-tests") {
		t.Error(err)
	}
	if _, err := llm.Collect(seq); !errors.Is(err, llm.ErrUsed) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := llm.Generate(ctx, answer(""), hi); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func FuzzStream(f *testing.F) {
	wirecase.Seeds(f, "testdata/*.txt")
	f.Fuzz(func(t *testing.T, body string) {
		m := openai.NewChat("m", openai.Options{Client: wirecase.Canned{Body: body}.Client()})
		resp, err := llm.Generate(t.Context(), m, hi)
		if err != nil {
			return
		}
		ids := map[string]bool{}
		for _, c := range resp.Message.Parts.Calls() {
			if c.ID == "" || ids[c.ID] || !json.Valid(c.Input) || !c.Custom && c.Input[0] != '{' {
				t.Fatalf("call %+v", c)
			}
			ids[c.ID] = true
		}
		if resp.Stop == "" || resp.Stop == llm.StopToolUse && len(ids) == 0 {
			t.Fatalf("stop %q with %d calls", resp.Stop, len(ids))
		}
		if u := resp.Usage; u != nil && (u.Input < 0 || u.Output < 0 || u.CacheRead < 0 || u.CacheWrite < 0) {
			t.Fatalf("usage %+v", u)
		}
		if _, err := json.Marshal(resp); err != nil {
			t.Fatal(err)
		}
		next := &llm.Request{Messages: append(append([]llm.Message{}, hi.Messages...), resp.Message, llm.UserText("go on"))}
		var body2 []byte
		m = openai.NewChat("m", openai.Options{Client: &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			body2, _ = io.ReadAll(r.Body)
			return wirecase.Canned{Body: ""}.RoundTrip(r)
		})}})
		_, _ = llm.Generate(t.Context(), m, next)
		if !json.Valid(body2) {
			t.Fatalf("the next request is not JSON: %s", body2)
		}
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Pieces of an item of reasoning_details are joined in a time that grows with
// them, and not with its square.
func TestDetailsAreJoinedAtOnce(t *testing.T) {
	const n = 10_000
	var b strings.Builder
	for range n {
		b.WriteString(`data: {"choices":[{"index":0,"delta":{"reasoning_details":[{"type":"reasoning.text","text":"sixteen letters.","index":0}]}}]}` + "\n\n")
	}
	b.WriteString(`data: {"choices":[{"index":0,"delta":{"content":"ok"},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n")
	before, after := new(runtime.MemStats), new(runtime.MemStats)
	runtime.ReadMemStats(before)
	r, err := llm.Generate(t.Context(), answer(b.String()), hi)
	if err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(after)
	th, ok := r.Message.Parts[0].(llm.Thinking)
	if !ok || len(th.Text) != 16*n || strings.Count(string(th.Raw), "sixteen letters.") != n || strings.Count(string(th.Raw), "reasoning.text") != 1 {
		t.Fatalf("%T of %d bytes", r.Message.Parts[0], len(th.Text))
	}
	// Joined one by one they would be more than 1.6 GB.
	if bytes := after.TotalAlloc - before.TotalAlloc; bytes > 400<<20 {
		t.Errorf("%d MB", bytes>>20)
	}
}

func BenchmarkDelta(b *testing.B) {
	const deltas = 5000
	line := `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":" word"},"finish_reason":null}]}` + "\n\n"
	body := strings.Repeat(line, deltas) + `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"
	m := openai.NewChat("m", openai.Options{Client: wirecase.Canned{Body: body}.Client()})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := llm.Generate(b.Context(), m, hi); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/deltas, "ns/delta")
}

func ExampleNewChat() {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "data: {\"choices\":[{\"delta\":{\"content\":\"Scattering.\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	}))
	defer srv.Close()
	m := openai.NewChat("qwen3", openai.Options{BaseURL: srv.URL}) // a local server wants no key
	resp, err := llm.Generate(context.Background(), m, &llm.Request{Messages: []llm.Message{llm.UserText("Why is the sky blue?")}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(resp.Message.Text())
	// Output: Scattering.
}
