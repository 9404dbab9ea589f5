package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/internal/wire"
)

// responseDecoder builds a response of the events of a stream, or of a whole
// body.
type responseDecoder struct {
	m     *Responses
	s     *wire.Stream
	tools map[string]bool // that the request has
	out   []llm.Event
	state wire.State

	id, model string
	status    string // as sent, with the reason of an incomplete one
	items     []*item
	at        map[wire.Int]*item // by output_index
	calls     int                // that were shown
	usage     *responseUsage
}

func newResponseDecoder(m *Responses, s *wire.Stream, req *llm.Request) *responseDecoder {
	d := &responseDecoder{m: m, s: s, tools: map[string]bool{}, at: map[wire.Int]*item{}}
	for _, t := range req.Tools {
		d.tools[t.Name] = true
	}
	return d
}

// responseEvent is an event of any type.
type responseEvent struct {
	Type      string          `json:"type"`
	Output    *wire.Int       `json:"output_index"`
	ItemID    string          `json:"item_id"`
	Content   wire.Int        `json:"content_index"`
	Summary   wire.Int        `json:"summary_index"`
	Delta     json.RawMessage `json:"delta"`
	Text      string          `json:"text"`
	Refusal   string          `json:"refusal"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Input     json.RawMessage `json:"input"`
	Part      *contentPart    `json:"part"`
	Item      json.RawMessage `json:"item"`
	Response  *responseBody   `json:"response"`
	Error     json.RawMessage `json:"error"`
}

// responseBody is a response as an object, whole or in an event.
type responseBody struct {
	ID         string          `json:"id"`
	Model      string          `json:"model"`
	Status     string          `json:"status"`
	Error      json.RawMessage `json:"error"`
	Incomplete *struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
	Output []json.RawMessage `json:"output"`
	Usage  *responseUsage    `json:"usage"`
}

// decodeLoosely decodes what it can: a field of another type than it should be
// is skipped, the rest read.
func decodeLoosely(data []byte, v any) error {
	err := json.Unmarshal(data, v)
	var typ *json.UnmarshalTypeError
	if errors.As(err, &typ) && typ.Field != "" {
		return nil
	}
	return err
}

// Event is [wire.Decoder].Event.
func (d *responseDecoder) Event(ev wire.Event) (out []llm.Event, err error) {
	d.out = d.out[:0]
	if ev.Whole {
		err = d.whole(ev)
	} else {
		err = d.event(ev)
	}
	return d.out, err
}

// State is [wire.Decoder].State.
func (d *responseDecoder) State() wire.State { return d.state }

func (d *responseDecoder) begun() { d.state = max(d.state, wire.Begun) }

// whole decodes a body that was not streamed.
func (d *responseDecoder) whole(ev wire.Event) error {
	var r struct {
		responseBody
		Type   string `json:"type"`
		Object string `json:"object"`
	}
	if err := decodeLoosely(ev.Data, &r); err != nil {
		return d.s.Undecodable(ev, err)
	}
	switch {
	case isError(r.Error), r.Status == "failed", r.Type == "error", r.Object == "error":
		return d.s.Failure(ev.Data)
	case r.Output == nil && r.Status == "":
		return d.s.Corrupt("the answer has no output: does the server speak the Responses API?")
	}
	return d.end(&r.responseBody, "completed", ev.Data)
}

// event decodes one event of a stream.
func (d *responseDecoder) event(ev wire.Event) error {
	data := bytes.TrimSpace(ev.Data)
	switch {
	case len(data) == 0:
		return nil
	case string(data) == "[DONE]":
		return d.doneMark()
	}
	var e responseEvent
	if err := decodeLoosely(data, &e); err != nil {
		return d.s.Undecodable(ev, err)
	}
	if e.Type == "" {
		e.Type = ev.Name
	}
	kind := strings.TrimPrefix(e.Type, "response.")
	switch kind {
	case "error":
		return d.failure(data)
	case "created", "in_progress", "queued":
		if e.Response != nil {
			d.begun()
			d.head(e.Response)
			if isError(e.Response.Error) {
				return d.s.Failure(data)
			}
		}
	case "completed", "incomplete", "failed", "cancelled", "done":
		if e.Response == nil {
			e.Response = &responseBody{Error: e.Error}
		}
		word := kind
		if word == "done" {
			word = "completed"
		}
		return d.end(e.Response, word, data)
	default:
		if isError(e.Error) && e.Item == nil {
			return d.failure(data)
		}
		return d.piece(kind, &e)
	}
	return nil
}

// piece takes an event of an item.
func (d *responseDecoder) piece(kind string, e *responseEvent) error {
	delta := deltaText(e.Delta)
	switch kind {
	case "output_item.added", "output_item.done":
		if !set(e.Item) {
			return nil
		}
		var o outputItem
		if err := decodeLoosely(e.Item, &o); err != nil {
			return d.s.Corrupt("an item cannot be read: %v", err)
		}
		it := d.find(e.Output, o.ID, "")
		if kind == "output_item.added" && (it.done || it.kind != "" && it.kind != o.Type) {
			it = d.add(e.Output) // servers number all items 0
		}
		it.take(d, &o, e.Item, kind == "output_item.done")
	case "content_part.added", "content_part.done":
		if e.Part == nil {
			return nil
		}
		switch e.Part.Type {
		case "output_text", "text", "refusal":
			it := d.find(e.Output, e.ItemID, "message")
			it.text(d, e.Content, e.Part.Text+e.Part.Refusal, e.Part.Type == "refusal", true)
		case "reasoning_text":
			d.find(e.Output, e.ItemID, "reasoning").think(d, false, e.Content, e.Part.Text, true)
		}
	case "output_text.delta":
		d.find(e.Output, e.ItemID, "message").text(d, e.Content, delta, false, false)
	case "output_text.done":
		d.find(e.Output, e.ItemID, "message").text(d, e.Content, e.Text, false, true)
	case "refusal.delta":
		d.find(e.Output, e.ItemID, "message").text(d, e.Content, delta, true, false)
	case "refusal.done":
		d.find(e.Output, e.ItemID, "message").text(d, e.Content, e.Refusal, true, true)
	case "reasoning_summary_text.delta", "reasoning_summary.delta":
		d.find(e.Output, e.ItemID, "reasoning").think(d, true, e.Summary, delta, false)
	case "reasoning_summary_text.done", "reasoning_summary.done":
		d.find(e.Output, e.ItemID, "reasoning").think(d, true, e.Summary, e.Text, true)
	case "reasoning_text.delta", "reasoning.delta":
		d.find(e.Output, e.ItemID, "reasoning").think(d, false, e.Content, delta, false)
	case "reasoning_text.done", "reasoning.done":
		d.find(e.Output, e.ItemID, "reasoning").think(d, false, e.Content, e.Text, true)
	case "function_call_arguments.delta", "custom_tool_call_input.delta":
		d.find(e.Output, e.ItemID, callKind(kind)).input(d, delta, false)
	case "function_call_arguments.done", "custom_tool_call_input.done":
		it := d.find(e.Output, e.ItemID, callKind(kind))
		if it.name == "" {
			it.name = e.Name
		}
		if full := argText(e.Arguments) + argText(e.Input); full != "" {
			it.input(d, full, true)
		}
	}
	return nil
}

func callKind(event string) string {
	if strings.HasPrefix(event, "custom_tool_call") {
		return "custom_tool_call"
	}
	return "function_call"
}

// deltaText is a delta: a string, or an object with one.
func deltaText(raw json.RawMessage) string {
	var s string
	if !set(raw) || json.Unmarshal(raw, &s) == nil {
		return s
	}
	var o struct {
		Text string `json:"text"`
	}
	_ = json.Unmarshal(raw, &o) // nothing to show, then
	return o.Text
}

// find is the item of an event: that of its output_index, as ids may change
// from event to event; else that of its id, else the last. A new one is made
// where there is none.
func (d *responseDecoder) find(index *wire.Int, id, kind string) *item {
	d.begun()
	it := d.known(index, id)
	if it == nil || kind != "" && it.kind != "" && it.kind != kind && (index == nil || it.done) {
		it = d.add(index)
	}
	if it.kind == "" {
		it.kind = kind
	}
	if it.id == "" {
		it.id = id
	}
	return it
}

func (d *responseDecoder) known(index *wire.Int, id string) *item {
	if index != nil {
		return d.at[*index]
	}
	for i := len(d.items) - 1; i >= 0 && id != ""; i-- {
		if d.items[i].id == id {
			return d.items[i]
		}
	}
	if n := len(d.items); n > 0 && id == "" && !d.items[n-1].done {
		return d.items[n-1]
	}
	return nil
}

func (d *responseDecoder) add(index *wire.Int) *item {
	it := &item{call: -1}
	d.items = append(d.items, it)
	if index != nil {
		d.at[*index] = it
	}
	return it
}

func (d *responseDecoder) head(r *responseBody) {
	if r.ID != "" {
		d.id = r.ID
	}
	if r.Model != "" {
		d.model = r.Model
	}
}

// maxAfter is how many events may come between an error event and what explains
// it: pings, and what is new.
const maxAfter = 8

// failure is the error of an error event. One that does not say what it is may
// be followed by response.failed, which does.
func (d *responseDecoder) failure(data []byte) error {
	e := d.s.Failure(data)
	if e.Kind != llm.KindStream {
		return e
	}
	for range maxAfter {
		next, err := d.s.Next()
		if err != nil {
			break // what came before says more than how the stream ended
		}
		var f responseEvent
		if decodeLoosely(next.Data, &f) == nil && f.Response != nil && isError(f.Response.Error) {
			return d.s.Failure(next.Data)
		}
	}
	return e
}

// doneMark ends a stream whose terminal event is missing, if each item is done.
func (d *responseDecoder) doneMark() error {
	if len(d.items) == 0 {
		return d.s.Truncated()
	}
	for _, it := range d.items {
		if !it.done {
			return d.s.Truncated()
		}
	}
	d.state = wire.Done
	return nil
}

// end takes the response of the last event, or of a whole body. word is its
// status where it has none.
func (d *responseDecoder) end(r *responseBody, word string, data []byte) error {
	d.begun()
	d.head(r)
	d.usage = r.Usage // earlier ones are placeholders
	if r.Status == "" {
		r.Status = word
	}
	d.status = r.Status
	switch {
	case r.Status == "failed" || word == "failed" || isError(r.Error):
		return d.s.Failure(data)
	case r.Status == "cancelled":
		return d.s.Failure([]byte(`{"error":{"message":"the response was cancelled"}}`))
	case r.Status == "queued" || r.Status == "in_progress":
		return d.background(r.Status)
	}
	if r.Incomplete != nil && r.Incomplete.Reason != "" && r.Status == "incomplete" {
		d.status += ":" + r.Incomplete.Reason
	}
	// Some servers leave the output of the last event empty, or a part of it.
	done := 0
	for _, it := range d.items {
		if it.done {
			done++
		}
	}
	if len(r.Output) > 0 && len(r.Output) >= done {
		if err := d.settle(r.Output); err != nil {
			return err
		}
	}
	d.state = wire.Done
	return nil
}

// background is the error for an answer that is still to be made. It is not
// retried: the same request would be answered in the same way.
func (d *responseDecoder) background(status string) error {
	var o wire.Body
	o.Value("type", "invalid_request_error")
	o.Value("message", fmt.Sprintf("the response %s is %s: it goes on in the background, from where answers are not fetched: leave background out of the request", d.id, status))
	return d.s.Failure(o.Bytes())
}

// settle takes the items as the last event has them, in its order. What was
// streamed of an item is found by its id, or else by its place.
func (d *responseDecoder) settle(output []json.RawMessage) error {
	byID := map[string]*item{}
	for _, it := range d.items {
		byID[it.id] = it
	}
	items, used := make([]*item, len(output)), map[*item]bool{}
	for i, raw := range output {
		var o outputItem
		if err := decodeLoosely(raw, &o); err != nil {
			return d.s.Corrupt("item %d cannot be read: %v", i, err)
		}
		fits := func(it *item) bool { return it != nil && !used[it] && (it.kind == o.Type || it.kind == "") }
		it := byID[o.ID]
		if !fits(it) && i < len(d.items) {
			it = d.items[i]
		}
		if !fits(it) {
			it = &item{call: -1}
		}
		used[it], items[i] = true, it
		it.take(d, &o, raw, true)
	}
	d.items = items
	return nil
}

// Response is [wire.Decoder].Response.
func (d *responseDecoder) Response(whole bool) *llm.Response {
	r := &llm.Response{ID: d.id, RequestID: d.s.RequestID(), Model: d.model, StopRaw: d.status}
	r.Message = llm.Message{
		Role:   llm.RoleAssistant,
		Origin: &llm.Origin{Provider: d.m.info.Provider, Model: d.m.info.Name, Wire: WireResponses},
	}
	var ids wire.IDs
	var refused []string
	var waiting []string
	for _, it := range d.items {
		if it.refused {
			refused = append(refused, it.visible())
		}
		if p := it.part(d, &ids, whole); p != nil {
			if t, ok := p.(llm.Text); ok && t.Text == "" && !afterThinking(r.Message.Parts) {
				continue // it says nothing, and no reasoning depends on it
			}
			r.Message.Parts = append(r.Message.Parts, p)
		}
	}
	answered := outputs(r.Message.Parts)
	var searches int64
	for _, p := range r.Message.Parts {
		n, ok := p.(llm.Native)
		switch {
		case !ok:
		case waits(n, answered):
			waiting = append(waiting, n.Kind)
		case searched(n):
			searches++
		}
	}
	r.StopDetail = strings.Join(refused, "\n")
	r.Stop = d.stop(len(r.Message.Parts.Calls()) > 0, len(refused) > 0)
	if len(waiting) > 0 && r.StopDetail == "" {
		r.StopDetail = fmt.Sprintf("what the provider asks of its client is not done here: %s", strings.Join(waiting, ", "))
	}
	r.Usage, r.Reported = d.usage.both(searches)
	return r
}

// searched reports whether an item is a search of the web; a page that the
// provider opens or looks through is none.
func searched(n llm.Native) bool {
	if n.Kind != "web_search_call" {
		return false
	}
	var it struct {
		Action struct {
			Type string `json:"type"`
		} `json:"action"`
	}
	_ = json.Unmarshal(n.Raw, &it) // none is said, then
	return it.Action.Type == "" || it.Action.Type == "search"
}

func afterThinking(ps llm.Parts) bool {
	if len(ps) == 0 {
		return false
	}
	_, ok := ps[len(ps)-1].(llm.Thinking)
	return ok
}

func (d *responseDecoder) stop(calls, refused bool) llm.StopReason {
	status, reason, _ := strings.Cut(d.status, ":")
	switch {
	case status == "incomplete" && (reason == "content_filter" || reason == "safety"):
		return llm.StopContentFilter
	case status == "incomplete" && (reason == "" || strings.HasPrefix(reason, "max_")):
		return llm.StopMaxTokens
	case status == "incomplete":
		return llm.StopOther
	case refused:
		return llm.StopRefusal
	case calls:
		return llm.StopToolUse
	}
	return llm.StopEnd
}
