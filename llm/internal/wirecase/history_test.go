package wirecase_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"testing"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/internal/wirecase"
	"github.com/cantle-dev/cantle/llm/llmtest"
)

// targets are models on every wire, and on the clouds that serve one.
var targets = []*wirecase.Exchange{
	wirecase.At("anthropic", "", "elsewhere", "claude-next"),
	wirecase.At("openai-chat", "", "elsewhere", "gpt-next"),
	wirecase.At("mistral", "", "mistral", "mistral-next"),
	wirecase.At("openai-responses", "", "elsewhere", "gpt-next"),
	wirecase.At("gemini", "", "elsewhere", "gemini-3-next"),
	wirecase.At("gemini", "", "elsewhere", "gemini-2.5-flash"),
	wirecase.At("bedrock", "converse-stream", "elsewhere", "us.anthropic.claude-next-v1:0"),
	wirecase.At("bedrock", "converse-stream", "elsewhere", "us.amazon.nova-next-v1:0"),
	wirecase.At("bedrock", "invoke-with-response-stream", "elsewhere", "us.anthropic.claude-next-v1:0"),
	wirecase.At("cohere", "", "elsewhere", "command-next"),
	wirecase.At("ollama", "", "elsewhere", "next"),
}

// signed is what the server says of signatures and ids that are not its own.
var signed = regexp.MustCompile(`(?i)signature.*(changed|not valid)|encrypted.content|could not be (verified|decrypted)|expected an id that begins`)

var toolName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$`)

// TestHistories: every answer can go on, on its own wire and on every other:
// servers take the request, and what only its model understands goes to that
// alone.
func TestHistories(t *testing.T) {
	srv := llmtest.NewServer(t, func(*llmtest.Exchange) llmtest.Reply { return llmtest.Say("ok") })
	srv.Tolerate()
	tr := llmtest.Loopback()
	t.Cleanup(tr.CloseIdleConnections)
	for n, c := range wirecase.All(t) {
		t.Run(c.Name, func(t *testing.T) {
			var past []llm.Message
			for i := range c.Exchanges {
				x := &c.Exchanges[i]
				got := ask(t, x, as(x, x.Body()))
				if got.err != nil || got.resp == nil {
					continue
				}
				one := goOn(nil, got.resp)
				past = goOn(past, got.resp)
				for _, msgs := range [][]llm.Message{one, past} {
					for j := range targets {
						if !soak && j%3 != n%3 {
							continue
						}
						check(t, srv, tr, x, targets[j], msgs, got.resp)
					}
					check(t, srv, tr, x, x, msgs, got.resp)
					if len(past) == len(one) {
						break
					}
				}
			}
		})
	}
}

// goOn adds an answer and what follows it.
func goOn(past []llm.Message, resp *llm.Response) []llm.Message {
	if len(past) == 0 {
		past = []llm.Message{llm.UserText("hi")}
	}
	next := llm.Message{Role: llm.RoleUser}
	for i, c := range resp.Message.Parts.Calls() {
		next.Parts = append(next.Parts, llm.ToolResult{CallID: c.ID, Name: c.Name, Parts: llm.Texts("done"), IsError: i%2 == 1})
	}
	if len(next.Parts) == 0 {
		next = llm.UserText("go on")
	}
	return append(past[:len(past):len(past)], resp.Message, next)
}

func check(t *testing.T, srv *llmtest.Server, rt http.RoundTripper, from, to *wirecase.Exchange, msgs []llm.Message, last *llm.Response) {
	t.Helper()
	req := &llm.Request{Messages: msgs}
	seen := map[string]bool{}
	for _, m := range msgs {
		for _, c := range m.Parts.Calls() {
			if toolName.MatchString(c.Name) && !seen[c.Name] && !c.Custom {
				req.Tools = append(req.Tools, llm.ToolSpec{Name: c.Name, Description: "does it", Input: json.RawMessage(`{"type":"object","properties":{}}`)})
			}
			seen[c.Name] = true
		}
	}
	wire := to.Wire
	if wire == "mistral" {
		wire = llmtest.WireChat
	}
	before := len(srv.Requests())
	resp, _, err := wirecase.Drain(model(to, srv.BaseURL(wire), rt).Stream(t.Context(), req))
	what := fmt.Sprintf("%s %s to %s %s %s", from.Wire, from.Provider, to.Wire, to.API, to.Provider)
	got := srv.Requests()
	if len(got) == before {
		if to.Wire != "ollama" || !llm.IsKind(err, llm.KindContextOverflow) {
			t.Errorf("%s: no request: %v", what, err)
		}
		return
	}
	e := got[before]
	if e.Err != nil && (from != to || !signed.MatchString(e.Err.Error())) || e.Err == nil && (err != nil || resp == nil) {
		t.Errorf("%s: refused: %v %v\n%.1500s", what, e.Err, err, e.Body)
		return
	}
	var v any
	if json.Unmarshal(e.Body, &v) != nil {
		t.Errorf("%s: no JSON", what)
	}
	have := wirecase.Sums(v)
	for _, b := range from.Blobs() {
		there := have[b[0]] || have[b[1]]
		if from == to && !there {
			t.Errorf("%s: a blob is lost", what)
		}
		if from != to && there {
			t.Errorf("%s: a blob is there", what)
		}
	}
}
