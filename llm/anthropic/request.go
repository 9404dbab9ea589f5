package anthropic

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/internal/wire"
)

// defaultOutput is max_tokens, which the wire requires, where neither the
// request nor the model's Info says one.
const defaultOutput = 8192

// budgets are the thinking tokens of each effort.
var budgets = map[llm.Effort]int{
	llm.EffortMinimal: 2048, llm.EffortLow: 4096, llm.EffortMedium: 8192, llm.EffortHigh: 16384, llm.EffortXHigh: 32768,
}

// adaptive are the words for each effort of models that take one.
var adaptive = map[llm.Effort]string{
	llm.EffortMinimal: "low", llm.EffortLow: "low", llm.EffortMedium: "medium", llm.EffortHigh: "high", llm.EffortXHigh: "max",
}

// body encodes req. With the cache marks taken out, the body of a request that
// extends another starts with the other's bytes up to the end of its messages.
func (m *Model) body(req *llm.Request) ([]byte, error) {
	var o wire.Body
	o.Value("model", m.info.Name)
	o.Value("stream", true)
	maxTokens := req.MaxTokens
	if maxTokens <= 0 {
		maxTokens = m.info.Output
	}
	if maxTokens <= 0 {
		maxTokens = defaultOutput
	}
	thinks := m.thinking(&o, req.Effort, &maxTokens)
	o.Value("max_tokens", maxTokens)
	if req.Temperature != nil && !m.info.Traits.NoTemperature && !thinks {
		o.Value("temperature", *req.Temperature)
	}
	if len(req.Stop) > 0 {
		o.Value("stop_sequences", req.Stop)
	}
	o.Raw("tool_choice", choice(req, thinks))
	o.Raw("tools", m.tools(req.Tools))
	if req.System != "" {
		b := append([]byte(`[{"type":"text","text":`), wire.AppendString(nil, req.System)...)
		o.Raw("system", append(append(b, m.mark()...), "}]"...))
	}
	msgs, err := m.messages(req.Messages)
	if err != nil {
		return nil, err
	}
	o.Raw("messages", msgs)
	return wire.Merge(o.Bytes(), req.Extra[Wire])
}

// thinking writes the effort and reports whether the model will think.
func (m *Model) thinking(o *wire.Body, e llm.Effort, maxTokens *int) bool {
	switch {
	case e == "" || !m.info.Traits.Thinking && !m.opts.Adaptive:
		return false
	case e == llm.EffortOff:
		o.Raw("thinking", []byte(`{"type":"disabled"}`))
		return false
	case m.opts.Adaptive:
		o.Raw("thinking", []byte(`{"type":"adaptive"}`))
		o.Raw("output_config", []byte(`{"effort":"`+adaptive[e]+`"}`))
		return true
	}
	n := budgets[e]
	if *maxTokens <= n { // the budget is part of max_tokens
		*maxTokens = n + defaultOutput
		if limit := m.info.Output; limit > 0 && *maxTokens > limit {
			*maxTokens = limit
			n = min(n, max(limit-1024, 1024))
		}
	}
	o.Raw("thinking", fmt.Appendf(nil, `{"type":"enabled","budget_tokens":%d}`, n))
	return true
}

func choice(req *llm.Request, thinks bool) []byte {
	if len(req.Tools) == 0 {
		return nil
	}
	switch c := req.ToolChoice; c.Mode {
	case llm.ChoiceNone:
		return []byte(`{"type":"none"}`)
	case llm.ChoiceAny:
		if !thinks { // refused together with thinking
			return []byte(`{"type":"any"}`)
		}
	case llm.ChoiceTool:
		if !thinks {
			return append(wire.AppendString([]byte(`{"type":"tool","name":`), c.Name), '}')
		}
	}
	return nil
}

func (m *Model) mark() string {
	switch {
	case m.opts.NoCache:
		return ""
	case m.opts.CacheTTL != "":
		return `,"cache_control":{"type":"ephemeral","ttl":` + string(wire.AppendString(nil, m.opts.CacheTTL)) + `}`
	}
	return `,"cache_control":{"type":"ephemeral"}`
}

func (m *Model) tools(ts []llm.ToolSpec) []byte {
	if len(ts) == 0 {
		return nil
	}
	b := []byte{'['}
	for i, t := range ts {
		if i > 0 {
			b = append(b, ',')
		}
		b = wire.AppendString(append(b, `{"name":`...), t.Name)
		if t.Description != "" {
			b = wire.AppendString(append(b, `,"description":`...), t.Description)
		}
		schema := t.Input
		if len(schema) == 0 {
			schema = json.RawMessage(`{"type":"object"}`)
		}
		b = append(append(b, `,"input_schema":`...), schema...)
		if i == len(ts)-1 {
			b = append(b, m.mark()...)
		}
		b = append(b, '}')
	}
	return append(b, ']')
}

// messages joins the encoded blocks of the messages; neighbours of one role
// make one message, since the wire wants the roles to alternate.
func (m *Model) messages(ms []llm.Message) ([]byte, error) {
	var b []byte
	role := llm.Role("")
	lastBlock := -1 // where the last block of the last user message ends
	for i, msg := range ms {
		blocks, err := m.blocks(msg)
		if err != nil {
			return nil, fmt.Errorf("message %d: %w", i+1, err)
		}
		if len(blocks) == 0 {
			continue
		}
		if msg.Role == role {
			b = append(b, ',')
		} else {
			if role != "" {
				b = append(b, "]},"...)
			}
			b = append(append(append(b, `{"role":"`...), msg.Role...), `","content":[`...)
			role = msg.Role
		}
		b = append(b, blocks...)
		if msg.Role == llm.RoleUser {
			lastBlock = len(b)
		}
	}
	if role == "" {
		return []byte("[]"), nil
	}
	if mark := m.mark(); mark != "" && lastBlock > 0 {
		b = append(b, mark...) // room
		copy(b[lastBlock-1+len(mark):], b[lastBlock-1:len(b)-len(mark)])
		copy(b[lastBlock-1:], mark)
	}
	out := make([]byte, 0, len(b)+4)
	return append(append(append(out, '['), b...), "]}]"...), nil
}

// blocks are the content blocks of a message, joined by commas.
func (m *Model) blocks(msg llm.Message) ([]byte, error) {
	return msg.Encoded(m.key, func() ([]byte, error) {
		native := m.native(msg.Origin)
		var b []byte
		add := func(raw []byte) {
			if len(b) > 0 {
				b = append(b, ',')
			}
			b = append(b, raw...)
		}
		// The wire wants the results first.
		for _, p := range msg.Parts {
			if r, ok := p.(llm.ToolResult); ok {
				add(m.result(r))
			}
		}
		for _, p := range msg.Parts {
			if _, ok := p.(llm.ToolResult); ok {
				continue
			}
			raw, err := m.block(p, native)
			if err != nil {
				return nil, err
			}
			if raw != nil {
				add(raw)
			}
		}
		return b, nil
	})
}

// native reports whether opaque blocks of a message may go back to this model.
func (m *Model) native(o *llm.Origin) bool {
	return o != nil && o.Wire == Wire && (o.Provider == "" || o.Provider == m.info.Provider) &&
		(o.Model == "" || family(o.Model) == family(m.info.Name))
}

// family is a model's name without what changes from release to release: a
// signature is good within it.
func family(name string) string {
	for _, f := range []string{"opus", "sonnet", "haiku", "fable"} {
		if strings.Contains(name, f) {
			return f
		}
	}
	return name
}

func (m *Model) block(p llm.Part, native bool) ([]byte, error) {
	switch p := p.(type) {
	case llm.Text:
		if native && len(p.Raw) > 0 {
			return p.Raw, nil
		}
		if strings.TrimSpace(p.Text) == "" {
			return nil, nil
		}
		return append(wire.AppendString([]byte(`{"type":"text","text":`), p.Text), '}'), nil
	case llm.Thinking:
		switch {
		case !native:
			return nil, nil
		case len(p.Raw) > 0:
			return p.Raw, nil
		case p.Signature == "":
			return nil, nil // unsigned thinking is refused
		}
		b := wire.AppendString([]byte(`{"type":"thinking","thinking":`), p.Text)
		return append(wire.AppendString(append(b, `,"signature":`...), p.Signature), '}'), nil
	case llm.Blob:
		return m.blob(p)
	case llm.ToolCall:
		input := p.Input
		if p.Custom || len(input) == 0 || input[0] != '{' {
			input = append(append([]byte(`{"input":`), input...), '}')
			if len(p.Input) == 0 {
				input = []byte("{}")
			}
		}
		if native && len(p.Raw) > 0 {
			return p.Raw, nil
		}
		b := wire.AppendString([]byte(`{"type":"tool_use","id":`), safeID(p.ID))
		b = wire.AppendString(append(b, `,"name":`...), safeName(p.Name))
		return append(append(append(b, `,"input":`...), bytes.TrimSpace(input)...), '}'), nil
	case llm.Native:
		if native && p.Wire == Wire {
			return p.Raw, nil
		}
	}
	return nil, nil // of another wire or a later version
}

func (m *Model) blob(p llm.Blob) ([]byte, error) {
	kind := "image"
	switch {
	case p.MIME == "application/pdf":
		kind = "document"
		if !m.info.Traits.PDF {
			return note(p, "documents"), nil
		}
	case !strings.HasPrefix(p.MIME, "image/"):
		return note(p, "files of this type"), nil
	case !m.info.Traits.Images:
		return note(p, "images"), nil
	}
	b := []byte(`{"type":"` + kind + `","source":{`)
	if p.URL != "" {
		b = wire.AppendString(append(b, `"type":"url","url":`...), p.URL)
	} else {
		b = wire.AppendString(append(b, `"type":"base64","media_type":`...), p.MIME)
		b = append(b, `,"data":"`...)
		b = base64.StdEncoding.AppendEncode(b, p.Data)
		b = append(b, '"')
	}
	return append(b, "}}"...), nil
}

// note stands for a blob that the model cannot take.
func note(p llm.Blob, what string) []byte {
	name := p.Name
	if name == "" {
		name = p.MIME
	}
	return append(wire.AppendString([]byte(`{"type":"text","text":`), "["+name+" was left out: this model takes no "+what+"]"), '}')
}

func (m *Model) result(r llm.ToolResult) []byte {
	b := wire.AppendString([]byte(`{"type":"tool_result","tool_use_id":`), safeID(r.CallID))
	b = append(b, `,"content":[`...)
	n := 0
	for _, p := range r.Parts {
		var raw []byte
		switch p := p.(type) {
		case llm.Text, llm.Blob:
			raw, _ = m.block(p, false) // neither can fail
		}
		if raw == nil {
			continue
		}
		if n++; n > 1 {
			b = append(b, ',')
		}
		b = append(b, raw...)
	}
	if n == 0 {
		b = append(b, `{"type":"text","text":"(no output)"}`...)
	}
	b = append(b, ']')
	if r.IsError {
		b = append(b, `,"is_error":true`...)
	}
	return append(b, '}')
}

// safeID maps an id to the alphabet that the wire takes: the same id always to
// the same, and different ones to different ones.
func safeID(id string) string {
	ok := id != "" && len(id) <= 128
	for i := range len(id) {
		if !idByte(id[i]) {
			ok = false
		}
	}
	if ok {
		return id
	}
	return "call_" + strings.TrimRight(base64.RawURLEncoding.EncodeToString([]byte(id)), "=")
}

func safeName(name string) string {
	out := []byte(name)
	for i, c := range out {
		if !idByte(c) {
			out[i] = '_'
		}
	}
	if len(out) == 0 {
		return "unnamed"
	}
	return string(out[:min(len(out), 128)])
}

func idByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}
