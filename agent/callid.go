package agent

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/cantle-dev/cantle/llm"
)

// callIDs are the ids of the calls in view. Results go to calls by their id, so
// each call needs one of its own, whatever the model gave.
type callIDs struct {
	used map[string]bool
}

// note takes account of the calls in ms.
func (ids *callIDs) note(ms []llm.Message) {
	if ids.used == nil {
		ids.used = map[string]bool{}
	}
	for _, m := range ms {
		for _, p := range m.Parts {
			if c, ok := p.(llm.ToolCall); ok {
				ids.used[c.ID] = true
			}
		}
	}
}

// nameless stands for the name of a call that has an id and no name, which no
// wire would take back.
const nameless = "unnamed"

// mend returns resp with an id for each call that has none, or one that an
// earlier call has, and leaves calls out that have neither id nor name: there
// is nothing to answer in them. Arguments that are not JSON, which no journal
// could keep, become malformed ones. resp itself is the model's and is not changed.
func (ids *callIDs) mend(resp *llm.Response, newID func() string) *llm.Response {
	parts := resp.Message.Parts
	cloned := false
	own := func() {
		if !cloned {
			parts, cloned = slices.Clone(parts), true
		}
	}
	for i := 0; i < len(parts); i++ {
		c, ok := parts[i].(llm.ToolCall)
		switch {
		case !ok:
			continue
		case c.ID == "" && c.Name == "":
			own()
			parts = slices.Delete(parts, i, i+1)
			i--
			continue
		case c.ID != "" && c.Name != "" && !ids.used[c.ID] && (c.Input == nil || json.Valid(c.Input)):
		default:
			own()
			for c.ID == "" || ids.used[c.ID] {
				c.ID = newID()
			}
			if c.Name == "" {
				c.Name = nameless
			}
			if c.Input != nil && !json.Valid(c.Input) {
				c.Malformed, c.Input = cmp.Or(c.Malformed, string(c.Input)), json.RawMessage(`{}`)
			}
			c.Raw = nil // which has the old id and name
			parts[i] = c
		}
		ids.used[c.ID] = true
	}
	if !cloned {
		return resp
	}
	out := *resp
	// A new message: one that keeps its wire form would keep that of the old.
	out.Message = llm.Message{Role: resp.Message.Role, Parts: parts, Origin: resp.Message.Origin}
	return &out
}
