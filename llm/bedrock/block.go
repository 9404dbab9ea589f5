package bedrock

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/internal/wire"
)

// The kinds of blocks that are built of deltas; others come whole or not at
// all. Thinking that is hidden is a kind of its own here.
const (
	kindText      = "text"
	kindThinking  = "reasoningContent"
	kindRedacted  = "redactedContent"
	kindCall      = "toolUse"
	kindResult    = "toolResult"
	kindCitations = "citationsContent"
)

// server is the toolUse.type of what the provider runs itself.
const server = "server_tool_use"

// block is a content block on its way.
type block struct {
	kind, id, name, typ string
	status              string          // of a result
	text, input, sign   strings.Builder // sign is the signature
	redacted            []string
	list                []json.RawMessage // citations, or the content of a result
	raw                 json.RawMessage   // as it came, whole
	call                int               // its number among the calls
	early               bool              // the arguments came with the start
	closed              bool
}

// toolUse is a call or the start of one.
type toolUse struct {
	ID    string          `json:"toolUseId"`
	Name  string          `json:"name"`
	Type  string          `json:"type"`
	Input json.RawMessage `json:"input"`
}

type reasoning struct {
	Text     *string `json:"text"`
	Sig      *string `json:"signature"`
	Redacted *string `json:"redactedContent"`
	Whole    *struct {
		Text string `json:"text"`
		Sig  string `json:"signature"`
	} `json:"reasoningText"`
}

// wholeBlock reads a block of an answer that is one document.
func wholeBlock(raw json.RawMessage) (*block, error) {
	var f map[string]json.RawMessage
	if err := json.Unmarshal(raw, &f); err != nil || f == nil {
		return nil, errors.New("a content block is no object")
	}
	b := &block{raw: raw, closed: true}
	for kind, v := range f {
		if !isNull(v) {
			b.kind = likelier(b.kind, kind)
		}
	}
	if v := f[b.kind]; b.kind != "" {
		switch b.kind {
		case kindText:
			s, ok := str(v)
			if !ok {
				return nil, errors.New("the text of a content block is no string")
			}
			b.text.WriteString(s)
		case kindThinking:
			var r reasoning
			if err := json.Unmarshal(v, &r); err != nil {
				return nil, err
			}
			switch {
			case r.Whole != nil:
				b.text.WriteString(r.Whole.Text)
				b.sign.WriteString(r.Whole.Sig)
			case r.Redacted != nil:
				b.kind, b.redacted = kindRedacted, []string{*r.Redacted}
			}
		case kindCall:
			var u toolUse
			if err := json.Unmarshal(v, &u); err != nil {
				return nil, err
			}
			b.id, b.name, b.typ = u.ID, u.Name, u.Type
			b.arguments(u.Input)
		case kindResult:
			var r struct {
				ID string `json:"toolUseId"`
			}
			if err := json.Unmarshal(v, &r); err != nil {
				return nil, err
			}
			b.id = r.ID
		case kindCitations:
			var c struct {
				Content []struct {
					Text string `json:"text"`
				} `json:"content"`
			}
			if err := json.Unmarshal(v, &c); err != nil {
				return nil, err
			}
			for _, t := range c.Content {
				b.text.WriteString(t.Text)
			}
		}
	}
	if b.kind == "" {
		return nil, nil // empty
	}
	return b, nil
}

// arguments takes those that came whole. Some models put them in a string; none
// look the same as those that are to come.
func (b *block) arguments(in json.RawMessage) {
	in = bytes.TrimSpace(in)
	if s, ok := str(in); ok {
		in = []byte(s)
	}
	if s := string(in); s != "{}" && s != "null" {
		b.input.WriteString(s)
	}
}

// likelier is the kind of a block with two fields: the one that is known, or
// the first by its name.
func likelier(a, b string) string {
	for _, k := range [...]string{kindText, kindThinking, kindCall, kindResult, kindCitations} {
		if a == k || b == k {
			return k
		}
	}
	if a == "" {
		return b
	}
	return min(a, b)
}

// part is the block as a part; nil if there is nothing in it that can go back.
// cut says that the block may lack its end.
func (b *block) part(cut bool) llm.Part {
	switch {
	case b.kind == kindText || b.kind == kindCitations:
		t := llm.Text{Text: b.text.String()}
		switch {
		case t.Text == "":
			return nil
		case b.kind == kindCitations && b.raw != nil:
			t.Raw = b.raw
		case len(b.list) > 0:
			t.Raw = b.cited()
		}
		return t
	case b.kind == kindThinking:
		if b.text.Len()+b.sign.Len() == 0 {
			return nil
		}
		return llm.Thinking{Text: b.text.String(), Signature: b.sign.String()}
	case b.kind == kindRedacted:
		data := b.blob()
		if data == "" {
			return nil
		}
		return llm.Thinking{Raw: append(wire.AppendString([]byte(`{"reasoningContent":{"redactedContent":`), data), "}}"...)}
	case b.kind == kindCall && b.typ != server:
		c := llm.ToolCall{ID: b.id, Name: b.name}
		c.Input, c.Malformed = wire.Input(b.input.String())
		if cut && b.input.Len() == 0 {
			// Arguments that were to come look the same as none.
			c.Malformed = "(the answer was cut before the arguments)"
		}
		return c
	case b.raw != nil:
		return llm.Native{Wire: Wire, Kind: b.kind, Raw: b.raw}
	case b.kind == kindCall:
		input, bad := wire.Input(b.input.String())
		if bad != "" {
			return nil // cut: it would be refused
		}
		var o wire.Body
		o.Value("toolUseId", b.id)
		o.Value("name", b.name)
		o.Value("type", b.typ)
		o.Raw("input", input)
		return b.nativePart(&o)
	case b.kind == kindResult:
		var o wire.Body
		o.Value("toolUseId", b.id)
		o.Raw("content", array(b.list))
		if b.typ != "" {
			o.Value("type", b.typ)
		}
		if b.status != "" {
			o.Value("status", b.status)
		}
		return b.nativePart(&o)
	}
	return nil
}

func (b *block) nativePart(body *wire.Body) llm.Part {
	var o wire.Body
	o.Raw(b.kind, body.Bytes())
	return llm.Native{Wire: Wire, Kind: b.kind, Raw: o.Bytes()}
}

// cited is a text with the citations that came with it.
func (b *block) cited() json.RawMessage {
	raw := wire.AppendString([]byte(`{"citationsContent":{"content":[{"text":`), b.text.String())
	return append(append(append(raw, `}],"citations":`...), array(b.list)...), "}}"...)
}

// blob is hidden thinking, which comes in one piece or in several that are
// each encoded.
func (b *block) blob() string {
	if len(b.redacted) == 1 {
		return b.redacted[0]
	}
	var data []byte
	for _, s := range b.redacted {
		d, err := base64.StdEncoding.DecodeString(s)
		if err != nil {
			return strings.Join(b.redacted, "")
		}
		data = append(data, d...)
	}
	return base64.StdEncoding.EncodeToString(data)
}

func array(list []json.RawMessage) []byte {
	return slices.Concat([]byte("["), bytes.Join(raws(list), comma), []byte("]"))
}

func raws(list []json.RawMessage) [][]byte {
	out := make([][]byte, len(list))
	for i := range list {
		out[i] = list[i]
	}
	return out
}

func isNull(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// str is the string that raw is, if it is one.
func str(raw json.RawMessage) (string, bool) {
	var s string
	if len(raw) == 0 || raw[0] != '"' {
		return "", false
	}
	err := json.Unmarshal(raw, &s)
	return s, err == nil
}
