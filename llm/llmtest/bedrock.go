package llmtest

import (
	"net/http"

	"github.com/cantle-dev/cantle/llm"
)

// converseWire answers on Bedrock's Converse.
type converseWire struct{}

func (converseWire) policy(e *Exchange) policy {
	return policy{marks: true, min: markMin(e.Model), lookback: cacheLookback}
}

func (converseWire) media() string  { return eventStream }
func (converseWire) broken() string { return awsEvent("contentBlockDelta", []byte("{not json")) }

// exception is the provider's name of a failure.
func exception(kind llm.Kind) string {
	switch kind {
	case llm.KindAuth:
		return "UnrecognizedClientException"
	case llm.KindPermission:
		return "AccessDeniedException"
	case llm.KindNotFound:
		return "ResourceNotFoundException"
	case llm.KindRateLimit:
		return "ThrottlingException"
	case llm.KindQuota:
		return "ServiceQuotaExceededException"
	case llm.KindOverloaded:
		return "ServiceUnavailableException"
	case llm.KindServer:
		return "InternalServerException"
	}
	return "ValidationException"
}

func (converseWire) refuse(h http.Header, f failure) []byte {
	h.Set("X-Amzn-Errortype", exception(f.kind)+":http://internal.amazon.com/coral/com.amazon.bedrock/")
	return encode(map[string]any{"message": f.text})
}

// failed is a frame whose exception is spelled with a small letter.
func (converseWire) failed(f failure) string {
	name := exception(f.kind)
	return awsException(string(name[0]|0x20)+name[1:], f.text)
}

func converseStop(r Reply) string {
	switch s := r.stopReason(); s {
	case llm.StopEnd:
		return "end_turn"
	case llm.StopContentFilter, llm.StopRefusal:
		return "content_filtered"
	default:
		return string(s)
	}
}

func converseUsage(u llm.Usage) map[string]any {
	return map[string]any{
		"inputTokens": u.Input, "outputTokens": u.Output, "totalTokens": u.Total(),
		"cacheReadInputTokens": u.CacheRead, "cacheReadInputTokenCount": u.CacheRead,
		"cacheWriteInputTokens": u.CacheWrite, "cacheWriteInputTokenCount": u.CacheWrite,
	}
}

func (converseWire) whole(r Reply, m meta) []byte {
	content := []any{}
	for _, p := range r.parts {
		switch p := p.(type) {
		case llm.Text:
			content = append(content, map[string]any{"text": p.Text})
		case llm.Thinking:
			content = append(content, map[string]any{"reasoningContent": map[string]any{"reasoningText": map[string]any{"text": p.Text, "signature": signature(p)}}})
		case llm.ToolCall:
			content = append(content, map[string]any{"toolUse": map[string]any{"toolUseId": p.ID, "name": p.Name, "input": lenientInput(p)}})
		case llm.Native:
			content = append(content, p.Raw)
		}
	}
	return encode(map[string]any{
		"output":     map[string]any{"message": map[string]any{"role": "assistant", "content": content}},
		"stopReason": converseStop(r), "usage": converseUsage(m.usage), "metrics": map[string]any{"latencyMs": 1},
	})
}

func (converseWire) frames(r Reply, m meta) (events, end []string) {
	emit := func(name string, v map[string]any) {
		v["p"] = "abcdefgh"
		events = append(events, awsEvent(name, encode(v)))
	}
	emit("messageStart", map[string]any{"role": "assistant"})
	for i, p := range r.parts {
		delta := func(v map[string]any) { emit("contentBlockDelta", map[string]any{"contentBlockIndex": i, "delta": v}) }
		switch p := p.(type) {
		case llm.Text:
			for _, s := range pieces(p.Text, 1000) {
				delta(map[string]any{"text": s})
			}
		case llm.Thinking:
			for _, s := range pieces(p.Text, 1000) {
				delta(map[string]any{"reasoningContent": map[string]any{"text": s}})
			}
			delta(map[string]any{"reasoningContent": map[string]any{"signature": signature(p)}})
		case llm.ToolCall:
			// Calls alone have a start.
			emit("contentBlockStart", map[string]any{"contentBlockIndex": i, "start": map[string]any{"toolUse": map[string]any{"toolUseId": p.ID, "name": p.Name}}})
			for _, s := range argPieces(input(p)) {
				delta(map[string]any{"toolUse": map[string]any{"input": s}})
			}
		default:
			continue
		}
		if r.midway(i) {
			break
		}
		emit("contentBlockStop", map[string]any{"contentBlockIndex": i})
	}
	n := len(events)
	emit("messageStop", map[string]any{"stopReason": converseStop(r)})
	emit("metadata", map[string]any{"usage": converseUsage(m.usage), "metrics": map[string]any{"latencyMs": 1}})
	return events[:n:n], events[n:]
}
