package openai

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/internal/wire"
)

// body encodes req. The body of a request that extends another starts with the
// other's bytes up to the end of its messages.
func (m *Chat) body(req *llm.Request) (*wire.Body, error) {
	req = wire.Hosted(req, func(tool string) bool { return m.info.Traits.Hosts(tool) && !m.lessons.Refused(tool) })
	var o wire.Body
	o.Value("model", m.info.Name)
	o.Value("stream", true)
	if !m.profile.NoUsage && !m.lessons.Refused("stream_options") {
		o.Raw("stream_options", []byte(`{"include_usage":true}`))
	}
	if n := req.MaxTokens; n > 0 {
		field := m.profile.MaxField
		if m.lessons.Refused(field) {
			field = map[string]string{"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}[field]
		}
		o.Value(field, n)
	}
	if req.Temperature != nil && !m.info.Traits.NoTemperature && !m.lessons.Refused("temperature") {
		o.Value("temperature", *req.Temperature)
	}
	if len(req.Stop) > 0 {
		o.Value("stop", req.Stop)
	}
	m.effort(&o, req.Effort)
	if m.profile.CacheKey && req.CacheKey != "" && !m.lessons.Refused("prompt_cache_key") {
		o.Value("prompt_cache_key", req.CacheKey)
	}
	if f := m.profile.UserField; req.User != "" && !m.lessons.Refused(f) {
		o.Value(f, req.User)
	}
	if s := req.Schema; s != nil && m.info.Traits.Schema {
		b := wire.AppendString([]byte(`{"type":"json_schema","json_schema":{"name":`), s.Name)
		o.Raw("response_format", append(append(append(b, `,"schema":`...), s.JSON...), "}}"...))
	}
	if len(req.Tools) > 0 {
		o.Raw("tools", m.tools(req.Tools, m.marks(req)))
		o.Raw("tool_choice", m.choice(req))
	}
	msgs, err := m.messages(req)
	if err != nil {
		return nil, err
	}
	o.Pieces("messages", msgs)
	return &o, o.Merge(req.Extra[WireChat])
}

func (m *Chat) choice(req *llm.Request) []byte {
	switch c := req.ToolChoice; c.Mode {
	case llm.ChoiceNone:
		return []byte(`"none"`)
	case llm.ChoiceAny:
		return []byte(`"required"`)
	case llm.ChoiceTool:
		kind := "function"
		for _, t := range req.Tools {
			switch {
			case t.Name != c.Name:
			case t.Hosted != "":
				return nil // no word for it is known
			case len(t.Format) > 0 && m.profile.Custom:
				kind = "custom"
			}
		}
		return append(wire.AppendString([]byte(`{"type":"`+kind+`","`+kind+`":{"name":`), c.Name), "}}"...)
	}
	return nil
}

func (m *Chat) tools(ts []llm.ToolSpec, marks marks) []byte {
	b := []byte{'['}
	for i, t := range ts {
		if i > 0 {
			b = append(b, ',')
		}
		end := "}}"
		if i == len(ts)-1 && marks.tools {
			end = "}" + m.mark() + "}"
		}
		if t.Hosted != "" {
			b = append(wire.AppendString(append(b, `{"type":`...), m.profile.Search), '}')
			continue
		}
		if len(t.Format) > 0 && m.profile.Custom {
			b = wire.AppendString(append(b, `{"type":"custom","custom":{"name":`...), t.Name)
			b = wire.AppendString(append(b, `,"description":`...), t.Description)
			b = append(append(append(b, `,"format":`...), nestedFormat(t.Format)...), end...)
			continue
		}
		b = wire.AppendString(append(b, `{"type":"function","function":{"name":`...), t.Name)
		if t.Description != "" {
			b = wire.AppendString(append(b, `,"description":`...), t.Description)
		}
		schema := t.Input
		if len(schema) == 0 {
			schema = json.RawMessage(`{"type":"object","properties":{}}`)
		}
		b = append(append(append(b, `,"parameters":`...), schema...), end...)
	}
	return append(b, ']')
}

// nestedFormat is the format of a custom tool as Chat Completions has it. In
// Responses the fields of a grammar lie beside its type.
func nestedFormat(format json.RawMessage) json.RawMessage {
	var f map[string]json.RawMessage
	if json.Unmarshal(format, &f) != nil || !set(f["syntax"]) || set(f["grammar"]) {
		return format
	}
	var in, o wire.Body
	o.Raw("type", f["type"])
	for _, k := range slices.Sorted(maps.Keys(f)) {
		if k != "type" {
			in.Raw(k, f[k])
		}
	}
	o.Raw("grammar", in.Bytes())
	return o.Bytes()
}

// messages are the encoded messages, as pieces that nobody copies.
func (m *Chat) messages(req *llm.Request) (wire.Pieces, error) {
	out := append(make(wire.Pieces, 0, len(req.Messages)+4), []byte{'['})
	if req.System != "" {
		role := "system"
		if m.profile.Developer {
			role = "developer"
		}
		b := []byte(`{"role":"` + role + `","content":`)
		if m.profile.CacheMarks == "" {
			b = append(wire.AppendString(b, req.System), '}')
		} else {
			b = append(wire.AppendString(append(b, `[{"type":"text","text":`...), req.System), closing...)
		}
		out = append(out, b)
	}
	system := len(out) - 1 // 0: none
	var ends [2]int        // of the last two messages of the user, in out
	for i := range req.Messages {
		msg := &req.Messages[i]
		enc, err := msg.Encoded(m.key, func() ([]byte, error) { return m.encode(msg), nil })
		if err != nil {
			return nil, fmt.Errorf("message %d: %w", i+1, err)
		}
		if len(enc) == 0 {
			continue
		}
		if len(out) == 1 {
			enc = enc[1:] // without its comma
		}
		out = append(out, enc)
		if msg.Role == llm.RoleUser {
			ends = [2]int{ends[1], len(out) - 1}
		}
	}
	out = append(out, []byte{']'})
	return m.marked(out, system, ends, m.marks(req)), nil
}

// encode is the chat messages of msg, each after a comma.
func (m *Chat) encode(msg *llm.Message) []byte {
	if msg.Role == llm.RoleAssistant {
		if b := m.assistant(msg); b != nil {
			return append([]byte{','}, b...)
		}
		return nil
	}
	var b []byte
	var extra, rest llm.Parts // blobs of results, and what is no result
	for _, p := range msg.Parts {
		r, ok := p.(llm.ToolResult)
		if !ok {
			rest = append(rest, p)
			continue
		}
		text, blobs := resultText(r)
		extra = append(extra, blobs...)
		b = wire.AppendString(append(b, `,{"role":"tool","tool_call_id":`...), m.id(r.CallID))
		b = append(b, `,"content":`...)
		if m.profile.CacheMarks == "" {
			b = append(wire.AppendString(b, text), '}')
		} else {
			b = append(wire.AppendString(append(b, `[{"type":"text","text":`...), text), closing...)
		}
	}
	if len(extra) > 0 {
		rest = append(append(llm.Parts{llm.Text{Text: "The files that the tool returned:"}}, extra...), rest...)
	}
	if content := m.content(rest); content != nil {
		b = append(append(append(b, `,{"role":"user","content":`...), content...), '}')
	}
	return b
}

// resultText is the text of a result, which is all that the wire takes; blobs
// go into the message that follows.
func resultText(r llm.ToolResult) (string, llm.Parts) {
	var text []string
	var blobs llm.Parts
	for _, p := range r.Parts {
		switch p := p.(type) {
		case llm.Text:
			text = append(text, p.Text)
		case llm.Blob:
			blobs = append(blobs, p)
		}
	}
	s := strings.Join(text, "\n")
	if s == "" {
		s = "(no output)"
		if len(blobs) > 0 {
			s = "(see the files that follow)"
		}
	}
	return s, blobs
}

// content is a string when there is but text in one piece, and else a list.
func (m *Chat) content(ps llm.Parts) []byte {
	var items [][]byte
	only := ""
	for _, p := range ps {
		switch p := p.(type) {
		case llm.Text:
			if strings.TrimSpace(p.Text) != "" {
				only = p.Text
				items = append(items, append(wire.AppendString([]byte(`{"type":"text","text":`), p.Text), '}'))
			}
		case llm.Blob:
			only = ""
			items = append(items, m.blob(p))
		}
	}
	switch {
	case len(items) == 0:
		return nil
	case len(items) == 1 && only != "" && m.profile.CacheMarks == "":
		return wire.AppendString(nil, only)
	}
	b := []byte{'['}
	for i, it := range items {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, it...)
	}
	return append(b, ']')
}

func (m *Chat) blob(p llm.Blob) []byte {
	u := p.URL
	if u == "" {
		u = "data:" + p.MIME + ";base64," + base64.StdEncoding.EncodeToString(p.Data)
	}
	switch {
	case strings.HasPrefix(p.MIME, "image/") && m.info.Traits.Images:
		return append(wire.AppendString([]byte(`{"type":"image_url","image_url":{"url":`), u), "}}"...)
	case p.MIME == "application/pdf" && m.info.Traits.PDF && m.profile.Files && p.URL == "":
		name := p.Name
		if name == "" {
			name = "document.pdf"
		}
		b := wire.AppendString([]byte(`{"type":"file","file":{"filename":`), name)
		return append(wire.AppendString(append(b, `,"file_data":`...), u), "}}"...)
	}
	name := p.Name
	if name == "" {
		name = p.MIME
	}
	return append(wire.AppendString([]byte(`{"type":"text","text":`), "["+name+" was left out: this model takes no files of this type]"), '}')
}

func (m *Chat) assistant(msg *llm.Message) []byte {
	o := msg.Origin
	native := o != nil && o.Wire == WireChat && (o.Provider == "" || o.Provider == m.info.Provider) && (o.Model == "" || o.Model == m.info.Name)
	var text, thinking strings.Builder
	var calls, details [][]byte
	for _, p := range msg.Parts {
		switch p := p.(type) {
		case llm.Text:
			text.WriteString(p.Text)
		case llm.Thinking:
			thinking.WriteString(p.Text)
			if native && len(p.Raw) > 0 {
				details = append(details, inner(p.Raw))
			}
		case llm.ToolCall:
			calls = append(calls, m.call(p, native))
		}
	}
	spoken := strings.TrimSpace(text.String()) != ""
	if !spoken && len(calls) == 0 {
		return nil // thinking alone, and blanks, are refused
	}
	var b wire.Body
	b.Raw("role", []byte(`"assistant"`))
	if spoken {
		b.Raw("content", wire.AppendString(nil, text.String()))
	} else {
		b.Raw("content", []byte("null"))
	}
	switch f := m.profile.Reasoning; {
	case f == "":
	case native && thinking.Len() > 0:
		b.Raw(f, wire.AppendString(nil, thinking.String()))
	case m.profile.ReasoningAlways && m.info.Traits.Thinking && len(calls) > 0:
		b.Raw(f, []byte(`""`)) // of another model, or hidden
	}
	if len(details) > 0 {
		b.Raw("reasoning_details", list(details))
	}
	if len(calls) > 0 {
		b.Raw("tool_calls", list(calls))
	}
	return b.Bytes()
}

// inner is the content of a JSON array without its brackets.
func inner(raw json.RawMessage) []byte {
	s := strings.TrimSpace(string(raw))
	return []byte(strings.TrimSuffix(strings.TrimPrefix(s, "["), "]"))
}

func list(items [][]byte) []byte {
	b := []byte{'['}
	for i, it := range items {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, it...)
	}
	return append(b, ']')
}

func (m *Chat) call(c llm.ToolCall, native bool) []byte {
	if c.Custom && m.profile.Custom {
		b := wire.AppendString([]byte(`{"id":`), m.id(c.ID))
		b = wire.AppendString(append(b, `,"type":"custom","custom":{"name":`...), name(c.Name))
		return append(append(append(b, `,"input":`...), c.Input...), "}}"...)
	}
	b := wire.AppendString([]byte(`{"id":`), m.id(c.ID))
	b = wire.AppendString(append(b, `,"type":"function","function":{"name":`...), name(c.Name))
	args := string(c.Input)
	if c.Custom {
		args = `{"input":` + args + `}`
	}
	b = append(wire.AppendString(append(b, `,"arguments":`...), args), '}')
	if native && len(c.Raw) > 0 { // the extra_content of the call
		b = append(append(b, `,"extra_content":`...), c.Raw...)
	}
	return append(b, '}')
}

// name is the name of a call as servers take it: models make up names that
// would make every later request invalid.
func name(s string) string {
	ok := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-.:/", r)
	}
	if s = strings.Map(func(r rune) rune {
		if ok(r) {
			return r
		}
		return '_'
	}, strings.TrimSpace(s)); s == "" {
		return "unnamed"
	}
	return s[:min(len(s), 64)]
}

// maxID is the length of the longest call id that OpenAI takes.
const maxID = 40

// id maps a call id to what the server takes: the same id always to the same.
func (m *Chat) id(id string) string {
	if !m.profile.ShortIDs {
		if id == "" {
			return "call_0"
		}
		if len(id) > maxID {
			sum := sha256.Sum256([]byte(id))
			return fmt.Sprintf("call_%x", sum[:16])
		}
		return id
	}
	ok := len(id) == 9
	for i := range len(id) {
		c := id[i]
		ok = ok && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9')
	}
	if ok {
		return id
	}
	const alphabet = "abcdefghijklmnopqrstuvwxyz0123456789"
	sum := sha256.Sum256([]byte(id))
	out := make([]byte, 9)
	for i := range out {
		out[i] = alphabet[int(sum[i])%len(alphabet)]
	}
	return string(out)
}
