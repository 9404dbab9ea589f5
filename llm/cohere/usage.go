package cohere

import (
	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/internal/wire"
)

// usage is what is reported of tokens: what went through the model, with the
// provider's own prompt and what was cached, and, far less, what is billed.
type usage struct {
	Tokens *counts    `json:"tokens"`
	Billed *counts    `json:"billed_units"`
	Cached wire.Count `json:"cached_tokens"`
}

type counts struct {
	Input     *wire.Count `json:"input_tokens"`
	Output    *wire.Count `json:"output_tokens"`
	Reasoning wire.Count  `json:"reasoning_tokens"`
}

// both returns the usage with the cached tokens netted out, and as reported;
// nil when none was. What is billed stands in only where nothing else is
// there: the window is filled by what goes through the model.
func (u *usage) both() (normal, reported *llm.Usage) {
	if u == nil {
		return nil, nil
	}
	c := u.Tokens
	if c == nil || c.Input == nil && c.Output == nil {
		c = u.Billed
	}
	if c == nil || c.Input == nil && c.Output == nil {
		return nil, nil
	}
	r := llm.Usage{CacheRead: int64(u.Cached)}
	if c.Input != nil {
		r.Input = int64(*c.Input)
	}
	if c.Output != nil {
		r.Output = int64(*c.Output)
	}
	n := r
	n.CacheRead = min(n.CacheRead, n.Input)
	n.Input -= n.CacheRead
	n.Reasoning = min(int64(c.Reasoning), n.Output) // it is in the output
	return &n, &r
}
