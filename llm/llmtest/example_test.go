package llmtest_test

import (
	"context"
	"fmt"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/llmtest"
	"github.com/cantle-dev/cantle/llm/openai"
)

// A scripted model asks for a tool, gets its result and answers. In a test, the
// first argument of New is the test, which then fails if the script and the
// requests part ways.
func ExampleNew() {
	m := llmtest.New(nil,
		llmtest.Call("Weather", map[string]string{"city": "Oslo"}).Want(llmtest.LastText("Oslo")),
		llmtest.Say("It rains in Oslo.").Want(llmtest.LastResult("rain")),
	)
	req := &llm.Request{Messages: []llm.Message{llm.UserText("How is the weather in Oslo?")}}
	for {
		resp, err := llm.Generate(context.Background(), m, req)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s: %q\n", resp.Stop, resp.Message.Text())
		results := llm.Message{Role: llm.RoleUser}
		for _, c := range resp.Message.Parts.Calls() {
			fmt.Println(c.Name, string(c.Input))
			results.Parts = append(results.Parts, llm.ToolResult{CallID: c.ID, Parts: llm.Texts("rain")})
		}
		if results.Parts == nil {
			break
		}
		req.Messages = append(req.Messages, resp.Message, results)
	}
	fmt.Println(m.Left(), "steps left")
	// Output:
	// tool_use: ""
	// Weather {"city":"Oslo"}
	// end: "It rains in Oslo."
	// 0 steps left
}

// The same replies are played over HTTP, faults and all.
func ExampleListen() {
	srv, err := llmtest.Listen("127.0.0.1:0", llmtest.Play(nil,
		llmtest.Status(503, nil),
		llmtest.Say("Half of an ans").Cut(),
		llmtest.Say("A whole answer."),
	))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer srv.Close()
	m := openai.NewChat("test-model", openai.Options{BaseURL: srv.BaseURL(llmtest.WireChat)})
	for range 3 {
		resp, err := llm.Generate(context.Background(), m, &llm.Request{Messages: []llm.Message{llm.UserText("Hello.")}})
		switch {
		case llm.IsKind(err, llm.KindOverloaded), llm.IsKind(err, llm.KindServer):
			fmt.Println("busy")
		case llm.IsKind(err, llm.KindTruncated), llm.IsKind(err, llm.KindNetwork):
			fmt.Println("cut")
		case err == nil:
			fmt.Println(resp.Message.Text())
		}
	}
	// Output:
	// busy
	// cut
	// A whole answer.
}

// A Player computes each step from the request.
func ExamplePlayer() {
	var p llmtest.Player = func(e *llmtest.Exchange) llmtest.Reply {
		if result, ok := e.LastResult(); ok {
			return llmtest.Say("The tool says " + result)
		}
		return llmtest.Call("Look", map[string]int{"turn": e.Turn()})
	}
	first := p(&llmtest.Exchange{Request: &llm.Request{Messages: []llm.Message{llm.UserText("Look.")}}})
	fmt.Println(first.Message().Parts.Calls()[0].Name)
	// Output: Look
}

func ExampleSample() {
	v, err := llmtest.Sample([]byte(`{
		"type": "object",
		"properties": {"path": {"type": "string"}, "limit": {"type": "integer", "minimum": 1}},
		"required": ["path", "limit"]
	}`))
	fmt.Println(string(v), err)
	// Output: {"limit":1,"path":"text"} <nil>
}
