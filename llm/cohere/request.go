package cohere

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/internal/wire"
)

// body encodes req. The body of a request that extends another starts with the
// other's bytes up to the end of its messages.
func (m *Model) body(req *llm.Request) (*wire.Body, error) {
	req = wire.Hosted(req, m.info.Traits.Hosts) // there are none on this wire
	var o wire.Body
	o.Value("model", m.info.Name)
	o.Value("stream", true)
	if req.MaxTokens > 0 {
		o.Value("max_tokens", req.MaxTokens)
	}
	if req.Temperature != nil && !m.info.Traits.NoTemperature && !m.lessons.Refused("temperature") {
		o.Value("temperature", *req.Temperature)
	}
	if len(req.Stop) > 0 {
		o.Value("stop_sequences", req.Stop)
	}
	o.Raw("thinking", m.thinking(req))
	// The API refuses a schema beside tools.
	if s := req.Schema; s != nil && m.info.Traits.Schema && len(req.Tools) == 0 {
		o.Raw("response_format", append(append([]byte(`{"type":"json_object","schema":`), s.JSON...), '}'))
	}
	if tools, choice := choose(req); len(tools) > 0 {
		o.Raw("tools", wire.Functions(tools))
		if choice != "" {
			o.Value("tool_choice", choice)
		}
	}
	msgs, err := m.messages(req)
	if err != nil {
		return nil, err
	}
	o.Pieces("messages", msgs)
	return &o, o.Merge(req.Extra[Wire])
}

// choose is the tools to send and the tool_choice. The wire cannot name the
// tool that must be called: that one is then sent alone.
func choose(req *llm.Request) ([]llm.ToolSpec, string) {
	switch req.ToolChoice.Mode {
	case llm.ChoiceAny:
		return req.Tools, "REQUIRED"
	case llm.ChoiceNone:
		return req.Tools, "NONE"
	case llm.ChoiceTool:
		for i, t := range req.Tools {
			if t.Name == req.ToolChoice.Name {
				return req.Tools[i : i+1], "REQUIRED"
			}
		}
	}
	return req.Tools, ""
}

var budgets = map[llm.Effort]int{
	llm.EffortMinimal: 1024, llm.EffortLow: 4096, llm.EffortMedium: 8192, llm.EffortHigh: 16384, llm.EffortXHigh: 32768,
}

// thinking is how much the model is told to think; nil is as it likes.
func (m *Model) thinking(req *llm.Request) []byte {
	if req.Effort == "" || !m.info.Traits.Thinking || m.lessons.Refused("thinking") {
		return nil
	}
	word := "disabled"
	if n := budgets[req.Effort]; n > 0 {
		word = strconv.Itoa(n)
	}
	word = m.info.Traits.EffortWord(req.Effort, word)
	n, err := strconv.Atoi(word)
	switch {
	case word == "":
		return nil
	case err != nil:
		return append(wire.AppendString([]byte(`{"type":`), word), '}')
	case n <= 0:
		return []byte(`{"type":"disabled"}`)
	}
	if req.MaxTokens > 0 && n >= req.MaxTokens {
		n = max(1, req.MaxTokens*3/4) // something must be left for the answer
	}
	return fmt.Appendf(nil, `{"type":"enabled","token_budget":%d}`, n)
}

// messages are the encoded messages, as pieces that nobody copies.
func (m *Model) messages(req *llm.Request) (wire.Pieces, error) {
	out := append(make(wire.Pieces, 0, len(req.Messages)+3), []byte{'['})
	if req.System != "" {
		out = append(out, append(wire.AppendString([]byte(`{"role":"system","content":`), req.System), '}'))
	}
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
	}
	return append(out, []byte{']'}), nil
}

// encode is the wire messages of msg, each after a comma.
func (m *Model) encode(msg *llm.Message) []byte {
	if msg.Role == llm.RoleAssistant {
		return m.assistant(msg)
	}
	var b []byte
	var files, rest llm.Parts // of results, and what is no result
	for _, p := range msg.Parts {
		r, ok := p.(llm.ToolResult)
		if !ok {
			rest = append(rest, p)
			continue
		}
		text, blobs := wire.ResultText(r)
		files = append(files, blobs...)
		b = wire.AppendString(append(b, `,{"role":"tool","tool_call_id":`...), id(r.CallID))
		b = append(wire.AppendString(append(b, `,"content":`...), text), '}')
	}
	if len(files) > 0 {
		rest = append(append(llm.Parts{llm.Text{Text: "The files that the tool returned:"}}, files...), rest...)
	}
	if content := m.content(rest); content != nil {
		b = append(append(append(b, `,{"role":"user","content":`...), content...), '}')
	}
	return b
}

// content is a string when there is but one text, and else a list.
func (m *Model) content(ps llm.Parts) []byte {
	var items [][]byte
	only := ""
	for _, p := range ps {
		text := ""
		switch p := p.(type) {
		case llm.Text:
			text = p.Text
		case llm.Blob:
			if image := m.image(p); image != nil {
				items, only = append(items, image), ""
				continue
			}
			text = wire.BlobText(p)
		}
		if strings.TrimSpace(text) != "" {
			items, only = append(items, block("text", text)), text
		}
	}
	switch {
	case len(items) == 0:
		return nil
	case len(items) == 1 && only != "":
		return wire.AppendString(nil, only)
	}
	return list(items)
}

func block(kind, text string) []byte {
	return append(wire.AppendString([]byte(`{"type":"`+kind+`","`+kind+`":`), text), '}')
}

func list[T ~[]byte](items []T) []byte {
	b := []byte{'['}
	for i, it := range items {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, it...)
	}
	return append(b, ']')
}

// image is nil for what is none, or is not taken.
func (m *Model) image(p llm.Blob) []byte {
	if !m.info.Traits.Images || !strings.HasPrefix(p.MIME, "image/") || p.URL == "" && len(p.Data) == 0 {
		return nil
	}
	u := p.URL
	if u == "" {
		u = "data:" + p.MIME + ";base64," + base64.StdEncoding.EncodeToString(p.Data)
	}
	return append(wire.AppendString([]byte(`{"type":"image_url","image_url":{"url":`), u), "}}"...)
}

// assistant is nil for a message that has nothing but thinking.
func (m *Model) assistant(msg *llm.Message) []byte {
	o := msg.Origin
	native := o != nil && o.Wire == Wire && o.Provider == m.info.Provider
	same := native && o.Model == m.info.Name // thinking is a model's own
	var content, calls [][]byte
	var b wire.Body
	b.Raw("role", []byte(`"assistant"`))
	spoken := false
	for _, p := range msg.Parts {
		switch p := p.(type) {
		case llm.Text:
			if strings.TrimSpace(p.Text) != "" {
				content, spoken = append(content, block("text", p.Text)), true
			}
		case llm.Thinking:
			if same && p.Text != "" {
				content = append(content, block("thinking", p.Text))
			}
		case llm.Native:
			if native && p.Wire == Wire && (p.Kind == KindPlan || p.Kind == KindCitations) && !b.Has(p.Kind) {
				b.Raw(p.Kind, p.Raw)
			}
		case llm.ToolCall:
			calls = append(calls, call(p))
		}
	}
	if !spoken && len(calls) == 0 {
		return nil
	}
	if len(content) > 0 {
		b.Raw("content", list(content))
	}
	if len(calls) > 0 {
		b.Raw("tool_calls", list(calls))
	}
	return append([]byte{','}, b.Bytes()...)
}

func call(c llm.ToolCall) []byte {
	args := strings.TrimSpace(string(c.Input))
	switch {
	case args == "":
		args = "{}"
	case args[0] != '{': // the text of a custom tool
		args = `{"input":` + args + `}`
	}
	b := wire.AppendString([]byte(`{"id":`), id(c.ID))
	b = wire.AppendString(append(b, `,"type":"function","function":{"name":`...), wire.FunctionName(c.Name))
	return append(wire.AppendString(append(b, `,"arguments":`...), args), "}}"...)
}

// id is a call's id, of which there must be one; any text will do.
func id(s string) string {
	if s == "" {
		return "call_0"
	}
	return s
}
