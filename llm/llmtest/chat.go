package llmtest

import (
	"encoding/json"
	"net/http"

	"github.com/cantle-dev/cantle/llm"
)

// chatWire answers on OpenAI Chat Completions.
type chatWire struct{ sse }

func (chatWire) policy(e *Exchange) policy { return autoPolicy(e) }

func (chatWire) refuse(_ http.Header, f failure) []byte {
	return encode(map[string]any{"error": openaiError(f)})
}

// openaiError is the error object of OpenAI's two wires.
func openaiError(f failure) map[string]any {
	typ, code := "server_error", any(nil)
	switch f.kind {
	case llm.KindInvalidRequest, llm.KindTooLarge, llm.KindPermission:
		typ = "invalid_request_error"
	case llm.KindContextOverflow:
		typ, code = "invalid_request_error", "context_length_exceeded"
	case llm.KindContentFilter:
		typ, code = "invalid_request_error", "content_filter"
	case llm.KindAuth:
		typ, code = "invalid_request_error", "invalid_api_key"
	case llm.KindNotFound:
		typ, code = "invalid_request_error", "model_not_found"
	case llm.KindRateLimit:
		typ, code = "requests", "rate_limit_exceeded"
	case llm.KindQuota:
		typ, code = "insufficient_quota", "insufficient_quota"
	}
	return map[string]any{"message": f.text, "type": typ, "param": nil, "code": code}
}

func (w chatWire) failed(f failure) string { return frame("", w.refuse(nil, f)) }

func chatStop(r Reply) string {
	switch s := r.stopReason(); s {
	case llm.StopToolUse:
		return "tool_calls"
	case llm.StopMaxTokens:
		return "length"
	case llm.StopContentFilter, llm.StopRefusal:
		return "content_filter"
	default:
		return "stop"
	}
}

func chatUsage(u llm.Usage) map[string]any {
	return map[string]any{
		"prompt_tokens": u.Prompt(), "completion_tokens": u.Output, "total_tokens": u.Total(),
		"prompt_tokens_details":     map[string]any{"cached_tokens": u.CacheRead},
		"completion_tokens_details": map[string]any{"reasoning_tokens": u.Reasoning},
	}
}

func (chatWire) whole(r Reply, m meta) []byte {
	msg := map[string]any{"role": "assistant", "content": nil, "refusal": nil}
	var calls []any
	for _, p := range r.parts {
		switch p := p.(type) {
		case llm.Thinking:
			s, _ := msg["reasoning_content"].(string)
			msg["reasoning_content"] = s + p.Text
		case llm.Text:
			s, _ := msg["content"].(string)
			msg["content"] = s + p.Text
		case llm.ToolCall:
			calls = append(calls, map[string]any{"id": p.ID, "type": "function", "function": map[string]any{"name": p.Name, "arguments": input(p)}})
		}
	}
	if calls != nil {
		msg["tool_calls"] = calls
	}
	return encode(map[string]any{
		"id": m.id, "object": "chat.completion", "created": 1, "model": m.model, "usage": chatUsage(m.usage),
		"choices": []any{map[string]any{"index": 0, "message": msg, "logprobs": nil, "finish_reason": chatStop(r)}},
	})
}

func (chatWire) frames(r Reply, m meta) (events, end []string) {
	withUsage := wantsUsage(m.body)
	chunk := func(choices []any, usage any) string {
		v := map[string]any{"id": m.id, "object": "chat.completion.chunk", "created": 1, "model": m.model, "choices": choices}
		if withUsage {
			v["usage"] = usage
		}
		return frame("", encode(v))
	}
	emit := func(delta map[string]any) {
		events = append(events, chunk([]any{map[string]any{"index": 0, "delta": delta, "finish_reason": nil}}, nil))
	}
	emit(map[string]any{"role": "assistant", "content": ""})
	calls := 0
	for _, p := range r.parts {
		switch p := p.(type) {
		case llm.Thinking:
			for _, s := range pieces(p.Text, 1000) {
				emit(map[string]any{"reasoning_content": s})
			}
		case llm.Text:
			for _, s := range pieces(p.Text, 1000) {
				emit(map[string]any{"content": s})
			}
		case llm.ToolCall:
			emit(map[string]any{"tool_calls": []any{map[string]any{
				"index": calls, "id": p.ID, "type": "function", "function": map[string]any{"name": p.Name, "arguments": ""},
			}}})
			for _, s := range argPieces(input(p)) {
				emit(map[string]any{"tool_calls": []any{map[string]any{"index": calls, "function": map[string]any{"arguments": s}}}})
			}
			calls++
		}
	}
	end = append(end, chunk([]any{map[string]any{"index": 0, "delta": map[string]any{}, "finish_reason": chatStop(r)}}, nil))
	if withUsage {
		end = append(end, chunk([]any{}, chatUsage(m.usage)))
	}
	return events, append(end, "data: [DONE]\n\n")
}

// wantsUsage says whether a body asks for usage in the stream.
func wantsUsage(body []byte) bool {
	var o struct {
		StreamOptions struct {
			IncludeUsage bool `json:"include_usage"`
		} `json:"stream_options"`
	}
	return json.Unmarshal(body, &o) == nil && o.StreamOptions.IncludeUsage
}
