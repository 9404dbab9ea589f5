package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cantle-dev/cantle/agent"
	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/session"
	"github.com/cantle-dev/cantle/tool"
)

// priced is a model of n calls of Echo and an answer, each response with usage
// u, at a dollar for a million tokens of input and output.
func priced(n int, u llm.Usage) *script {
	m := &script{info: llm.Info{Provider: "t", Name: "m", Price: &llm.Price{
		Input: 1e6, Output: 1e6, CacheRead: 1e5, CacheWrite: 2e6, CacheWrite1h: 3e6,
	}}}
	for i := range n {
		st := calls(call(fmt.Sprint(i), "Echo", fmt.Sprintf(`{"text":"%d"}`, i)))
		st.usage = u
		m.steps = append(m.steps, st)
	}
	last := say("done")
	last.usage = u
	m.steps = append(m.steps, last)
	return m
}

func TestARequestThatWouldPassTheLimitIsNotSent(t *testing.T) {
	// $0.03 a response: after three, the fourth would pass $0.10.
	m := priced(9, llm.Usage{Input: 29_000, Output: 1000})
	res, err := run(t, m, agent.Options{Tools: []tool.Tool{echo()}, Budget: agent.Budget{Money: llm.Dollars(0.10)}}, open(t), "go")
	if err != nil || res.Stop != agent.StopMoney || len(m.reqs) != 3 || res.Turns != 3 || *res.Cost != llm.Dollars(0.09) {
		t.Errorf("%+v, %v, %d requests", res, err, len(m.reqs))
	}
}

func TestSiblingsShareTheirParentsTokens(t *testing.T) {
	u := llm.Usage{Input: 20, Output: 9980}
	var mu sync.Mutex
	var kids []*script
	kid := func() llm.Model {
		mu.Lock()
		defer mu.Unlock()
		m := priced(20, u)
		kids = append(kids, m)
		return m
	}
	ask := func(o *agent.Options) {
		o.Tools = []tool.Tool{echo()}
		o.Budget.Tokens = 400_000 // more than there is
	}
	m := &script{steps: []step{
		calls(call("1", "Agent", `{"text":"a"}`), call("2", "Agent", `{"text":"b"}`), call("3", "Agent", `{"text":"c"}`)), say("never"),
	}}
	a, err := agent.New(m, agent.Options{
		Tools: []tool.Tool{spawner(kid, ask)}, Budget: agent.Budget{Tokens: 100_000},
	})
	if err != nil {
		t.Fatal(err)
	}
	st := a.Stream(t.Context(), open(t), llm.Text{Text: "go"})
	for e, err := range st.Events() {
		if err != nil {
			t.Fatal(err)
		}
		if s, ok := e.Data.(agent.RunStarted); ok && e.Path != "" {
			if s.Left == nil || s.Left.Tokens == nil || *s.Left.Tokens > 100_000 {
				t.Errorf("%s was said to have %+v", e.Path, s.Left)
			}
		}
	}
	sent := 0
	for _, k := range kids {
		sent += len(k.reqs)
	}
	res := st.Result()
	if total := res.Usage.Total(); total > 110_000 || total < 80_000 || sent < 8 {
		t.Errorf("%d tokens in all, %d requests of children", total, sent)
	}
	if res.Stop != agent.StopTokens && res.Stop != agent.StopFinished {
		t.Errorf("%+v", res)
	}
}

// limits answers questions about limits and keeps them.
type limits struct {
	asked []agent.Limit
	reply func(agent.Limit) (*agent.Answer, error)
}

func (l *limits) ask(_ context.Context, _ *agent.Turn, q *agent.Question) (*agent.Answer, error) {
	var d agent.Limit
	if err := json.Unmarshal(q.Data, &d); err != nil || q.Kind != "limit" || q.ID == "" {
		return nil, fmt.Errorf("question %+v: %w", q, err)
	}
	l.asked = append(l.asked, d)
	return l.reply(d)
}

func TestSoftLimitAsks(t *testing.T) {
	yes := func(agent.Limit) (*agent.Answer, error) { return &agent.Answer{OK: true}, nil }
	no := func(agent.Limit) (*agent.Answer, error) { return &agent.Answer{Reason: "enough"}, nil }
	later := func(agent.Limit) (*agent.Answer, error) { return nil, agent.ErrPending }
	broken := func(agent.Limit) (*agent.Answer, error) { panic("no") }
	u := llm.Usage{Input: 900, Output: 100}
	for _, c := range []struct {
		name     string
		b        agent.Budget
		reply    func(agent.Limit) (*agent.Answer, error)
		requests int
		stop     agent.Stop
		asked    int
		reason   string
	}{
		{"tokens, yes", agent.Budget{Tokens: 10_500, Soft: 50}, yes, 10, agent.StopTokens, 1, "10000 of 10500"},
		{"tokens, no", agent.Budget{Tokens: 10_500, Soft: 50}, no, 5, agent.StopTokens, 1, "5000 of 10500 tokens are spent, and the answer was not to go on: enough"},
		{"tokens, later", agent.Budget{Tokens: 10_500, Soft: 50}, later, 5, agent.StopTokens, 1, "waits for an answer"},
		{"tokens, nobody", agent.Budget{Tokens: 10_500, Soft: 50}, nil, 5, agent.StopTokens, 0, "nobody is there to answer"},
		{"tokens, a broken host", agent.Budget{Tokens: 10_500, Soft: 50}, broken, 5, agent.StopTokens, 1, "internal error"},
		{"money, yes", agent.Budget{Money: llm.Dollars(0.0105), Soft: 80}, yes, 10, agent.StopMoney, 1, "$0.01"},
		{"money, no", agent.Budget{Money: llm.Dollars(0.0105), Soft: 80}, no, 8, agent.StopMoney, 1, "enough"},
		{"both, yes", agent.Budget{Turns: -1, Tokens: 20_000, Money: llm.Dollars(0.0105), Soft: 20}, yes, 10, agent.StopMoney, 2, ""},
		{"turns, yes", agent.Budget{Turns: 10, Soft: 50}, yes, 10, agent.StopTurns, 1, "limit of 10"},
		{"turns, no", agent.Budget{Turns: 10, Soft: 50}, no, 5, agent.StopTurns, 1, "5 of 10 turns"},
		{"no soft limit", agent.Budget{Tokens: 10_500}, yes, 10, agent.StopTokens, 0, ""},
		{"a soft limit above the limit", agent.Budget{Tokens: 10_500, Soft: 120}, yes, 10, agent.StopTokens, 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := &limits{reply: c.reply}
			o := agent.Options{Tools: []tool.Tool{echo()}, Budget: c.b}
			if c.reply != nil {
				o.Ask = l.ask
			}
			m := priced(50, u)
			res, err := run(t, m, o, open(t), "go")
			if err != nil || res.Stop != c.stop || len(m.reqs) != c.requests || len(l.asked) != c.asked || !strings.Contains(res.Reason, c.reason) {
				t.Errorf("%d requests, asked %+v, %+v, %v", len(m.reqs), l.asked, res, err)
			}
			if want := c.name == "tokens, later"; want != (len(res.Questions) == 1) {
				t.Errorf("questions %+v", res.Questions)
			}
		})
	}
}

func TestSoftLimitOfAParentIsAskedOnceForAllChildren(t *testing.T) {
	for _, ok := range []bool{true, false} {
		var mu sync.Mutex
		l := &limits{reply: func(agent.Limit) (*agent.Answer, error) { return &agent.Answer{OK: ok}, nil }}
		kid := func() llm.Model { return priced(3, llm.Usage{Input: 900, Output: 100}) }
		m := &script{info: llm.Info{Name: "m"}, steps: []step{
			calls(call("1", "Agent", `{"text":"a"}`), call("2", "Agent", `{"text":"b"}`)), say("done"),
		}}
		o := agent.Options{
			Tools:  []tool.Tool{spawner(kid, func(o *agent.Options) { o.Tools = []tool.Tool{echo()} })},
			Budget: agent.Budget{Tokens: 100_000, Soft: 5},
			Ask: func(ctx context.Context, tn *agent.Turn, q *agent.Question) (*agent.Answer, error) {
				mu.Lock()
				defer mu.Unlock()
				return l.ask(ctx, tn, q)
			},
		}
		res, err := run(t, m, o, open(t), "go")
		if err != nil || len(l.asked) != 1 {
			t.Fatalf("asked %+v; %+v, %v", l.asked, res, err)
		}
		if ok && (res.Stop != agent.StopFinished || res.Usage.Requests != 10) || !ok && res.Stop != agent.StopTokens {
			t.Errorf("yes %v: %+v", ok, res)
		}
	}
}

func TestUnknownPriceLeavesTheTokenLimit(t *testing.T) {
	m := priced(50, llm.Usage{Input: 900, Output: 100})
	m.info.Price = nil
	a, err := agent.New(m, agent.Options{Tools: []tool.Tool{echo()}, Budget: agent.Budget{Money: 1, Tokens: 3500}})
	if err != nil {
		t.Fatal(err)
	}
	st := a.Stream(t.Context(), open(t), llm.Text{Text: "go"})
	warned := ""
	for e, err := range st.Events() {
		if err != nil {
			t.Fatal(err)
		}
		if w, ok := e.Data.(agent.Warning); ok {
			warned += w.Text
		}
	}
	if r := st.Result(); r.Stop != agent.StopTokens || len(m.reqs) != 3 || !strings.Contains(warned, "price of t:m is unknown") {
		t.Errorf("%+v, warned %q", r, warned)
	}
}

// TestTotals holds Result and Session.Spent against the sum of all that the
// models reported: of the run, a child, its child and side calls, with the
// prices of caches, whether or not the run came to its end.
func TestTotals(t *testing.T) {
	u := llm.Usage{Input: 1000, Output: 100, CacheRead: 5000, CacheWrite: 700, CacheWrite1h: 300}
	for _, crash := range []bool{false, true} {
		grandchild := func() llm.Model { return priced(0, u) }
		child := func() llm.Model {
			m := priced(1, u)
			m.steps = slices.Insert(m.steps, 0, calls(call("g", "Agent", `{}`)))
			m.steps[0].usage = u
			return m
		}
		side := tool.New(tool.Spec{Name: "Side"}, func(ctx context.Context, _ struct{}) (string, error) {
			resp, err := agent.FromContext(ctx).Generate(ctx, "title", priced(0, u), &llm.Request{Messages: []llm.Message{llm.UserText("name this")}})
			if err != nil {
				return "", err
			}
			return resp.Message.Text(), nil
		})
		inner := spawner(grandchild, func(o *agent.Options) { o.Tools = nil })
		m := priced(1, u)
		m.steps = slices.Insert(m.steps, 0, calls(call("a", "Agent", `{}`), call("s", "Side", `{}`)))
		m.steps[0].usage = u
		o := agent.Options{Tools: []tool.Tool{echo(), side, spawner(child, func(o *agent.Options) { o.Tools = []tool.Tool{echo(), inner} })}}
		st := &stopping{}
		if crash { // the journal ends before the run does
			st.after = "done"
		}
		s, err := session.Open(t.Context(), st, "s1", session.OpenOptions{Create: true})
		if err != nil {
			t.Fatal(err)
		}
		res, err := run(t, m, o, s, "go")
		if (err != nil) != crash {
			t.Fatalf("%+v, %v", res, err)
		}
		const requests = 3 + 3 + 1 + 1 // the run, the child, its child, the title
		got, cost, err := s.Spent(t.Context())
		if err != nil || cost == nil {
			t.Fatal(got, cost, err)
		}
		var want llm.Usage
		for range requests {
			want.Add(u)
		}
		price := priced(0, u).info.Price.Cost(u) * requests
		if got != want || *cost != price || res.Usage.Usage != want || res.Usage.Requests != requests || *res.Cost != price {
			t.Errorf("crash %v: the session says %+v for %v, the result %+v for %v, want %+v for %v", crash, got, *cost, res.Usage, *res.Cost, want, price)
		}
		if crash {
			continue
		}
		var notes []session.SideSpent
		for e, err := range s.Path(t.Context(), "note:"+session.SpentNote) {
			if err != nil {
				t.Fatal(err)
			}
			var sp session.SideSpent
			if err := json.Unmarshal(e.Data.(session.Note).Data, &sp); err != nil {
				t.Fatal(err)
			}
			notes = append(notes, sp)
		}
		i := slices.IndexFunc(notes, func(n session.SideSpent) bool { return n.Purpose == "title" })
		if len(notes) != 3 || i < 0 || notes[0].Path != "child1" || notes[1].Path != "child1/child1child1" {
			t.Fatalf("%+v", notes)
		}
		if n := notes[i]; n.Model != "t:m" || *n.Usage != u || *n.Cost != price/requests || n.Run != res.Run {
			t.Errorf("%+v", n)
		}
	}
}

// stopping is a store that takes nothing any more after the message of the
// session s1 that says after.
type stopping struct {
	session.Memory
	after string
	mu    sync.Mutex
	full  bool
}

func (s *stopping) Append(ctx context.Context, id, after string, es ...session.Entry) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.full {
		return errors.New("the disk is gone")
	}
	if err := s.Memory.Append(ctx, id, after, es...); err != nil {
		return err
	}
	for _, e := range es {
		m, ok := e.Data.(session.Message)
		s.full = s.full || ok && id == "s1" && s.after != "" && m.Text() == s.after
	}
	return nil
}

func TestTimeLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		half := say("half")
		half.hang = true
		m := &script{steps: []step{half}}
		res, err := run(t, m, agent.Options{Budget: agent.Budget{Time: time.Minute}}, open(t), "go")
		if err != nil || res.Stop != agent.StopTime || res.Text != "half" || res.Duration != time.Minute {
			t.Errorf("%+v, %v", res, err)
		}
	})
}

func TestBudgets(t *testing.T) {
	again := func() []step {
		var s []step
		for i := range 50 {
			s = append(s, calls(call(fmt.Sprint(i), "Echo", fmt.Sprintf(`{"text":"%d"}`, i))))
		}
		return s
	}
	price := llm.PerMillion(1000, 1000) // $0.015 a response of 10 + 5 tokens
	for _, c := range []struct {
		name  string
		b     agent.Budget
		stop  agent.Stop
		turns int
	}{
		{"default turns", agent.Budget{}, agent.StopTurns, 40},
		{"turns", agent.Budget{Turns: 3}, agent.StopTurns, 3},
		{"money", agent.Budget{Money: llm.Dollars(0.05)}, agent.StopMoney, 2},
		{"calls", agent.Budget{Calls: 2}, agent.StopCalls, 3},
	} {
		m := &script{info: llm.Info{Provider: "t", Name: "m", Price: price}, steps: again()}
		res, err := run(t, m, agent.Options{Tools: []tool.Tool{echo()}, Budget: c.b}, open(t), "go")
		if err != nil || res.Stop != c.stop || res.Stop.Status() != agent.StatusLimited {
			t.Errorf("%s: %+v, %v", c.name, res, err)
			continue
		}
		if c.name != "money" && len(m.reqs) != c.turns {
			t.Errorf("%s: %d requests, want %d", c.name, len(m.reqs), c.turns)
		}
		if c.b.Money > 0 && *res.Cost > c.b.Money {
			t.Errorf("%s: cost %v", c.name, *res.Cost)
		}
	}
}

func TestMoneyBudgetNeedsAPrice(t *testing.T) {
	_, err := run(t, &script{}, agent.Options{Budget: agent.Budget{Money: 1}}, open(t), "go")
	if err == nil || !strings.Contains(err.Error(), "price") {
		t.Errorf("got %v", err)
	}
}
