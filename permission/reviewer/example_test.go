package reviewer_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/cantle-dev/cantle/agent"
	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/llmtest"
	"github.com/cantle-dev/cantle/permission"
	"github.com/cantle-dev/cantle/permission/reviewer"
	"github.com/cantle-dev/cantle/session"
	"github.com/cantle-dev/cantle/tool"
)

// A small model answers for the user; what it may not answer is his.
func ExampleNew() {
	dir, err := os.MkdirTemp("", "workspace")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)

	type in struct {
		Command string `json:"command"`
	}
	bash := tool.New(tool.Spec{Name: "Bash", Access: func(_ context.Context, c *tool.Call) ([]tool.Access, error) {
		var v in
		err := json.Unmarshal(c.Input, &v)
		return []tool.Access{{Op: tool.Exec, Target: v.Command}}, err
	}}, func(_ context.Context, v in) (string, error) { return "ran " + v.Command, nil })

	gate, err := permission.New(permission.Options{Roots: []string{dir}})
	if err != nil {
		fmt.Println(err)
		return
	}
	small := llmtest.New(nil,
		llmtest.Say(`{"reason":"the user wants the tests to be run","verdict":"allow"}`),
		llmtest.Say(`{"reason":"nobody spoke of a commit; go on without","verdict":"deny"}`))
	large := llmtest.New(nil,
		llmtest.Call("Bash", in{"go test ./..."}),
		llmtest.Call("Bash", in{"git commit -am wip"}),
		llmtest.Call("Bash", in{"git push --force"}),
		llmtest.Say("The tests pass."))
	a, err := agent.New(large, agent.Options{
		Dir:   dir,
		Tools: []tool.Tool{bash},
		Middleware: []agent.Middleware{
			gate.Middleware(),
			reviewer.New(small, reviewer.Options{Roots: []string{dir}}),
		},
		Ask: func(context.Context, *agent.Turn, *agent.Question) (*agent.Answer, error) {
			return &agent.Answer{Reason: "not that"}, nil
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	s, err := session.Open(ctx, new(session.Memory), "s", session.OpenOptions{Create: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	for e, err := range a.Stream(ctx, s, llm.Text{Text: "Run the tests."}).Events() {
		if err != nil {
			fmt.Println(err)
			return
		}
		switch d := e.Data.(type) {
		case agent.Answered:
			fmt.Printf("%s: %v, %s\n", d.By, d.OK, d.Reason)
		case agent.ToolFinished:
			fmt.Println(d.Parts.Text())
		}
	}
	// Output:
	// reviewer: true, allowed by the reviewer: the user wants the tests to be run
	// ran go test ./...
	// reviewer: false, the reviewer said no: nobody spoke of a commit; go on without
	// Denied: it would run git commit -am wip: the reviewer said no: nobody spoke of a commit; go on without
	// user: false, not that
	// Denied: it would run git push --force: not that
}

func ExampleNever() {
	for _, f := range reviewer.Never()[:2] {
		fmt.Println(f.Programs[0], "–", f.Why)
	}
	// Output:
	// sudo – it would act with the rights of another user
	// dd – it works on disks or file systems
}
