package llmtest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/cantle-dev/cantle/llm"
)

var geminiNames = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$`)

var geminiFields = strings.Fields(`contents tools toolConfig safetySettings systemInstruction generationConfig cachedContent labels serviceTier store model modelArmorConfig`)

type geminiBody struct {
	Contents []json.RawMessage `json:"contents"`
	System   json.RawMessage   `json:"systemInstruction"`
	Tools    []json.RawMessage `json:"tools"`
	Config   struct {
		Calling struct {
			Mode    string   `json:"mode"`
			Allowed []string `json:"allowedFunctionNames"`
		} `json:"functionCallingConfig"`
	} `json:"toolConfig"`
	Generation struct {
		MaxTokens   *int            `json:"maxOutputTokens"`
		Temperature *float64        `json:"temperature"`
		Stop        []string        `json:"stopSequences"`
		MIME        string          `json:"responseMimeType"`
		Schema      json.RawMessage `json:"responseSchema"`
		JSONSchema  json.RawMessage `json:"responseJsonSchema"`
	} `json:"generationConfig"`
}

type geminiPart struct {
	Text      *string `json:"text"`
	Thought   bool    `json:"thought"`
	Signature string  `json:"thoughtSignature"`
	Call      *struct {
		ID   string          `json:"id"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	} `json:"functionCall"`
	Response *struct {
		ID       string          `json:"id"`
		Name     string          `json:"name"`
		Response json.RawMessage `json:"response"`
	} `json:"functionResponse"`
	Inline *struct {
		MIME string `json:"mimeType"`
		Data string `json:"data"`
	} `json:"inlineData"`
	File *struct {
		MIME string `json:"mimeType"`
		URI  string `json:"fileUri"`
	} `json:"fileData"`
}

// geminiCheck is the state of one request's validation.
type geminiCheck struct {
	history
	model  string
	last   string // the role of the content before
	called int    // calls of the content before
	turn   int    // where the user last said something, among the contents
	first  []geminiFirst
}

// geminiFirst is the first call of a content.
type geminiFirst struct {
	at              int
	name, signature string
}

func (geminiWire) decode(_ *Server, e *Exchange) ([]block, error) {
	var b geminiBody
	path, _, _ := strings.Cut(e.Path, "?")
	name := path[strings.LastIndex(path, "/")+1:]
	name, _, _ = strings.Cut(name, ":")
	if e.Model, _ = url.PathUnescape(name); e.Model == "" {
		return nil, fmt.Errorf("the address has no model: %s", path)
	}
	e.Stream, _ = geminiStream(e.Path)
	if err := unmarshal(e.Body, &b); err != nil {
		return nil, err
	}
	if err := fields(e.Body, geminiFields); err != nil {
		return nil, fmt.Errorf("invalid JSON payload received: unknown name: %w", err)
	}
	c := &geminiCheck{history: history{req: e.Request}, model: e.Model}
	var blocks []block
	for i, raw := range b.Tools {
		if err := c.declare(raw); err != nil {
			return nil, fmt.Errorf("tools[%d].%w", i, err)
		}
		blocks = append(blocks, newBlock(raw, false))
	}
	if err := c.top(&b); err != nil {
		return nil, err
	}
	if b.System != nil {
		blocks = append(blocks, newBlock(b.System, false))
	}
	if len(b.Contents) == 0 {
		return nil, fmt.Errorf("contents: contents is not specified")
	}
	for i, raw := range b.Contents {
		if err := c.content(i, raw); err != nil {
			return nil, fmt.Errorf("contents[%d]%w", i, err)
		}
		blocks = append(blocks, newBlock(raw, false))
	}
	switch {
	case c.called > 0:
		return nil, fmt.Errorf("contents: the last function call turn has no function response turn after it: %s", strings.Join(c.open, ", "))
	case c.last != "user":
		return nil, fmt.Errorf("contents: please ensure that requests end with a user role")
	}
	return blocks, c.signed()
}

func (c *geminiCheck) top(b *geminiBody) error {
	if b.System != nil {
		var sys struct {
			Parts []geminiPart `json:"parts"`
		}
		if err := json.Unmarshal(b.System, &sys); err != nil {
			return fmt.Errorf("system_instruction: %w", err)
		}
		for i, p := range sys.Parts {
			if p.Text == nil || *p.Text == "" {
				return fmt.Errorf("system_instruction.parts[%d]: must have a text that is not empty", i)
			}
			c.system(*p.Text)
		}
		if len(sys.Parts) == 0 {
			return fmt.Errorf("system_instruction.parts: must not be empty")
		}
	}
	g := b.Generation
	switch {
	case g.MaxTokens != nil && *g.MaxTokens < 1:
		return fmt.Errorf("generation_config.max_output_tokens: must be positive, not %d", *g.MaxTokens)
	case g.Temperature != nil && (*g.Temperature < 0 || *g.Temperature > 2):
		return fmt.Errorf("generation_config.temperature: must be between 0 and 2, not %v", *g.Temperature)
	case len(g.Stop) > 5:
		return fmt.Errorf("generation_config.stop_sequences: at most 5, not %d", len(g.Stop))
	case (g.Schema != nil || g.JSONSchema != nil) && g.MIME != "application/json":
		return fmt.Errorf("generation_config: a response schema needs the response_mime_type application/json, not %q", g.MIME)
	case g.MIME == "application/json" && len(c.req.Tools) > 0 && oldGemini(c.model):
		return fmt.Errorf("function calling with a response mime type: 'application/json' is unsupported")
	}
	if g.MaxTokens != nil {
		c.req.MaxTokens = *g.MaxTokens
	}
	c.req.Temperature, c.req.Stop = g.Temperature, g.Stop
	for _, s := range []json.RawMessage{g.Schema, g.JSONSchema} {
		if s != nil {
			c.req.Schema = &llm.Schema{JSON: s}
		}
	}
	if g.Schema != nil {
		if err := geminiSchema(g.Schema); err != nil {
			return fmt.Errorf("generation_config.response_schema%w", err)
		}
	}
	call := b.Config.Calling
	if call.Mode == "" {
		return nil
	}
	if err := c.choose(call.Mode, map[string]llm.ChoiceMode{"AUTO": llm.ChoiceAuto, "ANY": llm.ChoiceAny, "NONE": llm.ChoiceNone, "VALIDATED": llm.ChoiceAuto}); err != nil {
		return fmt.Errorf("tool_config.function_calling_config.mode: %w", err)
	}
	if len(call.Allowed) > 0 && call.Mode != "ANY" && call.Mode != "VALIDATED" {
		return fmt.Errorf("tool_config.function_calling_config.allowed_function_names: should only be set when the mode is ANY or VALIDATED")
	}
	for _, n := range call.Allowed {
		if !c.offers(n) {
			return fmt.Errorf("tool_config.function_calling_config.allowed_function_names: %q is not declared", n)
		}
		c.req.ToolChoice = llm.ToolChoice{Mode: llm.ChoiceTool, Name: n}
	}
	return nil
}

func (c *geminiCheck) declare(raw json.RawMessage) error {
	var t struct {
		Functions []struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Parameters  json.RawMessage `json:"parameters"`
			JSONSchema  json.RawMessage `json:"parametersJsonSchema"`
		} `json:"functionDeclarations"`
		Search json.RawMessage `json:"googleSearch"`
	}
	if err := json.Unmarshal(raw, &t); err != nil {
		return fmt.Errorf("function_declarations: %w", err)
	}
	if t.Search != nil {
		c.search()
	}
	for i, f := range t.Functions {
		at := fmt.Sprintf("function_declarations[%d]", i)
		if f.Parameters != nil && f.JSONSchema != nil {
			return fmt.Errorf("%s: parameters and parameters_json_schema are mutually exclusive", at)
		}
		if f.Parameters != nil {
			if err := geminiSchema(f.Parameters); err != nil {
				return fmt.Errorf("%s.parameters%w", at, err)
			}
		}
		in := f.Parameters
		if in == nil {
			in = f.JSONSchema
		}
		if err := c.tool(llm.ToolSpec{Name: f.Name, Description: f.Description, Input: in}, geminiNames); err != nil {
			return fmt.Errorf("%s.%w", at, err)
		}
	}
	return nil
}

// geminiWords are the fields of the wire's own schemas, which are a part of
// OpenAPI's.
var geminiWords = strings.Fields(`type format title description nullable enum maxItems minItems properties required
	minProperties maxProperties minLength maxLength pattern example anyOf propertyOrdering default items minimum maximum`)

// geminiSchema refuses what such a schema has no room for.
func geminiSchema(raw json.RawMessage) error {
	if err := fields(raw, geminiWords); err != nil {
		return fmt.Errorf(": unknown name: %w", err)
	}
	var s struct {
		Type       json.RawMessage            `json:"type"`
		Properties map[string]json.RawMessage `json:"properties"`
		Items      json.RawMessage            `json:"items"`
		AnyOf      []json.RawMessage          `json:"anyOf"`
		Required   []string                   `json:"required"`
	}
	if err := json.Unmarshal(raw, &s); err != nil {
		return fmt.Errorf(": %w", err)
	}
	var typ string
	if s.Type != nil && json.Unmarshal(s.Type, &typ) != nil {
		return fmt.Errorf(".type: proto field is not repeating, cannot start list: %s", describe(s.Type))
	}
	if strings.EqualFold(typ, "array") && s.Items == nil {
		return fmt.Errorf(".items: missing field")
	}
	for _, r := range s.Required {
		if _, ok := s.Properties[r]; !ok {
			return fmt.Errorf(".required: property is not defined: %q", r)
		}
	}
	for name, p := range s.Properties {
		if err := geminiSchema(p); err != nil {
			return fmt.Errorf(".properties[%s]%w", name, err)
		}
	}
	for i, a := range s.AnyOf {
		if err := geminiSchema(a); err != nil {
			return fmt.Errorf(".any_of[%d]%w", i, err)
		}
	}
	if s.Items != nil {
		if err := geminiSchema(s.Items); err != nil {
			return fmt.Errorf(".items%w", err)
		}
	}
	return nil
}

// content checks one content: who speaks after whom, and that every call of
// the one before has its response.
func (c *geminiCheck) content(i int, raw json.RawMessage) error {
	var m struct {
		Role  string            `json:"role"`
		Parts []json.RawMessage `json:"parts"`
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		return fmt.Errorf(": %w", err)
	}
	switch {
	case m.Role != "user" && m.Role != "model":
		return fmt.Errorf(".role: please use a valid role: user, model; not %q", m.Role)
	case m.Role == c.last:
		return fmt.Errorf(".role: please ensure that multiturn requests alternate between user and model: two of %q", m.Role)
	case i == 0 && m.Role == "model":
		return fmt.Errorf(".role: please ensure that requests start with a user role")
	case len(m.Parts) == 0:
		return fmt.Errorf(".parts: must not be empty")
	}
	calls, responses, said := 0, 0, false
	for j, raw := range m.Parts {
		p, err := c.part(raw, m.Role)
		if err != nil {
			return fmt.Errorf(".parts[%d]%w", j, err)
		}
		switch p := p.(type) {
		case llm.ToolCall:
			var g geminiPart
			_ = json.Unmarshal(raw, &g) // as it was before
			if calls++; calls == 1 {
				c.first = append(c.first, geminiFirst{i, p.Name, g.Signature})
			}
		case llm.ToolResult:
			responses++
		case llm.Text:
			said = said || m.Role == "user"
		}
		role := llm.RoleUser
		if m.Role == "model" {
			role = llm.RoleAssistant
		}
		if t, ok := p.(llm.Text); !ok || t.Text != "" {
			c.add(role, p)
		}
	}
	if responses != c.called {
		return fmt.Errorf(": please ensure that the number of function response parts is equal to the number of function call parts of the function call turn: %d, not %d", c.called, responses)
	}
	if said && responses == 0 {
		c.turn = i
	}
	c.called, c.last = calls, m.Role
	return nil
}

func (c *geminiCheck) part(raw json.RawMessage, role string) (llm.Part, error) {
	var p geminiPart
	if err := json.Unmarshal(raw, &p); err != nil {
		return nil, fmt.Errorf(": %w", err)
	}
	if _, err := base64.StdEncoding.DecodeString(p.Signature); err != nil && !dummySignature(p.Signature) {
		return nil, fmt.Errorf(".thought_signature: base64 decoding failed")
	}
	if kinds := p.kinds(); kinds > 1 {
		return nil, fmt.Errorf(": oneof field 'data' is already set: %d kinds of data in one part", kinds)
	}
	switch {
	case p.Call != nil:
		return c.functionCall(p, role)
	case p.Response != nil:
		return c.functionResponse(p, role)
	case p.Text != nil:
		if *p.Text == "" && p.Signature == "" {
			return nil, fmt.Errorf(".text: must not be empty")
		}
		if p.Thought {
			if role != "model" {
				return nil, fmt.Errorf(".thought: only in contents of the model")
			}
			return llm.Thinking{Text: *p.Text, Signature: p.Signature}, nil
		}
		return llm.Text{Text: *p.Text}, nil
	case p.Inline != nil:
		data, err := base64.StdEncoding.DecodeString(p.Inline.Data)
		if err != nil || len(data) == 0 || p.Inline.MIME == "" {
			return nil, fmt.Errorf(".inline_data: must have a mime_type, and data in base64")
		}
		return llm.Blob{MIME: p.Inline.MIME, Data: data}, nil
	case p.File != nil:
		if p.File.URI == "" {
			return nil, fmt.Errorf(".file_data.file_uri: must not be empty")
		}
		return llm.Blob{MIME: p.File.MIME, URL: p.File.URI}, nil
	}
	var one map[string]json.RawMessage
	_ = json.Unmarshal(raw, &one) // as it was before
	for _, kind := range []string{"executableCode", "codeExecutionResult", "toolCall", "toolResponse"} {
		if _, ok := one[kind]; ok {
			return llm.Native{Wire: WireGemini, Kind: kind, Raw: raw}, nil
		}
	}
	return nil, fmt.Errorf(".data: required oneof field 'data' must have one initialized field")
}

func (p geminiPart) kinds() (n int) {
	for _, has := range []bool{p.Text != nil, p.Call != nil, p.Response != nil, p.Inline != nil, p.File != nil} {
		if has {
			n++
		}
	}
	return n
}

func (c *geminiCheck) functionCall(p geminiPart, role string) (llm.Part, error) {
	if role != "model" {
		return nil, fmt.Errorf(".function_call: only in contents of the model")
	}
	if !geminiNames.MatchString(p.Call.Name) {
		return nil, fmt.Errorf(".function_call.name: %q does not match %s", p.Call.Name, geminiNames)
	}
	in := p.Call.Args
	if in == nil {
		in = json.RawMessage("{}")
	}
	var args map[string]json.RawMessage
	if json.Unmarshal(in, &args) != nil || args == nil {
		return nil, fmt.Errorf(".function_call.args: must be an object, not %s", describe(in))
	}
	return c.call(llm.ToolCall{ID: p.Call.ID, Name: p.Call.Name, Input: in}), nil
}

func (c *geminiCheck) functionResponse(p geminiPart, role string) (llm.Part, error) {
	r := p.Response
	var body map[string]json.RawMessage
	switch {
	case role != "user":
		return nil, fmt.Errorf(".function_response: only in contents of the user")
	case r.Name == "":
		return nil, fmt.Errorf(".function_response.name: name cannot be empty")
	case json.Unmarshal(r.Response, &body) != nil || body == nil:
		return nil, fmt.Errorf(".function_response.response: must be an object, not %s", describe(r.Response))
	case len(c.open) == 0:
		return nil, fmt.Errorf(": please ensure that function response turn comes immediately after a function call turn")
	}
	id := r.ID
	if id == "" {
		id = c.open[0] // those without an id are matched by their order
	}
	if !c.answer(id) {
		return nil, fmt.Errorf(".function_response.id: %q is of no function call of the turn before", r.ID)
	}
	if name := c.name(id); name != r.Name {
		return nil, fmt.Errorf(".function_response.name: %q, but the call was of %q", r.Name, name)
	}
	res := llm.ToolResult{CallID: id, Name: r.Name}
	for _, key := range []string{"output", "result", "error"} {
		var text string
		if raw, ok := body[key]; ok {
			if json.Unmarshal(raw, &text) != nil {
				text = string(raw)
			}
			res.Parts, res.IsError = llm.Texts(text), key == "error"
		}
	}
	if res.Parts == nil {
		res.Parts = llm.Texts(string(r.Response))
	}
	return res, nil
}

// signed wants the signatures of the current turn's calls to have come back,
// on the call that they came with.
func (c *geminiCheck) signed() error {
	for _, f := range c.first {
		switch {
		case oldGemini(c.model) && f.signature == "" || f.at < c.turn && f.signature == "":
		case f.signature == CallSignature(f.name), f.signature == "":
			if f.signature == "" {
				return fmt.Errorf("contents[%d]: function call %q is missing a thought_signature", f.at, f.name)
			}
		case dummySignature(f.signature):
		default:
			return fmt.Errorf("contents[%d]: thought signature of function call %q is not valid", f.at, f.name)
		}
	}
	return nil
}

// dummySignature says whether s is one of the two that the provider documents
// for calls that another model made, as it stands or in base64 like others.
func dummySignature(s string) bool {
	if b, err := base64.StdEncoding.DecodeString(s); err == nil && len(b) > 0 && b[0] < 0x80 {
		s = string(b)
	}
	return s == "skip_thought_signature_validator" || s == "context_engineering_is_the_way_to_go"
}
