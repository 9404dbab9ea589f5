package llmtest

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/cantle-dev/cantle/llm"
)

// responsesWire answers on OpenAI Responses.
type responsesWire struct{ sse }

func (responsesWire) policy(e *Exchange) policy { return autoPolicy(e) }

func (responsesWire) refuse(h http.Header, f failure) []byte { return chatWire{}.refuse(h, f) }

func (responsesWire) failed(f failure) string {
	e := openaiError(f)
	if e["code"] == nil {
		e["code"] = "server_error"
	}
	event := map[string]any{"type": "error", "sequence_number": 99, "error": e}
	failed := map[string]any{"type": "response.failed", "sequence_number": 100, "response": map[string]any{
		"object": "response", "status": "failed", "output": []any{}, "error": map[string]any{"code": e["code"], "message": f.text},
	}}
	return frame("error", encode(event)) + frame("response.failed", encode(failed))
}

// sealed is what the reasoning of an item is encrypted to. It differs from
// event to event; that of the item's start is good for nothing.
func sealed(text, event string) string { return Sign(text) + event }

const (
	sealStart = "0"
	sealDone  = "1"
	sealEnd   = "2"
)

// responsesItem is part i of r as an item of the output. Seal is "" if nobody
// asked for encrypted reasoning.
func responsesItem(r Reply, m meta, i int, status, seal string) map[string]any {
	id := func(kind string) string { return fmt.Sprintf("%s_%d_%d", kind, m.n, i) }
	switch p := r.parts[i].(type) {
	case llm.Text:
		content := map[string]any{"type": "output_text", "text": p.Text, "annotations": []any{}, "logprobs": []any{}}
		if r.stopReason() == llm.StopRefusal {
			content = map[string]any{"type": "refusal", "refusal": p.Text}
		}
		return map[string]any{"type": "message", "id": id("msg"), "status": status, "role": "assistant", "content": []any{content}}
	case llm.Thinking:
		item := map[string]any{"type": "reasoning", "id": id("rs"), "summary": []any{map[string]any{"type": "summary_text", "text": p.Text}}}
		if seal != "" {
			item["encrypted_content"] = sealed(p.Text, seal)
		}
		return item
	case llm.ToolCall:
		return map[string]any{"type": "function_call", "id": id("fc"), "status": status, "call_id": p.ID, "name": p.Name, "arguments": input(p)}
	case llm.Native:
		return map[string]any{"raw": p.Raw}
	}
	return nil
}

// encodeItem is the JSON of an item; that of a Native is its own.
func itemJSON(item map[string]any) any {
	if raw, ok := item["raw"]; ok {
		return raw
	}
	return item
}

func (responsesWire) response(r Reply, m meta, status string) map[string]any {
	v := map[string]any{
		"id": fmt.Sprintf("resp_%d", m.n), "object": "response", "created_at": 1, "status": status, "model": m.model,
		"error": nil, "incomplete_details": nil, "output": []any{}, "usage": nil,
	}
	if status == "in_progress" {
		return v
	}
	output := []any{}
	for i := range r.parts {
		if item := responsesItem(r, m, i, "completed", m.seal(sealEnd)); item != nil {
			output = append(output, itemJSON(item))
		}
	}
	v["output"] = output
	u := m.usage
	v["usage"] = map[string]any{
		"input_tokens": u.Prompt(), "output_tokens": u.Output, "total_tokens": u.Total(),
		"input_tokens_details":  map[string]any{"cached_tokens": u.CacheRead},
		"output_tokens_details": map[string]any{"reasoning_tokens": u.Reasoning},
	}
	switch r.stopReason() {
	case llm.StopMaxTokens:
		v["status"], v["incomplete_details"] = "incomplete", map[string]any{"reason": "max_output_tokens"}
	case llm.StopContentFilter:
		v["status"], v["incomplete_details"] = "incomplete", map[string]any{"reason": "content_filter"}
	}
	return v
}

// seal is the kind of seal that reasoning gets, if the request asked for one.
func (m meta) seal(kind string) string {
	var body struct {
		Include []string `json:"include"`
	}
	if unmarshal(m.body, &body) == nil && slices.Contains(body.Include, "reasoning.encrypted_content") {
		return kind
	}
	return ""
}

func (w responsesWire) whole(r Reply, m meta) []byte { return encode(w.response(r, m, "completed")) }

func (w responsesWire) frames(r Reply, m meta) (events, end []string) {
	n := 0
	emit := func(typ string, v map[string]any) {
		v["type"], v["sequence_number"] = typ, n
		n++
		events = append(events, frame(typ, encode(v)))
	}
	emit("response.created", map[string]any{"response": w.response(r, m, "in_progress")})
	emit("response.in_progress", map[string]any{"response": w.response(r, m, "in_progress")})
	for i, p := range r.parts {
		item := responsesItem(r, m, i, "in_progress", m.seal(sealStart))
		if item == nil {
			continue
		}
		at := func(v map[string]any) map[string]any {
			v["item_id"], v["output_index"] = item["id"], i
			return v
		}
		switch p := p.(type) {
		case llm.Text:
			item["content"] = []any{}
			emit("response.output_item.added", map[string]any{"output_index": i, "item": item})
			kind, field := "output_text", "text"
			if r.stopReason() == llm.StopRefusal {
				kind, field = "refusal", "refusal"
			}
			emit("response.content_part.added", at(map[string]any{"content_index": 0, "part": map[string]any{"type": kind, field: ""}}))
			for _, s := range pieces(p.Text, 1000) {
				emit("response."+kind+".delta", at(map[string]any{"content_index": 0, "delta": s, "obfuscation": "x"}))
			}
			if r.midway(i) {
				continue
			}
			emit("response."+kind+".done", at(map[string]any{"content_index": 0, field: p.Text}))
			emit("response.content_part.done", at(map[string]any{"content_index": 0, "part": map[string]any{"type": kind, field: p.Text}}))
		case llm.Thinking:
			item["summary"] = []any{}
			emit("response.output_item.added", map[string]any{"output_index": i, "item": item})
			part := map[string]any{"type": "summary_text", "text": ""}
			emit("response.reasoning_summary_part.added", at(map[string]any{"summary_index": 0, "part": part}))
			for _, s := range pieces(p.Text, 1000) {
				emit("response.reasoning_summary_text.delta", at(map[string]any{"summary_index": 0, "delta": s}))
			}
			if r.midway(i) {
				continue
			}
			emit("response.reasoning_summary_text.done", at(map[string]any{"summary_index": 0, "text": p.Text}))
			emit("response.reasoning_summary_part.done", at(map[string]any{"summary_index": 0, "part": map[string]any{"type": "summary_text", "text": p.Text}}))
		case llm.ToolCall:
			item["arguments"] = ""
			emit("response.output_item.added", map[string]any{"output_index": i, "item": item})
			for _, s := range argPieces(input(p)) {
				emit("response.function_call_arguments.delta", at(map[string]any{"delta": s}))
			}
			if r.midway(i) {
				continue
			}
			emit("response.function_call_arguments.done", at(map[string]any{"arguments": input(p), "name": p.Name}))
		default:
			emit("response.output_item.added", map[string]any{"output_index": i, "item": itemJSON(item)})
		}
		emit("response.output_item.done", map[string]any{"output_index": i, "item": itemJSON(responsesItem(r, m, i, "completed", m.seal(sealDone)))})
	}
	at := len(events)
	last := w.response(r, m, "completed")
	emit(fmt.Sprintf("response.%s", last["status"]), map[string]any{"response": last})
	return events[:at:at], events[at:]
}
