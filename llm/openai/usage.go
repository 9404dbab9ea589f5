package openai

import (
	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/internal/wire"
)

// usage is what servers report of tokens, under one name or another.
type usage struct {
	Prompt     *wire.Count `json:"prompt_tokens"`
	Completion *wire.Count `json:"completion_tokens"`
	Total      wire.Count  `json:"total_tokens"`
	Hit        wire.Count  `json:"prompt_cache_hit_tokens"`
	Cached     wire.Count  `json:"cached_tokens"`
	NumCached  wire.Count  `json:"num_cached_tokens"`
	Reasoning  wire.Count  `json:"reasoning_tokens"`
	Server     struct {
		Searches wire.Count `json:"web_search_requests"`
	} `json:"server_tool_use"`
	In struct {
		Cached     wire.Count `json:"cached_tokens"`
		CacheWrite wire.Count `json:"cache_write_tokens"`
	} `json:"prompt_tokens_details"`
	Out struct {
		Reasoning wire.Count `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
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
		Searches:   int64(u.Server.Searches),
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

// responseUsage is what the Responses wire reports of tokens.
type responseUsage struct {
	Input  wire.Count `json:"input_tokens"`
	Output wire.Count `json:"output_tokens"`
	In     struct {
		Cached     wire.Count `json:"cached_tokens"`
		CacheWrite wire.Count `json:"cache_write_tokens"`
	} `json:"input_tokens_details"`
	Out struct {
		Reasoning wire.Count `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
	Server struct {
		Searches *wire.Count `json:"web_search_calls"`
	} `json:"server_side_tool_usage_details"`
}

// both returns the usage with the cached tokens netted out, and as reported;
// nil when the server reported none, which some write as zeros. searches are
// the searches that are seen in the answer, for servers that do not count them.
func (u *responseUsage) both(searches int64) (normal, reported *llm.Usage) {
	if u == nil || u.Input == 0 && u.Output == 0 {
		return nil, nil
	}
	r := llm.Usage{
		Input: int64(u.Input), Output: int64(u.Output), Reasoning: int64(u.Out.Reasoning),
		CacheRead: int64(u.In.Cached), CacheWrite: int64(u.In.CacheWrite),
	}
	if u.Server.Searches != nil {
		searches = int64(*u.Server.Searches)
		r.Searches = searches
	}
	n := r
	n.Searches = searches
	n.CacheRead = min(n.CacheRead, n.Input)
	n.CacheWrite = min(n.CacheWrite, n.Input-n.CacheRead)
	n.Input -= n.CacheRead + n.CacheWrite
	n.Reasoning = min(n.Reasoning, n.Output)
	return &n, &r
}
