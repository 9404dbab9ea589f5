package openai

import "github.com/cantle-dev/cantle/llm"

// usage is what servers report of tokens, under one name or another.
type usage struct {
	Prompt     int64  `json:"prompt_tokens"`
	Completion int64  `json:"completion_tokens"`
	Total      int64  `json:"total_tokens"`
	Hit        int64  `json:"prompt_cache_hit_tokens"`
	Cached     int64  `json:"cached_tokens"`
	CacheRead  int64  `json:"cache_read_input_tokens"`
	CacheWrite *int64 `json:"cache_creation_input_tokens"`
	Reasoning  int64  `json:"reasoning_tokens"`
	In         *struct {
		Cached     int64 `json:"cached_tokens"`
		CacheWrite int64 `json:"cache_write_tokens"`
	} `json:"prompt_tokens_details"`
	Out *struct {
		Reasoning int64 `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

// both returns the usage with the cached tokens netted out, and as reported.
func (u *usage) both() (normal, reported *llm.Usage) {
	if u == nil {
		return nil, nil
	}
	r := llm.Usage{Input: max(u.Prompt, 0), Output: max(u.Completion, 0), CacheRead: u.Hit, Reasoning: u.Reasoning}
	if u.In != nil {
		r.CacheRead = max(u.In.Cached, r.CacheRead)
		r.CacheWrite = u.In.CacheWrite
	} else {
		r.CacheRead = max(r.CacheRead, u.Cached)
	}
	if u.Out != nil {
		r.Reasoning = u.Out.Reasoning
	}
	n := r
	n.CacheRead = min(max(n.CacheRead, 0), n.Input)
	n.CacheWrite = min(max(n.CacheWrite, 0), n.Input-n.CacheRead)
	n.Input -= n.CacheRead + n.CacheWrite
	// xAI counts reasoning apart from the completion; the total shows it.
	if n.Reasoning > 0 && u.Total == u.Prompt+u.Completion+n.Reasoning {
		n.Output += n.Reasoning
	}
	n.Reasoning = min(n.Reasoning, n.Output)
	return &n, &r
}
