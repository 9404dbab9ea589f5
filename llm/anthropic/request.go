package anthropic

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/internal/wire"
)

const (
	// defaultOutput is max_tokens, which the wire requires, where neither the
	// request nor the model's Info says one; visibleOutput is the most that is
	// asked for by default besides thinking.
	defaultOutput = 8192
	visibleOutput = 32_000
	// minBudget is the least budget of thinking that the wire takes.
	minBudget = 1024
)

// budgets are the thinking tokens of each effort.
var budgets = map[llm.Effort]int{
	llm.EffortMinimal: 2048, llm.EffortLow: 4096, llm.EffortMedium: 8192, llm.EffortHigh: 16384, llm.EffortXHigh: 32768,
}

// adaptive are the words for each effort of models that take one.
var adaptive = map[llm.Effort]string{
	llm.EffortMinimal: "low", llm.EffortLow: "low", llm.EffortMedium: "medium", llm.EffortHigh: "high", llm.EffortXHigh: "max",
}

// body encodes req, for an answer or only to count its tokens. The messages
// come last, so that with the cache marks taken out the body of a request that
// extends another starts with the other's bytes, up to the end of its
// messages.
func (m *Model) body(req *llm.Request, count bool) (*wire.Body, error) {
	req = wire.Hosted(req, func(tool string) bool { return m.info.Traits.Hosts(tool) && !m.lessons.Refused(tool) })
	var o wire.Body
	if m.opts.BodyVersion != "" {
		o.Value("anthropic_version", m.opts.BodyVersion)
	}
	if m.opts.BodyVersion == "" || count {
		o.Value("model", m.info.Name)
	}
	if framed := m.opts.Framing.New != nil; framed && len(m.opts.Beta) > 0 {
		o.Value("anthropic_beta", m.opts.Beta)
	} else if !framed && !count {
		o.Value("stream", true)
	}
	think := m.thinking(req)
	if !count {
		o.Value("max_tokens", think.maxTokens)
	}
	o.Raw("thinking", think.raw)
	if !count {
		o.Raw("output_config", m.outputConfig(req, think))
		if req.Temperature != nil && !m.info.Traits.NoTemperature && !think.on && !m.lessons.Refused("temperature") {
			o.Value("temperature", *req.Temperature)
		}
		if len(req.Stop) > 0 {
			o.Value("stop_sequences", req.Stop)
		}
	}
	if req.User != "" && !count && !m.lessons.Refused("metadata") {
		o.Raw("metadata", append(wire.AppendString([]byte(`{"user_id":`), req.User), '}'))
	}
	o.Raw("tool_choice", choice(req))
	marks := m.marks(req)
	tools, err := m.tools(req.Tools, marks)
	if err != nil {
		return nil, err
	}
	o.Raw("tools", tools)
	if req.System != "" {
		b := append([]byte(`[{"type":"text","text":`), wire.AppendString(nil, req.System)...)
		if marks.system {
			b = append(b, m.mark()...)
		}
		o.Raw("system", append(b, "}]"...))
	}
	msgs, err := m.messages(req.Messages, marks)
	if err != nil {
		return nil, err
	}
	o.Pieces("messages", msgs)
	if count {
		return &o, nil // extra fields are for an answer
	}
	return &o, o.Merge(req.Extra[Wire])
}

// thought is what is asked of a model's thinking.
type thought struct {
	on        bool
	raw       []byte // the thinking field
	effort    string // in words
	maxTokens int
}

func (m *Model) thinking(req *llm.Request) thought {
	limit := m.info.Output
	if limit <= 0 {
		limit = 1 << 30
	}
	t := thought{maxTokens: min(req.MaxTokens, limit)}
	if req.MaxTokens <= 0 {
		t.maxTokens = defaultOutput
		if m.info.Output > 0 {
			t.maxTokens = min(m.info.Output, visibleOutput)
		}
	}
	effort, known := budgets[req.Effort]
	words, takes := m.lessons.AdaptiveThinking(m.info.Traits.ThinkingStyle == "adaptive")
	switch {
	case !m.info.Traits.Thinking || !takes:
		return t
	case req.Effort == llm.EffortOff:
		if m.info.Traits.EffortWord(req.Effort, "disabled") == "" || m.lessons.Refused("thinking.type.disabled") {
			return t // it cannot stop thinking, and refuses to be told so
		}
		t.raw = []byte(`{"type":"disabled"}`)
		return t
	case !known:
		return t
	case words:
		if !m.lessons.Refused("output_config.effort") {
			t.effort = m.info.Traits.EffortWord(req.Effort, adaptive[req.Effort])
		}
		if forced(req) {
			return t
		}
		t.on, t.raw = true, []byte(`{"type":"adaptive"}`)
		return t
	case forced(req) || unsignedLoop(req.Messages, m):
		// Both are refused together with a budget.
		return t
	}
	// The budget is a part of max_tokens and less than the whole.
	if req.MaxTokens <= 0 {
		t.maxTokens = min(max(t.maxTokens, defaultOutput)+effort, limit)
	}
	if effort >= t.maxTokens {
		effort = t.maxTokens / 2
	}
	if effort < minBudget {
		return t
	}
	t.on, t.raw = true, fmt.Appendf(nil, `{"type":"enabled","budget_tokens":%d}`, effort)
	return t
}

func forced(req *llm.Request) bool {
	return len(req.Tools) > 0 && (req.ToolChoice.Mode == llm.ChoiceAny || req.ToolChoice.Mode == llm.ChoiceTool)
}

// unsignedLoop reports whether the conversation ends in a turn, calls and
// their results, that did not begin with thinking that this model takes back,
// as after a switch of the model or of the effort within the turn. The wire
// wants such a turn to go on without thinking.
func unsignedLoop(ms []llm.Message, m *Model) bool {
	var first llm.Message // of the turn, by the model
	for i := len(ms) - 1; i >= 0; i-- {
		if ms[i].Role == llm.RoleAssistant {
			first = ms[i]
		} else if !hasResult(ms[i].Parts) {
			break
		}
	}
	return first.Role != "" && len(first.Parts.Calls()) > 0 && !m.signed(first)
}

func hasResult(ps llm.Parts) bool {
	for _, p := range ps {
		if _, ok := p.(llm.ToolResult); ok {
			return true
		}
	}
	return false
}

func (m *Model) signed(msg llm.Message) bool {
	if !m.native(msg.Origin) {
		return false
	}
	for _, p := range msg.Parts {
		if t, ok := p.(llm.Thinking); ok && (t.Signature != "" || len(t.Raw) > 0) {
			return true
		}
	}
	return false
}

func (m *Model) outputConfig(req *llm.Request, t thought) []byte {
	var o wire.Body
	if t.effort != "" {
		o.Value("effort", t.effort)
	}
	if req.Schema != nil && m.info.Traits.Schema {
		var f wire.Body
		f.Value("type", "json_schema")
		f.Raw("schema", req.Schema.JSON)
		o.Raw("format", f.Bytes())
	}
	if b := o.Bytes(); len(b) > 2 {
		return b
	}
	return nil
}

func choice(req *llm.Request) []byte {
	if len(req.Tools) == 0 {
		return nil
	}
	switch c := req.ToolChoice; c.Mode {
	case llm.ChoiceNone:
		return []byte(`{"type":"none"}`)
	case llm.ChoiceAny:
		return []byte(`{"type":"any"}`)
	case llm.ChoiceTool:
		for _, t := range req.Tools {
			if t.Name == c.Name && t.Hosted != "" {
				c.Name = t.Hosted
			}
		}
		return append(wire.AppendString([]byte(`{"type":"tool","name":`), c.Name), '}')
	}
	return nil
}

// webSearch is the provider's own tool, without its closing brace. Its name is
// fixed.
const webSearch = `{"type":"web_search_20250305","name":"web_search"`

func (m *Model) tools(ts []llm.ToolSpec, marks marks) ([]byte, error) {
	if len(ts) == 0 {
		return nil, nil
	}
	b := []byte{'['}
	for i, t := range ts {
		if i > 0 {
			b = append(b, ',')
		}
		if t.Hosted != "" {
			b = append(b, webSearch...)
			if i == len(ts)-1 && marks.tools {
				b = append(b, m.mark()...)
			}
			b = append(b, '}')
			continue
		}
		b = wire.AppendString(append(b, `{"name":`...), t.Name)
		if t.Description != "" {
			b = wire.AppendString(append(b, `,"description":`...), t.Description)
		}
		schema := t.Input
		switch {
		case len(bytes.TrimSpace(schema)) == 0:
			schema = json.RawMessage(`{"type":"object"}`)
		case !json.Valid(schema):
			return nil, fmt.Errorf("the input schema of the tool %q is not JSON", t.Name)
		}
		b = append(append(b, `,"input_schema":`...), schema...)
		if i == len(ts)-1 && marks.tools {
			b = append(b, m.mark()...)
		}
		b = append(b, '}')
	}
	return append(b, ']'), nil
}

// The pieces between the messages, made once.
var (
	first  = []byte("[")
	comma  = []byte(",")
	last   = []byte("]")
	goesOn = []byte(`{"role":"user","content":[{"type":"text","text":"(The conversation goes on.)"}]}`)
)

// messages are the encoded messages, as pieces that nobody copies. Neighbours
// of one role make one message, since the wire wants the roles to alternate,
// with the results of all of them before their other blocks, since it wants
// that too. The ends of the last two user messages are marked: the last for the
// next request, the one before to find again what was marked last time, however
// many blocks have come since.
func (m *Model) messages(ms []llm.Message, marks marks) (wire.Pieces, error) {
	out := append(make(wire.Pieces, 0, len(ms)+16), first)
	var group []encoded // neighbours
	var role llm.Role
	var ends [2]int // of the last two user messages, in out
	flush := func() {
		if len(group) == 0 {
			return
		}
		if len(out) == 1 && role == llm.RoleAssistant {
			// What was said before is gone; the wire wants the user first.
			out = append(out, goesOn)
		}
		at := len(out)
		if len(group) == 1 {
			out = append(out, group[0].message())
		} else {
			out = merge(out, group)
		}
		if at == 1 {
			out[1] = out[1][len(comma):]
		}
		if role == llm.RoleUser {
			ends = [2]int{ends[1], len(out) - 1}
		}
		group = group[:0]
	}
	ms = wire.Distinct(ms)
	for i := range ms {
		msg := &ms[i]
		if msg.Role != llm.RoleUser && msg.Role != llm.RoleAssistant {
			return nil, fmt.Errorf("message %d has the role %q: must be user or assistant", i+1, msg.Role)
		}
		b, err := msg.Encoded(m.key, func() ([]byte, error) { return m.encode(msg), nil })
		if err != nil {
			return nil, fmt.Errorf("message %d: %w", i+1, err)
		}
		e := encoded(b)
		if e.empty() {
			continue
		}
		if msg.Role != role {
			flush()
			role = msg.Role
		}
		group = append(group, e)
	}
	flush()
	if len(out) == 1 {
		return nil, errors.New("no message has any content")
	}
	if marks.end {
		for _, at := range [...]int{ends[1], ends[0]} {
			if at > 0 {
				// Before the closing brace of the last block.
				b := out[at]
				out[at] = b[:len(b)-len("}")-len(closing)]
				out = slices.Insert(out, at+1, []byte(m.mark()+"}"+closing))
			}
		}
	}
	return append(out, last), nil
}

// merge adds neighbours as one message.
func merge(out wire.Pieces, es []encoded) wire.Pieces {
	out = append(out, es[0].head())
	n := len(out)
	var from encoded // what was added last
	add := func(e encoded, b []byte) {
		if len(b) == 0 {
			return
		}
		if len(out) > n {
			out = append(out, comma)
		}
		out, from = append(out, b), e
	}
	for _, e := range es {
		add(e, e.results())
	}
	for _, e := range es {
		add(e, e.others())
	}
	// What was added last is also the end of its message.
	end := out[len(out)-1]
	out[len(out)-1] = from[len(from)-len(closing)-len(end):]
	return out
}
