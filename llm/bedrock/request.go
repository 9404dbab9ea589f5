package bedrock

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

const (
	// defaultOutput is maxTokens, besides a budget of thinking, where neither
	// the request nor the model's Info says one; visibleOutput is the most that
	// is asked for by default: what is asked for counts against the account's
	// tokens a minute, used or not.
	defaultOutput = 8192
	visibleOutput = 32_000
	minBudget     = 1024 // the least that Claude takes
)

// The styles of thinking.
const (
	styleBudget   = "budget"
	styleAdaptive = "adaptive"
	styleNova     = "nova"
	styleEffort   = "effort"
	styleQwen     = "qwen"
)

// style is how the models of a family are told to think; "" if that is not
// known.
func style(family string) string {
	switch {
	case strings.Contains(family, "claude"):
		if budgeted().MatchString(family) {
			return styleBudget
		}
		return styleAdaptive
	case strings.Contains(family, "amazon.nova"):
		return styleNova
	case strings.Contains(family, "openai."):
		return styleEffort
	case strings.Contains(family, "qwen."):
		return styleQwen
	}
	return ""
}

// budgets are the thinking tokens of each effort.
var budgets = map[llm.Effort]int{
	llm.EffortMinimal: 2048, llm.EffortLow: 4096, llm.EffortMedium: 8192, llm.EffortHigh: 16384, llm.EffortXHigh: 32768,
}

// words are the words for each effort; Claude's highest is another.
var words = map[llm.Effort]string{
	llm.EffortMinimal: "low", llm.EffortLow: "low", llm.EffortMedium: "medium", llm.EffortHigh: "high", llm.EffortXHigh: "high",
}

// body encodes req. The messages come last, so that with the cache points taken
// out the body of a request that extends another starts with the other's
// bytes, up to the end of its messages.
func (m *Model) body(req *llm.Request) (*wire.Body, error) {
	req = wire.Hosted(req, m.hosts)
	mark := m.marks(req)
	msgs, used, err := m.messages(req.Messages, mark.end)
	if err != nil {
		return nil, err
	}
	var o wire.Body
	think := m.thinking(req)
	o.Raw("inferenceConfig", m.inference(req, think))
	o.Raw("additionalModelRequestFields", m.additional(req, think))
	if len(req.Stop) > 0 && m.claude() {
		o.Raw("additionalModelResponseFieldPaths", []byte(`["/stop_sequence"]`)) // which one was met
	}
	if m.schema(req) {
		o.Raw("outputConfig", outputConfig(req, think))
	}
	tools, err := m.tools(req, used, mark.tools)
	if err != nil {
		return nil, err
	}
	o.Raw("toolConfig", tools)
	if s := text(req.System); s != nil {
		o.Raw("system", slices.Concat([]byte("["), s, mark.system, []byte("]")))
	}
	o.Pieces("messages", msgs)
	return &o, o.Merge(req.Extra[Wire])
}

func (m *Model) hosts(tool string) bool { return m.info.Traits.Hosts(tool) && !m.lessons.Refused(tool) }

// thought is what is asked of a model's thinking.
type thought struct {
	fields    [][2]string // names and JSON, of additionalModelRequestFields
	effort    string      // Claude's, in words
	on        bool        // sampling parameters are refused
	unbounded bool        // maxTokens is refused
	maxTokens int         // 0: not sent
}

func (m *Model) thinking(req *llm.Request) thought {
	limit := m.info.Output
	if limit <= 0 {
		limit = 1 << 30
	}
	t := thought{maxTokens: min(req.MaxTokens, limit)}
	if req.MaxTokens <= 0 {
		t.maxTokens = min(max(m.info.Output, 0), visibleOutput)
	}
	traits := m.info.Traits
	how := traits.ThinkingStyle
	if how == "" {
		how = style(m.family)
	}
	budget, known := budgets[req.Effort]
	off := req.Effort == llm.EffortOff
	if own, ok := traits.Efforts[req.Effort]; !traits.Thinking || !known && !off || ok && own == "" {
		return t
	}
	word := traits.EffortWord(req.Effort, words[req.Effort])
	quoted := string(wire.AppendString(nil, word))
	switch how {
	case styleBudget, styleAdaptive:
		m.claudeThinking(req, &t, how, budget, limit)
	case styleNova:
		if off {
			t.fields = [][2]string{{"reasoningConfig", `{"type":"disabled"}`}}
			break
		}
		t.on, t.unbounded = true, word == "high"
		t.fields = [][2]string{{"reasoningConfig", `{"type":"enabled","maxReasoningEffort":` + quoted + `}`}}
	case styleEffort:
		if word != "" {
			t.fields = [][2]string{{"reasoning_effort", quoted}}
		}
	case styleQwen:
		if word != "" {
			t.fields = [][2]string{{"reasoning_config", quoted}}
		}
	}
	return t
}

func (m *Model) claudeThinking(req *llm.Request, t *thought, how string, budget, limit int) {
	set := func(v string) { t.fields = [][2]string{{"thinking", v}} }
	adaptive, takes := m.lessons.AdaptiveThinking(how == styleAdaptive)
	if !takes {
		return
	}
	if req.Effort == llm.EffortOff {
		if !m.lessons.Refused("thinking.type.disabled") {
			set(`{"type":"disabled"}`)
		}
		return
	}
	if adaptive {
		word := words[req.Effort]
		if req.Effort == llm.EffortXHigh {
			word = "max"
		}
		if !m.lessons.Refused("output_config.effort") {
			t.effort = m.info.Traits.EffortWord(req.Effort, word)
		}
		if !forced(req) {
			t.on = true
			set(`{"type":"adaptive"}`)
		}
		return
	}
	if forced(req) || m.unsignedLoop(req.Messages) {
		return // both are refused together with a budget
	}
	// The budget is a part of maxTokens and less than the whole.
	if req.MaxTokens <= 0 {
		t.maxTokens = min(max(t.maxTokens, defaultOutput)+budget, limit)
	}
	if budget >= t.maxTokens {
		budget = t.maxTokens / 2
	}
	if budget >= minBudget {
		t.on = true
		set(`{"type":"enabled","budget_tokens":` + strconv.Itoa(budget) + `}`)
	}
}

func forced(req *llm.Request) bool {
	return len(req.Tools) > 0 && (req.ToolChoice.Mode == llm.ChoiceAny || req.ToolChoice.Mode == llm.ChoiceTool)
}

// unsignedLoop reports whether the conversation ends in a turn, calls and
// their results, that did not begin with thinking that this model takes back,
// as after a switch of the model within the turn. Claude wants such a turn to
// go on without thinking.
func (m *Model) unsignedLoop(ms []llm.Message) bool {
	var first llm.Message // of the turn, by the model
	for i := len(ms) - 1; i >= 0; i-- {
		if ms[i].Role == llm.RoleAssistant {
			first = ms[i]
		} else if !slices.ContainsFunc(ms[i].Parts, func(p llm.Part) bool { _, ok := p.(llm.ToolResult); return ok }) {
			break
		}
	}
	if first.Role == "" || len(first.Parts.Calls()) == 0 {
		return false
	}
	return !m.native(first.Origin) || !slices.ContainsFunc(first.Parts, func(p llm.Part) bool {
		t, ok := p.(llm.Thinking)
		return ok && (t.Signature != "" || len(t.Raw) > 0)
	})
}

func (m *Model) inference(req *llm.Request, t thought) []byte {
	var o wire.Body
	if t.maxTokens > 0 && !t.unbounded {
		o.Value("maxTokens", t.maxTokens)
	}
	if req.Temperature != nil && !m.info.Traits.NoTemperature && !t.on && !m.lessons.Refused("temperature") {
		o.Value("temperature", *req.Temperature)
	}
	if len(req.Stop) > 0 {
		o.Value("stopSequences", req.Stop)
	}
	return some(&o)
}

// some is the object; nil if it is empty.
func some(o *wire.Body) []byte {
	if b := o.Bytes(); len(b) > len("{}") {
		return b
	}
	return nil
}

func (m *Model) additional(req *llm.Request, t thought) []byte {
	var o wire.Body
	if m.claude() && len(m.opts.Beta) > 0 {
		o.Value("anthropic_beta", m.opts.Beta)
	}
	for _, f := range t.fields {
		o.Raw(f[0], []byte(f[1]))
	}
	if t.effort != "" && !m.schema(req) {
		o.Raw("output_config", append(wire.AppendString([]byte(`{"effort":`), t.effort), '}'))
	}
	return some(&o)
}

func (m *Model) schema(req *llm.Request) bool { return req.Schema != nil && m.info.Traits.Schema }

// outputConfig has the schema, as a string, and the effort, which may not be in
// two places.
func outputConfig(req *llm.Request, t thought) []byte {
	var s, o wire.Body
	if req.Schema.Name != "" {
		s.Value("name", safeName(req.Schema.Name))
	}
	s.Raw("schema", wire.AppendString(nil, string(req.Schema.JSON)))
	o.Raw("textFormat", slices.Concat([]byte(`{"type":"json_schema","structure":{"jsonSchema":`), s.Bytes(), []byte("}}")))
	if t.effort != "" {
		o.Value("effort", t.effort)
	}
	return o.Bytes()
}

// tools is the toolConfig. The wire wants one wherever the conversation has
// calls: where the request has no tools, or wants none called, there must
// still be those that were.
func (m *Model) tools(req *llm.Request, used []string, mark []byte) ([]byte, error) {
	specs := req.Tools
	none := req.ToolChoice.Mode == llm.ChoiceNone
	if none && len(used) == 0 {
		return nil, nil // there is no choice of that name
	}
	if len(specs) == 0 {
		for _, name := range used {
			specs = append(specs, llm.ToolSpec{Name: name, Description: "Not at hand now: do not call it."})
		}
	}
	if len(specs) == 0 {
		return nil, nil
	}
	b := []byte(`{"tools":[`)
	for i, t := range specs {
		if i > 0 {
			b = append(b, ',')
		}
		if t.Hosted != "" {
			b = append(b, `{"systemTool":{"name":"nova_grounding"}}`...)
			continue
		}
		b = wire.AppendString(append(b, `{"toolSpec":{"name":`...), t.Name)
		if strings.TrimSpace(t.Description) != "" {
			b = wire.AppendString(append(b, `,"description":`...), t.Description)
		}
		schema := t.Input
		switch {
		case len(bytes.TrimSpace(schema)) == 0:
			schema = json.RawMessage(`{"type":"object"}`)
		case !json.Valid(schema):
			return nil, fmt.Errorf("the input schema of the tool %q is not JSON", t.Name)
		}
		b = append(append(append(b, `,"inputSchema":{"json":`...), schema...), "}}}"...)
	}
	b = append(append(b, mark...), ']')
	if len(req.Tools) > 0 {
		switch c := req.ToolChoice; c.Mode {
		case llm.ChoiceAny:
			b = append(b, `,"toolChoice":{"any":{}}`...)
		case llm.ChoiceTool:
			if slices.ContainsFunc(specs, func(t llm.ToolSpec) bool { return t.Name == c.Name && t.Hosted != "" }) {
				break // there is no choice of the provider's own
			}
			b = append(wire.AppendString(append(b, `,"toolChoice":{"tool":{"name":`...), c.Name), "}}"...)
		}
	}
	return append(b, '}'), nil
}

// The pieces between the contents, made once.
var (
	first         = []byte("[")
	comma         = []byte(",")
	last          = []byte("]")
	userHead      = []byte(`{"role":"user","content":[`)
	assistantHead = []byte(`{"role":"assistant","content":[`)
	closing       = []byte("]}")
	goesOn        = []byte(`{"role":"user","content":[{"text":"(The conversation goes on.)"}]}`)
)

// messages are the encoded messages, as pieces that nobody copies, and the
// names of the tools that were called. Neighbours of one role make one message,
// since the wire wants the roles to alternate, with the results of all of them
// before their other blocks. The ends of the last two user messages are marked:
// the last for the next request, the one before to find again what was marked
// last time, however many blocks have come since.
func (m *Model) messages(ms []llm.Message, mark []byte) (wire.Pieces, []string, error) {
	out := append(make(wire.Pieces, 0, 4*len(ms)+8), first)
	var group []encoded // neighbours
	var role llm.Role
	var used []string
	var ends []int // of user messages, in out
	flush := func() {
		if len(group) == 0 {
			return
		}
		head := userHead
		if role == llm.RoleAssistant {
			if head = assistantHead; len(out) == 1 {
				// What was said before is gone; the wire wants the user first.
				out = append(out, goesOn)
			}
		}
		if len(out) > 1 {
			out = append(out, comma)
		}
		out = append(out, head)
		n := len(out)
		for _, part := range []func(encoded) []byte{encoded.results, encoded.others} {
			for _, e := range group {
				if b := part(e); len(b) > 0 {
					if len(out) > n {
						out = append(out, comma)
					}
					out = append(out, b)
				}
			}
		}
		if role == llm.RoleUser {
			ends = append(ends, len(out))
		}
		out = append(out, closing)
		group = group[:0]
	}
	ms = wire.Distinct(ms)
	for i := range ms {
		msg := &ms[i]
		if msg.Role != llm.RoleUser && msg.Role != llm.RoleAssistant {
			return nil, nil, fmt.Errorf("message %d has the role %q: must be user or assistant", i+1, msg.Role)
		}
		for _, p := range msg.Parts {
			if c, ok := p.(llm.ToolCall); ok && !slices.Contains(used, safeName(c.Name)) {
				used = append(used, safeName(c.Name))
			}
		}
		key := m.key
		if hasDocument(msg.Parts) {
			key += " " + strconv.Itoa(i)
		}
		b, err := msg.Encoded(key, func() ([]byte, error) { return m.encode(msg, i), nil })
		if err != nil {
			return nil, nil, fmt.Errorf("message %d: %w", i+1, err)
		}
		if len(b) == splitSize {
			continue // nothing of it is sent
		}
		if msg.Role != role {
			flush()
			role = msg.Role
		}
		group = append(group, b)
	}
	flush()
	if len(out) == 1 {
		return nil, nil, errors.New("no message has any content")
	}
	if mark != nil {
		for _, at := range slices.Backward(ends[max(len(ends)-2, 0):]) {
			out = slices.Insert(out, at, mark)
		}
	}
	return append(out, last), used, nil
}
