package wrap

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"
	"unsafe"

	"github.com/cantle-dev/cantle/llm"
)

// A drop in what is read from the cache counts as a break when less than
// breakShare hundredths of the last are left and at least breakTokens are gone.
const (
	breakShare  = 95
	breakTokens = 2000
)

// maxWatched is how many conversations are watched at once.
const maxWatched = 10

// CacheWatchOptions configure [CacheWatch].
type CacheWatchOptions struct {
	// Watched says whether a request is one of a main run: children and side
	// calls have caches of their own. The default is every request that has
	// a CacheKey.
	Watched func(ctx context.Context, req *llm.Request) bool
}

// Watch is a model whose prompt cache is watched. It is safe for concurrent use.
type Watch struct {
	llm.Model
	o  CacheWatchOptions
	mu sync.Mutex // of what is in the conversations, too
	by *recent[*watched]
}

// CacheWatch tells in an [llm.Notice] of the kind "cache_break" when a
// provider's prompt cache was missed: when less than 95 % of what the last call
// of the conversation read was read again, and at least 2,000 tokens less. It
// names what differs from the last request: the model, the system prompt, the
// settings, the tools, their schemas or order, or the first message that is not
// the same; or, where nothing does, what the time between suggests. It comes
// before [llm.Done]. As long as there is no break, only new messages are hashed.
func CacheWatch(m llm.Model, o CacheWatchOptions) *Watch {
	if o.Watched == nil {
		o.Watched = func(_ context.Context, req *llm.Request) bool { return req.CacheKey != "" }
	}
	return &Watch{Model: m, o: o, by: newRecent[*watched](maxWatched)}
}

// Unwrap returns the model inside.
func (w *Watch) Unwrap() llm.Model { return w.Model }

// Reset forgets the conversation of that CacheKey: its history was made smaller
// on purpose, and its next request is the first of a new cache.
func (w *Watch) Reset(conversation string) { w.by.drop(conversation) }

// watched is one conversation.
type watched struct {
	calls int
	read  int64
	at    time.Time
	last  *prompt
}

// prompt is what a cache depends on.
type prompt struct {
	model    string
	system   string
	settings [][2]string
	tools    []llm.ToolSpec
	msgs     []mark
}

// mark is the hash of a message, and what it was made of.
type mark struct {
	parts *llm.Part
	n     int
	role  llm.Role
	hash  uint64
}

// Stream is [llm.Model].Stream.
func (w *Watch) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	if !w.o.Watched(ctx, req) {
		return w.Model.Stream(ctx, req)
	}
	return once(func(yield func(llm.Event, error) bool) {
		began := time.Now()
		for ev, err := range w.Model.Stream(ctx, req) {
			if d, ok := ev.(llm.Done); ok && d.Response != nil && d.Response.Usage != nil {
				if n := w.saw(req, d.Response, began); n != nil && !yield(*n, nil) {
					return
				}
			}
			if !yield(ev, err) {
				return
			}
		}
	})
}

// saw takes account of a response, and says if the cache was missed.
func (w *Watch) saw(req *llm.Request, resp *llm.Response, began time.Time) *llm.Notice {
	w.mu.Lock()
	defer w.mu.Unlock()
	c, ok := w.by.get(req.CacheKey)
	if !ok {
		c = &watched{}
		w.by.put(req.CacheKey, c)
	}
	c.calls++
	now := c.prompt(w.Info(), req, resp)
	read, before := resp.Usage.CacheRead, c.read
	idle, last := began.Sub(c.at), c.last
	c.read, c.last, c.at = read, now, time.Now()
	if last == nil || read*100 >= before*breakShare || before-read < breakTokens {
		return nil
	}
	reasons := last.differs(now, req)
	if len(reasons) == 0 {
		switch {
		case idle > time.Hour:
			reasons = []string{"possible 1h TTL expiry"}
		case idle > 5*time.Minute:
			reasons = []string{"possible 5m TTL expiry"}
		default:
			reasons = []string{"likely provider-side eviction"}
		}
	}
	data := struct {
		Reasons []string   `json:"reasons"`
		Call    int        `json:"call"`
		Before  int64      `json:"read_before"`
		Read    int64      `json:"read"`
		Written int64      `json:"written"`
		Cost    *llm.Money `json:"cost"` // null: unknown
	}{Reasons: reasons, Call: c.calls, Before: before, Read: read, Written: resp.Usage.CacheWrite, Cost: w.cost(resp, before-read)}
	n := &llm.Notice{Kind: "cache_break"}
	n.Text = "prompt cache break: " + strings.Join(reasons, "; ")
	if data.Cost != nil && *data.Cost > 0 {
		n.Text += fmt.Sprintf(", which costs some %v", *data.Cost)
	}
	n.Text += fmt.Sprintf(" [call #%d, cache read %d -> %d, written %d]", data.Call, data.Before, data.Read, data.Written)
	n.Data, _ = json.Marshal(data)
	return n
}

// cost is what lost tokens cost more than they would have, by the model that
// answered; nil is unknown.
func (w *Watch) cost(resp *llm.Response, lost int64) *llm.Money {
	p := w.Info().Price
	if o := resp.Message.Origin; o != nil {
		if in, ok := llm.As[interface {
			PriceOf(provider, model string) *llm.Price
		}](w.Model); ok {
			p = in.PriceOf(o.Provider, o.Model)
		}
	}
	if p == nil {
		return nil
	}
	u := resp.Usage
	written := min(lost, u.CacheWrite)
	hit, miss := *u, *u
	// The same prompt both ways, so that the tier of its price is the same.
	hit.Output, miss.Output = 0, 0
	hit.CacheWrite -= written
	hit.CacheWrite1h = min(hit.CacheWrite1h, hit.CacheWrite)
	hit.Input -= min(lost-written, hit.Input)
	hit.CacheRead += written + (u.Input - hit.Input)
	c := p.Cost(miss) - p.Cost(hit)
	return &c
}

// prompt is what the cache of req depends on. The hashes of messages that the
// last request had are taken over.
func (c *watched) prompt(info llm.Info, req *llm.Request, resp *llm.Response) *prompt {
	p := &prompt{model: info.Ref(), system: req.System, tools: req.Tools, msgs: make([]mark, len(req.Messages))}
	if o := resp.Message.Origin; o != nil {
		p.model = llm.Info{Provider: o.Provider, Name: o.Model}.Ref()
	}
	p.settings = settings(req)
	var known []mark
	if c.last != nil {
		known = c.last.msgs
	}
	for i, m := range req.Messages {
		k := mark{parts: unsafe.SliceData(m.Parts), n: len(m.Parts), role: m.Role}
		if i < len(known) && k.n > 0 && known[i].parts == k.parts && known[i].n == k.n && known[i].role == k.role {
			k.hash = known[i].hash
		} else {
			var h maphash.Hash
			h.SetSeed(seed)
			fields(&h, 'm', string(m.Role))
			hashParts(&h, m.Parts)
			k.hash = h.Sum64()
		}
		p.msgs[i] = k
	}
	return p
}

// settings are those of a request that its prompt depends on.
func settings(req *llm.Request) [][2]string {
	out := [][2]string{{"effort", string(req.Effort)}, {"tool choice", string(req.ToolChoice.Mode) + " " + req.ToolChoice.Name}}
	if req.Temperature != nil {
		out = append(out, [2]string{"temperature", fmt.Sprint(*req.Temperature)})
	}
	if req.Schema != nil {
		out = append(out, [2]string{"schema", req.Schema.Name + " " + string(req.Schema.JSON)})
	}
	for k, v := range req.Extra {
		out = append(out, [2]string{"extra " + k, string(v)})
	}
	slices.SortFunc(out, func(a, b [2]string) int { return strings.Compare(a[0], b[0]) })
	return out
}

// differs names what b, which is that of req, has otherwise than a.
func (a *prompt) differs(b *prompt, req *llm.Request) []string {
	var out []string
	if a.model != b.model {
		out = append(out, fmt.Sprintf("model changed (%s -> %s)", a.model, b.model))
	}
	if a.system != b.system {
		out = append(out, "system prompt changed")
	}
	var set []string
	for _, pair := range [][2][][2]string{{a.settings, b.settings}, {b.settings, a.settings}} {
		for _, s := range pair[0] {
			if !slices.Contains(pair[1], s) && !slices.Contains(set, s[0]) {
				set = append(set, s[0])
			}
		}
	}
	if set != nil {
		out = append(out, "settings changed ("+strings.Join(set, ", ")+")")
	}
	out = append(out, toolsDiffer(a.tools, b.tools)...)
	if len(out) > 0 {
		return out
	}
	for i, m := range a.msgs {
		switch {
		case i >= len(b.msgs):
			return []string{fmt.Sprintf("history cut after message %d of %d", i, len(a.msgs))}
		case b.msgs[i].hash != m.hash:
			return []string{fmt.Sprintf("message %d of %d changed (%s)", i+1, len(a.msgs), kindOf(req.Messages[i]))}
		}
	}
	return nil
}

// toolsDiffer names the tools that came and went, whose definition changed, or
// that only their order did.
func toolsDiffer(a, b []llm.ToolSpec) []string {
	if len(a) == len(b) && unsafe.SliceData(a) == unsafe.SliceData(b) {
		return nil
	}
	was := map[string]llm.ToolSpec{}
	for _, t := range a {
		was[t.Name] = t
	}
	var set, changed, order []string
	for _, t := range b {
		old, ok := was[t.Name]
		if !ok {
			set = append(set, "+"+t.Name)
			continue
		}
		order = append(order, t.Name)
		delete(was, t.Name)
		if old.Description != t.Description || old.Deferred != t.Deferred || !bytes.Equal(old.Input, t.Input) || !bytes.Equal(old.Format, t.Format) {
			changed = append(changed, t.Name)
		}
	}
	var had []string
	for _, t := range a {
		if _, gone := was[t.Name]; gone {
			set = append(set, "-"+t.Name)
		} else {
			had = append(had, t.Name)
		}
	}
	var out []string
	if set != nil {
		out = append(out, "tool set changed ("+strings.Join(set, ", ")+")")
	}
	if changed != nil {
		out = append(out, "tool schema changed ("+strings.Join(changed, ", ")+")")
	}
	if !slices.Equal(order, had) {
		out = append(out, "tool order changed")
	}
	return out
}

// kindOf says what a message is.
func kindOf(m llm.Message) string {
	for _, p := range m.Parts {
		if r, ok := p.(llm.ToolResult); ok {
			return strings.TrimSpace("result of " + r.Name)
		}
	}
	return string(m.Role)
}
