package llmtest_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/anthropic"
	"github.com/cantle-dev/cantle/llm/gemini"
	"github.com/cantle-dev/cantle/llm/llmtest"
	"github.com/cantle-dev/cantle/llm/openai"
)

// The server knows a search that the provider runs as such, plays what it leaves
// in an answer, and takes that back.
func TestHostedSearch(t *testing.T) {
	traits := llm.Info{Traits: llm.Traits{Hosted: []string{llm.HostedWebSearch}}}
	for wire, c := range map[string]struct {
		open  func(url string) llm.Model
		parts []string
	}{
		llmtest.WireAnthropic: {func(url string) llm.Model {
			return anthropic.New("claude-test", anthropic.Options{BaseURL: url, APIKey: "k", Client: client(t), Info: traits})
		}, []string{
			`{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"go"}}`,
			`{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result","title":"Go","url":"https://go.dev/","encrypted_content":"E"}]}`,
		}},
		llmtest.WireResponses: {func(url string) llm.Model {
			info := traits
			info.Provider = "openai"
			return openai.NewResponses("gpt-test", openai.Options{BaseURL: url, APIKey: "k", Client: client(t), Info: info})
		}, []string{`{"id":"ws_1","type":"web_search_call","status":"completed","action":{"type":"search","query":"go"}}`}},
		llmtest.WireGemini: {func(url string) llm.Model {
			return gemini.New("gemini-3-pro", gemini.Options{BaseURL: url, APIKey: "k", Client: client(t), Info: traits})
		}, []string{`{"toolCall":{"toolType":"GOOGLE_SEARCH_WEB","id":"t1"},"thoughtSignature":"c2ln"}`, `{"toolResponse":{"toolType":"GOOGLE_SEARCH_WEB","id":"t1"}}`}},
	} {
		s := llmtest.NewServer(t, func(e *llmtest.Exchange) llmtest.Reply {
			if !slices.ContainsFunc(e.Request.Tools, func(t llm.ToolSpec) bool { return t.Hosted == llm.HostedWebSearch }) || len(e.Request.Tools) != 2 {
				t.Errorf("%s: the tools are %+v", wire, e.Request.Tools)
			}
			if e.N > 1 {
				return llmtest.Say("You are welcome.")
			}
			var r llmtest.Reply
			for _, raw := range c.parts {
				var head struct{ Type string }
				if err := json.Unmarshal([]byte(raw), &head); err != nil {
					t.Error(err)
				}
				r = r.Parts(llm.Native{Wire: wire, Kind: head.Type, Raw: json.RawMessage(raw)})
			}
			return r.Say("Go is a language.")
		})
		m := c.open(s.BaseURL(wire))
		req := &llm.Request{
			Messages: []llm.Message{llm.UserText("What is Go?")},
			Tools:    []llm.ToolSpec{{Name: "Read", Input: json.RawMessage(`{"type":"object"}`)}, {Name: "WebSearch", Hosted: llm.HostedWebSearch}},
		}
		r, err := llm.Generate(t.Context(), m, req)
		if err != nil {
			t.Fatal(wire, err)
		}
		natives := 0
		for _, p := range r.Message.Parts {
			if _, ok := p.(llm.Native); ok {
				natives++
			}
		}
		if natives != len(c.parts) || r.Message.Text() != "Go is a language." {
			t.Errorf("%s: %+v", wire, r.Message)
		}
		req.Messages = append(req.Messages, r.Message, llm.UserText("Thank you."))
		if _, err := llm.Generate(t.Context(), m, req); err != nil {
			t.Error(wire, err)
		}
		if all := s.Requests(); len(all) != 2 || all[1].Extends(all[0]) != nil {
			t.Errorf("%s: the second request does not extend the first: %v", wire, all[1].Extends(all[0]))
		}
	}
}
