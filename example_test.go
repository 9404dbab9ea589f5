package cantle_test

import (
	"context"
	"fmt"

	"github.com/cantle-dev/cantle/agent"
	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/llmtest"
	"github.com/cantle-dev/cantle/session"
	"github.com/cantle-dev/cantle/tool"
)

// An agent is a model, tools and options; a session keeps the conversation.
func Example() {
	type In struct {
		City string `json:"city" doc:"the city's name"`
	}
	weather := tool.New(tool.Spec{Name: "Weather", Description: "Tells the weather.", Access: tool.NoAccess},
		func(_ context.Context, in In) (string, error) { return "rain in " + in.City, nil })

	// A scripted model, so that the output is known.
	m := llmtest.New(nil,
		llmtest.Call("Weather", map[string]string{"city": "Oslo"}),
		llmtest.Say("Yes, take one.").Want(llmtest.LastResult("rain in Oslo")),
	)
	a, err := agent.New(m, agent.Options{Tools: []tool.Tool{weather}})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	s, err := session.Open(ctx, new(session.Memory), "s1", session.OpenOptions{Create: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	res, err := a.Run(ctx, s, llm.Text{Text: "Do I need an umbrella in Oslo?"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.Text, res.Stop)
	// Output: Yes, take one. finished
}
