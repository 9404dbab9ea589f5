package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// AppendString appends s as a JSON string. Invalid UTF-8 becomes U+FFFD; HTML
// characters stay as they are.
func AppendString(b []byte, s string) []byte {
	plain := true
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= 0x7F {
			plain = false
			break
		}
	}
	if plain {
		return append(append(append(b, '"'), s...), '"')
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string always encodes
	return append(b, bytes.TrimSuffix(buf.Bytes(), []byte("\n"))...)
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

// Merge sets the fields of extra in the object body. Fields that are there are
// replaced, and new ones go to the end. extra must be an object.
func Merge(body []byte, extra json.RawMessage) ([]byte, error) {
	if len(bytes.TrimSpace(extra)) == 0 {
		return body, nil
	}
	add, err := fieldsOf(extra)
	if err != nil {
		return nil, fmt.Errorf("the extra fields of the request: %w", err)
	}
	have, err := fieldsOf(body)
	if err != nil {
		return nil, err
	}
	set := map[string]json.RawMessage{}
	for _, f := range add {
		set[f.name] = f.value
	}
	var o Body
	for _, f := range have {
		if v, ok := set[f.name]; ok {
			f.value = v
			delete(set, f.name)
		}
		o.Raw(f.name, f.value)
	}
	for _, f := range add {
		if v, ok := set[f.name]; ok {
			o.Raw(f.name, v)
			delete(set, f.name)
		}
	}
	return o.Bytes(), nil
}

type jsonField struct {
	name  string
	value json.RawMessage
}

func fieldsOf(obj []byte) ([]jsonField, error) {
	dec := json.NewDecoder(bytes.NewReader(obj))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, fmt.Errorf("not a JSON object: %s", clip(string(obj)))
	}
	var out []jsonField
	for dec.More() {
		k, err := dec.Token()
		if err != nil {
			return nil, err
		}
		var v json.RawMessage
		if err := dec.Decode(&v); err != nil {
			return nil, err
		}
		out = append(out, jsonField{k.(string), v})
	}
	return out, nil
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
