package llmtest

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/cantle-dev/cantle/llm"
)

// messagesWire answers on Anthropic Messages.
type messagesWire struct {
	sse
	host messagesHost
}

// messagesHost is who serves Messages: elsewhere the model is in the path and
// the version in the body.
type messagesHost int

const (
	onAnthropic messagesHost = iota
	onVertex
	onBedrock
)

func (messagesWire) policy(e *Exchange) policy {
	return policy{marks: true, min: markMin(e.Model), lookback: cacheLookback}
}

// Sign returns the signature that a [Server] puts on thinking with this text,
// and wants back with it.
func Sign(text string) string {
	sum := sha256.Sum256([]byte("llmtest signature of " + text))
	return base64.StdEncoding.EncodeToString(sum[:])
}

func (w messagesWire) refuse(h http.Header, f failure) []byte {
	if w.host == onBedrock {
		return converseWire{}.refuse(h, f)
	}
	typ := "api_error"
	switch f.kind {
	case llm.KindInvalidRequest, llm.KindContextOverflow, llm.KindContentFilter:
		typ = "invalid_request_error"
	case llm.KindAuth:
		typ = "authentication_error"
	case llm.KindPermission:
		typ = "permission_error"
	case llm.KindNotFound:
		typ = "not_found_error"
	case llm.KindTooLarge:
		typ = "request_too_large"
	case llm.KindRateLimit:
		typ = "rate_limit_error"
	case llm.KindQuota:
		typ = "billing_error"
	case llm.KindOverloaded:
		typ = "overloaded_error"
	}
	if f.code == 504 {
		typ = "timeout_error"
	}
	return encode(map[string]any{"type": "error", "error": map[string]any{"type": typ, "message": f.text}, "request_id": f.id})
}

func (w messagesWire) failed(f failure) string { return frame("error", w.refuse(nil, f)) }

func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("llmtest: %v", err)) // only values of this package come here
	}
	return b
}

func messagesStop(r Reply) string {
	switch s := r.stopReason(); s {
	case llm.StopEnd:
		return "end_turn"
	case llm.StopPause:
		return "pause_turn"
	case llm.StopContentFilter:
		return "refusal"
	default:
		return string(s)
	}
}

func messagesUsage(u llm.Usage) map[string]any {
	return map[string]any{
		"input_tokens": u.Input, "output_tokens": u.Output,
		"cache_read_input_tokens": u.CacheRead, "cache_creation_input_tokens": u.CacheWrite,
		"cache_creation": map[string]any{"ephemeral_5m_input_tokens": u.CacheWrite - u.CacheWrite1h, "ephemeral_1h_input_tokens": u.CacheWrite1h},
	}
}

func signature(p llm.Thinking) string {
	if p.Signature != "" {
		return p.Signature
	}
	return Sign(p.Text)
}

func (messagesWire) whole(r Reply, m meta) []byte {
	content := []any{}
	for _, p := range r.parts {
		switch p := p.(type) {
		case llm.Text:
			content = append(content, map[string]any{"type": "text", "text": p.Text})
		case llm.Thinking:
			content = append(content, map[string]any{"type": "thinking", "thinking": p.Text, "signature": signature(p)})
		case llm.ToolCall:
			content = append(content, map[string]any{"type": "tool_use", "id": p.ID, "name": p.Name, "input": lenientInput(p)})
		case llm.Native:
			content = append(content, p.Raw)
		}
	}
	return encode(map[string]any{
		"id": m.id, "type": "message", "role": "assistant", "model": m.model, "content": content,
		"stop_reason": messagesStop(r), "stop_sequence": nil, "usage": messagesUsage(m.usage),
	})
}

// lenientInput is the arguments as a JSON value; what is not JSON is a string.
func lenientInput(c llm.ToolCall) any {
	if s := input(c); json.Valid([]byte(s)) {
		return json.RawMessage(s)
	}
	return input(c)
}

func (messagesWire) frames(r Reply, m meta) (events, end []string) {
	emit := func(name string, v map[string]any) {
		v["type"] = name
		events = append(events, frame(name, encode(v)))
	}
	first := messagesUsage(m.usage)
	first["output_tokens"] = 1
	emit("message_start", map[string]any{"message": map[string]any{
		"id": m.id, "type": "message", "role": "assistant", "model": m.model, "content": []any{},
		"stop_reason": nil, "stop_sequence": nil, "usage": first,
	}})
	emit("ping", map[string]any{})
	for i, p := range r.parts {
		delta := func(v map[string]any) { emit("content_block_delta", map[string]any{"index": i, "delta": v}) }
		start := func(v any) { emit("content_block_start", map[string]any{"index": i, "content_block": v}) }
		switch p := p.(type) {
		case llm.Text:
			start(map[string]any{"type": "text", "text": ""})
			for _, s := range pieces(p.Text, 1000) {
				delta(map[string]any{"type": "text_delta", "text": s})
			}
		case llm.Thinking:
			start(map[string]any{"type": "thinking", "thinking": "", "signature": ""})
			for _, s := range pieces(p.Text, 1000) {
				delta(map[string]any{"type": "thinking_delta", "thinking": s})
			}
			delta(map[string]any{"type": "signature_delta", "signature": signature(p)})
		case llm.ToolCall:
			start(map[string]any{"type": "tool_use", "id": p.ID, "name": p.Name, "input": map[string]any{}})
			delta(map[string]any{"type": "input_json_delta", "partial_json": ""})
			for _, s := range argPieces(input(p)) {
				delta(map[string]any{"type": "input_json_delta", "partial_json": s})
			}
		case llm.Native:
			start(p.Raw)
		default:
			continue
		}
		// A fault comes in the middle of the last part, whose end is not sent.
		if r.midway(i) {
			break
		}
		emit("content_block_stop", map[string]any{"index": i})
	}
	n := len(events)
	usage := messagesUsage(m.usage)
	emit("message_delta", map[string]any{"delta": map[string]any{"stop_reason": messagesStop(r), "stop_sequence": nil}, "usage": usage})
	emit("message_stop", map[string]any{})
	return events[:n:n], events[n:]
}

// describe names a JSON value for an error.
func describe(raw json.RawMessage) string {
	if len(raw) == 0 {
		return "nothing"
	}
	return brief(strings.TrimSpace(string(raw)))
}
