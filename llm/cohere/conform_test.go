package cohere_test

import (
	"net/http"
	"testing"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/cohere"
	"github.com/cantle-dev/cantle/llm/llmtest"
)

func TestConformance(t *testing.T) {
	h := llmtest.Harness{Wire: cohere.Wire, New: func(t testing.TB, url string) llm.Model {
		return cohere.New("command-test", cohere.Options{BaseURL: url, APIKey: "k", Client: client(t)})
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
