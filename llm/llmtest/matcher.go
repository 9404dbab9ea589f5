package llmtest

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/cantle-dev/cantle/llm"
)

// Matcher checks a request; its error says how the request differs. Write your
// own as a function, or use those of this package.
type Matcher func(req *llm.Request) error

// HasSystem wants the system prompt to contain s.
func HasSystem(s string) Matcher {
	return func(req *llm.Request) error {
		if !strings.Contains(req.System, s) {
			return fmt.Errorf("the system prompt does not contain %q; it is %s", s, brief(req.System))
		}
		return nil
	}
}

// HasTool wants the tools to be offered.
func HasTool(names ...string) Matcher {
	return func(req *llm.Request) error {
		have := map[string]bool{}
		var list []string
		for _, t := range req.Tools {
			have[t.Name] = true
			list = append(list, t.Name)
		}
		for _, n := range names {
			if !have[n] {
				return fmt.Errorf("tool %q is not offered; there are %s", n, strings.Join(list, ", "))
			}
		}
		return nil
	}
}

// LastText wants the text of the last message to contain s.
func LastText(s string) Matcher {
	return func(req *llm.Request) error {
		if len(req.Messages) == 0 {
			return fmt.Errorf("there are no messages")
		}
		m := req.Messages[len(req.Messages)-1]
		if !strings.Contains(m.Text(), s) {
			return fmt.Errorf("the last message (%s) does not contain %q; its text is %s", m.Role, s, brief(m.Text()))
		}
		return nil
	}
}

// LastResult wants the last tool result to be a success that contains s.
func LastResult(s string) Matcher { return lastResult(s, false) }

// LastError wants the last tool result to be an error that contains s. Chat
// Completions has no mark for errors: a request decoded from it never matches.
func LastError(s string) Matcher { return lastResult(s, true) }

func lastResult(s string, isError bool) Matcher {
	return func(req *llm.Request) error {
		rs := results(req)
		if len(rs) == 0 {
			return fmt.Errorf("the last message holds no tool result")
		}
		r := rs[len(rs)-1]
		if r.IsError != isError || !strings.Contains(r.Parts.Text(), s) {
			want := "a success"
			if isError {
				want = "an error"
			}
			return fmt.Errorf("the last tool result is not %s that contains %q; it is (error: %t) %s", want, s, r.IsError, brief(r.Parts.Text()))
		}
		return nil
	}
}

// Messages wants exactly n messages.
func Messages(n int) Matcher {
	return func(req *llm.Request) error {
		if len(req.Messages) != n {
			return fmt.Errorf("there are %d messages, not %d", len(req.Messages), n)
		}
		return nil
	}
}

// results returns the tool results that end the conversation so far.
func results(req *llm.Request) []llm.ToolResult {
	if len(req.Messages) == 0 {
		return nil
	}
	var rs []llm.ToolResult
	for _, p := range req.Messages[len(req.Messages)-1].Parts {
		if r, ok := p.(llm.ToolResult); ok {
			rs = append(rs, r)
		}
	}
	return rs
}

// brief quotes s, in its first 200 bytes.
func brief(s string) string {
	if len(s) > 200 {
		return fmt.Sprintf("%q… (%d bytes)", s[:200], len(s))
	}
	return fmt.Sprintf("%q", s)
}

// cloneRequest copies req so deeply that nothing is shared.
func cloneRequest(req *llm.Request) *llm.Request {
	c := *req
	c.Messages = make([]llm.Message, len(req.Messages))
	for i, m := range req.Messages {
		c.Messages[i] = llm.Message{Role: m.Role, Parts: cloneParts(m.Parts)}
		if m.Origin != nil {
			o := *m.Origin
			c.Messages[i].Origin = &o
		}
	}
	c.Tools = make([]llm.ToolSpec, len(req.Tools))
	for i, t := range req.Tools {
		t.Input, t.Format = cloneRaw(t.Input), cloneRaw(t.Format)
		c.Tools[i] = t
	}
	c.Stop = append([]string(nil), req.Stop...)
	if req.Temperature != nil {
		v := *req.Temperature
		c.Temperature = &v
	}
	if req.Schema != nil {
		c.Schema = &llm.Schema{Name: req.Schema.Name, JSON: cloneRaw(req.Schema.JSON)}
	}
	if req.Extra != nil {
		c.Extra = make(map[string]json.RawMessage, len(req.Extra))
		for k, v := range req.Extra {
			c.Extra[k] = cloneRaw(v)
		}
	}
	return &c
}

func cloneRaw(b json.RawMessage) json.RawMessage { return append(json.RawMessage(nil), b...) }

func cloneParts(ps llm.Parts) llm.Parts {
	out := make(llm.Parts, len(ps))
	for i, p := range ps {
		switch p := p.(type) {
		case llm.Text:
			p.Raw = cloneRaw(p.Raw)
			out[i] = p
		case llm.Thinking:
			p.Raw = cloneRaw(p.Raw)
			out[i] = p
		case llm.Blob:
			p.Data = append([]byte(nil), p.Data...)
			out[i] = p
		case llm.ToolCall:
			p.Input, p.Raw = cloneRaw(p.Input), cloneRaw(p.Raw)
			out[i] = p
		case llm.ToolResult:
			p.Parts = cloneParts(p.Parts)
			out[i] = p
		case llm.Native:
			p.Raw = cloneRaw(p.Raw)
			out[i] = p
		case llm.Unknown:
			p.Raw = cloneRaw(p.Raw)
			out[i] = p
		default:
			out[i] = p
		}
	}
	return out
}
