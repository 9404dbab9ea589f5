package llmtest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/cantle-dev/cantle/llm"
)

// openaiChoices are the words of OpenAI's two wires.
var openaiChoices = map[string]llm.ChoiceMode{"auto": llm.ChoiceAuto, "required": llm.ChoiceAny, "none": llm.ChoiceNone}

var chatNames = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

type chatBody struct {
	Model         string            `json:"model"`
	Messages      []json.RawMessage `json:"messages"`
	Stream        bool              `json:"stream"`
	StreamOptions json.RawMessage   `json:"stream_options"`
	Tools         json.RawMessage   `json:"tools"`
	ToolChoice    json.RawMessage   `json:"tool_choice"`
	Parallel      *bool             `json:"parallel_tool_calls"`
	MaxTokens     *int              `json:"max_tokens"`
	MaxCompletion *int              `json:"max_completion_tokens"`
	Temperature   *float64          `json:"temperature"`
	Stop          json.RawMessage   `json:"stop"`
	Format        *struct {
		Type   string `json:"type"`
		Schema struct {
			Name   string          `json:"name"`
			Schema json.RawMessage `json:"schema"`
		} `json:"json_schema"`
	} `json:"response_format"`
}

type chatMessage struct {
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	Reasoning string          `json:"reasoning_content"`
	Refusal   string          `json:"refusal"`
	CallID    string          `json:"tool_call_id"`
	Calls     []chatCall      `json:"tool_calls"`
}

type chatCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function *struct {
		Name      string  `json:"name"`
		Arguments *string `json:"arguments"`
	} `json:"function"`
}

// chatCheck is the state of one request's validation.
type chatCheck struct {
	history
	maxID int // 0 is any length
}

func (chatWire) decode(_ *Server, e *Exchange) ([]block, error) {
	var b chatBody
	if err := unmarshal(e.Body, &b); err != nil {
		return nil, err
	}
	if _, rest, ok := strings.Cut(e.Path, "/deployments/"); ok && b.Model == "" { // on Azure
		b.Model, _, _ = strings.Cut(rest, "/")
	}
	e.Model, e.Stream = b.Model, b.Stream
	c := &chatCheck{history: history{req: e.Request}, maxID: 40}
	if err := c.top(&b); err != nil {
		return nil, err
	}
	var blocks []block
	if b.Tools != nil {
		if err := c.tools(b.Tools); err != nil {
			return nil, err
		}
		blocks = append(blocks, newBlock(b.Tools, false))
	}
	if err := c.choice(b.ToolChoice); err != nil {
		return nil, err
	}
	for i, raw := range b.Messages {
		if err := c.message(raw); err != nil {
			return nil, fmt.Errorf("messages.[%d]%w", i, err)
		}
		blocks = append(blocks, newBlock(raw, false))
	}
	if len(c.open) > 0 {
		return nil, fmt.Errorf("messages%w", c.unanswered())
	}
	return blocks, nil
}

func (c *chatCheck) unanswered() error {
	return fmt.Errorf(": an assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'; these have no response: %s", strings.Join(c.open, ", "))
}

func (c *chatCheck) top(b *chatBody) error {
	switch {
	case b.Model == "":
		return fmt.Errorf("you must provide a model parameter")
	case len(b.Messages) == 0:
		return fmt.Errorf("messages: [] is too short")
	case b.MaxTokens != nil && b.MaxCompletion != nil:
		return fmt.Errorf("max_tokens and max_completion_tokens may not both be set")
	case b.StreamOptions != nil && !b.Stream:
		return fmt.Errorf("stream_options: only allowed when stream is enabled")
	case b.Tools == nil && b.ToolChoice != nil:
		return fmt.Errorf("tool_choice: only allowed when tools are specified")
	case b.Tools == nil && b.Parallel != nil:
		return fmt.Errorf("parallel_tool_calls: only allowed when tools are specified")
	case b.Temperature != nil && (*b.Temperature < 0 || *b.Temperature > 2):
		return fmt.Errorf("temperature: must be between 0 and 2, not %v", *b.Temperature)
	}
	for name, n := range map[string]*int{"max_tokens": b.MaxTokens, "max_completion_tokens": b.MaxCompletion} {
		if n == nil {
			continue
		}
		if *n < 1 {
			return fmt.Errorf("%s: must be at least 1, not %d", name, *n)
		}
		c.req.MaxTokens = *n
	}
	if b.Stop != nil {
		var one string
		if json.Unmarshal(b.Stop, &one) == nil {
			c.req.Stop = []string{one}
		} else if json.Unmarshal(b.Stop, &c.req.Stop) != nil {
			return fmt.Errorf("stop: must be a string or a list of strings, not %s", describe(b.Stop))
		}
		if len(c.req.Stop) > 4 {
			return fmt.Errorf("stop: at most 4 sequences, not %d", len(c.req.Stop))
		}
	}
	c.req.Temperature = b.Temperature
	if f := b.Format; f != nil && f.Type == "json_schema" {
		if !chatNames.MatchString(f.Schema.Name) {
			return fmt.Errorf("response_format.json_schema.name: %q does not match %s", f.Schema.Name, chatNames)
		}
		c.req.Schema = &llm.Schema{Name: f.Schema.Name, JSON: f.Schema.Schema}
	}
	return nil
}

func (c *chatCheck) tools(raw json.RawMessage) error {
	var list []struct {
		Type     string `json:"type"`
		Function *struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Parameters  json.RawMessage `json:"parameters"`
		} `json:"function"`
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return fmt.Errorf("tools: %w", err)
	}
	if len(list) == 0 {
		return fmt.Errorf("tools: [] is too short")
	}
	for i, t := range list {
		switch t.Type {
		case "custom":
			continue
		case "openrouter:web_search":
			c.search()
			continue
		}
		if t.Type != "function" || t.Function == nil {
			return fmt.Errorf("tools[%d].type: %q is not function, or has no function", i, t.Type)
		}
		f := t.Function
		if err := c.tool(llm.ToolSpec{Name: f.Name, Description: f.Description, Input: f.Parameters}, chatNames); err != nil {
			return fmt.Errorf("tools[%d].function.%w", i, err)
		}
	}
	return nil
}

func (c *chatCheck) choice(raw json.RawMessage) error {
	if raw == nil {
		return nil
	}
	var word string
	if json.Unmarshal(raw, &word) == nil {
		if err := c.choose(word, openaiChoices); err != nil {
			return fmt.Errorf("tool_choice: %w", err)
		}
		return nil
	}
	var one struct {
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	}
	if err := json.Unmarshal(raw, &one); err != nil {
		return fmt.Errorf("tool_choice: %w", err)
	}
	if !c.offers(one.Function.Name) {
		return fmt.Errorf("tool_choice.function.name: %q is not among the tools", one.Function.Name)
	}
	c.req.ToolChoice = llm.ToolChoice{Mode: llm.ChoiceTool, Name: one.Function.Name}
	return nil
}

func (c *chatCheck) message(raw json.RawMessage) error {
	var m chatMessage
	if err := json.Unmarshal(raw, &m); err != nil {
		return fmt.Errorf(": %w", err)
	}
	if m.Role != "tool" && len(c.open) > 0 {
		return c.unanswered()
	}
	if len(m.Calls) > 0 && m.Role != "assistant" {
		return fmt.Errorf(".tool_calls: only in assistant messages")
	}
	if len(m.Calls) > 0 && string(m.Content) == `""` {
		m.Content = nil // as good as none beside calls
	}
	parts, err := chatContent(m.Content, m.Role)
	if err != nil {
		return fmt.Errorf(".content%w", err)
	}
	switch m.Role {
	case "system", "developer":
		if len(c.req.Messages) == 0 {
			c.system(parts.Text())
		} else {
			c.add(llm.RoleUser, parts...)
		}
	case "user":
		c.add(llm.RoleUser, parts...)
	case "tool":
		if !c.answer(m.CallID) {
			return fmt.Errorf(": messages with role 'tool' must be a response to a preceding message with 'tool_calls', once each; %q is not", m.CallID)
		}
		c.add(llm.RoleUser, llm.ToolResult{CallID: m.CallID, Parts: parts})
	case "assistant":
		if m.Reasoning != "" {
			parts = append(llm.Parts{llm.Thinking{Text: m.Reasoning}}, parts...)
		}
		for i, call := range m.Calls {
			p, err := c.toolCall(call)
			if err != nil {
				return fmt.Errorf(".tool_calls[%d]%w", i, err)
			}
			parts = append(parts, p)
		}
		c.req.Messages = append(c.req.Messages, llm.Message{Role: llm.RoleAssistant, Parts: parts})
		if len(m.Calls) == 0 && len(parts) == 0 && m.Refusal == "" {
			return fmt.Errorf(": an assistant message must have content or tool_calls")
		}
	default:
		return fmt.Errorf(".role: %q is not one of system, developer, user, assistant, tool", m.Role)
	}
	return nil
}

func (c *chatCheck) toolCall(call chatCall) (llm.Part, error) {
	switch {
	case call.ID == "":
		return nil, fmt.Errorf(".id: field required")
	case c.maxID > 0 && len(call.ID) > c.maxID:
		return nil, fmt.Errorf(".id: string too long: at most %d characters, not %d", c.maxID, len(call.ID))
	case slices.Contains(c.open, call.ID):
		return nil, fmt.Errorf(".id: %q is there twice", call.ID)
	case call.Type == "custom":
		return c.call(llm.ToolCall{ID: call.ID, Custom: true, Input: json.RawMessage(`""`)}), nil
	case call.Type != "function" || call.Function == nil:
		return nil, fmt.Errorf(".type: %q is not function, or has no function", call.Type)
	case !chatNames.MatchString(call.Function.Name):
		return nil, fmt.Errorf(".function.name: %q does not match %s", call.Function.Name, chatNames)
	case call.Function.Arguments == nil:
		return nil, fmt.Errorf(".function.arguments: field required")
	case !json.Valid([]byte(*call.Function.Arguments)):
		return nil, fmt.Errorf(".function.arguments: not valid JSON: %s", brief(*call.Function.Arguments))
	}
	return c.call(llm.ToolCall{ID: call.ID, Name: call.Function.Name, Input: json.RawMessage(*call.Function.Arguments)}), nil
}

// chatContent reads content that is a string, null or a list of parts.
func chatContent(raw json.RawMessage, role string) (llm.Parts, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		if role == "assistant" {
			return nil, nil
		}
		return nil, fmt.Errorf(": a %s message must have content", role)
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		if text == "" && role != "tool" {
			return nil, fmt.Errorf(": must not be empty")
		}
		return llm.Texts(text), nil
	}
	var list []struct {
		Type    string  `json:"type"`
		Text    *string `json:"text"`
		Refusal string  `json:"refusal"`
		Image   *struct {
			URL string `json:"url"`
		} `json:"image_url"`
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, fmt.Errorf(": must be a string or a list of parts, not %s", describe(raw))
	}
	if len(list) == 0 {
		return nil, fmt.Errorf(": [] is too short")
	}
	var raws []json.RawMessage
	_ = json.Unmarshal(raw, &raws) // as list was
	var ps llm.Parts
	for i, p := range list {
		switch {
		case p.Type == "text":
			if p.Text == nil || *p.Text == "" {
				return nil, fmt.Errorf("[%d].text: must not be empty", i)
			}
			ps = append(ps, llm.Text{Text: *p.Text})
		case p.Type == "image_url" && role == "user":
			if p.Image == nil || p.Image.URL == "" {
				return nil, fmt.Errorf("[%d].image_url.url: field required", i)
			}
			b, err := imageURL(p.Image.URL)
			if err != nil {
				return nil, fmt.Errorf("[%d].image_url.url: %w", i, err)
			}
			ps = append(ps, b)
		case p.Type == "refusal" && role == "assistant":
			ps = append(ps, llm.Text{Text: p.Refusal})
		case (p.Type == "file" || p.Type == "input_audio") && role == "user":
			ps = append(ps, llm.Native{Wire: WireChat, Kind: p.Type, Raw: raws[i]})
		default:
			return nil, fmt.Errorf("[%d].type: %q is not allowed in a %s message", i, p.Type, role)
		}
	}
	return ps, nil
}

func imageURL(url string) (llm.Blob, error) {
	rest, ok := strings.CutPrefix(url, "data:")
	if !ok {
		return llm.Blob{URL: url}, nil
	}
	mime, data, ok := strings.Cut(rest, ";base64,")
	b, err := base64.StdEncoding.DecodeString(data)
	if !ok || err != nil || len(b) == 0 {
		return llm.Blob{}, fmt.Errorf("not a data URL in base64, or empty")
	}
	return llm.Blob{MIME: mime, Data: b}, nil
}
