package config

import (
	"encoding/json"
	"time"

	"github.com/cantle-dev/cantle/agent"
	"github.com/cantle-dev/cantle/llm"
)

// widens reports whether a limit in a project's file is weaker than what the
// user has: the user's own limit or the default. A value that cannot be read is
// not wider: it is an error where it is used.
func (c *Config) widens(key string, raw json.RawMessage) bool {
	var n int64
	var s string
	switch key {
	case "maxTurns":
		have := int64(c.MaxTurns)
		if have == 0 {
			have = agent.DefaultTurns
		}
		return json.Unmarshal(raw, &n) == nil && (n <= 0 || n > have)
	case "softLimit":
		return json.Unmarshal(raw, &n) == nil && c.SoftLimit > 0 && (n <= 0 || n > int64(c.SoftLimit))
	case "maxTokens":
		return json.Unmarshal(raw, &n) == nil && c.MaxTokens > 0 && (n <= 0 || n > c.MaxTokens)
	case "maxCost":
		if c.MaxCost == "" || json.Unmarshal(raw, &s) != nil {
			return false
		}
		have, err := llm.ParseMoney(c.MaxCost)
		if err != nil || have == 0 {
			return false
		}
		m, err := llm.ParseMoney(s)
		return s == "" || err == nil && (m == 0 || m > have)
	case "timeout":
		if json.Unmarshal(raw, &s) != nil {
			return false
		}
		have, _ := time.ParseDuration(c.Timeout) // 0: there is no limit yet
		d, err := time.ParseDuration(s)
		return have > 0 && (s == "" || err == nil && (d <= 0 || d > have))
	}
	return false
}
