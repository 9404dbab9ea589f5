package anthropic

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/internal/wire"
)

// block is a content block on its way.
type block struct {
	typ, id, name string
	raw           json.RawMessage // as it started
	extra         bool            // raw has fields that no part holds
	text, input   strings.Builder
	sign, summary strings.Builder // the signature, and the content of a compaction
	replace       bool            // input is what the start had
	citations     []json.RawMessage
	call          int // its number among the calls
	closed        bool
}

func newBlock(raw json.RawMessage) (*block, error) {
	var f map[string]json.RawMessage
	if err := json.Unmarshal(raw, &f); err != nil || f == nil {
		return nil, errors.New("a content block is no object")
	}
	b := &block{raw: raw}
	signature := ""
	for name, to := range map[string]*string{"type": &b.typ, "id": &b.id, "name": &b.name, "signature": &signature} {
		if v := f[name]; !isNull(v) && json.Unmarshal(v, to) != nil {
			return nil, fmt.Errorf("the %s of a content block is no string", name)
		}
	}
	b.sign.WriteString(signature)
	if b.typ == "" {
		return nil, errors.New("a content block has no type")
	}
	var known []string
	switch b.typ {
	case "text":
		known = []string{"text", "citations"}
		b.text.WriteString(str(f["text"]))
		_ = json.Unmarshal(f["citations"], &b.citations) // null and absent are none
	case "thinking":
		known = []string{"thinking", "signature"}
		b.text.WriteString(str(f["thinking"]))
	case "tool_use":
		known = []string{"id", "name", "input"}
		if caller := f["caller"]; isNull(caller) || string(caller) == `{"type":"direct"}` {
			known = append(known, "caller")
		}
	case "compaction":
		b.summary.WriteString(str(f["content"]))
	}
	if b.typ != "text" && b.typ != "thinking" {
		if in := bytes.TrimSpace(f["input"]); !isNull(in) && string(in) != "{}" && string(in) != `""` {
			b.input.Write(in)
			b.replace = true
		}
	}
	for name, v := range f {
		if name != "type" && !slices.Contains(known, name) && !isNull(v) {
			b.extra = true
		}
	}
	return b, nil
}

// compact adds to the content of a compaction block.
func (b *block) compact(content json.RawMessage) {
	b.summary.WriteString(str(content))
}

// part is the block as a part; nil if there is nothing in it that can go back.
// cut says that the block may lack its end.
func (b *block) part(cut bool) llm.Part {
	switch b.typ {
	case "text":
		t := llm.Text{Text: b.text.String()}
		switch {
		case len(b.citations) > 0:
			list, _ := json.Marshal(b.citations) // JSON that was decoded before
			t.Raw = b.with("text", quoted(t.Text), "citations", list)
		case t.Text == "":
			return nil
		case b.extra:
			t.Raw = b.with("text", quoted(t.Text))
		}
		return t
	case "thinking":
		t := llm.Thinking{Text: b.text.String(), Signature: b.sign.String()}
		switch {
		case t.Text == "" && t.Signature == "":
			return nil
		case b.extra && t.Signature != "":
			t.Raw = b.with("thinking", quoted(t.Text), "signature", quoted(t.Signature))
		}
		return t
	case "redacted_thinking":
		return llm.Thinking{Raw: b.raw}
	case "tool_use":
		c := llm.ToolCall{ID: b.id, Name: b.name}
		c.Input, c.Malformed = wire.Input(b.input.String())
		switch {
		case c.Malformed != "":
		case cut && b.input.Len() == 0:
			// Arguments that were to come look the same as none.
			c.Malformed = "(the answer was cut before the arguments)"
		case b.extra:
			c.Raw = b.with("input", c.Input)
		}
		return c
	case "compaction":
		if b.summary.Len() > 0 {
			return llm.Native{Wire: Wire, Kind: b.typ, Raw: b.with("content", quoted(b.summary.String()))}
		}
	}
	n := llm.Native{Wire: Wire, Kind: b.typ, Raw: b.raw}
	if b.input.Len() > 0 && !b.replace {
		in, bad := wire.Input(b.input.String())
		if bad != "" {
			return nil // cut: it would be refused
		}
		n.Raw = b.with("input", in)
	}
	return n
}

// with is the block as it started, with these fields set.
func (b *block) with(fields ...any) json.RawMessage {
	var o wire.Body
	for i := 0; i < len(fields); i += 2 {
		name, _ := fields[i].(string)
		switch v := fields[i+1].(type) {
		case []byte:
			o.Raw(name, v)
		case json.RawMessage:
			o.Raw(name, v)
		}
	}
	raw, err := wire.Merge(b.raw, o.Bytes())
	if err != nil {
		return b.raw // not possible: what was set is an object of ours
	}
	return raw
}

func quoted(s string) []byte { return wire.AppendString(nil, s) }

func str(raw json.RawMessage) string {
	var s string
	_ = json.Unmarshal(raw, &s) // not a string: ""
	return s
}
