package gemini_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/gemini"
	"github.com/cantle-dev/cantle/llm/llmtest"
)

func TestModel(t *testing.T) {
	for _, name := range []string{"gemini-3-x", "gemini-2.5-x"} {
		t.Run(name, func(t *testing.T) {
			llmtest.TestModel(t, llmtest.Harness{Wire: gemini.Wire, New: func(t testing.TB, base string) llm.Model {
				tr := llmtest.Loopback()
				t.Cleanup(tr.CloseIdleConnections)
				return gemini.New(name, gemini.Options{
					BaseURL: base, APIKey: "key-for-tests", Client: &http.Client{Transport: tr},
					Info: llm.Info{Traits: llm.Traits{Images: true, PDF: true, Thinking: true, Schema: true}},
				})
			}})
		})
	}
}

// TestContract holds the model to the contract of [llm.Model], against a server
// that answers every request alike.
func TestContract(t *testing.T) {
	llmtest.TestModel(t, llmtest.Harness{New: func(t testing.TB, _ string) llm.Model {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // to its end, so that the connection is used again
			for _, word := range []string{"Here ", "is ", "an ", "answer."} {
				fmt.Fprintf(w, "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":%q}]}}],\"responseId\":\"r1\"}\r\n\r\n", word)
				w.(http.Flusher).Flush()
			}
			_, _ = io.WriteString(w, "data: {\"candidates\":[{\"finishReason\":\"STOP\"}],\"usageMetadata\":{\"promptTokenCount\":9,\"candidatesTokenCount\":4,\"totalTokenCount\":13},\"modelVersion\":\"gemini-x\"}\r\n\r\n")
		}))
		t.Cleanup(srv.Close)
		tr := llmtest.Loopback()
		t.Cleanup(tr.CloseIdleConnections)
		return gemini.New("gemini-x", gemini.Options{BaseURL: srv.URL, Client: &http.Client{Transport: tr}})
	}})
}
