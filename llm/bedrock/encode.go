package bedrock

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"slices"
	"strconv"
	"strings"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/internal/wire"
)

// encoded is the content of a message in its wire form: the results of calls,
// and the other blocks, each a list without brackets, after 8 bytes that say
// how long the first is. It is made once and kept with the message, and sent
// from where it is.
type encoded []byte

const splitSize = 8

func pack(results, others []byte) encoded {
	b := make([]byte, splitSize, splitSize+len(results)+len(others))
	binary.LittleEndian.PutUint64(b, uint64(len(results)))
	return append(append(b, results...), others...)
}

func (e encoded) split() int      { return splitSize + int(binary.LittleEndian.Uint64(e)) }
func (e encoded) results() []byte { return e[splitSize:e.split()] }
func (e encoded) others() []byte  { return e[e.split():] }

func join(b, block []byte) []byte {
	if len(block) == 0 {
		return b
	}
	if len(b) > 0 {
		b = append(b, ',')
	}
	return append(b, block...)
}

// encoder encodes one message.
type encoder struct {
	m      *Model
	native bool // what it keeps for its own wire may go back
	user   bool
	at     int // the message's place in the conversation
	docs   int // so far
}

func (m *Model) encode(msg *llm.Message, at int) encoded {
	e := &encoder{m: m, native: m.native(msg.Origin), user: msg.Role == llm.RoleUser, at: at}
	parts := msg.Parts
	for n := len(parts) - 1; n >= 0 && !e.user; n-- {
		// Thinking that nothing follows is refused.
		if _, ok := parts[n].(llm.Thinking); !ok && len(e.block(parts[n])) > 0 {
			break
		}
		parts = parts[:n]
	}
	var results, others []byte
	spoken := false // there is a text among others
	e.docs = 0
	for _, p := range parts {
		if r, ok := p.(llm.ToolResult); ok {
			block, beside := e.result(r)
			results = join(results, block)
			others = join(others, beside)
			continue
		}
		b := e.block(p)
		spoken = spoken || bytes.HasPrefix(b, []byte(`{"text":`))
		others = join(others, b)
	}
	if e.user && !spoken && bytes.Contains(others, []byte(`{"document":`)) {
		// A document is refused without a text beside it.
		others = join(others, text("(the file above)"))
	}
	return pack(results, others)
}

// native reports whether what a message keeps for its own wire may go back to
// this model.
func (m *Model) native(o *llm.Origin) bool {
	return o != nil && o.Wire == Wire && o.Provider == m.info.Provider &&
		(o.Model == m.info.Name || family(o.Model) == family(m.info.Name))
}

// block is the wire form of a part that is no result; nil for one that is not
// sent.
func (e *encoder) block(p llm.Part) []byte {
	switch p := p.(type) {
	case llm.Text:
		if e.native && len(p.Raw) > 0 {
			return p.Raw
		}
		return text(p.Text)
	case llm.Thinking:
		switch {
		case !e.native:
			return nil
		case len(p.Raw) > 0:
			return p.Raw
		case p.Signature == "":
			return nil // most models refuse to be shown it, and none needs it
		}
		b := wire.AppendString([]byte(`{"reasoningContent":{"reasoningText":{"text":`), p.Text)
		return append(wire.AppendString(append(b, `,"signature":`...), p.Signature), "}}}"...)
	case llm.Blob:
		if !e.user { // that another model made
			return note(p, "the model is not shown files as its own words")
		}
		return e.blob(p)
	case llm.ToolCall:
		input := bytes.TrimSpace(p.Input)
		switch {
		case len(input) == 0:
			input = []byte("{}")
		case input[0] != '{': // the text of a custom tool
			input = slices.Concat([]byte(`{"input":`), input, []byte("}"))
		}
		b := wire.AppendString([]byte(`{"toolUse":{"toolUseId":`), safeID(p.ID))
		b = wire.AppendString(append(b, `,"name":`...), safeName(p.Name))
		return append(append(append(b, `,"input":`...), input...), "}}"...)
	case llm.Native:
		if e.native && p.Wire == Wire {
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
	return append(wire.AppendString([]byte(`{"text":`), s), '}')
}

// images and documents are the formats that the wire takes, by MIME type.
var (
	images    = map[string]string{"image/png": "png", "image/jpeg": "jpeg", "image/jpg": "jpeg", "image/gif": "gif", "image/webp": "webp"}
	documents = map[string]string{
		"application/pdf":          "pdf",
		"application/msword":       "doc",
		"application/vnd.ms-excel": "xls",
		"application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
		"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet":       "xlsx",
	}
)

func (e *encoder) blob(p llm.Blob) []byte {
	mime, _, _ := strings.Cut(strings.ToLower(p.MIME), ";")
	mime = strings.TrimSpace(mime)
	t := e.m.info.Traits
	image, document := images[mime], documents[mime]
	switch {
	case len(p.Data) == 0 && p.URL == "":
		return note(p, "it is empty")
	case p.URL != "" && !strings.HasPrefix(p.URL, "s3://"):
		return note(p, "Bedrock does not fetch files: it takes their bytes")
	case strings.HasPrefix(mime, "text/") && p.URL == "":
		return text("[" + title(p) + "]\n" + strings.ToValidUTF8(string(p.Data), "\ufffd"))
	case strings.HasPrefix(mime, "image/") && !t.Images:
		return note(p, "this model takes no images")
	case document != "" && !t.PDF:
		return note(p, "this model takes no documents")
	case image == "" && document == "":
		return note(p, "the model takes no files of this type")
	}
	var b []byte
	if document != "" {
		b = append(b, `{"document":{"format":"`+document+`","name":`...)
		b = wire.AppendString(b, e.docName(p.Name))
	} else {
		b = append(b, `{"image":{"format":"`+image+`"`...)
	}
	b = append(b, `,"source":{`...)
	if p.URL != "" {
		b = append(wire.AppendString(append(b, `"s3Location":{"uri":`...), p.URL), '}')
	} else {
		b = append(base64.StdEncoding.AppendEncode(append(b, `"bytes":"`...), p.Data), '"')
	}
	return append(b, "}}}"...)
}

// docName is a document's name in the alphabet that the wire takes. Its place
// in the conversation makes it unique, as the wire wants.
func (e *encoder) docName(name string) string {
	e.docs++
	if dot := strings.LastIndexByte(name, '.'); dot > 0 {
		name = name[:dot]
	}
	var b []byte
	for _, r := range name {
		switch c := byte(r); {
		case len(b) >= 150:
		case r < 0x80 && (idByte(c) && c != '_' || strings.IndexByte("()[]", c) >= 0):
			b = append(b, c)
		case len(b) > 0 && b[len(b)-1] != ' ':
			b = append(b, ' ')
		}
	}
	name = strings.TrimSpace(string(b))
	if name == "" {
		name = "document"
	}
	return name + " " + strconv.Itoa(e.at+1) + "-" + strconv.Itoa(e.docs)
}

// hasDocument reports whether the wire form of the parts depends on their
// place.
func hasDocument(ps llm.Parts) bool {
	for _, p := range ps {
		switch p := p.(type) {
		case llm.Blob:
			if !strings.HasPrefix(p.MIME, "image/") {
				return true
			}
		case llm.ToolResult:
			if hasDocument(p.Parts) {
				return true
			}
		}
	}
	return false
}

func title(p llm.Blob) string {
	switch {
	case p.Name != "":
		return p.Name
	case p.MIME != "":
		return p.MIME
	}
	return "a file"
}

// note stands for a blob that cannot be sent.
func note(p llm.Blob, why string) []byte {
	return text("[" + title(p) + " was left out: " + why + "]")
}

// result is the block of a result and, for models that take no files in one,
// what stands beside it.
func (e *encoder) result(r llm.ToolResult) (block, beside []byte) {
	// Only these take a status, and files in a result.
	rich := e.m.claude() || e.m.nova()
	var content []byte
	spoken := false
	if r.IsError && !rich {
		content, spoken = text("The call failed:"), true
	}
	for _, p := range r.Parts {
		switch p := p.(type) {
		case llm.Text:
			if b := text(p.Text); b != nil {
				content, spoken = join(content, b), true
			}
		case llm.Blob:
			b := e.blob(p)
			if rich || bytes.HasPrefix(b, []byte(`{"text":`)) {
				content = join(content, b)
			} else {
				beside = join(beside, b)
			}
		}
	}
	switch {
	case len(content) == 0 && len(beside) > 0:
		content = text("(the files that follow)")
	case len(content) == 0:
		content = text("(no output)")
	case !spoken && bytes.Contains(content, []byte(`{"document":`)):
		content = join(content, text("(the file above)"))
	}
	b := wire.AppendString([]byte(`{"toolResult":{"toolUseId":`), safeID(r.CallID))
	b = append(append(append(b, `,"content":[`...), content...), ']')
	if r.IsError && rich {
		b = append(b, `,"status":"error"`...)
	}
	return append(b, "}}"...), beside
}

const (
	maxID  = 64
	mapped = "mapped_"
)

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
	if s := mapped + base64.RawURLEncoding.EncodeToString([]byte(id)); len(s) <= maxID-2 {
		return s
	}
	h := sha256.Sum256([]byte(id))
	return mapped + "h_" + base64.RawURLEncoding.EncodeToString(h[:])
}

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
