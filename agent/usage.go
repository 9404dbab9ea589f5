package agent

import "github.com/cantle-dev/cantle/llm"

// mostTokens is more than any response can take. What is above it would only
// make the sums run over.
const mostTokens = 1 << 40

// sound is u with no number in it that cannot be: none is negative or without
// bounds, and no part is more than what it is a part of. A count below zero
// would give a budget back what was spent. Adapters see to that by themselves;
// this is for all models.
func sound(u *llm.Usage) *llm.Usage {
	if u == nil {
		return nil
	}
	s := *u
	for _, n := range []*int64{&s.Input, &s.Output, &s.CacheRead, &s.CacheWrite, &s.CacheWrite1h, &s.Reasoning, &s.ToolPrompt, &s.Searches} {
		*n = min(max(*n, 0), mostTokens)
	}
	s.CacheWrite1h = min(s.CacheWrite1h, s.CacheWrite)
	s.Reasoning = min(s.Reasoning, s.Output)
	s.ToolPrompt = min(s.ToolPrompt, s.Input)
	if s == *u {
		return u
	}
	return &s
}
