package anthropic

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sort"
	"strings"

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
	blocks    map[int]*block
	calls     int
	stop      string
	detail    string
	usage     counters
	open      bool // the last block had not been closed
}

// block is a content block on its way.
type block struct {
	typ       string
	raw       map[string]json.RawMessage // as it started
	text      strings.Builder
	input     strings.Builder
	signature string
	citations []json.RawMessage
	call      int // its number among the calls
	client    bool
	closed    bool
}

// counters are the usage fields that were sent; nil was not.
type counters struct {
	Input         *int64 `json:"input_tokens"`
	Output        *int64 `json:"output_tokens"`
	CacheRead     *int64 `json:"cache_read_input_tokens"`
	CacheWrite    *int64 `json:"cache_creation_input_tokens"`
	CacheCreation *struct {
		M5 int64 `json:"ephemeral_5m_input_tokens"`
		H1 int64 `json:"ephemeral_1h_input_tokens"`
	} `json:"cache_creation"`
}

func (c *counters) merge(o counters) {
	for _, f := range []struct{ to, from **int64 }{
		{&c.Input, &o.Input}, {&c.Output, &o.Output}, {&c.CacheRead, &o.CacheRead}, {&c.CacheWrite, &o.CacheWrite},
	} {
		if *f.from != nil {
			*f.to = *f.from
		}
	}
	if o.CacheCreation != nil {
		c.CacheCreation = o.CacheCreation
	}
}

func newDecoder(info llm.Info, s *wire.Stream) *decoder {
	return &decoder{info: info, s: s, blocks: map[int]*block{}}
}

type message struct {
	ID          string            `json:"id"`
	Model       string            `json:"model"`
	Content     []json.RawMessage `json:"content"`
	StopReason  string            `json:"stop_reason"`
	StopSeq     string            `json:"stop_sequence"`
	StopDetails struct {
		Type, Category, Explanation string
	} `json:"stop_details"`
	Usage counters `json:"usage"`
}

// whole decodes a body that was not streamed.
func (d *decoder) whole(b []byte) error {
	var probe struct {
		Type  string          `json:"type"`
		Error json.RawMessage `json:"error"`
	}
	if err := json.Unmarshal(b, &probe); err != nil {
		return d.s.Corrupt("the answer is not JSON: %v", err)
	}
	if probe.Type == "error" || len(probe.Error) > 0 && string(probe.Error) != "null" {
		return d.s.Failure(b)
	}
	var m message
	if err := json.Unmarshal(b, &m); err != nil {
		return d.s.Corrupt("the answer cannot be read: %v", err)
	}
	if probe.Type != "message" && m.ID == "" && m.StopReason == "" {
		return d.s.Corrupt("the answer is no message")
	}
	d.start(m)
	for i, raw := range m.Content {
		if err := d.begin(i, raw); err != nil {
			return err
		}
		d.end(i)
	}
	d.finish(m)
	d.done = true
	return nil
}

func (d *decoder) start(m message) {
	d.started = true
	d.id, d.model = m.ID, m.Model
	d.usage.merge(m.Usage)
}

func (d *decoder) finish(m message) {
	if m.StopReason != "" {
		d.stop = m.StopReason
	}
	switch {
	case m.StopDetails.Explanation != "":
		d.detail = m.StopDetails.Explanation
	case m.StopDetails.Category != "":
		d.detail = m.StopDetails.Category
	case m.StopSeq != "":
		d.detail = m.StopSeq
	}
}

// event decodes one event of a stream.
func (d *decoder) event(ev wire.Event) error {
	name, data := ev.Name, ev.Data
	var e struct {
		Type    string          `json:"type"`
		Index   int             `json:"index"`
		Message *message        `json:"message"`
		Block   json.RawMessage `json:"content_block"`
		Delta   json.RawMessage `json:"delta"`
		Usage   counters        `json:"usage"`
		Error   json.RawMessage `json:"error"`
	}
	if bytes.Equal(bytes.TrimSpace(data), []byte("[DONE]")) {
		return nil
	}
	if err := json.Unmarshal(data, &e); err != nil {
		return d.s.Undecodable(ev, err)
	}
	switch {
	case e.Type == "error" || name == "error" || e.Type == "" && len(e.Error) > 0:
		return d.s.Failure(data)
	case e.Type == "message_start":
		if e.Message == nil {
			return d.s.Corrupt("a message_start has no message")
		}
		if d.started && d.id != e.Message.ID {
			return d.s.Corrupt("a second message %q begins within the first, %q", e.Message.ID, d.id)
		}
		d.start(*e.Message)
	case e.Type == "content_block_start":
		return d.begin(e.Index, e.Block)
	case e.Type == "content_block_delta":
		return d.delta(e.Index, e.Delta)
	case e.Type == "content_block_stop":
		d.end(e.Index)
	case e.Type == "message_delta":
		var m message
		if len(e.Delta) > 0 {
			if err := json.Unmarshal(e.Delta, &m); err != nil {
				return d.s.Corrupt("a message_delta cannot be read: %v", err)
			}
		}
		d.finish(m)
		d.usage.merge(e.Usage)
	case e.Type == "message_stop":
		d.done = true
	}
	return nil // ping, and what is new
}

// clientTools are the block types that ask for a tool of ours.
func isClient(typ string) bool { return typ == "tool_use" }

func (d *decoder) begin(i int, raw json.RawMessage) error {
	b := &block{raw: map[string]json.RawMessage{}}
	if err := json.Unmarshal(raw, &b.raw); err != nil {
		return d.s.Corrupt("a content block cannot be read: %v", err)
	}
	b.typ = str(b.raw["type"])
	d.blocks[i] = b
	switch b.typ {
	case "text":
		b.text.WriteString(str(b.raw["text"]))
		_ = json.Unmarshal(b.raw["citations"], &b.citations) // null or absent: none
		d.show(llm.TextDelta{Text: b.text.String()}, b.text.Len())
	case "thinking":
		b.text.WriteString(str(b.raw["thinking"]))
		b.signature = str(b.raw["signature"])
		d.show(llm.ThinkingDelta{Text: b.text.String()}, b.text.Len())
	case "tool_use":
		b.call = d.calls
		d.calls++
		in := bytes.TrimSpace(b.raw["input"])
		if len(in) > 0 && string(in) != "{}" && string(in) != "null" {
			b.input.Write(in)
		}
		d.out = append(d.out, llm.CallDelta{Index: b.call, ID: str(b.raw["id"]), Name: str(b.raw["name"]), Input: b.input.String()})
	}
	return nil
}

func (d *decoder) show(ev llm.Event, n int) {
	if n > 0 {
		d.out = append(d.out, ev)
	}
}

func (d *decoder) delta(i int, raw json.RawMessage) error {
	b := d.blocks[i]
	if b == nil {
		return d.s.Corrupt("a delta is for block %d, which did not begin", i)
	}
	var x struct {
		Type      string          `json:"type"`
		Text      string          `json:"text"`
		Thinking  string          `json:"thinking"`
		Signature string          `json:"signature"`
		Partial   string          `json:"partial_json"`
		Citation  json.RawMessage `json:"citation"`
		Content   json.RawMessage `json:"content"`
	}
	if err := json.Unmarshal(raw, &x); err != nil {
		return d.s.Corrupt("a delta cannot be read: %v", err)
	}
	switch x.Type {
	case "text_delta":
		b.text.WriteString(x.Text)
		d.show(llm.TextDelta{Text: x.Text}, len(x.Text))
	case "thinking_delta":
		b.text.WriteString(x.Thinking)
		d.show(llm.ThinkingDelta{Text: x.Thinking}, len(x.Thinking))
	case "signature_delta":
		b.signature += x.Signature
	case "input_json_delta":
		b.input.WriteString(x.Partial)
		if isClient(b.typ) && x.Partial != "" {
			d.out = append(d.out, llm.CallDelta{Index: b.call, ID: str(b.raw["id"]), Name: str(b.raw["name"]), Input: x.Partial})
		}
	case "citations_delta":
		b.citations = append(b.citations, bytes.Clone(x.Citation))
	case "compaction_delta":
		b.raw["content"] = bytes.Clone(x.Content)
	}
	return nil
}

func (d *decoder) end(i int) {
	if b := d.blocks[i]; b != nil {
		b.closed = true
	}
}

// response is the message as far as it has come.
func (d *decoder) response() *llm.Response {
	order := make([]int, 0, len(d.blocks))
	for i := range d.blocks {
		order = append(order, i)
	}
	sort.Ints(order)
	r := &llm.Response{ID: d.id, RequestID: d.s.RequestID(), Model: d.model, StopRaw: d.stop, StopDetail: d.detail}
	r.Message = llm.Message{
		Role:   llm.RoleAssistant,
		Origin: &llm.Origin{Provider: d.info.Provider, Model: d.info.Name, Wire: Wire},
	}
	calls := false
	for _, i := range order {
		if p := d.blocks[i].part(i); p != nil {
			_, call := p.(llm.ToolCall)
			calls = calls || call
			r.Message.Parts = append(r.Message.Parts, p)
		}
	}
	r.Stop = stopOf(d.stop, calls)
	r.Usage, r.Reported = d.usage.both()
	return r
}

// part is the block as a part; nil if there is nothing in it.
func (b *block) part(i int) llm.Part {
	switch b.typ {
	case "text":
		t := llm.Text{Text: b.text.String()}
		if len(b.citations) > 0 {
			b.raw["text"] = wire.AppendString(nil, t.Text)
			b.raw["citations"], _ = json.Marshal(b.citations) // raw JSON marshals
			t.Raw = b.rebuild()
		} else if t.Text == "" {
			return nil
		}
		return t
	case "thinking":
		t := llm.Thinking{Text: b.text.String(), Signature: b.signature}
		if t.Text == "" && t.Signature == "" {
			return nil
		}
		return t
	case "redacted_thinking":
		return llm.Thinking{Raw: b.rebuild()}
	case "tool_use":
		c := llm.ToolCall{ID: str(b.raw["id"]), Name: str(b.raw["name"])}
		c.Input, c.Malformed = wire.Input(b.input.String())
		if c.ID == "" {
			c.ID = fmt.Sprintf("call_%d", i)
		}
		if len(b.raw["caller"]) > 0 && c.Malformed == "" && str(get(b.raw["caller"], "type")) != "direct" {
			b.raw["input"] = c.Input
			c.Raw = b.rebuild()
		}
		return c
	}
	if b.input.Len() > 0 {
		in, bad := wire.Input(b.input.String())
		if bad != "" {
			return nil // cut: it must not go back
		}
		b.raw["input"] = in
	}
	return llm.Native{Wire: Wire, Kind: b.typ, Raw: b.rebuild()}
}

// rebuild is the block's JSON, its type first.
func (b *block) rebuild() json.RawMessage {
	var o wire.Body
	o.Value("type", b.typ)
	keys := make([]string, 0, len(b.raw))
	for k := range b.raw {
		if k != "type" {
			keys = append(keys, k)
		}
	}
	sort.Strings(keys)
	for _, k := range keys {
		o.Raw(k, b.raw[k])
	}
	return o.Bytes()
}

func stopOf(raw string, calls bool) llm.StopReason {
	switch raw {
	case "max_tokens", "model_context_window_exceeded":
		return llm.StopMaxTokens
	case "refusal":
		return llm.StopRefusal
	case "pause_turn":
		return llm.StopPause
	}
	switch {
	case calls:
		return llm.StopToolUse
	case raw == "end_turn", raw == "tool_use":
		return llm.StopEnd
	case raw == "stop_sequence":
		return llm.StopSequence
	}
	return llm.StopOther
}

// both returns the usage in the two ways of counting; they are the same on
// this wire, whose input excludes the cache.
func (c counters) both() (usage, reported *llm.Usage) {
	if c.Input == nil && c.Output == nil {
		return nil, nil
	}
	v := func(p *int64) int64 {
		if p == nil || *p < 0 {
			return 0
		}
		return *p
	}
	u := llm.Usage{Input: v(c.Input), Output: v(c.Output), CacheRead: v(c.CacheRead), CacheWrite: v(c.CacheWrite)}
	if cc := c.CacheCreation; cc != nil {
		u.CacheWrite1h = min(max(cc.H1, 0), u.CacheWrite)
	}
	r := u
	return &u, &r
}

func str(raw json.RawMessage) string {
	var s string
	_ = json.Unmarshal(raw, &s) // not a string: ""
	return s
}

func get(raw json.RawMessage, key string) json.RawMessage {
	var m map[string]json.RawMessage
	_ = json.Unmarshal(raw, &m) // not an object: nothing
	return m[key]
}
