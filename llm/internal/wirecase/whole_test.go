package wirecase_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/internal/wirecase"
)

type object = map[string]any

// TestWhole: an answer in one document is made into what the stream of it was,
// and a stream of few events into what the document was.
func TestWhole(t *testing.T) {
	var docs, streams atomic.Int32
	t.Cleanup(func() {
		if !t.Skipped() && (docs.Load() < 50 || streams.Load() < 50) {
			t.Errorf("only %d documents and %d streams were tried", docs.Load(), streams.Load())
		}
	})
	eachAnswer(t, func(t *testing.T, r *rand.Rand, x *wirecase.Exchange) {
		f := split(x)
		if f.form == "" || x.Status() >= 300 {
			return
		}
		want := ask(t, x, as(x, x.Body()))
		if want.err != nil || len(want.resp.Message.Parts) == 0 {
			return
		}
		for _, p := range want.resp.Message.Parts {
			if _, ok := p.(llm.Native); ok {
				return // these are not made here
			}
		}
		for _, c := range want.resp.Message.Parts.Calls() {
			if c.Malformed != "" || c.Custom {
				return
			}
		}
		if want.resp.StopRaw == "" || want.resp.StopDetail != "" {
			return
		}
		doc, events := again(x, f, want.resp)
		form := func(o outcome) string {
			if o.e != nil || o.resp == nil {
				return o.form(true)
			}
			o.resp.Usage, o.resp.Reported = nil, nil
			return o.form(true)
		}
		w := form(want)
		if doc != nil {
			docs.Add(1)
			s := as(x, must(doc))
			s.header.Set("Content-Type", "application/json")
			if got := form(ask(t, x, s)); got != w {
				t.Errorf("whole:\n--- got\n%s\n--- want\n%s\n%.2000s", got, w, must(doc))
			}
		}
		if events != nil && f.form != "frames" {
			streams.Add(1)
			body, _ := framed{form: "sse", events: events}.join(styles[r.IntN(len(styles))])
			s := as(x, body)
			s.header.Set("Content-Type", "text/event-stream")
			if got := form(ask(t, x, s)); got != w {
				t.Errorf("stream:\n--- got\n%s\n--- want\n%s\n%.3000s", got, w, body)
			}
		}
	})
}

// again is a response as its wire has it whole, and in few events; nil where
// the wire has no such form.
func again(x *wirecase.Exchange, f framed, r *llm.Response) (doc object, events []event) {
	text, thinking := r.Message.Text(), ""
	for _, p := range r.Message.Parts {
		if t, ok := p.(llm.Thinking); ok {
			thinking += t.Text + t.Signature
		}
	}
	add := func(name string, v any) { events = append(events, event{name: name, data: must(v)}) }
	switch x.Wire {
	case "openai-chat", "mistral":
		var calls, deltas []object
		for i, c := range r.Message.Parts.Calls() {
			call := object{"id": c.ID, "type": "function", "function": object{"name": c.Name, "arguments": string(c.Input)}}
			calls = append(calls, call)
			call = maps.Clone(call)
			call["index"] = i
			deltas = append(deltas, call)
		}
		message := object{"role": "assistant", "content": text, "reasoning_content": thinking}
		if text == "" {
			message["content"] = nil
		}
		if calls != nil {
			message["tool_calls"] = calls
		}
		choice := object{"index": 0, "message": message, "finish_reason": r.StopRaw}
		doc = object{"id": r.ID, "object": "chat.completion", "model": r.Model, "choices": []object{choice}}
		add("", object{"id": r.ID, "model": r.Model, "choices": []object{{"index": 0, "delta": object{"role": "assistant", "content": ""}}}})
		add("", object{"choices": []object{{"index": 0, "delta": object{"reasoning": thinking}}}})
		add("", object{"choices": []object{{"index": 0, "delta": object{"content": text}}}})
		add("", object{"choices": []object{{"index": 0, "delta": object{"tool_calls": deltas}, "finish_reason": r.StopRaw}}})
		events = append(events, event{data: []byte("[DONE]")})
	case "anthropic":
		var content []object
		add("message_start", object{"type": "message_start", "message": object{"id": r.ID, "type": "message", "model": r.Model, "content": []object{}}})
		for i, p := range r.Message.Parts {
			var b, start object
			var deltas []object
			switch p := p.(type) {
			case llm.Text:
				b = object{"type": "text", "text": p.Text}
				start = object{"type": "text", "text": ""}
				deltas = append(deltas, object{"type": "text_delta", "text": p.Text})
			case llm.Thinking:
				if p.Raw != nil {
					_ = json.Unmarshal(p.Raw, &b) // of our own
					start = b
					break
				}
				b = object{"type": "thinking", "thinking": p.Text, "signature": p.Signature}
				start = object{"type": "thinking", "thinking": "", "signature": ""}
				deltas = append(deltas, object{"type": "thinking_delta", "thinking": p.Text}, object{"type": "signature_delta", "signature": p.Signature})
			case llm.ToolCall:
				b = object{"type": "tool_use", "id": p.ID, "name": p.Name, "input": p.Input}
				start = object{"type": "tool_use", "id": p.ID, "name": p.Name, "input": object{}}
				half := len(p.Input) / 2
				deltas = append(deltas, object{"type": "input_json_delta", "partial_json": ""},
					object{"type": "input_json_delta", "partial_json": string(p.Input[:half])}, object{"type": "input_json_delta", "partial_json": string(p.Input[half:])})
			}
			content = append(content, b)
			add("content_block_start", object{"type": "content_block_start", "index": i, "content_block": start})
			for _, d := range deltas {
				add("content_block_delta", object{"type": "content_block_delta", "index": i, "delta": d})
			}
			add("content_block_stop", object{"type": "content_block_stop", "index": i})
		}
		add("message_delta", object{"type": "message_delta", "delta": object{"stop_reason": r.StopRaw}})
		add("message_stop", object{"type": "message_stop"})
		doc = object{"id": r.ID, "type": "message", "role": "assistant", "model": r.Model, "content": content, "stop_reason": r.StopRaw}
	case "openai-responses":
		for _, e := range f.events {
			var v struct {
				Response object `json:"response"`
			}
			if json.Unmarshal(e.data, &v) == nil && v.Response["status"] == "completed" {
				if out, ok := v.Response["output"].([]any); ok && len(out) > 0 {
					doc = v.Response
				}
			}
		}
		if f.form == "json" {
			var v object
			_ = json.Unmarshal(f.events[0].data, &v) // it was looked at
			add("response.created", object{"type": "response.created", "response": object{"id": v["id"], "status": "in_progress"}})
			add("response.completed", object{"type": "response.completed", "response": v})
		}
	case "gemini":
		var chunks []any
		merged := object{}
		var parts []any
		for _, e := range f.events {
			var v object
			if json.Unmarshal(e.data, &v) != nil {
				return nil, nil
			}
			chunks = append(chunks, v)
			add("", v)
			cs, _ := v["candidates"].([]any)
			if len(cs) != 1 {
				continue
			}
			c, _ := cs[0].(object)
			maps.Copy(merged, c)
			content, _ := c["content"].(object)
			ps, _ := content["parts"].([]any)
			parts = append(parts, ps...)
		}
		merged["content"] = object{"role": "model", "parts": parts}
		if strings.Contains(fmt.Sprint(chunks), "willContinue") {
			return nil, events
		}
		doc = object{"candidates": []any{merged}, "responseId": r.ID}
	case "cohere":
		var calls []object
		add("message-start", object{"type": "message-start", "id": r.ID, "delta": object{"message": object{"role": "assistant"}}})
		var content []object
		if thinking != "" {
			content = append(content, object{"type": "thinking", "thinking": thinking})
			add("content-start", object{"type": "content-start", "index": 0, "delta": object{"message": object{"content": object{"type": "thinking", "thinking": ""}}}})
			add("content-delta", object{"type": "content-delta", "index": 0, "delta": object{"message": object{"content": object{"thinking": thinking}}}})
			add("content-end", object{"type": "content-end", "index": 0})
		}
		if text != "" {
			content = append(content, object{"type": "text", "text": text})
			add("content-start", object{"type": "content-start", "index": 1, "delta": object{"message": object{"content": object{"type": "text", "text": ""}}}})
			add("content-delta", object{"type": "content-delta", "index": 1, "delta": object{"message": object{"content": object{"text": text}}}})
			add("content-end", object{"type": "content-end", "index": 1})
		}
		for i, c := range r.Message.Parts.Calls() {
			calls = append(calls, object{"id": c.ID, "type": "function", "function": object{"name": c.Name, "arguments": string(c.Input)}})
			add("tool-call-start", object{"type": "tool-call-start", "index": i, "delta": object{"message": object{"tool_calls": object{"id": c.ID, "function": object{"name": c.Name, "arguments": ""}}}}})
			add("tool-call-delta", object{"type": "tool-call-delta", "index": i, "delta": object{"message": object{"tool_calls": object{"function": object{"arguments": string(c.Input)}}}}})
			add("tool-call-end", object{"type": "tool-call-end", "index": i})
		}
		add("message-end", object{"type": "message-end", "delta": object{"finish_reason": r.StopRaw}})
		doc = object{"id": r.ID, "finish_reason": r.StopRaw, "message": object{"role": "assistant", "content": content, "tool_calls": calls}}
	case "ollama":
		var calls []object
		for _, c := range r.Message.Parts.Calls() {
			calls = append(calls, object{"id": c.ID, "function": object{"name": c.Name, "arguments": c.Input}})
		}
		doc = object{"model": r.Model, "message": object{"role": "assistant", "content": text, "thinking": thinking, "tool_calls": calls}, "done": true, "done_reason": r.StopRaw}
	case "bedrock":
		if strings.HasPrefix(x.API, "invoke") {
			return nil, nil
		}
		var content []object
		for _, p := range r.Message.Parts {
			switch p := p.(type) {
			case llm.Text:
				if p.Raw != nil {
					return nil, nil
				}
				content = append(content, object{"text": p.Text})
			case llm.Thinking:
				if p.Raw != nil {
					content = append(content, object{})
					_ = json.Unmarshal(p.Raw, &content[len(content)-1]) // of our own
					break
				}
				content = append(content, object{"reasoningContent": object{"reasoningText": object{"text": p.Text, "signature": p.Signature}}})
			case llm.ToolCall:
				content = append(content, object{"toolUse": object{"toolUseId": p.ID, "name": p.Name, "input": p.Input}})
			}
		}
		doc = object{"output": object{"message": object{"role": "assistant", "content": content}}, "stopReason": r.StopRaw}
	}
	return doc, slices.Clip(events)
}
