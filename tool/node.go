package tool

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
)

// node is a compiled schema.
type node struct {
	never    bool // the schema false
	ref      *node
	types    []string
	nullable bool
	enum     []json.RawMessage
	constant json.RawMessage

	props    map[string]*node
	names    []string // of props, in order
	required []string
	patterns []patternNode
	extra    *node // additionalProperties
	alias    map[string]string
	fallback json.RawMessage // default

	items  *node
	prefix []*node
	sizes  []size

	pattern *regexp.Regexp
	bounds  []bound
	bits    int  // of the Go integer that a value becomes; 0 for none
	signed  bool // with bits
	float   int  // bits of the Go float that a value becomes; 0 for none

	anyOf, oneOf, allOf []*node
	not                 *node
}

type patternNode struct {
	re *regexp.Regexp
	n  *node
}

// size is a bound of how many there are of something.
type size struct {
	of    string // "items", "characters" or "fields"
	least bool
	n     int
}

// bound is a bound of a number.
type bound struct {
	text  string // "at least", …
	limit string
	bad   func(order int) bool // of the value to the limit
}

var boundKeywords = []struct {
	keyword, text string
	bad           func(int) bool
}{
	{"minimum", "at least", func(o int) bool { return o < 0 }},
	{"maximum", "at most", func(o int) bool { return o > 0 }},
	{"exclusiveMinimum", "more than", func(o int) bool { return o <= 0 }},
	{"exclusiveMaximum", "less than", func(o int) bool { return o >= 0 }},
}

var sizeKeywords = []struct {
	keyword, of string
	least       bool
}{
	{"minItems", "items", true},
	{"maxItems", "items", false},
	{"minLength", "characters", true},
	{"maxLength", "characters", false},
	{"minProperties", "fields", true},
	{"maxProperties", "fields", false},
}

// compiler makes nodes of one schema.
type compiler struct {
	root json.RawMessage
	refs map[string]*node
}

// compile makes a node of a schema. Of one that is not valid, what can be
// understood counts.
func compile(schema json.RawMessage) *node {
	if !json.Valid(schema) {
		return &node{}
	}
	schema = bytes.TrimSpace(schema)
	c := &compiler{schema, map[string]*node{}}
	n := &node{}
	c.refs["#"] = n
	c.into(n, schema, 0)
	return n
}

func (c *compiler) node(schema json.RawMessage, depth int) *node {
	n := &node{}
	c.into(n, schema, depth)
	return n
}

func (c *compiler) into(n *node, schema json.RawMessage, depth int) {
	switch {
	case string(schema) == "false":
		n.never = true
		return
	case depth > maxDepth || kindOf(schema) != "object":
		return
	}
	kw := map[string]json.RawMessage{}
	for _, m := range members(schema) {
		kw[m.name] = m.value
	}
	sub := func(key string) *node {
		switch kindOf(kw[key]) {
		case "object", "boolean":
			return c.node(kw[key], depth+1)
		}
		return nil
	}
	list := func(key string) (out []*node) {
		if kindOf(kw[key]) == "array" {
			for _, s := range elements(kw[key]) {
				out = append(out, c.node(s, depth+1))
			}
		}
		return out
	}
	if ref := str(kw["$ref"]); ref != "" {
		n.ref = c.resolve(ref, depth)
	}
	n.types = typesOf(kw["type"])
	n.nullable = string(kw["nullable"]) == "true"
	if kindOf(kw["enum"]) == "array" {
		n.enum = elements(kw["enum"])
	}
	n.constant = kw["const"]
	n.fallback = kw["default"]
	if kindOf(kw["properties"]) == "object" {
		n.props = map[string]*node{}
		for _, m := range members(kw["properties"]) {
			n.props[m.name] = c.node(m.value, depth+1)
			n.names = append(n.names, m.name)
		}
	}
	_ = json.Unmarshal(kw["required"], &n.required) // absent, or not a list: none
	if kindOf(kw["patternProperties"]) == "object" {
		for _, m := range members(kw["patternProperties"]) {
			// A pattern that Go does not know may match any name.
			re, err := regexp.Compile(m.name)
			sub := &node{}
			if err != nil {
				re = regexp.MustCompile("")
			} else {
				sub = c.node(m.value, depth+1)
			}
			n.patterns = append(n.patterns, patternNode{re, sub})
		}
	}
	n.extra = sub("additionalProperties")
	n.items = sub("items")
	n.prefix = list("prefixItems")
	for _, s := range sizeKeywords {
		if f, err := strconv.ParseFloat(string(kw[s.keyword]), 64); err == nil {
			n.sizes = append(n.sizes, size{s.of, s.least, int(min(max(f, 0), 1<<52))})
		}
	}
	for _, b := range boundKeywords {
		if k := kindOf(kw[b.keyword]); k == "integer" || k == "number" {
			n.bounds = append(n.bounds, bound{b.text, string(kw[b.keyword]), b.bad})
		}
	}
	if p := str(kw["pattern"]); p != "" {
		n.pattern, _ = regexp.Compile(p) // one that Go does not know is not checked
	}
	n.anyOf, n.oneOf, n.allOf = list("anyOf"), list("oneOf"), list("allOf")
	n.not = sub("not")
}

// resolve finds what a reference within the schema refers to; nil if that is
// elsewhere.
func (c *compiler) resolve(ref string, depth int) *node {
	if n, ok := c.refs[ref]; ok {
		return n
	}
	rest, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return nil
	}
	at := c.root
	for step := range strings.SplitSeq(rest, "/") {
		step = strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~")
		if kindOf(at) != "object" {
			return nil
		}
		var next json.RawMessage
		for _, m := range members(at) {
			if m.name == step {
				next = m.value
			}
		}
		if at = next; at == nil {
			return nil
		}
	}
	n := &node{}
	c.refs[ref] = n // before its own references are resolved: it may refer to itself
	c.into(n, at, depth+1)
	return n
}

func typesOf(raw json.RawMessage) []string {
	if one := str(raw); one != "" {
		return []string{one}
	}
	var many []string
	_ = json.Unmarshal(raw, &many) // absent, or neither a name nor a list: any
	return many
}
