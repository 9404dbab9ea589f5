package tool_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/tool"
)

// plain is the canonical form, the long way.
func plain(raw []byte) []byte {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if !json.Valid(raw) || dec.Decode(&v) != nil {
		return raw
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(v) != nil {
		return raw
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

var canonicalForms = []string{
	``, ` `, `{`, `null`, ` [ ] `, `{ }`, `"a"`, ` 1.50e3 `, `{"b":1,"a":2}`, `{"a":1,"a":2}`, `{"b":1,"a":{"d":[1, 2 ,{"f":1,"e":"x"}],"c":null}}`,
	`{"\u0061":1,"b":2}`, `{"b":2,"\u0061":1}`, "{\"k\":\"\u2028\"}", `{"k":"\u2028"}`, `{"k":"\/\n\"<>&"}`, `{"k":"\ud800"}`, "{\"k\":\"\xff\"}", "{\"\xff\":1,\"a\":2}",
	`{"z":1,"y":2,"x":3,"z":4}`, `{"":1}`, `{"k":"\\"}`, `[{"b":[{"d":1,"c":2}],"a":"q"}]`,
	strings.Repeat(`{"b":1,"a":`, 100) + `0` + strings.Repeat(`}`, 100), strings.Repeat(`[`, 300) + strings.Repeat(`]`, 300),
	`{"a":1} x`, `{"a":01}`, "{\"a\u00e9\":\"\u00e9\u007f\"}",
}

func TestCanonicalIsTheLongWay(t *testing.T) {
	for _, s := range canonicalForms {
		if got, want := tool.Canonical(json.RawMessage(s)), plain([]byte(s)); !bytes.Equal(got, want) {
			t.Errorf("%.100s: %.100s, want %.100s", s, got, want)
		}
	}
}

func FuzzCanonical(f *testing.F) {
	for _, s := range canonicalForms {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if got, want := tool.Canonical(b), plain(b); !bytes.Equal(got, want) {
			t.Errorf("%q: %q, want %q", b, got, want)
		}
	})
}

func BenchmarkCanonical(b *testing.B) {
	raw := json.RawMessage(`{"file_path":"/home/u/project/main.go","offset":100,"limit":200,"pages":""}`)
	for b.Loop() {
		tool.Canonical(raw)
	}
}
