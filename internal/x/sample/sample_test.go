package sample_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/internal/x/sample"
)

func TestValue(t *testing.T) {
	for _, c := range []struct{ schema, want string }{
		{``, `{}`},
		{`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"required":["b"]}`, `{"b":"text"}`},
		{`{"enum":["x","y"]}`, `"x"`},
		{`{"const":7,"type":"integer"}`, `7`},
		{`{"type":"integer","default":5}`, `5`},
		{`{"type":"integer","minimum":3}`, `3`},
		{`{"type":"integer","exclusiveMinimum":3}`, `4`},
		{`{"type":"integer","maximum":-3}`, `-3`},
		{`{"type":"integer","exclusiveMaximum":1}`, `0`},
		{`{"type":"integer","minimum":3,"multipleOf":5}`, `5`},
		{`{"type":"number","minimum":0.2,"maximum":0.4}`, `0.30000000000000004`},
		{`{"type":"number","exclusiveMinimum":0,"exclusiveMaximum":1}`, `0.5`},
		{`{"type":"string","minLength":6}`, `"textxx"`},
		{`{"type":"string","maxLength":2}`, `"xt"`},
		{`{"type":"string","format":"date"}`, `"2026-01-02"`},
		{`{"type":"string","pattern":"^[A-Z]{2}-\\d+$"}`, `"AA-0"`},
		{`{"type":["null","boolean"]}`, `false`},
		{`{"type":"array","items":{"type":"integer"}}`, `[]`},
		{`{"type":"array","items":{"type":"integer"},"minItems":2}`, `[1,1]`},
		{`{"type":"array","items":{"type":"integer"},"minItems":2,"uniqueItems":true}`, `[1,2]`},
		{`{"anyOf":[{"type":"null"},{"type":"string"}]}`, `null`},
		{`{"type":"object","properties":{"n":{"$ref":"#/$defs/n"}},"required":["n"],"$defs":{"n":{"type":"object","properties":{"v":{"type":"boolean"},"next":{"$ref":"#/$defs/n"}},"required":["v"]}}}`, `{"n":{"v":false}}`},
		{`{"$ref":"#/$defs/n","$defs":{"n":{"anyOf":[{"type":"object","properties":{"n":{"$ref":"#/$defs/n"}},"required":["n"]},{"type":"integer"}]}}}`, ``},
		{`{"allOf":[{"type":"object","required":["a"]},{"properties":{"a":{"type":"integer"}},"required":["a"]}]}`, `{"a":1}`},
	} {
		got, err := sample.Value(json.RawMessage(c.schema), sample.Options{})
		if err != nil || c.want != "" && string(got) != c.want {
			t.Errorf("%s: got %s %v, want %s", c.schema, got, err, c.want)
		}
	}
	for schema, want := range map[string]string{
		`{"$ref":"#/$defs/n","$defs":{"n":{"type":"object","properties":{"n":{"$ref":"#/$defs/n"}},"required":["n"]}}}`: "endless",
		`{"$ref":"#/$defs/zz"}`:                                                "leads nowhere",
		`{"type":"integer","minimum":5,"maximum":4}`:                           "within its limits",
		`{"type":"array","items":{"const":1},"minItems":2,"uniqueItems":true}`: "different items",
		`{"type":`: "unexpected end",
		`{"type":"object","required":["a","b"],"properties":{"a":{"$ref":"#"},"b":{"$ref":"#"}}}`: "endless",
		`{"anyOf":[{"$ref":"#"},{"$ref":"#"},{"$ref":"#"}]}`:                                      "endless",
		`{"$ref":"http://example.com/x"}`:                                                         "outside the document",
		`{"type":"array","minItems":1000000000,"items":{"type":"array","minItems":1000000000}}`:   "endless",
		`{"type":"array","minItems":9999,"items":{"type":"array","minItems":9999,"items":{}}}`:    "endless",
		`{"type":"object","minProperties":1000000000}`:                                            "endless",
		`{"type":"string","minLength":1000000000000}`:                                             "too long",
		`{"type":"string","maxLength":-1}`:                                                        "no text",
		`{"type":"string","pattern":"("}`:                                                         "pattern",
		`{"type":"string","pattern":"((((a{999}){999}){999}){999})"}`:                             "pattern",
		`{"type":"string","pattern":"a$b"}`:                                                       "no match",
	} {
		if got, err := sample.Value(json.RawMessage(schema), sample.Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %s, %v; want an error with %q", schema, got, err, want)
		}
	}
}

func TestOptions(t *testing.T) {
	opts := sample.Options{Word: "word", Text: func(p string) (string, bool) { return "the answer", p == "answer" }}
	for schema, want := range map[string]string{
		`{"type":"string"}`: `"word"`,
		`{"type":"object","properties":{"answer":{"type":"string"},"other":{"type":"string"}}}`:             `{"answer":"the answer"}`,
		`{"type":"object","properties":{"answer":{"type":"string","maxLength":3}}}`:                         `{"answer":"the"}`,
		`{"type":"object","properties":{"answer":{"type":"array","items":{"type":"string"},"minItems":1}}}`: `{"answer":["the answer"]}`,
		`{"type":"object","properties":{"answer":{"type":"integer","minimum":2,"maximum":1}}}`:              `{}`,
	} {
		if v, err := sample.Value(json.RawMessage(schema), opts); err != nil || string(v) != want {
			t.Errorf("%s: %s, %v, want %s", schema, v, err, want)
		}
	}
}

func ExampleValue() {
	v, err := sample.Value([]byte(`{"type":"object","required":["n"],"properties":{"n":{"type":"integer","minimum":3}}}`), sample.Options{})
	fmt.Println(string(v), err)
	// Output: {"n":3} <nil>
}
