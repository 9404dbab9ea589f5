package llmtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cantle-dev/cantle/llm"
)

// Harness makes the model that [TestModel] tries.
type Harness struct {
	// New returns a model. For a wire it is an adapter that talks to baseURL,
	// which is [Server.BaseURL], and that neither retries nor needs a key that
	// means anything. With no wire baseURL is empty, and the model must answer
	// any request with some text.
	New func(t testing.TB, baseURL string) llm.Model
	// Wire is the wire of an adapter; "" is for any other model.
	Wire string
	// NoThinking is set for adapters that do not report thinking.
	NoThinking bool
}

// TestModel is the conformance suite for an [llm.Model]: it holds the model to
// the contract of the interface and, for an adapter, of [llm.Response] and
// [llm.Error]. It takes goroutines into account and so is not for parallel
// tests.
func TestModel(t *testing.T, h Harness) {
	t.Helper()
	t.Run("contract", func(t *testing.T) { testContract(t, h) })
	if h.Wire == "" {
		return
	}
	t.Run("answers", func(t *testing.T) { testAnswers(t, h) })
	t.Run("round trip", func(t *testing.T) { testRoundTrip(t, h) })
	t.Run("request", func(t *testing.T) { testRequest(t, h) })
	t.Run("history", func(t *testing.T) { testHistory(t, h) })
	t.Run("errors", func(t *testing.T) { testErrors(t, h) })
	t.Run("cancel", func(t *testing.T) { testCancel(t, h) })
}

// model starts a server that plays p, if the harness is an adapter's.
func (h Harness) model(t *testing.T, p Player) llm.Model {
	t.Helper()
	if h.Wire == "" {
		return h.New(t, "")
	}
	return h.New(t, NewServer(t, p).BaseURL(h.Wire))
}

func say(text string) Player { return func(*Exchange) Reply { return Say(text) } }

// modelRequest is a request with everything that any model takes.
func modelRequest() *llm.Request {
	return &llm.Request{
		System:    "Be brief.",
		Messages:  []llm.Message{llm.UserText("Say something.")},
		MaxTokens: 4096,
		Tools: []llm.ToolSpec{{
			Name: "Look", Description: "Looks at a thing.",
			Input: json.RawMessage(`{"type":"object","properties":{"thing":{"type":"string"}},"required":["thing"]}`),
		}},
	}
}

func testContract(t *testing.T, h Harness) {
	NoLeaks(t)
	m := h.model(t, say("Here is a short answer."))
	t.Run("info", func(t *testing.T) {
		if m.Info().Ref() == "" {
			t.Error("Info has neither provider nor name")
		}
	})
	t.Run("order", func(t *testing.T) {
		var text string
		var resp *llm.Response
		for ev, err := range m.Stream(t.Context(), modelRequest()) {
			if err != nil {
				t.Fatal(err)
			}
			if resp != nil {
				t.Fatalf("%T came after Done", ev)
			}
			switch ev := ev.(type) {
			case nil:
				t.Fatal("a nil event without an error")
			case llm.TextDelta:
				if ev.Text == "" {
					t.Error("an empty text delta")
				}
				text += ev.Text
			case llm.Done:
				resp = ev.Response
			}
		}
		if resp == nil {
			t.Fatal("no Done came")
		}
		if got := resp.Message.Text(); got != text {
			t.Errorf("deltas say %q, the response %q", text, got)
		}
		if resp.Message.Role != llm.RoleAssistant || resp.Message.Origin == nil || resp.Stop == "" {
			t.Errorf("role %q, origin %v, stop %q", resp.Message.Role, resp.Message.Origin, resp.Stop)
		}
	})
	t.Run("single use", func(t *testing.T) {
		seq := m.Stream(t.Context(), modelRequest())
		if _, err := llm.Collect(seq); err != nil {
			t.Fatal(err)
		}
		n := 0
		for ev, err := range seq {
			if n++; ev != nil || !errors.Is(err, llm.ErrUsed) {
				t.Errorf("the second range yields %v, %v", ev, err)
			}
		}
		if n != 1 {
			t.Errorf("the second range yields %d pairs", n)
		}
	})
	t.Run("break", func(t *testing.T) {
		seq := m.Stream(t.Context(), modelRequest())
		for _, err := range seq {
			if err != nil {
				t.Fatal(err)
			}
			break
		}
		if _, err := llm.Collect(seq); !errors.Is(err, llm.ErrUsed) {
			t.Errorf("a range after a break yields %v", err)
		}
	})
	t.Run("cancelled before", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := llm.Collect(m.Stream(ctx, modelRequest())); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("request unchanged", func(t *testing.T) {
		req := modelRequest()
		was := cloneRequest(req)
		if _, err := llm.Collect(m.Stream(t.Context(), req)); err != nil {
			t.Fatal(err)
		}
		if a, b := encode(was), encode(req); !bytes.Equal(a, b) {
			t.Errorf("the request was changed:\n%s\n%s", a, b)
		}
	})
	t.Run("concurrent", func(t *testing.T) {
		var wg sync.WaitGroup
		req := modelRequest()
		for range 8 {
			wg.Go(func() {
				if _, err := llm.Generate(t.Context(), m, req); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	})
	t.Run("unwrap", func(t *testing.T) {
		for at, n := m, 0; at != nil; n++ {
			w, ok := at.(llm.Wrapper)
			if !ok {
				return
			}
			if at = w.Unwrap(); at == nil || n > 100 {
				t.Error("Unwrap leads to nothing, or in a circle")
				return
			}
		}
	})
}

func testAnswers(t *testing.T, h Harness) {
	usage := llm.Usage{Input: 11, Output: 7, CacheRead: 5}
	told := usage
	if h.Wire == WireOllama { // which does not tell them apart
		told.Input, told.CacheRead = usage.Prompt(), 0
	}
	for _, c := range []struct {
		name  string
		reply Reply
		stop  llm.StopReason
	}{
		{"text", Say("All is well, 漢字 and \"quotes\"\n\ttoo."), llm.StopEnd},
		{"thinking", Think("Let me see.").Say("Yes."), llm.StopEnd},
		{"call", Call("Look", map[string]string{"thing": "the\nsea"}), llm.StopToolUse},
		{"parallel calls", Say("Both.").Call("Look", map[string]string{"thing": "a"}).Call("Look", map[string]string{"thing": "b"}), llm.StopToolUse},
		{"malformed call", Call("Look", `{"thing": "a`), llm.StopToolUse},
		{"call whose input is a list", Call("Look", `["a"]`), llm.StopToolUse},
		{"limit", Say("and then").Stop(llm.StopMaxTokens), llm.StopMaxTokens},
		{"slow", Say("One after another.").Slow(time.Millisecond), llm.StopEnd},
		{"long", Say(strings.Repeat("word ", 20_000)), llm.StopEnd},
	} {
		for _, form := range []string{"streamed", "whole"} {
			t.Run(c.name+"/"+form, func(t *testing.T) {
				reply := c.reply.Usage(usage)
				if form == "whole" {
					reply = reply.Whole()
				}
				m := h.model(t, Play(t, reply))
				resp, text, args := drain(t, m.Stream(t.Context(), modelRequest()))
				if want := c.reply.parts.Text(); resp.Message.Text() != want || text != want {
					t.Errorf("text %s, deltas %s, want %s", brief(resp.Message.Text()), brief(text), brief(want))
				}
				if resp.Stop != c.stop {
					t.Errorf("stop %q, want %q", resp.Stop, c.stop)
				}
				if u := resp.Usage; u == nil || *u != told {
					t.Errorf("usage %+v, want %+v", u, told)
				}
				h.compareCalls(t, resp, c.reply, args)
				if got := thoughts(resp.Message.Parts); !h.NoThinking && got != thoughts(c.reply.parts) {
					t.Errorf("thinking %q", got)
				}
			})
		}
	}
}

func (h Harness) compareCalls(t *testing.T, resp *llm.Response, r Reply, args []string) {
	t.Helper()
	got, want := resp.Message.Parts.Calls(), r.parts.Calls()
	if len(got) != len(want) {
		t.Fatalf("%d calls, want %d", len(got), len(want))
	}
	seen := map[string]bool{}
	for i, g := range got {
		w := want[i]
		if g.ID == "" || seen[g.ID] || g.Name != w.Name {
			t.Errorf("call %d has id %q and name %q", i, g.ID, g.Name)
		}
		seen[g.ID] = true
		if w.Malformed != "" {
			if g.Malformed == "" || string(g.Input) != "{}" {
				t.Errorf("malformed call %d: input %s, malformed %q", i, g.Input, g.Malformed)
			}
			continue
		}
		var a, b any
		if json.Unmarshal(g.Input, &a) != nil || json.Unmarshal(w.Input, &b) != nil || !bytes.Equal(encode(a), encode(b)) {
			t.Errorf("call %d: input %s, want %s", i, g.Input, w.Input)
		}
		if i < len(args) && args[i] != "" && json.Unmarshal([]byte(args[i]), &a) == nil && !bytes.Equal(encode(a), encode(b)) {
			t.Errorf("call %d: deltas say %s, want %s", i, args[i], w.Input)
		}
	}
}

func drain(t *testing.T, seq iter.Seq2[llm.Event, error]) (resp *llm.Response, text string, args []string) {
	t.Helper()
	var b strings.Builder
	for ev, err := range seq {
		if err != nil {
			t.Fatal(err)
		}
		switch ev := ev.(type) {
		case llm.TextDelta:
			b.WriteString(ev.Text)
		case llm.CallDelta:
			for len(args) <= ev.Index {
				args = append(args, "")
			}
			args[ev.Index] += ev.Input
		case llm.Done:
			resp = ev.Response
		}
	}
	if resp == nil {
		t.Fatal("no Done came")
	}
	return resp, b.String(), args
}

func thoughts(ps llm.Parts) string {
	var s string
	for _, p := range ps {
		if th, ok := p.(llm.Thinking); ok {
			s += th.Text
		}
	}
	return s
}

// testRoundTrip sends answers back: the server refuses what a provider would.
func testRoundTrip(t *testing.T, h Harness) {
	var s *Server
	m := h.New(t, func() string {
		s = NewServer(t, Play(t,
			Think("First I look.").Say("Looking.").Call("Look", map[string]string{"thing": "a"}).Call("Look", `{"thing`),
			Say("Now one more.").Call("Look", nil),
			Say("Done."),
			Say("Bye."),
		))
		return s.BaseURL(h.Wire)
	}())
	req := modelRequest()
	for range 3 {
		resp, err := llm.Generate(t.Context(), m, req)
		if err != nil {
			t.Fatal(err)
		}
		next := llm.Message{Role: llm.RoleUser}
		for _, c := range resp.Message.Parts.Calls() {
			next.Parts = append(next.Parts, llm.ToolResult{CallID: c.ID, Name: c.Name, Parts: llm.Texts("I see " + c.ID), IsError: c.Malformed != ""})
		}
		if next.Parts == nil {
			next.Parts = llm.Texts("Thanks.")
		}
		req = cloneRequest(req)
		req.Messages = append(req.Messages, resp.Message, next)
	}
	if _, err := llm.Generate(t.Context(), m, req); err != nil {
		t.Fatal(err)
	}
	rs := s.Requests()
	for i := 1; i < len(rs); i++ {
		if err := rs[i].Extends(rs[i-1]); err != nil {
			t.Error(err)
		}
	}
	last := rs[len(rs)-1].Request
	if last.System != "Be brief." || len(last.Messages) != 7 || last.Messages[6].Text() != "Thanks." {
		t.Errorf("the last request has system %q and %d messages", last.System, len(last.Messages))
	}
}

func testErrors(t *testing.T, h Harness) {
	cut := []llm.Kind{llm.KindTruncated, llm.KindNetwork}
	for _, c := range []struct {
		name    string
		reply   Reply
		kinds   []llm.Kind
		partial string
	}{
		{"400", Status(400, nil), []llm.Kind{llm.KindInvalidRequest}, ""},
		{"401", Status(401, nil), []llm.Kind{llm.KindAuth}, ""},
		{"403", Status(403, nil), []llm.Kind{llm.KindPermission}, ""},
		{"404", Status(404, nil), []llm.Kind{llm.KindNotFound}, ""},
		{"413", Status(413, nil), []llm.Kind{llm.KindTooLarge, llm.KindContextOverflow}, ""},
		{"429", Status(429, RetryAfter(7*time.Second)), []llm.Kind{llm.KindRateLimit}, ""},
		{"503 that says when", Status(503, RetryAfter(7*time.Second)), []llm.Kind{llm.KindOverloaded, llm.KindServer}, ""},
		{"500", Status(500, nil), []llm.Kind{llm.KindServer}, ""},
		{"503", Status(503, nil), []llm.Kind{llm.KindOverloaded, llm.KindServer}, ""},
		{"529", Status(529, nil), []llm.Kind{llm.KindOverloaded}, ""},
		{"a proxy's page", Plain(502, "<html>Bad gateway</html>"), []llm.Kind{llm.KindServer}, ""},
		{"overflow", Fail(&llm.Error{Kind: llm.KindContextOverflow, Message: "prompt is too long: 250000 tokens > 200000 maximum (maximum context length)"}), []llm.Kind{llm.KindContextOverflow}, ""},
		{"overloaded in mid-stream", Say("some text").Fail(&llm.Error{Kind: llm.KindServer, Message: "internal error"}), []llm.Kind{llm.KindOverloaded, llm.KindServer, llm.KindStream}, "some text"},
		{"connection closed at once", Cut(), cut, ""},
		{"cut", Say("some text").Cut(), cut, "some text"},
		{"cut in a call", Say("some text").Call("Look", map[string]string{"thing": "x"}).Cut(), cut, "some text"},
		{"truncated", Say("some text").Truncate(), cut, "some text"},
		{"truncated at once", Reply{}.Truncate(), cut, ""},
		{"malformed", Say("some text").Malformed(), []llm.Kind{llm.KindCorrupt}, "some text"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := h.model(t, Play(t, c.reply))
			var last error
			for ev, err := range m.Stream(t.Context(), modelRequest()) {
				if last != nil {
					t.Fatalf("%v came after the error", ev)
				}
				if d, ok := ev.(llm.Done); ok {
					t.Fatalf("Done: %+v", d.Response)
				}
				last = err
			}
			var e *llm.Error
			if !errors.As(last, &e) {
				t.Fatalf("got %v, want an *llm.Error", last)
			}
			ok := false
			for _, k := range c.kinds {
				ok = ok || e.Kind == k
			}
			if !ok {
				t.Errorf("kind %q, want one of %q: %v", e.Kind, c.kinds, e)
			}
			if e.Provider != m.Info().Provider {
				t.Errorf("the error names provider %q", e.Provider)
			}
			if (c.name == "429" || c.name == "503 that says when") && e.RetryAfter != 7*time.Second {
				t.Errorf("retry after %s, want 7 s", e.RetryAfter)
			}
			if c.partial != "" && (e.Partial == nil || e.Partial.Message.Text() != c.partial) {
				t.Errorf("partial %+v, want %q", e.Partial, c.partial)
			}
		})
	}
}

func testCancel(t *testing.T, h Harness) {
	for name, reply := range map[string]Reply{"before the first event": Stall(), "in mid-stream": Say("some text").Stall()} {
		t.Run(name, func(t *testing.T) {
			NoLeaks(t)
			arrived := make(chan struct{})
			m := h.model(t, func(*Exchange) Reply { close(arrived); return reply })
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go func() {
				select {
				case <-arrived:
				case <-ctx.Done():
				}
				cancel()
			}()
			done := make(chan error, 1)
			go func() {
				_, err := llm.Collect(m.Stream(ctx, modelRequest()))
				done <- err
			}()
			timer := time.NewTimer(10 * time.Second)
			defer timer.Stop()
			select {
			case err := <-done:
				if !errors.Is(err, context.Canceled) {
					t.Errorf("got %v", err)
				}
			case <-timer.C:
				t.Fatal("the stream did not end within 10 s of its context")
			}
		})
	}
}
