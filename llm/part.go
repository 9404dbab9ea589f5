package llm

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Part is one of [Text], [Thinking], [Blob], [ToolCall], [ToolResult],
// [Native] and [Unknown]. The set is closed: adapters switch over it and
// handle every case.
type Part interface{ partKind() string }

// Text is visible text. Raw, here and in [Thinking] and [ToolCall], is the
// wire's own JSON of the block, kept where it must go back as it came; it is
// meant for the wire of the message's [Origin] only.
type Text struct {
	Text string          `json:"text"`
	Raw  json.RawMessage `json:"raw,omitempty"`
}

// Thinking is a model's reasoning. Text may be empty: some models send only
// the signature, which is in Raw or in Signature and goes back unchanged.
type Thinking struct {
	Text      string          `json:"text,omitempty"`
	Signature string          `json:"signature,omitempty"`
	Raw       json.RawMessage `json:"raw,omitempty"`
}

// Blob is an image, a document or other bytes. Exactly one of Data and URL is
// set.
type Blob struct {
	MIME string `json:"mime"` // "image/png", "application/pdf", …
	Data []byte `json:"data,omitempty"`
	URL  string `json:"url,omitempty"`
	Name string `json:"name,omitempty"` // a file name to show
}

// ToolCall asks for a tool to be run. Input is always valid JSON, and a JSON
// object unless Custom is set, so that history can go back on every wire.
type ToolCall struct {
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
	// Custom is set for tools whose input is free text: Input is then a JSON
	// string.
	Custom bool `json:"custom,omitempty"`
	// Malformed is what the model sent where that was not a JSON object;
	// Input is then {}. Such a call is answered with an error, never run.
	Malformed string          `json:"malformed,omitempty"`
	Raw       json.RawMessage `json:"raw,omitempty"`
}

// ToolResult answers the call with the ID CallID.
type ToolResult struct {
	CallID  string `json:"call_id"`
	Name    string `json:"name,omitempty"` // of the tool, for wires that want it
	Parts   Parts  `json:"parts"`
	IsError bool   `json:"is_error,omitempty"`
}

// Native is a block that only its own wire understands, such as a tool that
// the provider ran itself. It goes back unchanged on that wire and is dropped
// on every other.
type Native struct {
	Wire string          `json:"wire"`
	Kind string          `json:"kind"`
	Raw  json.RawMessage `json:"raw"`
}

// Unknown is a part that a later version wrote. It is kept and written back
// unchanged, and never sent to a model.
type Unknown struct {
	Kind string
	Raw  json.RawMessage
}

func (Text) partKind() string       { return "text" }
func (Thinking) partKind() string   { return "thinking" }
func (Blob) partKind() string       { return "blob" }
func (ToolCall) partKind() string   { return "tool_call" }
func (ToolResult) partKind() string { return "tool_result" }
func (Native) partKind() string     { return "native" }
func (u Unknown) partKind() string  { return u.Kind }

// Parts is a []Part that knows its JSON form: each part is an object with
// a "type".
type Parts []Part

// Texts makes Parts of one Text for each string.
func Texts(ss ...string) Parts {
	ps := make(Parts, len(ss))
	for i, s := range ss {
		ps[i] = Text{Text: s}
	}
	return ps
}

// Text is the text of all [Text] parts, joined with no separator.
func (ps Parts) Text() string {
	var b []byte
	for _, p := range ps {
		if t, ok := p.(Text); ok {
			if len(ps) == 1 {
				return t.Text
			}
			b = append(b, t.Text...)
		}
	}
	return string(b)
}

// Calls returns the [ToolCall] parts in order.
func (ps Parts) Calls() []ToolCall {
	var calls []ToolCall
	for _, p := range ps {
		if c, ok := p.(ToolCall); ok {
			calls = append(calls, c)
		}
	}
	return calls
}

// MarshalJSON encodes each part with its type.
func (ps Parts) MarshalJSON() ([]byte, error) {
	b := []byte{'['}
	for i, p := range ps {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = appendPart(b, p); err != nil {
			return nil, err
		}
	}
	return append(b, ']'), nil
}

func appendPart(b []byte, p Part) ([]byte, error) {
	if u, ok := p.(Unknown); ok {
		if len(u.Raw) == 0 {
			return nil, fmt.Errorf("llm: part of unknown kind %q has no raw form", u.Kind)
		}
		return append(b, u.Raw...), nil
	}
	if p == nil {
		return nil, fmt.Errorf("llm: nil part")
	}
	body, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("llm: part %q: %w", p.partKind(), err)
	}
	b = append(append(append(b, `{"type":"`...), p.partKind()...), '"')
	if len(body) > 2 {
		b = append(b, ',')
	}
	return append(b, body[1:]...), nil
}

// UnmarshalJSON decodes what [Parts.MarshalJSON] wrote; a part of a type that
// it does not know becomes [Unknown].
func (ps *Parts) UnmarshalJSON(b []byte) error {
	var raws []json.RawMessage
	if err := json.Unmarshal(b, &raws); err != nil {
		return err
	}
	out := make(Parts, len(raws))
	for i, raw := range raws {
		p, err := decodePart(raw)
		if err != nil {
			return err
		}
		out[i] = p
	}
	*ps = out
	return nil
}

// firstType reads the type where it comes first, as [Parts.MarshalJSON] puts
// it, so that a long part is not read twice.
func firstType(raw json.RawMessage) (string, bool) {
	rest, ok := bytes.CutPrefix(raw, []byte(`{"type":"`))
	if !ok {
		return "", false
	}
	n := bytes.IndexAny(rest, `"\`)
	if n < 0 || rest[n] != '"' {
		return "", false
	}
	return string(rest[:n]), true
}

func decodePart(raw json.RawMessage) (Part, error) {
	typ, ok := firstType(raw)
	if !ok {
		var tag struct {
			Type string `json:"type"`
		}
		if err := json.Unmarshal(raw, &tag); err != nil {
			return nil, fmt.Errorf("llm: part: %w", err)
		}
		typ = tag.Type
	}
	var p Part
	var err error
	switch typ {
	case "text":
		p, err = decode[Text](raw)
	case "thinking":
		p, err = decode[Thinking](raw)
	case "blob":
		p, err = decode[Blob](raw)
	case "tool_call":
		p, err = decode[ToolCall](raw)
	case "tool_result":
		p, err = decode[ToolResult](raw)
	case "native":
		p, err = decode[Native](raw)
	case "":
		return nil, fmt.Errorf("llm: part has no type")
	default:
		return Unknown{Kind: typ, Raw: bytes.Clone(raw)}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("llm: part %q: %w", typ, err)
	}
	return p, nil
}

func decode[T Part](b []byte) (Part, error) {
	var v T
	err := json.Unmarshal(b, &v)
	return v, err
}
