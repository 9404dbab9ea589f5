package ollama

import (
	"encoding/base64"
	"fmt"
	"strings"
	"time"

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
	// A prompt that does not fit is refused, and an answer that runs into the
	// end of the window ends there: by default the start of the conversation
	// would be dropped.
	o.Value("truncate", false)
	o.Value("shift", false)
	o.Raw("think", m.think(req.Effort))
	switch d := m.opts.KeepAlive; {
	case d == 0 || m.lessons.Refused(fieldKeepAlive):
	case d < 0:
		o.Value("keep_alive", -1)
	default:
		o.Value("keep_alive", fmt.Sprintf("%ds", max(1, int64(d/time.Second))))
	}
	tools := choose(req)
	// Held to a schema, the model could call no tool.
	if s := req.Schema; s != nil && m.info.Traits.Schema && len(tools) == 0 {
		o.Raw("format", s.JSON)
	}
	var opts wire.Body
	if m.numCtx > 0 {
		opts.Value("num_ctx", m.numCtx)
	}
	if req.MaxTokens > 0 {
		opts.Value("num_predict", req.MaxTokens)
	}
	if req.Temperature != nil && !m.lessons.Refused(fieldTemperature) && !m.info.Traits.NoTemperature {
		opts.Value("temperature", *req.Temperature)
	}
	if len(req.Stop) > 0 {
		opts.Value("stop", req.Stop)
	}
	o.Raw("options", opts.Bytes())
	if len(tools) > 0 {
		o.Raw("tools", wire.Functions(tools))
	}
	msgs, err := m.messages(req)
	if err != nil {
		return nil, err
	}
	o.Pieces("messages", msgs)
	return &o, o.Merge(req.Extra[Wire])
}

// choose is the tools to send: the wire has no tool choice.
func choose(req *llm.Request) []llm.ToolSpec {
	switch req.ToolChoice.Mode {
	case llm.ChoiceNone:
		return nil
	case llm.ChoiceTool:
		for i, t := range req.Tools {
			if t.Name == req.ToolChoice.Name {
				return req.Tools[i : i+1]
			}
		}
	}
	return req.Tools
}

// think is true, false or a word; nil is as the model does by itself.
func (m *Model) think(e llm.Effort) []byte {
	if e == "" || !m.info.Traits.Thinking || m.lessons.Refused(fieldThink) {
		return nil
	}
	word := "true"
	switch {
	case e == llm.EffortOff:
		word = "false"
	case m.info.Traits.ThinkingStyle != "levels":
	case e == llm.EffortMinimal:
		word = "low"
	case e == llm.EffortXHigh:
		word = "high"
	default:
		word = string(e)
	}
	switch word = m.info.Traits.EffortWord(e, word); {
	case word == "":
		return nil
	case word == "true", word == "false":
		return []byte(word)
	case m.lessons.Refused(fieldLevel):
		return []byte("true")
	}
	return wire.AppendString(nil, word)
}

// messages are the encoded messages, as pieces that nobody copies.
func (m *Model) messages(req *llm.Request) (wire.Pieces, error) {
	out := append(make(wire.Pieces, 0, len(req.Messages)+3), []byte{'['})
	if req.System != "" {
		out = append(out, append(wire.AppendString([]byte(`{"role":"system","content":`), req.System), '}'))
	}
	for i := range req.Messages {
		msg := &req.Messages[i]
		enc, err := msg.Encoded(m.key, func() ([]byte, error) { return m.encode(msg, req.Messages[:i]), nil })
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
func (m *Model) encode(msg *llm.Message, before []llm.Message) []byte {
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
		b = wire.AppendString(append(b, `,{"role":"tool","content":`...), text)
		b = wire.AppendString(append(b, `,"tool_name":`...), wire.FunctionName(toolName(r, before)))
		if r.CallID != "" { // older servers do not look at it
			b = wire.AppendString(append(b, `,"tool_call_id":`...), r.CallID)
		}
		b = append(b, '}')
	}
	if len(files) > 0 {
		rest = append(append(llm.Parts{llm.Text{Text: "The files that the tool returned:"}}, files...), rest...)
	}
	text, images := m.content(rest)
	if text == "" && images == nil {
		return b
	}
	b = wire.AppendString(append(b, `,{"role":"user","content":`...), text)
	if images != nil {
		b = append(append(append(b, `,"images":[`...), images...), ']')
	}
	return append(b, '}')
}

// toolName is the name of the tool that a result is of: its own or, where it
// has none, that of the call.
func toolName(r llm.ToolResult, before []llm.Message) string {
	for i := len(before) - 1; i >= 0 && r.Name == ""; i-- {
		for _, p := range before[i].Parts {
			if c, ok := p.(llm.ToolCall); ok && c.ID == r.CallID {
				r.Name = c.Name
			}
		}
	}
	return r.Name
}

// content is all text in one, since the wire has no more room, and the images
// between commas.
func (m *Model) content(ps llm.Parts) (string, []byte) {
	var texts []string
	var images []byte
	for _, p := range ps {
		text := ""
		switch p := p.(type) {
		case llm.Text:
			text = p.Text
		case llm.Blob:
			if m.info.Traits.Images && strings.HasPrefix(p.MIME, "image/") && len(p.Data) > 0 {
				if images != nil {
					images = append(images, ',')
				}
				images = append(base64.StdEncoding.AppendEncode(append(images, '"'), p.Data), '"')
				continue
			}
			text = wire.BlobText(p)
		}
		if strings.TrimSpace(text) != "" {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "\n\n"), images
}

// assistant is nil for a message that has nothing but thinking.
func (m *Model) assistant(msg *llm.Message) []byte {
	o := msg.Origin
	native := o != nil && o.Wire == Wire && o.Provider == m.info.Provider && o.Model == m.info.Name
	var text, thinking strings.Builder
	var calls []byte
	n := 0
	for _, p := range msg.Parts {
		switch p := p.(type) {
		case llm.Text:
			text.WriteString(p.Text)
		case llm.Thinking:
			if native {
				thinking.WriteString(p.Text)
			}
		case llm.ToolCall:
			if n > 0 {
				calls = append(calls, ',')
			}
			calls = call(calls, p, n)
			n++
		}
	}
	said := text.String()
	if strings.TrimSpace(said) == "" {
		if n == 0 {
			return nil
		}
		said = ""
	}
	b := wire.AppendString([]byte(`,{"role":"assistant","content":`), said)
	if thinking.Len() > 0 {
		b = wire.AppendString(append(b, `,"thinking":`...), thinking.String())
	}
	if n > 0 {
		b = append(append(append(b, `,"tool_calls":[`...), calls...), ']')
	}
	return append(b, '}')
}

func call(b []byte, c llm.ToolCall, index int) []byte {
	args := strings.TrimSpace(string(c.Input))
	switch {
	case args == "":
		args = "{}"
	case args[0] != '{': // the text of a custom tool
		args = `{"input":` + args + `}`
	}
	b = append(b, '{')
	if c.ID != "" {
		b = append(wire.AppendString(append(b, `"id":`...), c.ID), ',')
	}
	b = wire.AppendString(fmt.Appendf(b, `"function":{"index":%d,"name":`, index), wire.FunctionName(c.Name))
	return append(append(append(b, `,"arguments":`...), args...), "}}"...)
}
