package llmtest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/cantle-dev/cantle/llm"
)

var (
	converseNames = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	converseIDs   = regexp.MustCompile(`^[a-zA-Z0-9_.:-]{1,64}$`) // for models that make such ones
	documentNames = regexp.MustCompile(`^[a-zA-Z0-9()\[\]-]+(\s[a-zA-Z0-9()\[\]-]+)*$`)
)

var converseFields = strings.Fields(`messages system inferenceConfig toolConfig guardrailConfig additionalModelRequestFields
	promptVariables additionalModelResponseFieldPaths requestMetadata performanceConfig serviceTier outputConfig`)

type converseBody struct {
	Messages []struct {
		Role    string            `json:"role"`
		Content []json.RawMessage `json:"content"`
	} `json:"messages"`
	System    []json.RawMessage `json:"system"`
	Inference struct {
		MaxTokens   *int     `json:"maxTokens"`
		Temperature *float64 `json:"temperature"`
		Stop        []string `json:"stopSequences"`
	} `json:"inferenceConfig"`
	Tools *struct {
		Tools  []json.RawMessage `json:"tools"`
		Choice *struct {
			Auto *struct{} `json:"auto"`
			Any  *struct{} `json:"any"`
			Tool *struct {
				Name string `json:"name"`
			} `json:"tool"`
		} `json:"toolChoice"`
	} `json:"toolConfig"`
	More struct {
		Thinking struct {
			Type string `json:"type"`
		} `json:"thinking"`
	} `json:"additionalModelRequestFields"`
}

// converseBlock is a block of content: one of its fields is set.
type converseBlock struct {
	Text  *string `json:"text"`
	Cache *struct {
		Type string `json:"type"`
		TTL  string `json:"ttl"`
	} `json:"cachePoint"`
	Use *struct {
		ID    string          `json:"toolUseId"`
		Name  string          `json:"name"`
		Type  string          `json:"type"`
		Input json.RawMessage `json:"input"`
	} `json:"toolUse"`
	Result *struct {
		ID      string            `json:"toolUseId"`
		Content []json.RawMessage `json:"content"`
		Status  string            `json:"status"`
		Type    string            `json:"type"`
	} `json:"toolResult"`
	Reasoning *struct {
		Text *struct {
			Text      string `json:"text"`
			Signature string `json:"signature"`
		} `json:"reasoningText"`
		Redacted string `json:"redactedContent"`
	} `json:"reasoningContent"`
	Image    *converseFile   `json:"image"`
	Document *converseFile   `json:"document"`
	JSON     json.RawMessage `json:"json"`
}

type converseFile struct {
	Format string `json:"format"`
	Name   string `json:"name"`
	Source struct {
		Bytes string `json:"bytes"`
		Text  string `json:"text"`
	} `json:"source"`
}

// converseCheck is the state of one request's validation.
type converseCheck struct {
	history
	blocks    []block
	marks     int
	documents int
	tools     bool // toolConfig is there
	ids       *regexp.Regexp
}

func (converseWire) decode(s *Server, e *Exchange) ([]block, error) {
	path, _, _ := strings.Cut(e.Path, "?")
	e.Model, e.Stream = bedrockPath(path)
	if e.Model == "" {
		return nil, fmt.Errorf("the provided model identifier is invalid")
	}
	var b converseBody
	if err := unmarshal(e.Body, &b); err != nil {
		return nil, err
	}
	if err := fields(e.Body, converseFields); err != nil {
		return nil, err
	}
	c := &converseCheck{history: history{req: e.Request}, tools: b.Tools != nil, ids: converseIDs}
	if strings.Contains(e.Model, "anthropic") || strings.Contains(e.Model, "amazon") {
		c.ids = converseNames
	}
	if err := c.top(&b); err != nil {
		return nil, err
	}
	for i, m := range b.Messages {
		if err := c.message(i, m.Role, m.Content); err != nil {
			return nil, fmt.Errorf("messages.%d%w", i, err)
		}
	}
	switch {
	case len(c.open) > 0:
		return nil, fmt.Errorf("expected toolResult blocks at messages.%d.content for the following Ids: %s", len(b.Messages), strings.Join(c.open, ", "))
	case c.marks > 4:
		return nil, fmt.Errorf("a maximum of 4 cache points may be provided, found %d", c.marks)
	case c.documents > 5:
		return nil, fmt.Errorf("the request has too many documents: at most 5, not %d", c.documents)
	}
	if t := b.More.Thinking.Type; t != "" && t != "disabled" {
		return c.blocks, s.thoughtKept(e)
	}
	return c.blocks, nil
}

func (c *converseCheck) top(b *converseBody) error {
	if len(b.Messages) == 0 {
		return fmt.Errorf("messages: at least one message is required")
	}
	in := b.Inference
	if in.MaxTokens != nil && *in.MaxTokens < 1 {
		return fmt.Errorf("inferenceConfig.maxTokens: must be at least 1, not %d", *in.MaxTokens)
	}
	if in.MaxTokens != nil {
		c.req.MaxTokens = *in.MaxTokens
	}
	if t := in.Temperature; t != nil && (*t < 0 || *t > 1) {
		return fmt.Errorf("inferenceConfig.temperature: must be between 0 and 1, not %v", *t)
	}
	if slices.Contains(in.Stop, "") {
		return fmt.Errorf("inferenceConfig.stopSequences: the least length of each is 1")
	}
	c.req.Temperature, c.req.Stop = in.Temperature, in.Stop
	if b.Tools != nil {
		if err := c.config(b); err != nil {
			return fmt.Errorf("toolConfig.%w", err)
		}
	}
	for i, raw := range b.System {
		var s converseBlock
		if err := json.Unmarshal(raw, &s); err != nil {
			return fmt.Errorf("system.%d: %w", i, err)
		}
		switch {
		case s.Cache != nil:
			if err := c.point(s, i); err != nil {
				return fmt.Errorf("system.%d.%w", i, err)
			}
		case s.Text == nil || strings.TrimSpace(*s.Text) == "":
			return fmt.Errorf("the text field in the ContentBlock object at system.%d is blank", i)
		default:
			c.blocks = append(c.blocks, newBlock(raw, false))
			c.system(*s.Text)
		}
	}
	return nil
}

// config reads the tools.
func (c *converseCheck) config(b *converseBody) error {
	if len(b.Tools.Tools) == 0 {
		return fmt.Errorf("tools: must have at least 1 element")
	}
	for i, raw := range b.Tools.Tools {
		var t struct {
			converseBlock
			Spec *struct {
				Name        string  `json:"name"`
				Description *string `json:"description"`
				Input       struct {
					JSON json.RawMessage `json:"json"`
				} `json:"inputSchema"`
			} `json:"toolSpec"`
			System struct {
				Name string `json:"name"`
			} `json:"systemTool"`
		}
		if err := json.Unmarshal(raw, &t); err != nil {
			return fmt.Errorf("tools.%d: %w", i, err)
		}
		if t.Cache != nil {
			if err := c.point(t.converseBlock, i); err != nil {
				return fmt.Errorf("tools.%d.%w", i, err)
			}
			continue
		}
		c.blocks = append(c.blocks, newBlock(raw, false))
		if t.System.Name == "nova_grounding" {
			c.search()
		}
		if t.Spec == nil {
			continue // a tool of the provider's
		}
		spec := llm.ToolSpec{Name: t.Spec.Name, Input: t.Spec.Input.JSON}
		if t.Spec.Description != nil {
			if spec.Description = *t.Spec.Description; spec.Description == "" {
				return fmt.Errorf("tools.%d.toolSpec.description: the least length is 1", i)
			}
		}
		if spec.Input == nil {
			return fmt.Errorf("tools.%d.toolSpec.inputSchema.json: is required", i)
		}
		if err := c.tool(spec, converseNames); err != nil {
			return fmt.Errorf("tools.%d.toolSpec.%w", i, err)
		}
	}
	switch ch := b.Tools.Choice; {
	case ch == nil || ch.Auto != nil:
	case ch.Any != nil:
		c.req.ToolChoice.Mode = llm.ChoiceAny
	case ch.Tool != nil && c.offers(ch.Tool.Name):
		c.req.ToolChoice = llm.ToolChoice{Mode: llm.ChoiceTool, Name: ch.Tool.Name}
	default:
		return fmt.Errorf("toolChoice: must be one of auto, any and a tool that is offered")
	}
	return nil
}

// point, element i of its list, marks what stands before it.
func (c *converseCheck) point(b converseBlock, i int) error {
	if b.Cache.Type != "default" || b.Cache.TTL != "" && b.Cache.TTL != "5m" && b.Cache.TTL != "1h" {
		return fmt.Errorf("cachePoint: must be of type default, with a ttl of 5m or 1h")
	}
	if i == 0 || len(c.blocks) == 0 {
		return fmt.Errorf("cachePoint: nothing stands before it")
	}
	last := &c.blocks[len(c.blocks)-1]
	last.mark, last.ttl = true, shortTTL
	if b.Cache.TTL == "1h" {
		last.ttl = longTTL
	}
	c.marks++
	return nil
}

func (c *converseCheck) message(i int, role string, content []json.RawMessage) error {
	last := llm.RoleAssistant // as before the first
	if n := len(c.req.Messages); n > 0 {
		last = c.req.Messages[n-1].Role
	}
	switch {
	case role != "user" && role != "assistant":
		return fmt.Errorf(".role: %q is not one of user, assistant", role)
	case i == 0 && role != "user":
		return fmt.Errorf(": a conversation must start with a user message")
	case role == string(last):
		return fmt.Errorf(": a conversation must alternate between user and assistant roles: two of %s", role)
	case len(content) == 0:
		return fmt.Errorf(".content: the content field is empty: add a ContentBlock to it")
	}
	open := len(c.open)
	document, text, results := false, false, 0
	for j, raw := range content {
		var b converseBlock
		if err := json.Unmarshal(raw, &b); err != nil {
			return fmt.Errorf(".content.%d: %w", j, err)
		}
		if b.Cache != nil {
			if err := c.point(b, j); err != nil {
				return fmt.Errorf(".content.%d.%w", j, err)
			}
			continue
		}
		p, err := c.block(b, raw, role)
		if err != nil {
			return fmt.Errorf(".content.%d%w", j, err)
		}
		c.blocks = append(c.blocks, newBlock(raw, false))
		document = document || b.Document != nil
		text = text || b.Text != nil
		if b.Result != nil && b.Result.Type == "" {
			results++
		}
		c.add(llm.Role(role), p)
	}
	switch {
	case role == "user" && results > open:
		return fmt.Errorf(".content: the number of toolResult blocks exceeds the number of toolUse blocks of the previous turn: %d, not %d", results, open)
	case role == "user" && len(c.open) > 0:
		return fmt.Errorf(".content: expected toolResult blocks for the following Ids: %s", strings.Join(c.open, ", "))
	case document && !text:
		return fmt.Errorf(".content: a message with a document must have a text too")
	}
	return nil
}

func (c *converseCheck) block(b converseBlock, raw json.RawMessage, role string) (llm.Part, error) {
	only := func(field, want string) error {
		if role != want {
			return fmt.Errorf(": %s is not supported in a message of %s", field, role)
		}
		return nil
	}
	switch {
	case b.Text != nil:
		if strings.TrimSpace(*b.Text) == "" {
			return nil, fmt.Errorf(": the text field in the ContentBlock object is blank: add text to it")
		}
		return llm.Text{Text: *b.Text}, nil
	case b.Use != nil && b.Use.Type != "", b.Result != nil && b.Result.Type != "":
		return llm.Native{Wire: WireBedrock, Kind: "server_tool", Raw: raw}, nil
	case b.Use != nil:
		return c.use(b, only("toolUse", "assistant"))
	case b.Result != nil:
		return c.result(b, only("toolResult", "user"))
	case b.Reasoning != nil:
		if err := only("reasoningContent", "assistant"); err != nil {
			return nil, err
		}
		t := b.Reasoning.Text
		if t == nil {
			return llm.Native{Wire: WireBedrock, Kind: "redacted_thinking", Raw: raw}, nil
		}
		if t.Signature != "" && t.Signature != Sign(t.Text) {
			return nil, fmt.Errorf(": invalid signature in the reasoning block: it is changed, or not from this server (see Sign)")
		}
		return llm.Thinking{Text: t.Text, Signature: t.Signature}, nil
	case b.Image != nil:
		return b.Image.part("image", []string{"png", "jpeg", "gif", "webp"}, "image/")
	case b.Document != nil:
		c.documents++
		if n := b.Document.Name; !documentNames.MatchString(n) || len(n) > 200 {
			return nil, fmt.Errorf(".document.name: %q: letters, digits, single spaces, hyphens, parentheses and square brackets alone, at most 200", n)
		}
		return b.Document.part("document", []string{"pdf", "csv", "doc", "docx", "xls", "xlsx", "html", "txt", "md"}, "application/")
	}
	return llm.Native{Wire: WireBedrock, Kind: "other", Raw: raw}, nil
}

func (f converseFile) part(field string, formats []string, mime string) (llm.Part, error) {
	if !slices.Contains(formats, f.Format) {
		return nil, fmt.Errorf(".%s.format: %q is not one of %s", field, f.Format, strings.Join(formats, ", "))
	}
	data, err := base64.StdEncoding.DecodeString(f.Source.Bytes)
	if f.Source.Text != "" {
		data, err = []byte(f.Source.Text), nil
	}
	if err != nil || len(data) == 0 {
		return nil, fmt.Errorf(".%s.source.bytes: not base64, or empty", field)
	}
	return llm.Blob{MIME: mime + f.Format, Data: data, Name: f.Name}, nil
}

func (c *converseCheck) use(b converseBlock, err error) (llm.Part, error) {
	var in map[string]json.RawMessage
	switch u := b.Use; {
	case err != nil:
		return nil, err
	case !c.tools:
		return nil, fmt.Errorf(": the toolConfig field must be defined when using toolUse and toolResult content blocks")
	case !c.ids.MatchString(u.ID):
		return nil, fmt.Errorf(".toolUse.toolUseId: %q does not match %s", u.ID, c.ids)
	case slices.Contains(c.open, u.ID):
		return nil, fmt.Errorf(".toolUse.toolUseId: %q is there twice", u.ID)
	case !converseNames.MatchString(u.Name):
		return nil, fmt.Errorf(".toolUse.name: %q does not match %s", u.Name, converseNames)
	case json.Unmarshal(u.Input, &in) != nil || in == nil:
		return nil, fmt.Errorf(".toolUse.input: must be an object, not %s", describe(u.Input))
	}
	return c.call(llm.ToolCall{ID: b.Use.ID, Name: b.Use.Name, Input: b.Use.Input}), nil
}

func (c *converseCheck) result(b converseBlock, err error) (llm.Part, error) {
	r := b.Result
	switch {
	case err != nil:
		return nil, err
	case !c.tools:
		return nil, fmt.Errorf(": the toolConfig field must be defined when using toolUse and toolResult content blocks")
	case r.Content == nil:
		return nil, fmt.Errorf(".toolResult.content: is required")
	case r.Status != "" && r.Status != "success" && r.Status != "error":
		return nil, fmt.Errorf(".toolResult.status: %q is not one of success, error", r.Status)
	case !c.answer(r.ID):
		return nil, fmt.Errorf(".toolResult.toolUseId: %q: the number of toolResult blocks exceeds the number of toolUse blocks of the previous turn, or it is of another", r.ID)
	}
	res := llm.ToolResult{CallID: r.ID, Name: c.name(r.ID), IsError: r.Status == "error"}
	for i, raw := range r.Content {
		var in converseBlock
		if err := json.Unmarshal(raw, &in); err != nil {
			return nil, fmt.Errorf(".toolResult.content.%d: %w", i, err)
		}
		switch {
		case in.JSON != nil:
			res.Parts = append(res.Parts, llm.Text{Text: string(in.JSON)})
		case in.Text == nil && in.Image == nil && in.Document == nil:
			return nil, fmt.Errorf(".toolResult.content.%d: must have one of text, json, image, document", i)
		default:
			p, err := c.block(in, raw, "user")
			if err != nil {
				return nil, fmt.Errorf(".toolResult.content.%d%w", i, err)
			}
			res.Parts = append(res.Parts, p)
		}
	}
	return res, nil
}
