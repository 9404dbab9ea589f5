package anthropic_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/anthropic"
)

// posted is the body of a request to a model of these traits.
func posted(t *testing.T, traits llm.Traits, req *llm.Request) string {
	t.Helper()
	var body []byte
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ = io.ReadAll(r.Body)
		http.Error(w, `{"error":{"message":"no"}}`, http.StatusUnauthorized)
	}))
	defer srv.Close()
	m := anthropic.New("m", anthropic.Options{BaseURL: srv.URL, APIKey: "k", Info: llm.Info{Traits: traits}})
	if _, err := llm.Generate(t.Context(), m, req); !llm.IsKind(err, llm.KindAuth) || !json.Valid(body) {
		t.Fatalf("%v: %s", err, body)
	}
	return string(body)
}

// No mark ends a prefix that the provider would not cache, and there are never
// more than four.
func TestMarksOfPrefixesThatAreTooShort(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word ", 4000) // some 4000 tokens
	tool := func(text string) []llm.ToolSpec { return []llm.ToolSpec{{Name: "A"}, {Name: "B", Description: text}} }
	talk := func(text string) (ms []llm.Message) {
		for i := range 9 {
			ms = append(ms, llm.UserText(fmt.Sprint(text, i)), llm.Message{Role: llm.RoleAssistant, Parts: llm.Parts{llm.Text{Text: "ok"}}})
		}
		return append(ms, llm.UserText("end"))
	}
	for name, c := range map[string]struct {
		least int
		req   llm.Request
		marks int
	}{
		"nothing known":     {0, llm.Request{System: "s", Tools: tool("b"), Messages: talk("m")}, 4},
		"all is short":      {4096, llm.Request{System: "s", Tools: tool("b"), Messages: talk("m")}, 0},
		"with the messages": {4096, llm.Request{System: "s", Tools: tool("b"), Messages: talk(long)}, 2},
		"with the system":   {4096, llm.Request{System: long, Tools: tool("b"), Messages: talk("m")}, 3},
		"with the tools":    {4096, llm.Request{System: "s", Tools: tool(long), Messages: talk("m")}, 4},
	} {
		body := posted(t, llm.Traits{MinCache: c.least}, &c.req)
		if n := strings.Count(body, `"cache_control"`); n != c.marks {
			t.Errorf("%s: %d marks, want %d", name, n, c.marks)
		}
	}
}

// A model that cannot stop thinking is not told to.
func TestEffortOff(t *testing.T) {
	t.Parallel()
	req := &llm.Request{Effort: llm.EffortOff, Messages: []llm.Message{llm.UserText("hi")}}
	if body := posted(t, llm.Traits{Thinking: true}, req); !strings.Contains(body, `"thinking":{"type":"disabled"}`) {
		t.Error(body)
	}
	if body := posted(t, llm.Traits{Thinking: true, Efforts: map[llm.Effort]string{llm.EffortOff: ""}}, req); strings.Contains(body, "thinking") {
		t.Error(body)
	}
}
