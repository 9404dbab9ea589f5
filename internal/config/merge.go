package config

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/tailscale/hujson"
)

// merge lays a layer over c, whose name is that of a [Layer]: objects are merged, rules added up, all else
// replaced.
func (c *Config) merge(layer map[string]json.RawMessage, name, from string, root *hujson.Value, text []byte) error {
	b, err := json.Marshal(layer)
	if err != nil {
		return &Error{File: from, Text: err.Error()}
	}
	ch := checker{map[reflect.Type]map[string]reflect.Type{}}
	if f := ch.check(reflect.TypeFor[Config](), b, nil, ""); f != nil {
		return &Error{File: from, Line: lineOf(root, text, f.at), Key: dotted(f.at), Text: f.text}
	}
	c.tree = merged(c.tree, b, "")
	*c = Config{From: c.From, Warnings: c.Warnings, Files: c.Files, Layers: c.Layers, Project: c.Project, Trust: c.Trust, tree: c.tree, places: c.places}
	if err := json.Unmarshal(c.tree, c); err != nil {
		return &Error{File: from, Text: err.Error()}
	}
	c.rules(layer["permissions"], name, from)
	src := source{text: text, offsets: map[string]int{}}
	if root != nil {
		src.index(root, nil)
	}
	for _, k := range slices.Sorted(maps.Keys(layer)) {
		c.note([]string{k}, layer[k], from, src)
	}
	return nil
}

// rules keeps the permission rules of a layer apart.
func (c *Config) rules(permissions json.RawMessage, name, from string) {
	var p Permissions
	if json.Unmarshal(permissions, &p) != nil || len(p.Allow)+len(p.Deny)+len(p.Ask) == 0 {
		return
	}
	if n := len(c.Layers) - 1; n >= 0 && c.Layers[n].Name == name && c.Layers[n].File == from {
		l := &c.Layers[n] // a flag that was given twice
		l.Allow, l.Deny, l.Ask = append(l.Allow, p.Allow...), append(l.Deny, p.Deny...), append(l.Ask, p.Ask...)
		return
	}
	c.Layers = append(c.Layers, Layer{Name: name, File: from, Allow: p.Allow, Deny: p.Deny, Ask: p.Ask})
}

// whole refuses what layers give in parts, when a part is missing.
func (c *Config) whole(where func(at []string) (file string, line int)) error {
	for _, ref := range slices.Sorted(maps.Keys(c.Models)) {
		p := c.Models[ref].Price
		for name, given := range map[string]bool{"input": p == nil || p.Input != "", "output": p == nil || p.Output != ""} {
			if !given {
				at := []string{"models", ref, "price"}
				file, line := where(at)
				return &Error{File: file, Line: line, Key: dotted(at), Text: name + " is missing: a price has input and output, in US dollars for a million tokens"}
			}
		}
	}
	return nil
}

// added are the lists to which each layer adds.
var added = []string{".permissions.allow", ".permissions.deny", ".permissions.ask", ".permissions.additionalDirectories", ".sandbox.hide"}

// merged lays the value over on top of base: objects are merged key by key,
// and all else is replaced.
func merged(base, over json.RawMessage, path string) json.RawMessage {
	if slices.Contains(added, path) {
		var a, b []json.RawMessage
		if json.Unmarshal(base, &a) == nil && json.Unmarshal(over, &b) == nil {
			has := map[string]bool{}
			for _, r := range a {
				has[string(r)] = true
			}
			for _, r := range b {
				if !has[string(r)] {
					has[string(r)] = true
					a = append(a, r)
				}
			}
			out, _ := json.Marshal(a) // raw JSON marshals
			return out
		}
		return over
	}
	var a, b map[string]json.RawMessage
	if json.Unmarshal(base, &a) != nil || json.Unmarshal(over, &b) != nil || a == nil || b == nil {
		return over
	}
	for k, v := range b {
		a[k] = merged(a[k], v, path+"."+k)
	}
	out, _ := json.Marshal(a) // raw JSON marshals
	return out
}

// A source is a file that settings came from: its text, and where in it each
// setting and each item of a list is, by the names that lead there.
type source struct {
	text    []byte
	offsets map[string]int
}

func (s source) index(v *hujson.Value, at []string) {
	const deepest = 3 // as permissions, deny, 0
	if len(at) == deepest {
		return
	}
	add := func(name string, offset int, v *hujson.Value) {
		here := append(slices.Clone(at), name)
		s.offsets[join(here)] = offset
		s.index(v, here)
	}
	switch v := v.Value.(type) {
	case *hujson.Object:
		for i := range v.Members {
			if l, ok := v.Members[i].Name.Value.(hujson.Literal); ok {
				add(l.String(), v.Members[i].Name.StartOffset, &v.Members[i].Value)
			}
		}
	case *hujson.Array:
		for i := range v.Elements {
			add(strconv.Itoa(i), v.Elements[i].StartOffset, &v.Elements[i])
		}
	}
}

func join(at []string) string { return strings.Join(at, "\x00") }

// A place is where a setting was set.
type place struct {
	file   string
	source source
	offset int
}

// note keeps where the settings at a key come from, and the items of a list.
func (c *Config) note(at []string, v json.RawMessage, from string, src source) {
	var obj map[string]json.RawMessage
	if len(at) == 1 && json.Unmarshal(v, &obj) == nil && obj != nil {
		for k := range obj {
			c.note([]string{at[0], k}, obj[k], from, src)
		}
		return
	}
	key := strings.Join(at, ".")
	c.From[key], c.places[key] = from, place{from, src, src.offsets[join(at)]}
	var list []string
	if json.Unmarshal(v, &list) == nil {
		for i, item := range list {
			c.places[key+"\x00"+item] = place{from, src, src.offsets[join(at)+"\x00"+strconv.Itoa(i)]}
		}
	}
}

// Wrong is the error of a setting that is well formed, and that whoever it is
// for does not take. For a list, item is what is wrong in it.
func (c *Config) Wrong(key, item, text string) *Error {
	p, ok := c.places[key+"\x00"+item]
	if !ok {
		p, ok = c.places[key]
	}
	for at := key; !ok; { // it is within an object that was set
		i := strings.LastIndexByte(at, '.')
		if i < 0 {
			break
		}
		at = at[:i]
		p, ok = c.places[at]
		if offset, has := p.source.offsets[join(strings.Split(key, "."))]; has {
			p.offset = offset
		}
	}
	line := 0
	if p.source.text != nil {
		line = 1 + bytes.Count(p.source.text[:p.offset], []byte("\n"))
	}
	return &Error{File: p.file, Line: line, Key: key, Text: text}
}
