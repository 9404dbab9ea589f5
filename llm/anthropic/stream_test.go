package anthropic_test

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
	"github.com/cantle-dev/cantle/llm/anthropic"
	"github.com/cantle-dev/cantle/llm/internal/wirecase"
)

var update = flag.Bool("update", false, "write what is made of the streams into testdata")

func answer(body string) *anthropic.Model {
	return anthropic.New("claude-x", anthropic.Options{
		BaseURL: "http://anthropic.test", APIKey: "key-for-tests", Client: wirecase.Canned{Body: body, Header: http.Header{"Request-Id": {"req_1"}}}.Client(),
	})
}

var hi = wirecase.Hi()

// TestStreams holds what is made of the answers in testdata.
func TestStreams(t *testing.T) {
	wirecase.Golden(t, "testdata/*.txt", *update, func(_ *testing.T, _, body string) llm.Model { return answer(body) })
}

func TestResponse(t *testing.T) {
	m := answer(wirecase.Answer(t, "testdata/text.txt"))
	seq := m.Stream(t.Context(), hi)
	r, err := llm.Collect(seq)
	if err != nil {
		t.Fatal(err)
	}
	if r.ID != "msg_1" || r.RequestID != "req_1" || r.Model != "claude-x" || r.Message.Role != llm.RoleAssistant ||
		*r.Message.Origin != (llm.Origin{Provider: "anthropic", Model: "claude-x", Wire: "anthropic"}) {
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
		m := answer(body)
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
		sent(t, anthropic.Options{}, &llm.Request{Messages: []llm.Message{llm.UserText("hi"), r.Message, llm.UserText("go on")}})
	})
}

func BenchmarkDelta(b *testing.B) {
	const n = 5000
	var body strings.Builder
	body.WriteString("event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"type\":\"message\",\"model\":\"c\",\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}}\n\n" +
		"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n")
	for range n {
		body.WriteString("event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\" word\"}         }\n\n")
	}
	body.WriteString("event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n")
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, body.String()) }))
	defer srv.Close()
	m := anthropic.New("claude-x", anthropic.Options{BaseURL: srv.URL})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := llm.Generate(b.Context(), m, hi); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/delta")
}
