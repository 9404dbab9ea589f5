package wirecase_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"unicode/utf16"
)

// tree is a JSON value that knows the order of its fields.
type tree struct {
	kind   byte // { [ " or 0 for another scalar
	names  []string
	values []*tree
	text   string // of a string, or the literal
}

func parse(b []byte) (*tree, error) {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	v, err := parseValue(dec)
	if err != nil {
		return nil, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("more than one value")
	}
	return v, nil
}

func parseValue(dec *json.Decoder) (*tree, error) {
	tok, err := dec.Token()
	if err != nil {
		return nil, err
	}
	switch tok := tok.(type) {
	case json.Delim:
		v := &tree{kind: byte(tok)}
		for dec.More() {
			if tok == '{' {
				name, err := dec.Token()
				if err != nil {
					return nil, err
				}
				v.names = append(v.names, name.(string))
			}
			x, err := parseValue(dec)
			if err != nil {
				return nil, err
			}
			v.values = append(v.values, x)
		}
		_, err := dec.Token()
		return v, err
	case string:
		return &tree{kind: '"', text: tok}, nil
	case nil:
		return &tree{text: "null"}, nil
	}
	return &tree{text: fmt.Sprint(tok)}, nil
}

// write appends the JSON of v; escaped writes every letter of strings by its
// number.
func (v *tree) write(b []byte, escaped bool) []byte {
	str := func(s string) {
		if !escaped {
			b = appendPlain(b, s)
			return
		}
		b = append(b, '"')
		for _, u := range utf16.Encode([]rune(s)) {
			b = fmt.Appendf(b, `\u%04X`, u)
		}
		b = append(b, '"')
	}
	switch v.kind {
	case '{', '[':
		b = append(b, v.kind)
		for i, x := range v.values {
			if i > 0 {
				b = append(b, ',')
			}
			if v.kind == '{' {
				b = appendPlain(b, v.names[i])
				b = append(b, ':')
			}
			b = x.write(b, escaped)
		}
		return append(b, v.kind+2)
	case '"':
		str(v.text)
		return b
	}
	return append(b, v.text...)
}

func appendPlain(b []byte, s string) []byte {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string encodes
	return append(b, bytes.TrimSuffix(out.Bytes(), []byte("\n"))...)
}

// free names fields whose objects are the model's: what is in them is data.
var free = map[string]bool{"input": true, "args": true, "arguments": true, "json": true, "parameters": true, "partialArgs": true}

// each calls f for every object and array that is not data, innermost first.
func (v *tree) each(f func(*tree)) {
	for i, x := range v.values {
		if v.kind == '{' && free[v.names[i]] {
			continue
		}
		x.each(f)
	}
	f(v)
}

// A change of an event's JSON that must change nothing of what is made of it.
type change struct {
	name string
	do   func(r *rand.Rand, v *tree) []byte
}

var changes = []change{
	{"unknown fields", func(r *rand.Rand, v *tree) []byte {
		news := []string{`{"a":[1,null]}`, `"new"`, `7`, `true`, `[]`, `{}`, `null`}
		v.each(func(o *tree) {
			if o.kind == '{' {
				x, _ := parse([]byte(news[r.IntN(len(news))])) // it is JSON
				o.names, o.values = append(o.names, "zz_new"), append(o.values, x)
			}
		})
		return v.write(nil, false)
	}},
	{"order of fields", func(r *rand.Rand, v *tree) []byte {
		v.each(func(o *tree) {
			if o.kind == '{' {
				r.Shuffle(len(o.names), func(i, j int) {
					o.names[i], o.names[j] = o.names[j], o.names[i]
					o.values[i], o.values[j] = o.values[j], o.values[i]
				})
			}
		})
		return v.write(nil, false)
	}},
	{"numbers as floats", func(_ *rand.Rand, v *tree) []byte {
		v.each(func(o *tree) {
			if c := o.text; o.kind == 0 && c != "" && strings.Trim(c, "-0123456789") == "" && len(c) < 15 {
				o.text += ".0"
			}
		})
		return v.write(nil, false)
	}},
	{"escapes", func(_ *rand.Rand, v *tree) []byte { return v.write(nil, true) }},
	{"no nulls", func(_ *rand.Rand, v *tree) []byte {
		v.each(func(o *tree) {
			if o.kind != '{' {
				return
			}
			n := 0
			for i, x := range o.values {
				if x.kind != 0 || x.text != "null" {
					o.names[n], o.values[n] = o.names[i], x
					n++
				}
			}
			o.names, o.values = o.names[:n], o.values[:n]
		})
		return v.write(nil, false)
	}},
	{"laid out", func(_ *rand.Rand, v *tree) []byte {
		var b bytes.Buffer
		_ = json.Indent(&b, v.write(nil, false), "", "  ") // it is JSON
		return b.Bytes()
	}},
	{"blanks", func(_ *rand.Rand, v *tree) []byte {
		return append(append([]byte("  "), v.write(nil, false)...), "   "...)
	}},
}
