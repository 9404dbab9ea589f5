package openai

import (
	"slices"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/internal/wire"
)

// closing ends a message whose content is a list.
const closing = "}]}"

// mark is a cache mark, to stand before the closing brace of a part or a tool.
func (m *Chat) mark() string {
	if m.profile.CacheMarks == "1h" {
		return `,"cache_control":{"type":"ephemeral","ttl":"1h"}`
	}
	return `,"cache_control":{"type":"ephemeral"}`
}

// marks say what ends with a cache mark: four at most, as that is what servers
// take.
type marks struct{ tools, system, end bool }

// bytesPerToken is how many bytes of JSON make a token at the least, so that
// no prefix is taken for too short that is not.
const bytesPerToken = 3

// marks leaves out those that end a prefix which is too short to be cached.
func (m *Chat) marks(req *llm.Request) marks {
	if m.profile.CacheMarks == "" {
		return marks{}
	}
	least := m.info.Traits.MinCache * bytesPerToken
	n := 0
	for _, t := range req.Tools {
		n += len(t.Name) + len(t.Description) + len(t.Input) + len(t.Format)
	}
	k := marks{tools: n >= least}
	n += len(req.System)
	k.system = n >= least
	k.end = k.system || n+llm.Estimate(&llm.Request{Messages: req.Messages})*bytesPerToken >= least
	return k
}

// marked puts marks into encoded messages: into the system prompt, and into
// the last two of the user, the last for the next request and the other to find
// again what was marked last time.
func (m *Chat) marked(out wire.Pieces, system int, ends [2]int, k marks) wire.Pieces {
	at := []int{}
	if k.end {
		at = append(at, ends[1], ends[0])
	}
	if k.system {
		at = append(at, system)
	}
	for _, i := range at {
		if i > 0 {
			// Before the closing brace of the last part.
			b := out[i]
			out[i] = b[:len(b)-len(closing)]
			out = slices.Insert(out, i+1, []byte(m.mark()+closing))
		}
	}
	return out
}
