package gemini

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/internal/wire"
)

// body encodes req. The messages come last, so that the body of a request that
// extends another starts with the other's bytes up to the end of its messages.
func (m *Model) body(req *llm.Request) (*wire.Body, error) {
	req = wire.Hosted(req, func(tool string) bool { return m.hosts(req, tool) })
	extra := map[string]json.RawMessage{}
	if raw := bytes.TrimSpace(req.Extra[Wire]); len(raw) > 0 && string(raw) != "null" {
		if err := json.Unmarshal(raw, &extra); err != nil {
			return nil, fmt.Errorf("the extra fields for %s are no JSON object: %w", Wire, err)
		}
	}
	var o wire.Body
	for _, f := range []struct {
		name string
		make func(*llm.Request) ([]byte, error)
	}{
		{"generationConfig", m.generationConfig},
		{"toolConfig", m.toolConfig},
	} {
		v, err := f.make(req)
		if err != nil {
			return nil, err
		}
		if more := extra[f.name]; len(v) > 0 && len(more) > 0 && string(more) != "null" {
			if v, err = wire.Merge(v, more); err != nil {
				return nil, fmt.Errorf("the extra fields for %s: %s: %w", Wire, f.name, err)
			}
			delete(extra, f.name)
		}
		o.Raw(f.name, v)
	}
	tools, err := tools(req.Tools)
	if err != nil {
		return nil, err
	}
	var more []json.RawMessage
	if len(tools) > 0 && json.Unmarshal(extra["tools"], &more) == nil && more != nil {
		for _, t := range more {
			tools = append(append(append(tools[:len(tools)-1], ','), t...), ']')
		}
		delete(extra, "tools")
	}
	o.Raw("tools", tools)
	if req.System != "" {
		o.Raw("systemInstruction", append(wire.AppendString([]byte(`{"parts":[{"text":`), req.System), "}]}"...))
	}
	contents, err := m.contents(req.Messages)
	if err != nil {
		return nil, err
	}
	o.Pieces("contents", contents)
	if len(extra) == 0 {
		return &o, nil
	}
	rest, err := json.Marshal(extra)
	if err != nil {
		return nil, err
	}
	return &o, o.Merge(rest)
}

func (m *Model) generationConfig(req *llm.Request) ([]byte, error) {
	var o wire.Body
	if n := req.MaxTokens; n > 0 {
		if m.info.Output > 0 {
			n = min(n, m.info.Output)
		}
		o.Value("maxOutputTokens", n)
	}
	if req.Temperature != nil && !m.info.Traits.NoTemperature && !m.lessons.Refused("temperature") {
		o.Value("temperature", *req.Temperature)
	}
	if len(req.Stop) > 0 {
		o.Value("stopSequences", req.Stop)
	}
	o.Raw("thinkingConfig", m.thinking(req.Effort))
	// Before generation 3 a schema beside tools is refused.
	if s := req.Schema; s != nil && m.info.Traits.Schema && (len(req.Tools) == 0 || m.generation >= 3) {
		if !json.Valid(s.JSON) {
			return nil, fmt.Errorf("the schema %q of the answer is not JSON", s.Name)
		}
		o.Value("responseMimeType", "application/json")
		o.Raw("responseJsonSchema", s.JSON)
	}
	if b := o.Bytes(); len(b) > 2 {
		return b, nil
	}
	return nil, nil
}

// budgets are the thinking tokens of each effort; no model of the generations
// that have budgets refuses one of them, but that a pro cannot be without.
var budgets = map[llm.Effort]int{
	llm.EffortOff: 0, llm.EffortMinimal: 512, llm.EffortLow: 2048, llm.EffortMedium: 8192, llm.EffortHigh: 16384, llm.EffortXHigh: 24576,
}

const leastOfPro = 128

// levels are the words for each effort of models that take one: those that all
// of them take.
var levels = map[llm.Effort]string{
	llm.EffortOff: "low", llm.EffortMinimal: "low", llm.EffortLow: "low",
	llm.EffortMedium: "medium", llm.EffortHigh: "high", llm.EffortXHigh: "high",
}

// optional are the fields that a model may refuse; noThinking stands for the
// wish that it think not at all.
func optional() []wire.Optional {
	const in = "generationConfig"
	return []wire.Optional{
		{Name: "temperature", In: in, Said: []string{"generation_config.temperature", "generationconfig.temperature"}},
		{Name: "thinkingLevel", In: in, Said: []string{"thinking_level", "thinking level"}},
		{Name: "thinkingBudget", In: in, Said: []string{"thinking_budget", "thinking budget"}},
		{Name: noThinking, In: in, Said: []string{"budget 0 is invalid", "only works in thinking mode"}},
		{Name: serverCalls, In: "toolConfig", Said: []string{"include_server_side_tool_invocations"}},
		func() wire.Optional {
			o := wire.RefusedHosted("tools")
			o.Said = append(o.Said, "tool use with function calling", "search grounding", "search as tool")
			return o
		}(),
		{Name: "thinkingConfig", In: in, Said: []string{"thinking_config", "thinking is not supported", "does not support thinking"}},
	}
}

const noThinking = "no thinking"

// thinking is the thinkingConfig. Thoughts are asked for as a summary, since
// they are not shown otherwise.
func (m *Model) thinking(e llm.Effort) []byte {
	t := m.info.Traits
	if !t.Thinking {
		return nil
	}
	style := t.ThinkingStyle
	if style != "level" && style != "budget" {
		style = "budget"
		if m.generation >= 3 {
			style = "level"
		}
	}
	level, budget := m.lessons.Refused("thinkingLevel"), m.lessons.Refused("thinkingBudget")
	switch {
	case level && budget || m.lessons.Refused("thinkingConfig"):
		return nil
	case level:
		style = "budget"
	case budget:
		style = "level"
	}
	var o wire.Body
	n, known := budgets[e]
	switch word := t.EffortWord(e, levels[e]); {
	case !known:
	case style == "level":
		if word != "" {
			o.Value("thinkingLevel", word)
		}
	default:
		if e == llm.EffortOff && (strings.Contains(m.info.Name, "-pro") || m.lessons.Refused(noThinking)) {
			n = leastOfPro
		}
		if own, has := t.Efforts[e]; has && own == "" {
			break
		} else if x, err := strconv.Atoi(own); err == nil {
			n = x
		}
		o.Value("thinkingBudget", n)
		if n == 0 {
			return o.Bytes()
		}
	}
	o.Value("includeThoughts", true)
	return o.Bytes()
}

// hosts reports whether a hosted tool is asked for: before generation 3 not
// beside functions.
func (m *Model) hosts(req *llm.Request, tool string) bool {
	if !m.info.Traits.Hosts(tool) || m.lessons.Refused(tool) {
		return false
	}
	return m.wantsSignatures() || !slices.ContainsFunc(req.Tools, func(t llm.ToolSpec) bool { return t.Hosted != tool })
}

// serverCalls is the field that asks for the calls that the server ran, which
// it wants back where there are functions beside them. Vertex has it not.
const serverCalls = "includeServerSideToolInvocations"

func (m *Model) toolConfig(req *llm.Request) ([]byte, error) {
	functions := slices.DeleteFunc(slices.Clone(req.Tools), func(t llm.ToolSpec) bool { return t.Hosted != "" })
	if len(functions) == 0 {
		return nil, nil
	}
	var o wire.Body
	o.Raw("functionCallingConfig", choice(req.ToolChoice, functions))
	if len(functions) < len(req.Tools) && !m.vertex() && !m.lessons.Refused(serverCalls) {
		o.Value(serverCalls, true)
	}
	if b := o.Bytes(); len(b) > len("{}") {
		return b, nil
	}
	return nil, nil
}

// choice says whether a function must be called.
func choice(c llm.ToolChoice, functions []llm.ToolSpec) []byte {
	mode := ""
	switch c.Mode {
	case llm.ChoiceNone:
		mode = `"NONE"`
	case llm.ChoiceAny:
		mode = `"ANY"`
	case llm.ChoiceTool:
		if !slices.ContainsFunc(functions, func(t llm.ToolSpec) bool { return t.Name == c.Name }) {
			return nil // a search cannot be asked for
		}
		mode = string(wire.AppendString([]byte(`"ANY","allowedFunctionNames":[`), c.Name)) + "]"
	default:
		return nil
	}
	return []byte(`{"mode":` + mode + `}`)
}

// tools are the declarations. Their schemas go as parametersJsonSchema, which
// takes JSON Schema as it is; parameters takes only a part of it.
func tools(ts []llm.ToolSpec) ([]byte, error) {
	if len(ts) == 0 {
		return nil, nil
	}
	var hosted []byte
	b := []byte(`[{"functionDeclarations":[`)
	none := len(b)
	for _, t := range ts {
		if t.Hosted != "" {
			hosted = []byte(`{"googleSearch":{}}`)
			continue
		}
		if len(b) > none {
			b = append(b, ',')
		}
		b = wire.AppendString(append(b, `{"name":`...), t.Name)
		if t.Description != "" {
			b = wire.AppendString(append(b, `,"description":`...), t.Description)
		}
		schema := t.Input
		switch {
		case len(bytes.TrimSpace(schema)) == 0:
			schema = json.RawMessage(`{"type":"object","properties":{}}`)
		case !json.Valid(schema):
			return nil, fmt.Errorf("the input schema of the tool %q is not JSON", t.Name)
		}
		b = append(append(append(b, `,"parametersJsonSchema":`...), schema...), '}')
	}
	switch {
	case hosted == nil:
		return append(b, "]}]"...), nil
	case len(b) == none:
		return slices.Concat([]byte("["), hosted, []byte("]")), nil
	}
	return slices.Concat(b, []byte("]},"), hosted, []byte("]")), nil
}

// The pieces around what messages consist of, made once.
var (
	open      = []byte("[")
	comma     = []byte(",")
	closed    = []byte("]")
	userHead  = []byte(`{"role":"user","parts":[`)
	modelHead = []byte(`{"role":"model","parts":[`)
	contentTo = []byte("]}")
	goesOn    = []byte(`{"role":"user","parts":[{"text":"(The conversation goes on.)"}]}`)
)

// contents are the encoded messages, as pieces that nobody copies. Neighbours
// of one role make one content, since the wire wants the results of all calls
// of a content in the one that follows it, and their results come before their
// other parts.
func (m *Model) contents(ms []llm.Message) (wire.Pieces, error) {
	out := append(make(wire.Pieces, 0, 5*len(ms)+8), open)
	var group []encoded // neighbours
	var role llm.Role
	flush := func() {
		if len(group) == 0 {
			return
		}
		head := userHead
		if role == llm.RoleAssistant {
			head = modelHead
			if len(out) == 1 {
				// What was said before is gone; the wire wants the user first.
				out = append(out, goesOn)
			}
		}
		if len(out) > 1 {
			out = append(out, comma)
		}
		out = append(out, head)
		at := len(out)
		add := func(b []byte) {
			if len(b) == 0 {
				return
			}
			if len(out) > at {
				out = append(out, comma)
			}
			out = append(out, b)
		}
		for _, e := range group {
			add(e.results())
		}
		for _, e := range group {
			add(e.others())
		}
		out = append(out, contentTo)
		group = group[:0]
	}
	for i := range ms {
		msg := &ms[i]
		if msg.Role != llm.RoleUser && msg.Role != llm.RoleAssistant {
			return nil, fmt.Errorf("message %d has the role %q: must be user or assistant", i+1, msg.Role)
		}
		b, err := msg.Encoded(m.key, func() ([]byte, error) { return m.encode(ms, i), nil })
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
	return append(out, closed), nil
}
