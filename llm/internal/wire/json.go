package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"
)

const hex = "0123456789abcdef"

// AppendString appends s as a JSON string. Bytes that are not UTF-8 become
// U+FFFD. Nothing is escaped that JSON (RFC 8259) does not ask for.
func AppendString[T string | []byte](b []byte, s T) []byte {
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(string(s[i:min(i+utf8.UTFMax, len(s))]))
			if r != utf8.RuneError || n != 1 {
				i += n
				continue
			}
			b = append(append(b, s[start:i]...), "\ufffd"...)
			i++
			start = i
			continue
		}
		b = append(b, s[start:i]...)
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, '\\', 'n')
		case '\r':
			b = append(b, '\\', 'r')
		case '\t':
			b = append(b, '\\', 't')
		default:
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
		i++
		start = i
	}
	return append(append(b, s[start:]...), '"')
}

// Body builds a JSON object field by field, in the order of the calls.
type Body struct{ b []byte }

// Raw adds a field with its JSON; nil is left out.
func (o *Body) Raw(name string, v []byte) {
	if v == nil {
		return
	}
	if len(o.b) == 0 {
		o.b = append(o.b, '{')
	} else {
		o.b = append(o.b, ',')
	}
	o.b = AppendString(o.b, name)
	o.b = append(append(o.b, ':'), v...)
}

// Value adds a field with the JSON form of v.
func (o *Body) Value(name string, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("wire: field %s: %v", name, err)) // a value of ours always encodes
	}
	o.Raw(name, b)
}

// Bytes is the object.
func (o *Body) Bytes() []byte {
	if len(o.b) == 0 {
		return []byte("{}")
	}
	return append(o.b, '}')
}

// Merge sets the fields of extra, a JSON object or nothing, in the object
// body. A field that is there is replaced in its place, or left out where
// extra says null. New ones go to the front, in the order of their names, so
// that a body whose last field grows from request to request still starts with
// the same bytes. The body must be valid JSON: it is scanned, not checked.
func Merge(body []byte, extra json.RawMessage) ([]byte, error) {
	if len(bytes.TrimSpace(extra)) == 0 {
		return body, nil
	}
	var set map[string]json.RawMessage
	if err := json.Unmarshal(extra, &set); err != nil || set == nil {
		if err == nil {
			err = errors.New("null is no JSON object")
		}
		return nil, fmt.Errorf("the extra fields of the request: %w", err)
	}
	have := fieldsOf(body)
	var fresh []string
	for name := range set {
		if !slices.ContainsFunc(have, func(f jsonField) bool { return f.name == name }) {
			fresh = append(fresh, name)
		}
	}
	slices.Sort(fresh)
	o := Body{make([]byte, 0, len(body)+len(extra))}
	for _, name := range fresh {
		o.notNull(name, set[name])
	}
	for _, f := range have {
		if v, ok := set[f.name]; ok {
			o.notNull(f.name, v)
		} else {
			o.Raw(f.name, f.value)
		}
	}
	return o.Bytes(), nil
}

func (o *Body) notNull(name string, v json.RawMessage) {
	if string(v) != "null" {
		o.Raw(name, v)
	}
}

type jsonField struct {
	name  string
	value []byte
}

// fieldsOf splits an object that is known to be valid JSON at its top level.
func fieldsOf(obj []byte) []jsonField {
	var out []jsonField
	depth, start := 0, 0
	name := ""
	field := func(end int) {
		if v := bytes.TrimSpace(obj[start:end]); name != "" || len(v) > 0 {
			out = append(out, jsonField{name, v})
		}
		name, start = "", end+1
	}
	for i := 0; i < len(obj); i++ {
		switch obj[i] {
		case '{', '[':
			if depth++; depth == 1 {
				start = i + 1
			}
		case '}', ']':
			if depth--; depth == 0 {
				field(i)
				return out
			}
		case ',':
			if depth == 1 {
				field(i)
			}
		case ':':
			if depth == 1 {
				_ = json.Unmarshal(obj[start:i], &name) // a valid object's name
				start = i + 1
			}
		case '"':
			for i++; i < len(obj) && obj[i] != '"'; i++ {
				if obj[i] == '\\' {
					i++
				}
			}
		}
	}
	return out
}

// Input makes the arguments of a tool call of what a model sent: nothing and
// null are {}; an object is itself; anything else is {} and the text, which
// says that the call must not be run.
func Input(sent string) (input json.RawMessage, malformed string) {
	b := bytes.TrimSpace([]byte(sent))
	switch {
	case len(b) == 0, string(b) == "null", string(b) == `""`:
		return json.RawMessage("{}"), ""
	case b[0] == '{' && json.Valid(b):
		return b, ""
	}
	return json.RawMessage("{}"), sent
}
