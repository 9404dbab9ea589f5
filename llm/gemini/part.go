package gemini

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/internal/wire"
)

// The kinds of parts that are not llm.Native, and that of the signature of
// a file, which follows it.
const (
	kindText      = "text"
	kindThinking  = "thinking"
	kindCall      = "functionCall"
	kindFile      = "file"
	kindSignature = "thoughtSignature"
)

// sent reports whether a native part of that kind goes back as it is.
func sent(kind string) bool {
	for _, k := range metadata {
		if k == kind {
			return false
		}
	}
	return kind != kindSignature
}

// part is a part of an answer on its way.
type part struct {
	kind      string
	text      string
	more      strings.Builder // the text, and that of the parts that went on
	raw       json.RawMessage // the part as it came, if it must go back like that
	signature json.RawMessage
	call      *call
	file      llm.Blob
}

// beside are the fields that say something about the data of a part.
var beside = map[string]bool{
	"thought": true, kindSignature: true, "videoMetadata": true, "partMetadata": true, "mediaResolution": true,
}

type fileJSON struct {
	MIME string `json:"mimeType"`
	Data []byte `json:"data"`
	URI  string `json:"fileUri"`
	Name string `json:"displayName"`
}

// newPart reads a part; nil is one that there is nothing in.
func newPart(raw json.RawMessage) *part {
	if s, ok := onlyText(raw); ok {
		return &part{kind: kindText, text: s}
	}
	var f map[string]json.RawMessage
	if json.Unmarshal(raw, &f) != nil || len(f) == 0 {
		return nil
	}
	p := &part{}
	if s := f[kindSignature]; set(s) && string(s) != `""` {
		p.signature = bytes.Clone(s)
	}
	var thought bool
	_ = json.Unmarshal(f["thought"], &thought) // absent is false
	extra := p.signature != nil
	for name, v := range f {
		switch {
		case !set(v), name == "thought", name == kindSignature:
		case beside[name]:
			extra = true
		case p.kind == "":
			p.kind = name
		default:
			extra = true // data of two kinds: the first that is known is what it is
			p.kind = first(p.kind, name)
		}
	}
	switch data := f[p.kind]; {
	case p.kind == kindCall:
		p.call = newCall(data)
		if p.call == nil {
			return nil
		}
	case p.kind == "inlineData" || p.kind == "fileData":
		var x fileJSON
		if json.Unmarshal(data, &x) != nil || thought || len(x.Data) == 0 && x.URI == "" {
			break // kept as it came
		}
		p.kind = kindFile
		p.file = llm.Blob{MIME: x.MIME, Data: x.Data, URL: x.URI, Name: x.Name}
		return p
	case p.kind == kindText, p.kind == "" && extra:
		p.kind = kindText
		if thought {
			p.kind = kindThinking
		}
		_ = json.Unmarshal(data, &p.text) // absent or no string: ""
	case p.kind == "":
		return nil
	default:
		extra = true
	}
	if extra {
		p.raw = compact(raw)
	}
	return p
}

// onlyText reads a part that is {"text":"…"} and no more, as nearly all are,
// without the cost of the others. The part must be valid JSON.
func onlyText(raw []byte) (string, bool) {
	b, ok := bytes.CutPrefix(raw, []byte("{"))
	if ok {
		b, ok = bytes.CutPrefix(bytes.TrimLeft(b, blanks), []byte(`"text"`))
	}
	if ok {
		b, ok = bytes.CutPrefix(bytes.TrimLeft(b, blanks), []byte(":"))
	}
	if !ok {
		return "", false
	}
	b = bytes.TrimLeft(b, blanks)
	end := bytes.LastIndexByte(b, '"')
	if end < 1 || b[0] != '"' || string(bytes.TrimLeft(b[end+1:], blanks)) != "}" {
		return "", false
	}
	text := b[1:end]
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			return "", false // another field follows
		case '\\':
			i++
		}
	}
	if bytes.IndexByte(text, '\\') < 0 && utf8.Valid(text) {
		return string(text), true
	}
	var s string
	err := json.Unmarshal(b[:end+1], &s)
	return s, err == nil
}

const blanks = " \t\r\n"

// first is the kind that a part with data of two kinds is taken for.
func first(a, b string) string {
	for _, k := range [...]string{kindCall, "inlineData", "fileData", kindText} {
		if a == k || b == k {
			return k
		}
	}
	return min(a, b)
}

func compact(raw []byte) json.RawMessage {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return bytes.Clone(raw)
	}
	return b.Bytes()
}

// parts are the parts of a message. cut says that a call that was not closed
// lacks its end.
func (p *part) parts(cut bool) llm.Parts {
	switch p.kind {
	case kindText:
		return llm.Parts{llm.Text{Text: p.more.String(), Raw: p.raw}}
	case kindThinking:
		return llm.Parts{llm.Thinking{Text: p.more.String(), Raw: p.raw}}
	case kindFile:
		if p.signature == nil {
			return llm.Parts{p.file}
		}
		raw := append(append([]byte(`{"thoughtSignature":`), p.signature...), '}')
		return llm.Parts{p.file, llm.Native{Wire: Wire, Kind: kindSignature, Raw: raw}}
	case kindCall:
		return llm.Parts{p.toolCall(cut)}
	}
	if p.raw == nil { // a thought that is a file
		return nil
	}
	return llm.Parts{llm.Native{Wire: Wire, Kind: p.kind, Raw: p.raw}}
}

func (p *part) toolCall(cut bool) llm.ToolCall {
	c := p.call
	tc := llm.ToolCall{ID: c.id, Name: c.name}
	switch {
	case c.open && cut:
		tc.Input, tc.Malformed = json.RawMessage("{}"), "(the answer was cut before the end of the arguments) "+string(c.input())
	case c.lost != "":
		tc.Input, tc.Malformed = json.RawMessage("{}"), "(an argument for "+c.lost+" has no place) "+string(c.input())
	default:
		tc.Input, tc.Malformed = wire.Input(string(c.input()))
	}
	switch {
	case c.sent == c.id && p.raw != nil && !c.pieces && tc.Malformed == "" && safeName(c.name) == c.name:
		tc.Raw = p.raw
	case p.signature != nil:
		// It came in pieces, with an id that another has, or with a name that
		// no tool can have, which its result will not have either: made again.
		b := []byte(`{"functionCall":{`)
		if c.sent == c.id {
			b = append(wire.AppendString(append(b, `"id":`...), c.id), ',')
		}
		b = wire.AppendString(append(b, `"name":`...), safeName(c.name))
		b = append(append(append(b, `,"args":`...), tc.Input...), `},"thoughtSignature":`...)
		tc.Raw = append(append(b, p.signature...), '}')
	}
	return tc
}
