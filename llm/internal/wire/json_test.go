package wire_test

import (
	"bytes"
	"encoding/json"
	"io"
	"log"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/llm/internal/wire"
)

func discard() *log.Logger { return log.New(io.Discard, "", 0) }

func TestAppendString(t *testing.T) {
	for _, s := range []string{"", "plain", "a\"b\\c", "\n\r\t\x00\x1f\x7f", "漢字 é 🙂", "<&>", "\u2028", "\xff\xfe", "a\xe6\xbc", "\xed\xa0\x80", "\ufffd"} {
		b := wire.AppendString([]byte("x"), s)
		var got string
		if err := json.Unmarshal(b[1:], &got); err != nil || b[0] != 'x' {
			t.Errorf("%q: %s: %v", s, b, err)
		}
		if want := strings.ToValidUTF8(s, "\ufffd"); len([]rune(got)) < len([]rune(want)) || strings.ReplaceAll(got, "\ufffd", "") != strings.ReplaceAll(want, "\ufffd", "") {
			t.Errorf("%q became %q", s, got)
		}
	}
}

func FuzzAppendString(f *testing.F) {
	f.Add("a\"\xff漢\n")
	f.Fuzz(func(t *testing.T, s string) {
		var want, got string
		std, _ := json.Marshal(s)
		_ = json.Unmarshal(std, &want)
		if err := json.Unmarshal(wire.AppendString(nil, s), &got); err != nil || got != want {
			t.Fatalf("%q became %q, %v; want %q", s, got, err, want)
		}
	})
}

func TestMerge(t *testing.T) {
	tests := []struct{ body, extra, want string }{
		{`{"a":1,"m":[1,{"x":"}],"}]}`, ``, `{"a":1,"m":[1,{"x":"}],"}]}`},
		{`{"a":1,"m":[1,{"x":"}],\""}]}`, `{"z":{"y":[2]},"b":"2"}`, `{"b":"2","z":{"y":[2]},"a":1,"m":[1,{"x":"}],\""}]}`},
		{`{"a": 1 , "b":2}`, `{"a":"x"}`, `{"a":"x","b":2}`},
		{`{"a":1,"b":2}`, `{"a":null,"c":null}`, `{"b":2}`},
		{`{}`, `{"a":1}`, `{"a":1}`},
		{`{"":1,"q\"":2}`, `{"q\"":3}`, `{"":1,"q\"":3}`},
	}
	for _, tt := range tests {
		got, err := wire.Merge([]byte(tt.body), json.RawMessage(tt.extra))
		if err != nil || string(got) != tt.want {
			t.Errorf("%s + %s = %s, %v; want %s", tt.body, tt.extra, got, err, tt.want)
		}
	}
	for _, extra := range []string{`[1]`, `{`, `null`, `"x"`} {
		if _, err := wire.Merge([]byte(`{}`), json.RawMessage(extra)); err == nil || !strings.Contains(err.Error(), "extra fields") {
			t.Errorf("%s: %v", extra, err)
		}
	}
}

func FuzzMerge(f *testing.F) {
	f.Add([]byte(`{"a":1,"b":{"c":[",:"]}}`), []byte(`{"b":"\"","d":2}`))
	f.Fuzz(func(t *testing.T, body, extra []byte) {
		var b, x map[string]json.RawMessage
		if json.Unmarshal(body, &b) != nil || b == nil || json.Unmarshal(extra, &x) != nil || x == nil {
			return
		}
		merged, err := wire.Merge(bytes.TrimSpace(body), extra)
		if err != nil {
			t.Fatal(err)
		}
		var got map[string]json.RawMessage
		if err := json.Unmarshal(merged, &got); err != nil {
			t.Fatalf("%s + %s = %s: %v", body, extra, merged, err)
		}
		for k, v := range x {
			if string(v) != "null" && string(got[k]) != string(v) {
				t.Fatalf("%s + %s = %s", body, extra, merged)
			}
		}
	})
}

func TestInput(t *testing.T) {
	tests := []struct{ in, want, bad string }{
		{"", "{}", ""},
		{" ", "{}", ""},
		{"null", "{}", ""},
		{`""`, "{}", ""},
		{`{"a":1}`, `{"a":1}`, ""},
		{` {"a":1} `, `{"a":1}`, ""},
		{`{"a":`, "{}", `{"a":`},
		{`{"a":1}{"b":2}`, "{}", `{"a":1}{"b":2}`},
		{`[]`, "{}", `[]`},
		{`"x"`, "{}", `"x"`},
		{`42`, "{}", `42`},
	}
	for _, tt := range tests {
		got, bad := wire.Input(tt.in)
		if string(got) != tt.want || bad != tt.bad {
			t.Errorf("%q: %s, %q", tt.in, got, bad)
		}
	}
}
