package wrap

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/cantle-dev/cantle/llm"
)

// leak is a call that was found in a text.
type leak struct {
	name string
	args json.RawMessage // an object
	// broken is what was there in the place of an object.
	broken string
	exact  bool // it was written as nothing but a name and arguments
}

// toolbox is the tools of a request.
type toolbox struct {
	names map[string]string // lower case to exact
	specs map[string]*shape
	tools []llm.ToolSpec
}

// shape is what is known of a tool's input.
type shape struct {
	Properties map[string]struct {
		Type any `json:"type"`
	} `json:"properties"`
	Required []string `json:"required"`
}

func newToolbox(tools []llm.ToolSpec) *toolbox {
	b := &toolbox{names: make(map[string]string, 2*len(tools)), specs: map[string]*shape{}, tools: tools}
	for _, t := range tools {
		b.names[strings.ToLower(t.Name)] = t.Name
	}
	for _, t := range tools { // of two that differ in case only, each is itself
		b.names[t.Name] = t.Name
	}
	return b
}

// bare is name without the namespace that some models put before it.
func bare(name string) string {
	for _, p := range []string{"functions.", "function.", "tools.", "tool.", "default_api."} {
		if rest, ok := strings.CutPrefix(name, p); ok {
			return rest
		}
	}
	return name
}

// find is the tool of that name, as it is spelled.
func (b *toolbox) find(name string) (string, bool) {
	for _, n := range []string{name, bare(name)} {
		if own, ok := b.names[n]; ok {
			return own, true
		}
		if own, ok := b.names[strings.ToLower(n)]; ok {
			return own, true
		}
	}
	return "", false
}

func (b *toolbox) known(name string) bool {
	_, ok := b.find(name)
	return ok
}

func (b *toolbox) shape(name string) *shape {
	if s, ok := b.specs[name]; ok {
		return s
	}
	s := &shape{}
	for _, t := range b.tools {
		if t.Name == name {
			_ = json.Unmarshal(t.Input, s) // what is no schema says nothing of the input
		}
	}
	b.specs[name] = s
	return s
}

// fits says whether args are such as the tool has: nothing that it does not
// know, and all that it needs.
func (b *toolbox) fits(c leak) bool {
	name, ok := b.find(c.name)
	if !ok || c.broken != "" {
		return false
	}
	var args map[string]json.RawMessage
	if json.Unmarshal(c.args, &args) != nil {
		return false
	}
	s := b.shape(name)
	for k := range args {
		if _, ok := s.Properties[k]; !ok {
			return false
		}
	}
	return !slices.ContainsFunc(s.Required, func(k string) bool { _, ok := args[k]; return !ok })
}

// value is the JSON of an argument that was written as plain text: what the
// tool takes as a string is one, and anything else is read as JSON.
func (b *toolbox) value(tool, key, text string) json.RawMessage {
	if name, ok := b.find(tool); ok {
		p, known := b.shape(name).Properties[key]
		if t, ok := p.Type.(string); known && ok && t != "string" {
			if v, end, ok := literal(text+"\n", 0); ok && strings.TrimSpace((text + "\n")[end:]) == "" {
				return v
			}
		}
	}
	r := reader{}
	r.quote(text)
	return r.out.Bytes()
}

// calls reads JSON that may be one call or several.
func (b *toolbox) calls(v json.RawMessage) ([]leak, bool) {
	return b.callsIn(v, 4)
}

func (b *toolbox) callsIn(v json.RawMessage, depth int) ([]leak, bool) {
	if depth == 0 {
		return nil, false
	}
	if len(v) > 0 && v[0] == '[' {
		var list []json.RawMessage
		if json.Unmarshal(v, &list) != nil || len(list) == 0 {
			return nil, false
		}
		var out []leak
		for _, v := range list {
			cs, ok := b.callsIn(v, depth-1)
			if !ok {
				return nil, false
			}
			out = append(out, cs...)
		}
		return out, true
	}
	var o map[string]json.RawMessage
	if json.Unmarshal(v, &o) != nil || len(o) == 0 {
		return nil, false
	}
	for k := range wrapKeys {
		if in := o[k]; len(in) > 0 && (in[0] == '{' || in[0] == '[') {
			return b.callsIn(in, depth-1)
		}
	}
	if len(o) == 1 {
		for k, in := range o {
			if b.known(k) && in[0] == '{' {
				return []leak{{name: k, args: in}}, true
			}
		}
	}
	var c leak
	c.exact = len(o) == 2
	for k, in := range o {
		switch {
		case nameKeys[k] && in[0] == '"' && c.name == "":
			if json.Unmarshal(in, &c.name) != nil {
				return nil, false
			}
		case argsKeys[k] && c.args == nil:
			if c.args = object(in); c.args == nil {
				return nil, false
			}
		case sideKeys[k]:
		default:
			return nil, false
		}
	}
	if n := bare(c.name); c.name == "" || ident(strings.ReplaceAll(n, ".", "_")) != strings.ReplaceAll(n, ".", "_") {
		return nil, false
	}
	if c.args == nil {
		if !b.known(c.name) {
			return nil, false
		}
		c.args = json.RawMessage("{}")
	}
	return []leak{c}, true
}

// object is arguments that are an object, or a string that holds one; nil if
// they are neither.
func object(v json.RawMessage) json.RawMessage {
	switch {
	case len(v) == 0:
		return nil
	case v[0] == '{':
		return v
	case string(v) == "null":
		return json.RawMessage("{}")
	case v[0] != '"':
		return nil
	}
	var s string
	if json.Unmarshal(v, &s) != nil {
		return nil
	}
	s = strings.TrimSpace(s)
	if s == "" {
		return json.RawMessage("{}")
	}
	if in, end, ok := literal(s, 0); ok && end == len(s) && in[0] == '{' {
		return in
	}
	return nil
}
