package llmtest_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cantle-dev/cantle/llm/llmtest"
)

// asked sends a body and returns what the server made of it.
func asked(t *testing.T, s *llmtest.Server, path, body string) *llmtest.Exchange {
	t.Helper()
	if status, b, err := postTo(t, s, path, body); err != nil || status != http.StatusOK {
		t.Fatal(status, b, err)
	}
	rs := s.Requests()
	return rs[len(rs)-1]
}

func cacheServer(t *testing.T) *llmtest.Server {
	return llmtest.NewServer(t, func(*llmtest.Exchange) llmtest.Reply { return llmtest.Say("ok") })
}

// TestCacheMinimums: a prompt that is shorter than the provider's least is not
// cached, and nobody says so; what is read comes in the provider's steps.
func TestCacheMinimums(t *testing.T) {
	chat := func(model, text, more string) string {
		return fmt.Sprintf(`{"model":%q,"messages":[{"role":"user","content":%q}]%s}`, model, text, more)
	}
	claude := func(model, text string) string {
		return fmt.Sprintf(`{"model":%q,"max_tokens":9,"messages":[{"role":"user","content":[{"type":"text","text":%q,"cache_control":{"type":"ephemeral"}}]}]}`, model, text)
	}
	gemini := func(text string) string {
		return fmt.Sprintf(`{"contents":[{"role":"user","parts":[{"text":%q}]}]}`, text)
	}
	converse := func(text string) string {
		return fmt.Sprintf(`{"messages":[{"role":"user","content":[{"text":%q},{"cachePoint":{"type":"default"}}]}]}`, text)
	}
	short, medium, long := strings.Repeat("word ", 500), strings.Repeat("word ", 1000), strings.Repeat("word ", 3500)
	for _, c := range []struct {
		name, path, body string
		cached           bool
		step             int64
	}{
		{"claude, short", "/v1/messages", claude("claude-m", short), false, 1},
		{"claude, medium", "/v1/messages", claude("claude-m", medium), true, 1},
		{"a new claude, short", "/v1/messages", claude("claude-opus-5", medium), true, 1},
		{"an older claude, medium", "/v1/messages", claude("claude-haiku-4-5", medium), false, 1},
		{"an older claude, long", "/v1/messages", claude("claude-haiku-4-5", long), true, 1},
		{"chat, short", "/v1/chat/completions", chat("gpt-m", short, ""), false, 128},
		{"chat, medium", "/v1/chat/completions", chat("gpt-m", medium, ""), true, 128},
		{"deepseek, short", "/v1/chat/completions", chat("deepseek-m", short, ""), true, 64},
		{"responses, medium", "/v1/responses", fmt.Sprintf(`{"model":"m","input":%q}`, medium), true, 128},
		{"flash, medium", "/v1beta/models/gemini-3-flash:generateContent", gemini(medium), true, 1},
		{"pro, medium", "/v1beta/models/gemini-3-pro:generateContent", gemini(medium), false, 1},
		{"pro, long", "/v1beta/models/gemini-3-pro:generateContent", gemini(long), true, 1},
		{"converse, short", "/model/anthropic.claude-m/converse", converse(short), false, 1},
		{"converse, medium", "/model/anthropic.claude-m/converse", converse(medium), true, 1},
		{"cohere, short", "/v2/chat", chat("command-m", short, ""), true, 32},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := cacheServer(t)
			first, second := asked(t, s, c.path, c.body), asked(t, s, c.path, c.body)
			if first.Usage.CacheRead != 0 {
				t.Errorf("the first request reads: %+v", first.Usage)
			}
			read := second.Usage.CacheRead
			if (read > 0) != c.cached || read%c.step != 0 || second.Usage.Prompt() != first.Usage.Prompt() {
				t.Errorf("first %+v, then %+v, want cached %v in steps of %d", first.Usage, second.Usage, c.cached, c.step)
			}
		})
	}
	s := cacheServer(t)
	asked(t, s, "/v1/chat/completions", chat("m", medium, `,"prompt_cache_key":"a"`))
	if u := asked(t, s, "/v1/chat/completions", chat("m", medium, `,"prompt_cache_key":"b"`)).Usage; u.CacheRead != 0 {
		t.Errorf("requests with different keys meet: %+v", u)
	}
}

func TestCacheMarks(t *testing.T) {
	// blocks are that many of the same texts, with a mark on the last.
	blocks := func(n int, ttl string) string {
		var bs []string
		for i := range n {
			mark := ""
			if i == n-1 {
				mark = `,"cache_control":{"type":"ephemeral"` + ttl + `}`
			}
			bs = append(bs, fmt.Sprintf(`{"type":"text","text":"%d %s"%s}`, i, strings.Repeat("word ", 300), mark))
		}
		return `{"model":"claude-m","max_tokens":9,"messages":[{"role":"user","content":[` + strings.Join(bs, ",") + `]}]}`
	}
	const hour = `,"ttl":"1h"`
	for _, c := range []struct {
		name string
		ttl  string
		wait []time.Duration // before each request after the first
		n    []int           // blocks of each request
		read bool            // whether the last reads
	}{
		{"again", "", []time.Duration{0}, []int{5, 5}, true},
		{"longer", "", []time.Duration{0}, []int{5, 24}, true},
		{"longer than is looked back", "", []time.Duration{0}, []int{5, 25}, false},
		{"shorter", "", []time.Duration{0}, []int{6, 5}, false},
		{"just in time", "", []time.Duration{4 * time.Minute}, []int{5, 5}, true},
		{"too late", "", []time.Duration{6 * time.Minute}, []int{5, 5}, false},
		{"kept by reading", "", []time.Duration{4 * time.Minute, 4 * time.Minute}, []int{5, 5, 5}, true},
		{"an hour", hour, []time.Duration{50 * time.Minute}, []int{5, 5}, true},
		{"over an hour", hour, []time.Duration{61 * time.Minute}, []int{5, 5}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := cacheServer(t)
			first := asked(t, s, "/v1/messages", blocks(c.n[0], c.ttl))
			if u := first.Usage; u.CacheWrite == 0 || (u.CacheWrite1h == u.CacheWrite) != (c.ttl == hour) {
				t.Errorf("the first request: %+v", u)
			}
			last := first
			for i, d := range c.wait {
				s.Elapse(d)
				last = asked(t, s, "/v1/messages", blocks(c.n[i+1], c.ttl))
			}
			if (last.Usage.CacheRead > 0) != c.read {
				t.Errorf("the last request: %+v, want that it reads: %v", last.Usage, c.read)
			}
		})
	}
	s := cacheServer(t)
	s.Tolerate()
	body := `{"model":"m","max_tokens":9,"system":[{"type":"text","text":"x","cache_control":{"type":"ephemeral"}}],"messages":[{"role":"user","content":[{"type":"text","text":"x","cache_control":{"type":"ephemeral","ttl":"1h"}}]}]}`
	if status, b, err := postTo(t, s, "/v1/messages", body); err != nil || status != http.StatusBadRequest || !strings.Contains(b, "must not come after one of 5m") {
		t.Error(status, b, err)
	}
}

// TestBreaksAreNamed: a request that does not extend the last is found on each
// wire, whatever the wire calls its parts, and marks that move are none.
func TestBreaksAreNamed(t *testing.T) {
	for _, c := range []struct{ path, first, second, want string }{
		{"/v1/responses", `{"model":"m","instructions":"a","input":[{"role":"user","content":"q"}]}`, `{"model":"m","instructions":"b","input":[{"role":"user","content":"q"}]}`, "instructions differs at byte 1"},
		{"/v1/responses", `{"model":"m","input":[{"role":"user","content":"q"}]}`, `{"model":"m","input":[{"role":"user","content":"r"}]}`, "input[0] differs"},
		{"/v1beta/models/gemini-3-m:generateContent", `{"systemInstruction":{"parts":[{"text":"a"}]},"contents":[{"role":"user","parts":[{"text":"q"}]}]}`, `{"contents":[{"role":"user","parts":[{"text":"q"}]}]}`, "systemInstruction differs"},
		{"/model/claude/converse", `{"messages":[{"role":"user","content":[{"text":"q"},{"cachePoint":{"type":"default"}}]}]}`, `{"messages":[{"role":"user","content":[{"text":"q"}]},{"role":"assistant","content":[{"text":"a"}]},{"role":"user","content":[{"text":"q"},{"cachePoint":{"type":"default"}}]}]}`, ""},
		{"/v2/chat", `{"model":"m","messages":[{"role":"user","content":"q"},{"role":"user","content":"q"}]}`, `{"model":"m","messages":[{"role":"user","content":"q"}]}`, "has 1 messages, request 1 before it 2"},
		{"/api/chat", `{"model":"m","tools":[],"messages":[{"role":"user","content":"q"}]}`, `{"model":"m","messages":[{"role":"user","content":"q"}]}`, "tools differs"},
	} {
		s := cacheServer(t)
		asked(t, s, c.path, c.first)
		asked(t, s, c.path, c.second)
		report := llmtest.CacheOf(s.Requests())
		switch {
		case c.want == "" && len(report.Breaks) == 0:
		case c.want != "" && len(report.Breaks) == 1 && strings.Contains(report.Breaks[0].Error(), c.want):
		default:
			t.Errorf("%s: breaks %v, want %q", c.path, report.Breaks, c.want)
		}
	}
}
