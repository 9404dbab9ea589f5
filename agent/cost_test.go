package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/agent"
	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/session"
	"github.com/cantle-dev/cantle/tool"
)

// pool serves each request by one model or the other, as a fallback does.
type pool struct {
	*script
	turn   []string // who serves
	prices map[string]*llm.Price
	mute   bool // no usage is reported
}

func (p *pool) PriceOf(provider, model string) *llm.Price { return p.prices[provider+":"+model] }

func (p *pool) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		who := p.turn[0]
		p.turn = p.turn[1:]
		name, model, _ := strings.Cut(who, ":")
		if !yield(llm.Notice{Kind: "route", Text: "to " + who, Data: json.RawMessage(`{"to":"` + who + `"}`)}, nil) {
			return
		}
		for ev, err := range p.script.Stream(ctx, req) {
			if d, ok := ev.(llm.Done); ok {
				d.Response.Message.Origin = &llm.Origin{Provider: name, Model: model, Wire: "w"}
				if p.mute {
					d.Response.Usage = nil
				}
			}
			if !yield(ev, err) {
				return
			}
		}
	}
}

var twoPrices = map[string]*llm.Price{
	"a:1": {Input: 1e6, Output: 2e6, CacheRead: 1e5, CacheWrite: 2e6, CacheWrite1h: 3e6},
	"b:2": {Input: 10e6, Output: 20e6, CacheRead: 1e6, CacheWrite: 20e6, CacheWrite1h: 30e6},
}

// TestEachResponseIsPricedByWhoServedIt: what was read from and written to
// a cache is priced apart and once, reasoning is part of the output, and what
// any response cost that nobody knows is not known.
func TestEachResponseIsPricedByWhoServedIt(t *testing.T) {
	u := llm.Usage{Input: 100, Output: 50, Reasoning: 40, CacheRead: 1000, CacheWrite: 30, CacheWrite1h: 10}
	const a = 100*1e6 + 50*2e6 + 1000*1e5 + 20*2e6 + 10*3e6
	for name, c := range map[string]struct {
		serves []string
		want   llm.Money // of each response; -1 is unknown
		sum    bool
	}{
		"the first":      {[]string{"a:1", "a:1"}, 2 * a, true},
		"the other":      {[]string{"a:1", "b:2"}, 11 * a, true},
		"an unknown one": {[]string{"a:1", "c:3"}, 0, false},
	} {
		m := &pool{script: priced(1, u), turn: c.serves, prices: twoPrices}
		s := open(t)
		ag, err := agent.New(llm.Model(m), agent.Options{Tools: []tool.Tool{echo()}})
		if err != nil {
			t.Fatal(err)
		}
		st := ag.Stream(t.Context(), s, llm.Text{Text: "go"})
		var notices []string
		for e, err := range st.Events() {
			if err != nil {
				t.Fatal(err)
			}
			if n, ok := e.Data.(agent.Notice); ok {
				notices = append(notices, n.Kind+" "+n.Text+" "+string(n.Data))
			}
		}
		res := st.Result()
		if c.sum != (res.Cost != nil) || c.sum && *res.Cost != c.want || res.Usage.CacheRead != 2000 {
			t.Errorf("%s: %v, want %v", name, res.Cost, c.want)
		}
		if len(notices) != 2 || notices[0] != `route to a:1 {"to":"a:1"}` {
			t.Errorf("%s: %q", name, notices)
		}
		var models []string
		for e, err := range s.Path(t.Context(), "message") {
			if err != nil {
				t.Fatal(err)
			}
			if m := e.Data.(session.Message); m.Role == llm.RoleAssistant {
				models = append(models, m.Model)
			}
		}
		if !slices.Equal(models, c.serves) {
			t.Errorf("%s: recorded %v", name, models)
		}
	}
}

// TestWhatAChildUsedIsRecordedByModel: of a child whose responses two models
// served, one that has no price among them.
func TestWhatAChildUsedIsRecordedByModel(t *testing.T) {
	u := llm.Usage{Input: 100, Output: 50}
	kid := func() llm.Model {
		return &pool{script: priced(2, u), turn: []string{"a:1", "c:3", "a:1"}, prices: twoPrices}
	}
	m := priced(0, u)
	m.steps = slices.Insert(m.steps, 0, calls(call("1", "Agent", `{}`)))
	s := open(t)
	res, err := run(t, m, agent.Options{Tools: []tool.Tool{spawner(kid, func(o *agent.Options) { o.Tools = []tool.Tool{echo()} })}}, s, "go")
	if err != nil || res.Cost != nil || res.Usage.Requests != 5 {
		t.Fatalf("%+v, %v", res, err)
	}
	var got []string
	for n, err := range s.Notes(t.Context(), session.SpentNote) {
		var sp session.SideSpent
		if err != nil || json.Unmarshal(n.Data, &sp) != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprint(sp.Purpose, " ", sp.Path, " ", sp.Model, " ", sp.Usage.Input, " ", sp.Cost != nil))
	}
	if !slices.Equal(got, []string{"child child1 a:1 200 true", "child child1 c:3 100 false"}) {
		t.Errorf("%q", got)
	}
}

// TestMoneyThatCannotBeCountedEndsTheRun.
func TestMoneyThatCannotBeCountedEndsTheRun(t *testing.T) {
	for name, m := range map[string]*pool{
		"no price": {script: priced(2, llm.Usage{Input: 1}), turn: []string{"c:3"}, prices: twoPrices},
		"no usage": {script: priced(2, llm.Usage{Input: 1}), turn: []string{"a:1"}, prices: twoPrices, mute: true},
	} {
		res, err := run(t, m, agent.Options{Tools: []tool.Tool{echo()}, Budget: agent.Budget{Money: llm.Dollars(1)}}, open(t), "go")
		if err != nil || res.Stop != agent.StopNoUsage || len(m.reqs) != 1 || res.Cost != nil {
			t.Errorf("%s: %+v, %v", name, res, err)
		}
	}
}

// TestNoticesOutliveTheirRun: what a tool had to tell when the run was ended is
// told by the next run, once.
func TestNoticesOutliveTheirRun(t *testing.T) {
	tell := agent.Middleware{Name: "tell", Tool: func(next agent.ToolFunc) agent.ToolFunc {
		return func(ctx context.Context, tn *agent.Turn, c *tool.Call) (*tool.Result, error) {
			tn.Notice(llm.Text{Text: "the job has ended"})
			return next(ctx, tn, c)
		}
	}}
	s := open(t)
	m := &script{steps: []step{calls(call("1", "Echo", `{}`)), say("one"), say("two")}}
	o := agent.Options{Tools: []tool.Tool{echo()}, Middleware: []agent.Middleware{tell}, Budget: agent.Budget{Turns: 1}}
	if res, err := run(t, m, o, s, "go"); err != nil || res.Stop != agent.StopTurns {
		t.Fatalf("%+v, %v", res, err)
	}
	o.Middleware = nil
	for _, in := range []string{"on", "and on"} {
		if _, err := run(t, m, o, s, in); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range []int{0, 1, 1} {
		text := ""
		for _, msg := range m.reqs[i].Messages {
			text += msg.Text() + "\n"
		}
		if n := strings.Count(text, "the job has ended"); n != want {
			t.Errorf("request %d has it %d times: %s", i+1, n, text)
		}
	}
}
