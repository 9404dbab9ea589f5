package provider_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/catalog"
	"github.com/cantle-dev/cantle/llm/openai"
	"github.com/cantle-dev/cantle/llm/provider"
)

// TestResponses holds that models are opened on the Responses wire: those that
// the catalog says so of, and those of a provider that the user describes.
func TestResponses(t *testing.T) {
	t.Parallel()
	m, err := provider.Open("openai:o3-pro", provider.Options{APIKey: "k"})
	if err != nil || m.Info().Wire != openai.WireResponses {
		t.Fatalf("%v %v", m, err)
	}
	var path, body, header string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		path, body, header = r.URL.RequestURI(), string(b), r.Header.Get("OpenAI-Project")
		_, _ = io.WriteString(w, `{"status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"ok"}]}]}`)
	}))
	defer srv.Close()
	m, err = provider.Open("mine:m", provider.Options{Providers: []provider.Custom{{
		Provider: catalog.Provider{Name: "mine", BaseURL: srv.URL + "/v1", Wire: openai.WireResponses, Local: true}, Profile: "openai",
		Query: map[string][]string{"v": {"1"}}, Set: map[string]string{"cacheRetention": "24h", "project": "p"},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := llm.Generate(t.Context(), m, &llm.Request{Messages: []llm.Message{llm.UserText("hi")}})
	if err != nil || r.Message.Text() != "ok" || path != "/v1/responses?v=1" || header != "p" || !strings.Contains(body, `"prompt_cache_retention":"24h"`) {
		t.Errorf("%v: %s %s %s", err, path, header, body)
	}
}
