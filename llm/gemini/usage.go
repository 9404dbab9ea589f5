package gemini

import (
	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/internal/wire"
)

// counters are the fields of usageMetadata that were sent; nil was not.
type counters struct {
	Prompt     *wire.Count `json:"promptTokenCount"`
	Candidates *wire.Count `json:"candidatesTokenCount"`
	Cached     *wire.Count `json:"cachedContentTokenCount"`
	Thoughts   *wire.Count `json:"thoughtsTokenCount"`
	ToolPrompt *wire.Count `json:"toolUsePromptTokenCount"`
	Total      *wire.Count `json:"totalTokenCount"`
}

// merge takes over what o has: the counts are totals so far, the last wins,
// and one that is missing keeps its value.
func (c *counters) merge(o *counters) {
	if o == nil {
		return
	}
	for _, f := range [...]struct {
		to   **wire.Count
		from *wire.Count
	}{
		{&c.Prompt, o.Prompt},
		{&c.Candidates, o.Candidates},
		{&c.Cached, o.Cached},
		{&c.Thoughts, o.Thoughts},
		{&c.ToolPrompt, o.ToolPrompt},
		{&c.Total, o.Total},
	} {
		if f.from != nil {
			*f.to = f.from
		}
	}
}

// both returns the usage as [llm.Usage] counts and as the wire does, where the
// prompt includes what was cached, and the candidates exclude the thoughts.
func (c *counters) both() (usage, reported *llm.Usage) {
	if c.Prompt == nil && c.Candidates == nil && c.Thoughts == nil && c.Total == nil {
		return nil, nil
	}
	v := func(p *wire.Count) int64 {
		if p == nil {
			return 0
		}
		return int64(*p)
	}
	r := llm.Usage{
		Input: v(c.Prompt), Output: v(c.Candidates), CacheRead: v(c.Cached), Reasoning: v(c.Thoughts), ToolPrompt: v(c.ToolPrompt),
	}
	u := r
	u.CacheRead = min(u.CacheRead, u.Input+u.ToolPrompt)
	u.Input += u.ToolPrompt - u.CacheRead
	// Some servers count the thoughts as candidates: the total tells.
	if total := v(c.Total); u.Reasoning > u.Output || total != r.Input+r.ToolPrompt+r.Output {
		u.Output += u.Reasoning
	}
	return &u, &r
}
