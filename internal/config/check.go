package config

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// A fault is what is wrong with a layer, and at which key. Keys are lists of
// names, since the name of a model may have dots.
type fault struct {
	at   []string
	text string
}

// A checker holds values against the types and the rules of settings.
type checker struct {
	fields map[reflect.Type]map[string]reflect.Type // seen so far
}

func (c *checker) fieldsOf(t reflect.Type) map[string]reflect.Type {
	f, ok := c.fields[t]
	if !ok {
		f = fieldsByName(t)
		c.fields[t] = f
	}
	return f
}

// check holds a value against the type of the setting at, and against its rule,
// that of pattern, in which a star stands for a name. What passes can be
// decoded.
func (c *checker) check(t reflect.Type, raw json.RawMessage, at []string, pattern string) *fault {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	r := rules[pattern]
	if r.want == "" {
		r = rule{want: typeName(t), ok: func(string) error { return nil }}
	}
	raw = bytes.TrimSpace(raw)
	if string(raw) == "null" {
		// It would take away what the layers below have set, rules among it.
		return &fault{at, "null is not a value: leave the setting out"}
	}
	came := kindOf(raw)
	if leaf(t) {
		if r.raw(raw) != nil {
			return &fault{at, r.want + " is wanted, " + came + " came"}
		}
		return nil
	}
	wrong := &fault{at, r.want + " is wanted, " + came + " came"}
	text := string(raw)
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		if came != "an object" {
			return wrong
		}
		return c.object(t, raw, at, pattern)
	case reflect.Slice:
		var list []json.RawMessage
		if json.Unmarshal(raw, &list) != nil {
			return &fault{at, "a list is wanted, " + came + " came"}
		}
		for _, e := range list {
			if f := checkItem(r, e, at); f != nil {
				return f
			}
		}
		return nil
	case reflect.Bool:
		if text != "true" && text != "false" {
			return wrong
		}
		return nil
	case reflect.String:
		if came == "text" {
			_ = json.Unmarshal(raw, &text) // it is a string
			if strings.HasSuffix(pattern, ".*") && pattern != "aliases.*" && keyName(at[len(at)-1]) && !reference(text) {
				return &fault{at, noKeys}
			}
		} else if t != reflect.TypeFor[json.Number]() || came != "a number" {
			return wrong
		}
	default: // whole numbers
		if came != "a number" {
			return wrong
		}
		if reflect.New(t).Elem().OverflowInt(whole(text)) || !isWhole(text) {
			return &fault{at, text + " is not " + r.want}
		}
	}
	if r.ok(text) != nil {
		return &fault{at, shown(raw, pattern) + " is not " + r.want}
	}
	return nil
}

// shown is a value as an error names it. What stands where the name of a key's
// variable belongs is often the key: it must not be printed.
func shown(raw json.RawMessage, pattern string) string {
	switch pattern {
	case "providers.*.apiKeyEnv", "providers.*.baseUrl", "web.search.url", "web.search.keyEnv", "web.search.keyHeader":
		return "what is there"
	}
	const most = 80
	if s := string(raw); len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "…"
	}
	return string(raw)
}

func checkItem(r rule, raw json.RawMessage, at []string) *fault {
	var s string
	if string(raw) == "null" || json.Unmarshal(raw, &s) != nil {
		return &fault{at, "a list of texts is wanted, " + kindOf(raw) + " is in it"}
	}
	if err := r.ok(s); err != nil {
		return &fault{at, string(raw) + " is not " + r.want}
	}
	return nil
}

func (c *checker) object(t reflect.Type, raw json.RawMessage, at []string, pattern string) *fault {
	var obj map[string]json.RawMessage
	if err := json.Unmarshal(raw, &obj); err != nil {
		return &fault{at, err.Error()}
	}
	var fields map[string]reflect.Type
	if t.Kind() == reflect.Struct {
		fields = c.fieldsOf(t)
	}
	for _, k := range slices.Sorted(maps.Keys(obj)) {
		here := append(slices.Clone(at), k)
		next, ok := fields[k]
		below := strings.TrimPrefix(pattern+"."+k, ".")
		if t.Kind() == reflect.Map {
			next, ok, below = t.Elem(), true, pattern+".*"
			if r, has := names[pattern]; has && r.ok(k) != nil {
				return &fault{here, quoted(k) + " is not " + r.want}
			}
		}
		if !ok {
			return &fault{here, unknown(t, k)}
		}
		if f := c.check(next, obj[k], here, below); f != nil {
			return f
		}
	}
	return nil
}

func quoted(s string) string { return strconv.Quote(s) }

func isWhole(s string) bool {
	_, err := strconv.ParseInt(s, 10, 64)
	return err == nil
}

func whole(s string) int64 {
	n, _ := strconv.ParseInt(s, 10, 64) // see isWhole
	return n
}

func kindOf(raw json.RawMessage) string {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return "nothing"
	}
	switch raw[0] {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "text"
	case 't', 'f':
		return string(raw)
	case 'n':
		return "null"
	}
	return "a number"
}

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
