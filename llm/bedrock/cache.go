package bedrock

import (
	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/internal/wire"
)

// mark is a cache point, to follow what it marks.
func (m *Model) mark() []byte {
	switch {
	case !m.caches():
		return nil
	case m.opts.CacheTTL != "" && m.opts.CacheTTL != "5m" && m.claude():
		return append(wire.AppendString([]byte(`,{"cachePoint":{"type":"default","ttl":`), m.opts.CacheTTL), "}}"...)
	}
	return []byte(`,{"cachePoint":{"type":"default"}}`)
}

// marks are the cache points after the tools, the system prompt and the ends of
// the last two messages of the user; nil where there is to be none.
type marks struct{ tools, system, end []byte }

// bytesPerToken is how many bytes of JSON make a token at the least, so that
// no prefix is taken for too short that is not.
const bytesPerToken = 3

// marks leaves out those that end a prefix which is too short to be cached.
func (m *Model) marks(req *llm.Request) marks {
	mark := m.mark()
	if mark == nil {
		return marks{}
	}
	var k marks
	least := m.info.Traits.MinCache * bytesPerToken
	n := 0
	for _, t := range req.Tools {
		n += len(t.Name) + len(t.Description) + len(t.Input)
	}
	if n >= least && m.claude() { // Nova has no cache for tools
		k.tools = mark
	}
	if n += len(req.System); n >= least {
		k.system = mark
	}
	if k.system != nil || n+llm.Estimate(&llm.Request{Messages: req.Messages})*bytesPerToken >= least {
		k.end = mark
	}
	return k
}
