package anthropic

import (
	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/internal/wire"
)

// mark is a cache mark, to stand before the closing brace of a block.
func (m *Model) mark() string {
	if m.opts.CacheTTL != "" {
		return `,"cache_control":{"type":"ephemeral","ttl":` + string(wire.AppendString(nil, m.opts.CacheTTL)) + `}`
	}
	return `,"cache_control":{"type":"ephemeral"}`
}

// marks say what ends with a cache mark: the tools, the system prompt, and the
// last two messages of the user. The wire takes four.
type marks struct{ tools, system, end bool }

// bytesPerToken is how many bytes of JSON make a token at the least, so that
// no prefix is taken for too short that is not.
const bytesPerToken = 3

// marks leaves out those that end a prefix which is too short to be cached.
func (m *Model) marks(req *llm.Request) marks {
	if m.opts.NoCache {
		return marks{}
	}
	least := m.info.Traits.MinCache * bytesPerToken
	n := 0
	for _, t := range req.Tools {
		n += len(t.Name) + len(t.Description) + len(t.Input)
	}
	k := marks{tools: n >= least}
	n += len(req.System)
	k.system = n >= least
	k.end = k.system || n+llm.Estimate(&llm.Request{Messages: req.Messages})*bytesPerToken >= least
	return k
}
