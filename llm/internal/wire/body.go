package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// Body builds a JSON object field by field, in the order of the calls. The
// zero Body is empty. Nothing that it is given is copied until [Body.Bytes],
// so it must not be changed.
type Body struct{ fields []field }

type field struct {
	name   string
	value  []byte
	pieces Pieces // in the place of value
}

// Raw adds a field with its JSON; nil is left out.
func (o *Body) Raw(name string, v []byte) {
	if v != nil {
		o.fields = append(o.fields, field{name: name, value: v})
	}
}

// Value adds a field with the JSON form of v.
func (o *Body) Value(name string, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("wire: field %s: %v", name, err)) // a value of ours always encodes
	}
	o.Raw(name, b)
}

// Pieces adds a field whose JSON is in pieces, which go over the network as
// they are: a long conversation is not copied to be sent.
func (o *Body) Pieces(name string, p Pieces) {
	o.fields = append(o.fields, field{name: name, pieces: p})
}

// Has reports whether there is a field of that name.
func (o *Body) Has(name string) bool {
	return slices.ContainsFunc(o.fields, func(f field) bool { return f.name == name })
}

// Bytes is the object in one piece.
func (o *Body) Bytes() []byte { return o.Join().Bytes() }

// Join is the object as it is sent. What is small is put together.
func (o *Body) Join() Pieces {
	n, small := 1, 2
	for _, f := range o.fields {
		n += 1 + len(f.pieces)
		small += len(f.name) + 8 + len(f.value)
	}
	out := make(Pieces, 0, n)
	b := append(make([]byte, 0, small), '{')
	start := 0
	for i, f := range o.fields {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(AppendString(b, f.name), ':')
		if f.pieces == nil {
			b = append(b, f.value...)
			continue
		}
		out = append(append(out, b[start:]), f.pieces...)
		start = len(b)
	}
	b = append(b, '}')
	return append(out, b[start:])
}

// Merge sets the fields of extra, a JSON object or nothing. A field that is
// there is replaced in its place, or left out where extra says null. New ones
// go to the front, in the order of their names, so that a body whose last field
// grows from request to request still starts with the same bytes.
func (o *Body) Merge(extra json.RawMessage) error {
	if len(bytes.TrimSpace(extra)) == 0 {
		return nil
	}
	var set map[string]json.RawMessage
	if err := json.Unmarshal(extra, &set); err != nil || set == nil {
		if err == nil {
			err = errors.New("null is no JSON object")
		}
		return fmt.Errorf("the extra fields of the request: %w", err)
	}
	var fresh []string
	for name := range set {
		if !o.Has(name) {
			fresh = append(fresh, name)
		}
	}
	slices.Sort(fresh)
	var out Body
	for _, name := range fresh {
		out.notNull(name, set[name])
	}
	for _, f := range o.fields {
		if v, ok := set[f.name]; ok {
			out.notNull(f.name, v)
		} else {
			out.fields = append(out.fields, f)
		}
	}
	*o = out
	return nil
}

func (o *Body) notNull(name string, v json.RawMessage) {
	if string(v) != "null" {
		o.Raw(name, v)
	}
}

// Merge is [Body.Merge] on an object that is JSON already. The object must be
// valid: it is scanned, not checked.
func Merge(object []byte, extra json.RawMessage) ([]byte, error) {
	if len(bytes.TrimSpace(extra)) == 0 {
		return object, nil
	}
	o := Body{fieldsOf(object)}
	if err := o.Merge(extra); err != nil {
		return nil, err
	}
	return o.Bytes(), nil
}

// fieldsOf splits an object that is known to be valid JSON at its top level.
func fieldsOf(obj []byte) []field {
	var out []field
	depth, start := 0, 0
	name := ""
	field := func(end int) {
		if v := bytes.TrimSpace(obj[start:end]); name != "" || len(v) > 0 {
			out = append(out, field{name: name, value: v})
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

// Pieces are bytes that follow each other without lying together.
type Pieces [][]byte

// Len is how many bytes there are.
func (p Pieces) Len() int {
	n := 0
	for _, b := range p {
		n += len(b)
	}
	return n
}

// Bytes are the pieces in one; if there is but one, it is not copied.
func (p Pieces) Bytes() []byte {
	if len(p) == 1 {
		return p[0]
	}
	out := make([]byte, 0, p.Len())
	for _, b := range p {
		out = append(out, b...)
	}
	return out
}

// upload is a request's body; what is read of it goes over the network.
type upload struct {
	rest Pieces
	at   int // in the first of rest
	w    *watch
}

func (u *upload) Read(p []byte) (int, error) {
	u.w.touch()
	n := 0
	for n < len(p) && len(u.rest) > 0 {
		c := copy(p[n:], u.rest[0][u.at:])
		n += c
		if u.at += c; u.at == len(u.rest[0]) {
			u.rest, u.at = u.rest[1:], 0
		}
	}
	if n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

func (u *upload) Close() error { return nil }
