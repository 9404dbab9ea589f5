package openai_test

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/internal/wirecase"
	"github.com/cantle-dev/cantle/llm/openai"
)

// TestResponsesForms holds that an answer comes out the same in whichever form
// a server sends it: with or without the output in its last event, the deltas,
// the numbers of the items and their beginnings, or as one document. It takes
// our exchanges and, where they are beside the repository, the recorded ones.
func TestResponsesForms(t *testing.T) {
	ours, _ := filepath.Glob("testdata/responses/*.txt")
	recorded, _ := filepath.Glob(filepath.Join("..", "..", "..", "shared", "wire", "*", "response.body"))
	more, _ := filepath.Glob(filepath.Join("..", "..", "..", "shared", "wire", "*", "*", "response.body"))
	tried := 0
	for _, f := range append(append(ours, recorded...), more...) {
		body := wirecase.Answer(t, f)
		events, last := responseEvents(body)
		if last == nil {
			continue
		}
		switch name := filepath.Base(f); name {
		case "calls.txt", "wrong-types.txt", "reasoning-encrypted.txt", "terminal-with-less-output.txt",
			"terminal-in-another-order.txt", "text-no-done-events.txt", "text-only-at-the-end.txt", "ids-rotate.txt", "ids-rotate-no-index.txt", "undone-calls.txt", "index-always-0.txt", "call-without-call-id.txt", "usage-odd.txt":
			continue // ids that are made up, and what is sent in two ways
		}
		want, err := collect(t, body)
		if err != nil {
			continue // an error is one in each form
		}
		tried++
		forms := map[string]string{
			"last event without output": render(events, func(typ string, e map[string]json.RawMessage) bool {
				if r := e["response"]; r != nil && typ != "response.created" {
					var o map[string]json.RawMessage
					if json.Unmarshal(r, &o) == nil {
						o["output"] = json.RawMessage("[]")
						e["response"], _ = json.Marshal(o)
					}
				}
				return true
			}),
			"no deltas": render(events, func(typ string, _ map[string]json.RawMessage) bool { return !strings.HasSuffix(typ, ".delta") }),
			"no beginnings": render(events, func(typ string, _ map[string]json.RawMessage) bool {
				return !strings.HasSuffix(typ, ".added")
			}),
			"no ends": render(events, func(typ string, _ map[string]json.RawMessage) bool { return !strings.HasSuffix(typ, ".done") }),
			"no numbers": render(events, func(_ string, e map[string]json.RawMessage) bool {
				delete(e, "output_index")
				return true
			}),
			"the last event alone": render(events, func(typ string, _ map[string]json.RawMessage) bool {
				return typ == "response.completed" || typ == "response.incomplete"
			}),
			"one document": string(last),
		}
		for form, body := range forms {
			if !hasOutput(last) && form != "last event without output" && form != "no deltas" {
				continue
			}
			got, err := collect(t, body)
			if err != nil {
				t.Errorf("%s, %s: %v", f, form, err)
			} else if got != want {
				t.Errorf("%s, %s:\n%s\nwant\n%s", f, form, got, want)
			}
		}
	}
	if tried < 10 {
		t.Errorf("only %d answers", tried)
	}
}

// collect is the message of an answer as JSON, without the encrypted reasoning,
// which differs from event to event.
func collect(t *testing.T, body string) (string, error) {
	resp, err := llm.Generate(t.Context(), responses(body, openai.Options{}), hi)
	if err != nil {
		return "", err
	}
	for i, p := range resp.Message.Parts {
		if th, ok := p.(llm.Thinking); ok {
			var raw map[string]json.RawMessage
			if json.Unmarshal(th.Raw, &raw) == nil && raw["encrypted_content"] != nil {
				raw["encrypted_content"] = json.RawMessage(`"E"`)
			}
			delete(raw, "id")
			th.Raw, _ = json.Marshal(raw)
			resp.Message.Parts[i] = th
		}
	}
	b, err := json.Marshal(resp.Message.Parts)
	return string(b) + string(resp.Stop), err
}

// responseEvents are the events of a stream on this wire, and the response of
// its last; nil if it is none.
func responseEvents(body string) (events []json.RawMessage, last json.RawMessage) {
	for line := range strings.Lines(body) {
		data, ok := strings.CutPrefix(strings.TrimSpace(line), "data:")
		if !ok {
			continue
		}
		var e struct {
			Type     string          `json:"type"`
			Response json.RawMessage `json:"response"`
		}
		if json.Unmarshal([]byte(data), &e) != nil {
			continue
		}
		events = append(events, json.RawMessage(data))
		if e.Type == "response.completed" || e.Type == "response.incomplete" {
			last = e.Response
		}
	}
	return events, last
}

func hasOutput(response json.RawMessage) bool {
	var r struct {
		Output []json.RawMessage `json:"output"`
	}
	return json.Unmarshal(response, &r) == nil && len(r.Output) > 0
}

func render(events []json.RawMessage, keep func(typ string, e map[string]json.RawMessage) bool) string {
	var b bytes.Buffer
	for _, raw := range events {
		var e map[string]json.RawMessage
		var typ string
		if json.Unmarshal(raw, &e) != nil || json.Unmarshal(e["type"], &typ) != nil || !keep(typ, e) {
			continue
		}
		out, _ := json.Marshal(e)
		b.WriteString("data: ")
		b.Write(out)
		b.WriteString("\n\n")
	}
	return b.String()
}
