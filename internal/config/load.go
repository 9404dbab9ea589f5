package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/tailscale/hujson"
)

// Sources are where settings come from.
type Sources struct {
	Home    string // the folder of the user's own: ~/.cantle, or CANTLE_HOME
	Dir     string // the project
	Managed string // the managed file; "" is none
	Getenv  func(string) string
	// Flags are settings by dotted key, as "permissions.defaultMode", with
	// their values as text: from --set, and from the flags that have a setting.
	Flags []Flag
}

// Flag is one setting from the command line.
type Flag struct{ Key, Value, Name string }

// Error is a setting that is wrong.
type Error struct {
	File string // or the flag or variable
	Line int    // 0: unknown
	Key  string
	Text string
}

func (e *Error) Error() string {
	at := e.File
	if e.Line > 0 {
		at += ":" + strconv.Itoa(e.Line)
	}
	if at != "" {
		at += ": "
	}
	if e.Key != "" {
		at += e.Key + ": "
	}
	return "settings: " + at + e.Text
}

// Load reads all layers.
func Load(src Sources) (*Config, error) {
	c := &Config{From: map[string]string{}}
	layers := []struct {
		file  string
		trust bool
	}{
		{filepath.Join(src.Home, "settings.json"), true},
		{filepath.Join(src.Dir, ".cantle", "settings.json"), false},
		{filepath.Join(src.Dir, ".cantle", "settings.local.json"), false},
	}
	if sameFolder(src.Home, filepath.Join(src.Dir, ".cantle")) {
		layers = slices.Delete(layers, 1, 2) // the user's own, and read already
	}
	for _, l := range layers {
		if err := c.file(l.file, l.trust); err != nil {
			return nil, err
		}
	}
	for key, name := range map[string]string{"model": "CANTLE_MODEL", "permissions.defaultMode": "CANTLE_PERMISSION_MODE"} {
		if v := src.Getenv(name); v != "" {
			if err := c.set(key, v, name); err != nil {
				return nil, err
			}
		}
	}
	for _, f := range src.Flags {
		if err := c.set(f.Key, f.Value, f.Name); err != nil {
			return nil, err
		}
	}
	if src.Managed != "" {
		if err := c.file(src.Managed, true); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func sameFolder(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// file merges a file into c. A missing one is none. What a project may not
// decide for its user is left out, with a warning.
func (c *Config) file(name string, trusted bool) error {
	b, err := readFile(name)
	if err != nil || b == nil {
		return err
	}
	std, err := hujson.Standardize(bytes.Clone(b))
	if err != nil {
		return &Error{File: name, Text: "not JSON (comments and trailing commas are fine): " + err.Error()}
	}
	c.Files = append(c.Files, name)
	var layer map[string]json.RawMessage
	if err := json.Unmarshal(std, &layer); err != nil {
		return &Error{File: name, Line: 1, Text: "an object is wanted"}
	}
	if !trusted {
		c.untrusted(name, layer)
	}
	return c.merge(layer, name, std)
}

// ofUser are the keys that only the user's own files may set.
var ofUser = []string{"env", "providers", "system", "appendSystem"}

// untrusted takes out what a repository may not decide for whoever opens it.
func (c *Config) untrusted(name string, layer map[string]json.RawMessage) {
	warn := func(key string) {
		c.Warnings = append(c.Warnings, fmt.Sprintf("%s: %s is left out: a project may not set it for you; put it into your own settings", name, key))
	}
	for _, k := range ofUser {
		if _, ok := layer[k]; ok {
			delete(layer, k)
			warn(k)
		}
	}
	for _, k := range []string{"maxTurns", "maxTokens", "maxCost", "timeout"} {
		if v, ok := layer[k]; ok && c.widens(k, v) {
			delete(layer, k)
			c.Warnings = append(c.Warnings, fmt.Sprintf("%s: %s is left out: a project may only lower your limit", name, k))
		}
	}
	// A price of a project's making would turn the limit on cost off.
	var models map[string]map[string]json.RawMessage
	if json.Unmarshal(layer["models"], &models) == nil {
		for _, ref := range slices.Sorted(maps.Keys(models)) {
			if _, ok := models[ref]["price"]; ok {
				delete(models[ref], "price")
				warn("models." + ref + ".price")
			}
		}
		if b, err := json.Marshal(models); err == nil {
			layer["models"] = b
		}
	}
	var p map[string]json.RawMessage
	if json.Unmarshal(layer["permissions"], &p) != nil {
		return
	}
	for _, k := range []string{"allow", "defaultMode", "additionalDirectories"} {
		if _, ok := p[k]; ok {
			delete(p, k)
			warn("permissions." + k)
		}
	}
	if b, err := json.Marshal(p); err == nil {
		layer["permissions"] = b
	}
}

// merge lays a layer over c: objects are merged, rules added up, all else
// replaced.
func (c *Config) merge(layer map[string]json.RawMessage, from string, text []byte) error {
	b, err := json.Marshal(layer)
	if err != nil {
		return &Error{File: from, Text: err.Error()}
	}
	if err := known(reflect.TypeFor[Config](), b, ""); err != nil {
		err.File, err.Line = from, lineOf(text, err.Key)
		return err
	}
	var over Config
	if err := json.Unmarshal(b, &over); err != nil {
		var te *json.UnmarshalTypeError
		e := &Error{File: from, Text: err.Error()}
		if errors.As(err, &te) {
			e.Key, e.Line = te.Field, lineOf(text, te.Field)
			e.Text = fmt.Sprintf("%s is wanted, %s came", typeName(te.Type), te.Value)
		}
		return e
	}
	if err := over.checkNumbers(); err != nil {
		err.File, err.Line = from, lineOf(text, err.Key)
		return err
	}
	c.tree = merged(c.tree, b, "")
	origin, warnings, files, tree := c.From, c.Warnings, c.Files, c.tree
	*c = Config{From: origin, Warnings: warnings, Files: files, tree: tree}
	if err := json.Unmarshal(tree, c); err != nil {
		return &Error{File: from, Text: err.Error()}
	}
	for _, k := range slices.Sorted(maps.Keys(layer)) {
		c.note(k, layer[k], from)
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

// set lays one value over c. What is JSON is taken as JSON where the key wants
// something else than text.
func (c *Config) set(key, value, from string) error {
	t, err := typeOf(key)
	if err != nil {
		err.File = from
		return err
	}
	raw := json.RawMessage(value)
	if t.Kind() == reflect.String || !json.Valid(raw) {
		raw, _ = json.Marshal(value) // a string marshals
	}
	if t.Kind() == reflect.Slice && len(raw) > 0 && raw[0] == '"' {
		raw = json.RawMessage("[" + string(raw) + "]")
	}
	path := strings.Split(key, ".")
	for _, k := range slices.Backward(path[1:]) {
		name, _ := json.Marshal(k) // a string marshals
		raw = json.RawMessage("{" + string(name) + ":" + string(raw) + "}")
	}
	return c.merge(map[string]json.RawMessage{path[0]: raw}, from, nil)
}

// typeOf is the type of the setting at a dotted key.
func typeOf(key string) (reflect.Type, *Error) {
	t := reflect.TypeFor[Config]()
	for _, k := range strings.Split(key, ".") {
		for t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		switch t.Kind() {
		case reflect.Map:
			t = t.Elem()
		case reflect.Struct:
			f, ok := fieldsByName(t)[k]
			if !ok {
				return nil, unknown(t, key, k)
			}
			t = f
		default:
			return nil, &Error{Key: key, Text: "there is no such setting"}
		}
	}
	return t, nil
}

// known holds the keys of an object against a type.
func known(t reflect.Type, raw json.RawMessage, path string) *Error {
	if path != "" && string(bytes.TrimSpace(raw)) == "null" {
		// It would take away what the layers below have set, rules among it.
		return &Error{Key: path, Text: "null is not a value: leave the setting out"}
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct && t.Kind() != reflect.Map {
		return nil
	}
	var obj map[string]json.RawMessage
	if json.Unmarshal(raw, &obj) != nil {
		return nil // of the wrong type: told when it is decoded
	}
	for _, k := range slices.Sorted(maps.Keys(obj)) {
		at := strings.TrimPrefix(path+"."+k, ".")
		next := t
		if t.Kind() == reflect.Map {
			next = t.Elem()
		} else {
			f, ok := fieldsByName(t)[k]
			if !ok {
				return unknown(t, at, k)
			}
			next = f
		}
		if err := known(next, obj[k], at); err != nil {
			return err
		}
	}
	return nil
}

func fieldsByName(t reflect.Type) map[string]reflect.Type {
	out := map[string]reflect.Type{}
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if name != "" && name != "-" {
			out[name] = t.Field(i).Type
		}
	}
	return out
}

func unknown(t reflect.Type, at, k string) *Error {
	names := slices.Sorted(maps.Keys(fieldsByName(t)))
	text := "there is no such setting; there are " + strings.Join(names, ", ")
	for _, n := range names {
		if strings.EqualFold(strings.ReplaceAll(k, "_", ""), n) {
			text = "there is no such setting; did you mean " + n + "?"
		}
	}
	return &Error{Key: at, Text: text}
}

// lineOf finds the line of the last part of a key.
func lineOf(text []byte, key string) int {
	parts := strings.Split(key, ".")
	at := 0
	for _, p := range parts {
		i := bytes.Index(text[at:], []byte(quoted(p)))
		if i < 0 {
			break
		}
		at += i
	}
	if len(text) == 0 {
		return 0
	}
	return 1 + bytes.Count(text[:at], []byte("\n"))
}

func quoted(s string) string { return strconv.Quote(s) }

func typeName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Slice:
		return "a list"
	case reflect.Map, reflect.Struct:
		return "an object"
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int64:
		return "a whole number"
	}
	return "text"
}
