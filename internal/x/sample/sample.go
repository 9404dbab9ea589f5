// Package sample makes values that are valid for a JSON Schema.
//
//	v, err := sample.Value([]byte(`{"type":"object","required":["n"],"properties":{"n":{"type":"integer","minimum":3}}}`), sample.Options{})
//	fmt.Println(string(v), err) // {"n":3} <nil>
package sample

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"
)

// Options say what texts are like.
type Options struct {
	// Word is a string without a meaning; default "text".
	Word string
	// Text, if it says so, is the string in the property of that name, which is
	// then there although it is not required.
	Text func(property string) (string, bool)
}

// The bounds of what is made: a schema can ask for more than there is room for.
const (
	maxDepth  = 24
	maxValues = 10_000
	maxLength = 1 << 20 // characters of a string
)

// Value returns a small value that is valid for a schema, and always the same
// one: required properties only, the first of an enum or of alternatives, the
// least number, the shortest string. It understands the keywords that tool
// schemas use, $ref into the same document among them; it is an error if a
// schema can only be satisfied by an endless value, or has a keyword that it
// cannot honour. No schema is an empty object's.
func Value(schema json.RawMessage, opts Options) (json.RawMessage, error) {
	if len(schema) == 0 {
		return json.RawMessage("{}"), nil
	}
	if opts.Word == "" {
		opts.Word = "text"
	}
	var root any
	if err := json.Unmarshal(schema, &root); err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	v, err := (&sampler{root: root, opts: opts}).value(root, "", 0, 0)
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	return json.Marshal(v)
}

type sampler struct {
	root any
	opts Options
	made int // values so far
}

var errDeep = errors.New("only an endless value satisfies it")

// value makes the nth different value of s, as far as there are several, for
// the property of that name.
func (g *sampler) value(s any, name string, n, depth int) (any, error) {
	if g.made++; depth > maxDepth || g.made > maxValues {
		return nil, errDeep
	}
	m, ok := s.(map[string]any)
	if !ok {
		if s == false {
			return nil, errors.New("it is false: nothing is valid")
		}
		return g.text(nil, name, n)
	}
	if ref, ok := m["$ref"].(string); ok {
		to, err := g.resolve(ref)
		if err != nil {
			return nil, err
		}
		return g.value(merge(to, without(m, "$ref")), name, n, depth+1)
	}
	if v, ok := m["const"]; ok {
		return v, nil
	}
	if list, ok := m["enum"].([]any); ok && len(list) > 0 {
		return list[n%len(list)], nil
	}
	if v, ok := m["default"]; ok && n == 0 && v != nil {
		return v, nil
	}
	if list, ok := m["examples"].([]any); ok && n < len(list) {
		return list[n], nil
	}
	if list, ok := m["allOf"].([]any); ok {
		base := any(without(m, "allOf"))
		for _, part := range list {
			if p, ok := part.(map[string]any); ok && p["$ref"] != nil {
				to, err := g.resolve(fmt.Sprint(p["$ref"]))
				if err != nil {
					return nil, err
				}
				part = merge(to, without(p, "$ref"))
			}
			base = merge(base, part)
		}
		return g.value(base, name, n, depth+1)
	}
	for _, k := range []string{"anyOf", "oneOf"} {
		if list, ok := m[k].([]any); ok && len(list) > 0 {
			var first error
			for _, part := range list {
				v, err := g.value(merge(without(m, k), part), name, n, depth+1)
				if err == nil {
					return v, nil
				}
				if first == nil {
					first = err
				}
			}
			return nil, first
		}
	}
	return g.typed(m, name, n, depth)
}

func (g *sampler) typed(m map[string]any, name string, n, depth int) (any, error) {
	typ, _ := m["type"].(string)
	if list, ok := m["type"].([]any); ok {
		for _, t := range list {
			if s, _ := t.(string); s != "" && (typ == "" || typ == "null") {
				typ = s
			}
		}
	}
	if typ == "" {
		switch {
		case m["properties"] != nil || m["required"] != nil:
			typ = "object"
		case m["items"] != nil:
			typ = "array"
		case m["minimum"] != nil || m["maximum"] != nil:
			typ = "number"
		default:
			typ = "string"
		}
	}
	switch typ {
	case "object":
		return g.object(m, n, depth)
	case "array":
		return g.array(m, name, depth)
	case "integer":
		return number(m, n, true)
	case "number":
		return number(m, n, false)
	case "boolean":
		return n%2 == 1, nil // no is the more careful answer
	case "null":
		return nil, nil
	case "string":
		return g.text(m, name, n)
	}
	return nil, fmt.Errorf("type %q is not known", typ)
}

func (g *sampler) object(m map[string]any, n, depth int) (any, error) {
	props, _ := m["properties"].(map[string]any)
	var names []string
	if list, ok := m["required"].([]any); ok {
		for _, r := range list {
			if s, ok := r.(string); ok {
				names = append(names, s)
			}
		}
	}
	required := len(names)
	least := int(limit(m, "minProperties", 0))
	if least > maxValues {
		return nil, errDeep
	}
	for _, k := range slices.Sorted(maps.Keys(props)) {
		if slices.Contains(names, k) {
			continue
		}
		if len(names) < least {
			names = append(names, k)
			required++
		}
	}
	for i := 1; len(names) < least; i++ {
		names = append(names, fmt.Sprintf("key%d", i))
		required++
	}
	for _, k := range slices.Sorted(maps.Keys(props)) {
		if _, ok := g.wanted(k); ok && !slices.Contains(names, k) {
			names = append(names, k)
		}
	}
	out := map[string]any{}
	for i, k := range names {
		sub, ok := props[k]
		if !ok {
			sub = m["additionalProperties"]
			if sub == nil {
				sub = true
			}
		}
		v, err := g.value(sub, k, n, depth+1)
		if err != nil && i >= required {
			continue // as well left out
		}
		if err != nil {
			if errors.Is(err, errDeep) {
				return nil, err
			}
			return nil, fmt.Errorf("%s: %w", k, err)
		}
		out[k] = v
	}
	return out, nil
}

func (g *sampler) array(m map[string]any, name string, depth int) (any, error) {
	out := []any{}
	prefix, _ := m["prefixItems"].([]any)
	least := int(limit(m, "minItems", 0))
	if least > maxValues {
		return nil, errDeep
	}
	unique := m["uniqueItems"] == true
	seen := map[string]bool{}
	for try := 0; len(out) < least; try++ {
		if try > 100+10*least {
			return nil, fmt.Errorf("cannot make %d different items", least)
		}
		var item any = true
		if len(out) < len(prefix) {
			item = prefix[len(out)]
		} else if m["items"] != nil {
			item = m["items"]
		}
		n := 0
		if unique {
			n = try
		}
		v, err := g.value(item, name, n, depth+1)
		if err != nil {
			return nil, err
		}
		b, err := json.Marshal(v)
		if err != nil {
			return nil, err
		}
		key := string(b)
		if unique && seen[key] {
			continue
		}
		seen[key] = true
		out = append(out, v)
	}
	return out, nil
}

func (g *sampler) resolve(ref string) (any, error) {
	path, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil, fmt.Errorf("$ref %q is outside the document", ref)
	}
	at := g.root
	for _, k := range strings.Split(strings.TrimPrefix(path, "/"), "/") {
		if k == "" {
			continue
		}
		k = strings.NewReplacer("~1", "/", "~0", "~").Replace(k)
		m, ok := at.(map[string]any)
		if !ok || m[k] == nil {
			return nil, fmt.Errorf("$ref %q leads nowhere", ref)
		}
		at = m[k]
	}
	return at, nil
}

func without(m map[string]any, key string) map[string]any {
	c := maps.Clone(m)
	delete(c, key)
	return c
}

// merge joins two schemas that must both hold.
func merge(a, b any) any {
	am, ok := a.(map[string]any)
	if !ok {
		return b
	}
	bm, ok := b.(map[string]any)
	if !ok {
		return a
	}
	out := maps.Clone(am)
	for k, v := range bm {
		switch old := out[k].(type) {
		case map[string]any:
			if k == "properties" {
				if add, ok := v.(map[string]any); ok {
					both := maps.Clone(old)
					maps.Copy(both, add)
					v = both
				}
			}
		case []any:
			if add, ok := v.([]any); ok && k == "required" {
				v = append(slices.Clone(old), add...)
			}
		}
		out[k] = v
	}
	return out
}

func limit(m map[string]any, key string, otherwise float64) float64 {
	if f, ok := m[key].(float64); ok {
		return f
	}
	return otherwise
}

func number(m map[string]any, n int, whole bool) (any, error) {
	lo := limit(m, "minimum", math.Inf(-1))
	hi := limit(m, "maximum", math.Inf(1))
	step := limit(m, "multipleOf", 1)
	if step <= 0 {
		return nil, fmt.Errorf("multipleOf %v is not positive", step)
	}
	if whole && step != math.Trunc(step) {
		step = 1
	}
	above, below := limit(m, "exclusiveMinimum", math.Inf(-1)), limit(m, "exclusiveMaximum", math.Inf(1))
	fits := func(v float64) bool { return v >= lo && v <= hi && v > above && v < below }
	start := max(lo, above)
	if math.IsInf(start, -1) {
		start = min(1, hi, below)
	}
	v := math.Ceil(start/step) * step
	for range 3 {
		if fits(v) {
			break
		}
		if v > start || v <= above {
			v += step
		}
		if !fits(v) && (v > hi || v >= below) && m["multipleOf"] == nil && !whole {
			v = max(lo, above) + (min(hi, below)-max(lo, above))/2
		}
		if !fits(v) && v >= below {
			v -= step
		}
	}
	if !fits(v) {
		return nil, errors.New("no number is within its limits")
	}
	if next := v + float64(n)*step; fits(next) {
		v = next
	}
	return v, nil
}

var formats = map[string]string{
	"date-time": "2026-01-02T03:04:05Z", "date": "2026-01-02", "time": "03:04:05Z", "duration": "PT1S",
	"email": "a@example.com", "hostname": "example.com", "ipv4": "127.0.0.1", "ipv6": "::1",
	"uri": "https://example.com/", "url": "https://example.com/", "uri-reference": "/a", "json-pointer": "",
	"uuid": "123e4567-e89b-42d3-a456-426614174000", "regex": "a",
}

// wanted is the text that the options have for a property.
func (g *sampler) wanted(name string) (string, bool) {
	if g.opts.Text == nil || name == "" {
		return "", false
	}
	return g.opts.Text(name)
}

func (g *sampler) text(m map[string]any, name string, n int) (any, error) {
	if f, ok := m["format"].(string); ok {
		if s, ok := formats[f]; ok {
			return s, nil
		}
	}
	least, most := limit(m, "minLength", 0), limit(m, "maxLength", math.Inf(1))
	if least > maxLength || least > most || most < 0 {
		return nil, fmt.Errorf("no text is of %v to %v characters, or it is too long", least, most)
	}
	if p, ok := m["pattern"].(string); ok {
		return matchOf(p, int(least))
	}
	s, ok := g.wanted(name)
	if !ok {
		if s = g.opts.Word; n > 0 {
			s = fmt.Sprintf("%s%d", s, n+1)
		}
	}
	if short := int(least) - utf8.RuneCountInString(s); short > 0 {
		s += strings.Repeat("x", short)
	}
	if rs := []rune(s); float64(len(rs)) > most {
		if s = string(rs[:int(most)]); !ok {
			s = string(rs[len(rs)-int(most):]) // where the number is
		}
	}
	return s, nil
}

// matchOf is a text of at least that many characters that matches a pattern.
func matchOf(pattern string, least int) (string, error) {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return "", fmt.Errorf("pattern: %w", err)
	}
	compiled, err := regexp.Compile(pattern)
	if err != nil {
		return "", fmt.Errorf("pattern: %w", err)
	}
	for grow := range min(least, 1000) + 1 {
		var b strings.Builder
		matching(&b, re, grow)
		if utf8.RuneCountInString(b.String()) >= least && compiled.MatchString(b.String()) {
			return b.String(), nil
		}
	}
	return "", fmt.Errorf("pattern %q: no match of %d characters found", pattern, least)
}

// matching writes a string that re matches; each repetition has grow more than
// its least, as far as it may.
func matching(b *strings.Builder, re *syntax.Regexp, grow int) {
	repeat := func(least, most int) {
		n := least + grow
		if most >= 0 {
			n = min(n, most)
		}
		for range n {
			if b.Len() > maxLength {
				return
			}
			matching(b, re.Sub[0], grow)
		}
	}
	switch re.Op {
	case syntax.OpLiteral:
		b.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		if len(re.Rune) > 0 {
			b.WriteRune(readable(re.Rune))
		}
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteByte('x')
	case syntax.OpCapture:
		matching(b, re.Sub[0], grow)
	case syntax.OpConcat:
		for _, s := range re.Sub {
			matching(b, s, grow)
		}
	case syntax.OpAlternate:
		matching(b, re.Sub[0], grow)
	case syntax.OpStar:
		repeat(0, -1)
	case syntax.OpPlus:
		repeat(1, -1)
	case syntax.OpQuest:
		repeat(0, 1)
	case syntax.OpRepeat:
		repeat(re.Min, re.Max)
	}
}

// readable picks a letter or digit of a class, if it has one.
func readable(ranges []rune) rune {
	for _, want := range "a0A" {
		for i := 0; i+1 < len(ranges); i += 2 {
			if ranges[i] <= want && want <= ranges[i+1] {
				return want
			}
		}
	}
	return ranges[0]
}
