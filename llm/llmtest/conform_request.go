package llmtest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/llm"
)

// testRequest checks that what is asked for arrives. A wire that has no room
// for something leaves it out; it says nothing else.
func testRequest(t *testing.T, h Harness) {
	warm := 0.5
	base := modelRequest()
	base.Tools = append(base.Tools, llm.ToolSpec{
		Name: "Send", Description: "Sends a thing.",
		Input: json.RawMessage(`{"type":"object","properties":{"to":{"type":"array","items":{"type":"string"}}},"additionalProperties":false}`),
	})
	for _, c := range []struct {
		name   string
		change func(*llm.Request)
		check  func(sent, got *llm.Request) bool
	}{
		{"tools", func(*llm.Request) {}, func(sent, got *llm.Request) bool {
			ok := len(got.Tools) == len(sent.Tools)
			for i := 0; ok && i < len(got.Tools); i++ {
				ok = got.Tools[i].Name == sent.Tools[i].Name && len(got.Tools[i].Input) > 0
			}
			return ok && got.System == sent.System && got.Messages[0].Text() == sent.Messages[0].Text()
		}},
		{"tokens", func(r *llm.Request) { r.MaxTokens = 1234 }, func(_, got *llm.Request) bool { return got.MaxTokens == 1234 }},
		{"temperature", func(r *llm.Request) { r.Temperature = &warm }, func(_, got *llm.Request) bool {
			return got.Temperature == nil || *got.Temperature == warm
		}},
		{"stop sequence", func(r *llm.Request) {
			if h.Wire != WireResponses { // which has none, and says so
				r.Stop = []string{"END"}
			}
		}, func(sent, got *llm.Request) bool { return len(got.Stop) == len(sent.Stop) }},
		{"any tool", func(r *llm.Request) { r.ToolChoice.Mode = llm.ChoiceAny }, func(_, got *llm.Request) bool {
			return got.ToolChoice.Mode == llm.ChoiceAny || h.Wire == WireOllama
		}},
		{"one tool", func(r *llm.Request) { r.ToolChoice = llm.ToolChoice{Mode: llm.ChoiceTool, Name: "Send"} }, func(_, got *llm.Request) bool {
			only := got.ToolChoice.Name == "Send" || len(got.Tools) == 1 && got.Tools[0].Name == "Send"
			return only || h.Wire == WireOllama
		}},
		{"no tool", func(r *llm.Request) { r.ToolChoice.Mode = llm.ChoiceNone }, func(_, got *llm.Request) bool {
			return got.ToolChoice.Mode == llm.ChoiceNone || len(got.Tools) == 0 || h.Wire == WireBedrock // which has no word for it
		}},
		{"no tools and no system prompt", func(r *llm.Request) { r.Tools, r.System = nil, "" }, func(_, got *llm.Request) bool {
			return len(got.Tools) == 0 && got.System == ""
		}},
		{"a schema", func(r *llm.Request) {
			r.Tools, r.Schema = nil, &llm.Schema{Name: "answer", JSON: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}`)}
		}, func(_, got *llm.Request) bool { return got.Schema == nil || len(got.Schema.JSON) > 0 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := NewServer(t, Play(t, Say("{\"n\":1}")))
			req := cloneRequest(base)
			c.change(req)
			if _, err := llm.Generate(t.Context(), h.New(t, s.BaseURL(h.Wire)), req); err != nil {
				t.Fatal(err)
			}
			if got := s.Requests()[0]; !c.check(req, got.Request) {
				t.Errorf("what arrived is %s", got.Body)
			}
		})
	}
}

// testHistory continues conversations that other providers' models began, and
// that hold what those may and this one may not: the server refuses what the
// provider would. The ids of calls differ, as they do in what an agent sends.
func testHistory(t *testing.T, h Harness) {
	other := &llm.Origin{Provider: "elsewhere", Model: "other", Wire: "other"}
	says := func(ps ...llm.Part) llm.Message {
		return llm.Message{Role: llm.RoleAssistant, Parts: ps, Origin: other}
	}
	user := func(ps ...llm.Part) llm.Message { return llm.Message{Role: llm.RoleUser, Parts: ps} }
	call := func(id string) llm.ToolCall {
		return llm.ToolCall{ID: id, Name: "Look", Input: json.RawMessage(`{"thing":"a"}`)}
	}
	result := func(id, text string) llm.ToolResult {
		return llm.ToolResult{CallID: id, Name: "Look", Parts: llm.Texts(text)}
	}
	begin, end := llm.UserText("Begin."), llm.UserText("Go on.")
	long := "call_" + strings.Repeat("0123456789", 12)
	for _, c := range []struct {
		name     string
		messages []llm.Message
		results  []string // that must have arrived, in order
	}{
		{"another's ids", []llm.Message{begin, says(call("functions.Look:0"), call("functions.Look:1")), user(result("functions.Look:0", "one"), result("functions.Look:1", "two"))}, []string{"one", "two"}},
		{"long ids that differ at their ends", []llm.Message{begin, says(call(long+"a"), call(long+"b")), user(result(long+"a", "one"), result(long+"b", "two"))}, []string{"one", "two"}},
		{"results in another order", []llm.Message{begin, says(call("a"), call("b")), user(result("b", "two"), result("a", "one"))}, nil},
		{"a result and then a text", []llm.Message{begin, says(llm.Text{Text: "Looking."}, call("a")), user(result("a", "one"), llm.Text{Text: "Hurry."})}, []string{"one"}},
		{"an empty result", []llm.Message{begin, says(call("a")), user(result("a", ""))}, nil},
		{"a result of nothing", []llm.Message{begin, says(call("a")), user(llm.ToolResult{CallID: "a", Name: "Look"})}, nil},
		{"a blank result", []llm.Message{begin, says(call("a")), user(result("a", " \n"))}, nil},
		{"a failed result", []llm.Message{begin, says(call("a")), user(llm.ToolResult{CallID: "a", Name: "Look", IsError: true, Parts: llm.Texts("no luck")})}, nil},
		{"another's thinking", []llm.Message{begin, says(llm.Thinking{Text: "Hm.", Signature: "xx", Raw: json.RawMessage(`{"type":"other","x":1}`)}, llm.Text{Text: "Yes."}), end}, nil},
		{"thinking alone", []llm.Message{begin, says(llm.Thinking{Text: "Hm."}), end}, nil},
		{"another's block", []llm.Message{begin, says(llm.Native{Wire: "other", Kind: "search", Raw: json.RawMessage(`{"type":"search"}`)}, llm.Text{Text: "Yes."}), end}, nil},
		{"a blank text beside a call", []llm.Message{begin, says(llm.Text{Text: "\n\n"}, call("a")), user(result("a", "one"))}, []string{"one"}},
		{"an answer of nothing", []llm.Message{begin, says(), end}, nil},
		{"an answer that ends in a blank", []llm.Message{begin, says(llm.Text{Text: "Yes. \n"}), end}, nil},
		{"two messages of the user", []llm.Message{begin, llm.UserText("And more."), says(llm.Text{Text: "Yes."}), end}, nil},
		{"two messages of the model", []llm.Message{begin, says(llm.Text{Text: "Yes."}), says(llm.Text{Text: "And no."}), end}, nil},
		{"a name that no tool can have", []llm.Message{begin, says(llm.ToolCall{ID: "a", Name: "Look at\n" + strings.Repeat("x", 200), Input: json.RawMessage(`{}`)}), user(llm.ToolResult{CallID: "a", Name: "Look at\n" + strings.Repeat("x", 200), Parts: llm.Texts("one")})}, []string{"one"}},
		{"a malformed call", []llm.Message{begin, says(llm.ToolCall{ID: "a", Name: "Look", Input: json.RawMessage(`{}`), Malformed: `{"x`}), user(result("a", "one"))}, []string{"one"}},
		{"a custom call", []llm.Message{begin, says(llm.ToolCall{ID: "a", Name: "Look", Custom: true, Input: json.RawMessage(`"text"`)}), user(result("a", "one"))}, []string{"one"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := NewServer(t, Play(t, Say("ok")))
			m := h.New(t, s.BaseURL(h.Wire))
			req := modelRequest()
			req.Messages = c.messages
			if _, err := llm.Generate(t.Context(), m, req); err != nil {
				t.Fatal(err)
			}
			if c.results != nil {
				if err := answered(s.Requests()[0].Request, c.results); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// answered checks that the results of req have these texts, and that each is of
// a call before it that has no other.
func answered(req *llm.Request, texts []string) error {
	open := map[string]bool{}
	n := 0
	for _, m := range req.Messages {
		for _, p := range m.Parts {
			switch p := p.(type) {
			case llm.ToolCall:
				open[p.ID] = true
			case llm.ToolResult:
				switch {
				case !open[p.CallID]:
					return fmt.Errorf("result %d is of %q, which is not called", n, p.CallID)
				case n >= len(texts) || !strings.Contains(p.Parts.Text(), texts[n]):
					return fmt.Errorf("result %d is %q, want those of %q", n, p.Parts.Text(), texts)
				}
				delete(open, p.CallID)
				n++
			}
		}
	}
	if n != len(texts) {
		return fmt.Errorf("%d results arrived, want %d", n, len(texts))
	}
	return nil
}
