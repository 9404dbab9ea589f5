package openai

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/internal/wire"
)

// heard is the items of a message of the user, each after a comma. free are the
// calls before it that were custom.
func (m *Responses) heard(msg *llm.Message, free map[string]bool) []byte {
	var b []byte
	var extra, rest llm.Parts // files of results, and what is no result
	for _, p := range msg.Parts {
		r, ok := p.(llm.ToolResult)
		if !ok {
			rest = append(rest, p)
			continue
		}
		kind := "function"
		if free[r.CallID] {
			kind = "custom_tool"
		}
		b = append(b, `,{"type":"`...)
		b = append(append(b, kind...), `_call_output","call_id":`...)
		b = append(wire.AppendString(b, callID(r.CallID)), `,"output":`...)
		text, blobs := resultText(r)
		if len(blobs) > 0 && m.profile.ResultFiles {
			b = append(append(b, m.content(r.Parts, true)...), '}')
			continue
		}
		extra = append(extra, blobs...)
		b = append(wire.AppendString(b, text), '}')
	}
	if len(extra) > 0 {
		rest = append(append(llm.Parts{llm.Text{Text: "The files that the tool returned:"}}, extra...), rest...)
	}
	if content := m.content(rest, false); content != nil {
		b = append(append(append(b, `,{"role":"user","content":`...), content...), '}')
	}
	return b
}

// content is a string when there is but text in one piece, and else a list,
// which it always is if always is set.
func (m *Responses) content(ps llm.Parts, always bool) []byte {
	var items [][]byte
	only := ""
	for _, p := range ps {
		switch p := p.(type) {
		case llm.Text:
			if strings.TrimSpace(p.Text) != "" {
				only = p.Text
				items = append(items, inputText(p.Text))
			}
		case llm.Blob:
			only = ""
			items = append(items, m.file(p))
		}
	}
	switch {
	case len(items) == 0:
		return nil
	case len(items) == 1 && only != "" && !always:
		return wire.AppendString(nil, only)
	}
	return list(items)
}

func inputText(s string) []byte {
	return append(wire.AppendString([]byte(`{"type":"input_text","text":`), s), '}')
}

// file is the wire form of a blob, or words in its place.
func (m *Responses) file(p llm.Blob) []byte {
	mime, _, _ := strings.Cut(strings.ToLower(p.MIME), ";")
	mime = strings.TrimSpace(mime)
	name := p.Name
	if name == "" {
		name = mime
	}
	u := p.URL
	if u == "" {
		u = "data:" + mime + ";base64," + base64.StdEncoding.EncodeToString(p.Data)
	}
	switch {
	case len(p.Data) == 0 && p.URL == "":
		return inputText("[" + name + " was left out: it is empty]")
	case strings.HasPrefix(mime, "image/") && m.info.Traits.Images:
		return append(wire.AppendString([]byte(`{"type":"input_image","detail":"auto","image_url":`), u), '}')
	case mime == "application/pdf" && m.info.Traits.PDF && m.profile.Files:
		if p.URL != "" {
			return append(wire.AppendString([]byte(`{"type":"input_file","file_url":`), u), '}')
		}
		if p.Name == "" {
			name = "document.pdf"
		}
		b := wire.AppendString([]byte(`{"type":"input_file","filename":`), name)
		return append(wire.AppendString(append(b, `,"file_data":`...), u), '}')
	case p.URL == "" && strings.HasPrefix(mime, "text/") && utf8.Valid(p.Data):
		return inputText("[" + name + "]\n" + string(p.Data))
	}
	return inputText("[" + name + " was left out: this model takes no files of this type]")
}

// said is the items of a message of the model, each after a comma.
//
// Items that the server made belong together: it refuses a reasoning item
// without the item that it led to, and an item, told by its id, without its
// reasoning. So reasoning waits for the next item, goes where that goes, and
// takes the ids of what it led to with it when it is left out.
func (m *Responses) said(msg *llm.Message, plain bool) []byte {
	native := m.native(msg.Origin)
	answered := outputs(msg.Parts)
	var b []byte
	var waiting [][]byte
	lone := plain // items go without their ids: the reasoning before is left out
	send := func(item []byte) {
		for _, w := range waiting {
			b = append(append(b, ','), w...)
		}
		waiting = nil
		b = append(append(b, ','), item...)
	}
	drop := func() {
		lone = lone || len(waiting) > 0
		waiting = nil
	}
	for _, p := range msg.Parts {
		switch p := p.(type) {
		case llm.Text:
			item, same := m.message(p, native, lone)
			if !same {
				drop()
				item, _ = m.message(llm.Text{Text: p.Text}, native, true)
			}
			if item == nil {
				drop()
				continue
			}
			send(item)
		case llm.Thinking:
			if !native {
				continue
			}
			item := reasoningItem(p.Raw)
			if item == nil || plain {
				lone = true
				continue
			}
			if len(waiting) == 0 {
				lone = false
			}
			waiting = append(waiting, item)
		case llm.ToolCall:
			send(m.call(p, native, lone))
		case llm.Native:
			if !native || p.Wire != WireResponses {
				continue
			}
			if waits(p, answered) {
				drop()
				continue
			}
			send(p.Raw)
		}
	}
	return b
}

// message is the item of a text; nil for a blank one. same is false if the text
// is no longer that of the item.
func (m *Responses) message(t llm.Text, native, lone bool) (item []byte, same bool) {
	var raw struct {
		ID      string            `json:"id"`
		Phase   json.RawMessage   `json:"phase"`
		Content []json.RawMessage `json:"content"`
	}
	if native && len(t.Raw) > 0 && json.Unmarshal(t.Raw, &raw) != nil {
		return nil, false
	}
	if raw.Content != nil {
		text := ""
		for _, c := range raw.Content {
			var p contentPart
			if json.Unmarshal(c, &p) != nil {
				return nil, false
			}
			text += p.Text + p.Refusal
		}
		if text != t.Text {
			return nil, false
		}
	}
	if strings.TrimSpace(t.Text) == "" && raw.ID == "" {
		return nil, true
	}
	var o wire.Body
	if raw.ID == "" && raw.Content == nil {
		o.Value("role", "assistant")
		o.Raw("content", wire.AppendString(nil, t.Text))
	} else {
		o.Value("type", "message")
		if raw.ID != "" && !lone {
			o.Raw("id", wire.AppendString(nil, raw.ID))
		}
		o.Value("role", "assistant")
		o.Value("status", "completed")
		if raw.Content != nil {
			o.Raw("content", list(asBytes(raw.Content)))
		} else {
			o.Raw("content", append(wire.AppendString([]byte(`[{"type":"output_text","text":`), t.Text), `,"annotations":[]}]`...))
		}
	}
	if set(raw.Phase) {
		o.Raw("phase", raw.Phase)
	}
	return o.Bytes(), true
}

func asBytes(raws []json.RawMessage) [][]byte {
	out := make([][]byte, len(raws))
	for i, r := range raws {
		out[i] = r
	}
	return out
}

// reasoningItem is a reasoning item to send; nil for one that the server could
// not read, as it has stored nothing.
func reasoningItem(raw json.RawMessage) []byte {
	var it struct {
		Encrypted json.RawMessage   `json:"encrypted_content"`
		Content   []json.RawMessage `json:"content"`
	}
	if len(raw) == 0 || json.Unmarshal(raw, &it) != nil || str(it.Encrypted) == "" && len(it.Content) == 0 {
		return nil
	}
	return append([]byte(`{"type":"reasoning",`), bytes.TrimSpace(raw)[1:]...)
}

func (m *Responses) call(c llm.ToolCall, native, lone bool) []byte {
	var rest map[string]json.RawMessage // what the item had besides
	if native && len(c.Raw) > 0 && json.Unmarshal(c.Raw, &rest) != nil {
		rest = nil
	}
	if lone {
		delete(rest, "id")
	}
	input := c.Input
	if len(bytes.TrimSpace(input)) == 0 {
		input = json.RawMessage("{}")
	}
	var o wire.Body
	custom := c.Custom && (m.profile.Custom || native)
	if custom {
		o.Value("type", "custom_tool_call")
	} else {
		o.Value("type", "function_call")
	}
	o.Raw("call_id", wire.AppendString(nil, callID(c.ID)))
	o.Raw("name", wire.AppendString(nil, responsesName(c.Name)))
	switch {
	case custom:
		o.Raw("input", input)
	case c.Custom:
		o.Raw("arguments", wire.AppendString(nil, `{"input":`+string(input)+`}`))
	default:
		o.Raw("arguments", wire.AppendString(nil, []byte(input)))
	}
	for _, k := range slices.Sorted(maps.Keys(rest)) {
		if !o.Has(k) {
			o.Raw(k, rest[k])
		}
	}
	return o.Bytes()
}

// responsesName is the name of a call in the wire's alphabet: models make up
// names that would make every later request invalid.
func responsesName(s string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(".:/", r) {
			return '_'
		}
		return r
	}, name(s))
}

// maxCallID is the longest call_id that the wire takes.
const maxCallID = 64

// callID maps an id to what the wire takes: the same id always to the same, and
// different ones to different ones.
func callID(id string) string {
	if id != "" && len(id) <= maxCallID && utf8.ValidString(id) {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return "call_" + hex.EncodeToString(sum[:24])
}

// outputs are the ids of the calls whose outputs are among the parts.
func outputs(ps llm.Parts) map[string]bool {
	var out map[string]bool
	for _, p := range ps {
		n, ok := p.(llm.Native)
		if !ok || !strings.HasSuffix(n.Kind, "_output") {
			continue
		}
		if out == nil {
			out = map[string]bool{}
		}
		out[nativeCallID(n)] = true
	}
	return out
}

func nativeCallID(n llm.Native) string {
	var it struct {
		CallID string `json:"call_id"`
	}
	_ = json.Unmarshal(n.Raw, &it) // it has none, then
	return it.CallID
}

// waits reports whether an item waits for an answer of the client, which this
// client has not given: the server refuses it without.
func waits(n llm.Native, answered map[string]bool) bool {
	switch n.Kind {
	case "mcp_approval_request":
		return true
	case "computer_call", "local_shell_call", "shell_call", "apply_patch_call":
		return !answered[nativeCallID(n)]
	case "tool_search_call":
		var it struct {
			Execution string `json:"execution"`
		}
		_ = json.Unmarshal(n.Raw, &it) // the server's, then
		return it.Execution == "client" && !answered[nativeCallID(n)]
	}
	return false
}
