package wrap_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/llmtest"
	"github.com/cantle-dev/cantle/llm/wrap"
)

func cached(read, written int64) llmtest.Reply {
	return llmtest.Say("ok").Usage(llm.Usage{CacheRead: read, CacheWrite: written})
}

func TestCacheWatch(t *testing.T) {
	base := func() *llm.Request {
		r := hello()
		r.CacheKey, r.System, r.Tools = "s", "Be brief.", tools()
		return r
	}
	for name, c := range map[string]struct {
		change     func(r *llm.Request)
		idle       time.Duration
		read, then int64
		want       string // "" is no break
	}{
		"nothing":       {read: 48210, then: 0, want: "likely provider-side eviction"},
		"5 minutes":     {read: 48210, idle: 6 * time.Minute, want: "possible 5m TTL expiry"},
		"an hour":       {read: 48210, idle: 61 * time.Minute, want: "possible 1h TTL expiry"},
		"at 95 %":       {read: 100_000, then: 95_000},
		"below 95 %":    {read: 100_000, then: 94_999, want: "eviction"},
		"1,999 tokens":  {read: 5000, then: 3001},
		"2,000 tokens":  {read: 5000, then: 3000, want: "eviction"},
		"more":          {read: 5000, then: 9000},
		"system prompt": {change: func(r *llm.Request) { r.System = "Be long." }, read: 9000, want: "system prompt changed"},
		"settings":      {change: func(r *llm.Request) { r.Effort = llm.EffortHigh }, read: 9000, want: "settings changed (effort)"},
		"tool set": {change: func(r *llm.Request) {
			r.Tools = append(r.Tools[1:len(r.Tools):len(r.Tools)], llm.ToolSpec{Name: "mcp__a__b"})
		}, read: 9000, want: "tool set changed (+mcp__a__b, -Read)"},
		"tool schema":    {change: func(r *llm.Request) { r.Tools[1].Input = json.RawMessage(`{}`) }, read: 9000, want: "tool schema changed (Write)"},
		"tool order":     {change: func(r *llm.Request) { r.Tools[0], r.Tools[1] = r.Tools[1], r.Tools[0] }, read: 9000, want: "tool order changed"},
		"a message":      {change: func(r *llm.Request) { r.Messages[0] = llm.UserText("hullo") }, read: 9000, want: "message 1 of 1 changed (user)"},
		"the tools anew": {change: func(r *llm.Request) { r.Tools = tools() }, read: 9000, want: "eviction"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := wrap.CacheWatch(llmtest.New(t, cached(c.read, 10), cached(c.then, 48355)), wrap.CacheWatchOptions{})
				if said, _, err := events(w.Stream(t.Context(), base())); err != nil || said != nil {
					t.Fatal(said, err)
				}
				<-time.After(c.idle)
				r := base()
				if c.change != nil {
					c.change(r)
				}
				r.Messages = append(r.Messages, llm.Message{Role: llm.RoleAssistant, Parts: llm.Texts("ok")}, llm.UserText("more"))
				said, resp, err := events(w.Stream(t.Context(), r))
				if err != nil || resp == nil {
					t.Fatal(err)
				}
				got := strings.Join(said, "|")
				tail := fmt.Sprintf("[call #2, cache read %d -> %d, written 48355]", c.read, c.then)
				if (got != "") != (c.want != "") || c.want != "" && (!strings.HasPrefix(got, "cache_break: prompt cache break: ") || !strings.Contains(got, c.want) || !strings.HasSuffix(got, tail)) {
					t.Errorf("%q, want %q", got, c.want)
				}
			})
		})
	}
}

// TestCacheWatchForgets holds what begins anew: a conversation that was made
// smaller, one of more than ten, and all that is not watched.
func TestCacheWatchForgets(t *testing.T) {
	ask := func(w *wrap.Watch, key string) []string {
		r := hello()
		r.CacheKey = key
		said, _, err := events(w.Stream(t.Context(), r))
		if err != nil {
			t.Fatal(err)
		}
		return said
	}
	w := wrap.CacheWatch(llmtest.New(t, cached(9000, 0), cached(0, 0)), wrap.CacheWatchOptions{})
	ask(w, "s")
	w.Reset("s")
	if said := ask(w, "s"); said != nil {
		t.Error("after a reset: ", said)
	}
	w = wrap.CacheWatch(llmtest.New(t, cached(9000, 0), cached(0, 0)), wrap.CacheWatchOptions{})
	ask(w, "")
	if said := ask(w, ""); said != nil {
		t.Error("without a key: ", said)
	}
	w = wrap.CacheWatch(llmtest.New(t, append(llmtest.Times(11, cached(9000, 0)), cached(0, 0), cached(0, 0))...), wrap.CacheWatchOptions{})
	for i := range 11 {
		ask(w, fmt.Sprint("s", i))
	}
	if said := ask(w, "s0"); said != nil {
		t.Error("the oldest of eleven: ", said)
	}
	if said := ask(w, "s10"); len(said) != 1 {
		t.Error("the newest of eleven: ", said)
	}
}

// TestCacheWatchNamesTheModel holds that a switch is named, and its cost is that
// of the model that answered.
func TestCacheWatchNamesTheModel(t *testing.T) {
	main := named(t, "main", 100, cached(1_000_000, 0), fails(llm.KindQuota))
	spare := named(t, "spare", 1, llmtest.Say("ok").Usage(llm.Usage{Input: 1_000_000}))
	i := spare.Info()
	i.Price = &llm.Price{Input: llm.Dollar / 1e6}
	spare.SetInfo(i)
	w := wrap.CacheWatch(wrap.Fallback(main, wrap.FallbackOptions{}, spare), wrap.CacheWatchOptions{})
	r := hello()
	r.CacheKey = "s"
	if _, _, err := events(w.Stream(t.Context(), r)); err != nil {
		t.Fatal(err)
	}
	said, _, err := events(w.Stream(t.Context(), r))
	if got := said[len(said)-1]; err != nil || got != "cache_break: prompt cache break: model changed (p:main -> p:spare), which costs some $1.0000 [call #2, cache read 1000000 -> 0, written 0]" {
		t.Error(got, err)
	}
}

func ExampleCacheWatch() {
	model := llmtest.New(nil,
		llmtest.Say("ok").Usage(llm.Usage{CacheRead: 48210, CacheWrite: 145}),
		llmtest.Say("ok").Usage(llm.Usage{CacheWrite: 48355}))
	w := wrap.CacheWatch(model, wrap.CacheWatchOptions{})
	req := &llm.Request{CacheKey: "session-1", System: "It is 9:00.", Messages: []llm.Message{llm.UserText("hello")}}
	for range 2 {
		for ev, err := range w.Stream(context.Background(), req) {
			if err != nil {
				fmt.Println(err)
				return
			}
			if n, ok := ev.(llm.Notice); ok {
				fmt.Println(n.Text)
			}
		}
		changed := *req
		changed.System = "It is 9:05."
		req = &changed
	}
	// Output: prompt cache break: system prompt changed [call #2, cache read 48210 -> 0, written 48355]
}
