package openai

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/internal/wire"
)

// call is a tool call on its way.
type call struct {
	place    int // in decoder.calls
	index    wire.Int
	id, name string
	args     strings.Builder
	custom   bool
	extra    json.RawMessage
}

// call adds a piece of a tool call. Servers number, name and identify the
// pieces in every way that there is: a piece belongs to the call of its index,
// unless it brings another id, or a name after arguments have come.
func (d *decoder) call(x callDelta) {
	name, args, custom := "", "", false
	if x.Function != nil {
		name, args = x.Function.Name, argText(x.Function.Arguments)
	}
	if x.Custom != nil && (x.Function == nil || x.Type == "custom") {
		name, args, custom = x.Custom.Name, x.Custom.Input, true
	}
	c := d.find(x.Index, x.ID, name, args)
	if c == nil {
		if name == "" && x.ID == "" && strings.TrimSpace(args) == "" {
			return // a ghost
		}
		c = &call{place: len(d.calls), index: wire.Int(len(d.calls))}
		if x.Index != nil {
			c.index = *x.Index
		}
		d.calls = append(d.calls, c)
	}
	if c.id == "" {
		c.id = x.ID
	}
	if c.name == "" {
		c.name = name
	}
	c.custom = c.custom || custom
	c.args.WriteString(args)
	if set(x.Extra) {
		c.extra = bytes.Clone(x.Extra)
	}
	d.out = append(d.out, llm.CallDelta{Index: c.place, ID: c.id, Name: c.name, Input: args})
}

func (d *decoder) find(index *wire.Int, id, name, args string) *call {
	trimmed := strings.TrimSpace(args)
	starts := name != "" && strings.HasPrefix(trimmed, "{")
	if id != "" {
		for i := len(d.calls) - 1; i >= 0; i-- {
			c := d.calls[i]
			if c.id == id && (index == nil || c.index == *index) {
				if starts && c.whole() {
					return nil // an id that is used again
				}
				return c
			}
		}
	}
	for i := len(d.calls) - 1; i >= 0; i-- {
		c := d.calls[i]
		if index != nil && c.index != *index {
			continue
		}
		switch {
		case id != "" && c.id != "":
			return nil // it is another id, whatever the index says
		case id == "" && name == c.name && trimmed != "" && !starts && !c.whole():
			return c // its name again
		case name != "" && c.name != "" && (index == nil || c.name != name && c.args.Len() > 0 || c.whole()):
			return nil // a name starts a new call
		}
		return c
	}
	if n := len(d.calls); n > 0 && id == "" && name == "" && !d.calls[n-1].whole() {
		return d.calls[n-1] // the rest of a call that began with another index
	}
	return nil
}

// whole reports whether the arguments are an object already.
func (c *call) whole() bool {
	s := strings.TrimSpace(c.args.String())
	return strings.HasSuffix(s, "}") && json.Valid([]byte(s))
}

// argText is the arguments as text: most servers send a string, some an object.
func argText(raw json.RawMessage) string {
	if !set(raw) {
		return ""
	}
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

// finished are the calls of the answer, each with an id of its own. cut says
// that the last of them may lack its end.
func (d *decoder) finished(cut bool) []llm.ToolCall {
	var out []llm.ToolCall
	var ids wire.IDs
	for i, c := range d.calls {
		if c.name == "" && strings.TrimSpace(c.args.String()) == "" {
			continue // a ghost: stored, it would make every later request invalid
		}
		tc := llm.ToolCall{ID: ids.Of(c.id), Name: c.name, Custom: c.custom, Raw: c.extra}
		if c.custom {
			tc.Input, _ = json.Marshal(c.args.String()) // a string marshals
		} else {
			tc.Input, tc.Malformed = wire.Input(c.args.String())
			if cut && i == len(d.calls)-1 && strings.TrimSpace(c.args.String()) == "" {
				// Arguments that were to come look the same as none.
				tc.Malformed = "(the answer was cut before the arguments)"
			}
		}
		out = append(out, tc)
	}
	return out
}
