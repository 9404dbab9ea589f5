package tool_test

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/cantle-dev/cantle/tool"
)

type level string

func (level) JSONSchema() json.RawMessage {
	return json.RawMessage(` { "type" : "string", "enum": ["low","high"] } `)
}

type selfReader struct{ X int }

func (*selfReader) UnmarshalJSON([]byte) error { return nil }

type page struct {
	Offset int `json:"offset,omitempty" min:"0" alias:"from"`
	Limit  int `json:"limit" default:"50"`
}

type query struct {
	page
	Limit  int               `json:"limit,omitempty"` // hides the embedded one
	Edits  []edit            `json:"edits" min:"1"`
	Env    map[string]string `json:"env,omitempty"`
	Kinds  []string          `json:"kinds,omitempty" enum:"a,b"`
	Level  level             `json:"level,omitempty" doc:"how <much> & more"`
	Any    json.RawMessage   `json:"any,omitempty"`
	Addr   netip.Addr        `json:"addr,omitzero"`
	At     time.Time         `json:"at,omitzero"`
	Small  int8              `json:"small,omitempty"`
	Big    uint64            `json:"big,omitempty"`
	Ratio  *float64          `json:"ratio"`
	Data   []byte            `json:"data,omitempty"`
	Hidden string            `json:"-"`
	secret string
}

type edit struct {
	Old string `json:"old" alias:"old_string,find"`
	New string `json:"new,omitempty" alias:"replace"`
	All bool   `json:"all,omitempty" default:"false"`
	N   int    `json:"n,omitempty" default:"1"`
}

func ExampleSchemaFor() {
	type in struct {
		Path  string `json:"path" doc:"the file to read"`
		Lines int    `json:"lines,omitempty" min:"1" default:"100"`
	}
	fmt.Println(string(tool.SchemaFor[in]()))
	// Output:
	// {"type":"object","properties":{"path":{"type":"string","description":"the file to read"},"lines":{"type":"integer","minimum":1,"default":100}},"required":["path"],"additionalProperties":false}
}

func TestSchemaOfEveryType(t *testing.T) {
	const want = `{"type":"object","properties":{` +
		`"offset":{"type":"integer","minimum":0},` +
		`"limit":{"type":"integer"},` +
		`"edits":{"type":"array","items":{"type":"object","properties":{"old":{"type":"string"},"new":{"type":"string"},` +
		`"all":{"type":"boolean","default":false},"n":{"type":"integer","default":1}},"required":["old"],"additionalProperties":false},"minItems":1},` +
		`"env":{"type":"object","additionalProperties":{"type":"string"}},` +
		`"kinds":{"type":"array","items":{"type":"string","enum":["a","b"]}},` +
		`"level":{"type":"string","enum":["low","high"],"description":"how <much> & more"},` +
		`"any":{},"addr":{"type":"string"},"at":{"type":"string","format":"date-time"},` +
		`"small":{"type":"integer"},"big":{"type":"integer","minimum":0},"ratio":{"type":"number"},` +
		`"data":{"type":"string","contentEncoding":"base64"}},"required":["edits"],"additionalProperties":false}`
	if got := string(tool.SchemaFor[query]()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	_ = query{}.secret
}

func panics(f func()) (text string) {
	defer func() {
		if v := recover(); v != nil {
			text = fmt.Sprint(v)
		}
	}()
	f()
	return ""
}

type selfish struct{ Kids []selfish }

type unexported struct{ X int }

type Looped struct{ *Looped }

func TestBugsInTheProgramPanic(t *testing.T) {
	for name, c := range map[string]struct {
		do   func()
		want string
	}{
		"not a struct": {func() { tool.SchemaFor[string]() }, "string is not a struct"},
		"a channel":    {func() { tool.SchemaFor[struct{ C chan int }]() }, "cannot come from JSON"},
		"a function":   {func() { tool.SchemaFor[struct{ F func() }]() }, "cannot come from JSON"},
		"a duration":   {func() { tool.SchemaFor[struct{ D time.Duration }]() }, "use a number"},
		"an interface": {func() { tool.SchemaFor[struct{ S fmt.Stringer }]() }, "type fmt.Stringer cannot come from JSON"},
		"int keys":     {func() { tool.SchemaFor[struct{ M map[int]string }]() }, "cannot come from JSON"},
		"itself":       {func() { tool.SchemaFor[selfish]() }, "contains itself"},
		"no way in":    {func() { tool.SchemaFor[struct{ *unexported }]() }, "which JSON cannot fill"},
		"its own":      {func() { tool.SchemaFor[Looped]() }, "embeds itself"},
		"bad number": {func() {
			tool.SchemaFor[struct {
				N int `min:"x"`
			}]()
		}, "not a number"},
		"min of a string": {func() {
			tool.SchemaFor[struct {
				N string `min:"1"`
			}]()
		}, "not for a field of this type"},
		"bad pattern": {func() {
			tool.SchemaFor[struct {
				N string `pattern:"("`
			}]()
		}, "regular expression"},
		"bad default": {func() {
			tool.SchemaFor[struct {
				N int `default:"9" max:"8"`
			}]()
		}, "at most 8"},
		"default of another type": {func() {
			tool.SchemaFor[struct {
				N bool `default:"1"`
			}]()
		}, "boolean is wanted"},
		"one alias twice": {func() {
			tool.SchemaFor[struct {
				A string `alias:"x"`
				B string `alias:"x"`
			}]()
		}, `go by "x"`},
		"an alias that is a name": {func() {
			tool.SchemaFor[struct {
				A string `json:"a" alias:"b"`
				B string `json:"b"`
			}]()
		}, `go by "b"`},
		"own reader": {func() { tool.SchemaFor[struct{ R selfReader }]() }, "must have a method JSONSchema"},
		"string option": {func() {
			tool.SchemaFor[struct {
				N int `json:"n,string"`
			}]()
		}, "option string"},
	} {
		if got := panics(c.do); !strings.Contains(got, c.want) {
			t.Errorf("%s: panics with %q, want %q", name, got, c.want)
		}
	}
}
