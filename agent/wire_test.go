package agent_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/agent"
	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/anthropic"
	"github.com/cantle-dev/cantle/llm/llmtest"
	"github.com/cantle-dev/cantle/llm/openai"
	"github.com/cantle-dev/cantle/tool"
)

// onWires runs fn on each wire, against a server that refuses what a provider
// would and plays steps.
func onWires(t *testing.T, fn func(t *testing.T, m llm.Model), steps ...llmtest.Reply) {
	for _, wire := range []string{llmtest.WireAnthropic, llmtest.WireChat} {
		t.Run(wire, func(t *testing.T) {
			srv := llmtest.NewServer(t, llmtest.Play(t, steps...))
			client := &http.Client{Transport: new(http.Transport)}
			t.Cleanup(client.CloseIdleConnections)
			var m llm.Model
			if wire == llmtest.WireAnthropic {
				m = anthropic.New("m", anthropic.Options{BaseURL: srv.BaseURL(wire), Client: client})
			} else {
				m = openai.NewChat("m", openai.Options{BaseURL: srv.BaseURL(wire), Client: client})
			}
			fn(t, m)
		})
	}
}

// TestToolsAndASchemaTogether: the answer has its form also where there are
// tools, after one that did not.
func TestToolsAndASchemaTogether(t *testing.T) {
	onWires(t, func(t *testing.T, m llm.Model) {
		a, err := agent.New(m, agent.Options{Tools: []tool.Tool{echo()}})
		if err != nil {
			t.Fatal(err)
		}
		w, res, err := agent.RunAs[weather](t.Context(), a, open(t), llm.Text{Text: "?"})
		if err != nil || w != (weather{"Oslo", 21}) || res.Turns != 3 {
			t.Errorf("%+v, %+v, %v", w, res, err)
		}
	},
		llmtest.Call("Echo", textIn{"hi"}),
		llmtest.Call(agent.AnswerTool, weather{"Rome", 21}),
		llmtest.Call(agent.AnswerTool, weather{"Oslo", 21}))
}

// TestOddCallsMakeNoBadRequest: whatever the model calls, the next request is
// one that providers take.
func TestOddCallsMakeNoBadRequest(t *testing.T) {
	onWires(t, func(t *testing.T, m llm.Model) {
		res, err := run(t, m, agent.Options{Tools: []tool.Tool{echo()}}, open(t), "go")
		if err != nil || res.Text != "sorry" || res.Calls != 1 {
			t.Errorf("%+v, %v", res, err)
		}
	},
		llmtest.CallID("c1", "Read\n", nil).CallID("c2", "Echo", `{"text":`).CallID("c3", "Echo", "[1]").
			CallID("c4", strings.Repeat("x", 200), nil).CallID("c5", "Echo", textIn{"hi"}),
		llmtest.Say("sorry"))
}

func TestCancelInTheMiddleOfThreeCallsMakesNoBadRequest(t *testing.T) {
	onWires(t, func(t *testing.T, m llm.Model) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		wait := tool.New(tool.Spec{Name: "Wait", ReadOnly: true, Parallel: true}, func(ctx context.Context, in textIn) (string, error) {
			if in.Text == "b" {
				cancel()
			}
			<-ctx.Done()
			return "", ctx.Err()
		})
		a, err := agent.New(m, agent.Options{Tools: []tool.Tool{wait}})
		if err != nil {
			t.Fatal(err)
		}
		s := open(t)
		if res, err := a.Run(ctx, s, llm.Text{Text: "go"}); err != nil || res.Stop != agent.StopInterrupted {
			t.Fatalf("%+v, %v", res, err)
		}
		ms := s.Messages()
		for _, p := range ms[len(ms)-1].Parts {
			if r := p.(llm.ToolResult); !r.IsError || !strings.Contains(r.Parts.Text(), "Interrupted") {
				t.Errorf("%+v", r)
			}
		}
		if res, err := a.Run(t.Context(), s, llm.Text{Text: "go on"}); err != nil || res.Text != "ok" {
			t.Errorf("%+v, %v", res, err)
		}
	},
		llmtest.Call("Wait", textIn{"a"}).Call("Wait", textIn{"b"}).Call("Wait", textIn{"c"}),
		llmtest.Say("ok"))
}
