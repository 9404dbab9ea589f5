package wrap_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/llmtest"
	"github.com/cantle-dev/cantle/llm/wrap"
)

// named is a script with a name and a price of dollars a million tokens.
func named(t testing.TB, name string, dollars float64, steps ...llmtest.Reply) *llmtest.Script {
	s := llmtest.New(t, steps...)
	i := s.Info()
	i.Provider, i.Name, i.Price = "p", name, llm.PerMillion(dollars, dollars)
	s.SetInfo(i)
	return s
}

func fails(k llm.Kind) llmtest.Reply { return llmtest.Fail(&llm.Error{Kind: k, Message: "no"}) }

// events is what a stream yields but for deltas, in words, and its response.
func events(seq iter.Seq2[llm.Event, error]) (said []string, resp *llm.Response, err error) {
	for ev, e := range seq {
		switch ev := ev.(type) {
		case nil:
			return said, resp, e
		case llm.Retrying:
			said = append(said, fmt.Sprintf("retrying %d", ev.Attempt))
		case llm.Switched:
			said = append(said, fmt.Sprintf("%s > %s", ev.From, ev.To))
		case llm.Notice:
			said = append(said, ev.Kind+": "+ev.Text)
		case llm.Done:
			resp = ev.Response
		}
	}
	return said, resp, nil
}

// next is req with an answer and what the user says to it.
func next(req *llm.Request, parts ...llm.Part) *llm.Request {
	out := *req
	out.Messages = append(append([]llm.Message(nil), req.Messages...),
		llm.Message{Role: llm.RoleAssistant, Parts: llm.Parts{llm.ToolCall{ID: fmt.Sprint(len(req.Messages)), Name: "Look", Input: json.RawMessage(`{}`)}}},
		llm.Message{Role: llm.RoleUser, Parts: parts})
	return &out
}

func TestFallback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		main := named(t, "main", 10, fails(llm.KindOverloaded), fails(llm.KindOverloaded), fails(llm.KindOverloaded), llmtest.Say("I am back"))
		spare := named(t, "spare", 1, llmtest.Say("one"), llmtest.Say("two"))
		m := wrap.Fallback(wrap.Retry(main, wrap.RetryOptions{Attempts: 3}), wrap.FallbackOptions{}, wrap.Retry(spare, wrap.RetryOptions{}))
		req := hello()
		said, resp, err := events(m.Stream(t.Context(), req))
		if got := strings.Join(said, ", "); err != nil || got != "retrying 1, retrying 2, p:main > p:spare" || resp.Message.Text() != "one" {
			t.Fatalf("%s: %+v, %v", got, resp, err)
		}
		if o := resp.Message.Origin; o.Model != "spare" || m.Info().Name != "main" {
			t.Errorf("%s answered, and the model is %s", o.Model, m.Info().Name)
		}
		// The tool loop goes on with the model that took over; it is said once.
		req = next(req, llm.ToolResult{CallID: "1", Parts: llm.Texts("seen")})
		if said, resp, err = events(m.Stream(t.Context(), req)); err != nil || said != nil || resp.Message.Text() != "two" {
			t.Fatalf("%v: %+v, %v", said, resp, err)
		}
		req = next(req, llm.Text{Text: "and now?"})
		if said, resp, err = events(m.Stream(t.Context(), req)); err != nil || said != nil || resp.Message.Text() != "I am back" {
			t.Fatalf("%v: %+v, %v", said, resp, err)
		}
	})
}

// TestFallbackKinds holds the table in the comment of Switches.
func TestFallbackKinds(t *testing.T) {
	for kind, want := range map[llm.Kind]bool{
		llm.KindOverloaded: true, llm.KindRateLimit: true, llm.KindServer: true, llm.KindNetwork: true, llm.KindStalled: true,
		llm.KindTruncated: true, llm.KindCorrupt: true, llm.KindStream: true, llm.KindQuota: true,
		llm.KindInvalidRequest: false, llm.KindContextOverflow: false, llm.KindTooLarge: false, llm.KindContentFilter: false,
		llm.KindAuth: false, llm.KindPermission: false, llm.KindNotFound: false, "of tomorrow": false,
	} {
		spare := named(nil, "spare", 1, llmtest.Say("here"))
		_, resp, err := events(wrap.Fallback(named(t, "main", 1, fails(kind)), wrap.FallbackOptions{}, spare).Stream(t.Context(), hello()))
		if (resp != nil) != want || !want && !llm.IsKind(err, kind) {
			t.Errorf("%s: %v, %v", kind, resp, err)
		}
	}
	// What was shown is not said again by another.
	m := wrap.Fallback(named(t, "main", 1, llmtest.Say("half an ").Fail(&llm.Error{Kind: llm.KindServer})), wrap.FallbackOptions{}, named(t, "spare", 1))
	if said, _, err := events(m.Stream(t.Context(), hello())); said != nil || !llm.IsKind(err, llm.KindServer) {
		t.Errorf("after a delta: %v, %v", said, err)
	}
	// The caller's own end is no failure of the model.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	m = wrap.Fallback(named(nil, "main", 1), wrap.FallbackOptions{}, named(t, "spare", 1))
	if said, _, err := events(m.Stream(ctx, hello())); said != nil || err == nil {
		t.Errorf("cancelled: %v, %v", said, err)
	}
}

// TestFallbackFailsWhole holds that the error is the first model's, names what
// became of each other one, and leaves nothing behind.
func TestFallbackFailsWhole(t *testing.T) {
	main := named(t, "main", 1, fails(llm.KindQuota), llmtest.Say("well again"))
	small := named(t, "small", 1)
	i := small.Info()
	i.Context = 3
	small.SetInfo(i)
	simple := named(t, "simple", 1)
	i = simple.Info()
	i.Traits.NoTools = true
	simple.SetInfo(i)
	m := wrap.Fallback(main, wrap.FallbackOptions{}, small, simple, named(t, "b", 1, fails(llm.KindAuth)), named(t, "c", 1, fails(llm.KindServer)))
	req := hello()
	req.Tools = []llm.ToolSpec{{Name: "Look", Input: json.RawMessage(`{"type":"object"}`)}}
	said, _, err := events(m.Stream(t.Context(), req))
	if got := strings.Join(said, ", "); got != "p:main > p:b, p:b > p:c" {
		t.Error(got)
	}
	for _, w := range []string{"p:main: quota: no (", "p:small: some", "p:simple: it takes no tools", "p:b: auth: no", "p:c: server: no"} {
		if !strings.Contains(fmt.Sprint(err), w) {
			t.Errorf("%v does not say %q", err, w)
		}
	}
	if _, resp, err := events(m.Stream(t.Context(), req)); err != nil || resp.Message.Origin.Model != "main" {
		t.Errorf("%+v, %v", resp, err)
	}
}

// TestFallbackTurns holds that a turn is the caller's to name, that a stand-in
// which fails in turn is left for the next, and that the output is cut to it.
func TestFallbackTurns(t *testing.T) {
	type key struct{}
	main := named(t, "main", 1, fails(llm.KindServer), llmtest.Say("three"))
	b := named(t, "b", 1, llmtest.Say("one"), fails(llm.KindContextOverflow))
	c := named(t, "c", 1, llmtest.Say("two"))
	i := b.Info()
	i.Output = 100
	b.SetInfo(i)
	m := wrap.Fallback(main, wrap.FallbackOptions{Turn: func(ctx context.Context, _ *llm.Request) string { return ctx.Value(key{}).(string) }}, b, c)
	req := hello()
	req.MaxTokens = 5000
	ask := func(turn string) string {
		_, resp, err := events(m.Stream(context.WithValue(t.Context(), key{}, turn), req))
		if err != nil {
			t.Fatal(err)
		}
		return resp.Message.Text()
	}
	if got := ask("A") + ask("A") + ask("B"); got != "onetwothree" {
		t.Error(got)
	}
	if n := b.Requests()[0].MaxTokens; n != 100 {
		t.Errorf("%d tokens of output", n)
	}
	if req.MaxTokens != 5000 {
		t.Error("the caller's request was changed")
	}
}

// TestFallbackPrice holds that each response has the price of the model that
// gave it, also where one wrapper is in another.
func TestFallbackPrice(t *testing.T) {
	unpriced := named(nil, "unpriced", 1)
	i := unpriced.Info()
	i.Price = nil
	unpriced.SetInfo(i)
	inner := wrap.Fallback(named(nil, "b", 2), wrap.FallbackOptions{}, wrap.Retry(named(nil, "c", 3), wrap.RetryOptions{}))
	m := wrap.Retry(wrap.Fallback(named(nil, "a", 1), wrap.FallbackOptions{}, wrap.Retry(inner, wrap.RetryOptions{}), unpriced), wrap.RetryOptions{})
	w, ok := llm.As[interface {
		PriceOf(provider, model string) *llm.Price
		Models() []llm.Model
	}](m)
	if !ok {
		t.Fatal("no prices")
	}
	for name, want := range map[string]*llm.Price{"a": llm.PerMillion(1, 1), "b": llm.PerMillion(2, 2), "c": llm.PerMillion(3, 3), "unpriced": nil, "other": nil} {
		got := w.PriceOf("p", name)
		if (got == nil) != (want == nil) || got != nil && got.Input != want.Input {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
	var names []string
	for _, m := range w.Models() {
		names = append(names, m.Info().Name)
	}
	if got := strings.Join(names, " "); got != "a b c unpriced" {
		t.Error(got)
	}
}

func ExampleFallback() {
	busy := llmtest.New(nil, llmtest.Times(2, llmtest.Fail(&llm.Error{Kind: llm.KindOverloaded}))...)
	spare := llmtest.New(nil, llmtest.Say("At your service."))
	m := wrap.Fallback(
		wrap.Retry(busy, wrap.RetryOptions{Attempts: 2, Base: time.Microsecond}), wrap.FallbackOptions{},
		wrap.Retry(spare, wrap.RetryOptions{}),
	)
	for ev, err := range m.Stream(context.Background(), hello()) {
		switch ev := ev.(type) {
		case llm.Retrying:
			fmt.Println("attempt", ev.Attempt, "failed")
		case llm.Switched:
			fmt.Println("another model takes over")
		case llm.Done:
			fmt.Println(ev.Response.Message.Text())
		case nil:
			fmt.Println(err)
		}
	}
	// Output:
	// attempt 1 failed
	// another model takes over
	// At your service.
}
