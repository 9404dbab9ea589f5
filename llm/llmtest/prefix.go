package llmtest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/llm"
)

// CacheReport says how well a conversation used the provider's prompt cache.
type CacheReport struct {
	Requests int
	Prompt   int64 // tokens of all prompts
	Read     int64 // those of them that came from the cache
	// Breaks are the requests that do not extend the one before them, byte for
	// byte once cache marks are taken out: see [Exchange.Extends].
	Breaks []error
}

// Share is the part of the prompts that came from the cache, 0 to 1.
func (r CacheReport) Share() float64 {
	if r.Prompt == 0 {
		return 0
	}
	return float64(r.Read) / float64(r.Prompt)
}

// CacheOf reports on the requests of one conversation, such as
// [Server.Requests]. Requests that were refused count as breaks.
func CacheOf(rs []*Exchange) CacheReport {
	report := CacheReport{Requests: len(rs)}
	for i, e := range rs {
		report.Prompt += e.Usage.Prompt()
		report.Read += e.Usage.CacheRead
		if e.Err != nil {
			report.Breaks = append(report.Breaks, fmt.Errorf("llmtest: request %d: %w", e.N, e.Err))
		}
		if i == 0 {
			continue
		}
		if err := e.Extends(rs[i-1]); err != nil {
			report.Breaks = append(report.Breaks, err)
		}
	}
	return report
}

// Turns is a Player of a conversation of n requests with the tool of that
// name, whose call i has the arguments that args returns: with thinking, with and without text beside
// the call, one call and several, arguments that are broken. The last request
// is answered with a text.
func Turns(n int, name string, args func(i int) any) Player {
	return func(e *Exchange) Reply {
		made := 0
		for _, m := range e.Request.Messages {
			made += len(m.Parts.Calls())
		}
		turn := e.Turn()
		var r Reply
		if turn%3 == 0 {
			r = r.Think(fmt.Sprintf("Step %d needs a look.", turn))
		}
		if turn >= n-1 {
			return r.Say("Done.")
		}
		if turn%2 == 0 {
			r = r.Say(fmt.Sprintf("Now step %d.", turn))
		}
		r = r.Call(name, args(made))
		if turn%4 == 1 {
			r = r.Call(name, args(made+1))
		}
		if turn%5 == 2 {
			r = r.Call(name, `{"cut`)
		}
		return r
	}
}

// TestCache holds an adapter to the prompt cache of its wire, in a conversation
// of 20 requests with tools: each request extends the last, nine tenths of all
// prompts come from the cache, and the usage that the model reports is what the
// provider billed. It returns the report.
func TestCache(t *testing.T, h Harness) CacheReport {
	t.Helper()
	const turns, least = 20, 0.9
	s := NewServer(t, Turns(turns, "Look", func(i int) any { return map[string]string{"thing": fmt.Sprint("sea ", i)} }))
	m := h.New(t, s.BaseURL(h.Wire))
	req := modelRequest()
	req.System = LongText(6000)
	req.CacheKey = "a conversation"
	var read, prompt int64
	for {
		resp, err := llm.Generate(t.Context(), m, req)
		if err != nil {
			t.Fatal(err)
		}
		if resp.Usage != nil {
			read += resp.Usage.CacheRead
			prompt += resp.Usage.Prompt()
		}
		calls := resp.Message.Parts.Calls()
		if len(calls) == 0 {
			break
		}
		next := llm.Message{Role: llm.RoleUser}
		for _, c := range calls {
			next.Parts = append(next.Parts, llm.ToolResult{CallID: c.ID, Name: c.Name, Parts: llm.Texts("It is blue: " + c.ID), IsError: c.Malformed != ""})
		}
		req = cloneRequest(req)
		req.Messages = append(req.Messages, resp.Message, next)
	}
	report := CacheOf(s.Requests())
	for _, err := range report.Breaks {
		t.Error(err)
	}
	if report.Requests != turns || report.Share() < least {
		t.Errorf("%.1f %% of the prompts of %d requests came from the cache, want %d requests and %.0f %%", 100*report.Share(), report.Requests, turns, 100*least)
	}
	told := report.Read
	if h.Wire == WireOllama { // which does not tell the two apart
		told = 0
	}
	if prompt != report.Prompt || read != told {
		t.Errorf("the model reports %d tokens of prompts, %d from the cache; billed were %d and %d", prompt, read, report.Prompt, report.Read)
	}
	return report
}

// LongText is a text of about that many tokens, always the same: a system
// prompt that providers cache.
func LongText(tokens int) string {
	var b strings.Builder
	for i := 0; b.Len() < tokens*4; i++ {
		fmt.Fprintf(&b, "Rule %d: look before you answer. ", i)
	}
	return strings.TrimSpace(b.String())
}
