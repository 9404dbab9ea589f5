package openai_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/internal/wirecase"
	"github.com/cantle-dev/cantle/llm/openai"
)

const answered = `{"id":"resp_1","status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"ok"}]}]}`

// posted returns the body that a Responses model of these options would post.
func posted(t testing.TB, name string, opts openai.Options, req *llm.Request) string {
	t.Helper()
	var body []byte
	opts.Client = &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		body, _ = io.ReadAll(r.Body)
		return wirecase.Canned{Body: answered}.RoundTrip(r)
	})}
	opts.BaseURL = "http://responses.test/v1"
	if _, err := llm.Generate(t.Context(), openai.NewResponses(name, opts), req); err != nil {
		t.Fatal(err)
	}
	if !json.Valid(body) {
		t.Fatalf("the request is not JSON: %s", body)
	}
	return string(body)
}

// TestResponsesGrows holds that a request starts with the bytes of the one
// before it, over twenty turns of all kinds of items.
func TestResponsesGrows(t *testing.T) {
	o := &llm.Origin{Provider: "openai", Model: "m", Wire: openai.WireResponses}
	opts := openai.Options{Info: llm.Info{Provider: "openai", Traits: llm.Traits{Thinking: true, Images: true}}}
	req := &llm.Request{System: "Be brief.", CacheKey: "s", Tools: []llm.ToolSpec{
		{Name: "Read", Input: json.RawMessage(`{ "type":"object" }`)},
		{Name: "Patch", Format: json.RawMessage(`{"type":"text"}`)},
		{Name: "Rare", Deferred: true},
	}}
	add := func(m llm.Message) { req.Messages = append(req.Messages, m.Keep()) }
	add(llm.UserText("hi"))
	last := posted(t, "m", opts, req)
	if !strings.Contains(last, `"parameters":{ "type":"object" },"strict":false`) {
		t.Errorf("the schema was changed: %s", last)
	}
	for i := range 20 {
		id, free := fmt.Sprint("call_", i), fmt.Sprint("free_", i)
		add(llm.Message{Role: llm.RoleAssistant, Origin: o, Parts: llm.Parts{
			llm.Thinking{Text: "hm", Raw: json.RawMessage(`{"encrypted_content":"E","id":"rs","summary":[]}`)},
			llm.Text{Text: "<looking>", Raw: json.RawMessage(`{"id":"msg","phase":"commentary"}`)},
			llm.Native{Wire: openai.WireResponses, Kind: "web_search_call", Raw: json.RawMessage(`{"type":"web_search_call","id":"ws"}`)},
			llm.ToolCall{ID: id, Name: "Read", Input: json.RawMessage(`{"a":"é"}`), Raw: json.RawMessage(`{"id":"fc"}`)},
			llm.ToolCall{ID: free, Name: "Patch", Input: json.RawMessage(`"x"`), Custom: true},
		}})
		add(llm.Message{Role: llm.RoleUser, Parts: llm.Parts{
			llm.ToolResult{CallID: id, Parts: llm.Texts("done")},
			llm.ToolResult{CallID: free, Parts: llm.Parts{llm.Text{Text: "see"}, llm.Blob{MIME: "image/png", Data: []byte("x")}}},
			llm.Text{Text: "and"},
		}})
		now := posted(t, "m", opts, req)
		if !strings.HasPrefix(now, strings.TrimSuffix(last, "]}")) {
			t.Fatalf("turn %d does not extend the last:\n%s\n%s", i, last, now)
		}
		last = now
	}
	for _, w := range []string{`"type":"custom_tool_call_output","call_id":"free_19","output":[{"type":"input_text","text":"see"},{"type":"input_image"`, `"type":"function_call_output","call_id":"call_19","output":"done"`} {
		if !strings.Contains(last, w) {
			t.Errorf("no %s", w)
		}
	}
}

func TestResponsesRequest(t *testing.T) {
	all := llm.Traits{Images: true, PDF: true, Thinking: true, Schema: true}
	img := llm.Blob{MIME: "image/png", Data: []byte("x")}
	pdf := llm.Blob{MIME: "application/pdf", Data: []byte("x"), Name: "a.pdf"}
	temp := 0.5
	user := func(ps ...llm.Part) []llm.Message { return []llm.Message{{Role: llm.RoleUser, Parts: ps}} }
	ask := user(llm.Text{Text: "x"})
	call := llm.ToolCall{ID: "1", Name: "Patch", Custom: true, Input: json.RawMessage(`"a"`)}
	patch := llm.ToolSpec{Name: "Patch", Format: json.RawMessage(`{"type":"grammar","grammar":{"syntax":"lark","definition":"start: /x/"}}`)}
	said := func(ps ...llm.Part) []llm.Message {
		return append(user(llm.Text{Text: "hi"}), llm.Message{Role: llm.RoleAssistant, Parts: ps}, llm.UserText("go on"))
	}
	for _, tt := range []struct {
		name      string
		provider  string
		traits    llm.Traits
		req       llm.Request
		want, not []string
	}{
		{"stateless", "openai", all, llm.Request{Messages: ask}, []string{`{"model":"m","stream":true,"store":false,"include":["reasoning.encrypted_content"],"reasoning":{"summary":"auto"},"prompt_cache_retention":"24h","input":[{"role":"user","content":"x"}]}`}, nil},
		{"nothing to encrypt", "ollama", all, llm.Request{Messages: ask}, []string{`{"model":"m","stream":true,"input"`}, nil},
		{
			"all settings", "openai", all,
			llm.Request{System: "s", MaxTokens: 100, Temperature: &temp, Effort: llm.EffortMinimal, CacheKey: "k", User: "u", Schema: &llm.Schema{Name: "s", JSON: json.RawMessage(`{ }`)}, Messages: ask},
			[]string{`"max_output_tokens":100`, `"temperature":0.5`, `"reasoning":{"effort":"minimal","summary":"auto"}`, `"text":{"format":{"type":"json_schema","name":"s","schema":{ }}}`, `"prompt_cache_key":"k"`, `"prompt_cache_retention":"24h"`, `"safety_identifier":"u"`, `"instructions":"s"`},
			nil,
		},
		{"unknown server", "p", all, llm.Request{Effort: llm.EffortXHigh, CacheKey: "k", User: "u", Messages: ask}, []string{`"reasoning":{"effort":"high"}`, `"user":"u"`}, []string{"cache", "summary"}},
		{"xai", "xai", all, llm.Request{Effort: llm.EffortLow, CacheKey: "k", Messages: ask}, []string{`"reasoning":{"effort":"low"}`, `"prompt_cache_key":"k"`, `"store":false`}, nil},
		{"openrouter", "openrouter", all, llm.Request{Effort: llm.EffortXHigh, CacheKey: "k", Messages: ask}, []string{`"reasoning":{"effort":"xhigh","summary":"auto"}`, `"prompt_cache_key":"k"`}, nil},
		{"azure", "azure", all, llm.Request{CacheKey: "k", User: "u", Messages: user(llm.ToolResult{CallID: "1", Parts: llm.Parts{img}})}, []string{`"prompt_cache_key":"k"`, `"user":"u"`, `"output":[{"type":"input_image"`}, nil},
		{"deepseek", "deepseek", all, llm.Request{CacheKey: "k", Messages: ask}, nil, []string{"include", "store", "cache"}},
		{"lmstudio", "lmstudio", all, llm.Request{Messages: ask}, nil, []string{"include", "store"}},
		{"no thinking", "openai", llm.Traits{NoTemperature: true}, llm.Request{Effort: llm.EffortHigh, Temperature: &temp, Messages: ask}, nil, []string{`"reasoning":`, "temperature"}},
		{"effort off", "openai", all, llm.Request{Effort: llm.EffortOff, Messages: ask}, []string{`"reasoning":{"effort":"none"}`}, nil},
		{"own words", "openai", llm.Traits{Thinking: true, Efforts: map[llm.Effort]string{llm.EffortOff: ""}}, llm.Request{Effort: llm.EffortOff, Messages: ask}, nil, []string{`"reasoning":`}},
		{"least tokens", "openai", all, llm.Request{MaxTokens: 3, Messages: ask}, []string{`"max_output_tokens":16`}, nil},
		{"extra", "openai", all, llm.Request{Extra: map[string]json.RawMessage{openai.WireResponses: json.RawMessage(`{"service_tier":"flex","include":null}`)}, Messages: ask}, []string{`"service_tier":"flex"`}, []string{"include"}},
		{"images", "p", all, llm.Request{Messages: user(img, llm.Text{Text: "what?"})}, []string{`{"role":"user","content":[{"type":"input_image","detail":"auto","image_url":"data:image/png;base64,eA=="},{"type":"input_text","text":"what?"}]}`}, nil},
		{"no images", "p", llm.Traits{}, llm.Request{Messages: user(img)}, []string{"image/png was left out"}, []string{"base64"}},
		{"pdf", "openai", all, llm.Request{Messages: user(pdf)}, []string{`{"type":"input_file","filename":"a.pdf","file_data":"data:application/pdf;base64,eA=="}`}, nil},
		{"pdf where there are no files", "p", all, llm.Request{Messages: user(pdf)}, []string{"a.pdf was left out"}, []string{"base64"}},
		{"pdf at an address", "openai", all, llm.Request{Messages: user(llm.Blob{MIME: "application/pdf", URL: "https://a.test/a.pdf"})}, []string{`{"type":"input_file","file_url":"https://a.test/a.pdf"}`}, nil},
		{"text file", "p", all, llm.Request{Messages: user(llm.Blob{MIME: "text/plain; charset=utf-8", Name: "a.txt", Data: []byte("hello")})}, []string{`[a.txt]\nhello`}, nil},
		{"result with an image", "openai", all, llm.Request{Messages: user(llm.ToolResult{CallID: "1", Parts: llm.Parts{img}})}, []string{`{"type":"function_call_output","call_id":"1","output":[{"type":"input_image"`}, nil},
		{"result with an image that comes after", "p", all, llm.Request{Messages: user(llm.Text{Text: "and"}, llm.ToolResult{CallID: "1", Parts: llm.Parts{img}}, llm.ToolResult{CallID: "2"})}, []string{`"output":"(see the files that follow)"},{"type":"function_call_output","call_id":"2","output":"(no output)"},{"role":"user","content":[{"type":"input_text","text":"The files`}, nil},
		{
			"custom tool", "openai", all,
			llm.Request{Tools: []llm.ToolSpec{patch}, ToolChoice: llm.ToolChoice{Mode: llm.ChoiceTool, Name: "Patch"}, Messages: append(said(call)[:2], user(llm.ToolResult{CallID: "1"})...)},
			[]string{`{"type":"custom","name":"Patch","format":{"definition":"start: /x/","syntax":"lark","type":"grammar"}}`, `"tool_choice":{"type":"custom","name":"Patch"}`, `{"type":"custom_tool_call","call_id":"1","name":"Patch","input":"a"}`, `{"type":"custom_tool_call_output","call_id":"1"`},
			nil,
		},
		{
			"custom tool where there are none", "p", all,
			llm.Request{Tools: []llm.ToolSpec{patch}, ToolChoice: llm.ToolChoice{Mode: llm.ChoiceTool, Name: "Patch"}, Messages: append(said(call)[:2], user(llm.ToolResult{CallID: "1"})...)},
			[]string{`{"type":"function","name":"Patch"`, `"tool_choice":{"type":"function","name":"Patch"}`, `"arguments":"{\"input\":\"a\"}"`, `{"type":"function_call_output","call_id":"1"`},
			[]string{"custom"},
		},
		{
			"deferred", "openai", all,
			llm.Request{Tools: []llm.ToolSpec{{Name: "a"}, {Name: "b", Deferred: true}}, ToolChoice: llm.ToolChoice{Mode: llm.ChoiceAny}, Messages: ask},
			[]string{`"tools":[{"type":"tool_search"},{"type":"function","name":"a","parameters":{"type":"object","properties":{}},"strict":false},{"type":"function","name":"b","parameters":{"type":"object","properties":{}},"strict":false,"defer_loading":true}],"tool_choice":"required"`},
			nil,
		},
		{"deferred where there is no search", "p", all, llm.Request{Tools: []llm.ToolSpec{{Name: "b", Deferred: true}}, ToolChoice: llm.ToolChoice{Mode: llm.ChoiceNone}, Messages: ask}, []string{`"tool_choice":"none"`}, []string{"search", "defer"}},
		{"deferred and forced", "openai", all, llm.Request{Tools: []llm.ToolSpec{{Name: "b", Deferred: true}}, ToolChoice: llm.ToolChoice{Mode: llm.ChoiceTool, Name: "b"}, Messages: ask}, nil, []string{"search", "defer"}},
		{"a name and an id that are none", "p", all, llm.Request{Messages: said(llm.ToolCall{ID: strings.Repeat("x", 65), Name: "Re.ad\n", Input: json.RawMessage(`{}`)})}, []string{`"call_id":"call_`, `"name":"Re_ad"`}, []string{"xxx"}},
		{"what another wire said", "p", all, llm.Request{Messages: said(llm.Thinking{Text: "hm", Signature: "SIG"}, llm.Text{Text: "yes", Raw: json.RawMessage(`{"id":"RAW"}`)}, llm.Text{Text: " "}, llm.Native{Wire: "anthropic", Raw: json.RawMessage(`{"a":"RAW"}`)}, llm.Unknown{Kind: "new", Raw: json.RawMessage(`{"a":"RAW"}`)}, llm.ToolCall{ID: "1", Name: "a", Input: json.RawMessage(`{"p":"<"}`), Raw: json.RawMessage(`{"id":"RAW"}`)})}, []string{`{"role":"user","content":"hi"},{"role":"assistant","content":"yes"},{"type":"function_call","call_id":"1","name":"a","arguments":"{\"p\":\"<\"}"},{"role":"user","content":"go on"}`}, []string{"RAW", "SIG", "hm"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			body := posted(t, "m", openai.Options{CacheRetention: "24h", Info: llm.Info{Provider: tt.provider, Traits: tt.traits}}, &tt.req)
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
	_, err := llm.Generate(t.Context(), responses(answered, openai.Options{}), &llm.Request{Messages: ask, Stop: []string{"END"}})
	if !llm.IsKind(err, llm.KindInvalidRequest) || !strings.Contains(err.Error(), "stop sequences") {
		t.Error(err)
	}
}

// TestResponsesItems holds what goes back of an answer: reasoning with what it
// led to or not at all, and ids with their reasoning or not at all.
func TestResponsesItems(t *testing.T) {
	mine := llm.Origin{Provider: "openai", Model: "m-2026-01-01", Wire: openai.WireResponses}
	rs := func(n string) llm.Part {
		return llm.Thinking{Text: "hm", Raw: json.RawMessage(`{"encrypted_content":"ENC` + n + `","id":"rs_` + n + `","summary":[]}`)}
	}
	msg := func(n, text string) llm.Part {
		return llm.Text{Text: text, Raw: json.RawMessage(`{"id":"msg_` + n + `","phase":"commentary"}`)}
	}
	fc := func(n string) llm.Part {
		return llm.ToolCall{ID: "call_" + n, Name: "a", Input: json.RawMessage(`{}`), Raw: json.RawMessage(`{"id":"fc_` + n + `","namespace":"ns"}`)}
	}
	item := func(kind, raw string) llm.Part {
		return llm.Native{Wire: openai.WireResponses, Kind: kind, Raw: json.RawMessage(`{"type":"` + kind + `",` + raw + `}`)}
	}
	rs1 := `{"type":"reasoning","encrypted_content":"ENC1","id":"rs_1","summary":[]}`
	rs2 := strings.ReplaceAll(rs1, "1", "2")
	msg1 := `{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"yes","annotations":[]}],"phase":"commentary"}`
	msgBare := `{"role":"assistant","content":"yes","phase":"commentary"}`
	fc1 := `{"type":"function_call","call_id":"call_1","name":"a","arguments":"{}","id":"fc_1","namespace":"ns"}`
	fcBare := `{"type":"function_call","call_id":"call_1","name":"a","arguments":"{}","namespace":"ns"}`
	for _, tt := range []struct {
		name   string
		origin llm.Origin
		parts  llm.Parts
		want   string
	}{
		{"all of it", mine, llm.Parts{rs("1"), msg("1", "yes"), rs("2"), fc("1")}, rs1 + "," + msg1 + "," + rs2 + "," + fc1},
		{"two for one", mine, llm.Parts{rs("1"), rs("2"), fc("1")}, rs1 + "," + rs2 + "," + fc1},
		{"nothing follows", mine, llm.Parts{fc("1"), rs("1")}, fc1},
		{"only reasoning", mine, llm.Parts{rs("1")}, ""},
		{"not encrypted", mine, llm.Parts{llm.Thinking{Text: "hm", Raw: json.RawMessage(`{"id":"rs_1","summary":[]}`)}, msg("1", "yes"), fc("1")}, strings.Replace(msg1, `"id":"msg_1",`, "", 1) + "," + fcBare},
		{"in the open", mine, llm.Parts{llm.Thinking{Text: "hm", Raw: json.RawMessage(`{"content":[{"type":"reasoning_text","text":"hm"}],"id":"rs_1","summary":[]}`)}, fc("1")}, `{"type":"reasoning","content":[{"type":"reasoning_text","text":"hm"}],"id":"rs_1","summary":[]},` + fc1},
		{"what it led to is not sent", mine, llm.Parts{rs("1"), item("shell_call", `"call_id":"c"`), fc("1"), rs("2"), msg("1", "yes")}, fcBare + "," + rs2 + "," + msg1},
		{"a shell that the server ran", mine, llm.Parts{rs("1"), item("shell_call", `"call_id":"c"`), item("shell_call_output", `"call_id":"c"`)}, rs1 + `,{"type":"shell_call","call_id":"c"},{"type":"shell_call_output","call_id":"c"}`},
		{"approval", mine, llm.Parts{item("mcp_list_tools", `"id":"l"`), item("mcp_approval_request", `"id":"r"`)}, `{"type":"mcp_list_tools","id":"l"}`},
		{"tool search", mine, llm.Parts{item("tool_search_call", `"call_id":null,"execution":"server"`), item("tool_search_output", `"call_id":null,"tools":[]`), item("tool_search_call", `"call_id":"c","execution":"client"`)}, `{"type":"tool_search_call","call_id":null,"execution":"server"},{"type":"tool_search_output","call_id":null,"tools":[]}`},
		{"a text with more to it", mine, llm.Parts{llm.Text{Text: "no", Raw: json.RawMessage(`{"content":[{"refusal":"no","type":"refusal"}],"id":"msg_1"}`)}}, `{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"refusal":"no","type":"refusal"}]}`},
		{"a text that was changed", mine, llm.Parts{rs("1"), llm.Text{Text: "hidden", Raw: json.RawMessage(`{"content":[{"type":"output_text","text":"secret"}],"id":"msg_1"}`)}, fc("1")}, `{"role":"assistant","content":"hidden"},` + fcBare},
		{"an empty message", mine, llm.Parts{rs("1"), llm.Text{Raw: json.RawMessage(`{"id":"msg_1"}`)}, fc("1")}, rs1 + `,{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"","annotations":[]}]},` + fc1},
		{"without an id", mine, llm.Parts{llm.Text{Text: "yes", Raw: json.RawMessage(`{"phase":"commentary"}`)}}, msgBare},
		{"another model", llm.Origin{Provider: "openai", Model: "n", Wire: openai.WireResponses}, llm.Parts{rs("1"), msg("1", "yes"), fc("1"), item("web_search_call", `"id":"w"`)}, `{"role":"assistant","content":"yes"},{"type":"function_call","call_id":"call_1","name":"a","arguments":"{}"}`},
		{"another provider", llm.Origin{Provider: "azure", Model: "m", Wire: openai.WireResponses}, llm.Parts{rs("1"), msg("1", "yes")}, `{"role":"assistant","content":"yes"}`},
		{"another wire", llm.Origin{Provider: "openai", Model: "m", Wire: openai.WireChat}, llm.Parts{rs("1"), msg("1", "yes")}, `{"role":"assistant","content":"yes"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			body := posted(t, "m", openai.Options{Info: llm.Info{Provider: "openai"}}, &llm.Request{Messages: []llm.Message{
				llm.UserText("hi"), {Role: llm.RoleAssistant, Origin: &tt.origin, Parts: tt.parts}, llm.UserText("go on"),
			}})
			_, got, _ := strings.Cut(body, `"content":"hi"}`)
			got = strings.TrimSuffix(got, `,{"role":"user","content":"go on"}]}`)
			if got = strings.TrimPrefix(got, ","); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// TestResponsesLearns holds that what a server refuses is left out from then
// on, and that a history whose reasoning it cannot read does not end the talk.
func TestResponsesLearns(t *testing.T) {
	refuse := func(param, code, message string) string {
		b, _ := json.Marshal(map[string]any{"error": map[string]any{"message": message, "type": "invalid_request_error", "param": param, "code": code}})
		return string(b)
	}
	for _, tt := range []struct{ name, while, answer, not string }{
		{"include", `"include"`, refuse("include", "", "Encrypted content is not supported with this model."), `"include"`},
		{"summary", `"summary":"auto"`, refuse("reasoning.summary", "unsupported_value", "Your organization must be verified to generate reasoning summaries."), `"summary":"auto"`},
		{"effort", `"effort"`, refuse("reasoning.effort", "unsupported_value", "Unsupported value: 'high' is not supported with the 'm' model."), `"effort"`},
		{"reasoning", `"reasoning":{`, `{"detail":[{"loc":["body","reasoning"],"msg":"Extra inputs are not permitted"}]}`, `"reasoning":{`},
		{"search", `tool_search`, refuse("tools", "", "Tool 'tool_search' is not supported with m."), "defer_loading"},
		{"user", `"safety_identifier"`, refuse("safety_identifier", "unknown_parameter", "Unknown parameter: 'safety_identifier'."), "safety_identifier"},
		{"decryption", `ENC`, refuse("", "invalid_encrypted_content", "The encrypted content for item rs_1 could not be verified."), "rs_1"},
		{"not stored", `ENC`, refuse("input", "", "Item with id 'rs_1' not found. Items are not persisted when `store` is set to false."), "rs_1"},
		{"decryption in words", `ENC`, refuse("", "", "The encrypted content gAAA could not be verified. Reason: it could not be decrypted or parsed."), "fc_1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var bodies []string
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				b, _ := io.ReadAll(r.Body)
				bodies = append(bodies, string(b))
				if strings.Contains(string(b), tt.while) {
					w.WriteHeader(http.StatusBadRequest)
					_, _ = io.WriteString(w, tt.answer)
					return
				}
				_, _ = io.WriteString(w, answered)
			}))
			defer srv.Close()
			m := openai.NewResponses(t.Name(), openai.Options{BaseURL: srv.URL, Info: llm.Info{Provider: "openai", Traits: llm.Traits{Thinking: true}}})
			req := &llm.Request{
				User: "u", Effort: llm.EffortHigh, Tools: []llm.ToolSpec{{Name: "a", Deferred: true}},
				Messages: []llm.Message{llm.UserText("hi"), llm.Message{
					Role: llm.RoleAssistant, Origin: &llm.Origin{Provider: "openai", Model: t.Name(), Wire: openai.WireResponses},
					Parts: llm.Parts{
						llm.Thinking{Raw: json.RawMessage(`{"encrypted_content":"ENC","id":"rs_1","summary":[]}`)},
						llm.ToolCall{ID: "call_1", Name: "a", Input: json.RawMessage(`{}`), Raw: json.RawMessage(`{"id":"fc_1"}`)},
					},
				}.Keep(), {Role: llm.RoleUser, Parts: llm.Parts{llm.ToolResult{CallID: "call_1"}}}},
			}
			for range 2 {
				if _, err := llm.Generate(t.Context(), m, req); err != nil {
					t.Fatal(err)
				}
			}
			if len(bodies) != 3 || strings.Contains(bodies[1], tt.not) || bodies[1] != bodies[2] {
				t.Errorf("%d posts: %s", len(bodies), strings.Join(bodies, "\n"))
			}
		})
	}
	// What is refused for another reason is the caller's to know.
	posts := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		posts++
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, refuse("input", "", "Unknown item in the input of this user's reasoning."))
	}))
	defer srv.Close()
	m := openai.NewResponses("m", openai.Options{BaseURL: srv.URL, Info: llm.Info{Provider: "openai", Traits: llm.Traits{Thinking: true}}})
	if _, err := llm.Generate(t.Context(), m, hi); !llm.IsKind(err, llm.KindInvalidRequest) || posts != 1 {
		t.Errorf("%d posts, %v", posts, err)
	}
}

func TestResponsesAddress(t *testing.T) {
	for _, tt := range []struct{ provider, base, want string }{
		{"", "http://h.test/v1", "/v1/responses"},
		{"", "http://h.test/v1/", "/v1/responses"},
		{"", "http://h.test/v1/responses", "/v1/responses"},
		{"", "http://h.test/v1/chat/completions", "/v1/responses"},
		{"", "http://h.test/v1?a=b", "/v1/responses?a=b"},
		{"", "http://h.test", "/responses"},
		{"azure", "http://h.test", "/openai/v1/responses"},
		{"azure", "http://h.test/", "/openai/v1/responses"},
		{"azure", "http://h.test/openai/v1", "/openai/v1/responses"},
		{"azure", "http://h.test/openai/deployments/gpt/chat/completions?api-version=1", "/openai/responses?api-version=1"},
	} {
		var got *http.Request
		m := openai.NewResponses("m", openai.Options{APIKey: "key-for-tests", BaseURL: tt.base, Info: llm.Info{Provider: tt.provider}, Client: &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			got = r
			return wirecase.Canned{Body: answered}.RoundTrip(r)
		})}})
		if _, err := llm.Generate(t.Context(), m, hi); err != nil || got.URL.RequestURI() != tt.want {
			t.Errorf("%s is %s, want %s (%v)", tt.base, got.URL, tt.want, err)
		}
		if key := got.Header.Get("Api-Key"); (key != "") != (tt.provider == "azure") || key != "" && got.Header.Get("Authorization") != "" {
			t.Errorf("%s: %v", tt.base, got.Header)
		}
	}
	var got *http.Request
	m := openai.NewResponses("m", openai.Options{BaseURL: "https://x.openai.azure.com", Query: url.Values{"api-version": {"preview"}}, Client: &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		got = r
		return wirecase.Canned{Body: answered}.RoundTrip(r)
	})}})
	if _, err := llm.Generate(t.Context(), m, hi); err != nil || got.URL.String() != "https://x.openai.azure.com/openai/v1/responses?api-version=preview" {
		t.Error(got.URL, err)
	}
	if i := m.Info(); i.Provider != "azure" || i.Wire != openai.WireResponses || i.Name != "m" {
		t.Errorf("%+v", i)
	}
}

func TestResponsesUsed(t *testing.T) {
	m := responses(answered, openai.Options{APIKey: "key-for-tests"})
	seq := m.Stream(t.Context(), hi)
	r, err := llm.Collect(seq)
	if err != nil || r.ID != "resp_1" || *r.Message.Origin != (llm.Origin{Provider: "responses.test", Model: "m", Wire: openai.WireResponses}) {
		t.Errorf("%+v %v", r, err)
	}
	if _, err := llm.Collect(seq); !errors.Is(err, llm.ErrUsed) {
		t.Error(err)
	}
	for range m.Stream(t.Context(), hi) {
		break
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := llm.Generate(ctx, m, hi); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestUser holds under which name the user goes out on the chat wire.
func TestUser(t *testing.T) {
	for provider, want := range map[string]string{"openai": `"safety_identifier":"u"`, "groq": `"user":"u"`} {
		body := sent(t, "m", openai.Options{Info: llm.Info{Provider: provider}}, &llm.Request{User: "u", Messages: hi.Messages})
		if !strings.Contains(body, want) {
			t.Errorf("%s: %s", provider, body)
		}
	}
}

func FuzzResponses(f *testing.F) {
	files, _ := filepath.Glob("testdata/responses/*.txt")
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		body, _, _ := strings.Cut(string(b), "\n-----\n")
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		m := responses(body, openai.Options{})
		resp, err := llm.Generate(t.Context(), m, hi)
		if err != nil {
			var e *llm.Error
			if !errors.As(err, &e) || e.Kind == "" || e.Message == "" {
				t.Fatal(err)
			}
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
		b, err := json.Marshal(resp.Message)
		if err != nil {
			t.Fatal(err)
		}
		// What came in can be kept, and go back.
		var kept llm.Message
		if err := json.Unmarshal(b, &kept); err != nil {
			t.Fatal(err)
		}
		posted(t, "m", openai.Options{Info: llm.Info{Provider: "responses.test"}}, &llm.Request{Messages: []llm.Message{llm.UserText("hi"), kept, llm.UserText("go on")}})
	})
}

func BenchmarkResponsesDelta(b *testing.B) {
	const deltas = 5000
	line := "event: response.output_text.delta\n" + `data: {"type":"response.output_text.delta","content_index":0,"delta":" word","item_id":"msg_1","logprobs":[],"obfuscation":"EPY0cRGhLYo2t","output_index":0,"sequence_number":4}` + "\n\n"
	body := strings.Repeat(line, deltas) + `data: {"type":"response.completed","response":{"status":"completed","output":[]}}` + "\n\n"
	m := responses(body, openai.Options{})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := llm.Generate(b.Context(), m, hi); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/deltas, "ns/delta")
}

func ExampleNewResponses() {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, answered)
	}))
	defer srv.Close()
	m := openai.NewResponses("gpt-5", openai.Options{BaseURL: srv.URL, APIKey: "a key"})
	resp, err := llm.Generate(context.Background(), m, &llm.Request{Messages: []llm.Message{llm.UserText("Are you there?")}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(resp.Message.Text())
	// Output: ok
}
