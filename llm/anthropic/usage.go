package anthropic

import (
	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/internal/wire"
)

// counters are the usage fields that were sent; nil was not.
type counters struct {
	Input         *wire.Count `json:"input_tokens"`
	Output        *wire.Count `json:"output_tokens"`
	CacheRead     *wire.Count `json:"cache_read_input_tokens"`
	CacheWrite    *wire.Count `json:"cache_creation_input_tokens"`
	CacheCreation *struct {
		FiveMinutes wire.Count `json:"ephemeral_5m_input_tokens"`
		OneHour     wire.Count `json:"ephemeral_1h_input_tokens"`
	} `json:"cache_creation"`
	ServerTools *struct {
		Searches wire.Count `json:"web_search_requests"`
	} `json:"server_tool_use"`
	OutputDetails *struct {
		Thinking wire.Count `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
}

// merge takes over what o has: the counts are totals so far, the last wins,
// and one that is missing keeps its value.
func (c *counters) merge(o *counters) {
	if o == nil {
		return
	}
	for _, f := range []struct {
		to   **wire.Count
		from *wire.Count
	}{{&c.Input, o.Input}, {&c.Output, o.Output}, {&c.CacheRead, o.CacheRead}, {&c.CacheWrite, o.CacheWrite}} {
		if f.from != nil {
			*f.to = f.from
		}
	}
	if o.CacheCreation != nil {
		c.CacheCreation = o.CacheCreation
	}
	if o.ServerTools != nil {
		c.ServerTools = o.ServerTools
	}
	if o.OutputDetails != nil {
		c.OutputDetails = o.OutputDetails
	}
}

// both returns the usage as [llm.Usage] counts and as the wire does. On this
// wire the two agree, since its input excludes the cache; only the thinking
// tokens, a part of the output, have no counter beside it.
func (c *counters) both() (usage, reported *llm.Usage) {
	if c.Input == nil && c.Output == nil && c.CacheRead == nil && c.CacheWrite == nil {
		return nil, nil
	}
	v := func(p *wire.Count) int64 {
		if p == nil {
			return 0
		}
		return int64(*p)
	}
	u := llm.Usage{Input: v(c.Input), Output: v(c.Output), CacheRead: v(c.CacheRead), CacheWrite: v(c.CacheWrite)}
	if cc := c.CacheCreation; cc != nil {
		five, hour := int64(cc.FiveMinutes), int64(cc.OneHour)
		if c.CacheWrite == nil {
			u.CacheWrite = five + hour
		}
		u.CacheWrite1h = min(hour, u.CacheWrite)
	}
	if c.ServerTools != nil {
		u.Searches = int64(c.ServerTools.Searches)
	}
	r := u
	if c.OutputDetails != nil {
		u.Reasoning = min(int64(c.OutputDetails.Thinking), u.Output)
	}
	return &u, &r
}
