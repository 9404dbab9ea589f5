package bedrock_test

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/internal/x/sse"
	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/bedrock"
	"github.com/cantle-dev/cantle/llm/llmtest"
)

func TestModel(t *testing.T) {
	llmtest.TestModel(t, llmtest.Harness{New: func(t testing.TB, _ string) llm.Model { return answer(frames(t, short)) }})
}

// TestAnthropicModel plays Bedrock between the adapter and a server that
// speaks Anthropic's wire.
func TestAnthropicModel(t *testing.T) {
	llmtest.TestModel(t, llmtest.Harness{Wire: llmtest.WireAnthropic, New: func(t testing.TB, url string) llm.Model {
		own := llmtest.Loopback()
		t.Cleanup(own.CloseIdleConnections)
		return bedrock.NewAnthropic("claude-test", bedrock.Options{
			BaseURL: url, APIKey: "key-for-tests", Client: &http.Client{Transport: &gateway{t: t, next: own}},
		})
	}})
}

// gateway does to a request and its answer what Bedrock does with Claude.
type gateway struct {
	t    testing.TB
	next http.RoundTripper
}

func (g *gateway) RoundTrip(r *http.Request) (*http.Response, error) {
	b, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	var body map[string]json.RawMessage
	if err := json.Unmarshal(b, &body); err != nil || string(body["anthropic_version"]) != `"bedrock-2023-05-31"` || body["stream"] != nil || body["model"] != nil {
		g.t.Errorf("Bedrock would not take %s", b)
	}
	delete(body, "anthropic_version")
	body["stream"], body["model"] = json.RawMessage("true"), json.RawMessage(`"claude-test"`)
	b, _ = json.Marshal(body)
	url, _, _ := strings.Cut(r.URL.String(), "/model/")
	req, err := http.NewRequestWithContext(r.Context(), http.MethodPost, url+"/v1/messages", strings.NewReader(string(b)))
	if err != nil {
		return nil, err
	}
	req.Header = http.Header{"Content-Type": {"application/json"}, "Anthropic-Version": {"2023-06-01"}, "X-Api-Key": {"key-for-tests"}}
	resp, err := g.next.RoundTrip(req)
	if err == nil && strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		resp.Body = &framed{t: g.t, body: resp.Body, events: sse.NewReader(resp.Body)}
	}
	return resp, err
}

type framed struct {
	t      testing.TB
	body   io.ReadCloser
	events *sse.Reader
	rest   []byte
}

func (f *framed) Read(p []byte) (int, error) {
	for len(f.rest) == 0 {
		ev, err := f.events.Next()
		if err != nil {
			return 0, err
		}
		if ev.Cut {
			return 0, io.ErrUnexpectedEOF
		}
		f.rest = frame(f.t, `{"bytes":"`+base64.StdEncoding.EncodeToString(ev.Data)+`"}`, ":message-type", "event", ":event-type", "chunk")
	}
	n := copy(p, f.rest)
	f.rest = f.rest[n:]
	return n, nil
}

func (f *framed) Close() error { return f.body.Close() }
