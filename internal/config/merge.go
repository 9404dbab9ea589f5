package config

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// merge lays a layer over c: objects are merged, rules added up, all else
// replaced.
func (c *Config) merge(layer map[string]json.RawMessage, from string, root *hujson.Value, text []byte) error {
	b, err := json.Marshal(layer)
	if err != nil {
		return &Error{File: from, Text: err.Error()}
	}
	if f := check(reflect.TypeFor[Config](), b, nil); f != nil {
		return &Error{File: from, Line: lineOf(root, text, f.at), Key: strings.Join(f.at, "."), Text: f.text}
	}
	c.tree = merged(c.tree, b, "")
	*c = Config{From: c.From, Warnings: c.Warnings, Files: c.Files, tree: c.tree}
	if err := json.Unmarshal(c.tree, c); err != nil {
		return &Error{File: from, Text: err.Error()}
	}
	for _, k := range slices.Sorted(maps.Keys(layer)) {
		c.note(k, layer[k], from)
	}
	return nil
}

// whole refuses what layers give in parts, when a part is missing.
func (c *Config) whole(where func(at []string) (file string, line int)) error {
	for _, ref := range slices.Sorted(maps.Keys(c.Models)) {
		p := c.Models[ref].Price
		for name, given := range map[string]bool{"input": p == nil || p.Input != "", "output": p == nil || p.Output != ""} {
			if !given {
				at := []string{"models", ref, "price"}
				file, line := where(at)
				return &Error{File: file, Line: line, Key: strings.Join(at, "."), Text: name + " is missing: a price has input and output, in US dollars for a million tokens"}
			}
		}
	}
	return nil
}

// added are the lists to which each layer adds.
var added = []string{".permissions.allow", ".permissions.deny", ".permissions.ask", ".permissions.additionalDirectories"}

// merged lays the value over on top of base: objects are merged key by key,
// and all else is replaced.
func merged(base, over json.RawMessage, path string) json.RawMessage {
	if slices.Contains(added, path) {
		var a, b []json.RawMessage
		if json.Unmarshal(base, &a) == nil && json.Unmarshal(over, &b) == nil {
			for _, r := range b {
				if !slices.ContainsFunc(a, func(o json.RawMessage) bool { return string(o) == string(r) }) {
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

func (c *Config) note(key string, v json.RawMessage, from string) {
	var obj map[string]json.RawMessage
	if strings.Count(key, ".") < 1 && json.Unmarshal(v, &obj) == nil && obj != nil {
		for k := range obj {
			c.note(key+"."+k, obj[k], from)
		}
		return
	}
	c.From[key] = from
}
