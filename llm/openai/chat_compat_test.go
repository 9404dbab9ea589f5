package openai_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/openai"
)

// TestSignatureGoesBack: what a server puts beside a call goes back to its
// model, and to no other. That a server says Retry-After with a success is no
// failure.
func TestSignatureGoesBack(t *testing.T) {
	b, err := os.ReadFile("testdata/google-thought-signature.txt")
	if err != nil {
		t.Fatal(err)
	}
	stream, _, _ := strings.Cut(string(b), "\n-----\n")
	var last string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		last = string(body)
		w.Header().Set("Retry-After", "30")
		_, _ = io.WriteString(w, stream)
	}))
	defer srv.Close()
	model := func(provider, name string) *openai.Chat {
		return openai.NewChat(name, openai.Options{BaseURL: srv.URL, APIKey: "key-for-tests", Info: llm.Info{Provider: provider}})
	}
	resp, err := llm.Generate(t.Context(), model("google", "gemini-x"), hi)
	if err != nil {
		t.Fatal(err)
	}
	call := resp.Message.Parts.Calls()[0]
	req := &llm.Request{Messages: []llm.Message{
		llm.UserText("hi"), resp.Message,
		{Role: llm.RoleUser, Parts: llm.Parts{llm.ToolResult{CallID: call.ID, Name: call.Name, Parts: llm.Texts("done")}}},
	}}
	for _, tt := range []struct {
		provider, name string
		want           bool
	}{{"google", "gemini-x", true}, {"elsewhere", "gemini-x", false}, {"google", "other-y", false}} {
		if _, err := llm.Generate(t.Context(), model(tt.provider, tt.name), req); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(last, `"extra_content":{"google":{"thought_signature":"SIG"}}`); got != tt.want {
			t.Errorf("%s %s: the signature is there: %v\n%s", tt.provider, tt.name, got, last)
		}
		if strings.Count(last, `"`+call.ID+`"`) != 2 {
			t.Errorf("%s %s: the call and its result are not tied: %s", tt.provider, tt.name, last)
		}
	}
}
