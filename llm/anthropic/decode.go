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

// decoder builds a response of the events of a stream, or of a whole body.
type decoder struct {
	info    llm.Info
	s       *wire.Stream
	out     []llm.Event // to be yielded
	started bool
	done    bool

	id, model string
	blocks    []*block            // in the order in which they came
	open      map[wire.Int]*block // by the index on the wire
	calls     int
	stop      string
	detail    string
	usage     counters
	ev        event // of the call, reused
}

func newDecoder(info llm.Info, s *wire.Stream) *decoder {
	return &decoder{info: info, s: s, open: map[wire.Int]*block{}}
}

type event struct {
	Type    string          `json:"type"`
	Index   wire.Int        `json:"index"`
	Message *message        `json:"message"`
	Block   json.RawMessage `json:"content_block"`
	Delta   delta           `json:"delta"`
	Usage   *counters       `json:"usage"`
	Error   json.RawMessage `json:"error"`
}

// delta is that of a content block or that of the message.
type delta struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	Signature string          `json:"signature"`
	Partial   string          `json:"partial_json"`
	Citation  json.RawMessage `json:"citation"`
	Content   json.RawMessage `json:"content"`
	ending
}

type message struct {
	ID      string            `json:"id"`
	Type    string            `json:"type"`
	Model   string            `json:"model"`
	Content []json.RawMessage `json:"content"`
	Usage   *counters         `json:"usage"`
	Error   json.RawMessage   `json:"error"`
	ending
}

type ending struct {
	StopReason  string `json:"stop_reason"`
	StopSeq     string `json:"stop_sequence"`
	StopDetails struct {
		Category    string `json:"category"`
		Explanation string `json:"explanation"`
	} `json:"stop_details"`
}

func isNull(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// whole decodes a body that was not streamed.
func (d *decoder) whole(ev wire.Event) error {
	var m message
	if err := json.Unmarshal(ev.Data, &m); err != nil {
		if json.Valid(ev.Data) && bytes.Contains(ev.Data, []byte(`"error"`)) {
			return d.s.Failure(ev.Data)
		}
		return d.s.Undecodable(ev, err)
	}
	switch {
	case m.Type == "error" || !isNull(m.Error):
		return d.s.Failure(ev.Data)
	case m.Type != "message" && m.StopReason == "":
		return d.s.Undecodable(ev, errors.New("it is no message"))
	}
	d.start(&m)
	for i, raw := range m.Content {
		if err := d.begin(wire.Int(i), raw); err != nil {
			return d.s.Undecodable(ev, err)
		}
		d.end(wire.Int(i))
	}
	d.finish(m.ending)
	d.done = true
	return nil
}

func (d *decoder) start(m *message) {
	d.started = true
	d.id, d.model = m.ID, m.Model
	d.usage.merge(m.Usage)
}

func (d *decoder) finish(e ending) {
	if e.StopReason != "" {
		d.stop = e.StopReason
	}
	switch {
	case e.StopDetails.Explanation != "":
		d.detail = e.StopDetails.Explanation
	case e.StopDetails.Category != "":
		d.detail = e.StopDetails.Category
	case e.StopSeq != "":
		d.detail = e.StopSeq
	}
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
func (d *decoder) State() wire.State {
	switch {
	case d.done:
		return wire.Done
	case d.started:
		return wire.Begun
	}
	return wire.Empty
}

// event decodes one event of a stream.
func (d *decoder) event(ev wire.Event) error {
	if b := bytes.TrimSpace(ev.Data); len(b) == 0 || string(b) == "[DONE]" {
		return nil
	}
	d.ev = event{}
	e := &d.ev
	if err := json.Unmarshal(ev.Data, e); err != nil {
		if ev.Name == "error" && !ev.Cut {
			return d.s.Failure(ev.Data)
		}
		return d.s.Undecodable(ev, err)
	}
	if e.Type == "" {
		e.Type = ev.Name
	}
	switch {
	case e.Type == "error" || ev.Name == "error" || !isNull(e.Error):
		return d.s.Failure(ev.Data)
	case e.Type == "message_start":
		if e.Message == nil {
			return d.s.Undecodable(ev, errors.New("a message_start has no message"))
		}
		if d.started && d.id != e.Message.ID {
			return d.s.Corrupt("a second message, %q, begins within the first, %q", e.Message.ID, d.id)
		}
		d.start(e.Message)
	case e.Type == "content_block_start":
		if err := d.begin(e.Index, e.Block); err != nil {
			return d.s.Undecodable(ev, err)
		}
	case e.Type == "content_block_delta":
		if err := d.delta(e.Index, &e.Delta); err != nil {
			return d.s.Undecodable(ev, err)
		}
	case e.Type == "content_block_stop":
		d.end(e.Index)
	case e.Type == "message_delta":
		d.started = true
		d.finish(e.Delta.ending)
		d.usage.merge(e.Usage)
	case e.Type == "message_stop":
		if !d.started {
			return d.s.Corrupt("the message ends before it began")
		}
		d.done = true
	}
	return nil // a ping, or what is new
}

// begin starts the block at an index. An index that comes again after its
// block was closed, as some servers number them, is another block.
func (d *decoder) begin(i wire.Int, raw json.RawMessage) error {
	if old := d.open[i]; old != nil && !old.closed {
		return fmt.Errorf("block %d begins twice", i)
	}
	b, err := newBlock(raw)
	if err != nil {
		return err
	}
	d.started = true
	d.open[i] = b
	d.blocks = append(d.blocks, b)
	if b.typ == "tool_use" {
		b.call = d.calls
		d.calls++
		d.out = append(d.out, llm.CallDelta{Index: b.call, ID: b.id, Name: b.name, Input: b.input.String()})
	}
	if s := b.text.String(); s != "" {
		d.show(b.typ, s)
	}
	return nil
}

func (d *decoder) show(typ, s string) {
	switch {
	case s == "":
	case typ == "text":
		d.out = append(d.out, llm.TextDelta{Text: s})
	case typ == "thinking":
		d.out = append(d.out, llm.ThinkingDelta{Text: s})
	}
}

// implied are the blocks that a delta may begin by itself, where a server
// leaves content_block_start out.
var implied = map[string]string{
	"text_delta":     `{"type":"text","text":""}`,
	"thinking_delta": `{"type":"thinking","thinking":""}`,
}

func (d *decoder) delta(i wire.Int, x *delta) error {
	b := d.open[i]
	if b == nil {
		start, ok := implied[x.Type]
		if !ok {
			return fmt.Errorf("block %d did not begin", i)
		}
		if err := d.begin(i, json.RawMessage(start)); err != nil {
			return err
		}
		b = d.open[i]
	}
	switch x.Type {
	case "text_delta":
		b.text.WriteString(x.Text)
		d.show("text", x.Text)
	case "thinking_delta":
		b.text.WriteString(x.Thinking)
		d.show("thinking", x.Thinking)
	case "signature_delta":
		b.sign.WriteString(x.Signature)
	case "input_json_delta":
		if b.replace && x.Partial != "" {
			b.input.Reset() // what the start had was a placeholder
			b.replace = false
		}
		b.input.WriteString(x.Partial)
		if b.typ == "tool_use" && x.Partial != "" {
			d.out = append(d.out, llm.CallDelta{Index: b.call, ID: b.id, Name: b.name, Input: x.Partial})
		}
	case "citations_delta":
		if !isNull(x.Citation) {
			b.citations = append(b.citations, x.Citation)
		}
	case "compaction_delta":
		b.compact(x.Content)
	}
	return nil
}

func (d *decoder) end(i wire.Int) {
	if b := d.open[i]; b != nil {
		b.closed = true
	}
}

// Response is [wire.Decoder].Response.
func (d *decoder) Response(whole bool) *llm.Response {
	r := &llm.Response{ID: d.id, RequestID: d.s.RequestID(), Model: d.model, StopRaw: d.stop, StopDetail: d.detail}
	r.Message = llm.Message{
		Role:   llm.RoleAssistant,
		Origin: &llm.Origin{Provider: d.info.Provider, Model: d.info.Name, Wire: Wire},
	}
	stop := stopOf(d.stop, false)
	cut := stop == llm.StopMaxTokens || stop == llm.StopRefusal || !whole
	var ids wire.IDs
	calls := 0
	for i, b := range d.blocks {
		last := i == len(d.blocks)-1
		p := b.part(cut && last || !whole && !b.closed)
		if c, ok := p.(llm.ToolCall); ok {
			if ghost(c) {
				continue
			}
			calls++
			if c.ID = ids.Of(c.ID); c.ID != b.id {
				c.Raw = nil // it has another id
			}
			p = c
		}
		if p != nil {
			r.Message.Parts = append(r.Message.Parts, p)
		}
	}
	if cut {
		r.Message.Parts = slices.DeleteFunc(r.Message.Parts, unfinished(r.Message.Parts))
	}
	r.Stop = stopOf(d.stop, calls > 0)
	r.Usage, r.Reported = d.usage.both()
	return r
}

// unfinished tells the calls of the provider's own tools that have no result
// among the parts. Where more of the answer follows, as after a pause, it is in
// there; where the answer was cut, there will be none, and it is refused without.
func unfinished(ps llm.Parts) func(llm.Part) bool {
	ids := func(p llm.Part) (call, result string) {
		n, ok := p.(llm.Native)
		if !ok {
			return "", ""
		}
		var b struct {
			ID  string `json:"id"`
			For string `json:"tool_use_id"`
		}
		_ = json.Unmarshal(n.Raw, &b) // it has none, then
		if n.Kind == "server_tool_use" || n.Kind == "mcp_tool_use" {
			return b.ID, ""
		}
		return "", b.For
	}
	done := map[string]bool{}
	for _, p := range ps {
		_, result := ids(p)
		done[result] = true
	}
	return func(p llm.Part) bool {
		call, _ := ids(p)
		return call != "" && !done[call]
	}
}

// ghost reports whether a call has neither name nor arguments nor id. Stored,
// it would make every later request invalid.
func ghost(c llm.ToolCall) bool {
	return c.ID == "" && c.Name == "" && string(c.Input) == "{}" && c.Malformed == ""
}

func stopOf(raw string, calls bool) llm.StopReason {
	switch raw {
	case "max_tokens", "model_context_window_exceeded":
		return llm.StopMaxTokens
	case "refusal":
		return llm.StopRefusal
	case "pause_turn", "compaction":
		return llm.StopPause
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
