package ollama_test

import (
	"net/http"
	"testing"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/llmtest"
	"github.com/cantle-dev/cantle/llm/ollama"
)

func TestConformance(t *testing.T) {
	h := llmtest.Harness{Wire: ollama.Wire, New: func(t testing.TB, url string) llm.Model {
		return ollama.New("test", ollama.Options{BaseURL: url, NumCtx: 32_000, Client: client(t)})
	}}
	llmtest.TestModel(t, h)
	llmtest.TestCache(t, h)
}

// client is a client whose connections end with the test.
func client(t testing.TB) *http.Client {
	tr := llmtest.Loopback()
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}
