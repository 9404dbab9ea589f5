package cohere_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/cohere"
	"github.com/cantle-dev/cantle/llm/internal/wirecase"
)

var update = flag.Bool("update", false, "write what is made of the streams into testdata")

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func answer(body string) *cohere.Model {
	return cohere.New("m", cohere.Options{BaseURL: "http://model.test", Client: wirecase.Canned{Body: body}.Client()})
}

var hi = wirecase.Hi()

// TestStreams holds what is made of the answers in testdata.
func TestStreams(t *testing.T) {
	wirecase.Golden(t, "testdata/*.txt", *update, func(_ *testing.T, _, body string) llm.Model { return answer(body) })
}

// FuzzStream holds that whatever a server sends is an answer or an error, and
// that an answer can go back.
func FuzzStream(f *testing.F) {
	wirecase.Seeds(f, "testdata/*.txt")
	f.Fuzz(func(t *testing.T, body string) {
		resp, err := llm.Generate(t.Context(), answer(body), hi)
		var e *llm.Error
		if err != nil {
			if !errors.As(err, &e) || e.Kind == "" {
				t.Fatalf("error %v", err)
			}
			return
		}
		seen := map[string]bool{}
		for _, c := range resp.Message.Parts.Calls() {
			if c.ID == "" || seen[c.ID] {
				t.Fatalf("the id %q is empty or used twice", c.ID)
			}
			seen[c.ID] = true
		}
		sent(t, cohere.Options{}, &llm.Request{Messages: []llm.Message{llm.UserText("hi"), resp.Message, llm.UserText("go on")}})
	})
}

func ExampleNew() {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"message":{"content":[{"type":"text","text":"Scattering."}]},"finish_reason":"COMPLETE"}`)
	}))
	defer srv.Close()
	m := cohere.New("command-a-03-2025", cohere.Options{BaseURL: srv.URL})
	resp, err := llm.Generate(context.Background(), m, &llm.Request{Messages: []llm.Message{llm.UserText("Why is the sky blue?")}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(resp.Message.Text())
	// Output: Scattering.
}
