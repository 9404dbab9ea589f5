package llmtest

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/cantle-dev/cantle/llm"
)

var (
	callIDs       = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)
	messagesNames = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,128}$`)
)

type messagesBody struct {
	Model       string            `json:"model"`
	Messages    []messagesMessage `json:"messages"`
	MaxTokens   *int              `json:"max_tokens"`
	System      json.RawMessage   `json:"system"`
	Stop        []string          `json:"stop_sequences"`
	Stream      bool              `json:"stream"`
	Temperature *float64          `json:"temperature"`
	Tools       []json.RawMessage `json:"tools"`
	ToolChoice  *struct {
		Type string `json:"type"`
		Name string `json:"name"`
	} `json:"tool_choice"`
	Thinking *struct {
		Type   string `json:"type"`
		Budget int    `json:"budget_tokens"`
	} `json:"thinking"`
}

var messagesFields = strings.Fields(`model messages max_tokens system metadata stop_sequences stream temperature top_p top_k
	tools tool_choice thinking service_tier container context_management mcp_servers output_config output_format
	inference_geo cache_control speed`)

type messagesMessage struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

// fields fails if raw is not an object or has a field that is not allowed.
func fields(raw json.RawMessage, allowed []string) error {
	var obj map[string]json.RawMessage
	if err := json.Unmarshal(raw, &obj); err != nil || obj == nil {
		return fmt.Errorf("must be an object, not %s", describe(raw))
	}
	for k := range obj {
		if !slices.Contains(allowed, k) {
			return fmt.Errorf("%s: extra inputs are not permitted", k)
		}
	}
	return nil
}

// messagesCheck is the state of one request's validation.
type messagesCheck struct {
	s      *Server
	host   messagesHost
	req    *llm.Request
	blocks []block
	marks  int
	short  bool            // a mark of five minutes was seen
	ids    map[string]bool // of all tool_use so far
	open   []string        // tool_use of the message before, not yet answered
}

func (w messagesWire) decode(s *Server, e *Exchange) ([]block, error) {
	var b messagesBody
	if err := json.Unmarshal(e.Body, &b); err != nil {
		return nil, fmt.Errorf("the body is not a request: %w", err)
	}
	e.Model, e.Stream = b.Model, b.Stream
	if w.host != onAnthropic {
		if err := w.elsewhere(e, &b); err != nil {
			return nil, err
		}
	}
	c := &messagesCheck{s: s, req: e.Request, ids: map[string]bool{}, host: w.host}
	if err := c.top(e, &b); err != nil {
		return nil, err
	}
	for i, raw := range b.Tools {
		if err := c.tool(raw); err != nil {
			return nil, fmt.Errorf("tools.%d.%w", i, err)
		}
	}
	if tc := b.ToolChoice; tc != nil {
		if err := c.choice(tc.Type, tc.Name); err != nil {
			return nil, err
		}
	}
	if err := c.system(b.System); err != nil {
		return nil, err
	}
	for i, m := range b.Messages {
		if err := c.message(i, len(b.Messages), m); err != nil {
			return nil, fmt.Errorf("messages.%d%w", i, err)
		}
	}
	if len(c.open) > 0 {
		return nil, fmt.Errorf("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s", len(b.Messages)-1, strings.Join(c.open, ", "))
	}
	if b.Thinking != nil && b.Thinking.Type != "disabled" {
		if err := s.thoughtKept(e); err != nil {
			return nil, err
		}
	}
	if c.marks > 4 {
		return nil, fmt.Errorf("a maximum of 4 blocks with cache_control may be provided, found %d", c.marks)
	}
	return c.blocks, nil
}

func (c *messagesCheck) top(e *Exchange, b *messagesBody) error {
	allowed := messagesFields
	if c.host != onAnthropic {
		allowed = append([]string{"anthropic_version", "anthropic_beta"}, allowed...)
	}
	if err := fields(e.Body, allowed); err != nil {
		return err
	}
	if c.host == onAnthropic && e.Header.Get("Anthropic-Version") == "" {
		return fmt.Errorf("anthropic-version: header is required")
	}
	if e.Model == "" {
		return fmt.Errorf("model: field required")
	}
	if !strings.HasSuffix(strings.SplitN(e.Path, "?", 2)[0], "/count_tokens") {
		if b.MaxTokens == nil {
			return fmt.Errorf("max_tokens: field required")
		}
		if *b.MaxTokens < 1 {
			return fmt.Errorf("max_tokens: must be at least 1, not %d", *b.MaxTokens)
		}
		c.req.MaxTokens = *b.MaxTokens
	}
	if len(b.Messages) == 0 {
		return fmt.Errorf("messages: at least one message is required")
	}
	if b.Messages[0].Role != "user" {
		return fmt.Errorf("messages: first message must use the `user` role, not %q", b.Messages[0].Role)
	}
	for _, s := range b.Stop {
		if strings.TrimSpace(s) == "" {
			return fmt.Errorf("stop_sequences: each stop sequence must contain non-whitespace")
		}
	}
	if t := b.Temperature; t != nil && (*t < 0 || *t > 1) {
		return fmt.Errorf("temperature: must be between 0 and 1, not %v", *t)
	}
	if th := b.Thinking; th != nil {
		switch th.Type {
		case "enabled":
			if th.Budget < 1024 {
				return fmt.Errorf("thinking.enabled.budget_tokens: must be at least 1024, not %d", th.Budget)
			}
			if b.MaxTokens != nil && th.Budget >= *b.MaxTokens {
				return fmt.Errorf("max_tokens: must be greater than thinking.budget_tokens")
			}
		case "adaptive", "disabled":
		default:
			return fmt.Errorf("thinking.type: %q is not one of enabled, adaptive, disabled", th.Type)
		}
		if th.Type != "disabled" && b.Temperature != nil && *b.Temperature != 1 {
			return fmt.Errorf("temperature: may only be 1 when thinking is on")
		}
		if tc := b.ToolChoice; th.Type != "disabled" && tc != nil && (tc.Type == "any" || tc.Type == "tool") {
			return fmt.Errorf("tool_choice: thinking may not be on when tool_choice forces tool use")
		}
	}
	c.req.Stop, c.req.Temperature = b.Stop, b.Temperature
	return nil
}

func (c *messagesCheck) tool(raw json.RawMessage) error {
	var t struct {
		Type        string          `json:"type"`
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Input       json.RawMessage `json:"input_schema"`
		Deferred    bool            `json:"defer_loading"`
		Cache       json.RawMessage `json:"cache_control"`
	}
	if err := json.Unmarshal(raw, &t); err != nil {
		return fmt.Errorf("tool: %w", err)
	}
	ttl, err := c.mark(t.Cache)
	if err != nil {
		return err
	}
	c.blocks = append(c.blocks, markedBlock(raw, ttl))
	if !messagesNames.MatchString(t.Name) {
		return fmt.Errorf("name: %q does not match %s", t.Name, messagesNames)
	}
	for _, have := range c.req.Tools {
		if have.Name == t.Name {
			return fmt.Errorf("name: tool names must be unique: %q", t.Name)
		}
	}
	if t.Type == "" || t.Type == "custom" {
		var schema struct {
			Type string `json:"type"`
		}
		if json.Unmarshal(t.Input, &schema) != nil || schema.Type != "object" {
			return fmt.Errorf("input_schema: must be a schema with type \"object\", not %s", describe(t.Input))
		}
	}
	if strings.HasPrefix(t.Type, "web_search_") {
		if t.Name != "web_search" {
			return fmt.Errorf("name: must be web_search, not %q", t.Name)
		}
		c.req.Tools = append(c.req.Tools, llm.ToolSpec{Name: t.Name, Hosted: llm.HostedWebSearch})
		return nil
	}
	c.req.Tools = append(c.req.Tools, llm.ToolSpec{Name: t.Name, Description: t.Description, Input: t.Input, Deferred: t.Deferred})
	return nil
}

func (c *messagesCheck) choice(typ, name string) error {
	modes := map[string]llm.ChoiceMode{"auto": llm.ChoiceAuto, "any": llm.ChoiceAny, "none": llm.ChoiceNone, "tool": llm.ChoiceTool}
	mode, ok := modes[typ]
	if !ok {
		return fmt.Errorf("tool_choice.type: %q is not one of auto, any, none, tool", typ)
	}
	if len(c.req.Tools) == 0 {
		return fmt.Errorf("tool_choice: may only be specified while providing tools")
	}
	if mode == llm.ChoiceTool && !slices.ContainsFunc(c.req.Tools, func(t llm.ToolSpec) bool { return t.Name == name }) {
		return fmt.Errorf("tool_choice.name: tool %q not found in provided tools", name)
	}
	c.req.ToolChoice = llm.ToolChoice{Mode: mode, Name: name}
	return nil
}

// mark is how long a cache mark lasts; 0 is no mark.
func (c *messagesCheck) mark(raw json.RawMessage) (time.Duration, error) {
	if raw == nil || string(raw) == "null" {
		return 0, nil
	}
	var m struct {
		Type string `json:"type"`
		TTL  string `json:"ttl"`
	}
	if json.Unmarshal(raw, &m) != nil || m.Type != "ephemeral" || m.TTL != "" && m.TTL != "5m" && m.TTL != "1h" {
		return 0, fmt.Errorf("cache_control: must be of type ephemeral with a ttl of 5m or 1h, not %s", describe(raw))
	}
	c.marks++
	if m.TTL != "1h" {
		c.short = true
		return shortTTL, nil
	}
	if c.short {
		return 0, fmt.Errorf("cache_control: a ttl of 1h must not come after one of 5m: tools, system and messages are read in this order")
	}
	return longTTL, nil
}

func markedBlock(raw []byte, ttl time.Duration) block {
	b := newBlock(raw, ttl > 0)
	b.ttl = ttl
	return b
}

func (c *messagesCheck) system(raw json.RawMessage) error {
	if raw == nil {
		return nil
	}
	bs, err := contentBlocks(raw)
	if err != nil {
		return fmt.Errorf("system: %w", err)
	}
	var texts []string
	for i, b := range bs {
		if b.Type != "text" {
			return fmt.Errorf("system.%d.type: %q is not text", i, b.Type)
		}
		// A plain empty string is taken, an empty block is not.
		var ttl time.Duration
		if raw[0] == '[' {
			if ttl, err = c.block(b, "user"); err != nil {
				return fmt.Errorf("system.%d: %w", i, err)
			}
		}
		c.blocks = append(c.blocks, markedBlock(b.raw, ttl))
		texts = append(texts, b.Text)
	}
	c.req.System = strings.Join(texts, "\n\n")
	return nil
}

func (c *messagesCheck) message(i, n int, m messagesMessage) error {
	if m.Role != "user" && m.Role != "assistant" {
		return fmt.Errorf(".role: %q is not user or assistant", m.Role)
	}
	bs, err := contentBlocks(m.Content)
	if err != nil {
		return fmt.Errorf(": %w", err)
	}
	last := i == n-1
	if len(bs) == 0 && (m.Role == "user" || !last) {
		return fmt.Errorf(": all messages must have non-empty content except for the optional final assistant message")
	}
	msg := llm.Message{Role: llm.Role(m.Role)}
	open := c.open
	c.open = nil
	others := false // a block that is no result was seen
	for j, b := range bs {
		ttl, err := c.block(b, m.Role)
		if err != nil {
			return fmt.Errorf(".content.%d: %w", j, err)
		}
		if b.Type == "tool_result" {
			at := slices.Index(open, b.ToolUseID)
			switch {
			case at < 0 && c.ids[b.ToolUseID] && i > 0:
				return fmt.Errorf(".content.%d: each `tool_use` must have a single `tool_result`, in the next message: a second or late one for %q", j, b.ToolUseID)
			case at < 0:
				return fmt.Errorf(".content.%d: unexpected `tool_use_id` %q: no `tool_use` block of the previous message has it", j, b.ToolUseID)
			case others:
				return fmt.Errorf(".content.%d: `tool_result` blocks must come before other content", j)
			}
			open = slices.Delete(slices.Clone(open), at, at+1)
		} else {
			others = true
		}
		c.blocks = append(c.blocks, markedBlock(b.raw, ttl))
		if b.Type == "text" && last && m.Role == "assistant" && j == len(bs)-1 && strings.TrimRight(b.Text, " \t\r\n") != b.Text {
			return fmt.Errorf(": final assistant content cannot end with trailing whitespace")
		}
		msg.Parts = append(msg.Parts, b.part())
	}
	if len(open) > 0 {
		return fmt.Errorf(": `tool_use` ids were found without `tool_result` blocks immediately after: %s", strings.Join(open, ", "))
	}
	c.req.Messages = append(c.req.Messages, msg)
	return nil
}

// block checks one block by itself, and says how long its cache mark lasts.
func (c *messagesCheck) block(b messagesBlock, role string) (time.Duration, error) {
	if allowed, ok := messagesBlockFields[b.Type]; ok && len(b.raw) > 0 && b.raw[0] == '{' {
		if err := fields(b.raw, allowed); err != nil {
			return 0, fmt.Errorf("%s.%w", b.Type, err)
		}
	}
	ttl, err := c.mark(b.Cache)
	if err != nil {
		return 0, err
	}
	return ttl, c.content(b, role)
}

func (c *messagesCheck) content(b messagesBlock, role string) error {
	if want := map[string]string{"tool_use": "assistant", "thinking": "assistant", "redacted_thinking": "assistant", "tool_result": "user", "image": "user", "document": "user"}[b.Type]; want != "" && want != role {
		return fmt.Errorf("`%s` blocks can only be in %s messages", b.Type, want)
	}
	switch b.Type {
	case "":
		return fmt.Errorf("type: field required")
	case "text":
		if b.Text == "" {
			return fmt.Errorf("text content blocks must be non-empty")
		}
		if strings.TrimSpace(b.Text) == "" {
			return fmt.Errorf("text content blocks must contain non-whitespace text")
		}
	case "thinking":
		if b.Signature == "" {
			return fmt.Errorf("thinking.signature: field required")
		}
		if b.Signature != Sign(b.Thinking) {
			return fmt.Errorf("invalid `signature` in `thinking` block: it is changed, or not from this server (see Sign)")
		}
	case "redacted_thinking":
		if b.Data == "" {
			return fmt.Errorf("redacted_thinking.data: field required")
		}
	case "tool_use":
		if !callIDs.MatchString(b.ID) {
			return fmt.Errorf("tool_use.id: %q does not match %s", b.ID, callIDs)
		}
		if !messagesNames.MatchString(b.Name) {
			return fmt.Errorf("tool_use.name: %q does not match %s", b.Name, messagesNames)
		}
		if c.ids[b.ID] {
			return fmt.Errorf("`tool_use` ids must be unique: %q", b.ID)
		}
		var in map[string]json.RawMessage
		if json.Unmarshal(b.Input, &in) != nil || in == nil {
			return fmt.Errorf("tool_use.input: must be an object, not %s", describe(b.Input))
		}
		c.ids[b.ID] = true
		c.open = append(c.open, b.ID)
	case "tool_result":
		if !callIDs.MatchString(b.ToolUseID) {
			return fmt.Errorf("tool_result.tool_use_id: %q does not match %s", b.ToolUseID, callIDs)
		}
		if b.Content == nil || string(b.Content) == `""` {
			return nil
		}
		inner, err := contentBlocks(b.Content)
		if err != nil {
			return fmt.Errorf("tool_result.%w", err)
		}
		for i, in := range inner {
			switch in.Type {
			case "text", "image", "document", "search_result", "tool_reference":
			default:
				return fmt.Errorf("tool_result.content.%d.type: %q is not allowed", i, in.Type)
			}
			if len(b.Content) > 0 && b.Content[0] == '[' {
				if _, err := c.block(in, role); err != nil {
					return fmt.Errorf("tool_result.content.%d: %w", i, err)
				}
			}
		}
	case "image", "document":
		return b.checkSource()
	}
	return nil
}
