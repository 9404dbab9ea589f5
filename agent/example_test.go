package agent_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/cantle-dev/cantle/agent"
	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/llmtest"
	"github.com/cantle-dev/cantle/session"
	"github.com/cantle-dev/cantle/tool"
)

func ExampleAgent_Run() {
	ctx := context.Background()
	type place struct {
		City string `json:"city"`
	}
	weather := tool.New(tool.Spec{Name: "Weather", Description: "Tells the weather.", ReadOnly: true, Access: tool.NoAccess},
		func(_ context.Context, in place) (string, error) { return "rain in " + in.City, nil })
	m := llmtest.New(nil, llmtest.Call("Weather", place{"Oslo"}), llmtest.Say("Take one."))
	a, err := agent.New(m, agent.Options{Tools: []tool.Tool{weather}})
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := session.Open(ctx, new(session.Memory), "s", session.OpenOptions{Create: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	res, err := a.Run(ctx, s, llm.Text{Text: "Do I need an umbrella in Oslo?"})
	fmt.Println(res.Text, res.Stop, res.Turns, err)
	// Output: Take one. finished 2 <nil>
}

// A child that outlives the run that started it goes on under the host's eyes.
func ExampleOptions_detach() {
	ctx := context.Background()
	store := new(session.Memory)
	slow := make(chan struct{}) // what the child waits for
	child := agent.Middleware{Start: func(context.Context, *agent.Turn, *agent.Setup) error { <-slow; return nil }}
	start := tool.New(tool.Spec{Name: "Start", Access: tool.NoAccess}, func(ctx context.Context, _ struct{}) (string, error) {
		t := agent.FromContext(ctx)
		a, err := agent.New(llmtest.New(nil, llmtest.Say("The tests pass.")), agent.Options{Middleware: []agent.Middleware{child}})
		if err != nil {
			return "", err
		}
		s, err := session.Open(ctx, t.Session.Store(), "child", session.OpenOptions{Create: true})
		if err != nil {
			return "", err
		}
		if _, err := t.Start(ctx, "tests", a, s, llm.Text{Text: "Run the tests."}); err != nil {
			return "", err
		}
		return "The tests are running.", nil
	})

	handed := make(chan *agent.Stream, 1)
	a, err := agent.New(llmtest.New(nil, llmtest.Call("Start", nil), llmtest.Say("They are running.")), agent.Options{
		Tools:  []tool.Tool{start},
		Detach: func(st *agent.Stream) { handed <- st },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := session.Open(ctx, store, "s", session.OpenOptions{Create: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	res, err := a.Run(ctx, s, llm.Text{Text: "Test it."})
	fmt.Println(res.Text, err)

	close(slow)
	for e, err := range (<-handed).Events() {
		if err != nil {
			fmt.Println(err)
		}
		switch d := e.Data.(type) {
		case agent.Message:
			fmt.Println(e.Path+":", d.Message.Text())
		case agent.RunEnded:
			fmt.Println(e.Path+":", d.Result.Stop)
		}
	}
	// Output:
	// They are running. <nil>
	// tests: The tests pass.
	// tests: finished
}

// At half of its tokens the run asks whether to go on.
func ExampleBudget_soft() {
	ctx := context.Background()
	look := tool.New(tool.Spec{Name: "Look", ReadOnly: true, Polls: true, Access: tool.NoAccess},
		func(context.Context, struct{}) (string, error) { return "nothing yet", nil })
	m := llmtest.New(nil,
		llmtest.Call("Look", nil).Usage(llm.Usage{Input: 900, Output: 100}),
		llmtest.Call("Look", nil).Usage(llm.Usage{Input: 900, Output: 100}),
	)
	a, err := agent.New(m, agent.Options{
		Tools:  []tool.Tool{look},
		Budget: agent.Budget{Tokens: 5000, Soft: 50},
		Ask: func(_ context.Context, _ *agent.Turn, q *agent.Question) (*agent.Answer, error) {
			var l agent.Limit
			if err := json.Unmarshal(q.Data, &l); err != nil {
				return nil, err
			}
			fmt.Printf("%s: go on? no\n", l.Text)
			return &agent.Answer{}, nil
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := session.Open(ctx, new(session.Memory), "s", session.OpenOptions{Create: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	res, err := a.Run(ctx, s, llm.Text{Text: "Wait for it."})
	fmt.Println(res.Stop, res.Usage.Requests, err)
	// Output:
	// 2000 of 5000 tokens are spent: go on? no
	// token_budget 2 <nil>
}

func ExampleStream_EditQueue() {
	ctx := context.Background()
	a, err := agent.New(llmtest.New(nil, llmtest.Say("Fine.")), agent.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := session.Open(ctx, new(session.Memory), "s", session.OpenOptions{Create: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	st := a.Stream(ctx, s, llm.Text{Text: "Hello."})
	st.FollowUp(llm.Text{Text: "Fix the tests."})
	st.FollowUp(llm.Text{Text: "Write the notes."})
	id := st.Queued()[1].ID
	st.EditQueue(func(q []agent.Queued) []agent.Queued {
		for i := range q {
			if q[i].ID == id { // else it has been sent meanwhile
				q[i].Parts = llm.Texts("Write the notes in French.")
				q[0], q[i] = q[i], q[0]
			}
		}
		return q
	})
	for _, q := range st.Queued() {
		fmt.Println(q.Kind, q.Parts.Text())
	}
	// Output:
	// followup Write the notes in French.
	// followup Fix the tests.
}

// A gate ends the run for its user, and says who decided.
func ExampleInterrupt() {
	ctx := context.Background()
	type path struct {
		Path string `json:"path"`
	}
	write := tool.New(tool.Spec{Name: "Write", Access: tool.NoAccess}, func(context.Context, path) (string, error) { return "written", nil })
	gate := agent.Middleware{Name: "gate", Gate: func(next agent.GateFunc) agent.GateFunc {
		return func(ctx context.Context, t *agent.Turn, c *tool.Call) (*tool.Result, error) {
			t.Decided(c, agent.Decision{By: agent.ByUser, Reason: "not in this folder"})
			return nil, agent.Interrupt("not in this folder")
		}
	}}
	m := llmtest.New(nil, llmtest.Call("Write", path{"a"}))
	a, err := agent.New(m, agent.Options{Tools: []tool.Tool{write}, Middleware: []agent.Middleware{gate}})
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := session.Open(ctx, new(session.Memory), "s", session.OpenOptions{Create: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	res, err := a.Run(ctx, s, llm.Text{Text: "Write a."})
	fmt.Println(res.Stop, res.Reason, res.Calls, err)
	for _, d := range res.Denied {
		fmt.Println(d.Name, d.By, d.Reason)
	}
	// Output:
	// interrupted not in this folder 0 <nil>
	// Write user Denied: the run was interrupted: not in this folder
}
