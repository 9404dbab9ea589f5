package llmtest

import (
	"context"
	"fmt"
	"strings"

	"github.com/cantle-dev/cantle/llm"
)

// Auto returns a model that needs no script: it calls each tool that it is
// offered once, all in one response, with arguments that its schema allows
// (see [Sample]), and then answers with a text that lists the results. It is
// deterministic and keeps no state: what was called is read from the request,
// back to the last text of the user.
func Auto() llm.Model {
	info := llm.Info{
		Provider: "test", Name: "auto", Wire: "script", Context: 200_000, Output: 32_000, Price: new(llm.Price),
		Traits: llm.Traits{Images: true, PDF: true, Schema: true, StandIn: true},
	}
	return Func(info, func(_ context.Context, req *llm.Request) (*llm.Response, error) {
		r, err := auto(req)
		if err != nil {
			return nil, &llm.Error{Kind: llm.KindInvalidRequest, Provider: info.Provider, Model: info.Name, Err: err}
		}
		made := 0
		for _, m := range req.Messages {
			made += len(m.Parts.Calls())
		}
		r = r.named(func() string { made++; return fmt.Sprintf("call_%d", made) })
		return r.response(info, req), nil
	})
}

// AutoPlay is the [Player] that answers as [Auto] does.
func AutoPlay(e *Exchange) Reply {
	r, err := auto(e.Request)
	if err != nil {
		return Fail(&llm.Error{Kind: llm.KindInvalidRequest, Message: err.Error()})
	}
	return r
}

func auto(req *llm.Request) (Reply, error) {
	called := map[string]bool{}
	names := map[string]string{} // of the tool, by call id
	var lines []string
	start := 0
	for i, m := range req.Messages {
		if m.Role == llm.RoleUser && len(results(&llm.Request{Messages: req.Messages[i : i+1]})) == 0 && m.Text() != "" {
			start = i
		}
	}
	for _, m := range req.Messages[start:] {
		for _, p := range m.Parts {
			switch p := p.(type) {
			case llm.ToolCall:
				called[p.Name] = true
				names[p.ID] = p.Name
			case llm.ToolResult:
				verb := "returned"
				if p.IsError {
					verb = "failed with"
				}
				lines = append(lines, fmt.Sprintf("%s %s: %s", names[p.CallID], verb, p.Parts.Text()))
			}
		}
	}
	var r Reply
	if req.ToolChoice.Mode != llm.ChoiceNone {
		for _, t := range req.Tools {
			if t.Hosted != "" && len(t.Input) == 0 {
				continue // not one to call
			}
			if called[t.Name] || req.ToolChoice.Mode == llm.ChoiceTool && req.ToolChoice.Name != t.Name {
				continue
			}
			in, err := Sample(t.Input)
			if err != nil {
				return Reply{}, fmt.Errorf("tool %s: %w", t.Name, err)
			}
			r = r.Call(t.Name, in)
		}
	}
	if len(r.parts) > 0 {
		return r, nil
	}
	if req.Schema != nil {
		v, err := Sample(req.Schema.JSON)
		return Say(string(v)), err
	}
	if lines == nil {
		return Say("There was no tool to call."), nil
	}
	return Say(strings.Join(lines, "\n")), nil
}
