package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/tool"
)

func TestDecodeNested(t *testing.T) {
	for _, c := range []struct{ in, want, err string }{
		{in: `{"edits":[{"find":"a","replace":"b"}]}`, want: `{"edits":[{"old":"a","new":"b","all":false,"n":1}]}`},
		{in: `{"edits":"[{\"old_string\":\"a\",\"all\":\"true\",\"n\":\"+2 \"}]","from":"3"}`, want: `{"edits":[{"old":"a","all":true,"n":2}],"offset":3}`},
		{in: `{"edits":{"old":"<a & b>"}}`, want: `{"edits":[{"old":"<a & b>","all":false,"n":1}]}`},
		{in: `{"edits":[{"old":"x","new":null}],"env":{"A":1}}`, want: `{"edits":[{"old":"x","all":false,"n":1}],"env":{"A":"1"}}`},
		{in: `{"edits":[{"old":"x"}],"offset":5,"from":5.0}`, want: `{"edits":[{"old":"x","all":false,"n":1}],"offset":5}`},
		{in: `{"edits":[{"old":"x"}],"offset":5,"from":6}`, err: `"offset" is given twice`},
		{in: `{"edits":[{"old":"x"},{"od":"y"}]}`, err: `edits[1]: there is no field "od"; did you mean "old"?`},
		{in: `{"edits":[]}`, err: "edits: at least 1 items are wanted, 0 came"},
		{in: `{"edits":null}`, err: "edits: array is wanted, null came"},
		{in: `{"edits":[{"old":"x"}],"kinds":["c"]}`, err: `kinds[0]: one of ["a","b"] is wanted`},
		{in: `{"edits":[{"old":"x"}],"level":"mid"}`, err: `level: one of ["low","high"] is wanted, "mid" came`},
		{in: `{"edits":[{"old":"x"}],"small":300}`, err: "small: an integer from -128 to 127 is wanted, 300 came"},
		{in: `{"edits":[{"old":"x"}],"big":-1}`, err: "big: at least 0 is wanted"},
		{in: `{"edits":[{"old":"x"}],"big":18446744073709551616}`, err: "to 18446744073709551615 is wanted"},
		{in: `{"edits":[{"old":"x"}],"offset":1e999999999}`, err: "offset: integer is wanted"},
		{in: `{"edits":[{"old":"x"}],"offset":1e30}`, err: "offset: an integer from -9223372036854775808"},
		{in: `{"edits":[{"old":"x"}],"ratio":1e400}`, err: "ratio: a number of at most 64 bits"},
		{in: `{"edits":[{"old":"x"}],"offset":"+-5"}`, err: `offset: integer is wanted, the string "+-5" came`},
		{in: `{"edits":[{"old":"x"}],"addr":"nonsense"}`, err: "nonsense"},
		{in: `{"edits":[{"old":"x"}],"at":"yesterday"}`, err: "yesterday"},
		{in: `{"edits":[{"old":"x"}],"data":"%%"}`, err: "base64"},
		{in: `{"edits":[{"old":"x"}]} trailing`, err: "not JSON"},
		{in: `{"edits":[{"old":"` + strings.Repeat("x", 500) + `"`, err: "…"},
	} {
		v, err := tool.Decode[query](json.RawMessage(c.in))
		if c.err != "" {
			var ie *tool.InputError
			if !errors.As(err, &ie) || !strings.Contains(err.Error(), c.err) || len(err.Error()) > 700 {
				t.Errorf("%.200s: got %v, want %q", c.in, err, c.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.in, err)
			continue
		}
		// What came must be what its plain form is.
		var want query
		if err := json.Unmarshal([]byte(c.want), &want); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(v, want) {
			t.Errorf("%s: got %+v, want %+v", c.in, v, want)
		}
	}
}

func TestAllProblemsAtOnce(t *testing.T) {
	_, err := tool.Decode[query](json.RawMessage(`{"offset":"x","small":true,"big":[],"ratio":{},"kinds":"z","nope":1,"edits":3}`))
	var ie *tool.InputError
	if !errors.As(err, &ie) || len(ie.Problems) != 5 {
		t.Errorf("got %v", err)
	}
}

func TestNormalize(t *testing.T) {
	tl := tool.New(tool.Spec{Name: "Edit"}, func(context.Context, edit) (string, error) { return "", nil })
	got, err := tl.(tool.Normalizer).Normalize(json.RawMessage(`{"find" : "a", "n":"2"}`))
	if want := `{"old":"a","n":2,"all":false}`; err != nil || string(got) != want {
		t.Errorf("got %s, %v; want %s", got, err, want)
	}
	const asItIs = `{"old": "a",  "all":true, "n":3}`
	if got, err := tl.(tool.Normalizer).Normalize(json.RawMessage(asItIs)); err != nil || string(got) != asItIs {
		t.Errorf("what needed no change became %s, %v", got, err)
	}
}

func TestWhatAToolReturns(t *testing.T) {
	type in struct{}
	call := &tool.Call{ID: "1", Name: "T"}
	for name, c := range map[string]struct {
		t            tool.Tool
		text, detail string
	}{
		"text":   {tool.New(tool.Spec{Name: "T"}, func(context.Context, in) (string, error) { return "a<b", nil }), "a<b", ""},
		"parts":  {tool.New(tool.Spec{Name: "T"}, func(context.Context, in) (llm.Parts, error) { return llm.Texts("x", "y"), nil }), "xy", ""},
		"result": {tool.New(tool.Spec{Name: "T"}, func(context.Context, in) (*tool.Result, error) { return tool.Text("r"), nil }), "r", ""},
		"value": {tool.New(tool.Spec{Name: "T"}, func(context.Context, in) (map[string]string, error) {
			return map[string]string{"k": "<v>"}, nil
		}), `{"k":"<v>"}`, `{"k":"<v>"}`},
		"the call": {tool.New(tool.Spec{Name: "T"}, func(ctx context.Context, _ in) (string, error) {
			return tool.FromContext(ctx).ID, nil
		}), "1", ""},
	} {
		res, err := tool.Run(t.Context(), c.t, call)
		if err != nil || res.Parts.Text() != c.text || string(res.Detail) != c.detail {
			t.Errorf("%s: %+v, %v", name, res, err)
		}
	}
	for name, tl := range map[string]tool.Tool{
		"a nil result": tool.New(tool.Spec{Name: "T"}, func(context.Context, in) (*tool.Result, error) { return nil, nil }),
		"no JSON form": tool.New(tool.Spec{Name: "T"}, func(context.Context, in) (chan int, error) { return nil, nil }),
		"an error":     tool.New(tool.Spec{Name: "T"}, func(context.Context, in) (string, error) { return "", errors.New("no") }),
	} {
		if res, err := tool.Run(t.Context(), tl, call); err == nil || res != nil {
			t.Errorf("%s: %+v, %v", name, res, err)
		}
	}
	if tool.FromContext(t.Context()) != nil {
		t.Error("there is a call where none is served")
	}
}

func TestAccessFor(t *testing.T) {
	access := tool.AccessFor(func(_ context.Context, c *tool.Call, in edit) ([]tool.Access, error) {
		return []tool.Access{{Op: tool.Read, Target: c.Dir + in.Old}}, nil
	})
	got, err := access(t.Context(), &tool.Call{Dir: "/w/", Input: json.RawMessage(`{"find":"x"}`)})
	if err != nil || len(got) != 1 || got[0].Target != "/w/x" {
		t.Errorf("got %v, %v", got, err)
	}
	var ie *tool.InputError
	if _, err := access(t.Context(), &tool.Call{Input: json.RawMessage(`[]`)}); !errors.As(err, &ie) {
		t.Errorf("got %v", err)
	}
}

func TestValidateKeywords(t *testing.T) {
	for _, c := range []struct{ schema, value, err string }{
		{`{"patternProperties":{"^x-":{"type":"string"}},"additionalProperties":false}`, `{"x-a":"b"}`, ""},
		{`{"patternProperties":{"^x-":{"type":"string"}},"additionalProperties":false}`, `{"x-a":1}`, "x-a: string is wanted"},
		{`{"patternProperties":{"^x-":{"type":"string"}},"additionalProperties":false}`, `{"y":1}`, `no field "y"; there are no fields`},
		{`{"patternProperties":{"(?=x)":{}},"additionalProperties":false}`, `{"y":1}`, ""},
		{`{"type":"string","nullable":true}`, `null`, ""},
		{`{"not":{"type":"string"}}`, `"x"`, "ruled out"},
		{`{"not":{"type":"string"}}`, `1`, ""},
		{`{"minProperties":1}`, `{}`, "at least 1 fields"},
		{`{"prefixItems":[{"type":"string"}],"items":{"type":"integer"}}`, `["a",1,"b"]`, "[2]: integer is wanted"},
		{`{"items":[{"type":"string"}]}`, `[1]`, ""},
		{`{"enum":[1.0,"a",{"k":[1,2]}]}`, `1`, ""},
		{`{"enum":[1.0,"a",{"k":[1,2],"l":null}]}`, `{"l":null,"k":[1,2.0]}`, ""},
		{`{"enum":[1.0,"a"]}`, `"b"`, `one of [1.0,"a"] is wanted`},
		{`{"type":"integer"}`, `5.0`, ""},
		{`{"type":"integer"}`, `5.5`, "integer is wanted"},
		{`{"type":"integer"}`, `0.0e-9`, ""},
		{`{"type":"integer"}`, `1.50e1`, ""},
		{`{"maximum":9007199254740992}`, `9007199254740993`, "at most 9007199254740992"},
		{`{"maximum":1}`, `1e1000000000`, "at most 1 is wanted"},
		{`{"minimum":0}`, `-1e1000000000`, "at least 0 is wanted"},
		{`{"exclusiveMinimum":true,"minimum":1}`, `1`, ""},
		{`{"maxLength":3}`, `"äöü"`, ""},
		{`{"pattern":"^(?!x)"}`, `"x"`, ""},
		{`{"$ref":"#/$defs/a~1b"," $defs":1,"$defs":{"a/b":{"type":"null"}}}`, `1`, "null is wanted"},
		{`{"$ref":"https://example.com/s"}`, `1`, ""},
		{`{"properties":{"a":false}}`, `{"a":1}`, "a: nothing may be here"},
		{`{"anyOf":[{"type":"string"},{"type":"object","required":["q"]}]}`, `{}`, `none of the forms that are allowed: string is wanted, an object came; or the field "q" is missing`},
		{`not a schema`, `1`, ""},
		{`false`, `1`, "nothing may be here"},
		{`{}`, `{"a":}`, "not JSON"},
		{`{}`, ``, "not JSON"},
		{`{"properties":{"n":{"type":"object","properties":{"n":{"type":"string"}}}}}`, `{"n":{"n":1}}`, "n.n: string is wanted"},
	} {
		err := tool.Validate(json.RawMessage(c.schema), json.RawMessage(c.value))
		if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%s against %s: got %v, want %q", c.value, c.schema, err, c.err)
		}
	}
}

// TestHostileSchemas would take for ever, or more memory than there is, if the
// work were not bounded.
func TestHostileSchemas(t *testing.T) {
	start := time.Now()
	deep := strings.Repeat(`{"items":`, 5000) + "{}" + strings.Repeat("}", 5000)
	for _, c := range []struct {
		schema, value string
		bad           bool
	}{
		{`{"anyOf":[{"$ref":"#"},{"$ref":"#"},{"$ref":"#"}]}`, `1`, true},
		{`{"allOf":[{"$ref":"#"},{"$ref":"#"}]}`, `"` + strings.Repeat("x", 10_000) + `"`, true},
		{`{"not":{"not":{"$ref":"#"}}}`, `1`, true},
		{deep, strings.Repeat("[", 5000) + strings.Repeat("]", 5000), true},
		{`{"type":"integer","enum":[1e999999999]}`, `1e999999999`, true},
		{`{"pattern":"((a*)*)*b"}`, `"` + strings.Repeat("a", 5000) + `"`, true},
		{`{"items":{"type":"integer"}}`, "[" + strings.Repeat("1,", 200_000) + "1]", false},
	} {
		if err := tool.Validate(json.RawMessage(c.schema), json.RawMessage(c.value)); (err != nil) != c.bad {
			t.Errorf("%.80s: %v", c.schema, err)
		}
	}
	if d := time.Since(start); d > 10*time.Second {
		t.Errorf("it took %v", d)
	}
}

// TestWideObjects has more fields than any tool: what is allowed takes linear
// time, and what is not is told and no more.
func TestWideObjects(t *testing.T) {
	var b strings.Builder
	for i := range 200_000 {
		fmt.Fprintf(&b, `,"some_name_%d":"%d"`, i, i)
	}
	start := time.Now()
	v, err := tool.Decode[query](json.RawMessage(`{"edits":[{"old":"x"}],"env":{` + b.String()[1:] + `}}`))
	if err != nil || len(v.Env) != 200_000 {
		t.Errorf("%d fields, %v", len(v.Env), err)
	}
	var ie *tool.InputError
	if _, err := tool.Decode[query](json.RawMessage(`{"edits":[{"old":"x"}]` + b.String() + `}`)); !errors.As(err, &ie) || len(ie.Problems) != 5 || len(err.Error()) > 2000 {
		t.Errorf("got %v", err)
	}
	if err := tool.Validate(tool.SchemaFor[query](), json.RawMessage(`{`+b.String()[1:]+`}`)); !errors.As(err, &ie) || len(ie.Problems) != 5 {
		t.Errorf("got %v", err)
	}
	if d := time.Since(start); d > 10*time.Second {
		t.Errorf("it took %v", d)
	}
}

func TestUnknownOfMany(t *testing.T) {
	var names []string
	for range 500 {
		names = append(names, "mcp__server__"+strings.Repeat("tool", 10))
	}
	if got := tool.Unknown(strings.Repeat("x", 5000), names).Parts.Text(); len(got) > 3000 || !strings.Contains(got, "and 460 more") {
		t.Errorf("%d bytes: %s", len(got), got)
	}
	if got := tool.Unknown("x", nil); !got.IsError || !strings.Contains(got.Parts.Text(), "There are no tools") {
		t.Errorf("got %+v", got)
	}
	if got := tool.Nearest("read_file", []string{"R", "Edit", "Read", "ReadFile"}, 5); len(got) != 2 || got[0] != "ReadFile" || got[1] != "Read" {
		t.Errorf("got %q", got)
	}
}

func TestCanonicalKeepsWhatItCannotRead(t *testing.T) {
	for in, want := range map[string]string{
		`{"b":[ 1.50, 1e400 ],"a":"<"}`: `{"a":"<","b":[1.50,1e400]}`,
		`{"a":1} x`:                     `{"a":1} x`,
		``:                              ``,
		`{"a":`:                         `{"a":`,
	} {
		if got := string(tool.Canonical(json.RawMessage(in))); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, s := range []string{
		`{"edits":[{"old":"x"}]}`, `{"edits":"[{\"find\":\"x\"}]","offset":"5"}`, `null`, `{"ratio":1e400,"edits":{"old":1}}`,
		`{"edits":[{"old":"\ud800"}],"env":{"":"\u0000"}}`, ` {"edits" : [ {"old":"a" , "n" : 2.0 } ] } `,
		`{"edits":[{"old":""}],"any":[{"a":{}}],"data":"AA==","at":"2020-01-01T00:00:00Z","addr":"::1"}`,
	} {
		f.Add([]byte(s))
	}
	norm := tool.New(tool.Spec{Name: "T"}, func(context.Context, query) (string, error) { return "", nil }).(tool.Normalizer)
	schema := tool.SchemaFor[query]()
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := tool.Decode[query](b)
		if err != nil {
			var ie *tool.InputError
			if !errors.As(err, &ie) || len(err.Error()) > 5000 {
				t.Fatalf("%T: %v", err, err)
			}
			return
		}
		form, err := norm.Normalize(b)
		if err != nil {
			t.Fatalf("%s is decoded and not normalized: %v", b, err)
		}
		if again, err := norm.Normalize(form); err != nil || string(again) != string(form) {
			t.Fatalf("%s has the form %s, and that has %s, %v", b, form, again, err)
		}
		if err := tool.Validate(schema, form); err != nil {
			t.Fatalf("the form %s of %s is not valid: %v", form, b, err)
		}
		if w, err := tool.Decode[query](form); err != nil || !reflect.DeepEqual(v, w) {
			t.Errorf("%s is %+v, and its form %s is %+v, %v", b, v, form, w, err)
		}
	})
}

func FuzzValidate(f *testing.F) {
	f.Add([]byte(`{"type":"object","properties":{"a":{"$ref":"#"}},"anyOf":[{},false]}`), []byte(`{"a":{}}`))
	f.Add([]byte(`{"enum":[1.0,{"a":[1e5]}],"patternProperties":{"a":{}},"not":{}}`), []byte(`{"a":[100000]}`))
	f.Fuzz(func(t *testing.T, schema, value []byte) {
		start := time.Now()
		_ = tool.Validate(schema, value)
		_ = tool.Canonical(value)
		if d := time.Since(start); d > 5*time.Second {
			t.Errorf("it took %v", d)
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	big, _ := json.Marshal(map[string]any{"edits": []edit{{Old: strings.Repeat("line of text\n", 80_000)}}})
	for name, in := range map[string]string{
		"plain":   `{"edits":[{"old":"a","new":"b","all":true,"n":2}],"offset":5,"limit":10}`,
		"coerced": `{"edits":[{"find":"a","replace":"b"}],"from":"5"}`,
		"large":   string(big),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(in)))
			for b.Loop() {
				if _, err := tool.Decode[query](json.RawMessage(in)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
