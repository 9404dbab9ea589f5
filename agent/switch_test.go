package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/cantle-dev/cantle/agent"
	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/anthropic"
	"github.com/cantle-dev/cantle/llm/bedrock"
	"github.com/cantle-dev/cantle/llm/llmtest"
	"github.com/cantle-dev/cantle/llm/wrap"
	"github.com/cantle-dev/cantle/tool"
)

// everyModel is a model on each wire, and beside them Anthropic's wire by way of
// Bedrock and a model of another family of the same provider.
func everyModel(t *testing.T, srv *llmtest.Server) (names []string, models map[string]llm.Model) {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 2}}
	t.Cleanup(client.CloseIdleConnections)
	models = map[string]llm.Model{}
	for _, wire := range llmtest.Wires() {
		names = append(names, wire)
		models[wire] = adapters[wire](srv.BaseURL(wire), client)
	}
	names = append(names, "invoke", "family")
	models["invoke"] = bedrock.NewAnthropic("anthropic.claude-m", bedrock.Options{BaseURL: srv.URL, Info: able, APIKey: "k", Region: "us-east-1", Client: client})
	models["family"] = anthropic.New("other", anthropic.Options{BaseURL: srv.URL, Info: able, Client: client})
	return names, models
}

// turning is a model that is another one in each request.
type turning struct {
	models map[string]llm.Model
	order  []string // the names to come; the last stays

	mu  sync.Mutex
	now string
}

func (m *turning) Info() llm.Info { return m.models[m.order[0]].Info() }

func (m *turning) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	m.mu.Lock()
	m.now = m.order[0]
	if len(m.order) > 1 {
		m.order = m.order[1:]
	}
	next := m.models[m.now]
	m.mu.Unlock()
	return next.Stream(ctx, req)
}

// opaque is what a provider made that nobody else may get: the signature of
// thinking, or the data of a block of its own.
type opaque struct {
	from string // the model
	text []byte
}

// talk is a player whose answers have thinking, blocks that only their provider
// understands, and calls of all sorts. It holds each request to what earlier
// answers had in them.
type talk struct {
	t     *testing.T
	rand  *rand.Rand
	m     *turning
	turns int
	made  []opaque
	back  map[string]int // how many went back to the model that made them
}

func (k *talk) play(e *llmtest.Exchange) llmtest.Reply {
	now := k.m.now
	for _, o := range k.made {
		switch found := bytes.Contains(e.Body, o.text); {
		case found && o.from != now:
			k.t.Errorf("request %d to %s has what %s made: %s", e.N, now, o.from, o.text)
		case found:
			k.back[now]++
		}
	}
	k.turns++
	n := k.turns
	var r llmtest.Reply
	if k.rand.IntN(3) > 0 {
		thought := fmt.Sprintf("thought %d of %s", n, now)
		r = r.Think(thought)
		switch e.Wire {
		case llmtest.WireAnthropic, llmtest.WireBedrock, llmtest.WireResponses:
			k.made = append(k.made, opaque{now, []byte(llmtest.Sign(thought)[:40])})
		}
	}
	if k.rand.IntN(3) == 0 {
		id := fmt.Sprintf("opaque%04d", n)
		switch {
		case e.Wire == llmtest.WireAnthropic:
			r = r.Parts(llm.Native{Wire: e.Wire, Kind: "redacted_thinking", Raw: json.RawMessage(`{"type":"redacted_thinking","data":"` + id + `"}`)})
		case e.Wire == llmtest.WireResponses:
			r = r.Parts(llm.Native{Wire: e.Wire, Kind: "web_search_call", Raw: json.RawMessage(`{"type":"web_search_call","id":"ws_` + id + `","status":"completed","action":{"type":"search","query":"x"}}`)})
		}
		k.made = append(k.made, opaque{now, []byte(id)})
	}
	if k.rand.IntN(2) == 0 {
		r = r.Say(fmt.Sprintf("Step %d.", n))
	}
	tool := "Echo"
	if e.Wire == llmtest.WireGemini {
		// The signature of a call is Gemini's, whatever the tool.
		k.made = append(k.made, opaque{now, []byte(llmtest.CallSignature(tool))})
	}
	switch k.rand.IntN(6) {
	case 0:
		return r.Say("That is all.")
	case 1:
		return r.Call(tool, textIn{fmt.Sprint("a", n)}).Call(tool, textIn{fmt.Sprint("b", n)})
	case 2:
		return r.Call(tool, `{"cut`).Call("Nothing", nil)
	}
	return r.Call(tool, textIn{fmt.Sprint("c", n)})
}

// TestAnotherModelInEachTurn takes a session with tools over all wires in
// orders of chance. Each request is one that its provider takes, and what only
// one model can read goes back to that one alone.
func TestAnotherModelInEachTurn(t *testing.T) {
	const orders, turns = 30, 12
	back := map[string]int{}
	for seed := range orders {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			k := &talk{t: t, rand: rand.New(rand.NewPCG(uint64(seed), 7)), back: back}
			srv := llmtest.NewServer(t, func(e *llmtest.Exchange) llmtest.Reply { return k.play(e) })
			names, models := everyModel(t, srv)
			k.m = &turning{models: models}
			for range turns + 1 {
				k.m.order = append(k.m.order, names[k.rand.IntN(len(names))])
				if k.rand.IntN(4) == 0 { // twice the same
					k.m.order = append(k.m.order, k.m.order[len(k.m.order)-1])
				}
			}
			order := strings.Join(k.m.order, " ")
			o := agent.Options{Tools: []tool.Tool{echo()}, Budget: agent.Budget{Turns: -1, Errors: -1}, System: "Be brief."}
			if seed%2 == 0 {
				o.Effort = llm.EffortMedium
			}
			a, s := newAgent(t, k.m, o), open(t)
			for k.turns < turns {
				if res, err := a.Run(t.Context(), s, llm.Text{Text: "go on"}); err != nil {
					t.Fatalf("%s: %+v, %v", order, res, err)
				}
			}
			if t.Failed() {
				t.Log(order)
			}
		})
	}
	// What is to go back did.
	for _, name := range []string{llmtest.WireAnthropic, llmtest.WireResponses, llmtest.WireGemini, llmtest.WireBedrock, "invoke"} {
		if back[name] == 0 {
			t.Errorf("nothing went back to %s", name)
		}
	}
}

// TestFallbackOverEveryWire: whichever wire the first model is on and whichever
// the second, the conversation goes over in the middle of a tool loop and comes
// back in the next turn of the user's, with nothing in it that the other made.
func TestFallbackOverEveryWire(t *testing.T) {
	all := append(llmtest.Wires(), "invoke", "family")
	for _, first := range all {
		for _, second := range all {
			if first == second {
				continue
			}
			t.Run(first+" to "+second, func(t *testing.T) {
				var mu sync.Mutex
				asked := ""
				busy := false
				play := func(e *llmtest.Exchange) llmtest.Reply {
					mu.Lock()
					defer mu.Unlock()
					if asked == first && busy {
						busy = false
						return llmtest.Fail(&llm.Error{Kind: llm.KindOverloaded})
					}
					switch e.Turn() {
					case 0:
						busy = true
						return llmtest.Think("a").Say("I look.").Call("Echo", textIn{"1"})
					case 1:
						return llmtest.Think("b").Call("Echo", textIn{"2"}).Call("Echo", textIn{"3"})
					case 2:
						return llmtest.Think("c").Say("Done by " + asked)
					}
					return llmtest.Say("Back at " + asked)
				}
				srv := llmtest.NewServer(t, play)
				_, models := everyModel(t, srv)
				note := func(name string) llm.Model {
					return &noted{models[name], func() { mu.Lock(); asked = name; mu.Unlock() }}
				}
				m := wrap.Fallback(note(first), wrap.FallbackOptions{Turn: byRun}, note(second))
				a, s := newAgent(t, m, agent.Options{Tools: []tool.Tool{echo()}, Effort: llm.EffortMedium}), open(t)
				seen, res, err := watch[agent.Switched](t, a, s, llm.Text{Text: "go"})
				if err != nil || res.Text != "Done by "+second || len(seen) != 1 {
					t.Fatalf("%+v, %+v, %v", seen, res, err)
				}
				if seen, res, err = watch[agent.Switched](t, a, s, llm.Text{Text: "and?"}); err != nil || res.Text != "Back at "+first || len(seen) != 0 {
					t.Fatalf("%+v, %+v, %v", seen, res, err)
				}
			})
		}
	}
}

// noted is a model that says when it is asked.
type noted struct {
	llm.Model
	note func()
}

func (m *noted) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	m.note()
	return m.Model.Stream(ctx, req)
}

// byRun is the turn of a request by the run that it is of.
func byRun(ctx context.Context, req *llm.Request) string {
	if t := agent.FromContext(ctx); t != nil {
		return t.RunID
	}
	return wrap.TurnOf(req)
}
