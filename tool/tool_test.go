package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/tool"
)

type order struct {
	City  string   `json:"city" doc:"the city" alias:"town,place" minLength:"1"`
	Days  int      `json:"days,omitempty" min:"1" max:"7" default:"3"`
	Unit  string   `json:"unit,omitempty" enum:"C,F"`
	Tags  []string `json:"tags,omitempty" max:"2"`
	Exact *bool    `json:"exact"`
	Sub   struct {
		N float64 `json:"n"`
	} `json:"sub,omitzero"`
}

func ExampleNew() {
	weather := tool.New(tool.Spec{Name: "Weather", ReadOnly: true, Access: tool.NoAccess},
		func(_ context.Context, in order) (string, error) { return fmt.Sprint(in.City, " ", in.Days), nil })
	res, _ := tool.Run(context.Background(), weather, &tool.Call{Input: json.RawMessage(`{"town":"Oslo","days":"5"}`)})
	fmt.Println(res.Parts.Text())
	_, err := tool.Run(context.Background(), weather, &tool.Call{Input: json.RawMessage(`{"citty":"Oslo","days":9}`)})
	fmt.Println(err)
	// Output:
	// Oslo 5
	// invalid arguments:
	// - there is no field "citty"; did you mean "city"?
	// - days: at most 7 is wanted, 9 came
	// - the field "city" is missing
}

func TestSchemaIsInFieldOrder(t *testing.T) {
	const want = `{"type":"object","properties":{"city":{"type":"string","description":"the city","minLength":1},` +
		`"days":{"type":"integer","minimum":1,"maximum":7,"default":3},"unit":{"type":"string","enum":["C","F"]},` +
		`"tags":{"type":"array","items":{"type":"string"},"maxItems":2},"exact":{"type":"boolean"},` +
		`"sub":{"type":"object","properties":{"n":{"type":"number"}},"required":["n"],"additionalProperties":false}},` +
		`"required":["city"],"additionalProperties":false}`
	if got := string(tool.SchemaFor[order]()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestDecode(t *testing.T) {
	for _, c := range []struct{ in, want, err string }{
		{in: `{"city":"x"}`, want: `{"city":"x","days":3,"exact":null}`},
		{in: `{"city":"x","days":" +5 ","tags":"a","exact":"true"}`, want: `{"city":"x","days":5,"tags":["a"],"exact":true}`},
		{in: `{"city":"x","days":5.0,"tags":"[\"a\",\"b\"]","sub":"{\"n\":1}"}`, want: `{"city":"x","days":5,"tags":["a","b"],"exact":null,"sub":{"n":1}}`},
		{in: `{"city":7}`, want: `{"city":"7","days":3,"exact":null}`},
		{in: `{"city":"x","unit":null}`, want: `{"city":"x","days":3,"exact":null}`},
		{in: ``, err: `the field "city" is missing`},
		{in: `null`, err: "an object is wanted, null came"},
		{in: `[]`, err: "an object is wanted, an array came"},
		{in: `"x"`, err: `an object is wanted, the string "x" came`},
		{in: `42`, err: "an object is wanted, the integer 42 came"},
		{in: `{"city":`, err: "not JSON"},
		{in: `{"city":"x","town":"y"}`, err: `"city" is given twice`},
		{in: `{"city":""}`, err: "at least 1 characters"},
		{in: `{"city":"x","days":2.5}`, err: "days: integer is wanted, the number 2.5 came"},
		{in: `{"city":"x","unit":"K"}`, err: `unit: one of ["C","F"] is wanted`},
		{in: `{"city":"x","tags":["a","b","c"]}`, err: "at most 2 items"},
		{in: `{"city":"x","sub":{"m":1}}`, err: `sub: there is no field "m"`},
	} {
		v, err := tool.Decode[order](json.RawMessage(c.in))
		if c.err != "" {
			var ie *tool.InputError
			if !errors.As(err, &ie) || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: got %v, want %q", c.in, err, c.err)
			}
			continue
		}
		b, _ := json.Marshal(v)
		if err != nil || string(b) != c.want {
			t.Errorf("%s: got %s, %v; want %s", c.in, b, err, c.want)
		}
	}
}

func TestValidate(t *testing.T) {
	const schema = `{"$defs":{"p":{"type":"object","properties":{"x":{"type":"number","exclusiveMinimum":0}},"required":["x"]}},
		"type":"object","properties":{"p":{"$ref":"#/$defs/p"},"k":{"const":"a"},"u":{"anyOf":[{"type":"string"},{"type":"null"}]},
		"o":{"oneOf":[{"type":"integer"},{"type":"number"}]},"t":{"type":["string","integer"]}},"additionalProperties":{"type":"boolean"}}`
	for in, want := range map[string]string{
		`{"p":{"x":1},"k":"a","u":null,"t":3,"more":true}`: "",
		`{"p":{"x":0}}`: "p.x: more than 0 is wanted",
		`{"p":{}}`:      `p: the field "x" is missing`,
		`{"k":"b"}`:     `k: "a" is wanted`,
		`{"u":3}`:       "u: it fits none of the forms",
		`{"o":3}`:       "o: it fits more than one",
		`{"t":true}`:    "t: string or integer is wanted",
		`{"more":"no"}`: "more: boolean is wanted",
		`{"t":"5"}`:     "",
	} {
		err := tool.Validate(json.RawMessage(schema), json.RawMessage(in))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %v, want %q", in, err, want)
		}
	}
}

func TestDeepValueIsRefused(t *testing.T) {
	const schema = `{"type":"object","properties":{"a":{"$ref":"#"}}}`
	deep := strings.Repeat(`{"a":`, 500) + "{}" + strings.Repeat("}", 500)
	if err := tool.Validate(json.RawMessage(schema), json.RawMessage(deep)); err == nil {
		t.Error("a value of depth 500 passed")
	}
	if err := tool.Validate(json.RawMessage(`{"$ref":"#"}`), json.RawMessage(`{}`)); err == nil {
		t.Error("a schema that refers to itself passed")
	}
}

func TestRunCatchesPanics(t *testing.T) {
	bad := tool.New(tool.Spec{Name: "Bad"}, func(context.Context, struct{}) (string, error) { panic("boom") })
	_, err := tool.Run(t.Context(), bad, &tool.Call{Name: "Bad"})
	var p *tool.PanicError
	if !errors.As(err, &p) || !strings.Contains(err.Error(), "boom") || strings.Contains(err.Error(), ".go:") || len(p.Stack) == 0 {
		t.Errorf("got %v", err)
	}
}

func TestUnknownNamesTheNearest(t *testing.T) {
	names := []string{"Read", "Write", "Edit", "Bash", "Grep"}
	for in, want := range map[string]string{"read_file": "Read", "Read\n": "Read", "grp": "Grep", "BASH": "Bash", "edit_file": "Edit"} {
		if got := tool.Unknown(in, names).Parts.Text(); !strings.Contains(got, "Did you mean "+want) {
			t.Errorf("%q: %s", in, got)
		}
	}
}

func TestCanonical(t *testing.T) {
	a, b := tool.Canonical(json.RawMessage(`{"b":1.0, "a":[1,2]}`)), tool.Canonical(json.RawMessage(`{"a":[1,2],"b":1.0}`))
	if string(a) != string(b) {
		t.Errorf("%s and %s", a, b)
	}
}
