package wrap_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/llmtest"
	"github.com/cantle-dev/cantle/llm/wrap"
)

func TestRouteRules(t *testing.T) {
	rules := wrap.RouteRules{Over: 240, Words: wrap.RouteWords()}
	for input, want := range map[string]wrap.Tier{
		"what is in go.mod?":               wrap.TierCheap,
		"Refactoring of the parser, now":   wrap.TierFrontier,
		"find the race condition":          wrap.TierFrontier,
		"is it unrefactored?":              wrap.TierCheap,
		strings.Repeat("é", 240):           wrap.TierCheap,
		strings.Repeat("é", 241):           wrap.TierFrontier,
		"":                                 wrap.TierCheap,
		"unreviewed, but please REVIEW it": wrap.TierFrontier,
	} {
		if got, why := rules.Decide(input); got != want || why == "" {
			t.Errorf("%.40q: %s (%s), want %s", input, got, why, want)
		}
	}
}

func TestRoute(t *testing.T) {
	frontier := named(t, "big", 10, llmtest.Times(4, llmtest.Say("big"))...)
	cheap := named(t, "small", 1, llmtest.Times(3, llmtest.Say("small"))...)
	i := cheap.Info()
	i.Context, i.Traits.Schema = 2000, false
	cheap.SetInfo(i)
	r := wrap.Route(frontier, cheap, wrap.RouteOptions{})
	if i := r.Info(); i.Name != "big" || i.Traits.Schema || r.PriceOf("p", "small").Input != llm.PerMillion(1, 1).Input {
		t.Errorf("%+v", i)
	}
	ask := func(req *llm.Request, want string, notice bool) {
		t.Helper()
		said, resp, err := events(r.Stream(t.Context(), req))
		if err != nil || resp.Message.Text() != want || len(said) > 0 != notice || notice && !strings.HasPrefix(said[0], "route: p:"+want) {
			t.Errorf("%v, %+v, %v", said, resp, err)
		}
	}
	req := hello()
	req.CacheKey = "s"
	ask(req, "small", true)
	req = next(req, llm.ToolResult{CallID: "1", Parts: llm.Texts("please refactor this")})
	ask(req, "small", false) // a result decides nothing
	req = next(req, llm.Text{Text: "now refactor it"})
	ask(req, "big", true)
	r.Pin("s", wrap.TierCheap)
	ask(req, "small", false)
	r.Pin("s", wrap.TierAuto)
	ask(req, "big", false)
	r.Pin("", wrap.TierFrontier)
	ask(next(req, llm.Text{Text: "thanks"}), "big", false)
	r.Pin("", wrap.TierAuto)
	long := next(req, llm.ToolResult{CallID: "3", Parts: llm.Texts(strings.Repeat("word ", 3000))})
	ask(next(long, llm.Text{Text: "thanks"}), "big", true) // it does not fit
}

// A router is what it is named for.
func TestRouteStandIn(t *testing.T) {
	for _, standIn := range []bool{false, true} {
		frontier, cheap := named(nil, "big", 1), named(nil, "small", 1)
		for m, is := range map[*llmtest.Script]bool{frontier: standIn, cheap: !standIn} {
			i := m.Info()
			i.Traits.StandIn = is
			m.SetInfo(i)
		}
		if got := wrap.Route(frontier, cheap, wrap.RouteOptions{}).Info().Traits.StandIn; got != standIn {
			t.Errorf("%v, want %v", got, standIn)
		}
	}
}

func TestRouteJudge(t *testing.T) {
	for said, want := range map[string]wrap.Tier{"Hard.": "big", "plain": "small", "plain, not hard": "small", "": "small"} {
		judge := named(t, "judge", 1, llmtest.Say(said))
		big, small := named(nil, "big", 1, llmtest.Say("big")), named(nil, "small", 1, llmtest.Say("small"))
		asked := 0
		r := wrap.Route(big, small, wrap.RouteOptions{Judge: judge, Generate: func(ctx context.Context, m llm.Model, req *llm.Request) (*llm.Response, error) {
			asked++
			return llm.Generate(ctx, m, req)
		}})
		notices, resp, err := events(r.Stream(t.Context(), hello()))
		if err != nil || resp.Message.Text() != string(want) || asked != 1 || len(notices) != 1 {
			t.Errorf("%q: %v, %+v, %v", said, notices, resp, err)
		}
		if failed := strings.Contains(notices[0], "judge failed"); failed != (said == "" || strings.Contains(said, ",")) {
			t.Errorf("%q: %v", said, notices)
		}
	}
}

// ExampleRetry waits for a provider that asks for it.
func ExampleRetry() {
	busy := llmtest.New(nil, llmtest.Fail(&llm.Error{Kind: llm.KindRateLimit, RetryAfter: time.Millisecond}), llmtest.Say("Here I am."))
	resp, err := llm.Generate(context.Background(), wrap.Retry(busy, wrap.RetryOptions{Base: time.Microsecond}), hello())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(resp.Message.Text())
	// Output: Here I am.
}

func ExampleRoute() {
	r := wrap.Route(llmtest.New(nil, llmtest.Say("Done, in all twelve files.")), llmtest.New(nil, llmtest.Say("It is 1.26.")), wrap.RouteOptions{})
	for _, input := range []string{"Which Go version is it?", "Refactor the parser."} {
		resp, err := llm.Generate(context.Background(), r, &llm.Request{Messages: []llm.Message{llm.UserText(input)}})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(resp.Message.Text())
	}
	// Output:
	// It is 1.26.
	// Done, in all twelve files.
}
