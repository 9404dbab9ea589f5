package wirecase_test

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/anthropic"
	"github.com/cantle-dev/cantle/llm/bedrock"
	"github.com/cantle-dev/cantle/llm/cohere"
	"github.com/cantle-dev/cantle/llm/gemini"
	"github.com/cantle-dev/cantle/llm/internal/wirecase"
	"github.com/cantle-dev/cantle/llm/ollama"
	"github.com/cantle-dev/cantle/llm/openai"
)

// hosting is a wire on which a provider searches the web by itself.
type hosting struct {
	name string
	open func(base string, traits llm.Traits, c *http.Client) llm.Model
	// offered is how the search stands in a request, refused what a server says
	// that does not take it, answer what one makes of it, and back what of that
	// must be in the next request, to the byte.
	offered, refused, answer string
	back                     []string
	searches                 int64
}

var hostings = []hosting{
	{
		name: "anthropic",
		open: func(base string, traits llm.Traits, c *http.Client) llm.Model {
			return anthropic.New("claude-x", anthropic.Options{BaseURL: base, NoCache: true, Info: llm.Info{Traits: traits}, Client: c})
		},
		offered: `{"type":"web_search_20250305","name":"web_search"}`,
		refused: `{"type":"error","error":{"type":"invalid_request_error","message":"'claude-x' does not support tool types: web_search_20250305. Did you mean one of ?"}}`,
		answer: `{"id":"m","type":"message","role":"assistant","model":"claude-x","content":[` +
			`{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"go"}},` +
			`{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result","title":"Go","url":"https://go.dev/","encrypted_content":"E"}]},` +
			`{"type":"text","text":"Go is a language.","citations":[{"type":"web_search_result_location","cited_text":"Go","url":"https://go.dev/","title":"Go","encrypted_index":"I"}]}` +
			`],"stop_reason":"end_turn","usage":{"input_tokens":10,"output_tokens":5,"server_tool_use":{"web_search_requests":1}}}`,
		back:     []string{`{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"go"}}`, `"encrypted_content":"E"`, `"encrypted_index":"I"`},
		searches: 1,
	},
	{
		name: "openai-responses",
		open: func(base string, traits llm.Traits, c *http.Client) llm.Model {
			return openai.NewResponses("gpt-x", openai.Options{BaseURL: base, Info: llm.Info{Provider: "openai", Traits: traits}, Client: c})
		},
		offered: `{"type":"web_search"}`,
		refused: `{"error":{"type":"invalid_request_error","param":"tools","message":"Hosted tool 'web_search' is not supported with gpt-x."}}`,
		answer: `{"id":"r","object":"response","status":"completed","model":"gpt-x","output":[` +
			`{"id":"ws_1","type":"web_search_call","status":"completed","action":{"type":"search","query":"go"}},` +
			`{"id":"ws_2","type":"web_search_call","status":"completed","action":{"type":"open_page","url":"https://go.dev/"}},` +
			`{"id":"msg_1","type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","text":"Go is a language.","annotations":[{"type":"url_citation","start_index":0,"end_index":2,"url":"https://go.dev/","title":"Go"}]}]}` +
			`],"usage":{"input_tokens":10,"output_tokens":5}}`,
		back:     []string{`{"id":"ws_1","type":"web_search_call","status":"completed","action":{"type":"search","query":"go"}}`, `{"type":"url_citation","start_index":0,"end_index":2,"url":"https://go.dev/","title":"Go"}`},
		searches: 1,
	},
	{
		name: "xai",
		open: func(base string, traits llm.Traits, c *http.Client) llm.Model {
			return openai.NewResponses("grok-x", openai.Options{BaseURL: base, Info: llm.Info{Provider: "xai", Traits: traits}, Client: c})
		},
		offered: `{"type":"web_search"}`,
		refused: `{"code":"invalid","error":"Argument not supported: web_search"}`,
		answer: `{"id":"r","object":"response","status":"completed","model":"grok-x","output":[` +
			`{"id":"ws_1","type":"web_search_call","status":"completed","action":{"type":"search","query":"go"}},` +
			`{"id":"msg_1","type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","text":"Go is a language.","annotations":[]}]}` +
			`],"usage":{"input_tokens":10,"output_tokens":5,"num_server_side_tools_used":2,"server_side_tool_usage_details":{"web_search_calls":2}}}`,
		back:     []string{`{"id":"ws_1","type":"web_search_call","status":"completed","action":{"type":"search","query":"go"}}`},
		searches: 2,
	},
	{
		name: "openrouter",
		open: func(base string, traits llm.Traits, c *http.Client) llm.Model {
			return openai.NewChat("a/b", openai.Options{BaseURL: base, Info: llm.Info{Provider: "openrouter", Traits: traits}, Client: c})
		},
		offered: `{"type":"openrouter:web_search"}`,
		refused: `{"error":{"code":400,"message":"Server tool openrouter:web_search is not supported"}}`,
		answer: `{"id":"c","model":"a/b","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"Go is a language.",` +
			`"annotations":[{"type":"url_citation","url_citation":{"url":"https://go.dev/","title":"Go","start_index":0,"end_index":2}}]}}],` +
			`"usage":{"prompt_tokens":10,"completion_tokens":5,"server_tool_use":{"web_search_requests":3}}}`,
		searches: 3,
	},
	{
		name: "gemini",
		open: func(base string, traits llm.Traits, c *http.Client) llm.Model {
			return gemini.New("gemini-3-x", gemini.Options{BaseURL: base, Info: llm.Info{Traits: traits}, Client: c})
		},
		offered: `{"googleSearch":{}}`,
		refused: `{"error":{"code":400,"status":"INVALID_ARGUMENT","message":"Search Grounding is not supported."}}`,
		answer: `{"responseId":"g","modelVersion":"gemini-3-x","candidates":[{"index":0,"finishReason":"STOP","content":{"role":"model","parts":[` +
			`{"toolCall":{"toolType":"GOOGLE_SEARCH_WEB","args":{"queries":["go","go language"]},"id":"t1"},"thoughtSignature":"c2ln"},` +
			`{"toolResponse":{"toolType":"GOOGLE_SEARCH_WEB","response":{},"id":"t1"}},{"text":"Go is a language."}]},` +
			`"groundingMetadata":{"webSearchQueries":["go","go language"],"groundingChunks":[{"web":{"uri":"https://go.dev/","title":"go.dev"}}]}}],` +
			`"usageMetadata":{"promptTokenCount":10,"candidatesTokenCount":5,"totalTokenCount":15}}`,
		back:     []string{`{"toolCall":{"toolType":"GOOGLE_SEARCH_WEB","args":{"queries":["go","go language"]},"id":"t1"},"thoughtSignature":"c2ln"}`, `{"toolResponse":{"toolType":"GOOGLE_SEARCH_WEB","response":{},"id":"t1"}}`},
		searches: 2,
	},
	{
		name: "bedrock",
		open: func(base string, traits llm.Traits, c *http.Client) llm.Model {
			return bedrock.New("us.amazon.nova-2-lite-v1:0", bedrock.Options{BaseURL: base, APIKey: "k", NoStream: true, NoCache: true, Info: llm.Info{Traits: traits}, Client: c})
		},
		offered: `{"systemTool":{"name":"nova_grounding"}}`,
		refused: `{"message":"This model doesn't support the system tool nova_grounding."}`,
		answer: `{"output":{"message":{"role":"assistant","content":[{"toolUse":{"input":{"query":"go"},"name":"nova_grounding","toolUseId":"t1","type":"server_tool_use"}},` +
			`{"toolResult":{"content":[{"text":"[HIDDEN]"}],"status":"success","toolUseId":"t1","type":"nova_grounding_result"}},{"text":"Go is a language."}]}},` +
			`"stopReason":"end_turn","usage":{"inputTokens":10,"outputTokens":5}}`,
		back: []string{`{"toolUse":{"input":{"query":"go"},"name":"nova_grounding","toolUseId":"t1","type":"server_tool_use"}}`},
	},
}

// server answers each request with the next of its answers, the last for ever,
// and keeps what was sent. An answer that is an error has a status.
type server struct {
	answers []wirecase.Canned
	sent    []string
}

func (s *server) RoundTrip(r *http.Request) (*http.Response, error) {
	b, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	s.sent = append(s.sent, string(b))
	next := s.answers[min(len(s.sent), len(s.answers))-1]
	next.Header = http.Header{"Content-Type": {"application/json"}}
	r.Body = nil
	return next.RoundTrip(r)
}

var (
	searching = llm.Traits{Hosted: []string{llm.HostedWebSearch}}
	readTool  = llm.ToolSpec{Name: "Read", Input: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}}}`)}
	search    = llm.ToolSpec{Name: "WebSearch", Input: json.RawMessage(`{"type":"object","properties":{"query":{"type":"string"}}}`), Hosted: llm.HostedWebSearch}
	hostOnly  = llm.ToolSpec{Name: "WebSearch", Hosted: llm.HostedWebSearch}
)

// offer sends a request with these tools, to a server that refuses the search if
// refused is set, and returns what was sent last.
func (h hosting) offer(t *testing.T, name string, traits llm.Traits, choice llm.ToolChoice, refuse bool, tools ...llm.ToolSpec) (llm.Info, *llm.Response, string) {
	t.Helper()
	s := &server{answers: []wirecase.Canned{{Body: h.answer}}}
	if refuse {
		s.answers = []wirecase.Canned{{Status: 400, Body: h.refused}, {Body: h.answer}}
	}
	m := h.open("http://"+strings.ReplaceAll(name, " ", "-")+"."+h.name+".test", traits, &http.Client{Transport: s})
	req := wirecase.Hi()
	req.Tools, req.ToolChoice = tools, choice
	r, err := llm.Generate(t.Context(), m, req)
	if err != nil {
		t.Fatalf("%s, %s: %v", h.name, name, err)
	}
	if want := map[bool]int{false: 1, true: 2}[refuse]; len(s.sent) != want {
		t.Errorf("%s, %s: %d requests", h.name, name, len(s.sent))
	}
	if req.Tools[len(tools)-1].Hosted == "" {
		t.Errorf("%s, %s: the request was changed", h.name, name)
	}
	return m.Info(), r, s.sent[len(s.sent)-1]
}

// A search that the provider runs is offered in its own words, in the place of
// the tool; where the model has none the tool is a function, or is not there.
func TestHostedIsOffered(t *testing.T) {
	t.Parallel()
	var none llm.ToolChoice
	for _, h := range hostings {
		is := func(name, sent, want string, not ...string) {
			t.Helper()
			if !strings.Contains(sent, want) || slices.ContainsFunc(not, func(s string) bool { return strings.Contains(sent, s) }) {
				t.Errorf("%s, %s: %s", h.name, name, sent)
			}
		}
		info, _, sent := h.offer(t, "both", searching, none, false, readTool, search)
		is("both", sent, h.offered, "WebSearch")
		if !strings.Contains(sent, `"Read"`) || !info.Traits.Hosts(llm.HostedWebSearch) {
			t.Errorf("%s: %v %s", h.name, info.Traits, sent)
		}
		_, _, sent = h.offer(t, "alone", searching, none, false, hostOnly)
		is("alone", sent, h.offered, "WebSearch")
		// The model lacks it.
		_, _, sent = h.offer(t, "lacking", llm.Traits{}, none, false, readTool, search)
		is("lacking", sent, `"WebSearch"`, h.offered)
		_, _, sent = h.offer(t, "lacking all", llm.Traits{}, llm.ToolChoice{Mode: llm.ChoiceTool, Name: "WebSearch"}, false, hostOnly)
		is("lacking all", sent, "hi", "ools", "tool_choice", "toolChoice", "WebSearch")
		// The account, or the model, may not.
		_, _, sent = h.offer(t, "refused", searching, none, true, readTool, search)
		is("refused", sent, `"WebSearch"`, h.offered)
		// Another tool has its name.
		_, _, sent = h.offer(t, "taken", searching, none, false, llm.ToolSpec{Name: "web_search"}, search)
		is("taken", sent, `"WebSearch"`, h.offered)
		// It is not chosen by a name that it does not have.
		_, _, sent = h.offer(t, "chosen", searching, llm.ToolChoice{Mode: llm.ChoiceTool, Name: "WebSearch"}, false, readTool, search)
		is("chosen", sent, h.offered, "WebSearch")
	}
	for name, m := range map[string]llm.Model{
		"cohere":  cohere.New("m", cohere.Options{Info: llm.Info{Traits: searching}}),
		"ollama":  ollama.New("m", ollama.Options{Info: llm.Info{Traits: searching}}),
		"chat":    openai.NewChat("m", openai.Options{BaseURL: "http://x.test", Info: llm.Info{Traits: searching}}),
		"claude":  bedrock.New("anthropic.claude-x", bedrock.Options{Info: llm.Info{Traits: searching}}),
		"unknown": openai.NewResponses("m", openai.Options{BaseURL: "http://x.test", Info: llm.Info{Traits: searching}}),
	} {
		if len(m.Info().Traits.Hosted) > 0 {
			t.Errorf("%s says that it searches", name)
		}
	}
	if searching.Hosted[0] != llm.HostedWebSearch {
		t.Error("the traits were changed")
	}
}

// What a search leaves in an answer goes back to its own wire as it came, to
// no other, and the text of the answer to all.
func TestHostedGoesBack(t *testing.T) {
	t.Parallel()
	for _, h := range hostings {
		_, r, _ := h.offer(t, "back", searching, llm.ToolChoice{}, false, search)
		if r.Message.Text() != "Go is a language." || r.Stop != llm.StopEnd || len(r.Message.Parts.Calls()) > 0 || r.Usage.Searches != h.searches {
			t.Errorf("%s: %+v, %+v", h.name, r, r.Usage)
		}
		price := llm.Price{Search: llm.Dollars(0.01)}
		if got := price.Cost(*r.Usage); got != llm.Money(h.searches)*price.Search {
			t.Errorf("%s: %v", h.name, got)
		}
		// What is kept in a file and read again is the same.
		kept, err := json.Marshal(r.Message)
		if err != nil {
			t.Fatal(err)
		}
		var said llm.Message
		if err := json.Unmarshal(kept, &said); err != nil {
			t.Fatal(err)
		}
		for _, other := range hostings {
			s := &server{answers: []wirecase.Canned{{Body: other.answer}}}
			m := other.open("http://next."+other.name+".test", searching, &http.Client{Transport: s})
			req := &llm.Request{Tools: []llm.ToolSpec{search}, Messages: []llm.Message{llm.UserText("hi"), said, llm.UserText("more")}}
			if _, err := llm.Generate(t.Context(), m, req); err != nil {
				t.Fatal(err)
			}
			for _, want := range h.back {
				if strings.Contains(s.sent[0], want) != (h.name == other.name) {
					t.Errorf("from %s to %s: %s in %s", h.name, other.name, want, s.sent[0])
				}
			}
			if !strings.Contains(s.sent[0], "Go is a language.") {
				t.Errorf("from %s to %s: %s", h.name, other.name, s.sent[0])
			}
		}
	}
}

// Before generation 3 Gemini refuses a search beside functions; after it, the
// calls that the server runs are asked for, but on Vertex, which knows no such
// field.
func TestHostedByGemini(t *testing.T) {
	t.Parallel()
	const calls = `"includeServerSideToolInvocations":true`
	for name, c := range map[string]struct {
		model, path   string
		tools         []llm.ToolSpec
		search, calls bool
	}{
		"old":               {"gemini-2.5-flash", "", []llm.ToolSpec{readTool, search}, false, false},
		"old, alone":        {"gemini-2.5-flash", "", []llm.ToolSpec{search}, true, false},
		"new":               {"gemini-3-pro", "", []llm.ToolSpec{readTool, search}, true, true},
		"new, alone":        {"gemini-3-pro", "", []llm.ToolSpec{search}, true, false},
		"the latest":        {"gemini-flash-latest", "", []llm.ToolSpec{search, readTool}, true, true},
		"new, on Vertex AI": {"gemini-3-pro", "/v1/projects/p/locations/l/publishers/google/models/m", []llm.ToolSpec{readTool, search}, true, false},
	} {
		s := &server{answers: []wirecase.Canned{{Body: hostings[4].answer}}}
		m := gemini.New(c.model, gemini.Options{BaseURL: "http://gemini.test", Path: c.path, Info: llm.Info{Traits: searching}, Client: &http.Client{Transport: s}})
		req := wirecase.Hi()
		req.Tools = c.tools
		if _, err := llm.Generate(t.Context(), m, req); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(s.sent[0], "googleSearch") != c.search || strings.Contains(s.sent[0], calls) != c.calls {
			t.Errorf("%s: %s", name, s.sent[0])
		}
	}
}
