package llmtest

import (
	"crypto/sha256"
	"sync"

	"github.com/cantle-dev/cantle/llm"
)

// block is a piece of a prompt: the unit in which caches are keyed.
type block struct {
	data   []byte // without cache marks
	tokens int64
	mark   bool // a cache mark ends here
}

const (
	cacheMin      = 1024 // tokens: a shorter prefix is not cached
	cacheLookback = 20   // blocks before a mark where an entry is looked for
	cacheStep     = 128  // tokens: Chat Completions reports multiples of it
)

func newBlock(raw []byte, mark bool) block {
	b := block{data: cacheMark.ReplaceAll(raw, nil), mark: mark}
	b.tokens = int64(len(b.data)*10+35) / 36
	return b
}

// promptCache plays a provider's prompt cache. Entries never expire.
type promptCache struct {
	mu   sync.Mutex
	seen map[[sha256.Size]byte]bool
}

// use looks the prompt up, adds it, and returns its tokens as they are billed.
// With marks, prefixes are written and read at marks alone, as on Messages;
// without, every prefix is, and writing is free, as on Chat Completions.
func (c *promptCache) use(model string, blocks []block, marks bool) llm.Usage {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.seen == nil {
		c.seen = map[[sha256.Size]byte]bool{}
	}
	keys := make([][sha256.Size]byte, len(blocks))
	sums := make([]int64, len(blocks))
	h := sha256.Sum256([]byte(model))
	var total int64
	for i, b := range blocks {
		d := sha256.Sum256(b.data)
		h = sha256.Sum256(append(h[:], d[:]...))
		total += b.tokens
		keys[i], sums[i] = h, total
	}
	var read, written int64
	for i, b := range blocks {
		if marks && !b.mark {
			continue
		}
		for j := i; j >= 0 && (!marks || i-j < cacheLookback); j-- {
			if sums[j] >= cacheMin && c.seen[keys[j]] {
				read = max(read, sums[j])
				break
			}
			if !marks {
				break
			}
		}
		if sums[i] >= cacheMin {
			written = max(written, sums[i])
		}
	}
	for i, b := range blocks {
		if sums[i] >= cacheMin && (b.mark || !marks) {
			c.seen[keys[i]] = true
		}
	}
	if !marks {
		read -= read % cacheStep
		return llm.Usage{Input: total - read, CacheRead: read}
	}
	written = max(written-read, 0)
	return llm.Usage{Input: total - read - written, CacheRead: read, CacheWrite: written}
}
