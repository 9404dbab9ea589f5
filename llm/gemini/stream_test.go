package gemini_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/gemini"
)

var update = flag.Bool("update", false, "write what is made of the streams into testdata")

// canned is a transport that always answers with body.
type canned struct{ body string }

func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	_, _ = io.Copy(io.Discard, r.Body)
	return &http.Response{
		StatusCode: 200, Header: http.Header{"X-Goog-Request-Id": {"req_1"}}, Request: r,
		Body: io.NopCloser(strings.NewReader(c.body)),
	}, nil
}

// answer is a model that answers with body, of the one service or the other.
func answer(body string, vertex bool) *gemini.Model {
	path := ""
	if vertex {
		path = "/v1/projects/p/locations/l/publishers/google/models/gemini-3-x"
	}
	return gemini.New("gemini-3-x", gemini.Options{
		BaseURL: "http://gemini.test", APIKey: "key-for-tests", Path: path, Client: &http.Client{Transport: canned{body}},
	})
}

var hi = &llm.Request{Messages: []llm.Message{llm.UserText("hi")}}

// TestStreams reads testdata/*.txt: an answer, a line of dashes, and what is
// made of it.
func TestStreams(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no answers: ", err)
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".txt"), func(t *testing.T) {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			const dashes = "\n-----\n"
			body, want, ok := strings.Cut(string(b), dashes)
			if !ok {
				t.Fatal("no line of dashes")
			}
			got := outcome(answer(body, strings.Contains(f, "vertex-")).Stream(t.Context(), hi))
			if *update {
				if err := os.WriteFile(f, []byte(body+dashes+got), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if got != want {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

// outcome writes down a stream: its deltas, and the response or the error.
func outcome(seq func(func(llm.Event, error) bool)) string {
	var b, text, thinking strings.Builder
	calls := map[int]string{}
	for ev, err := range seq {
		var e *llm.Error
		switch ev := ev.(type) {
		case llm.TextDelta:
			text.WriteString(ev.Text)
		case llm.ThinkingDelta:
			thinking.WriteString(ev.Text)
		case llm.CallDelta:
			calls[ev.Index] += ev.Input
		case llm.Done:
			transcript(&b, ev.Response)
			if got := ev.Response.Message.Text(); got != text.String() {
				fmt.Fprintf(&b, "but the deltas are %q\n", text.String())
			}
		}
		if errors.As(err, &e) {
			fmt.Fprintf(&b, "error %s: %s\n", e.Kind, e.Message)
			if e.Partial != nil {
				transcript(&b, e.Partial)
			}
		} else if err != nil {
			fmt.Fprintf(&b, "error %v\n", err)
		}
	}
	return b.String()
}

func transcript(b *strings.Builder, r *llm.Response) {
	for _, p := range r.Message.Parts {
		switch p := p.(type) {
		case llm.Text:
			fmt.Fprintf(b, "text %q %s\n", p.Text, p.Raw)
		case llm.Thinking:
			fmt.Fprintf(b, "thinking %q %s %s\n", p.Text, p.Signature, p.Raw)
		case llm.ToolCall:
			if rest, ok := strings.CutPrefix(p.ID, "gemini_"); ok && len(rest) == 18 {
				p.ID = "made-up" + rest[16:]
			}
			fmt.Fprintf(b, "call %s %s %s %s\n", p.ID, p.Name, p.Input, p.Raw)
			if p.Malformed != "" {
				fmt.Fprintf(b, "malformed %q\n", p.Malformed)
			}
		case llm.Blob:
			fmt.Fprintf(b, "blob %s %q %s\n", p.MIME, p.Data, p.URL)
		case llm.Native:
			fmt.Fprintf(b, "native %s %s\n", p.Kind, p.Raw)
		}
	}
	fmt.Fprintf(b, "stop %s (%s) %s\n", r.Stop, r.StopRaw, r.StopDetail)
	if u := r.Usage; u != nil {
		fmt.Fprintf(b, "usage in %d out %d read %d reasoning %d tools %d; as sent %v\n", u.Input, u.Output, u.CacheRead, u.Reasoning, u.ToolPrompt, *r.Reported)
	}
}

func TestResponse(t *testing.T) {
	b, err := os.ReadFile("testdata/text.txt")
	if err != nil {
		t.Fatal(err)
	}
	m := answer(string(b[:strings.Index(string(b), "\n-----\n")]), false)
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
	files, _ := filepath.Glob("testdata/*.txt")
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(b[:strings.Index(string(b), "\n-----\n")]))
	}
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
