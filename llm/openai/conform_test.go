package openai_test

import (
	"net/http"
	"testing"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/llmtest"
	"github.com/cantle-dev/cantle/llm/openai"
)

func TestConformance(t *testing.T) {
	for name, h := range map[string]llmtest.Harness{
		"chat": {Wire: llmtest.WireChat, New: func(t testing.TB, url string) llm.Model {
			return openai.NewChat("gpt-test", openai.Options{BaseURL: url, APIKey: "k", Client: client(t)})
		}},
		"responses": {Wire: llmtest.WireResponses, New: func(t testing.TB, url string) llm.Model {
			return openai.NewResponses("gpt-test", openai.Options{BaseURL: url, APIKey: "k", Client: client(t)})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			llmtest.TestModel(t, h)
			llmtest.TestCache(t, h)
		})
	}
}

// client is a client whose connections end with the test.
func client(t testing.TB) *http.Client {
	tr := llmtest.Loopback()
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}
