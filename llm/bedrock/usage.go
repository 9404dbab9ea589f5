package bedrock

import (
	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/internal/wire"
)

// counters are the usage that was sent. The counts of the cache come under two
// names.
type counters struct {
	Input           wire.Count `json:"inputTokens"`
	Output          wire.Count `json:"outputTokens"`
	CacheRead       wire.Count `json:"cacheReadInputTokens"`
	CacheReadCount  wire.Count `json:"cacheReadInputTokenCount"`
	CacheWrite      wire.Count `json:"cacheWriteInputTokens"`
	CacheWriteCount wire.Count `json:"cacheWriteInputTokenCount"`
	CacheDetails    []struct {
		TTL   string     `json:"ttl"`
		Input wire.Count `json:"inputTokens"`
	} `json:"cacheDetails"`
}

// both returns the usage as [llm.Usage] counts and as the wire does. The two
// agree, since the wire's input excludes the cache.
func (c *counters) both() (usage, reported *llm.Usage) {
	if c == nil {
		return nil, nil
	}
	u := llm.Usage{
		Input: int64(c.Input), Output: int64(c.Output),
		CacheRead:  int64(max(c.CacheRead, c.CacheReadCount)),
		CacheWrite: int64(max(c.CacheWrite, c.CacheWriteCount)),
	}
	var written int64
	for _, d := range c.CacheDetails {
		written += int64(d.Input)
		if d.TTL == "1h" {
			u.CacheWrite1h += int64(d.Input)
		}
	}
	if u.CacheWrite == 0 {
		u.CacheWrite = written
	}
	u.CacheWrite1h = min(u.CacheWrite1h, u.CacheWrite)
	r := u
	return &u, &r
}
