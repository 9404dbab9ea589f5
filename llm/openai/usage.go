package openai

import (
	"math"
	"strconv"

	"github.com/cantle-dev/cantle/llm"
)

// usage is what servers report of tokens, under one name or another.
type usage struct {
	Prompt     *count `json:"prompt_tokens"`
	Completion *count `json:"completion_tokens"`
	Total      count  `json:"total_tokens"`
	Hit        count  `json:"prompt_cache_hit_tokens"`
	Cached     count  `json:"cached_tokens"`
	NumCached  count  `json:"num_cached_tokens"`
	Reasoning  count  `json:"reasoning_tokens"`
	In         struct {
		Cached     count `json:"cached_tokens"`
		CacheWrite count `json:"cache_write_tokens"`
	} `json:"prompt_tokens_details"`
	Out struct {
		Reasoning count `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

// count is a number of tokens. Some servers write 12.0; what is no number, or
// a negative one, is 0.
type count int64

// UnmarshalJSON never fails: a counter that cannot be read costs no answer.
func (c *count) UnmarshalJSON(b []byte) error {
	f, err := strconv.ParseFloat(string(b), 64)
	if err != nil || !(f > 0) || f >= math.MaxInt32*1024 {
		f = 0
	}
	*c = count(f)
	return nil
}

// both returns the usage with the cached tokens netted out, and as reported;
// nil when the server reported none.
func (u *usage) both() (normal, reported *llm.Usage) {
	if u == nil || u.Prompt == nil && u.Completion == nil {
		return nil, nil
	}
	r := llm.Usage{
		CacheRead:  int64(max(u.In.Cached, u.Hit, u.Cached, u.NumCached)),
		CacheWrite: int64(u.In.CacheWrite),
		Reasoning:  int64(max(u.Out.Reasoning, u.Reasoning)),
	}
	if u.Prompt != nil {
		r.Input = int64(*u.Prompt)
	}
	if u.Completion != nil {
		r.Output = int64(*u.Completion)
	}
	n := r
	// Azure's Grok says that more was cached than there was.
	n.CacheRead = min(n.CacheRead, n.Input)
	n.CacheWrite = min(n.CacheWrite, n.Input-n.CacheRead)
	n.Input -= n.CacheRead + n.CacheWrite
	// xAI counts reasoning apart from the completion; the total shows it.
	if n.Reasoning > 0 && int64(u.Total) == r.Input+r.Output+n.Reasoning {
		n.Output += n.Reasoning
	}
	n.Reasoning = min(n.Reasoning, n.Output)
	return &n, &r
}
