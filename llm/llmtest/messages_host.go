package llmtest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"github.com/cantle-dev/cantle/llm"
)

// elsewhere reads what Vertex and Bedrock have in the path and not in the body.
func (w messagesWire) elsewhere(e *Exchange, b *messagesBody) error {
	version := "vertex-2023-10-16"
	if w.host == onBedrock {
		version = "bedrock-2023-05-31"
	}
	var body map[string]json.RawMessage
	if err := json.Unmarshal(e.Body, &body); err != nil {
		return fmt.Errorf("the body is not a request: %w", err)
	}
	if _, ok := body["model"]; ok {
		return fmt.Errorf("model: extra inputs are not permitted: it is in the path")
	}
	if v := string(body["anthropic_version"]); v != `"`+version+`"` {
		return fmt.Errorf("anthropic_version: must be %q, not %s", version, describe(body["anthropic_version"]))
	}
	path, _, _ := strings.Cut(e.Path, "?")
	if w.host == onVertex {
		name := path[strings.LastIndex(path, "/")+1:]
		name, verb, _ := strings.Cut(name, ":")
		if b.Stream != (verb == "streamRawPredict") {
			return fmt.Errorf("stream: is %v, but the address ends in :%s", b.Stream, verb)
		}
		e.Model = name
		return nil
	}
	if _, ok := body["stream"]; ok {
		return fmt.Errorf("stream: extra inputs are not permitted: the address says it")
	}
	e.Model, e.Stream = bedrockPath(path)
	return nil
}

// bedrockPath is the model and whether a stream is wanted, of
// /model/{id}/converse-stream and its like. The id may be escaped.
func bedrockPath(path string) (model string, stream bool) {
	_, rest, _ := strings.Cut(path, "/model/")
	at := strings.LastIndex(rest, "/")
	if at < 0 {
		return "", false
	}
	model, err := url.PathUnescape(rest[:at])
	if err != nil {
		return "", false
	}
	return model, strings.HasSuffix(rest[at:], "-stream")
}

// invokeWire streams Messages as Bedrock does: each event in a frame.
type invokeWire struct{ messagesWire }

func (invokeWire) media() string  { return eventStream }
func (invokeWire) broken() string { return awsEvent("chunk", []byte("{not json")) }

func (w invokeWire) failed(f failure) string { return converseWire{}.failed(f) }

func (w invokeWire) frames(r Reply, m meta) (events, end []string) {
	events, end = w.messagesWire.frames(r, m)
	for _, fs := range [][]string{events, end} {
		for i, f := range fs {
			_, data, _ := strings.Cut(f, "\ndata: ")
			data = strings.TrimSpace(data)
			if strings.Contains(data, `"type":"message_stop"`) {
				data = fmt.Sprintf(`{"type":"message_stop","amazon-bedrock-invocationMetrics":{"inputTokenCount":%d,"outputTokenCount":%d,"invocationLatency":1,"firstByteLatency":1}}`, m.usage.Input, m.usage.Output)
			}
			fs[i] = awsEvent("chunk", encode(map[string]string{"bytes": base64.StdEncoding.EncodeToString([]byte(data)), "p": "abcd"}))
		}
	}
	return events, end
}

// callKey is a call of that model on that wire. A conversation may come to it
// from another, whose thinking it does not know.
func callKey(e *Exchange, id string) string { return e.Wire + "\x00" + e.Model + "\x00" + id }

// thoughtKept wants the thinking that this server sent before the calls that
// are being answered to have come back.
func (s *Server) thoughtKept(e *Exchange) error {
	req := e.Request
	for i := len(req.Messages) - 1; i >= 0; i-- {
		m := req.Messages[i]
		if m.Role != llm.RoleAssistant {
			if len(m.Parts) == 0 {
				return nil
			}
			if _, ok := m.Parts[0].(llm.ToolResult); !ok {
				return nil // the turn is over: its thinking may be gone
			}
			continue
		}
		calls := m.Parts.Calls()
		if len(calls) == 0 {
			return nil
		}
		s.mu.Lock()
		thought := s.thought[callKey(e, calls[0].ID)]
		s.mu.Unlock()
		switch p := m.Parts[0].(type) {
		case llm.Thinking:
			continue
		case llm.Native:
			if p.Kind == "redacted_thinking" {
				continue
			}
		}
		if thought {
			return fmt.Errorf("messages.%d.content.0: expected `thinking` or `redacted_thinking`: the thinking before tool use must be passed back", i)
		}
	}
	return nil
}
