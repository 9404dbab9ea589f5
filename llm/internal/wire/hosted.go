package wire

import (
	"bytes"
	"slices"

	"github.com/cantle-dev/cantle/llm"
)

// RefusedHosted is the optional field that stands for the tools that a provider
// runs itself: an account may not have them, and a model may refuse them beside
// others. In is the field of the body that they are in.
func RefusedHosted(in string) Optional {
	return Optional{Name: llm.HostedWebSearch, In: in, Said: []string{
		"web search", "websearch", "google_search", "googlesearch", "google search", "browser_search", "nova_grounding",
		"server tool", "built-in tool",
	}}
}

// Hosts is t with those of its hosted tools alone that the wire has a form for.
func Hosts(t llm.Traits, forms ...string) llm.Traits {
	t.Hosted = slices.DeleteFunc(slices.Clone(t.Hosted), func(tool string) bool { return !slices.Contains(forms, tool) })
	return t
}

// Hosted is req as a model is to get it whose wire has the hosted tools that
// has reports: a tool that is still [llm.ToolSpec].Hosted is one of those, and
// the others are functions, or are gone where they have no input, and with them
// a choice of them. So is one whose name on the wire is that of another tool.
// It is req itself if nothing is to be changed.
func Hosted(req *llm.Request, has func(tool string) bool) *llm.Request {
	change := func(t llm.ToolSpec) bool {
		return t.Hosted != "" && (!has(t.Hosted) || slices.ContainsFunc(req.Tools, func(o llm.ToolSpec) bool {
			return o.Name == t.Hosted && o.Name != t.Name
		}))
	}
	if !slices.ContainsFunc(req.Tools, change) {
		return req
	}
	out := *req
	out.Tools = make([]llm.ToolSpec, 0, len(req.Tools))
	for _, t := range req.Tools {
		if change(t) {
			if len(bytes.TrimSpace(t.Input)) == 0 {
				if out.ToolChoice.Mode == llm.ChoiceTool && out.ToolChoice.Name == t.Name {
					out.ToolChoice = llm.ToolChoice{}
				}
				continue
			}
			t.Hosted = ""
		}
		out.Tools = append(out.Tools, t)
	}
	return &out
}
