package tool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"reflect"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"
)

// InputError says what is wrong with a call's arguments. Its text is meant for
// the model: it names each field, what was wanted and what came.
type InputError struct{ Problems []string }

func (e *InputError) Error() string {
	if len(e.Problems) == 1 {
		return "invalid arguments: " + e.Problems[0]
	}
	return "invalid arguments:\n- " + strings.Join(e.Problems, "\n- ")
}

// Bounds of what an InputError says, and of how deep a value may nest.
const (
	maxProblems = 5
	maxEcho     = 200
	maxDepth    = 64
)

// Decode reads raw as a T, which must be a struct: aliases and lossless
// coercions are accepted ("5" for 5, "true" for true, one value for a list of
// one, a list or object that came as a string of JSON), defaults are filled
// in, and every other difference from the schema is an [*InputError]. Empty
// input is {}.
func Decode[T any](raw json.RawMessage) (T, error) {
	var out T
	sh := shapeOf(reflect.TypeFor[T]())
	fixed, err := mend(sh, raw)
	if err != nil {
		return out, err
	}
	if err := json.Unmarshal(fixed, &out); err != nil {
		return out, &InputError{[]string{strings.TrimPrefix(err.Error(), "json: ")}}
	}
	return out, nil
}

// mend makes raw fit the shape, or says why it cannot.
func mend(sh *shape, raw json.RawMessage) (json.RawMessage, error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		raw = json.RawMessage("{}")
	}
	obj, err := decodeObject(raw)
	if err != nil {
		return nil, &InputError{[]string{err.Error()}}
	}
	c := &checker{root: sh.schema}
	in := map[string]json.RawMessage{}
	for _, kv := range obj {
		i, ok := sh.byName[kv.key]
		if !ok {
			names := make([]string, len(sh.fields))
			for i, f := range sh.fields {
				names[i] = f.name
			}
			c.add("", unknownField(kv.key, names))
			continue
		}
		name := sh.fields[i].name
		if _, dup := in[name]; dup {
			c.add("", fmt.Sprintf("%q is given twice", name))
		}
		in[name] = kv.value
	}
	for _, f := range sh.fields {
		v, given := in[f.name]
		if given && !f.required && string(bytes.TrimSpace(v)) == "null" {
			delete(in, f.name)
			given = false
		}
		if !given && f.def != nil {
			in[f.name] = f.def
		}
	}
	b, err := json.Marshal(in)
	if err != nil {
		return nil, &InputError{[]string{err.Error()}}
	}
	out := c.check(sh.schema, b, "", 0)
	if len(c.problems) > 0 {
		return nil, &InputError{c.problems}
	}
	return out, nil
}

func unknownField(name string, names []string) string {
	text := fmt.Sprintf("there is no field %q", clip(name))
	if near := Nearest(name, names, 1); len(near) > 0 {
		return text + fmt.Sprintf("; did you mean %q?", near[0])
	}
	return text + "; the fields are " + strings.Join(names, ", ")
}

type pair struct {
	key   string
	value json.RawMessage
}

func decodeObject(raw json.RawMessage) ([]pair, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	tok, err := dec.Token()
	if err != nil || !json.Valid(raw) {
		return nil, fmt.Errorf("they are not JSON: %s", clip(string(raw)))
	}
	if tok != json.Delim('{') {
		return nil, fmt.Errorf("an object is wanted, %s came", describe(raw))
	}
	var out []pair
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, err
		}
		var v json.RawMessage
		if err := dec.Decode(&v); err != nil {
			return nil, err
		}
		out = append(out, pair{key.(string), v})
	}
	return out, nil
}

// Validate holds value against schema and says in an [*InputError] where it
// does not fit. It knows the keywords of JSON Schema 2020-12 that describe a
// tool's input: type, enum, const, properties, required,
// additionalProperties, items, prefixItems, the bounds of numbers, strings and
// lists, pattern, anyOf, oneOf, allOf, and $ref within the schema. It ignores
// others, and accepts no coercions.
func Validate(schema, value json.RawMessage) error {
	if !json.Valid(value) {
		return &InputError{[]string{"it is not JSON: " + clip(string(value))}}
	}
	c := &checker{root: schema, strict: true}
	c.check(schema, value, "", 0)
	if len(c.problems) > 0 {
		return &InputError{c.problems}
	}
	return nil
}

// checker walks a value along a schema. Unless strict, it returns the value
// with lossless coercions made.
type checker struct {
	root     json.RawMessage
	strict   bool
	problems []string
}

func (c *checker) add(path, text string) {
	if len(c.problems) < maxProblems {
		if path != "" {
			text = path + ": " + text
		}
		c.problems = append(c.problems, text)
	}
}

func (c *checker) check(schema, v json.RawMessage, path string, depth int) json.RawMessage {
	v = bytes.TrimSpace(v)
	if depth > maxDepth {
		c.add(path, "it nests too deep")
		return v
	}
	switch s := string(bytes.TrimSpace(schema)); s {
	case "true", "":
		return v
	case "false":
		c.add(path, "nothing may be here")
		return v
	}
	var kw map[string]json.RawMessage
	if json.Unmarshal(schema, &kw) != nil {
		return v // a schema that is none says nothing
	}
	if ref := str(kw["$ref"]); ref != "" {
		if target, ok := c.resolve(ref); ok {
			v = c.check(target, v, path, depth+1)
		}
	}
	if types := typesOf(kw["type"]); len(types) > 0 {
		var ok bool
		if v, ok = c.fit(types, v); !ok {
			c.add(path, fmt.Sprintf("%s is wanted, %s came", strings.Join(types, " or "), describe(v)))
			return v
		}
	}
	c.values(kw, v, path)
	switch v[0] {
	case '{':
		return c.object(kw, v, path, depth)
	case '[':
		return c.array(kw, v, path, depth)
	case '"':
		c.text(kw, v, path)
	case 't', 'f', 'n':
	default:
		c.number(kw, v, path)
	}
	return c.combined(kw, v, path, depth)
}

func (c *checker) resolve(ref string) (json.RawMessage, bool) {
	if ref == "#" {
		return c.root, true
	}
	rest, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return nil, false
	}
	at := c.root
	for _, step := range strings.Split(rest, "/") {
		step = strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~")
		var m map[string]json.RawMessage
		if json.Unmarshal(at, &m) != nil {
			return nil, false
		}
		if at, ok = m[step]; !ok {
			return nil, false
		}
	}
	return at, true
}

// fit returns v as one of the types, coerced where nothing is lost.
func (c *checker) fit(types []string, v json.RawMessage) (json.RawMessage, bool) {
	kind := kindOf(v)
	for _, t := range types {
		if t == kind || t == "number" && kind == "integer" {
			if !c.strict {
				v = whole(v, t)
			}
			return v, true
		}
	}
	if c.strict {
		return v, false
	}
	for _, t := range types {
		switch t {
		case "integer", "number":
			if kind == "string" {
				s := strings.TrimPrefix(strings.TrimSpace(str(v)), "+")
				if n := json.RawMessage(s); json.Valid(n) && (kindOf(n) == t || t == "number" && kindOf(n) == "integer") {
					return whole(n, t), true
				}
			}
		case "boolean":
			if s := strings.ToLower(strings.TrimSpace(str(v))); s == "true" || s == "false" {
				return json.RawMessage(s), true
			}
		case "array", "object":
			if kind == "string" {
				if n := json.RawMessage(strings.TrimSpace(str(v))); json.Valid(n) && kindOf(n) == t {
					return n, true
				}
			}
			if t == "array" && kind != "null" {
				return json.RawMessage("[" + string(v) + "]"), true
			}
		case "string":
			if kind == "integer" || kind == "number" || kind == "boolean" {
				return json.RawMessage(quote(string(v))), true
			}
		}
	}
	return v, false
}

// whole writes an integer that came as 5.0 as 5.
func whole(n json.RawMessage, t string) json.RawMessage {
	if t != "integer" {
		return n
	}
	if r, ok := new(big.Rat).SetString(string(n)); ok && r.IsInt() && len(n) < 40 {
		return json.RawMessage(r.Num().String())
	}
	return n
}

func (c *checker) values(kw map[string]json.RawMessage, v json.RawMessage, path string) {
	if e, ok := kw["enum"]; ok {
		var allowed []json.RawMessage
		if json.Unmarshal(e, &allowed) == nil && !slices.ContainsFunc(allowed, func(a json.RawMessage) bool { return equalJSON(a, v) }) {
			c.add(path, fmt.Sprintf("one of %s is wanted, %s came", clip(string(e)), clip(string(v))))
		}
	}
	if k, ok := kw["const"]; ok && !equalJSON(k, v) {
		c.add(path, fmt.Sprintf("%s is wanted, %s came", clip(string(k)), clip(string(v))))
	}
}

func (c *checker) object(kw map[string]json.RawMessage, v json.RawMessage, path string, depth int) json.RawMessage {
	var m, props map[string]json.RawMessage
	if json.Unmarshal(v, &m) != nil {
		return v
	}
	_ = json.Unmarshal(kw["properties"], &props) // absent or none: no properties
	var required []string
	_ = json.Unmarshal(kw["required"], &required)
	for _, r := range required {
		if _, ok := m[r]; !ok {
			c.add(path, fmt.Sprintf("the field %q is missing", r))
		}
	}
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	for _, k := range keys {
		at := k
		if path != "" {
			at = path + "." + k
		}
		if p, ok := props[k]; ok {
			m[k] = c.check(p, m[k], at, depth+1)
			continue
		}
		switch extra := bytes.TrimSpace(kw["additionalProperties"]); {
		case string(extra) == "false":
			c.add(path, unknownField(k, propNames(props)))
		case len(extra) > 0:
			m[k] = c.check(extra, m[k], at, depth+1)
		}
	}
	if !c.strict {
		if b, err := json.Marshal(m); err == nil {
			v = b
		}
	}
	return c.combined(kw, v, path, depth)
}

func propNames(props map[string]json.RawMessage) []string {
	var out []string
	for k := range props {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}

func (c *checker) array(kw map[string]json.RawMessage, v json.RawMessage, path string, depth int) json.RawMessage {
	var items, prefix []json.RawMessage
	if json.Unmarshal(v, &items) != nil {
		return v
	}
	if n, ok := num(kw["minItems"]); ok && float64(len(items)) < n {
		c.add(path, fmt.Sprintf("at least %v items are wanted, %d came", n, len(items)))
	}
	if n, ok := num(kw["maxItems"]); ok && float64(len(items)) > n {
		c.add(path, fmt.Sprintf("at most %v items are wanted, %d came", n, len(items)))
	}
	_ = json.Unmarshal(kw["prefixItems"], &prefix)
	for i := range items {
		sch := kw["items"]
		if i < len(prefix) {
			sch = prefix[i]
		}
		if len(sch) > 0 {
			items[i] = c.check(sch, items[i], fmt.Sprintf("%s[%d]", path, i), depth+1)
		}
	}
	if !c.strict {
		if b, err := json.Marshal(items); err == nil {
			v = b
		}
	}
	return c.combined(kw, v, path, depth)
}

func (c *checker) text(kw map[string]json.RawMessage, v json.RawMessage, path string) {
	s := str(v)
	n := float64(utf8.RuneCountInString(s))
	if m, ok := num(kw["minLength"]); ok && n < m {
		c.add(path, fmt.Sprintf("at least %v characters are wanted, %v came", m, n))
	}
	if m, ok := num(kw["maxLength"]); ok && n > m {
		c.add(path, fmt.Sprintf("at most %v characters are wanted, %v came", m, n))
	}
	if p := str(kw["pattern"]); p != "" {
		if re, err := regexp.Compile(p); err == nil && !re.MatchString(s) {
			c.add(path, fmt.Sprintf("text that matches %s is wanted, %s came", p, clip(string(v))))
		}
	}
}

func (c *checker) number(kw map[string]json.RawMessage, v json.RawMessage, path string) {
	n, ok := num(v)
	if !ok {
		return
	}
	for _, b := range []struct {
		key, text string
		bad       func(limit float64) bool
	}{
		{"minimum", "at least", func(l float64) bool { return n < l }},
		{"maximum", "at most", func(l float64) bool { return n > l }},
		{"exclusiveMinimum", "more than", func(l float64) bool { return n <= l }},
		{"exclusiveMaximum", "less than", func(l float64) bool { return n >= l }},
	} {
		if l, ok := num(kw[b.key]); ok && b.bad(l) {
			c.add(path, fmt.Sprintf("%s %s is wanted, %s came", b.text, kw[b.key], clip(string(v))))
		}
	}
}

// combined checks anyOf, oneOf and allOf.
func (c *checker) combined(kw map[string]json.RawMessage, v json.RawMessage, path string, depth int) json.RawMessage {
	for _, key := range []string{"anyOf", "oneOf"} {
		var subs []json.RawMessage
		if json.Unmarshal(kw[key], &subs) != nil || len(subs) == 0 {
			continue
		}
		fits, first := 0, v
		var why []string
		for _, strict := range []bool{true, c.strict} {
			for _, s := range subs {
				t := &checker{root: c.root, strict: strict}
				out := t.check(s, v, path, depth+1)
				if len(t.problems) > 0 {
					why = append(why, t.problems...)
				} else if fits++; fits == 1 {
					first = out
				}
			}
			if fits > 0 {
				break
			}
		}
		switch {
		case fits == 0 && len(why) > 0:
			c.add(path, "it fits none of the forms that are allowed: "+why[0])
		case fits > 1 && key == "oneOf":
			c.add(path, "it fits more than one of the forms of which one is wanted")
		}
		v = first
	}
	var all []json.RawMessage
	_ = json.Unmarshal(kw["allOf"], &all)
	for _, s := range all {
		v = c.check(s, v, path, depth+1)
	}
	return v
}

func typesOf(raw json.RawMessage) []string {
	var one string
	if json.Unmarshal(raw, &one) == nil && one != "" {
		return []string{one}
	}
	var many []string
	_ = json.Unmarshal(raw, &many)
	return many
}

func kindOf(v json.RawMessage) string {
	v = bytes.TrimSpace(v)
	if len(v) == 0 {
		return ""
	}
	switch v[0] {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	if !bytes.ContainsAny(v, ".eE") {
		return "integer"
	}
	if f, err := strconv.ParseFloat(string(v), 64); err == nil && f == float64(int64(f)) {
		return "integer"
	}
	return "number"
}

func describe(v json.RawMessage) string {
	k := kindOf(v)
	switch k {
	case "null":
		return "null"
	case "object", "array":
		return "an " + k
	}
	return "the " + k + " " + clip(string(v))
}

func str(v json.RawMessage) string {
	var s string
	_ = json.Unmarshal(v, &s)
	return s
}

func num(v json.RawMessage) (float64, bool) {
	if len(v) == 0 {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(bytes.TrimSpace(v)), 64)
	return f, err == nil
}

func equalJSON(a, b json.RawMessage) bool { return bytes.Equal(Canonical(a), Canonical(b)) }

func clip(s string) string {
	if len(s) <= maxEcho {
		return s
	}
	n := maxEcho
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n] + "…"
}
