package cohere

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/internal/wire"
)

// decoder builds a response of the events of a stream, or of a whole body.
type decoder struct {
	info    llm.Info
	s       *wire.Stream
	out     []llm.Event
	started bool
	done    bool // the end mark was seen

	id        string
	blocks    []*content
	plan      strings.Builder
	calls     []*pending
	citations []json.RawMessage
	finish    string
	usage     *usage
}

// content is a block of text or of thinking on its way.
type content struct {
	index    int
	thinking bool
	text     strings.Builder
}

// pending is a tool call on its way.
type pending struct {
	index    int
	id, name string
	args     strings.Builder
	ended    bool
}

type event struct {
	Type    string          `json:"type"`
	ID      string          `json:"id"`
	Index   wire.Int        `json:"index"`
	Delta   *delta          `json:"delta"`
	Error   json.RawMessage `json:"error"`
	Message json.RawMessage `json:"message"` // of a whole answer, or of an error
	Finish  string          `json:"finish_reason"`
	Usage   *usage          `json:"usage"`
}

type delta struct {
	Message *message        `json:"message"`
	Finish  string          `json:"finish_reason"`
	Usage   *usage          `json:"usage"`
	Error   json.RawMessage `json:"error"`
}

// message is a whole one or a piece of one; what is a list in the one is an
// item in the other.
type message struct {
	Content   json.RawMessage `json:"content"`
	Plan      string          `json:"tool_plan"`
	ToolCalls json.RawMessage `json:"tool_calls"`
	Citations json.RawMessage `json:"citations"`
}

type contentItem struct {
	Type     string  `json:"type"`
	Text     string  `json:"text"`
	Thinking *string `json:"thinking"`
}

type callItem struct {
	ID       string `json:"id"`
	Function struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"function"`
}

func set(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// lenient reads what it can: a field of another type than it should be is
// skipped.
func lenient(b []byte, v any) error {
	err := json.Unmarshal(b, v)
	var typ *json.UnmarshalTypeError
	if errors.As(err, &typ) && typ.Field != "" {
		return nil
	}
	return err
}

// items are the elements of a list, or the one thing that is no list.
func items(raw json.RawMessage) []json.RawMessage {
	var list []json.RawMessage
	switch {
	case !set(raw):
		return nil
	case json.Unmarshal(raw, &list) == nil:
		return list
	}
	return []json.RawMessage{raw}
}

// Event is [wire.Decoder].Event.
func (d *decoder) Event(ev wire.Event) ([]llm.Event, error) {
	d.out = d.out[:0]
	err := d.event(ev)
	return d.out, err
}

// State is [wire.Decoder].State. The end mark is message-end; what follows it
// says nothing.
func (d *decoder) State() wire.State {
	switch {
	case d.done:
		return wire.Done
	case d.started:
		return wire.Begun
	}
	return wire.Empty
}

func (d *decoder) event(ev wire.Event) error {
	data := bytes.TrimSpace(ev.Data)
	switch {
	case len(data) == 0 && !ev.Cut:
		return nil
	case string(data) == "[DONE]":
		return d.s.Truncated() // with no message-end before it
	case ev.Name == "error":
		return d.s.Failure(data)
	}
	var e event
	if err := lenient(data, &e); err != nil {
		return d.s.Undecodable(ev, err)
	}
	if set(e.Error) && string(e.Error) != "{}" && string(e.Error) != `""` {
		return d.s.Failure(data)
	}
	if ev.Whole {
		return d.whole(e, data)
	}
	kind := e.Type
	if kind == "" {
		kind = ev.Name
	}
	if kind == "" && bytes.HasPrefix(e.Message, []byte(`"`)) || kind == "error" {
		return d.s.Failure(data)
	}
	x := e.Delta
	if x == nil {
		x = &delta{}
	}
	if x.Message == nil {
		x.Message = &message{}
	}
	switch kind {
	case "message-start":
		d.started = true
		if d.id == "" {
			d.id = e.ID
		}
		d.take(x.Message, int(e.Index))
	case "content-start", "content-delta", "tool-plan-delta", "tool-call-start", "tool-call-delta", "citation-start":
		d.started = true
		d.take(x.Message, int(e.Index))
	case "tool-call-end":
		for _, c := range d.calls {
			c.ended = c.ended || c.index == int(e.Index)
		}
	case "message-end":
		if msg := str(x.Error); msg != "" {
			b, _ := json.Marshal(map[string]string{"message": msg}) // a string marshals
			return d.s.Failure(b)
		}
		d.started, d.done = true, true
		d.finish, d.usage = x.Finish, x.Usage
	}
	return nil
}

// whole decodes a body that was not streamed.
func (d *decoder) whole(e event, data []byte) error {
	var m message
	if len(e.Message) == 0 || e.Message[0] != '{' || lenient(e.Message, &m) != nil {
		if bytes.HasPrefix(e.Message, []byte(`"`)) {
			return d.s.Failure(data)
		}
		return d.s.Corrupt("the answer has no message")
	}
	d.started, d.done = true, true
	d.id, d.finish, d.usage = e.ID, e.Finish, e.Usage
	for i, raw := range items(m.Content) {
		d.content(raw, i)
	}
	for i, raw := range items(m.ToolCalls) {
		d.call(raw, i)
	}
	d.take(&message{Plan: m.Plan, Citations: m.Citations}, 0)
	for _, c := range d.calls {
		c.ended = true
	}
	return nil
}

// take adds a piece of a message.
func (d *decoder) take(m *message, index int) {
	d.plan.WriteString(m.Plan)
	for _, raw := range items(m.Content) {
		d.content(raw, index)
	}
	for _, raw := range items(m.ToolCalls) {
		d.call(raw, index)
	}
	for _, raw := range items(m.Citations) {
		d.citations = append(d.citations, bytes.Clone(raw))
	}
}

func (d *decoder) content(raw json.RawMessage, index int) {
	var it contentItem
	if raw[0] == '"' {
		it.Text = str(raw)
	} else if lenient(raw, &it) != nil {
		return
	}
	if it.Thinking != nil && *it.Thinking != "" {
		d.add(index, true, *it.Thinking)
	}
	if it.Text != "" {
		d.add(index, it.Type == "thinking", it.Text)
	}
}

func (d *decoder) add(index int, thinking bool, text string) {
	var c *content
	for _, b := range d.blocks {
		if b.index == index && b.thinking == thinking {
			c = b
		}
	}
	if c == nil {
		c = &content{index: index, thinking: thinking}
		d.blocks = append(d.blocks, c)
	}
	c.text.WriteString(text)
	if thinking {
		d.out = append(d.out, llm.ThinkingDelta{Text: text})
	} else {
		d.out = append(d.out, llm.TextDelta{Text: text})
	}
}

// call adds a piece of a tool call: it starts one where it brings a name or an
// id that is not that of the call with its index.
func (d *decoder) call(raw json.RawMessage, index int) {
	var it callItem
	if lenient(raw, &it) != nil {
		return
	}
	args := str(it.Function.Arguments)
	if args == "" && set(it.Function.Arguments) && it.Function.Arguments[0] != '"' {
		args = string(it.Function.Arguments) // an object
	}
	place := -1
	for i, c := range d.calls {
		if c.index == index && !(it.ID != "" && c.id != "" && it.ID != c.id) && !(c.ended && (it.ID != "" || it.Function.Name != "")) {
			place = i
		}
	}
	if place < 0 {
		if it.ID == "" && it.Function.Name == "" && strings.TrimSpace(args) == "" {
			return // a ghost
		}
		place = len(d.calls)
		d.calls = append(d.calls, &pending{index: index})
	}
	c := d.calls[place]
	if c.id == "" {
		c.id = it.ID
	}
	if c.name == "" {
		c.name = it.Function.Name
	}
	c.args.WriteString(args)
	d.out = append(d.out, llm.CallDelta{Index: place, ID: c.id, Name: c.name, Input: args})
}

func str(raw json.RawMessage) string {
	var s string
	_ = json.Unmarshal(raw, &s) // not a string: ""
	return s
}

// Response is [wire.Decoder].Response.
func (d *decoder) Response(whole bool) *llm.Response {
	r := &llm.Response{ID: d.id, RequestID: d.s.RequestID(), Model: d.info.Name, StopRaw: d.finish}
	r.Message = llm.Message{
		Role:   llm.RoleAssistant,
		Origin: &llm.Origin{Provider: d.info.Provider, Model: d.info.Name, Wire: Wire},
	}
	add := func(p llm.Part) { r.Message.Parts = append(r.Message.Parts, p) }
	for _, b := range d.blocks {
		if b.thinking {
			add(llm.Thinking{Text: b.text.String()})
		} else {
			add(llm.Text{Text: b.text.String()})
		}
	}
	if len(d.citations) > 0 {
		add(llm.Native{Wire: Wire, Kind: KindCitations, Raw: list(d.citations)})
	}
	if d.plan.Len() > 0 {
		add(llm.Native{Wire: Wire, Kind: KindPlan, Raw: wire.AppendString(nil, d.plan.String())})
	}
	r.Stop = d.stop()
	broken := !whole || r.Stop == llm.StopMaxTokens || r.Stop == llm.StopError || r.Stop == llm.StopContentFilter
	var ids wire.IDs
	for i, c := range d.calls {
		if c.name == "" && strings.TrimSpace(c.args.String()) == "" {
			continue // stored, it would make every later request invalid
		}
		tc := llm.ToolCall{ID: ids.Of(c.id), Name: c.name}
		tc.Input, tc.Malformed = wire.Input(c.args.String())
		if broken && !c.ended && i == len(d.calls)-1 && strings.TrimSpace(c.args.String()) == "" {
			// Arguments that were to come look the same as none.
			tc.Malformed = "(the answer was cut before the arguments)"
		}
		add(tc)
	}
	if len(r.Message.Parts.Calls()) > 0 && !broken {
		r.Stop = llm.StopToolUse
	}
	r.Usage, r.Reported = d.usage.both()
	return r
}

func (d *decoder) stop() llm.StopReason {
	switch strings.ToUpper(d.finish) {
	case "COMPLETE", "TOOL_CALL", "":
		return llm.StopEnd
	case "STOP_SEQUENCE":
		return llm.StopSequence
	case "MAX_TOKENS", "ERROR_LIMIT":
		return llm.StopMaxTokens
	case "ERROR_TOXIC":
		return llm.StopContentFilter
	case "ERROR", "TIMEOUT":
		return llm.StopError
	}
	return llm.StopOther
}
