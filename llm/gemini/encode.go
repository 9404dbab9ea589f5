package gemini

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/internal/wire"
)

// encoded is a message in its wire form: the parts that are results, and then
// the others, after 8 bytes that say where the results end. It is made once and
// kept with the message, and sent from where it is.
type encoded []byte

const splitSize = 8

func (e encoded) split() uint64   { return binary.LittleEndian.Uint64(e) }
func (e encoded) results() []byte { return e[splitSize:][:e.split()] }
func (e encoded) others() []byte  { return e[splitSize:][e.split():] }
func (e encoded) empty() bool     { return len(e) == splitSize }

// encode is the wire form of message i of ms.
func (m *Model) encode(ms []llm.Message, i int) encoded {
	msg := &ms[i]
	native := m.native(msg.Origin)
	var results, others []byte
	signed := native
	for n, p := range msg.Parts {
		switch p := p.(type) {
		case llm.ToolResult:
			part, files := m.result(p, ms[:i])
			results = join(results, part)
			for _, f := range files {
				others = join(others, m.blob(f))
			}
			continue
		case llm.ToolCall:
			if part := m.call(p, native); !signed && m.wantsSignatures() {
				signed = true
				others = join(others, append(part[:len(part)-1], `,"thoughtSignature":"`+unsigned+`"}`...))
			} else {
				others = join(others, part)
			}
			continue
		case llm.Blob:
			if msg.Role == llm.RoleAssistant {
				others = join(others, m.made(p, native, msg.Parts[n+1:]))
				continue
			}
		}
		others = join(others, m.part(p, native))
	}
	b := make([]byte, splitSize, splitSize+len(results)+len(others))
	binary.LittleEndian.PutUint64(b, uint64(len(results)))
	return append(append(b, results...), others...)
}

// unsigned is the signature that says that there is none:
// "skip_thought_signature_validator", in base64 as the wire wants its bytes.
const unsigned = "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I="

func join(b, part []byte) []byte {
	if len(part) == 0 {
		return b
	}
	if len(b) > 0 {
		b = append(b, ',')
	}
	return append(b, part...)
}

// part is the wire form of a part; nil for one that is not sent.
func (m *Model) part(p llm.Part, native bool) []byte {
	switch p := p.(type) {
	case llm.Text:
		if native && len(p.Raw) > 0 {
			return p.Raw
		}
		return text(p.Text)
	case llm.Thinking:
		if native && len(p.Raw) > 0 {
			return p.Raw
		}
		// A summary of thoughts without a signature is of no use to the model.
	case llm.Blob:
		return m.blob(p)
	case llm.Native:
		if native && p.Wire == Wire && sent(p.Kind) {
			return p.Raw
		}
	}
	return nil // of another wire, or of a later version
}

// text is a text part; nil for text of no length, which the wire refuses.
func text(s string) []byte {
	if s == "" {
		return nil
	}
	return append(wire.AppendString([]byte(`{"text":`), s), '}')
}

func (m *Model) call(p llm.ToolCall, native bool) []byte {
	if native && len(p.Raw) > 0 {
		return p.Raw
	}
	input := bytes.TrimSpace(p.Input)
	switch {
	case len(input) == 0:
		input = []byte("{}")
	case input[0] != '{': // the text of a custom tool
		input = slices.Concat([]byte(`{"input":`), input, []byte("}"))
	}
	b := []byte(`{"functionCall":{`)
	if m.sendsID(p.ID, native) {
		b = append(wire.AppendString(append(b, `"id":`...), p.ID), ',')
	}
	b = wire.AppendString(append(b, `"name":`...), safeName(p.Name))
	return append(append(append(b, `,"args":`...), input...), "}}"...)
}

// sendsID reports whether a call is named by its id: not if the server gave it
// none, and not an id of another provider to a model of a generation that knows
// no ids. Calls and results without ids are matched by their order.
func (m *Model) sendsID(id string, native bool) bool {
	return id != "" && !strings.HasPrefix(id, madeID) && (native || m.generation == 0 || m.generation >= 3)
}

// result is the part that answers a call, and what goes beside it.
func (m *Model) result(r llm.ToolResult, before []llm.Message) (part []byte, files []llm.Blob) {
	name, native := m.called(r, before)
	b := []byte(`{"functionResponse":{`)
	if m.sendsID(r.CallID, native) {
		b = append(wire.AppendString(append(b, `"id":`...), r.CallID), ',')
	}
	b = wire.AppendString(append(b, `"name":`...), safeName(name))
	var texts []string
	var within []byte
	for _, p := range r.Parts {
		switch p := p.(type) {
		case llm.Text:
			texts = append(texts, p.Text)
		case llm.Blob:
			if m.nests(p) {
				within = join(within, m.blob(p))
			} else {
				files = append(files, p)
			}
		}
	}
	s := strings.Join(texts, "\n")
	switch {
	case s != "":
	case len(within) > 0 || len(files) > 0:
		s = "(see the files)"
	default:
		s = "(no output)"
	}
	word := "output"
	if r.IsError {
		word = "error"
	}
	b = append(wire.AppendString(append(b, `,"response":{"`+word+`":`...), s), '}')
	if len(within) > 0 {
		b = append(append(append(b, `,"parts":[`...), within...), ']')
	}
	return append(b, "}}"...), files
}

// nests reports whether a file may stand within a result.
func (m *Model) nests(p llm.Blob) bool {
	if field, _ := m.fate(p); field != "inlineData" || m.generation < 3 {
		return false
	}
	switch mime(p.MIME) {
	case "image/png", "image/jpeg", "image/webp", "application/pdf":
		return true
	}
	return false
}

// called finds the call that a result answers: the name of its tool, and
// whether it came from this model.
func (m *Model) called(r llm.ToolResult, before []llm.Message) (name string, native bool) {
	for i := len(before) - 1; i >= 0; i-- {
		if before[i].Role != llm.RoleAssistant {
			continue
		}
		for _, p := range before[i].Parts {
			if c, ok := p.(llm.ToolCall); ok && c.ID == r.CallID {
				return c.Name, m.native(before[i].Origin)
			}
		}
	}
	return r.Name, false
}

// made is a file that a model made; after are the parts that follow it.
func (m *Model) made(p llm.Blob, native bool, after llm.Parts) []byte {
	if !native {
		return text(note(p, "the model is not shown files as its own words"))
	}
	b := m.blob(p)
	if len(after) == 0 || !bytes.HasPrefix(b, []byte(`{"inlineData"`)) {
		return b
	}
	if n, ok := after[0].(llm.Native); ok && n.Wire == Wire && n.Kind == kindSignature {
		if signed, err := wire.Merge(b, n.Raw); err == nil {
			return signed
		}
	}
	return b
}

// images are the types of images that the wire takes.
var images = []string{"image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"}

func mime(s string) string {
	s, _, _ = strings.Cut(strings.ToLower(s), ";")
	switch s = strings.TrimSpace(s); s {
	case "image/jpg":
		return "image/jpeg"
	case "audio/mpeg":
		return "audio/mp3"
	case "audio/x-wav", "audio/wave":
		return "audio/wav"
	}
	return s
}

// fate is the field that a file is sent in, or why it is not sent.
func (m *Model) fate(p llm.Blob) (field, why string) {
	t := mime(p.MIME)
	field = "inlineData"
	if p.URL != "" {
		field = "fileData"
	}
	switch {
	case len(p.Data) == 0 && p.URL == "":
		return "", "it is empty"
	case t == "application/pdf" && !m.info.Traits.PDF:
		return "", "this model takes no documents"
	case strings.HasPrefix(t, "image/") && !m.info.Traits.Images:
		return "", "this model takes no images"
	case t == "application/pdf", slices.Contains(images, t), strings.HasPrefix(t, "audio/"), strings.HasPrefix(t, "video/"):
		return field, ""
	case p.URL != "" && !strings.HasPrefix(t, "image/"):
		return field, ""
	case len(p.Data) > 0 && strings.HasPrefix(t, "text/") && utf8.Valid(p.Data):
		return "text", ""
	}
	return "", "the model takes no files of this type"
}

func (m *Model) blob(p llm.Blob) []byte {
	field, why := m.fate(p)
	switch field {
	case "inlineData":
		b := wire.AppendString([]byte(`{"inlineData":{"mimeType":`), mime(p.MIME))
		b = base64.StdEncoding.AppendEncode(append(b, `,"data":"`...), p.Data)
		return append(b, `"}}`...)
	case "fileData":
		b := []byte(`{"fileData":{`)
		if t := mime(p.MIME); t != "" {
			b = append(wire.AppendString(append(b, `"mimeType":`...), t), ',')
		}
		return append(wire.AppendString(append(b, `"fileUri":`...), p.URL), "}}"...)
	case "text":
		return text("[" + title(p) + "]\n" + string(p.Data))
	}
	return text(note(p, why))
}

// note stands for a file that cannot be sent.
func note(p llm.Blob, why string) string { return "[" + title(p) + " was left out: " + why + "]" }

func title(p llm.Blob) string {
	switch {
	case p.Name != "":
		return p.Name
	case p.MIME != "":
		return p.MIME
	}
	return "a file"
}

const maxName = 128

// safeName maps a name that a model made up, and that no tool can have, to the
// wire's alphabet.
func safeName(name string) string {
	out := []byte(name)
	for i, c := range out {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '_':
		case i > 0 && (c >= '0' && c <= '9' || c == '-' || c == '.' || c == ':'):
		default:
			out[i] = '_'
		}
	}
	if len(out) == 0 {
		return "unnamed"
	}
	return string(out[:min(len(out), maxName)])
}
