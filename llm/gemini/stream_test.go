package gemini_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/gemini"
	"github.com/cantle-dev/cantle/llm/internal/wirecase"
)

var update = flag.Bool("update", false, "write what is made of the streams into testdata")

// answer is a model that answers with body, of the one service or the other.
func answer(body string, vertex bool) *gemini.Model {
	path := ""
	if vertex {
		path = "/v1/projects/p/locations/l/publishers/google/models/gemini-3-x"
	}
	return gemini.New("gemini-3-x", gemini.Options{
		BaseURL: "http://gemini.test", APIKey: "key-for-tests", Path: path, Client: wirecase.Canned{Body: body, Header: http.Header{"X-Goog-Request-Id": {"req_1"}}}.Client(),
	})
}

var hi = wirecase.Hi()

// TestStreams holds what is made of the answers in testdata.
func TestStreams(t *testing.T) {
	wirecase.Golden(t, "testdata/*.txt", *update, func(_ *testing.T, file, body string) llm.Model {
		return answer(body, strings.Contains(file, "vertex-"))
	})
}

func TestResponse(t *testing.T) {
	m := answer(wirecase.Answer(t, "testdata/text.txt"), false)
	seq := m.Stream(t.Context(), hi)
	r, err := llm.Collect(seq)
	if err != nil {
		t.Fatal(err)
	}
	if r.ID != "r1" || r.RequestID != "req_1" || r.Model != "gemini-x" || r.Message.Role != llm.RoleAssistant ||
		*r.Message.Origin != (llm.Origin{Provider: "google", Model: "gemini-3-x", Wire: "gemini"}) {
		t.Errorf("%+v", r)
	}
	if _, err := llm.Collect(seq); err != llm.ErrUsed {
		t.Errorf("a second range: %v", err)
	}
	for range m.Stream(t.Context(), hi) {
		break // ends without a panic
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	cancel(why)
	if _, err := llm.Generate(ctx, m, hi); err != why {
		t.Errorf("a context that ended: %v", err)
	}
}

func FuzzStream(f *testing.F) {
	wirecase.Seeds(f, "testdata/*.txt")
	f.Fuzz(func(t *testing.T, body string) {
		m := answer(body, false)
		r, err := llm.Generate(t.Context(), m, hi)
		var e *llm.Error
		if errors.As(err, &e) {
			if e.Kind == "" || e.Message == "" {
				t.Fatalf("%+v", e)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		ids := map[string]bool{}
		for _, c := range r.Message.Parts.Calls() {
			if c.ID == "" || ids[c.ID] || !json.Valid(c.Input) || c.Input[0] != '{' {
				t.Fatalf("%+v", c)
			}
			ids[c.ID] = true
		}
		// What came in must be able to go back.
		sent(t, "gemini-3-x", gemini.Options{}, &llm.Request{Messages: []llm.Message{llm.UserText("hi"), r.Message, llm.UserText("go on")}})
	})
}

func BenchmarkDelta(b *testing.B) {
	const n = 5000
	var body strings.Builder
	for range n {
		body.WriteString("data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\" word\"}],\"role\":\"model\"}}],\"usageMetadata\":{\"promptTokenCount\":10,\"totalTokenCount\":10},\"modelVersion\":\"gemini-x\",\"responseId\":\"r1\"}\r\n\r\n")
	}
	body.WriteString("data: {\"candidates\":[{\"finishReason\":\"STOP\"}]}\r\n\r\n")
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body.String()) }))
	defer srv.Close()
	m := gemini.New("gemini-x", gemini.Options{BaseURL: srv.URL})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := llm.Generate(b.Context(), m, hi); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/delta")
}
