package config

import (
	"bytes"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/tailscale/hujson"
)

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

// unknown is said of a key that is none, with the one that was meant.
func unknown(t reflect.Type, k string) string {
	if keyName(k) {
		return noKeys
	}
	var names []string
	if t.Kind() == reflect.Struct {
		names = slices.Sorted(maps.Keys(fieldsByName(t)))
	}
	best, far := "", 1+max(2, len(k)/3)
	for _, n := range names {
		a, b := plain(k), plain(n)
		d := distance(a, b)
		if len(a) > 2 && (strings.HasPrefix(b, a) || strings.HasPrefix(a, b)) {
			d = min(d, 2)
		}
		if d < far {
			best, far = n, d
		}
	}
	if best == "" {
		// It may be the name of one that is in another object.
		top := fieldsByName(reflect.TypeFor[Config]())
		for _, in := range slices.Sorted(maps.Keys(top)) {
			if top[in].Kind() == reflect.Struct {
				for n := range fieldsByName(top[in]) {
					if plain(n) == plain(k) {
						best = in + "." + n
					}
				}
			}
		}
	}
	switch {
	case best != "":
		return "there is no such setting; did you mean " + best + "?"
	case len(names) > 0:
		return "there is no such setting; there are " + strings.Join(names, ", ")
	}
	return "there is no such setting"
}

// dotted is a key as errors name it. A name that would not show is quoted.
func dotted(at []string) string {
	out := make([]string, len(at))
	for i, name := range at {
		if out[i] = name; name == "" || strings.TrimSpace(name) != name || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsGraphic(r) }) {
			out[i] = strconv.QuoteToGraphic(name)
		}
	}
	return strings.Join(out, ".")
}

func plain(s string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(s))
}

// distance is how many characters must be put in, taken out or replaced to make
// b of a. Keys are short; what is long is none.
func distance(a, b string) int {
	if len(a) > 64 {
		return len(a)
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// find takes a dotted key apart. The names that a user gives may have dots
// themselves, as models have: of the ways to read such a key, that with the
// shortest name is taken that leads to a setting. object says that the value is
// an object, so that the key may be that of a whole provider or model.
func find(t reflect.Type, parts []string, object bool) ([]string, reflect.Type, bool) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case len(parts) == 0:
		return nil, t, object || leaf(t) || t.Kind() != reflect.Struct
	case t.Kind() == reflect.Struct:
		if f, ok := fieldsByName(t)[parts[0]]; ok {
			rest, t, ok := find(f, parts[1:], object)
			return append([]string{parts[0]}, rest...), t, ok
		}
	case t.Kind() == reflect.Map:
		for n := 1; n <= len(parts); n++ {
			if rest, t, ok := find(t.Elem(), parts[n:], object); ok {
				return append([]string{strings.Join(parts[:n], ".")}, rest...), t, true
			}
		}
	}
	return nil, t, false
}

// lineOf is the line of a key in the text of a file; 0 if there is no text.
func lineOf(root *hujson.Value, text []byte, at []string) int {
	if root == nil {
		return 0
	}
	offset, v := root.StartOffset, root
	for _, k := range at {
		obj, ok := v.Value.(*hujson.Object)
		if !ok {
			break
		}
		i := -1
		for j, m := range obj.Members {
			if l, ok := m.Name.Value.(hujson.Literal); ok && l.String() == k {
				i = j // of two the last counts
			}
		}
		if i < 0 {
			break
		}
		offset, v = obj.Members[i].Name.StartOffset, &obj.Members[i].Value
	}
	return 1 + bytes.Count(text[:offset], []byte("\n"))
}

// unknownKey says what is wrong with a dotted key that is none.
func unknownKey(t reflect.Type, parts []string) string {
	for i, k := range parts {
		for t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		switch t.Kind() {
		case reflect.Struct:
			f, ok := fieldsByName(t)[k]
			if !ok {
				return unknown(t, k)
			}
			t = f
			if i == len(parts)-1 {
				return "an object is wanted here: name one of its settings, as " + strings.Join(parts, ".") + "." + slices.Sorted(maps.Keys(fieldsByName(elem(f))))[0]
			}
		case reflect.Map:
			if e := t.Elem(); e.Kind() == reflect.Struct && i < len(parts)-1 {
				for j := i + 1; j < len(parts)-1; j++ {
					if _, ok := fieldsByName(e)[parts[j]]; ok {
						return unknownKey(e, parts[j:])
					}
				}
				return unknown(e, parts[len(parts)-1])
			}
			return "there is no such setting"
		default:
			return strings.Join(parts[:i], ".") + " is no object"
		}
	}
	return "there is no such setting"
}

// elem is the type of what is in t, or t itself.
func elem(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	return t
}
