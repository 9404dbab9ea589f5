package llmtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"github.com/cantle-dev/cantle/llm"
)

// cohereWire answers on version 2 of Cohere's Chat.
type cohereWire struct{ sse }

func (cohereWire) policy(e *Exchange) policy { return autoPolicy(e) }

func (cohereWire) refuse(h http.Header, f failure) []byte {
	return encode(map[string]any{"id": f.id, "message": f.text})
}

func (cohereWire) failed(f failure) string {
	return frame("message-end", encode(map[string]any{"type": "message-end", "delta": map[string]any{"finish_reason": "ERROR", "error": f.text}}))
}

func cohereStop(r Reply) string {
	switch r.stopReason() {
	case llm.StopToolUse:
		return "TOOL_CALL"
	case llm.StopMaxTokens:
		return "MAX_TOKENS"
	case llm.StopSequence:
		return "STOP_SEQUENCE"
	case llm.StopContentFilter, llm.StopRefusal:
		return "ERROR_TOXIC"
	}
	return "COMPLETE"
}

// cohereUsage has the real tokens beside the few that are billed.
func cohereUsage(u llm.Usage) map[string]any {
	return map[string]any{
		"billed_units":  map[string]any{"input_tokens": u.Prompt() / 2, "output_tokens": u.Output},
		"tokens":        map[string]any{"input_tokens": u.Prompt(), "output_tokens": u.Output},
		"cached_tokens": u.CacheRead,
	}
}

func (cohereWire) whole(r Reply, m meta) []byte {
	msg := map[string]any{"role": "assistant"}
	content, calls := []any{}, []any{}
	for _, p := range r.parts {
		switch p := p.(type) {
		case llm.Text:
			content = append(content, map[string]any{"type": "text", "text": p.Text})
		case llm.Thinking:
			content = append(content, map[string]any{"type": "thinking", "thinking": p.Text})
		case llm.ToolCall:
			calls = append(calls, map[string]any{"id": p.ID, "type": "function", "function": map[string]any{"name": p.Name, "arguments": input(p)}})
		}
	}
	if len(content) > 0 {
		msg["content"] = content
	}
	if len(calls) > 0 {
		msg["tool_calls"] = calls
	}
	return encode(map[string]any{"id": m.id, "message": msg, "finish_reason": cohereStop(r), "usage": cohereUsage(m.usage)})
}

func (cohereWire) frames(r Reply, m meta) (events, end []string) {
	emit := func(typ string, v map[string]any) {
		v["type"] = typ
		events = append(events, frame(typ, encode(v)))
	}
	message := func(v map[string]any) map[string]any { return map[string]any{"message": v} }
	emit("message-start", map[string]any{"id": m.id, "delta": message(map[string]any{
		"role": "assistant", "content": []any{}, "tool_plan": "", "tool_calls": []any{}, "citations": []any{},
	})})
	index, calls := 0, 0
	for i, p := range r.parts {
		content := func(kind, text string) {
			emit("content-start", map[string]any{"index": index, "delta": message(map[string]any{"content": map[string]any{"type": kind, kind: ""}})})
			for _, s := range pieces(text, 1000) {
				emit("content-delta", map[string]any{"index": index, "delta": message(map[string]any{"content": map[string]any{kind: s}})})
			}
			if !r.midway(i) {
				emit("content-end", map[string]any{"index": index})
			}
			index++
		}
		switch p := p.(type) {
		case llm.Text:
			content("text", p.Text)
		case llm.Thinking:
			content("thinking", p.Text)
		case llm.ToolCall:
			call := func(v map[string]any) map[string]any { return message(map[string]any{"tool_calls": v}) }
			emit("tool-call-start", map[string]any{"index": calls, "delta": call(map[string]any{
				"id": p.ID, "type": "function", "function": map[string]any{"name": p.Name, "arguments": ""},
			})})
			for _, s := range argPieces(input(p)) {
				emit("tool-call-delta", map[string]any{"index": calls, "delta": call(map[string]any{"function": map[string]any{"arguments": s}})})
			}
			if !r.midway(i) {
				emit("tool-call-end", map[string]any{"index": calls})
			}
			calls++
		}
	}
	n := len(events)
	emit("message-end", map[string]any{"delta": map[string]any{"finish_reason": cohereStop(r), "usage": cohereUsage(m.usage)}})
	return events[:n:n], append(events[n:], "data: [DONE]\n\n")
}

var (
	cohereNames  = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)
	cohereFields = strings.Fields(`model messages tools documents citation_options response_format safety_mode max_tokens stop_sequences
	temperature seed frequency_penalty presence_penalty k p logprobs tool_choice strict_tools thinking stream priority`)
)

type cohereBody struct {
	Model       string            `json:"model"`
	Messages    []json.RawMessage `json:"messages"`
	Tools       json.RawMessage   `json:"tools"`
	Stream      bool              `json:"stream"`
	MaxTokens   *int              `json:"max_tokens"`
	Stop        []string          `json:"stop_sequences"`
	Temperature *float64          `json:"temperature"`
	Choice      string            `json:"tool_choice"`
	Format      *struct {
		Type   string          `json:"type"`
		Schema json.RawMessage `json:"json_schema"`
	} `json:"response_format"`
}

// cohereCheck is the state of one request's validation. Tools and calls are
// as on Chat Completions.
type cohereCheck struct{ chatCheck }

func (cohereWire) decode(_ *Server, e *Exchange) ([]block, error) {
	var b cohereBody
	if err := unmarshal(e.Body, &b); err != nil {
		return nil, err
	}
	e.Model, e.Stream = b.Model, b.Stream
	c := &cohereCheck{chatCheck{history: history{req: e.Request}}}
	if err := fields(e.Body, cohereFields); err != nil {
		return nil, fmt.Errorf("unknown field: %w", err)
	}
	switch {
	case b.Model == "":
		return nil, fmt.Errorf("model is required")
	case len(b.Messages) == 0:
		return nil, fmt.Errorf("messages is required and cannot be empty")
	case b.MaxTokens != nil && *b.MaxTokens < 1:
		return nil, fmt.Errorf("max_tokens: must be at least 1, not %d", *b.MaxTokens)
	case len(b.Stop) > 5:
		return nil, fmt.Errorf("stop_sequences: at most 5, not %d", len(b.Stop))
	case b.Temperature != nil && (*b.Temperature < 0 || *b.Temperature > 1):
		return nil, fmt.Errorf("temperature: must be between 0 and 1, not %v", *b.Temperature)
	case b.Choice != "" && b.Choice != "REQUIRED" && b.Choice != "NONE":
		return nil, fmt.Errorf("tool_choice: %q is not one of REQUIRED, NONE", b.Choice)
	case b.Choice == "REQUIRED" && b.Tools == nil:
		return nil, fmt.Errorf("tool_choice: REQUIRED needs tools")
	}
	if b.MaxTokens != nil {
		c.req.MaxTokens = *b.MaxTokens
	}
	c.req.Stop, c.req.Temperature = b.Stop, b.Temperature
	c.req.ToolChoice.Mode = map[string]llm.ChoiceMode{"REQUIRED": llm.ChoiceAny, "NONE": llm.ChoiceNone}[b.Choice]
	var blocks []block
	if b.Tools != nil {
		if err := c.tools(b.Tools); err != nil {
			return nil, err
		}
		blocks = append(blocks, newBlock(b.Tools, false))
	}
	if f := b.Format; f != nil && f.Type == "json_object" && f.Schema != nil {
		if b.Tools != nil {
			return nil, fmt.Errorf("response_format: a json_schema is not supported together with tools")
		}
		c.req.Schema = &llm.Schema{JSON: f.Schema}
	}
	for i, raw := range b.Messages {
		if err := c.message(raw); err != nil {
			return nil, fmt.Errorf("messages[%d]%w", i, err)
		}
		blocks = append(blocks, newBlock(raw, false))
	}
	if len(c.open) > 0 {
		return nil, c.missing()
	}
	if n := len(c.req.Messages); n == 0 || c.req.Messages[n-1].Role != llm.RoleUser {
		return nil, fmt.Errorf("messages: the last message must be of the user or a tool: a message must be at least 1 token long or tool results must be specified")
	}
	return blocks, nil
}

func (c *cohereCheck) missing() error {
	return fmt.Errorf(": tool calls without a tool result: %s", strings.Join(c.open, ", "))
}

func (c *cohereCheck) message(raw json.RawMessage) error {
	var m struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
		Plan    string          `json:"tool_plan"`
		Calls   []chatCall      `json:"tool_calls"`
		CallID  string          `json:"tool_call_id"`
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		return fmt.Errorf(": %w", err)
	}
	if m.Role != "tool" && len(c.open) > 0 {
		return c.missing()
	}
	if len(m.Calls) > 0 && m.Role != "assistant" {
		return fmt.Errorf(".tool_calls: only in messages of the assistant")
	}
	parts, err := cohereContent(m.Content, m.Role)
	if err != nil {
		return fmt.Errorf(".content%w", err)
	}
	switch m.Role {
	case "system":
		if len(c.req.Messages) == 0 {
			c.system(parts.Text())
		} else {
			c.add(llm.RoleUser, parts...)
		}
	case "user":
		if len(parts) == 0 {
			return fmt.Errorf(".content: must be at least 1 token long")
		}
		c.add(llm.RoleUser, parts...)
	case "tool":
		if !c.answer(m.CallID) {
			return fmt.Errorf(".tool_call_id: %q is not found in the tool calls of the message before, once each", m.CallID)
		}
		c.add(llm.RoleUser, llm.ToolResult{CallID: m.CallID, Name: c.name(m.CallID), Parts: parts})
	case "assistant":
		for i, call := range m.Calls {
			if call.Function != nil && !cohereNames.MatchString(call.Function.Name) {
				return fmt.Errorf(".tool_calls[%d].function.name: %q does not match %s", i, call.Function.Name, cohereNames)
			}
			p, err := c.toolCall(call)
			if err != nil {
				return fmt.Errorf(".tool_calls[%d]%w", i, err)
			}
			parts = append(parts, p)
		}
		if len(parts) == 0 {
			return fmt.Errorf(": a message of the assistant must have content or tool_calls")
		}
		c.add(llm.RoleAssistant, parts...)
	default:
		return fmt.Errorf(".role: %q is not one of system, user, assistant, tool", m.Role)
	}
	return nil
}

func cohereContent(raw json.RawMessage, role string) (llm.Parts, error) {
	var text string
	if len(raw) == 0 || json.Unmarshal(raw, &text) == nil {
		if text == "" && role != "tool" {
			return nil, nil
		}
		return llm.Texts(text), nil
	}
	var list []struct {
		Type     string `json:"type"`
		Text     string `json:"text"`
		Thinking string `json:"thinking"`
		Image    struct {
			URL string `json:"url"`
		} `json:"image_url"`
		Document json.RawMessage `json:"document"`
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, fmt.Errorf(": must be a string or a list, not %s", describe(raw))
	}
	var ps llm.Parts
	for i, p := range list {
		switch {
		case p.Type == "text":
			if p.Text != "" || role == "tool" {
				ps = append(ps, llm.Text{Text: p.Text})
			}
		case p.Type == "thinking" && role == "assistant":
			ps = append(ps, llm.Thinking{Text: p.Thinking})
		case p.Type == "image_url" && role == "user":
			b, err := imageURL(p.Image.URL)
			if err != nil || p.Image.URL == "" {
				return nil, fmt.Errorf("[%d].image_url.url: not a data URL in base64, or empty", i)
			}
			ps = append(ps, b)
		case p.Type == "document" && role == "tool":
			var doc struct {
				Data json.RawMessage `json:"data"`
			}
			if json.Unmarshal(p.Document, &doc) != nil || len(doc.Data) == 0 {
				return nil, fmt.Errorf("[%d].document.data: is required", i)
			}
			ps = append(ps, llm.Text{Text: string(doc.Data)})
		default:
			return nil, fmt.Errorf("[%d].type: %q is not allowed in a message of %s", i, p.Type, role)
		}
	}
	return ps, nil
}
