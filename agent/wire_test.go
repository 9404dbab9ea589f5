package agent_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/agent"
	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/anthropic"
	"github.com/cantle-dev/cantle/llm/bedrock"
	"github.com/cantle-dev/cantle/llm/cohere"
	"github.com/cantle-dev/cantle/llm/gemini"
	"github.com/cantle-dev/cantle/llm/llmtest"
	"github.com/cantle-dev/cantle/llm/ollama"
	"github.com/cantle-dev/cantle/llm/openai"
	"github.com/cantle-dev/cantle/tool"
)

// able is a model that takes all that there is.
var able = llm.Info{Traits: llm.Traits{Images: true, PDF: true, Thinking: true}}

// adapters make a model for each wire.
var adapters = map[string]func(url string, c *http.Client) llm.Model{
	llmtest.WireAnthropic: func(url string, c *http.Client) llm.Model {
		return anthropic.New("m", anthropic.Options{BaseURL: url, Info: able, Client: c})
	},
	llmtest.WireChat: func(url string, c *http.Client) llm.Model {
		return openai.NewChat("m", openai.Options{BaseURL: url, Info: able, Client: c})
	},
	llmtest.WireResponses: func(url string, c *http.Client) llm.Model {
		return openai.NewResponses("m", openai.Options{BaseURL: url, Info: able, Client: c})
	},
	llmtest.WireGemini: func(url string, c *http.Client) llm.Model {
		return gemini.New("gemini-3-m", gemini.Options{BaseURL: url, Info: able, Client: c})
	},
	llmtest.WireBedrock: func(url string, c *http.Client) llm.Model {
		return bedrock.New("anthropic.claude-m", bedrock.Options{BaseURL: url, Info: able, APIKey: "k", Region: "us-east-1", Client: c})
	},
	llmtest.WireCohere: func(url string, c *http.Client) llm.Model {
		return cohere.New("m", cohere.Options{BaseURL: url, Info: able, Client: c})
	},
	llmtest.WireOllama: func(url string, c *http.Client) llm.Model {
		return ollama.New("m", ollama.Options{BaseURL: url, Info: able, Client: c, NumCtx: 64_000})
	},
}

// onWires runs fn on each wire, against a server that refuses what a provider
// would and plays steps.
func onWires(t *testing.T, fn func(t *testing.T, m llm.Model), steps ...llmtest.Reply) {
	play := func(t *testing.T) llmtest.Player { return llmtest.Play(t, steps...) }
	onServers(t, play, func(t *testing.T, _ *llmtest.Server, m llm.Model) { fn(t, m) })
}

func onServers(t *testing.T, play func(t *testing.T) llmtest.Player, fn func(t *testing.T, s *llmtest.Server, m llm.Model)) {
	for _, wire := range llmtest.Wires() {
		t.Run(wire, func(t *testing.T) {
			srv := llmtest.NewServer(t, play(t))
			client := &http.Client{Transport: new(http.Transport)}
			t.Cleanup(client.CloseIdleConnections)
			fn(t, srv, adapters[wire](srv.BaseURL(wire), client))
		})
	}
}

// TestCacheOnEveryWire: in a run of 20 turns each request extends the last,
// byte for byte, and nine tenths of the prompts come from the provider's cache.
func TestCacheOnEveryWire(t *testing.T) {
	const turns = 20
	play := func(*testing.T) llmtest.Player {
		return llmtest.Turns(turns, "Echo", func(i int) any { return textIn{fmt.Sprint("hi ", i)} })
	}
	onServers(t, play, func(t *testing.T, srv *llmtest.Server, m llm.Model) {
		res, err := run(t, m, agent.Options{
			System: llmtest.LongText(6000), Tools: []tool.Tool{echo()},
		}, open(t), "go")
		if err != nil || res.Text != "Done." || res.Turns != turns {
			t.Fatalf("%+v, %v", res, err)
		}
		report := llmtest.CacheOf(srv.Requests())
		for _, err := range report.Breaks {
			t.Error(err)
		}
		if report.Share() < 0.9 {
			t.Errorf("%.1f %% of the prompts came from the cache, want 90 %%", 100*report.Share())
		}
		if got := res.Usage.CacheRead; got != report.Read && m.Info().Wire != llmtest.WireOllama { // which does not tell
			t.Errorf("the run counts %d tokens from the cache, the provider %d", got, report.Read)
		}
	})
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

// TestABrokenOffCallOverHTTP: Gemini ends an answer whose call the model got wrong
// with a reason and no part. It is asked once more.
func TestABrokenOffCallOverHTTP(t *testing.T) {
	srv := llmtest.NewServer(t, llmtest.Play(t,
		llmtest.Parts().Stop(llm.StopError),
		llmtest.Call("Echo", textIn{"hi"}).Want(llmtest.LastText("MALFORMED_FUNCTION_CALL")),
		llmtest.Say("well").Want(llmtest.LastResult("hi"))))
	client := &http.Client{Transport: new(http.Transport)}
	t.Cleanup(client.CloseIdleConnections)
	m := adapters[llmtest.WireGemini](srv.BaseURL(llmtest.WireGemini), client)
	res, err := run(t, m, agent.Options{Tools: []tool.Tool{echo()}}, open(t), "go")
	if err != nil || res.Text != "well" || res.Turns != 3 || res.Calls != 1 {
		t.Errorf("%+v, %v", res, err)
	}
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

// TestHalfACallIsNotRun: wherever in a call the connection breaks, what came of
// it does not run, and the session goes on. Where a wire has its end mark before
// the break, the answer is whole.
func TestHalfACallIsNotRun(t *testing.T) {
	long := strings.Repeat("much ", 400)
	for _, after := range []int{1, 3, 5, 8} {
		t.Run(fmt.Sprint(after), func(t *testing.T) {
			play := func(t *testing.T) llmtest.Player {
				return llmtest.Play(t, llmtest.Say("I write.").Call("Echo", textIn{long}).CutAfter(after), llmtest.Say("ok"))
			}
			onServers(t, play, func(t *testing.T, srv *llmtest.Server, m llm.Model) {
				s := open(t)
				o := agent.Options{Tools: []tool.Tool{echo()}}
				res, err := run(t, m, o, s, "go")
				switch {
				case err == nil:
					if ms := s.Messages(); res.Calls != 1 || ms[2].Parts[0].(llm.ToolResult).Parts.Text() != "echo "+long {
						t.Errorf("%+v", res)
					}
					return
				case res.Calls != 0 || res.Stop != agent.StopError || len(s.Dangling()) != 0:
					t.Fatalf("%+v, %v", res, err)
				}
				if res, err = run(t, m, o, s, "go on"); err != nil || res.Text != "ok" {
					t.Errorf("%+v, %v", res, err)
				}
			})
		})
	}
}
