package tool

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// SchemaFor returns the JSON Schema of T, which must be a struct. Fields are
// named by their json tags, in order, and those of embedded structs are its
// own, as in encoding/json. One that is neither a pointer nor tagged omitempty
// or omitzero, and has no default, is required. Other tags:
//
//	doc:"what it is for"     description
//	enum:"a,b,c"             the only values; of a list, the only items
//	min:"1" max:"9"          bounds of a number, or of the length of a list
//	minLength:"1"            bounds of the length of a string, in characters
//	maxLength:"80"
//	pattern:"^[a-z]+$"       regular expression that a string matches
//	default:"10"             said in the schema, and filled in by Decode
//	alias:"path,file"        other names that Decode accepts; not shown
//
// A type with a method JSONSchema() json.RawMessage says its own schema. An
// [encoding.TextUnmarshaler] is a string; json.RawMessage and any are anything.
//
// It panics for a T that has no such schema, such as one that contains itself,
// and for tags that contradict each other: those are bugs in the program.
func SchemaFor[T any]() json.RawMessage {
	return bytes.Clone(shapeFor(reflect.TypeFor[T]()).schema)
}

// shape is a struct type as the model is told of it, and compiled.
type shape struct {
	schema json.RawMessage
	root   *node
}

var shapes sync.Map // reflect.Type to *shape

func shapeOf(t reflect.Type) *node { return shapeFor(t).root }

func shapeFor(t reflect.Type) *shape {
	if s, ok := shapes.Load(t); ok {
		return s.(*shape)
	}
	if t.Kind() != reflect.Struct {
		panic(fmt.Sprintf("tool: %v is not a struct, which an input must be", t))
	}
	schema := structSchema(t, nil)
	s := &shape{schema, compile(schema)}
	annotate(t, s.root)
	s.root.checkDefaults(t.String())
	shapes.Store(t, s)
	return s
}

// annotate adds to a compiled schema what it does not tell the model.
func annotate(t reflect.Type, n *node) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if n == nil || ownSchema(t) != nil || isText(t) || t == reflect.TypeFor[json.RawMessage]() {
		return
	}
	switch t.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		n.bits, n.signed = t.Bits(), true
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		n.bits = t.Bits()
	case reflect.Float32, reflect.Float64:
		n.float = t.Bits()
	case reflect.Slice, reflect.Array:
		annotate(t.Elem(), n.items)
	case reflect.Map:
		annotate(t.Elem(), n.extra)
	case reflect.Struct:
		n.alias = map[string]string{}
		for _, f := range fieldsOf(t) {
			annotate(f.Type, n.props[f.name])
			for _, a := range split(f.Tag.Get("alias")) {
				if _, dup := n.alias[a]; dup || n.props[a] != nil {
					panic(fmt.Sprintf("tool: %v has two fields that go by %q", t, a))
				}
				n.alias[a] = f.name
			}
		}
	}
}

// checkDefaults panics for a default that its own schema refuses.
func (n *node) checkDefaults(path string) {
	if n == nil {
		return
	}
	for _, name := range n.names {
		sub := n.props[name]
		if sub.fallback != nil {
			c := newChecker(true, sub.fallback)
			if c.check(sub, sub.fallback, "", 0); len(c.problems) > 0 {
				panic(fmt.Sprintf("tool: %s.%s: tag default: %s", path, name, c.problems[0]))
			}
		}
		sub.checkDefaults(path + "." + name)
	}
	n.items.checkDefaults(path)
	n.extra.checkDefaults(path)
}

type fieldInfo struct {
	reflect.StructField
	name     string
	optional bool
	depth    int
	tagged   bool
}

// fieldsOf lists the fields of t as encoding/json sees them: of several of one
// name that which is embedded least deep counts, or the only one of those that
// is named by a tag.
func fieldsOf(t reflect.Type) []fieldInfo {
	all := allFields(t, 0, nil)
	var out []fieldInfo
	for _, f := range all {
		wins := true
		for _, g := range all {
			if g.name == f.name && !slices.Equal(g.Index, f.Index) &&
				(g.depth < f.depth || g.depth == f.depth && (g.tagged || !f.tagged)) {
				wins = false
			}
		}
		if wins {
			out = append(out, f)
		}
	}
	return out
}

func allFields(t reflect.Type, depth int, index []int) []fieldInfo {
	if depth > maxDepth {
		panic(fmt.Sprintf("tool: %v embeds itself, which a schema here cannot say", t))
	}
	var out []fieldInfo
	for i := range t.NumField() {
		f := t.Field(i)
		f.Index = append(slices.Clone(index), i)
		tag := f.Tag.Get("json")
		if tag == "-" {
			continue
		}
		name, opts, _ := strings.Cut(tag, ",")
		ft := f.Type
		if ft.Kind() == reflect.Pointer {
			ft = ft.Elem()
		}
		if f.Anonymous && name == "" && ft.Kind() == reflect.Struct && ownSchema(ft) == nil && !isText(ft) {
			if !f.IsExported() && f.Type.Kind() == reflect.Pointer {
				panic(fmt.Sprintf("tool: %v embeds a pointer to the unexported %v, which JSON cannot fill", t, ft))
			}
			out = append(out, allFields(ft, depth+1, f.Index)...)
			continue
		}
		if !f.IsExported() {
			continue
		}
		options := strings.Split(opts, ",")
		if slices.Contains(options, "string") {
			panic(fmt.Sprintf("tool: %v.%s: the json option string is not supported: numbers in strings are accepted anyway", t, f.Name))
		}
		info := fieldInfo{StructField: f, name: name, depth: depth, tagged: name != ""}
		if name == "" {
			info.name = f.Name
		}
		_, hasDefault := f.Tag.Lookup("default")
		info.optional = f.Type.Kind() == reflect.Pointer || hasDefault ||
			slices.Contains(options, "omitempty") || slices.Contains(options, "omitzero")
		out = append(out, info)
	}
	return out
}

// ownSchema is what a type says of itself; nil if it says nothing.
func ownSchema(t reflect.Type) json.RawMessage {
	if s, ok := reflect.New(t).Interface().(schemer); ok {
		return s.JSONSchema()
	}
	return nil
}

func isText(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

func structSchema(t reflect.Type, above []reflect.Type) json.RawMessage {
	if slices.Contains(above, t) {
		panic(fmt.Sprintf("tool: %v contains itself, which a schema here cannot say", t))
	}
	above = append(slices.Clone(above), t)
	var b strings.Builder
	b.WriteString(`{"type":"object","properties":{`)
	var required []string
	for i, f := range fieldsOf(t) {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(quote(f.name) + ":")
		b.Write(fieldSchema(t, f, above))
		if !f.optional {
			required = append(required, quote(f.name))
		}
	}
	b.WriteString(`}`)
	if len(required) > 0 {
		b.WriteString(`,"required":[` + strings.Join(required, ",") + `]`)
	}
	b.WriteString(`,"additionalProperties":false}`)
	return json.RawMessage(b.String())
}

// schemer is implemented by types that know their own schema.
type schemer interface{ JSONSchema() json.RawMessage }

func fieldSchema(t reflect.Type, f fieldInfo, above []reflect.Type) json.RawMessage {
	kws := typeKeywords(f.Type, above)
	set := func(k, v string) {
		kws = slices.DeleteFunc(kws, func(kw [2]string) bool { return kw[0] == k })
		kws = append(kws, [2]string{k, v})
	}
	bad := func(tag, why string) {
		panic(fmt.Sprintf("tool: %v.%s: tag %s: %s", t, f.Name, tag, why))
	}
	base := f.Type
	for base.Kind() == reflect.Pointer {
		base = base.Elem()
	}
	isList := (base.Kind() == reflect.Slice || base.Kind() == reflect.Array) && base.Elem().Kind() != reflect.Uint8
	isString := func(t reflect.Type) bool { return t.Kind() == reflect.String || isText(t) }
	literal := func(tag, s string, of reflect.Type) string {
		if isString(of) {
			return quote(s)
		}
		if !json.Valid([]byte(s)) {
			bad(tag, s+" is not JSON")
		}
		return s
	}
	if d := f.Tag.Get("doc"); d != "" {
		set("description", quote(d))
	}
	if e := f.Tag.Get("enum"); e != "" {
		of := base
		if isList {
			of = base.Elem()
		}
		var vs []string
		for _, v := range split(e) {
			vs = append(vs, literal("enum", v, of))
		}
		list := "[" + strings.Join(vs, ",") + "]"
		if isList {
			set("items", keywords(append(typeKeywords(of, above), [2]string{"enum", list})))
		} else {
			set("enum", list)
		}
	}
	number := func(tag, keyword string, fits bool) {
		v, ok := f.Tag.Lookup(tag)
		if !ok {
			return
		}
		if !fits {
			bad(tag, "it is not for a field of this type")
		}
		if k := kindOf(json.RawMessage(v)); !json.Valid([]byte(v)) || k != "integer" && k != "number" {
			bad(tag, v+" is not a number")
		}
		set(keyword, v)
	}
	if isList {
		number("min", "minItems", true)
		number("max", "maxItems", true)
	} else {
		isNumber := base.Kind() >= reflect.Int && base.Kind() <= reflect.Float64
		number("min", "minimum", isNumber)
		number("max", "maximum", isNumber)
	}
	number("minLength", "minLength", isString(base))
	number("maxLength", "maxLength", isString(base))
	if p := f.Tag.Get("pattern"); p != "" {
		if _, err := regexp.Compile(p); err != nil || !isString(base) {
			bad("pattern", "it is not a regular expression for a string")
		}
		set("pattern", quote(p))
	}
	if d, ok := f.Tag.Lookup("default"); ok {
		set("default", literal("default", d, base))
	}
	return json.RawMessage(keywords(kws))
}

// typeKeywords are the keywords that a type alone gives.
func typeKeywords(t reflect.Type, above []reflect.Type) [][2]string {
	typ := func(name string) [][2]string { return [][2]string{{"type", quote(name)}} }
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if own := ownSchema(t); own != nil {
		own = bytes.TrimSpace(own)
		if !json.Valid(own) || kindOf(own) != "object" {
			panic(fmt.Sprintf("tool: the schema of %v is not a JSON object", t))
		}
		return pairs(own)
	}
	switch t {
	case reflect.TypeFor[json.RawMessage]():
		return nil // anything
	case reflect.TypeFor[time.Time]():
		return [][2]string{{"type", `"string"`}, {"format", `"date-time"`}}
	case reflect.TypeFor[time.Duration]():
		panic("tool: a time.Duration has no clear JSON form: use a number whose name says its unit")
	}
	if isText(t) {
		return typ("string")
	}
	if reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		panic(fmt.Sprintf("tool: %v reads JSON by itself and so must have a method JSONSchema() json.RawMessage", t))
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
		return append(typ("array"), [2]string{"items", keywords(typeKeywords(t.Elem(), above))})
	case reflect.Map:
		if t.Key().Kind() == reflect.String {
			return append(typ("object"), [2]string{"additionalProperties", keywords(typeKeywords(t.Elem(), above))})
		}
	case reflect.Struct:
		return pairs(structSchema(t, above))
	case reflect.Interface:
		if t.NumMethod() == 0 {
			return nil
		}
	}
	panic(fmt.Sprintf("tool: a field of type %v cannot come from JSON", t))
}

func keywords(kws [][2]string) string {
	parts := make([]string, len(kws))
	for i, kw := range kws {
		parts[i] = quote(kw[0]) + ":" + kw[1]
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// pairs takes the keywords of a schema apart, in order.
func pairs(schema json.RawMessage) [][2]string {
	var out [][2]string
	for _, m := range members(schema) {
		out = append(out, [2]string{m.name, string(m.value)})
	}
	return out
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
