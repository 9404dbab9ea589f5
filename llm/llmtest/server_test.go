package llmtest_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/llm/llmtest"
)

var paths = map[string]string{llmtest.WireAnthropic: "/v1/messages", llmtest.WireChat: "/v1/chat/completions"}

func post(t *testing.T, s *llmtest.Server, wire, body string) (int, string, error) {
	t.Helper()
	return postTo(t, s, paths[wire], body)
}

func postTo(t *testing.T, s *llmtest.Server, path, body string) (int, string, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Anthropic-Version", "2023-06-01")
	tr := llmtest.Loopback()
	defer tr.CloseIdleConnections()
	resp, err := (&http.Client{Transport: tr}).Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(bufio.NewReader(resp.Body))
	return resp.StatusCode, string(b), err
}

func TestRefusals(t *testing.T) {
	const call = `{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"T","input":{}},{"type":"tool_use","id":"b","name":"T","input":{}}]}`
	const chatCall = `{"role":"user","content":"q"},{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"T","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"T","arguments":"{}"}}]}`
	mark := `{"type":"text","text":"x","cache_control":{"type":"ephemeral"}}`
	for _, c := range []struct{ wire, name, messages, more, want string }{
		{"anthropic", "good", call + `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"b","content":"r"},{"type":"tool_result","tool_use_id":"a"},{"type":"text","text":"go on"}]}`, "", ""},
		{"anthropic", "thinking", fmt.Sprintf(`{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":%q},{"type":"text","text":"x"}]},{"role":"user","content":"q"}`, llmtest.Sign("t")), "", ""},
		{"anthropic", "assistant first", `{"role":"assistant","content":"q"}`, "", "messages: first message must use the `user` role"},
		{"anthropic", "bad role", `{"role":"user","content":"q"},{"role":"system","content":"q"}`, "", `messages.1.role: "system"`},
		{"anthropic", "no content", `{"role":"user"}`, "", "messages.0: content must be a string or a list"},
		{"anthropic", "empty list", `{"role":"user","content":[]}`, "", "non-empty content"},
		{"anthropic", "empty text", `{"role":"user","content":[{"type":"text","text":""}]}`, "", "messages.0.content.0: text content blocks must be non-empty"},
		{"anthropic", "empty string", `{"role":"user","content":""}`, "", "text content blocks must be non-empty"},
		{"anthropic", "blank text", `{"role":"user","content":[{"type":"text","text":" \n"}]}`, "", "must contain non-whitespace"},
		{"anthropic", "unanswered at the end", call, "", "without `tool_result` blocks immediately after: a, b"},
		{"anthropic", "one unanswered", call + `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"b"}]}`, "", "messages.2: `tool_use` ids were found without `tool_result` blocks immediately after: a"},
		{"anthropic", "answered twice", call + `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"},{"type":"tool_result","tool_use_id":"a"}]}`, "", `must have a single`},
		{"anthropic", "orphan", `{"role":"user","content":[{"type":"tool_result","tool_use_id":"zz"}]}`, "", "unexpected `tool_use_id` \"zz\""},
		{"anthropic", "result after text", call + `,{"role":"user","content":[{"type":"text","text":"x"},{"type":"tool_result","tool_use_id":"a"}]}`, "", "must come before other content"},
		{"anthropic", "bad id", `{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"tool_use","id":"a:b","name":"T","input":{}}]}`, "", `tool_use.id: "a:b"`},
		{"anthropic", "input not an object", `{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"T","input":"{}"}]}`, "", "tool_use.input: must be an object"},
		{"anthropic", "same id again", call + `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"},{"type":"tool_result","tool_use_id":"b"}]},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"T","input":{}}]}`, "", "ids must be unique"},
		{"anthropic", "unsigned", `{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":""}]}`, "", "thinking.signature: field required"},
		{"anthropic", "changed thinking", fmt.Sprintf(`{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"thinking","thinking":"u","signature":%q}]}`, llmtest.Sign("t")), "", "invalid `signature`"},
		{"anthropic", "trailing space", `{"role":"user","content":"q"},{"role":"assistant","content":"so "}`, "", "cannot end with trailing whitespace"},
		{"anthropic", "five marks", `{"role":"user","content":[` + strings.Repeat(mark+",", 4) + mark + `]}`, "", "a maximum of 4 blocks"},
		{"anthropic", "extra block field", `{"role":"user","content":[{"type":"text","text":"x","id":"1"}]}`, "", "text.id: extra inputs"},
		{"anthropic", "extra field", `{"role":"user","content":"q"}`, `,"wat":1`, "wat: extra inputs"},
		{"anthropic", "tool name", `{"role":"user","content":"q"}`, `,"tools":[{"name":"a b","input_schema":{"type":"object"}}]`, `tools.0.name: "a b"`},
		{"anthropic", "tool twice", `{"role":"user","content":"q"}`, `,"tools":[{"name":"a","input_schema":{"type":"object"}},{"name":"a","input_schema":{"type":"object"}}]`, "must be unique"},
		{"anthropic", "schema", `{"role":"user","content":"q"}`, `,"tools":[{"name":"a","input_schema":{"type":"string"}}]`, "input_schema"},
		{"anthropic", "image", `{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/bmp","data":"AA=="}}]}`, "", "media_type"},
		{"openai-chat", "good", chatCall + `,{"role":"tool","tool_call_id":"b","content":"r"},{"role":"tool","tool_call_id":"a","content":""},{"role":"user","content":"go on"}`, "", ""},
		{"openai-chat", "unanswered", chatCall + `,{"role":"tool","tool_call_id":"b","content":"r"},{"role":"user","content":"x"}`, "", "messages.[3]: an assistant message with 'tool_calls' must be followed"},
		{"openai-chat", "unanswered at the end", chatCall, "", "no response: a, b"},
		{"openai-chat", "orphan", `{"role":"user","content":"q"},{"role":"tool","tool_call_id":"b","content":"r"}`, "", "messages with role 'tool' must be a response"},
		{"openai-chat", "twice", chatCall + `,{"role":"tool","tool_call_id":"b","content":"r"},{"role":"tool","tool_call_id":"b","content":"r"}`, "", `once each; "b" is not`},
		{"openai-chat", "arguments", `{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"T","arguments":"{"}}]}`, "", "arguments: not valid JSON"},
		{"openai-chat", "empty", `{"role":"user","content":""}`, "", "must not be empty"},
		{"openai-chat", "empty assistant", `{"role":"user","content":"q"},{"role":"assistant","content":null}`, "", "must have content or tool_calls"},
		{"openai-chat", "role", `{"role":"human","content":"q"}`, "", `.role: "human"`},
		{"openai-chat", "no tools", `{"role":"user","content":"q"}`, `,"tools":[]`, "too short"},
		{"openai-chat", "long id", `{"role":"assistant","tool_calls":[{"id":"` + strings.Repeat("a", 41) + `","type":"function","function":{"name":"T","arguments":"{}"}}]}`, "", "too long"},
		{"openai-chat", "stream options", `{"role":"user","content":"q"}`, `,"stream_options":{"include_usage":true}`, "only allowed when stream"},
	} {
		t.Run(c.wire+"/"+c.name, func(t *testing.T) {
			tb := &fakeTB{}
			s := llmtest.NewServer(tb, llmtest.Play(nil, llmtest.Say("ok")))
			status, body, err := post(t, s, c.wire, `{"model":"m","max_tokens":9,"messages":[`+c.messages+`]`+c.more+`}`)
			if err != nil {
				t.Fatal(err)
			}
			failed := tb.end()
			if c.want == "" {
				if status != 200 || failed != "" {
					t.Fatalf("refused: %d %s %s", status, body, failed)
				}
				return
			}
			var env struct {
				Error struct{ Type, Message string }
			}
			if err := json.Unmarshal([]byte(body), &env); err != nil {
				t.Fatal(err)
			}
			if status != 400 || env.Error.Type != "invalid_request_error" || !strings.Contains(env.Error.Message, c.want) {
				t.Errorf("got %d %s, want 400 with %q", status, body, c.want)
			}
			if !strings.Contains(failed, c.want) {
				t.Errorf("the test failed with %q", failed)
			}
		})
	}
}

func TestThinkingMustComeBack(t *testing.T) {
	s := llmtest.NewServer(t, llmtest.Play(t, llmtest.Think("hm").CallID("a", "T", nil)))
	s.Tolerate()
	body := `{"model":"m","max_tokens":9,"thinking":{"type":"adaptive"},"messages":[{"role":"user","content":"q"}`
	if status, b, err := post(t, s, "anthropic", body+`]}`); err != nil || status != 200 || !strings.Contains(b, llmtest.Sign("hm")) {
		t.Fatalf("%d %s %v", status, b, err)
	}
	status, b, _ := post(t, s, "anthropic", body+`,{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"T","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"}]}]}`)
	if status != 400 || !strings.Contains(b, "must be passed back") {
		t.Errorf("%d %s", status, b)
	}
	if rs := s.Requests(); len(rs) != 2 || rs[0].Err != nil || rs[1].Err == nil {
		t.Errorf("requests: %+v", rs)
	}
}

func TestCacheIsPlayed(t *testing.T) {
	long := strings.Repeat("word ", 1500)
	for wire, content := range map[string]string{
		"anthropic":   `[{"type":"text","text":"` + long + `","cache_control":{"type":"ephemeral"}}]`,
		"openai-chat": `"` + long + `"`,
	} {
		s := llmtest.NewServer(t, func(*llmtest.Exchange) llmtest.Reply { return llmtest.Say("ok") })
		send := func(more string) *llmtest.Exchange {
			if status, b, err := post(t, s, wire, `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":`+content+`}`+more+`]}`); err != nil || status != 200 {
				t.Fatal(status, b, err)
			}
			rs := s.Requests()
			return rs[len(rs)-1]
		}
		first := send("")
		second := send(`,{"role":"assistant","content":"ok"},{"role":"user","content":"more"}`)
		if first.Usage.CacheRead != 0 || first.Usage.Prompt() < 2000 {
			t.Errorf("%s first: %+v", wire, first.Usage)
		}
		if u := second.Usage; u.CacheRead < 1900 || u.Input > 200 || u.Prompt() <= first.Usage.Prompt() {
			t.Errorf("%s second: %+v", wire, u)
		}
		if err := second.Extends(first); err != nil {
			t.Error(err)
		}
		content = strings.Replace(content, "word", "ward", 1)
		third := send("")
		if third.Usage.CacheRead != 0 {
			t.Errorf("%s third: %+v", wire, third.Usage)
		}
		if err := third.Extends(first); err == nil || !strings.Contains(err.Error(), "messages[0] differs at byte") {
			t.Errorf("%s: %v", wire, err)
		}
	}
}

func TestPlayerComputes(t *testing.T) {
	s := llmtest.NewServer(t, func(e *llmtest.Exchange) llmtest.Reply {
		if r, ok := e.LastResult(); ok {
			return llmtest.Say("the result was " + r)
		}
		return llmtest.Call("T", map[string]string{"q": e.LastText()})
	})
	_, b, err := post(t, s, "openai-chat", `{"model":"m","messages":[{"role":"user","content":"hello"}]}`)
	if err != nil || !strings.Contains(b, `{\"q\":\"hello\"}`) || !strings.Contains(b, `"call_1"`) {
		t.Fatal(b, err)
	}
	_, b, _ = post(t, s, "openai-chat", `{"model":"m","messages":[{"role":"user","content":"hello"},{"role":"assistant","tool_calls":[{"id":"call_1","type":"function","function":{"name":"T","arguments":"{}"}}]},{"role":"tool","tool_call_id":"call_1","content":"42"}]}`)
	if !strings.Contains(b, "the result was 42") {
		t.Error(b)
	}
}

func TestServerAddressesAndKeys(t *testing.T) {
	if _, err := llmtest.Listen("0.0.0.0:0", nil); err == nil {
		t.Error("listens to the world")
	}
	s, err := llmtest.Listen("127.0.0.1:0", llmtest.Play(nil, llmtest.Say("ok")))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.RequireKey("k")
	if status, b, _ := post(t, s, "anthropic", `{}`); status != 401 || !strings.Contains(b, "authentication_error") {
		t.Error(status, b)
	}
	tr := llmtest.Loopback()
	defer tr.CloseIdleConnections()
	resp, err := (&http.Client{Transport: tr}).Get(s.URL + "/v1/models")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if b, _ := io.ReadAll(resp.Body); !strings.Contains(string(b), `"test-model"`) {
		t.Error(string(b))
	}
	if _, err := (&http.Client{Transport: tr}).Get("http://example.com/"); err == nil || !strings.Contains(err.Error(), "only loopback is allowed") {
		t.Error(err)
	}
}

func TestThen(t *testing.T) {
	p := llmtest.Status(529, nil).Then(llmtest.Play(t, llmtest.Say("a"), llmtest.Say("b")))
	s := llmtest.NewServer(t, p)
	for i, want := range []int{529, 200, 200} {
		status, b, _ := post(t, s, "anthropic", `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"q"}]}`)
		if status != want || i == 0 && !strings.Contains(b, "overloaded_error") {
			t.Error(i, status, b)
		}
	}
}

// TestProviderOfAWire: what OpenAI alone refuses, other providers of its wire take.
func TestProviderOfAWire(t *testing.T) {
	const body = `{"model":"m","store":false,"input":[{"role":"user","content":"q"},` +
		`{"type":"message","role":"assistant","id":"gen-1","content":[{"type":"output_text","text":"a"}]},{"role":"user","content":"q"}]}`
	for name, want := range map[string]int{"": http.StatusBadRequest, "openai": http.StatusBadRequest, "xai": http.StatusOK} {
		s := llmtest.NewServer(t, func(*llmtest.Exchange) llmtest.Reply { return llmtest.Say("ok") })
		s.Tolerate()
		s.SetProvider(name)
		resp, err := client(t).Post(s.URL+"/v1/responses", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%q: %s", name, resp.Status)
		}
	}
}
