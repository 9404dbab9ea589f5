package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/internal/wire"
)

// decoder builds a response of the chunks of a stream, or of a whole body.
type decoder struct {
	info    llm.Info
	s       *wire.Stream
	out     []llm.Event
	started bool
	done    bool // the end mark was seen

	id, model string
	text      strings.Builder
	thinking  strings.Builder
	refusal   strings.Builder
	details   []*detail
	sources   []source
	calls     []*call
	finish    string
	sawFinish bool
	usage     *usage
}

func newDecoder(info llm.Info, s *wire.Stream) *decoder { return &decoder{info: info, s: s} }

type chunk struct {
	ID      string          `json:"id"`
	Model   string          `json:"model"`
	Error   json.RawMessage `json:"error"`
	Choices []struct {
		Index   wire.Int        `json:"index"`
		Delta   *delta          `json:"delta"`
		Message *delta          `json:"message"`
		Text    string          `json:"text"`
		Finish  *string         `json:"finish_reason"`
		Error   json.RawMessage `json:"error"`
	} `json:"choices"`
	Usage *usage `json:"usage"`
	XGroq *struct {
		Usage *usage          `json:"usage"`
		Error json.RawMessage `json:"error"`
	} `json:"x_groq"`
	// Of MiniMax, whose failures are successes of HTTP.
	Base *struct {
		Status wire.Count `json:"status_code"`
	} `json:"base_resp"`
	Object  string `json:"object"`
	Message string `json:"message"`
}

type delta struct {
	Content          json.RawMessage `json:"content"`
	Refusal          string          `json:"refusal"`
	ReasoningContent json.RawMessage `json:"reasoning_content"`
	Reasoning        json.RawMessage `json:"reasoning"`
	ReasoningText    json.RawMessage `json:"reasoning_text"`
	Details          json.RawMessage `json:"reasoning_details"`
	ToolCalls        []callDelta     `json:"tool_calls"`
	FunctionCall     *function       `json:"function_call"`
	Annotations      json.RawMessage `json:"annotations"`
	Executed         json.RawMessage `json:"executed_tools"`
}

type callDelta struct {
	Index    *wire.Int `json:"index"`
	ID       string    `json:"id"`
	Type     string    `json:"type"`
	Function *function `json:"function"`
	Custom   *struct {
		Name  string `json:"name"`
		Input string `json:"input"`
	} `json:"custom"`
	Extra json.RawMessage `json:"extra_content"`
}

type function struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

func set(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// isError is set for what is an error and not an empty place for one.
func isError(raw json.RawMessage) bool {
	switch string(raw) {
	case "", "null", "{}", `""`, "false", "[]":
		return false
	}
	return true
}

// Event is [wire.Decoder].Event.
func (d *decoder) Event(ev wire.Event) (out []llm.Event, err error) {
	d.out = d.out[:0]
	if ev.Whole {
		err = d.whole(ev)
	} else {
		err = d.event(ev)
	}
	return d.out, err
}

// State is [wire.Decoder].State. [DONE] may be missing; finish_reason is not.
func (d *decoder) State() wire.State {
	switch {
	case d.done:
		return wire.Done
	case d.sawFinish:
		return wire.Complete
	case d.started:
		return wire.Begun
	}
	return wire.Empty
}

// whole decodes a body that was not streamed.
func (d *decoder) whole(ev wire.Event) error {
	if err := d.chunk(ev); err != nil {
		return err
	}
	if !d.started {
		return d.s.Corrupt("the answer has no choices")
	}
	d.done = true
	return nil
}

// event decodes one event of a stream.
func (d *decoder) event(ev wire.Event) error {
	data := bytes.TrimSpace(ev.Data)
	switch {
	case len(data) == 0:
		return nil
	case string(data) == "[DONE]":
		if !d.started && !d.sawFinish {
			return d.s.Truncated()
		}
		d.done = true
		return nil
	case ev.Name == "error" && !(ev.Cut && !json.Valid(data)):
		return d.s.Failure(data)
	}
	return d.chunk(ev)
}

func (d *decoder) chunk(ev wire.Event) error {
	data, whole := ev.Data, ev.Whole
	var c chunk
	if err := json.Unmarshal(data, &c); err != nil {
		// A field of another type than it should be is skipped, the rest read.
		var typ *json.UnmarshalTypeError
		if !errors.As(err, &typ) || typ.Field == "" {
			return d.s.Undecodable(ev, err)
		}
	}
	if isError(c.Error) {
		return d.failed(data)
	}
	if c.Object == "error" || len(c.Choices) == 0 && (c.Message != "" || c.Base != nil && c.Base.Status > 0) {
		return d.s.Failure(data)
	}
	if c.XGroq != nil {
		if isError(c.XGroq.Error) && len(c.Choices) == 0 {
			return d.s.Failure(data)
		}
		d.counted(c.XGroq.Usage)
	}
	d.counted(c.Usage)
	if d.id == "" {
		d.id = c.ID
	}
	if d.model == "" {
		d.model = c.Model
	}
	for _, ch := range c.Choices {
		if ch.Index != 0 {
			continue
		}
		d.started = true
		x := ch.Delta
		if x == nil || whole && ch.Message != nil {
			x = ch.Message
		}
		before := len(d.out)
		if x != nil {
			d.take(*x)
		}
		if ch.Text != "" && x == nil {
			d.addText(ch.Text)
		}
		if ch.Finish != nil && *ch.Finish != "" {
			d.finish, d.sawFinish = *ch.Finish, true
		} else if len(d.out) > before {
			d.sawFinish = false // it was not the end: more came
		}
		if isError(ch.Error) {
			return d.failed([]byte(`{"error":` + string(ch.Error) + `}`))
		}
		if whole {
			d.sawFinish = true
			break
		}
	}
	return nil
}

// counted takes a report of usage: reports are running totals, so that the last
// one counts. One with nothing in it is none.
func (d *decoder) counted(u *usage) {
	if _, reported := u.both(); reported != nil {
		d.usage = u
	}
}

// failed is the error for an error object in a chunk.
func (d *decoder) failed(data []byte) error {
	e := d.s.Failure(data)
	// In mid-stream a bare 400 says no more than that the answer broke off.
	if d.started && e.Kind == llm.KindInvalidRequest && e.Type == "" {
		e.Kind, e.NoRetry = llm.KindStream, true
	}
	return e
}

func (d *decoder) addText(s string) {
	if s != "" {
		d.text.WriteString(s)
		d.out = append(d.out, llm.TextDelta{Text: s})
	}
}

func (d *decoder) addThinking(s string) {
	if s != "" {
		d.thinking.WriteString(s)
		d.out = append(d.out, llm.ThinkingDelta{Text: s})
	}
}

func (d *decoder) take(x delta) {
	d.reasoning(x)
	d.content(x.Content)
	d.source("annotations", x.Annotations)
	d.source("executed_tools", x.Executed)
	if x.Refusal != "" {
		d.refusal.WriteString(x.Refusal)
		d.out = append(d.out, llm.TextDelta{Text: x.Refusal})
	}
	for _, c := range x.ToolCalls {
		d.call(c)
	}
	if f := x.FunctionCall; f != nil && len(x.ToolCalls) == 0 && (f.Name != "" || set(f.Arguments)) {
		zero := wire.Int(0)
		d.call(callDelta{Index: &zero, Function: f})
	}
}

// content is a string or, from Mistral, a list of chunks, of which some think.
func (d *decoder) content(raw json.RawMessage) {
	if !set(raw) {
		return
	}
	var s string
	if json.Unmarshal(raw, &s) == nil {
		d.addText(s)
		return
	}
	var items []struct {
		Type     string          `json:"type"`
		Text     string          `json:"text"`
		Thinking json.RawMessage `json:"thinking"`
	}
	if json.Unmarshal(raw, &items) != nil {
		return
	}
	for _, it := range items {
		switch it.Type {
		case "text", "output_text", "":
			d.addText(it.Text)
		case "thinking":
			var parts []struct {
				Text string `json:"text"`
			}
			if json.Unmarshal(it.Thinking, &parts) == nil {
				for _, p := range parts {
					d.addThinking(p.Text)
				}
			} else {
				d.addThinking(str(it.Thinking))
			}
		}
	}
}

// reasoning takes thinking from the one field that has it: servers that send
// it twice say the same in both.
func (d *decoder) reasoning(x delta) {
	plain := ""
	for _, raw := range []json.RawMessage{x.ReasoningContent, x.Reasoning, x.ReasoningText} {
		if s := str(raw); s != "" {
			plain = s
			break
		}
	}
	d.addThinking(plain)
	if !set(x.Details) {
		return
	}
	var items []json.RawMessage
	if json.Unmarshal(x.Details, &items) != nil {
		return
	}
	for _, it := range items {
		d.detail(it)
		if plain == "" {
			var t struct {
				Text    string `json:"text"`
				Summary string `json:"summary"`
			}
			if json.Unmarshal(it, &t) == nil {
				d.addThinking(t.Text + t.Summary)
			}
		}
	}
}

func str(raw json.RawMessage) string {
	var s string
	_ = json.Unmarshal(raw, &s) // not a string: ""
	return s
}

// Response is [wire.Decoder].Response.
func (d *decoder) Response(whole bool) *llm.Response {
	r := &llm.Response{ID: d.id, RequestID: d.s.RequestID(), Model: d.model, StopRaw: d.finish}
	r.Message = llm.Message{
		Role:   llm.RoleAssistant,
		Origin: &llm.Origin{Provider: d.info.Provider, Model: d.info.Name, Wire: WireChat},
	}
	if d.thinking.Len() > 0 || len(d.details) > 0 {
		t := llm.Thinking{Text: d.thinking.String()}
		if len(d.details) > 0 {
			items := make([][]byte, len(d.details))
			for i, it := range d.details {
				items[i] = it.json()
			}
			t.Raw = list(items)
		}
		r.Message.Parts = append(r.Message.Parts, t)
	}
	if d.text.Len() > 0 {
		r.Message.Parts = append(r.Message.Parts, llm.Text{Text: d.text.String()})
	}
	if d.refusal.Len() > 0 {
		r.Message.Parts = append(r.Message.Parts, llm.Text{Text: d.refusal.String()})
		r.StopDetail = d.refusal.String()
	}
	r.Message.Parts = append(r.Message.Parts, d.cited()...)
	stop := d.stop(false)
	calls := d.finished(!whole || stop == llm.StopMaxTokens || stop == llm.StopContentFilter)
	r.Stop = d.stop(len(calls) > 0)
	for _, c := range calls {
		r.Message.Parts = append(r.Message.Parts, c)
	}
	r.Usage, r.Reported = d.usage.both()
	return r
}

// detail is an item of reasoning_details on its way: its fields, and the texts
// of those that are sent in pieces.
type detail struct {
	fields map[string]json.RawMessage
	texts  map[string]*strings.Builder
}

// pieced are the fields of an item that are sent in pieces.
var pieced = [...]string{"text", "summary", "data"}

// add takes a piece of the item.
func (d *detail) add(it map[string]json.RawMessage) {
	for k, v := range it {
		if slices.Contains(pieced[:], k) && set(d.fields[k]) {
			if d.texts[k] == nil {
				d.texts[k] = &strings.Builder{}
				d.texts[k].WriteString(str(d.fields[k]))
			}
			d.texts[k].WriteString(str(v))
		} else if k == "signature" && str(v) != "" || !set(d.fields[k]) {
			d.fields[k] = v
		}
	}
}

func (d *detail) json() json.RawMessage {
	for k, t := range d.texts {
		d.fields[k] = wire.AppendString(nil, t.String())
	}
	b, _ := json.Marshal(d.fields) // raw JSON marshals
	return b
}

// detail takes an item of reasoning_details. The streamed pieces of one item are
// joined, which is how it goes back.
func (d *decoder) detail(raw json.RawMessage) {
	var it map[string]json.RawMessage
	if json.Unmarshal(raw, &it) != nil || it == nil {
		return
	}
	if n := len(d.details); n > 0 && sameItem(d.details[n-1].fields, it) {
		d.details[n-1].add(it)
		return
	}
	d.details = append(d.details, &detail{it, map[string]*strings.Builder{}})
}

func sameItem(a, b map[string]json.RawMessage) bool {
	for _, k := range []string{"type", "index", "id", "format"} {
		if set(a[k]) && set(b[k]) && !bytes.Equal(a[k], b[k]) {
			return false
		}
	}
	if !bytes.Equal(a["type"], b["type"]) || str(a["type"]) == "reasoning.encrypted" {
		return false
	}
	// A signature ends an item, unless the piece brings nothing but it.
	return str(a["signature"]) == "" || str(b["text"]) == ""
}

func (d *decoder) stop(calls bool) llm.StopReason {
	switch strings.ToLower(d.finish) {
	case "length", "model_length", "max_tokens", "model_context_window_exceeded":
		return llm.StopMaxTokens
	case "content_filter", "safety":
		return llm.StopContentFilter
	case "error":
		return llm.StopError // calls of a failed answer are not to be run
	}
	switch {
	case d.refusal.Len() > 0:
		return llm.StopRefusal
	case calls:
		return llm.StopToolUse
	}
	switch strings.ToLower(d.finish) {
	case "stop", "eos", "end_turn", "", "tool_calls", "tool_call", "function_call", "complete":
		return llm.StopEnd
	case "stop_sequence":
		return llm.StopSequence
	}
	return llm.StopOther
}
