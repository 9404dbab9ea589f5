package llmtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/cantle-dev/cantle/llm"
)

var responsesFields = strings.Fields(`background context_management conversation include input instructions max_output_tokens
	max_tool_calls metadata model parallel_tool_calls previous_response_id prompt prompt_cache_key prompt_cache_retention
	prompt_cache_options reasoning safety_identifier service_tier store stream stream_options temperature text tool_choice tools
	top_logprobs top_p truncation user verbosity`)

type responsesBody struct {
	Model       string            `json:"model"`
	Input       json.RawMessage   `json:"input"`
	System      string            `json:"instructions"`
	Tools       []json.RawMessage `json:"tools"`
	ToolChoice  json.RawMessage   `json:"tool_choice"`
	MaxTokens   *int              `json:"max_output_tokens"`
	Temperature *float64          `json:"temperature"`
	Store       *bool             `json:"store"`
	Stream      bool              `json:"stream"`
	Text        struct {
		Format struct {
			Type   string          `json:"type"`
			Name   string          `json:"name"`
			Schema json.RawMessage `json:"schema"`
		} `json:"format"`
	} `json:"text"`
}

type responsesInput struct {
	Type    string          `json:"type"`
	ID      string          `json:"id"`
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
	CallID  string          `json:"call_id"`
	Name    string          `json:"name"`
	Args    json.RawMessage `json:"arguments"` // a string in calls of functions
	Input   *string         `json:"input"`
	Output  json.RawMessage `json:"output"`
	Sealed  string          `json:"encrypted_content"`
	Summary []struct {
		Text string `json:"text"`
	} `json:"summary"`
}

// responsesCheck is the state of one request's validation.
type responsesCheck struct {
	history
	s         *Server
	e         *Exchange
	stored    bool   // items may be named by their id alone
	reasoning string // the id of a reasoning item that waits for its follower
	reasoned  bool   // a reasoning item of this answer came back
}

func (responsesWire) decode(s *Server, e *Exchange) ([]block, error) {
	var b responsesBody
	if err := unmarshal(e.Body, &b); err != nil {
		return nil, err
	}
	e.Model, e.Stream = b.Model, b.Stream
	c := &responsesCheck{history: history{req: e.Request}, s: s, e: e, stored: b.Store == nil || *b.Store}
	if err := c.top(e, &b); err != nil {
		return nil, err
	}
	var blocks []block
	for i, raw := range b.Tools {
		if err := c.offer(raw); err != nil {
			return nil, fmt.Errorf("tools[%d].%w", i, err)
		}
		blocks = append(blocks, newBlock(raw, false))
	}
	if err := c.choice(b.ToolChoice); err != nil {
		return nil, fmt.Errorf("tool_choice: %w", err)
	}
	if b.System != "" {
		blocks = append(blocks, newBlock([]byte(b.System), false))
	}
	var items []json.RawMessage
	if err := json.Unmarshal(b.Input, &items); err != nil {
		var text string
		if json.Unmarshal(b.Input, &text) != nil || text == "" {
			return nil, fmt.Errorf("input: must be a text or a list of items, not %s", describe(b.Input))
		}
		c.add(llm.RoleUser, llm.Text{Text: text})
		return append(blocks, newBlock(b.Input, false)), nil
	}
	for i, raw := range items {
		if err := c.item(raw); err != nil {
			return nil, fmt.Errorf("input[%d]%w", i, err)
		}
		blocks = append(blocks, newBlock(raw, false))
	}
	if len(c.open) > 0 {
		return nil, c.unanswered()
	}
	return blocks, c.follow("")
}

func (c *responsesCheck) unanswered() error {
	return fmt.Errorf(": no tool output found for function call %s", strings.Join(c.open, ", "))
}

func (c *responsesCheck) top(e *Exchange, b *responsesBody) error {
	if err := fields(e.Body, responsesFields); err != nil {
		return fmt.Errorf("unknown parameter: %w", err)
	}
	switch {
	case b.Model == "":
		return fmt.Errorf("missing required parameter: 'model'")
	case b.MaxTokens != nil && *b.MaxTokens < 16:
		return fmt.Errorf("max_output_tokens: integer below minimum value: must be at least 16, not %d", *b.MaxTokens)
	case b.Temperature != nil && (*b.Temperature < 0 || *b.Temperature > 2):
		return fmt.Errorf("temperature: must be between 0 and 2, not %v", *b.Temperature)
	}
	if b.MaxTokens != nil {
		c.req.MaxTokens = *b.MaxTokens
	}
	c.req.Temperature = b.Temperature
	c.system(b.System)
	if f := b.Text.Format; f.Type == "json_schema" {
		if !chatNames.MatchString(f.Name) {
			return fmt.Errorf("text.format.name: %q does not match %s", f.Name, chatNames)
		}
		c.req.Schema = &llm.Schema{Name: f.Name, JSON: f.Schema}
	}
	return nil
}

func (c *responsesCheck) offer(raw json.RawMessage) error {
	var t struct {
		Type        string          `json:"type"`
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
		Format      json.RawMessage `json:"format"`
		Deferred    bool            `json:"defer_loading"`
	}
	if err := json.Unmarshal(raw, &t); err != nil {
		return fmt.Errorf("type: %w", err)
	}
	switch t.Type {
	case "":
		return fmt.Errorf("type: missing required parameter")
	case "function", "custom":
		return c.tool(llm.ToolSpec{Name: t.Name, Description: t.Description, Input: t.Parameters, Format: t.Format, Deferred: t.Deferred}, chatNames)
	case "web_search", "openrouter:web_search":
		c.search()
	}
	return nil // a tool of the provider's
}

func (c *responsesCheck) choice(raw json.RawMessage) error {
	if raw == nil {
		return nil
	}
	var word string
	if json.Unmarshal(raw, &word) == nil {
		return c.choose(word, openaiChoices)
	}
	var one struct {
		Type string `json:"type"`
		Name string `json:"name"`
	}
	if err := json.Unmarshal(raw, &one); err != nil {
		return err
	}
	if one.Type == "function" || one.Type == "custom" {
		if !c.offers(one.Name) {
			return fmt.Errorf("tool %q is not among the tools", one.Name)
		}
		c.req.ToolChoice = llm.ToolChoice{Mode: llm.ChoiceTool, Name: one.Name}
	}
	return nil
}

// follow is called with the type of the item after a reasoning item.
func (c *responsesCheck) follow(typ string) error {
	id := c.reasoning
	if c.reasoning = ""; id == "" || slices.Contains([]string{"message", "function_call", "custom_tool_call", "reasoning"}, typ) || strings.HasSuffix(typ, "_call") {
		return nil
	}
	return fmt.Errorf(": item '%s' of type 'reasoning' was provided without its required following item", id)
}

func (c *responsesCheck) item(raw json.RawMessage) error {
	var it responsesInput
	if err := json.Unmarshal(raw, &it); err != nil {
		return fmt.Errorf(": %w", err)
	}
	if it.Type == "" && it.Role != "" {
		it.Type = "message"
	}
	mine := it.Type != "message" || it.Role == "assistant"
	typ := it.Type
	if !mine {
		typ = ""
		c.reasoned = false
	}
	if err := c.follow(typ); err != nil {
		return err
	}
	if prefix := map[string]string{"message": "msg", "reasoning": "rs", "function_call": "fc", "custom_tool_call": "ctc"}[it.Type]; it.ID != "" && prefix != "" && !it.open() && !strings.HasPrefix(it.ID, prefix) && c.s.plays("openai") {
		return fmt.Errorf(".id: %q: expected an ID that begins with '%s'", it.ID, prefix)
	}
	if len(it.ID) > 64 {
		return fmt.Errorf(".id: string too long: at most 64 characters, not %d", len(it.ID))
	}
	if len(c.open) > 0 && (it.Type == "message" && !mine || it.Type == "reasoning") {
		return c.unanswered()
	}
	switch it.Type {
	case "message":
		return c.message(it)
	case "reasoning":
		return c.thought(raw, it)
	case "function_call", "custom_tool_call":
		return c.functionCall(it)
	case "function_call_output", "custom_tool_call_output":
		c.reasoned = false
		parts, err := responsesContent(it.Output, "user")
		if err != nil {
			return fmt.Errorf(".output%w", err)
		}
		if !c.answer(it.CallID) {
			return fmt.Errorf(": no tool call found for function call output with call_id %s", it.CallID)
		}
		c.add(llm.RoleUser, llm.ToolResult{CallID: it.CallID, Name: c.name(it.CallID), Parts: parts})
	case "":
		return fmt.Errorf(".type: missing required parameter")
	default:
		c.add(llm.RoleAssistant, llm.Native{Wire: WireResponses, Kind: it.Type, Raw: raw})
	}
	return nil
}

func (c *responsesCheck) message(it responsesInput) error {
	if !slices.Contains([]string{"user", "assistant", "system", "developer"}, it.Role) {
		return fmt.Errorf(".role: %q is not one of assistant, system, developer, user", it.Role)
	}
	parts, err := responsesContent(it.Content, it.Role)
	if err != nil {
		return fmt.Errorf(".content%w", err)
	}
	switch {
	case it.Role == "assistant":
		c.add(llm.RoleAssistant, parts...)
	case it.Role != "user" && len(c.req.Messages) == 0:
		c.system(parts.Text())
	default:
		c.add(llm.RoleUser, parts...)
	}
	return nil
}

// open says whether it is reasoning in plain text, as servers with open models
// have it: they sign nothing and name it as they like.
func (it responsesInput) open() bool { return it.Type == "reasoning" && it.Content != nil }

// thought checks a reasoning item: it is whole, from this server, and kept
// with what follows.
func (c *responsesCheck) thought(raw json.RawMessage, it responsesInput) error {
	var text string
	for _, s := range it.Summary {
		text += s.Text
	}
	if it.open() && text == "" {
		var content []struct {
			Text string `json:"text"`
		}
		_ = json.Unmarshal(it.Content, &content) // what is not read is not there
		for _, s := range content {
			text += s.Text
		}
	}
	switch {
	case it.ID == "" && it.Sealed == "":
		return fmt.Errorf(".id: missing required parameter")
	case it.Summary == nil:
		return fmt.Errorf(".summary: missing required parameter")
	case it.Sealed == "" && !c.stored && !it.open():
		return fmt.Errorf(": item with id '%s' not found: items are not persisted when `store` is set to false, and it has no encrypted_content", it.ID)
	case it.Sealed != "" && it.Sealed != sealed(text, sealDone) && it.Sealed != sealed(text, sealEnd):
		return fmt.Errorf(".encrypted_content: the encrypted content for item %s could not be verified: it is changed, or that of the item's start", it.ID)
	}
	c.reasoning, c.reasoned = it.ID, true
	if it.ID == "" {
		c.reasoning = "(none)"
	}
	c.add(llm.RoleAssistant, llm.Thinking{Text: text, Raw: bytes.Clone(raw)})
	return nil
}

func (c *responsesCheck) functionCall(it responsesInput) error {
	call := llm.ToolCall{ID: it.CallID, Name: it.Name}
	switch {
	case it.CallID == "":
		return fmt.Errorf(".call_id: missing required parameter")
	case len(it.CallID) > 64:
		return fmt.Errorf(".call_id: string too long: at most 64 characters, not %d", len(it.CallID))
	case slices.Contains(c.open, it.CallID):
		return fmt.Errorf(".call_id: %q is there twice", it.CallID)
	case !chatNames.MatchString(it.Name):
		return fmt.Errorf(".name: %q does not match %s", it.Name, chatNames)
	case it.Type == "custom_tool_call" && it.Input == nil:
		return fmt.Errorf(".input: missing required parameter")
	case it.Type == "custom_tool_call":
		call.Custom, call.Input = true, encode(*it.Input)
	default:
		var args string
		if len(it.Args) == 0 || json.Unmarshal(it.Args, &args) != nil {
			return fmt.Errorf(".arguments: must be a string, not %s", describe(it.Args))
		}
		if !json.Valid([]byte(args)) {
			return fmt.Errorf(".arguments: not valid JSON: %s", brief(args))
		}
		call.Input = json.RawMessage(args)
	}
	c.s.mu.Lock()
	thought := c.s.thought[callKey(c.e, it.CallID)]
	c.s.mu.Unlock()
	if thought && it.ID != "" && !c.reasoned {
		return fmt.Errorf(": item '%s' of type 'function_call' was provided without its required 'reasoning' item", it.ID)
	}
	c.add(llm.RoleAssistant, c.call(call))
	return nil
}

// responsesContent reads content that is a string or a list of parts.
func responsesContent(raw json.RawMessage, role string) (llm.Parts, error) {
	var text string
	if raw != nil && json.Unmarshal(raw, &text) == nil && raw[0] == '"' {
		return llm.Texts(text), nil
	}
	var raws []json.RawMessage
	if err := json.Unmarshal(raw, &raws); err != nil || raws == nil {
		return nil, fmt.Errorf(": must be a string or a list of parts, not %s", describe(raw))
	}
	var ps llm.Parts
	for i, raw := range raws {
		var p struct {
			Type    string  `json:"type"`
			Text    *string `json:"text"`
			Refusal string  `json:"refusal"`
			Image   string  `json:"image_url"`
			FileID  string  `json:"file_id"`
			Data    string  `json:"file_data"`
			URL     string  `json:"file_url"`
		}
		if err := json.Unmarshal(raw, &p); err != nil {
			return nil, fmt.Errorf("[%d]: %w", i, err)
		}
		switch {
		case p.Type == "input_text" && role != "assistant", p.Type == "output_text" && role == "assistant":
			if p.Text == nil {
				return nil, fmt.Errorf("[%d].text: missing required parameter", i)
			}
			ps = append(ps, llm.Text{Text: *p.Text})
		case p.Type == "refusal" && role == "assistant":
			ps = append(ps, llm.Text{Text: p.Refusal})
		case p.Type == "input_image" && role == "user":
			if p.Image == "" && p.FileID == "" {
				return nil, fmt.Errorf("[%d].image_url: missing required parameter", i)
			}
			b, err := imageURL(p.Image)
			if err != nil {
				return nil, fmt.Errorf("[%d].image_url: %w", i, err)
			}
			ps = append(ps, b)
		case p.Type == "input_file" && role == "user":
			if p.Data == "" && p.FileID == "" && p.URL == "" {
				return nil, fmt.Errorf("[%d]: one of file_data, file_id, file_url is required", i)
			}
			ps = append(ps, llm.Native{Wire: WireResponses, Kind: p.Type, Raw: raw})
		default:
			return nil, fmt.Errorf("[%d].type: invalid value %q in a message of %s", i, p.Type, role)
		}
	}
	return ps, nil
}
