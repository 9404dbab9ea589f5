package llmtest

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"regexp"
	"strings"
	"time"

	"github.com/cantle-dev/cantle/llm"
)

// block is a piece of a prompt: the unit in which caches are keyed.
type block struct {
	data   []byte // without cache marks
	tokens int64
	mark   bool          // a cache mark ends here
	ttl    time.Duration // of the mark; 0 is shortTTL
}

const (
	cacheMin      = 1024 // tokens: a shorter prefix is not cached by most
	cacheLookback = 20   // blocks before a mark where an entry is looked for
	shortTTL      = 5 * time.Minute
	longTTL       = time.Hour
)

// cacheMark is what marks a cache's end in a body: a field of a block on
// Messages, an element of a list on Converse.
var cacheMark = regexp.MustCompile(`,\s*"cache_control"\s*:\s*\{[^{}]*\}|"cache_control"\s*:\s*\{[^{}]*\}\s*,?|` +
	`,\s*\{\s*"cachePoint"\s*:\s*\{[^{}]*\}\s*\}|\{\s*"cachePoint"\s*:\s*\{[^{}]*\}\s*\}\s*,?`)

// unmarked is raw without cache marks.
func unmarked(raw []byte) []byte {
	if !bytes.Contains(raw, []byte(`"cache`)) {
		return raw
	}
	return cacheMark.ReplaceAll(raw, nil)
}

func newBlock(raw []byte, mark bool) block {
	b := block{data: unmarked(raw), mark: mark}
	b.tokens = int64(len(b.data)*10+35) / 36
	return b
}

// policy is how a provider caches prompts.
type policy struct {
	// marks says that prefixes are written and read at marks alone, and that
	// writing is billed. Elsewhere every prefix is written, for nothing.
	marks    bool
	min      int64  // tokens: a shorter prefix is not cached, and nobody says so
	step     int64  // tokens: what is read is a multiple of it; 0 is 1
	lookback int    // blocks before a mark where an entry is looked for
	key      string // requests with different keys do not meet
}

// markMin is the least cached prefix of a Claude model.
func markMin(model string) int64 {
	has := func(names ...string) bool {
		for _, n := range names {
			if strings.Contains(model, n) {
				return true
			}
		}
		return false
	}
	switch {
	case has("opus-4-5", "opus-4-6", "haiku-4-5"):
		return 4096
	case has("3-haiku", "3-5-haiku"):
		return 2048
	case has("opus-5", "sonnet-5", "haiku-5"):
		return 512
	}
	return cacheMin
}

// autoPolicy is the cache of providers that need no marks, by the model's name.
func autoPolicy(e *Exchange) policy {
	var body struct {
		Key string `json:"prompt_cache_key"`
	}
	_ = json.Unmarshal(e.Body, &body) // a body that is no JSON was refused
	p := policy{min: cacheMin, step: 128, key: body.Key}
	switch {
	case strings.Contains(e.Model, "deepseek"):
		p.min, p.step = 64, 64
	case strings.Contains(e.Model, "gemini") && !strings.Contains(e.Model, "flash"):
		p.min, p.step = 2048, 1
	case e.Wire == WireGemini:
		p.step = 1
	case e.Wire == WireOllama:
		p.min, p.step = 0, 1 // the state of the only run
	case e.Wire == WireCohere:
		p.min, p.step = 64, 32
	}
	return p
}

// entry is when a cached prefix ends, on the server's clock.
type entry struct{ ends, ttl time.Duration }

// promptCache plays a provider's prompt cache. The server guards it.
type promptCache struct {
	now  time.Duration
	seen map[[sha256.Size]byte]entry
}

// use looks the prompt up, adds it, and returns its tokens as they are billed.
func (c *promptCache) use(model string, blocks []block, p policy) llm.Usage {
	if c.seen == nil {
		c.seen = map[[sha256.Size]byte]entry{}
	}
	keys := make([][sha256.Size]byte, len(blocks))
	sums := make([]int64, len(blocks))
	h := sha256.Sum256([]byte(model + "\x00" + p.key))
	var total int64
	for i, b := range blocks {
		d := sha256.Sum256(b.data)
		h = sha256.Sum256(append(h[:], d[:]...))
		total += b.tokens
		keys[i], sums[i] = h, total
	}
	// hit also makes an entry last: reading it is using it.
	hit := func(i int) bool {
		e, ok := c.seen[keys[i]]
		if ok = ok && e.ends > c.now; ok {
			c.seen[keys[i]] = entry{c.now + e.ttl, e.ttl}
		}
		return ok
	}
	var read, written, long int64
	for i, b := range blocks {
		if p.marks && !b.mark {
			continue
		}
		for j := i; j >= 0 && j > i-max(p.lookback, 1); j-- {
			if sums[j] >= p.min && hit(j) {
				read = max(read, sums[j])
				break
			}
		}
		if sums[i] >= p.min {
			written = max(written, sums[i])
			if b.ttl == longTTL {
				long = max(long, sums[i])
			}
		}
	}
	for i, b := range blocks {
		if sums[i] >= p.min && (b.mark || !p.marks) {
			ttl := max(b.ttl, shortTTL)
			c.seen[keys[i]] = entry{c.now + ttl, ttl}
		}
	}
	if !p.marks {
		read -= read % max(p.step, 1)
		return llm.Usage{Input: total - read, CacheRead: read}
	}
	written, long = max(written-read, 0), max(long-read, 0)
	return llm.Usage{Input: total - read - written, CacheRead: read, CacheWrite: written, CacheWrite1h: long}
}
