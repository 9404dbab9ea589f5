package wire

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/cantle-dev/cantle/llm"
)

// Functions are the tools as a list of {"type":"function","function":{…}},
// which several wires have in common. Schemas are in it byte for byte.
func Functions(ts []llm.ToolSpec) []byte {
	b := []byte{'['}
	for i, t := range ts {
		if i > 0 {
			b = append(b, ',')
		}
		b = AppendString(append(b, `{"type":"function","function":{"name":`...), t.Name)
		if t.Description != "" {
			b = AppendString(append(b, `,"description":`...), t.Description)
		}
		schema := t.Input
		if len(schema) == 0 {
			schema = json.RawMessage(`{"type":"object","properties":{}}`)
		}
		b = append(append(append(b, `,"parameters":`...), schema...), "}}"...)
	}
	return append(b, ']')
}

// FunctionName is the name of a call as servers take it: models make up names
// that would make every later request invalid.
func FunctionName(s string) string {
	s = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-.:/", r) {
			return r
		}
		return '_'
	}, strings.TrimSpace(s))
	if s == "" {
		return "unnamed"
	}
	return s[:min(len(s), 64)]
}

// ResultText is the text of a tool's result, for wires that take no more than
// that, and the blobs in it, which go into the message that follows.
func ResultText(r llm.ToolResult) (string, llm.Parts) {
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

// BlobText is what stands for a blob that a wire does not take as it is: the
// text of a text file, or a note that it was left out.
func BlobText(p llm.Blob) string {
	name := p.Name
	if name == "" {
		name = p.MIME
	}
	if name == "" {
		name = "a file"
	}
	if len(p.Data) > 0 && strings.HasPrefix(p.MIME, "text/") && utf8.Valid(p.Data) {
		return "[" + name + "]\n" + string(p.Data)
	}
	return "[" + name + " was left out: this model takes no files of this type]"
}
