package demo

import (
	"encoding/json"
	"maps"
	"math"
	"math/big"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxDepth and maxValues bound what is filled in: a schema that requires itself
// has no finite value.
const (
	maxDepth  = 32
	maxValues = 10_000
)

// filler fills schemas in.
type filler struct {
	root json.RawMessage
	text string // for fields that want an answer
	n    int    // the values made
}

// sample makes a value that fits the schema, with text where an answer is
// wanted. It does what the schema's keywords say on their own; of those that
// only together rule a value out it knows nothing.
func sample(schema json.RawMessage, text string) json.RawMessage {
	f := &filler{root: schema, text: text}
	return f.value("", schema, 0)
}

type keywords struct {
	Ref              string                     `json:"$ref"`
	Type             json.RawMessage            `json:"type"`
	Enum             []json.RawMessage          `json:"enum"`
	Const            json.RawMessage            `json:"const"`
	Default          json.RawMessage            `json:"default"`
	Examples         []json.RawMessage          `json:"examples"`
	Properties       map[string]json.RawMessage `json:"properties"`
	Required         []string                   `json:"required"`
	Additional       json.RawMessage            `json:"additionalProperties"`
	Items            json.RawMessage            `json:"items"`
	PrefixItems      []json.RawMessage          `json:"prefixItems"`
	MinItems         int                        `json:"minItems"`
	MinProperties    int                        `json:"minProperties"`
	MinLength        int                        `json:"minLength"`
	MaxLength        *int                       `json:"maxLength"`
	Pattern          string                     `json:"pattern"`
	Format           string                     `json:"format"`
	Minimum          *float64                   `json:"minimum"`
	Maximum          *float64                   `json:"maximum"`
	ExclusiveMinimum *float64                   `json:"exclusiveMinimum"`
	ExclusiveMaximum *float64                   `json:"exclusiveMaximum"`
	MultipleOf       *float64                   `json:"multipleOf"`
	AnyOf            []json.RawMessage          `json:"anyOf"`
	OneOf            []json.RawMessage          `json:"oneOf"`
	AllOf            []json.RawMessage          `json:"allOf"`
}

func (f *filler) value(name string, schema json.RawMessage, depth int) json.RawMessage {
	var k keywords
	if f.n++; f.n > maxValues || depth > maxDepth || json.Unmarshal(schema, &k) != nil {
		return json.RawMessage("null")
	}
	switch {
	case k.Const != nil:
		return k.Const
	case len(k.Enum) > 0:
		return k.Enum[0]
	case k.Default != nil:
		return k.Default
	case len(k.Examples) > 0:
		return k.Examples[0]
	case k.Ref != "":
		return f.value(name, f.resolve(k.Ref), depth+1)
	case len(k.AllOf) > 0:
		return f.value(name, merge(schema, k.AllOf, f), depth+1)
	case len(k.AnyOf) > 0:
		return f.value(name, merge(schema, k.AnyOf[:1], f), depth+1)
	case len(k.OneOf) > 0:
		return f.value(name, merge(schema, k.OneOf[:1], f), depth+1)
	}
	switch kind(k) {
	case "object":
		return f.object(k, depth)
	case "array":
		items := []json.RawMessage{}
		for i := range min(k.MinItems, 1000) {
			item := k.Items
			if i < len(k.PrefixItems) {
				item = k.PrefixItems[i]
			}
			items = append(items, f.value(name, item, depth+1))
		}
		return marshal(items)
	case "string":
		return marshal(f.str(name, k))
	case "integer":
		return number(k, true)
	case "number":
		return number(k, false)
	case "boolean":
		return json.RawMessage("false")
	}
	return json.RawMessage("null")
}

// kind is the type that a value gets.
func kind(k keywords) string {
	var one string
	if json.Unmarshal(k.Type, &one) == nil && one != "" {
		return one
	}
	var many []string
	_ = json.Unmarshal(k.Type, &many)
	for _, t := range many {
		if t != "null" {
			return t
		}
	}
	switch {
	case len(many) > 0:
		return "null"
	case k.Properties != nil || len(k.Required) > 0 || k.MinProperties > 0:
		return "object"
	case k.Items != nil || k.MinItems > 0 || k.PrefixItems != nil:
		return "array"
	case k.Minimum != nil || k.Maximum != nil || k.MultipleOf != nil:
		return "number"
	}
	return "string"
}

// resolve follows a reference within the schema.
func (f *filler) resolve(ref string) json.RawMessage {
	rest, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil
	}
	at := f.root
	for step := range strings.SplitSeq(strings.TrimPrefix(rest, "/"), "/") {
		if step == "" {
			break
		}
		var m map[string]json.RawMessage
		if json.Unmarshal(at, &m) != nil {
			return nil
		}
		at = m[strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~")]
	}
	return at
}

// merge makes one schema of a schema and those that it combines.
func merge(schema json.RawMessage, with []json.RawMessage, f *filler) json.RawMessage {
	all := map[string]json.RawMessage{}
	_ = json.Unmarshal(schema, &all) // it was read before
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		delete(all, key)
	}
	for _, w := range with {
		var m map[string]json.RawMessage
		for range maxDepth {
			m = nil
			_ = json.Unmarshal(w, &m) // a schema that is none adds nothing
			var ref string
			if json.Unmarshal(m["$ref"], &ref) != nil || ref == "" {
				break
			}
			w = f.resolve(ref)
		}
		for k, v := range m {
			switch k {
			case "properties":
				var have, more map[string]json.RawMessage
				_ = json.Unmarshal(all[k], &have)
				_ = json.Unmarshal(v, &more)
				if have == nil {
					have = map[string]json.RawMessage{}
				}
				maps.Copy(have, more)
				all[k] = marshal(have)
			case "required", "allOf":
				var have, more []json.RawMessage
				_ = json.Unmarshal(all[k], &have)
				_ = json.Unmarshal(v, &more)
				all[k] = marshal(append(have, more...))
			default:
				all[k] = v
			}
		}
	}
	return marshal(all)
}

func (f *filler) object(k keywords, depth int) json.RawMessage {
	out := map[string]json.RawMessage{}
	for _, name := range k.Required {
		out[name] = f.value(name, k.Properties[name], depth+1)
	}
	// An answer that is optional is given all the same.
	names := slices.Sorted(maps.Keys(k.Properties))
	for _, name := range names {
		if _, ok := out[name]; !ok && (isAnswer(name) || len(out) < k.MinProperties) {
			out[name] = f.value(name, k.Properties[name], depth+1)
		}
	}
	for i := 1; len(out) < min(k.MinProperties, 1000); i++ {
		out["field"+strconv.Itoa(i)] = f.value("", k.Additional, depth+1)
	}
	return marshal(out)
}

func isAnswer(name string) bool {
	switch strings.ToLower(name) {
	case "answer", "summary", "text", "result", "report", "message", "description", "content", "explanation":
		return true
	}
	return false
}

var formats = map[string]string{
	"date-time": "2000-01-01T00:00:00Z", "date": "2000-01-01", "time": "00:00:00Z", "duration": "PT0S",
	"email": "stand-in@example.com", "hostname": "example.com", "ipv4": "127.0.0.1", "ipv6": "::1",
	"uri": "https://example.com/", "url": "https://example.com/", "uri-reference": "/", "regex": ".*",
	"uuid": "00000000-0000-4000-8000-000000000000", "json-pointer": "",
}

func (f *filler) str(name string, k keywords) string {
	if k.Pattern != "" {
		return match(k.Pattern, k.MinLength)
	}
	text, ok := formats[k.Format]
	if !ok {
		text = "stand-in"
		if isAnswer(name) {
			text = f.text
		}
	}
	if n := utf8.RuneCountInString(text); n < k.MinLength {
		text += strings.Repeat(".", min(k.MinLength-n, 1<<20))
	}
	if k.MaxLength != nil && utf8.RuneCountInString(text) > *k.MaxLength {
		text = string([]rune(text)[:max(0, *k.MaxLength)])
	}
	return text
}

// match is a short text that matches the pattern, of least characters if it
// can be.
func match(pattern string, least int) string {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return "stand-in"
	}
	compiled := regexp.MustCompile(pattern)
	text := ""
	for more := range min(least, 1000) + 1 {
		text = generate(re.Simplify(), more)
		if utf8.RuneCountInString(text) >= least && compiled.MatchString(text) {
			break
		}
	}
	return text
}

// generate writes a text that matches re, with the repetitions that are open
// made more times than they need.
func generate(re *syntax.Regexp, more int) string {
	switch re.Op {
	case syntax.OpLiteral:
		return string(re.Rune)
	case syntax.OpCharClass:
		for _, r := range "astdinein019-_ " { // what reads well, if it may be
			for i := 0; i+1 < len(re.Rune); i += 2 {
				if re.Rune[i] <= r && r <= re.Rune[i+1] {
					return string(r)
				}
			}
		}
		if len(re.Rune) > 0 {
			return string(re.Rune[0])
		}
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return "a"
	case syntax.OpCapture, syntax.OpQuest:
		if re.Op == syntax.OpQuest && more == 0 {
			return ""
		}
		return generate(re.Sub[0], more)
	case syntax.OpStar:
		return strings.Repeat(generate(re.Sub[0], 0), more)
	case syntax.OpPlus:
		return strings.Repeat(generate(re.Sub[0], 0), more+1)
	case syntax.OpRepeat:
		return strings.Repeat(generate(re.Sub[0], 0), re.Min)
	case syntax.OpConcat:
		var b strings.Builder
		for _, s := range re.Sub {
			b.WriteString(generate(s, more))
		}
		return b.String()
	case syntax.OpAlternate:
		return generate(re.Sub[0], more)
	}
	return ""
}

// number is the number that fits and is nearest to 0.
func number(k keywords, whole bool) json.RawMessage {
	lo, hi := math.Inf(-1), math.Inf(1)
	step := 1.0
	if !whole {
		step = 0.5
	}
	if k.MultipleOf != nil && *k.MultipleOf > 0 {
		step = *k.MultipleOf
	}
	if k.Minimum != nil {
		lo = *k.Minimum
	}
	if k.Maximum != nil {
		hi = *k.Maximum
	}
	if k.ExclusiveMinimum != nil && *k.ExclusiveMinimum >= lo {
		lo = math.Nextafter(*k.ExclusiveMinimum, math.Inf(1))
	}
	if k.ExclusiveMaximum != nil && *k.ExclusiveMaximum <= hi {
		hi = math.Nextafter(*k.ExclusiveMaximum, math.Inf(-1))
	}
	v := 0.0
	switch {
	case lo > 0:
		if v = math.Ceil(lo/step) * step; v > hi && !whole && k.MultipleOf == nil {
			v = lo + (hi-lo)/2
		}
	case hi < 0:
		if v = math.Floor(hi/step) * step; v < lo && !whole && k.MultipleOf == nil {
			v = lo + (hi-lo)/2
		}
	}
	if whole {
		if i, _ := big.NewFloat(v).Int(nil); i != nil {
			return json.RawMessage(i.String())
		}
	}
	return marshal(v)
}

func marshal(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage("null")
	}
	return b
}
