package ollama_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/internal/wirecase"
	"github.com/cantle-dev/cantle/llm/ollama"
)

var update = flag.Bool("update", false, "write what is made of the streams into testdata")

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func answer(body string) *ollama.Model {
	return ollama.New("m", ollama.Options{BaseURL: "http://model.test", Client: wirecase.Canned{Body: body}.Client()})
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
		sent(t, ollama.Options{}, &llm.Request{Messages: []llm.Message{llm.UserText("hi"), resp.Message, llm.UserText("go on")}})
	})
}

// A field that the server refuses by its name is sent otherwise or left out, once
// and for good; of an effort in words first the word. The window is not.
func TestRefusedFields(t *testing.T) {
	half := 0.5
	for name, tt := range map[string]struct {
		refuse func(body string) string // what is wrong with it; "" is nothing
		bodies int                      // that are sent for two requests
		last   string                   // is in the last
		lacks  string
		fails  bool
	}{
		"levels": {func(b string) string {
			if strings.Contains(b, `"think":"`) {
				return `think value \"high\" is not supported for this model`
			}
			return ""
		}, 3, `"think":true`, "", false},
		"thinking": {func(b string) string {
			switch {
			case strings.Contains(b, `"think":"`):
				return `think value \"high\" is not supported for this model`
			case strings.Contains(b, `"think"`):
				return `\"m\" does not support thinking`
			}
			return ""
		}, 4, "num_ctx", `"think"`, false},
		"temperature": {func(b string) string {
			if strings.Contains(b, "temperature") {
				return "unsupported parameter: temperature"
			}
			return ""
		}, 3, "num_ctx", "temperature", false},
		"keep_alive": {func(b string) string {
			if strings.Contains(b, "keep_alive") {
				return "keep_alive is not allowed here"
			}
			return ""
		}, 3, "num_ctx", "keep_alive", false},
		"window": {func(b string) string {
			if strings.Contains(b, "num_ctx") {
				return "unknown option num_ctx"
			}
			return ""
		}, 2, "num_ctx", "", true},
	} {
		t.Run(name, func(t *testing.T) {
			var bodies []string
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				b, _ := io.ReadAll(r.Body)
				bodies = append(bodies, string(b))
				if wrong := tt.refuse(string(b)); wrong != "" {
					w.WriteHeader(http.StatusBadRequest)
					_, _ = io.WriteString(w, `{"error":"`+wrong+`"}`)
					return
				}
				_, _ = io.WriteString(w, `{"message":{"content":"ok"},"done":true}`)
			}))
			defer srv.Close()
			for range 2 { // what one model is taught, another at the same address knows
				m := ollama.New("m", ollama.Options{BaseURL: srv.URL, KeepAlive: -1, Info: llm.Info{Traits: llm.Traits{Thinking: true, ThinkingStyle: "levels"}}})
				_, err := llm.Generate(t.Context(), m, &llm.Request{Messages: hi.Messages, Effort: llm.EffortHigh, Temperature: &half})
				if (err != nil) != tt.fails {
					t.Error(err)
				}
			}
			if last := bodies[len(bodies)-1]; len(bodies) != tt.bodies || !strings.Contains(last, tt.last) || tt.lacks != "" && strings.Contains(last, tt.lacks) {
				t.Errorf("%d requests, the last %s", len(bodies), last)
			}
		})
	}
}

func ExampleNew() {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"message":{"content":"Scattering."},"done":true,"done_reason":"stop"}`)
	}))
	defer srv.Close()
	m := ollama.New("qwen3:4b", ollama.Options{BaseURL: srv.URL})
	resp, err := llm.Generate(context.Background(), m, &llm.Request{Messages: []llm.Message{llm.UserText("Why is the sky blue?")}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(resp.Message.Text())
	// Output: Scattering.
}
