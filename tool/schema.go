package tool

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"
)

// SchemaFor returns the JSON Schema of T, which must be a struct. Fields are
// named by their json tags, in order; one that is neither a pointer nor tagged
// omitempty or omitzero is required. Other tags:
//
//	doc:"what it is for"     description
//	enum:"a,b,c"             the only values
//	min:"1" max:"9"          bounds of a number, or of the length of a list
//	minLength:"1"            bounds of the length of a string
//	maxLength:"80"
//	pattern:"^[a-z]+$"       regular expression that a string matches
//	default:"10"             said in the schema, and filled in by Decode
//	alias:"path,file"        other names that Decode accepts; not shown
//
// It panics for a T that has no JSON form: that is a bug in the program.
func SchemaFor[T any]() json.RawMessage {
	return shapeOf(reflect.TypeFor[T]()).schema
}

// shape is a struct type with what its tags say.
type shape struct {
	schema json.RawMessage
	fields []field
	byName map[string]int // by name and alias
}

type field struct {
	name     string
	required bool
	def      json.RawMessage
}

var shapes sync.Map // reflect.Type to *shape

func shapeOf(t reflect.Type) *shape {
	if s, ok := shapes.Load(t); ok {
		return s.(*shape)
	}
	if t.Kind() != reflect.Struct {
		panic(fmt.Sprintf("tool: %v is not a struct, which an input must be", t))
	}
	s := &shape{byName: map[string]int{}}
	s.schema = structSchema(t, s, nil)
	shapes.Store(t, s)
	return s
}

type fieldInfo struct {
	reflect.StructField
	name     string
	optional bool
}

// fieldsOf lists the fields of t as encoding/json sees them; those of embedded
// structs are its own.
func fieldsOf(t reflect.Type) []fieldInfo {
	var out []fieldInfo
	for i := range t.NumField() {
		f := t.Field(i)
		tag := f.Tag.Get("json")
		if tag == "-" {
			continue
		}
		name, opts, _ := strings.Cut(tag, ",")
		if f.Anonymous && name == "" {
			ft := f.Type
			if ft.Kind() == reflect.Pointer {
				ft = ft.Elem()
			}
			if ft.Kind() == reflect.Struct {
				out = append(out, fieldsOf(ft)...)
				continue
			}
		}
		if !f.IsExported() {
			continue
		}
		if name == "" {
			name = f.Name
		}
		optional := f.Type.Kind() == reflect.Pointer || f.Tag.Get("default") != "" ||
			strings.Contains(opts, "omitempty") || strings.Contains(opts, "omitzero")
		out = append(out, fieldInfo{f, name, optional})
	}
	return out
}

func structSchema(t reflect.Type, s *shape, above []reflect.Type) json.RawMessage {
	for _, a := range above {
		if a == t {
			panic(fmt.Sprintf("tool: %v contains itself, which a schema here cannot say", t))
		}
	}
	above = append(above, t)
	var b strings.Builder
	b.WriteString(`{"type":"object","properties":{`)
	var required []string
	for i, f := range fieldsOf(t) {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(quote(f.name) + ":")
		sch, def := fieldSchema(t, f, above)
		b.Write(sch)
		if !f.optional {
			required = append(required, f.name)
		}
		if s != nil {
			for _, n := range append([]string{f.name}, split(f.Tag.Get("alias"))...) {
				if _, dup := s.byName[n]; dup {
					panic(fmt.Sprintf("tool: %v has two fields named %q", t, n))
				}
				s.byName[n] = len(s.fields)
			}
			s.fields = append(s.fields, field{name: f.name, required: !f.optional, def: def})
		}
	}
	b.WriteString(`}`)
	if len(required) > 0 {
		r, _ := json.Marshal(required) // strings always marshal
		b.WriteString(`,"required":` + string(r))
	}
	b.WriteString(`,"additionalProperties":false}`)
	return json.RawMessage(b.String())
}

// schemer is implemented by types that know their own schema.
type schemer interface{ JSONSchema() json.RawMessage }

func fieldSchema(t reflect.Type, f fieldInfo, above []reflect.Type) (schema, def json.RawMessage) {
	kws := typeKeywords(f.Type, above)
	add := func(k string, v json.RawMessage) { kws = append(kws, [2]string{k, string(v)}) }
	bad := func(tag, why string) {
		panic(fmt.Sprintf("tool: %v.%s: tag %s: %s", t, f.Name, tag, why))
	}
	base := f.Type
	if base.Kind() == reflect.Pointer {
		base = base.Elem()
	}
	literal := func(tag, s string) json.RawMessage {
		if base.Kind() == reflect.String {
			return json.RawMessage(quote(s))
		}
		if !json.Valid([]byte(s)) {
			bad(tag, "not JSON")
		}
		return json.RawMessage(s)
	}
	if d := f.Tag.Get("doc"); d != "" {
		add("description", json.RawMessage(quote(d)))
	}
	if e := f.Tag.Get("enum"); e != "" {
		var vs []string
		for _, v := range split(e) {
			vs = append(vs, string(literal("enum", v)))
		}
		add("enum", json.RawMessage("["+strings.Join(vs, ",")+"]"))
	}
	number := func(tag, keyword string) {
		if v := f.Tag.Get(tag); v != "" {
			if _, err := strconv.ParseFloat(v, 64); err != nil {
				bad(tag, "not a number")
			}
			add(keyword, json.RawMessage(v))
		}
	}
	if base.Kind() == reflect.Slice || base.Kind() == reflect.Array {
		number("min", "minItems")
		number("max", "maxItems")
	} else {
		number("min", "minimum")
		number("max", "maximum")
	}
	number("minLength", "minLength")
	number("maxLength", "maxLength")
	if p := f.Tag.Get("pattern"); p != "" {
		add("pattern", json.RawMessage(quote(p)))
	}
	if d := f.Tag.Get("default"); d != "" {
		def = literal("default", d)
		add("default", def)
	}
	var b strings.Builder
	b.WriteByte('{')
	for i, kw := range kws {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(quote(kw[0]) + ":" + kw[1])
	}
	b.WriteByte('}')
	return json.RawMessage(b.String()), def
}

// typeKeywords are the keywords that a type alone gives.
func typeKeywords(t reflect.Type, above []reflect.Type) [][2]string {
	typ := func(name string) [][2]string { return [][2]string{{"type", quote(name)}} }
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if s, ok := reflect.New(t).Interface().(schemer); ok {
		return splitObject(s.JSONSchema(), t)
	}
	switch t {
	case reflect.TypeFor[json.RawMessage]():
		return nil // anything
	case reflect.TypeFor[time.Time]():
		return [][2]string{{"type", `"string"`}, {"format", `"date-time"`}}
	case reflect.TypeFor[time.Duration]():
		panic("tool: a time.Duration has no clear JSON form: use a number whose name says its unit")
	}
	switch t.Kind() {
	case reflect.String:
		return typ("string")
	case reflect.Bool:
		return typ("boolean")
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return typ("integer")
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return append(typ("integer"), [2]string{"minimum", "0"})
	case reflect.Float32, reflect.Float64:
		return typ("number")
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return append(typ("string"), [2]string{"contentEncoding", `"base64"`})
		}
		return append(typ("array"), [2]string{"items", object(typeKeywords(t.Elem(), above))})
	case reflect.Map:
		if t.Key().Kind() == reflect.String {
			return append(typ("object"), [2]string{"additionalProperties", object(typeKeywords(t.Elem(), above))})
		}
	case reflect.Struct:
		return splitObject(structSchema(t, nil, above), t)
	case reflect.Interface:
		if t.NumMethod() == 0 {
			return nil
		}
	}
	panic(fmt.Sprintf("tool: a field of type %v cannot come from JSON", t))
}

func object(kws [][2]string) string {
	parts := make([]string, len(kws))
	for i, kw := range kws {
		parts[i] = quote(kw[0]) + ":" + kw[1]
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// splitObject takes the keywords of a schema apart, in order.
func splitObject(schema json.RawMessage, t reflect.Type) [][2]string {
	dec := json.NewDecoder(strings.NewReader(string(schema)))
	if tok, err := dec.Token(); err != nil || tok != json.Delim('{') {
		panic(fmt.Sprintf("tool: the schema of %v is not an object", t))
	}
	var out [][2]string
	for dec.More() {
		key, err := dec.Token()
		var v json.RawMessage
		if err == nil {
			err = dec.Decode(&v)
		}
		if err != nil {
			panic(fmt.Sprintf("tool: the schema of %v: %v", t, err))
		}
		out = append(out, [2]string{key.(string), string(v)})
	}
	return out
}

func quote(s string) string {
	b, _ := json.Marshal(s) // a string always marshals
	return string(b)
}

func split(s string) []string {
	if s == "" {
		return nil
	}
	out := strings.Split(s, ",")
	for i := range out {
		out[i] = strings.TrimSpace(out[i])
	}
	return out
}
