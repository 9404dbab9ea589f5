package bedrock

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/internal/wire"
)

// decoder builds a response of the events of a stream, or of a whole body.
type decoder struct {
	info  llm.Info
	s     *wire.Stream
	out   []llm.Event // to be yielded
	state wire.State

	blocks []*block            // in the order in which they came
	open   map[wire.Int]*block // by the index on the wire
	calls  int
	stop   string
	detail string
	model  string
	usage  *counters
}

func newDecoder(info llm.Info, s *wire.Stream) *decoder {
	return &decoder{info: info, s: s, open: map[wire.Int]*block{}}
}

// payload is that of any event of a stream; which one it is says its name.
type payload struct {
	Index wire.Int `json:"contentBlockIndex"`
	Start struct {
		Call   *toolUse `json:"toolUse"`
		Result *struct {
			ID     string `json:"toolUseId"`
			Type   string `json:"type"`
			Status string `json:"status"`
		} `json:"toolResult"`
	} `json:"start"`
	Delta struct {
		Text *string `json:"text"`
		Call *struct {
			Input json.RawMessage `json:"input"`
		} `json:"toolUse"`
		Thinking *reasoning        `json:"reasoningContent"`
		Citation json.RawMessage   `json:"citation"`
		Result   []json.RawMessage `json:"toolResult"`
	} `json:"delta"`
	ending
}

// ending is what stands beside the content of an answer.
type ending struct {
	Stop  string    `json:"stopReason"`
	Usage *counters `json:"usage"`
	// Extra has what was asked for in additionalModelResponseFieldPaths.
	Extra json.RawMessage `json:"additionalModelResponseFields"`
	Trace json.RawMessage `json:"trace"`
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

// State is [wire.Decoder].State.
func (d *decoder) State() wire.State { return d.state }

// whole decodes a body that was not streamed.
func (d *decoder) whole(ev wire.Event) error {
	var m struct {
		Output *struct {
			Message *struct {
				Content []json.RawMessage `json:"content"`
			} `json:"message"`
		} `json:"output"`
		ending
		// Of a failure that came as a success.
		Message json.RawMessage `json:"message"`
		Type    json.RawMessage `json:"__type"`
		Error   json.RawMessage `json:"error"`
	}
	err := json.Unmarshal(ev.Data, &m)
	if err != nil && !json.Valid(ev.Data) {
		return d.s.Undecodable(ev, err)
	}
	if err != nil || m.Output == nil || m.Output.Message == nil {
		if m.Stop != "" && err == nil { // an answer of nothing
			d.finish(m.ending)
			d.state = wire.Done
			return nil
		}
		if !isNull(m.Message) || !isNull(m.Type) || !isNull(m.Error) {
			return d.s.Failure(ev.Data)
		}
		if err == nil {
			err = errors.New("it has no message")
		}
		return d.s.Undecodable(ev, err)
	}
	d.state = wire.Begun
	for _, raw := range m.Output.Message.Content {
		b, err := wholeBlock(raw)
		if err != nil {
			return d.s.Undecodable(ev, err)
		}
		if b == nil {
			continue
		}
		d.add(b)
		switch b.kind {
		case kindText, kindCitations, kindThinking:
			d.show(b.kind, b.text.String())
		}
	}
	d.finish(m.ending)
	d.state = wire.Done
	return nil
}

// add takes a block up; the first of a call is shown at once.
func (d *decoder) add(b *block) {
	d.blocks = append(d.blocks, b)
	if b.kind == kindCall && b.typ != server {
		b.call = d.calls
		d.calls++
		d.out = append(d.out, llm.CallDelta{Index: b.call, ID: b.id, Name: b.name, Input: b.input.String()})
	}
}

func (d *decoder) show(kind, s string) {
	switch {
	case s == "":
	case kind == kindThinking:
		d.out = append(d.out, llm.ThinkingDelta{Text: s})
	default:
		d.out = append(d.out, llm.TextDelta{Text: s})
	}
}

func (d *decoder) finish(e ending) {
	if e.Stop != "" {
		d.stop = e.Stop
	}
	if e.Usage != nil {
		d.usage = e.Usage
	}
	var extra struct {
		StopSequence string `json:"stop_sequence"`
	}
	var trace struct {
		Guardrail struct {
			Reason string `json:"actionReason"`
		} `json:"guardrail"`
		Router struct {
			Model string `json:"invokedModelId"`
		} `json:"promptRouter"`
	}
	_ = json.Unmarshal(e.Extra, &extra) // what a model makes of it is not certain
	_ = json.Unmarshal(e.Trace, &trace) // only to explain
	switch {
	case trace.Guardrail.Reason != "":
		d.detail = trace.Guardrail.Reason
	case extra.StopSequence != "":
		d.detail = extra.StopSequence
	}
	if trace.Router.Model != "" {
		d.model = trace.Router.Model
	}
}

// event decodes one event of a stream.
func (d *decoder) event(ev wire.Event) error {
	if ev.Name == "error" {
		return d.s.Failure(ev.Data)
	}
	var p payload
	switch ev.Name {
	case "messageStart", "contentBlockStart", "contentBlockDelta", "contentBlockStop", "messageStop", "metadata":
		if err := json.Unmarshal(ev.Data, &p); err != nil {
			return d.s.Undecodable(ev, err)
		}
	default:
		return nil // what is new
	}
	if d.state >= wire.Complete && ev.Name != "metadata" {
		return d.s.Corrupt("a %s follows the end of the message", ev.Name)
	}
	d.state = max(d.state, wire.Begun)
	switch ev.Name {
	case "messageStart":
		if len(d.blocks) > 0 {
			return d.s.Corrupt("a second message begins within the first")
		}
	case "contentBlockStart":
		if err := d.begin(&p); err != nil {
			return d.s.Undecodable(ev, err)
		}
	case "contentBlockDelta":
		if err := d.delta(&p); err != nil {
			return d.s.Undecodable(ev, err)
		}
	case "contentBlockStop":
		if b := d.open[p.Index]; b != nil {
			b.closed = true
		}
	case "messageStop":
		d.finish(p.ending)
		d.state = wire.Complete // the counts follow
	case "metadata":
		d.finish(p.ending)
		if d.state >= wire.Complete {
			d.state = wire.Done
		}
	}
	return nil
}

// begin starts a block; only those of tools have a start. Another at an index
// whose block is still open is one that its server did not number.
func (d *decoder) begin(p *payload) error {
	b := &block{}
	switch {
	case p.Start.Call != nil:
		u := p.Start.Call
		b.kind, b.id, b.name, b.typ = kindCall, u.ID, u.Name, u.Type
		b.arguments(u.Input)
		b.early = b.input.Len() > 0
	case p.Start.Result != nil:
		r := p.Start.Result
		b.kind, b.id, b.typ, b.status = kindResult, r.ID, r.Type, r.Status
	default:
		delete(d.open, p.Index) // its first delta says what it is
		return nil
	}
	if old := d.open[p.Index]; old != nil && !old.closed && old.kind == b.kind && old.id == b.id && b.id != "" {
		return fmt.Errorf("block %d begins twice", p.Index)
	}
	d.open[p.Index] = b
	d.add(b)
	return nil
}

// at is the open block of a kind at an index, or a new one: text and thinking
// have no start, and one may follow the other at the same index.
func (d *decoder) at(i wire.Int, kind string) *block {
	if b := d.open[i]; b != nil && !b.closed && b.kind == kind {
		return b
	}
	b := &block{kind: kind}
	d.open[i] = b
	d.add(b)
	return b
}

func (d *decoder) delta(p *payload) error {
	x := &p.Delta
	if x.Text != nil && (*x.Text != "" || d.open[p.Index] == nil) {
		d.at(p.Index, kindText).text.WriteString(*x.Text)
		d.show(kindText, *x.Text)
	}
	if r := x.Thinking; r != nil {
		if r.Text != nil && *r.Text != "" {
			d.at(p.Index, kindThinking).text.WriteString(*r.Text)
			d.show(kindThinking, *r.Text)
		}
		if r.Sig != nil && *r.Sig != "" {
			d.at(p.Index, kindThinking).sign.WriteString(*r.Sig)
		}
		if r.Redacted != nil && *r.Redacted != "" {
			b := d.at(p.Index, kindRedacted)
			b.redacted = append(b.redacted, *r.Redacted)
		}
	}
	if !isNull(x.Citation) {
		b := d.at(p.Index, kindText)
		b.list = append(b.list, x.Citation)
	}
	b := d.open[p.Index]
	if x.Call != nil {
		if b == nil || b.kind != kindCall || b.closed {
			return fmt.Errorf("block %d is no call that has begun", p.Index)
		}
		in, ok := str(x.Call.Input)
		if !ok && !isNull(x.Call.Input) {
			in = string(x.Call.Input)
		}
		if b.early {
			in = "" // they came with the start
		}
		b.input.WriteString(in)
		if b.typ != server && in != "" {
			d.out = append(d.out, llm.CallDelta{Index: b.call, ID: b.id, Name: b.name, Input: in})
		}
	}
	if len(x.Result) > 0 && b != nil && b.kind == kindResult {
		b.list = append(b.list, x.Result...)
	}
	return nil
}

// Response is [wire.Decoder].Response.
func (d *decoder) Response(whole bool) *llm.Response {
	r := &llm.Response{RequestID: d.s.RequestID(), Model: d.model, StopRaw: d.stop, StopDetail: d.detail}
	r.Message = llm.Message{
		Role:   llm.RoleAssistant,
		Origin: &llm.Origin{Provider: d.info.Provider, Model: d.info.Name, Wire: Wire},
	}
	stop := stopOf(d.stop, false)
	cut := stop == llm.StopMaxTokens || stop == llm.StopContentFilter || stop == llm.StopError || stop == llm.StopRefusal || !whole
	answered := map[string]bool{} // the server's own calls
	for _, b := range d.blocks {
		if b.kind == kindResult {
			answered[b.id] = true
		}
	}
	var ids wire.IDs
	calls := 0
	for i, b := range d.blocks {
		if b.kind == kindCall && b.typ == server && !answered[b.id] {
			continue // cut: a call without a result would be refused
		}
		last := i == len(d.blocks)-1
		p := b.part(cut && last || !whole && !b.closed)
		if c, ok := p.(llm.ToolCall); ok {
			if c.ID == "" && c.Name == "" && string(c.Input) == "{}" && c.Malformed == "" {
				continue // stored, it would make every later request invalid
			}
			calls++
			c.ID = ids.Of(c.ID)
			p = c
		}
		if p != nil {
			r.Message.Parts = append(r.Message.Parts, p)
		}
	}
	r.Stop = stopOf(d.stop, calls > 0)
	r.Usage, r.Reported = d.usage.both()
	return r
}

func stopOf(raw string, calls bool) llm.StopReason {
	switch raw {
	case "max_tokens", "model_context_window_exceeded":
		return llm.StopMaxTokens
	case "guardrail_intervened", "content_filtered":
		return llm.StopContentFilter
	case "refusal":
		return llm.StopRefusal
	case "pause_turn":
		return llm.StopPause
	case "malformed_model_output", "malformed_tool_use":
		return llm.StopError
	}
	switch {
	case calls:
		return llm.StopToolUse
	case raw == "end_turn", raw == "tool_use", raw == "":
		return llm.StopEnd
	case raw == "stop_sequence":
		return llm.StopSequence
	}
	return llm.StopOther
}
