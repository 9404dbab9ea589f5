package builtin

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"

	"github.com/cantle-dev/cantle/tool"
)

// Tools returns all tools, sharing what they must share.
func Tools(o Options) []tool.Tool {
	o = o.filled()
	tools := []tool.Tool{Read(o), Write(o), Edit(o), Bash(o), Jobs(o), Glob(o), Grep(o), TodoWrite(o), WebFetch(o)}
	if o.Web.Search.URL != "" || o.Web.Hosted {
		tools = append(tools, WebSearch(o))
	}
	return tools
}

// Lean returns the few tools that a model with a small window is given, told of
// in few words: what it is not told of, it may still use.
func Lean(o Options) []tool.Tool {
	o = o.filled()
	return []tool.Tool{
		leaner(Read(o), "Reads a file in numbered lines, or lists a directory.", "file_path", "offset", "limit"),
		leaner(Edit(o), "Replaces old_string, which must occur once, in a file that was read.", "file_path", "old_string", "new_string", "replace_all"),
		Bash(o),
		leaner(Jobs(o), "Lists, reads, waits for and kills the background jobs of Bash.", "action", "id"),
		leaner(Grep(o), "Searches file contents with a regular expression (RE2).", "pattern", "path", "glob", "output_mode", "offset"),
	}
}

// lean is a tool of which the model is told less.
type lean struct {
	tool.Tool
	spec tool.Spec
}

// leaner is t with those fields of its input alone.
func leaner(t tool.Tool, text string, keep ...string) lean {
	s := t.Spec()
	s.Description, s.Input = text, only(s.Input, keep)
	return lean{t, s}
}

// Spec is [tool.Tool].Spec.
func (l lean) Spec() tool.Spec { return l.spec }

// Normalize is [tool.Normalizer].Normalize.
func (l lean) Normalize(raw json.RawMessage) (json.RawMessage, error) {
	return l.Tool.(tool.Normalizer).Normalize(raw)
}

// Preview is [tool.Previewer].Preview, if the tool has one.
func (l lean) Preview(ctx context.Context, c *tool.Call) (*tool.Preview, error) {
	if p, ok := l.Tool.(tool.Previewer); ok {
		return p.Preview(ctx, c)
	}
	return nil, nil
}

// only leaves those properties in the schema of an object, which it gives in
// the order of keep.
func only(schema json.RawMessage, keep []string) json.RawMessage {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
	}
	if json.Unmarshal(schema, &s) != nil {
		return schema
	}
	var b bytes.Buffer
	b.WriteString(`{"type":"object","properties":{`)
	for i, k := range keep {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`"` + k + `":`)
		b.Write(s.Properties[k])
	}
	required := slices.DeleteFunc(s.Required, func(r string) bool { return !slices.Contains(keep, r) })
	req, _ := json.Marshal(required) // strings marshal
	b.WriteString(`},"required":`)
	b.Write(req)
	b.WriteByte('}')
	return b.Bytes()
}
