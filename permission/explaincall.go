package permission

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/cantle-dev/cantle/tool"
)

// ExplainCall explains a call of one of the tools, by any name under which rules
// may speak of it, that would work in dir; "" is the first root. The input is
// the JSON object that a model would give, or the one argument that matters: a
// command line, a path, a URL or a name. Nothing is run.
//
// A tool of an MCP server that is not among the tools is decided on by its name
// alone. An error says that there is no such tool, or that the input does not
// fit: a call with it would not get as far as a decision.
func (g *Gate) ExplainCall(ctx context.Context, tools []tool.Tool, name, input, dir string) (Explanation, error) {
	tl := findTool(tools, name)
	if tl == nil && !strings.HasPrefix(name, "mcp__") {
		var names []string
		for _, t := range tools {
			names = append(names, t.Spec().Name)
		}
		slices.Sort(names)
		return Explanation{}, fmt.Errorf("permission: there is no tool %q: there are %s", name, strings.Join(names, ", "))
	}
	if dir == "" {
		dir = g.dir()
	}
	r := Request{Spec: tool.Spec{Name: name}, Dir: dir, Input: json.RawMessage(input)}
	if tl == nil {
		if r.Input = json.RawMessage(strings.TrimSpace(input)); len(r.Input) == 0 {
			r.Input = json.RawMessage("{}")
		}
		if err := tool.Validate(json.RawMessage(`{"type":"object"}`), r.Input); err != nil {
			return Explanation{}, fmt.Errorf("permission: %s: the input: %w", name, err)
		}
		return g.Explain(r), nil
	}
	r.Spec = tl.Spec()
	own := ownName(r.Spec.Name)
	raw, short := argument(own, input)
	if short && own != "Bash" && strings.HasPrefix(strings.TrimSpace(input), "{") { // a command may begin so
		return Explanation{}, fmt.Errorf("permission: %s: the input is no JSON object", r.Spec.Name)
	}
	fit, err := normal(tl, raw)
	switch {
	case err == nil:
		raw = fit
	case !short:
		return Explanation{}, fmt.Errorf("permission: %s: the input: %w", r.Spec.Name, err)
	}
	r.Input = raw
	if r.Spec.Access != nil {
		acc, err := r.Spec.Access(ctx, &tool.Call{Name: r.Spec.Name, Input: raw, Dir: dir})
		if err != nil {
			return Explanation{}, fmt.Errorf("permission: %s: %w", r.Spec.Name, err)
		}
		if r.Access = acc; acc == nil {
			r.Access = []tool.Access{}
		}
	}
	return g.Explain(r), nil
}

// findTool is the tool of that name: its own, or one of its others.
func findTool(tools []tool.Tool, name string) tool.Tool {
	for _, own := range []func(s tool.Spec) bool{
		func(s tool.Spec) bool { return s.Name == name },
		func(s tool.Spec) bool { return slices.Contains(s.Aliases, name) },
		func(s tool.Spec) bool { return s.Name == ownName(name) },
	} {
		if i := slices.IndexFunc(tools, func(t tool.Tool) bool { return own(t.Spec()) }); i >= 0 {
			return tools[i]
		}
	}
	return nil
}

// arguments are the ones that matter, and what else a call cannot be without.
var arguments = map[string]struct {
	name string
	rest map[string]string
}{
	"Bash":      {name: "command"},
	"Read":      {name: "file_path"},
	"Edit":      {name: "file_path", rest: map[string]string{"old_string": "a", "new_string": "b"}},
	"Write":     {name: "file_path", rest: map[string]string{"content": ""}},
	"Glob":      {name: "pattern"},
	"Grep":      {name: "path", rest: map[string]string{"pattern": "a"}},
	"WebFetch":  {name: "url"},
	"WebSearch": {name: "query"},
	"Agent":     {name: "subagent_type"},
	"Skill":     {name: "name"},
}

// argument is an input as a JSON object. short says that it was not one.
func argument(own, input string) (raw json.RawMessage, short bool) {
	text := []byte(strings.TrimSpace(input))
	if len(text) == 0 {
		return json.RawMessage("{}"), false
	}
	a, ok := arguments[own]
	if !ok || bytes.HasPrefix(text, []byte("{")) && json.Valid(text) {
		return text, false
	}
	in := map[string]string{a.name: input}
	for k, v := range a.rest {
		in[k] = v
	}
	raw, _ = json.Marshal(in) // strings always are JSON
	return raw, true
}
