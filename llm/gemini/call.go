package gemini

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/cantle-dev/cantle/llm/internal/wire"
)

// call is a functionCall on its way.
type call struct {
	id, name string
	sent     string // the id as the server gave it
	index    int    // among the calls of the answer
	args     json.RawMessage
	partial  []partialArg
	goesOn   bool // as this piece says

	open   bool // more is to come
	pieces bool // it came in more than one
	tree   *node
	whole  json.RawMessage // the arguments, where they came as such
	lost   string          // the path of a piece that has no place
}

// partialArg is a piece of the arguments: a value, or for a string a part of
// one, for a path (a JSONPath of names and indexes).
type partialArg struct {
	Path   string          `json:"jsonPath"`
	String *string         `json:"stringValue"`
	Number json.RawMessage `json:"numberValue"`
	Bool   json.RawMessage `json:"boolValue"`
	Null   json.RawMessage `json:"nullValue"`
	GoesOn bool            `json:"willContinue"`
}

func newCall(raw json.RawMessage) *call {
	var x struct {
		ID      string          `json:"id"`
		Name    string          `json:"name"`
		Args    json.RawMessage `json:"args"`
		Partial []partialArg    `json:"partialArgs"`
		GoesOn  bool            `json:"willContinue"`
	}
	// A field of another type than it should be is as if it were not there.
	if err := json.Unmarshal(raw, &x); err != nil && (len(raw) == 0 || raw[0] != '{') {
		return nil
	}
	c := &call{id: x.ID, name: x.Name, partial: x.Partial, goesOn: x.GoesOn}
	if set(x.Args) {
		c.args = bytes.Clone(x.Args)
	}
	return c
}

// apply adds arguments.
func (c *call) apply(args json.RawMessage, partial []partialArg) {
	if c.goesOn || len(partial) > 0 {
		c.pieces = true
	}
	if args != nil {
		c.whole = args
	}
	for _, p := range partial {
		if c.tree == nil {
			c.tree = &node{}
		}
		steps, ok := parsePath(p.Path)
		var at *node
		if ok {
			at = c.tree.at(steps)
		}
		if at == nil {
			c.lost = p.Path
			continue
		}
		switch {
		case p.String != nil:
			if !at.goesOn {
				at.text.Reset()
			}
			at.text.WriteString(*p.String)
			at.raw, at.isText = nil, true
		case set(p.Number):
			at.raw, at.isText = bytes.Clone(p.Number), false
		case set(p.Bool):
			at.raw, at.isText = bytes.Clone(p.Bool), false
		case len(p.Null) > 0:
			at.raw, at.isText = json.RawMessage("null"), false
		}
		at.goesOn = p.GoesOn
	}
}

// input is the arguments as JSON.
func (c *call) input() json.RawMessage {
	if c.tree == nil {
		if c.whole == nil {
			return json.RawMessage("{}")
		}
		return compact(c.whole)
	}
	b := c.tree.append(nil)
	if c.whole != nil {
		if merged, err := wire.Merge(bytes.TrimSpace(c.whole), b); err == nil {
			return merged
		}
	}
	return b
}

// node is a value of the arguments: a scalar, or with children an object or
// an array, in the order in which they came.
type node struct {
	names    []string // of the children of an object
	children []*node
	list     bool
	raw      json.RawMessage
	isText   bool
	text     strings.Builder
	goesOn   bool
}

// The most that a path may make: what is beyond was made up.
const (
	maxIndex = 1 << 16
	maxSteps = 64
)

// step is a name, or with name "" and list an index.
type step struct {
	name  string
	list  bool
	index int
}

// at finds or makes the node at the end of a path; nil if it has no place.
func (n *node) at(steps []step) *node {
	for _, s := range steps {
		if n.isText || n.raw != nil || len(n.children) > 0 && n.list != s.list {
			return nil // the path goes through what is something else
		}
		var next *node
		if s.list {
			if s.index > len(n.children) {
				return nil // a list that begins in the middle
			}
			n.list = true
			if s.index == len(n.children) {
				n.children = append(n.children, &node{})
			}
			next = n.children[s.index]
		} else {
			if i := slices.Index(n.names, s.name); i >= 0 {
				next = n.children[i]
			} else {
				next = &node{}
				n.names, n.children = append(n.names, s.name), append(n.children, next)
			}
		}
		n = next
	}
	if len(n.children) > 0 {
		return nil
	}
	return n
}

func (n *node) append(b []byte) []byte {
	switch {
	case n.list:
		b = append(b, '[')
		for i, c := range n.children {
			if i > 0 {
				b = append(b, ',')
			}
			b = c.append(b)
		}
		return append(b, ']')
	case len(n.children) > 0:
		b = append(b, '{')
		for i, c := range n.children {
			if i > 0 {
				b = append(b, ',')
			}
			b = c.append(append(wire.AppendString(b, n.names[i]), ':'))
		}
		return append(b, '}')
	case n.isText:
		return wire.AppendString(b, n.text.String())
	case n.raw != nil:
		return append(b, n.raw...)
	}
	return append(b, "null"...)
}

// parsePath reads a path of names and indexes: $.a.b[0]['c d'] (RFC 9535,
// singular queries).
func parsePath(s string) ([]step, bool) {
	s, ok := strings.CutPrefix(s, "$")
	if !ok {
		return nil, false
	}
	var steps []step
	for s != "" {
		if len(steps) == maxSteps {
			return nil, false
		}
		switch {
		case s[0] == '.':
			s = s[1:]
			n := strings.IndexAny(s, ".[")
			if n < 0 {
				n = len(s)
			}
			if n == 0 {
				return nil, false
			}
			steps, s = append(steps, step{name: s[:n]}), s[n:]
		case strings.HasPrefix(s, "['"), strings.HasPrefix(s, `["`):
			name, rest, ok := quotedName(s[1:])
			if !ok {
				return nil, false
			}
			steps, s = append(steps, step{name: name}), rest
		case s[0] == '[':
			digits, rest, ok := strings.Cut(s[1:], "]")
			i, err := strconv.Atoi(digits)
			if !ok || err != nil || i < 0 || i > maxIndex {
				return nil, false
			}
			steps, s = append(steps, step{list: true, index: i}), rest
		default:
			return nil, false
		}
	}
	return steps, len(steps) > 0
}

// quotedName reads a name in quotes and the bracket after it.
func quotedName(s string) (name, rest string, ok bool) {
	quote := s[0]
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s):
			i++
			if s[i] != quote && s[i] != '\\' && s[i] != '/' {
				// An escape as in JSON.
				end := i + 1
				if s[i] == 'u' {
					end = i + 5
				}
				var r string
				if end > len(s) || json.Unmarshal([]byte(`"`+s[i-1:end]+`"`), &r) != nil {
					return "", "", false
				}
				b.WriteString(r)
				i = end - 1
				continue
			}
			b.WriteByte(s[i])
		case s[i] == quote:
			rest, ok = strings.CutPrefix(s[i+1:], "]")
			return b.String(), rest, ok
		default:
			b.WriteByte(s[i])
		}
	}
	return "", "", false
}
