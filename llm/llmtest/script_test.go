package llmtest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/llmtest"
)

// fakeTB is a testing.TB that only takes notes.
type fakeTB struct {
	testing.TB
	mu       sync.Mutex
	errors   []string
	cleanups []func()
}

func (f *fakeTB) Helper()           {}
func (f *fakeTB) Cleanup(fn func()) { f.cleanups = append(f.cleanups, fn) }
func (f *fakeTB) Errorf(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.errors = append(f.errors, fmt.Sprintf(format, args...))
}

func (f *fakeTB) end() string {
	for i := len(f.cleanups) - 1; i >= 0; i-- {
		f.cleanups[i]()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return strings.Join(f.errors, "\n")
}

func ask(text string) *llm.Request {
	return &llm.Request{Messages: []llm.Message{llm.UserText(text)}}
}

func TestScriptPlaysParts(t *testing.T) {
	m := llmtest.New(t,
		llmtest.Think("Hm, a file.").Say("Let me look at it.").Call("Read", map[string]string{"path": "a.txt"}).CallID("x", "Read", `{"path"`),
		llmtest.Say("done").Stop(llm.StopMaxTokens).Usage(llm.Usage{Input: 7, Output: 9}),
	)
	var text, thought, args string
	var resp *llm.Response
	n := 0
	for ev, err := range m.Stream(t.Context(), ask("go")) {
		if err != nil {
			t.Fatal(err)
		}
		n++
		switch ev := ev.(type) {
		case llm.TextDelta:
			text += ev.Text
		case llm.ThinkingDelta:
			thought += ev.Text
		case llm.CallDelta:
			if ev.Index == 0 {
				args += ev.Input
			}
		case llm.Done:
			resp = ev.Response
		}
	}
	if text != "Let me look at it." || thought != "Hm, a file." || args != `{"path":"a.txt"}` || n < 9 {
		t.Errorf("deltas: %q %q %q in %d events", text, thought, args, n)
	}
	calls := resp.Message.Parts.Calls()
	if resp.Stop != llm.StopToolUse || len(calls) != 2 || calls[0].ID != "call_1" || calls[1].Malformed != `{"path"` || string(calls[1].Input) != "{}" {
		t.Errorf("response: %+v", resp)
	}
	resp, err := llm.Generate(t.Context(), m, ask("again"))
	if err != nil || resp.Stop != llm.StopMaxTokens || resp.Usage.Input != 7 {
		t.Errorf("%+v %v", resp, err)
	}
}

func TestScriptFailsTheTest(t *testing.T) {
	run := func(steps []llmtest.Reply, requests ...string) (string, error) {
		tb := &fakeTB{}
		m := llmtest.New(tb, steps...)
		var err error
		for _, r := range requests {
			_, err = llm.Generate(t.Context(), m, ask(r))
		}
		return tb.end(), err
	}
	for _, c := range []struct {
		name     string
		steps    []llmtest.Reply
		requests []string
		want     string
	}{
		{"as written", []llmtest.Reply{llmtest.Say("a")}, []string{"x"}, ""},
		{"left", llmtest.Times(3, llmtest.Say("a")), []string{"x"}, "2 of the script's 3 steps are left"},
		{"too many", []llmtest.Reply{llmtest.Say("a")}, []string{"x", "hello there"}, `request 2, but the script has 1 steps; the last message is "hello there"`},
		{"differs", []llmtest.Reply{llmtest.Say("a").Want(llmtest.LastText("sky"))}, []string{"sea"}, `step 1 of 1: the last message (user) does not contain "sky"; its text is "sea"`},
	} {
		got, _ := run(c.steps, c.requests...)
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
	m := llmtest.New(nil, llmtest.Say("a").Want(llmtest.HasTool("Read")))
	if _, err := llm.Generate(t.Context(), m, ask("x")); !llm.IsKind(err, llm.KindInvalidRequest) || !strings.Contains(err.Error(), `tool "Read" is not offered`) {
		t.Errorf("with no t: %v", err)
	}
}

func TestScriptFaults(t *testing.T) {
	for _, c := range []struct {
		name    string
		reply   llmtest.Reply
		kind    llm.Kind
		partial string
	}{
		{"fail", llmtest.Fail(&llm.Error{Kind: llm.KindQuota}), llm.KindQuota, ""},
		{"fail in mid-stream", llmtest.Say("some text").Fail(&llm.Error{Kind: llm.KindOverloaded}), llm.KindOverloaded, "some text"},
		{"cut", llmtest.Say("one two three").CutAfter(2), llm.KindTruncated, "one two"},
		{"cut at once", llmtest.Cut(), llm.KindTruncated, ""},
		{"cut bytes", llmtest.Say("one two three").CutBytes(4), llm.KindTruncated, "one"},
		{"truncate", llmtest.Say("all").Truncate(), llm.KindTruncated, "all"},
		{"malformed", llmtest.Say("all").Malformed(), llm.KindCorrupt, "all"},
		{"status", llmtest.Status(429, llmtest.RetryAfter(1500*time.Millisecond)), llm.KindRateLimit, ""},
		{"plain", llmtest.Plain(502, "<html>"), llm.KindServer, ""},
	} {
		_, err := llm.Generate(t.Context(), llmtest.New(t, c.reply), ask("x"))
		var e *llm.Error
		if !errors.As(err, &e) || e.Kind != c.kind || e.Provider != "test" {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		got := ""
		if e.Partial != nil {
			got = e.Partial.Message.Text()
		}
		if got != c.partial {
			t.Errorf("%s: partial %q, want %q", c.name, got, c.partial)
		}
		if c.name == "status" && e.RetryAfter != 2*time.Second {
			t.Errorf("retry after %s", e.RetryAfter)
		}
	}
}

func TestScriptDelays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := llmtest.New(nil, llmtest.Say("a b c").Slow(time.Second).StallFor(time.Minute), llmtest.Stall())
		start := time.Now()
		if _, err := llm.Generate(t.Context(), m, ask("x")); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(start); d != 63*time.Second {
			t.Errorf("took %s", d)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if _, err := llm.Generate(ctx, m, ask("x")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("stalled: %v", err)
		}
	})
}

func TestScriptKeepsCopies(t *testing.T) {
	m := llmtest.New(t, llmtest.Say("a"))
	req := &llm.Request{
		Messages: []llm.Message{{Role: llm.RoleUser, Parts: llm.Parts{llm.ToolResult{CallID: "1", Parts: llm.Texts("old")}, llm.Blob{Data: []byte("old")}}}},
		Tools:    []llm.ToolSpec{{Name: "T", Input: []byte(`{"a": 1}`)}},
	}
	if _, err := llm.Generate(t.Context(), m, req); err != nil {
		t.Fatal(err)
	}
	req.Messages[0].Parts[0].(llm.ToolResult).Parts[0] = llm.Text{Text: "new"}
	copy(req.Messages[0].Parts[1].(llm.Blob).Data, "new")
	copy(req.Tools[0].Input, "zzz")
	got := m.Requests()[0]
	if r := got.Messages[0].Parts[0].(llm.ToolResult).Parts.Text(); r != "old" {
		t.Errorf("result %q", r)
	}
	if b := got.Messages[0].Parts[1].(llm.Blob).Data; string(b) != "old" {
		t.Errorf("blob %q", b)
	}
	if s := string(got.Tools[0].Input); s != `{"a": 1}` {
		t.Errorf("schema %s", s)
	}
}

func TestFunc(t *testing.T) {
	m := llmtest.Func(llm.Info{Provider: "p", Name: "n"}, func(_ context.Context, req *llm.Request) (*llm.Response, error) {
		switch text := req.Messages[0].Text(); text {
		case "nil":
			return nil, nil
		case "fail":
			return nil, errors.New("no luck")
		default:
			return &llm.Response{Message: llm.Message{Parts: llm.Texts("you said " + text)}}, nil
		}
	})
	resp, err := llm.Generate(t.Context(), m, ask("hi"))
	if err != nil || resp.Message.Text() != "you said hi" || resp.Stop != llm.StopEnd || resp.Message.Role != llm.RoleAssistant || resp.Message.Origin.Provider != "p" {
		t.Errorf("%+v %v", resp, err)
	}
	for _, in := range []string{"nil", "fail"} {
		if _, err := llm.Generate(t.Context(), m, ask(in)); !llm.IsKind(err, llm.KindServer) {
			t.Errorf("%s: %v", in, err)
		}
	}
}
