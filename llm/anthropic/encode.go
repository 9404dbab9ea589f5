package anthropic

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/internal/wire"
)

// encoded is a message in its wire form,
//
//	,{"role":"user","content":[ results , other blocks ]}
//
// after 8 bytes that say where the results end. It is made once and kept with
// the message, and sent from where it is.
type encoded []byte

const (
	userHead      = `,{"role":"user","content":[`
	assistantHead = `,{"role":"assistant","content":[`
	closing       = "]}"
	splitSize     = 8
)

// encode is the wire form of a message.
func (m *Model) encode(msg *llm.Message) encoded {
	native := m.native(msg.Origin)
	var results, others []byte
	parts := msg.Parts
	for n := len(parts) - 1; n >= 0 && msg.Role == llm.RoleAssistant; n-- {
		// Thinking that nothing follows is refused.
		if _, ok := parts[n].(llm.Thinking); !ok && m.block(parts[n], native) != nil {
			break
		}
		parts = parts[:n]
	}
	for _, p := range parts {
		switch p := p.(type) {
		case llm.ToolResult:
			results = join(results, m.result(p))
			continue
		case llm.Blob: // that another model made
			if msg.Role == llm.RoleAssistant {
				others = join(others, note(p, "the model is not shown files as its own words"))
				continue
			}
		}
		others = join(others, m.block(p, native))
	}
	head := userHead
	if msg.Role == llm.RoleAssistant {
		head = assistantHead
	}
	b := make([]byte, splitSize, splitSize+len(head)+len(results)+1+len(others)+len(closing))
	binary.LittleEndian.PutUint64(b, uint64(splitSize+len(head)+len(results)))
	b = append(append(b, head...), results...)
	if len(results) > 0 && len(others) > 0 {
		b = append(b, ',')
	}
	return append(append(b, others...), closing...)
}

func (e encoded) message() []byte { return e[splitSize:] }
func (e encoded) head() []byte    { return e[splitSize : splitSize+bytes.IndexByte(e.message(), '[')+1] }

func (e encoded) empty() bool {
	return len(e) <= splitSize+len(assistantHead)+len(closing) && bytes.HasSuffix(e, []byte("[]}"))
}
func (e encoded) split() int      { return int(binary.LittleEndian.Uint64(e)) }
func (e encoded) results() []byte { return e[splitSize+len(e.head()) : e.split()] }

func (e encoded) others() []byte {
	return bytes.TrimPrefix(e[e.split():len(e)-len(closing)], comma)
}

func join(b, block []byte) []byte {
	if len(block) == 0 {
		return b
	}
	if len(b) > 0 {
		b = append(b, ',')
	}
	return append(b, block...)
}

// native reports whether what a message keeps for its own wire may go back to
// this model.
func (m *Model) native(o *llm.Origin) bool {
	return o != nil && o.Wire == Wire && o.Provider == m.info.Provider && family(o.Model) == family(m.info.Name)
}

var dated = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`([-@](20\d{6}|latest)|-v\d+(:\d+)?)+$`)
})

// family is a model's name without its date: signatures hold within it.
func family(name string) string {
	return dated().ReplaceAllString(name, "")
}

// block is the wire form of a part; nil for one that is not sent.
func (m *Model) block(p llm.Part, native bool) []byte {
	switch p := p.(type) {
	case llm.Text:
		if native && len(p.Raw) > 0 {
			return p.Raw
		}
		return text(p.Text)
	case llm.Thinking:
		switch {
		case !native:
			return nil
		case len(p.Raw) > 0:
			return p.Raw
		case p.Signature == "":
			return nil // unsigned thinking is refused
		}
		b := wire.AppendString([]byte(`{"type":"thinking","thinking":`), p.Text)
		return append(wire.AppendString(append(b, `,"signature":`...), p.Signature), '}')
	case llm.Blob:
		return m.blob(p)
	case llm.ToolCall:
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
		b := wire.AppendString([]byte(`{"type":"tool_use","id":`), safeID(p.ID))
		b = wire.AppendString(append(b, `,"name":`...), safeName(p.Name))
		return append(append(append(b, `,"input":`...), input...), '}')
	case llm.Native:
		if native && p.Wire == Wire {
			return p.Raw
		}
	}
	return nil // of another wire, or of a later version
}

// text is a text block; nil for blank text, which the wire refuses.
func text(s string) []byte {
	if strings.TrimSpace(s) == "" {
		return nil
	}
	return append(wire.AppendString([]byte(`{"type":"text","text":`), s), '}')
}

// images are the types that the wire takes.
var images = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

func (m *Model) blob(p llm.Blob) []byte {
	mime, _, _ := strings.Cut(strings.ToLower(p.MIME), ";")
	mime = strings.TrimSpace(mime)
	if mime == "image/jpg" {
		mime = "image/jpeg"
	}
	kind := "image"
	switch {
	case len(p.Data) == 0 && p.URL == "":
		return note(p, "it is empty")
	case p.URL != "" && m.opts.Framing.New != nil: // Bedrock
		return note(p, "this service does not fetch files: it takes their bytes")
	case mime == "application/pdf":
		if kind = "document"; !m.info.Traits.PDF {
			return note(p, "this model takes no documents")
		}
	case strings.HasPrefix(mime, "image/") && !m.info.Traits.Images:
		return note(p, "this model takes no images")
	case slices.Contains(images, mime), p.URL != "" && strings.HasPrefix(mime, "image/"):
	case len(p.Data) > 0 && strings.HasPrefix(mime, "text/") && utf8.Valid(p.Data):
		name := p.Name
		if name == "" {
			name = p.MIME
		}
		return text("[" + name + "]\n" + string(p.Data))
	default:
		return note(p, "the model takes no files of this type")
	}
	b := []byte(`{"type":"` + kind + `","source":{`)
	if p.URL != "" {
		b = wire.AppendString(append(b, `"type":"url","url":`...), p.URL)
	} else {
		b = wire.AppendString(append(b, `"type":"base64","media_type":`...), mime)
		b = append(b, `,"data":"`...)
		b = base64.StdEncoding.AppendEncode(b, p.Data)
		b = append(b, '"')
	}
	return append(b, "}}"...)
}

// note stands for a blob that cannot be sent.
func note(p llm.Blob, why string) []byte {
	name := p.Name
	if name == "" {
		name = p.MIME
	}
	if name == "" {
		name = "a file"
	}
	return text("[" + name + " was left out: " + why + "]")
}

func (m *Model) result(r llm.ToolResult) []byte {
	b := wire.AppendString([]byte(`{"type":"tool_result","tool_use_id":`), safeID(r.CallID))
	var content []byte
	for _, p := range r.Parts {
		switch p.(type) {
		case llm.Text, llm.Blob:
			content = join(content, m.block(p, false))
		}
	}
	if len(content) == 0 {
		content = text("(no output)")
	}
	b = append(append(append(b, `,"content":[`...), content...), ']')
	if r.IsError {
		b = append(b, `,"is_error":true`...)
	}
	return append(b, '}')
}

const maxID = 128

// safeID maps an id to the alphabet that the wire takes: the same id always to
// the same, and different ones to different ones.
func safeID(id string) string {
	ok := id != "" && len(id) <= maxID && !strings.HasPrefix(id, mapped)
	for i := 0; ok && i < len(id); i++ {
		ok = idByte(id[i])
	}
	if ok {
		return id
	}
	if len(id) > maxID/2 {
		h := sha256.Sum256([]byte(id))
		return mapped + hex.EncodeToString(h[:])
	}
	return mapped + base64.RawURLEncoding.EncodeToString([]byte(id))
}

const mapped = "mapped_"

// safeName maps a name that a model made up, and that no tool can have, to the
// wire's alphabet.
func safeName(name string) string {
	out := []byte(name)
	for i, c := range out {
		if !idByte(c) {
			out[i] = '_'
		}
	}
	if len(out) == 0 {
		return "unnamed"
	}
	return string(out[:min(len(out), maxID)])
}

func idByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}
