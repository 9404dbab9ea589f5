package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/internal/wire"
)

// minOutput is the least max_output_tokens that the wire takes.
const minOutput = 16

// body encodes req. The body of a request that extends another starts with the
// other's bytes up to the end of its input.
func (m *Responses) body(req *llm.Request) (*wire.Body, error) {
	if len(req.Stop) > 0 {
		return nil, errors.New("the wire " + WireResponses + " has no stop sequences: leave Request.Stop empty, or use the wire " + WireChat)
	}
	reasoning, minimal := m.reasoning(req.Effort)
	req = wire.Hosted(req, func(tool string) bool {
		return m.info.Traits.Hosts(tool) && !minimal && !m.lessons.Refused(tool)
	})
	var o wire.Body
	o.Value("model", m.info.Name)
	o.Value("stream", true)
	if !m.profile.NoInclude {
		if !m.lessons.Refused("store") {
			o.Value("store", false)
		}
		if !m.lessons.Refused("include") {
			o.Raw("include", []byte(`["reasoning.encrypted_content"]`))
		}
	}
	if req.MaxTokens > 0 && !m.lessons.Refused("max_output_tokens") {
		o.Value("max_output_tokens", max(req.MaxTokens, minOutput))
	}
	if req.Temperature != nil && !m.info.Traits.NoTemperature && !m.lessons.Refused("temperature") {
		o.Value("temperature", *req.Temperature)
	}
	o.Raw("reasoning", reasoning)
	if s := req.Schema; s != nil && m.info.Traits.Schema {
		b := wire.AppendString([]byte(`{"format":{"type":"json_schema","name":`), s.Name)
		o.Raw("text", append(append(append(b, `,"schema":`...), s.JSON...), "}}"...))
	}
	cached := m.profile.CacheKey || m.profile.ResponsesCacheKey
	if cached && req.CacheKey != "" && !m.lessons.Refused("prompt_cache_key") {
		o.Value("prompt_cache_key", req.CacheKey)
	}
	if r := m.opts.CacheRetention; r != "" && cached && !m.lessons.Refused("prompt_cache_retention") {
		o.Value("prompt_cache_retention", r)
	}
	if f := m.profile.UserField; req.User != "" && !m.lessons.Refused(f) {
		o.Value(f, req.User)
	}
	if len(req.Tools) > 0 {
		tools, err := m.tools(req)
		if err != nil {
			return nil, err
		}
		o.Raw("tools", tools)
		o.Raw("tool_choice", m.choice(req))
	}
	if req.System != "" {
		o.Raw("instructions", wire.AppendString(nil, req.System))
	}
	input, err := m.input(req.Messages)
	if err != nil {
		return nil, err
	}
	o.Pieces("input", input)
	return &o, o.Merge(req.Extra[WireResponses])
}

// reasoning is how the model is told to think. minimal is an effort with which
// it does not search.
func (m *Responses) reasoning(e llm.Effort) (raw []byte, minimal bool) {
	if !m.info.Traits.Thinking || m.lessons.Refused("reasoning") {
		return nil, false
	}
	var o wire.Body
	word := string(e)
	switch {
	case e == llm.EffortOff:
		word = "none"
	case m.profile.Minimal:
	case e == llm.EffortMinimal:
		word = "low"
	case e == llm.EffortXHigh:
		word = "high"
	}
	if word = m.info.Traits.EffortWord(e, word); word != "" && !m.lessons.Refused("reasoning.effort") {
		o.Value("effort", word)
		minimal = word == "minimal"
	}
	if m.profile.Summary && e != llm.EffortOff && !m.lessons.Refused("reasoning.summary") {
		o.Value("summary", "auto")
	}
	if b := o.Bytes(); len(b) > 2 {
		return b, minimal
	}
	return nil, minimal
}

// custom reports whether t is sent as a custom tool.
func (m *Responses) custom(t llm.ToolSpec) bool { return len(t.Format) > 0 && m.profile.Custom }

func (m *Responses) choice(req *llm.Request) []byte {
	switch c := req.ToolChoice; c.Mode {
	case llm.ChoiceNone:
		return []byte(`"none"`)
	case llm.ChoiceAny:
		return []byte(`"required"`)
	case llm.ChoiceTool:
		kind := "function"
		for _, t := range req.Tools {
			switch {
			case t.Name != c.Name:
			case t.Hosted != "":
				return m.search()
			case m.custom(t):
				kind = "custom"
			}
		}
		return append(wire.AppendString([]byte(`{"type":"`+kind+`","name":`), c.Name), '}')
	}
	return nil
}

// search is the server's own tool, and the choice of it.
func (m *Responses) search() []byte {
	return append(wire.AppendString([]byte(`{"type":`), m.profile.ResponsesSearch), '}')
}

func (m *Responses) tools(req *llm.Request) ([]byte, error) {
	// A tool that must be called cannot be one that is yet to be found.
	deferred := func(t llm.ToolSpec) bool {
		return t.Deferred && t.Hosted == "" && m.profile.ToolSearch && !(req.ToolChoice.Mode == llm.ChoiceTool && req.ToolChoice.Name == t.Name)
	}
	search := false
	for _, t := range req.Tools {
		search = search || deferred(t)
	}
	search = search && !m.lessons.Refused("tool_search")
	b := []byte{'['}
	if search {
		b = append(b, `{"type":"tool_search"}`...)
	}
	for _, t := range req.Tools {
		if len(b) > 1 {
			b = append(b, ',')
		}
		if t.Hosted != "" {
			b = append(b, m.search()...)
			continue
		}
		kind := "function"
		if m.custom(t) {
			kind = "custom"
		}
		b = wire.AppendString(append(b, `{"type":"`+kind+`","name":`...), t.Name)
		if t.Description != "" {
			b = wire.AppendString(append(b, `,"description":`...), t.Description)
		}
		if kind == "custom" {
			if !json.Valid(t.Format) {
				return nil, fmt.Errorf("the format of the tool %q is not JSON", t.Name)
			}
			b = append(append(b, `,"format":`...), flatFormat(t.Format)...)
		} else {
			schema := t.Input
			switch {
			case len(bytes.TrimSpace(schema)) == 0:
				schema = json.RawMessage(`{"type":"object","properties":{}}`)
			case !json.Valid(schema):
				return nil, fmt.Errorf("the input schema of the tool %q is not JSON", t.Name)
			}
			// Strict is the wire's default, and rewrites schemas.
			b = append(append(append(b, `,"parameters":`...), schema...), `,"strict":false`...)
		}
		if search && deferred(t) {
			b = append(b, `,"defer_loading":true`...)
		}
		b = append(b, '}')
	}
	return append(b, ']'), nil
}

// flatFormat is the format of a custom tool as Responses has it. In Chat
// Completions the grammar is an object of its own.
func flatFormat(format json.RawMessage) json.RawMessage {
	var f struct {
		Type    string          `json:"type"`
		Grammar json.RawMessage `json:"grammar"`
	}
	if json.Unmarshal(format, &f) != nil || !set(f.Grammar) {
		return format
	}
	var o wire.Body
	o.Value("type", f.Type)
	if o.Merge(f.Grammar) != nil {
		return format
	}
	return o.Bytes()
}

// input is the encoded conversation, as pieces that nobody copies.
func (m *Responses) input(messages []llm.Message) (wire.Pieces, error) {
	out := append(make(wire.Pieces, 0, len(messages)+2), []byte{'['})
	key := m.key
	plain := m.plain.Load()
	if plain {
		key += " plain"
	}
	var free map[string]bool // the calls before a message that were custom
	for i := range messages {
		msg := &messages[i]
		k := key
		if msg.Role == llm.RoleAssistant {
			free = m.free(msg)
		} else if len(free) > 0 {
			var ids strings.Builder
			for _, p := range msg.Parts {
				if r, ok := p.(llm.ToolResult); ok && free[r.CallID] {
					ids.WriteString(" " + r.CallID)
				}
			}
			k += ids.String()
		}
		enc, err := msg.Encoded(k, func() ([]byte, error) {
			if msg.Role == llm.RoleAssistant {
				return m.said(msg, plain), nil
			}
			return m.heard(msg, free), nil
		})
		if err != nil {
			return nil, fmt.Errorf("message %d: %w", i+1, err)
		}
		if len(enc) == 0 {
			continue
		}
		if len(out) == 1 {
			enc = enc[1:] // without its comma
		}
		out = append(out, enc)
	}
	return append(out, []byte{']'}), nil
}

// free are the ids of the calls of a message that go back as custom calls.
func (m *Responses) free(msg *llm.Message) map[string]bool {
	var out map[string]bool
	for _, p := range msg.Parts {
		if c, ok := p.(llm.ToolCall); ok && c.Custom && (m.profile.Custom || m.native(msg.Origin)) {
			if out == nil {
				out = map[string]bool{}
			}
			out[c.ID] = true
		}
	}
	return out
}
