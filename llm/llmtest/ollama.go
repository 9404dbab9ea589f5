package llmtest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/cantle-dev/cantle/llm"
)

// ollamaWire answers on Ollama's own /api/chat, as an older server does that
// gives calls no ids.
type ollamaWire struct{}

func (ollamaWire) policy(e *Exchange) policy { return autoPolicy(e) }
func (ollamaWire) media() string             { return "application/x-ndjson" }
func (ollamaWire) broken() string            { return "{not json\n" }

func (ollamaWire) refuse(_ http.Header, f failure) []byte {
	return encode(map[string]string{"error": f.text})
}

func (w ollamaWire) failed(f failure) string { return string(w.refuse(nil, f)) + "\n" }

func (ollamaWire) line(m meta, message map[string]any) map[string]any {
	message["role"] = "assistant"
	if message["content"] == nil {
		message["content"] = ""
	}
	return map[string]any{"model": m.model, "created_at": "2026-01-02T03:04:05.678Z", "message": message, "done": false}
}

// end adds what the last line says. The whole prompt counts, cached or not.
func (ollamaWire) end(v map[string]any, r Reply, m meta) map[string]any {
	v["done"], v["done_reason"] = true, "stop" // also with calls
	if r.stopReason() == llm.StopMaxTokens {
		v["done_reason"] = "length"
	}
	v["prompt_eval_count"], v["eval_count"] = m.usage.Prompt(), m.usage.Output
	v["total_duration"], v["load_duration"], v["prompt_eval_duration"], v["eval_duration"] = 4, 1, 1, 2
	return v
}

func ollamaCall(p llm.ToolCall, index int) map[string]any {
	f := map[string]any{"name": p.Name, "arguments": lenientInput(p)}
	if index > 0 {
		f["index"] = index
	}
	return map[string]any{"function": f}
}

func (w ollamaWire) whole(r Reply, m meta) []byte {
	msg := map[string]any{}
	var calls []any
	for _, p := range r.parts {
		switch p := p.(type) {
		case llm.Text:
			s, _ := msg["content"].(string)
			msg["content"] = s + p.Text
		case llm.Thinking:
			s, _ := msg["thinking"].(string)
			msg["thinking"] = s + p.Text
		case llm.ToolCall:
			calls = append(calls, ollamaCall(p, len(calls)))
		}
	}
	if calls != nil {
		msg["tool_calls"] = calls
	}
	return encode(w.end(w.line(m, msg), r, m))
}

func (w ollamaWire) frames(r Reply, m meta) (events, end []string) {
	emit := func(msg map[string]any) { events = append(events, string(encode(w.line(m, msg)))+"\n") }
	calls := 0
	for _, p := range r.parts {
		switch p := p.(type) {
		case llm.Text:
			for _, s := range pieces(p.Text, 1000) {
				emit(map[string]any{"content": s})
			}
		case llm.Thinking:
			for _, s := range pieces(p.Text, 1000) {
				emit(map[string]any{"thinking": s})
			}
		case llm.ToolCall:
			emit(map[string]any{"tool_calls": []any{ollamaCall(p, calls)}})
			calls++
		}
	}
	return events, []string{string(encode(w.end(w.line(m, map[string]any{}), r, m))) + "\n"}
}

type ollamaBody struct {
	Model    string            `json:"model"`
	Messages []json.RawMessage `json:"messages"`
	Tools    []json.RawMessage `json:"tools"`
	Stream   *bool             `json:"stream"`
	Format   json.RawMessage   `json:"format"`
	Options  struct {
		NumPredict  int      `json:"num_predict"`
		Temperature *float64 `json:"temperature"`
		Stop        []string `json:"stop"`
	} `json:"options"`
}

// decode refuses what does not parse, and nothing else: the server takes any
// order of messages.
func (ollamaWire) decode(_ *Server, e *Exchange) ([]block, error) {
	var b ollamaBody
	if err := unmarshal(e.Body, &b); err != nil {
		return nil, err
	}
	e.Model, e.Stream = b.Model, b.Stream == nil || *b.Stream
	if b.Model == "" {
		return nil, fmt.Errorf("model is required")
	}
	h := &history{req: e.Request}
	h.req.MaxTokens, h.req.Temperature, h.req.Stop = max(b.Options.NumPredict, 0), b.Options.Temperature, b.Options.Stop
	if len(b.Format) > 0 && b.Format[0] == '{' {
		h.req.Schema = &llm.Schema{JSON: b.Format}
	}
	var blocks []block
	for i, raw := range b.Tools {
		var t struct {
			Type     string `json:"type"`
			Function struct {
				Name        string          `json:"name"`
				Description string          `json:"description"`
				Parameters  json.RawMessage `json:"parameters"`
			} `json:"function"`
		}
		if err := json.Unmarshal(raw, &t); err != nil {
			return nil, fmt.Errorf("tools[%d]: %w", i, err)
		}
		h.req.Tools = append(h.req.Tools, llm.ToolSpec{Name: t.Function.Name, Description: t.Function.Description, Input: t.Function.Parameters})
		blocks = append(blocks, newBlock(raw, false))
	}
	for i, raw := range b.Messages {
		if err := h.ollama(raw); err != nil {
			return nil, fmt.Errorf("messages[%d]%w", i, err)
		}
		blocks = append(blocks, newBlock(raw, false))
	}
	return blocks, nil
}

func (h *history) ollama(raw json.RawMessage) error {
	var m struct {
		Role     string   `json:"role"`
		Content  string   `json:"content"`
		Thinking string   `json:"thinking"`
		Images   []string `json:"images"`
		CallID   string   `json:"tool_call_id"`
		Calls    []struct {
			ID       string `json:"id"`
			Function struct {
				Name      string                     `json:"name"`
				Arguments map[string]json.RawMessage `json:"arguments"`
			} `json:"function"`
		} `json:"tool_calls"`
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		return fmt.Errorf(": %w", err)
	}
	var ps llm.Parts
	if m.Thinking != "" {
		ps = append(ps, llm.Thinking{Text: m.Thinking})
	}
	if m.Content != "" {
		ps = append(ps, llm.Text{Text: m.Content})
	}
	for i, im := range m.Images {
		data, err := base64.StdEncoding.DecodeString(im)
		if err != nil {
			return fmt.Errorf(".images[%d]: illegal base64 data", i)
		}
		ps = append(ps, llm.Blob{MIME: http.DetectContentType(data), Data: data})
	}
	switch strings.ToLower(m.Role) {
	case "system":
		if len(h.req.Messages) == 0 {
			h.system(ps.Text())
			return nil
		}
		h.add(llm.RoleUser, ps...)
	case "user":
		h.add(llm.RoleUser, ps...)
	case "tool":
		id := m.CallID
		if id == "" && len(h.open) > 0 {
			id = h.open[0] // those without an id are matched by their order
		}
		h.answer(id)
		h.add(llm.RoleUser, llm.ToolResult{CallID: id, Name: h.name(id), Parts: llm.Texts(m.Content)})
	case "assistant":
		h.open = nil
		for _, call := range m.Calls {
			in := json.RawMessage("{}")
			if call.Function.Arguments != nil {
				in = encode(call.Function.Arguments)
			}
			ps = append(ps, h.call(llm.ToolCall{ID: call.ID, Name: call.Function.Name, Input: in}))
		}
		h.add(llm.RoleAssistant, ps...)
	default:
		return fmt.Errorf(".role: invalid role: %s", m.Role)
	}
	return nil
}
