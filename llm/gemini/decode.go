package gemini

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/internal/wire"
)

// decoder builds a response of the chunks of a stream, or of a whole body.
type decoder struct {
	m       *Model
	s       *wire.Stream
	out     []llm.Event
	started bool
	ended   bool // a reason to end was given

	id, model string
	parts     []*part
	calls     int
	ids       map[string]bool
	base      string // of ids that are made up
	finish    string // as sent
	blocked   bool   // finish is why the prompt was blocked
	detail    string
	sources   [len(metadata)]json.RawMessage
	usage     counters
}

// metadata are the fields beside the parts that say where an answer is from.
// They are kept for those who show it, and not sent back.
var metadata = [...]string{"groundingMetadata", "urlContextMetadata"}

func (m *Model) newDecoder(s *wire.Stream) *decoder {
	return &decoder{m: m, s: s, ids: map[string]bool{}}
}

type chunk struct {
	Candidates []struct {
		Index   wire.Int `json:"index"`
		Content struct {
			Parts []json.RawMessage `json:"parts"`
		} `json:"content"`
		Finish    word            `json:"finishReason"`
		Message   string          `json:"finishMessage"`
		Grounding json.RawMessage `json:"groundingMetadata"`
		URLs      json.RawMessage `json:"urlContextMetadata"`
	} `json:"candidates"`
	Feedback *struct {
		Reason  word   `json:"blockReason"`
		Message string `json:"blockReasonMessage"`
	} `json:"promptFeedback"`
	Usage *counters       `json:"usageMetadata"`
	Model string          `json:"modelVersion"`
	ID    string          `json:"responseId"`
	Error json.RawMessage `json:"error"`
}

// word is a word, or the number of one, as it was sent.
type word string

// UnmarshalJSON takes a string or a number; anything else is "".
func (w *word) UnmarshalJSON(b []byte) error {
	var s string
	var n json.Number
	switch {
	case json.Unmarshal(b, &s) == nil:
		*w = word(s)
	case json.Unmarshal(b, &n) == nil:
		*w = word(strings.TrimSuffix(string(n), ".0"))
	}
	return nil
}

func set(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// Event is [wire.Decoder].Event.
func (d *decoder) Event(ev wire.Event) ([]llm.Event, error) {
	d.out = d.out[:0]
	if !ev.Whole && (len(bytes.TrimSpace(ev.Data)) == 0 && !ev.Cut || string(ev.Data) == "[DONE]") {
		return nil, nil
	}
	err := d.chunk(ev)
	return d.out, err
}

// State is [wire.Decoder].State. There is no end mark: finishReason may come
// before the last parts and the counts.
func (d *decoder) State() wire.State {
	switch {
	case d.ended:
		return wire.Complete
	case d.started:
		return wire.Begun
	}
	return wire.Empty
}

func (d *decoder) chunk(ev wire.Event) error {
	var c chunk
	if err := json.Unmarshal(ev.Data, &c); err != nil {
		// A field of another type than it should be is skipped, the rest read.
		var typ *json.UnmarshalTypeError
		if ev.Cut && d.ended {
			return nil // nothing is lost but counts
		} else if !errors.As(err, &typ) || typ.Field == "" {
			return d.s.Undecodable(ev, err)
		}
	}
	if set(c.Error) || ev.Name == "error" {
		return d.s.Failure(ev.Data)
	}
	if c.ID != "" && d.id == "" {
		d.id = c.ID
	}
	if c.Model != "" {
		d.model = c.Model
	}
	d.usage.merge(c.Usage)
	if f := c.Feedback; f != nil && f.Reason != "" && f.Reason != "0" && f.Reason != "BLOCK_REASON_UNSPECIFIED" {
		d.started, d.ended, d.blocked = true, true, true
		d.finish, d.detail = string(f.Reason), f.Message
	}
	if c.Usage != nil {
		d.started = true
	}
	for i := range c.Candidates {
		x := &c.Candidates[i]
		if x.Index != 0 {
			continue
		}
		d.started = true
		for _, raw := range x.Content.Parts {
			d.part(raw)
		}
		for i, raw := range [...]json.RawMessage{x.Grounding, x.URLs} {
			if set(raw) && string(raw) != "{}" {
				d.sources[i] = bytes.Clone(raw)
			}
		}
		if x.Message != "" {
			d.detail = x.Message
		}
		if x.Finish != "" && x.Finish != "0" && x.Finish != "FINISH_REASON_UNSPECIFIED" {
			d.finish, d.ended, d.blocked = string(x.Finish), true, false
		}
	}
	if ev.Whole {
		if len(c.Candidates) == 0 && !d.blocked {
			return d.s.Corrupt("the answer has no candidates")
		}
		d.ended = true
	}
	return nil
}

// part takes a part. Parts that only go on are joined; one with a signature
// stays the part that it is.
func (d *decoder) part(raw json.RawMessage) {
	p := newPart(raw)
	if p == nil {
		return
	}
	var last *part
	if n := len(d.parts); n > 0 {
		last = d.parts[n-1]
	}
	switch p.kind {
	case kindText, kindThinking:
		if p.text != "" {
			if p.kind == kindText {
				d.out = append(d.out, llm.TextDelta{Text: p.text})
			} else {
				d.out = append(d.out, llm.ThinkingDelta{Text: p.text})
			}
		}
		if last != nil && last.kind == p.kind && last.raw == nil && p.raw == nil {
			last.more.WriteString(p.text)
			return
		}
		if p.text == "" && p.raw == nil {
			return
		}
		p.more.WriteString(p.text)
	case kindCall:
		d.call(p, d.openCall())
		return
	}
	d.parts = append(d.parts, p)
}

// openCall is the call whose arguments are still coming, if there is one.
func (d *decoder) openCall() *part {
	for i := len(d.parts) - 1; i >= 0; i-- {
		if p := d.parts[i]; p.kind == kindCall {
			if p.call.open {
				return p
			}
			break
		}
	}
	return nil
}

// call takes a functionCall: a whole one, the first of several that bring the
// arguments in pieces, or one of those that follow it.
func (d *decoder) call(p, open *part) {
	c := p.call
	if open != nil && (c.name != "" || c.id != "" && c.id != open.call.sent) {
		d.close(open)
		open = nil
	}
	if open == nil {
		if c.name == "" && c.id == "" && len(c.args) == 0 && len(c.partial) == 0 {
			return // the end of one that has ended
		}
		c.sent = c.id
		if c.id == "" || d.ids[c.id] {
			c.id = d.newID()
		}
		d.ids[c.id] = true
		c.index = d.calls
		d.calls++
		c.open = c.goesOn
		c.apply(c.args, c.partial)
		d.parts = append(d.parts, p)
		if c.open {
			d.out = append(d.out, llm.CallDelta{Index: c.index, ID: c.id, Name: c.name})
		} else {
			d.close(p)
		}
		return
	}
	open.call.apply(c.args, c.partial)
	if p.signature != nil {
		open.signature = p.signature
	}
	if !c.goesOn {
		d.close(open)
	}
}

// close ends a call and shows its arguments, which cannot be shown in pieces:
// the wire sends them by their paths.
func (d *decoder) close(p *part) {
	c := p.call
	c.open = false
	d.out = append(d.out, llm.CallDelta{Index: c.index, ID: c.id, Name: c.name, Input: string(c.input())})
}

// madeID begins the ids of calls that the server gave none. They are not sent.
const madeID = "gemini_"

// newID makes up an id: the same for the same call of the same answer.
func (d *decoder) newID() string {
	if d.base == "" {
		sum := sha256.Sum256([]byte(d.id))
		d.base = madeID + hex.EncodeToString(sum[:8])
		if d.id == "" {
			d.base = madeID + strings.ToLower(rand.Text()[:16])
		}
	}
	return fmt.Sprintf("%s_%d", d.base, d.calls)
}

// searches are the searches of the web that the server tells of: the words that
// it searched for, or the calls of the tool.
func (d *decoder) searches() int64 {
	var g struct {
		Queries []json.RawMessage `json:"webSearchQueries"`
	}
	if d.sources[0] != nil {
		_ = json.Unmarshal(d.sources[0], &g) // of another form: none is told of
	}
	n := int64(len(g.Queries))
	for _, p := range d.parts {
		if p.kind == "toolCall" && len(g.Queries) == 0 && bytes.Contains(p.raw, []byte("GOOGLE_SEARCH")) {
			n++
		}
	}
	return n
}

// Response is [wire.Decoder].Response.
func (d *decoder) Response(whole bool) *llm.Response {
	r := &llm.Response{ID: d.id, RequestID: d.s.RequestID(), Model: d.model, StopRaw: d.finish}
	r.Message = llm.Message{
		Role:   llm.RoleAssistant,
		Origin: &llm.Origin{Provider: d.m.info.Provider, Model: d.m.info.Name, Wire: Wire},
	}
	stop := d.m.stop(d.finish, d.blocked)
	// The last {} of a call may be missing, but only where all went well.
	cut := !whole || stop != llm.StopEnd
	calls := 0
	for _, p := range d.parts {
		parts := p.parts(cut)
		calls += len(parts.Calls())
		r.Message.Parts = append(r.Message.Parts, parts...)
	}
	for i, raw := range d.sources {
		if raw != nil {
			r.Message.Parts = append(r.Message.Parts, llm.Native{Wire: Wire, Kind: metadata[i], Raw: raw})
		}
	}
	if stop == llm.StopEnd && calls > 0 {
		stop = llm.StopToolUse
	}
	r.Stop = stop
	if stop != llm.StopEnd && stop != llm.StopToolUse {
		r.StopDetail = d.detail
	}
	r.Usage, r.Reported = d.usage.both()
	if r.Usage != nil {
		r.Usage.Searches = d.searches()
	}
	return r
}
