package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/internal/wire"
)

// item is one item of an answer on its way.
type item struct {
	id, kind     string
	callID, name string
	status       string
	texts        []*piece // of a message
	refused      bool
	summary      []*piece // of reasoning
	content      []*piece // of reasoning, in the open
	args         strings.Builder
	call         int // the index of its deltas; -1: none were shown
	raw          json.RawMessage
	done         bool
}

// piece is a numbered piece of an item.
type piece struct {
	n    wire.Int
	text strings.Builder
}

// pieceOf is the piece of that number, in a list in the order of the numbers.
func pieceOf(list *[]*piece, n wire.Int) *piece {
	i, ok := slices.BinarySearchFunc(*list, n, func(p *piece, n wire.Int) int { return cmp.Compare(p.n, n) })
	if !ok {
		*list = slices.Insert(*list, i, &piece{n: n})
	}
	return (*list)[i]
}

func hasText(list []*piece) bool {
	return slices.ContainsFunc(list, func(p *piece) bool { return p.text.Len() > 0 })
}

// renumber numbers pieces by their place: in a stream some servers number them
// on from the item before.
func renumber(list []*piece) {
	for i, p := range list {
		p.n = wire.Int(i)
	}
}

func joined(list []*piece, between string) string {
	out := make([]string, 0, len(list))
	for _, p := range list {
		if p.text.Len() > 0 {
			out = append(out, p.text.String())
		}
	}
	return strings.Join(out, between)
}

// outputItem is an item as it is sent.
type outputItem struct {
	ID        string          `json:"id"`
	Type      string          `json:"type"`
	Status    string          `json:"status"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Input     json.RawMessage `json:"input"`
	Content   json.RawMessage `json:"content"`
	Summary   json.RawMessage `json:"summary"`
}

// contentPart is a part of the content or of the summary of an item.
type contentPart struct {
	Type    string `json:"type"`
	Text    string `json:"text"`
	Refusal string `json:"refusal"`
}

// contentParts reads a list of parts, or a string in its place, and leaves out
// those of other types.
func contentParts(raw json.RawMessage, types ...string) []contentPart {
	if s := str(raw); s != "" {
		return []contentPart{{Text: s}}
	}
	var out []contentPart
	_ = decodeLoosely(raw, &out) // none, then
	return slices.DeleteFunc(out, func(p contentPart) bool { return !slices.Contains(types, p.Type) })
}

// more adds to b what full has beyond it, or delta, and returns what was added.
// A text that is not what came before replaces it.
func more(b *strings.Builder, s string, full bool) string {
	if full {
		if have := b.String(); have == s || s == "" {
			return ""
		} else if rest, ok := strings.CutPrefix(s, have); ok {
			s = rest
		} else {
			b.Reset()
			b.WriteString(s)
			return ""
		}
	}
	b.WriteString(s)
	return s
}

// text takes visible text. full says that s is the whole of that part.
func (it *item) text(d *responseDecoder, n wire.Int, s string, refusal, full bool) {
	it.refused = it.refused || refusal && s != ""
	if s = more(&pieceOf(&it.texts, n).text, s, full); s != "" {
		d.out = append(d.out, llm.TextDelta{Text: s})
	}
}

func (it *item) visible() string { return joined(it.texts, "") }

// think takes readable thinking, which servers send as a summary, in the open,
// or both: what comes first is shown.
func (it *item) think(d *responseDecoder, summary bool, n wire.Int, s string, full bool) {
	list, other := &it.summary, it.content
	if !summary {
		list, other = &it.content, it.summary
	}
	p := pieceOf(list, n)
	fresh := p.text.Len() == 0 && hasText(*list)
	s = more(&p.text, s, full)
	if s == "" || hasText(other) {
		return
	}
	if fresh {
		s = "\n\n" + s
	}
	d.out = append(d.out, llm.ThinkingDelta{Text: s})
}

func (it *item) thinking() string {
	if s := joined(it.summary, "\n\n"); s != "" {
		return s
	}
	return joined(it.content, "\n\n")
}

// input takes arguments of a call, or the text of a custom one.
func (it *item) input(d *responseDecoder, s string, full bool) {
	s = more(&it.args, s, full)
	if it.call < 0 && it.name != "" && it.client(d) {
		it.call = d.calls
		d.calls++
		s = it.args.String()
	} else if s == "" {
		return
	}
	if it.call >= 0 {
		d.out = append(d.out, llm.CallDelta{Index: it.call, ID: it.callID, Name: it.name, Input: s})
	}
}

// serverTools are the custom tools that xAI runs itself, also behind a gateway.
var serverTools = []string{"x_keyword_search", "x_semantic_search", "x_user_search", "x_thread_fetch", "view_image", "view_x_video"}

// client reports whether it is a call that the client is to run.
func (it *item) client(d *responseDecoder) bool {
	switch it.kind {
	case "function_call":
		return true
	case "custom_tool_call":
		return d.tools[it.name] || !d.m.profile.ServerCustom && !slices.Contains(serverTools, it.name)
	}
	return false
}

// take takes an item as it begins, or as it is when it is done.
func (it *item) take(d *responseDecoder, o *outputItem, raw json.RawMessage, done bool) {
	for _, f := range []struct{ to, from *string }{{&it.kind, &o.Type}, {&it.id, &o.ID}, {&it.callID, &o.CallID}, {&it.name, &o.Name}, {&it.status, &o.Status}} {
		if *f.from != "" {
			*f.to = *f.from
		}
	}
	switch it.kind {
	case "message":
		renumber(it.texts)
		for i, p := range contentParts(o.Content, "output_text", "text", "refusal", "") {
			it.text(d, wire.Int(i), p.Text+p.Refusal, p.Type == "refusal", true)
		}
	case "reasoning":
		renumber(it.summary)
		for i, p := range contentParts(o.Summary, "summary_text", "text", "") {
			it.think(d, true, wire.Int(i), p.Text, true)
		}
		renumber(it.content)
		for i, p := range contentParts(o.Content, "reasoning_text", "text", "") {
			it.think(d, false, wire.Int(i), p.Text, true)
		}
	case "function_call", "custom_tool_call":
		args := argText(o.Arguments)
		if it.kind == "custom_tool_call" {
			args = argText(o.Input)
		}
		it.input(d, args, true)
	}
	if done {
		it.raw, it.done = bytes.Clone(raw), true
	}
}

// part is the item as a part; nil for one that is not kept. whole says that the
// answer came to its end.
func (it *item) part(d *responseDecoder, ids *wire.IDs, whole bool) llm.Part {
	switch {
	case it.kind == "message":
		return llm.Text{Text: it.visible(), Raw: it.rest("content", "type", "role", "status")}
	case it.kind == "reasoning":
		t := llm.Thinking{Text: it.thinking(), Raw: it.rest("", "type", "status")}
		if t.Text == "" && len(t.Raw) == 0 {
			return nil
		}
		return t
	case it.client(d):
		return it.toolCall(ids, whole)
	case len(it.raw) > 0:
		return llm.Native{Wire: WireResponses, Kind: it.kind, Raw: it.raw}
	}
	return nil
}

func (it *item) toolCall(ids *wire.IDs, whole bool) llm.Part {
	args := it.args.String()
	blank := strings.TrimSpace(args) == "" // looks the same as arguments that were to come
	cut := !it.done && (!whole || blank) || it.status == "incomplete"
	if it.name == "" && blank {
		return nil // stored, it would make every later request invalid
	}
	id := it.callID
	if id == "" {
		id = it.id
	}
	c := llm.ToolCall{
		ID: ids.Of(id), Name: it.name, Custom: it.kind == "custom_tool_call",
		Raw: it.rest("", "type", "status", "call_id", "name", "arguments", "input"),
	}
	if c.Custom {
		c.Input = wire.AppendString(nil, args)
	} else {
		c.Input, c.Malformed = wire.Input(args)
	}
	if cut && c.Malformed == "" {
		if c.Malformed = args; blank {
			c.Malformed = "(the answer was cut before the arguments)"
		}
		if !c.Custom {
			c.Input = json.RawMessage("{}")
		}
	}
	return c
}

// rest is what is kept of an item besides what its part says: all fields but
// those that are left out, and those that are null. The content, if it is named
// so, is kept only where there is more to it than one text.
func (it *item) rest(content string, without ...string) json.RawMessage {
	var fields map[string]json.RawMessage
	if !it.done || json.Unmarshal(it.raw, &fields) != nil {
		return nil
	}
	for _, k := range without {
		delete(fields, k)
	}
	if content != "" {
		if c := richContent(fields[content]); c != nil {
			fields[content] = c
		} else {
			delete(fields, content)
		}
	}
	if it.kind == "reasoning" && !set(fields["summary"]) {
		fields["summary"] = json.RawMessage("[]") // must be there
	}
	var o wire.Body
	for _, k := range slices.Sorted(maps.Keys(fields)) {
		if v := fields[k]; set(v) {
			o.Raw(k, v)
		}
	}
	if b := o.Bytes(); len(b) > 2 {
		return b
	}
	return nil
}

// richContent is the content of a message without its probabilities; nil if it
// is one text and no more.
func richContent(raw json.RawMessage) json.RawMessage {
	var parts []map[string]json.RawMessage
	if json.Unmarshal(raw, &parts) != nil || len(parts) == 0 {
		return nil
	}
	plain := len(parts) == 1
	out := make([][]byte, len(parts))
	for i, p := range parts {
		delete(p, "logprobs")
		var o wire.Body
		for _, k := range slices.Sorted(maps.Keys(p)) {
			v := bytes.TrimSpace(p[k])
			switch {
			case k == "type" && str(v) == "output_text", k == "text", !set(v), string(v) == "[]":
			default:
				plain = false
			}
			o.Raw(k, v)
		}
		out[i] = o.Bytes()
	}
	if plain {
		return nil
	}
	return list(out)
}
