package llm_test

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/cantle-dev/cantle/llm"
)

// parrot is a model: all that one needs.
type parrot struct{}

func (parrot) Info() llm.Info { return llm.Info{Provider: "pet", Name: "parrot", Context: 100} }

func (p parrot) Stream(_ context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		if len(req.Messages) == 0 {
			yield(nil, &llm.Error{Kind: llm.KindInvalidRequest, Provider: "pet", Model: "parrot", Message: "nobody said anything"})
			return
		}
		said := req.Messages[len(req.Messages)-1].Text()
		if yield(llm.TextDelta{Text: said}, nil) {
			yield(llm.Done{Response: &llm.Response{
				Message: llm.Message{Role: llm.RoleAssistant, Parts: llm.Parts{llm.Text{Text: said}}},
				Stop:    llm.StopEnd, Usage: &llm.Usage{Input: 1, Output: 1},
			}}, nil)
		}
	}
}

// A stream is ranged over once: deltas, and Done or an error last.
func Example() {
	ctx := context.Background()
	req := &llm.Request{Messages: []llm.Message{llm.UserText("Why is the sky blue?")}}
	for ev, err := range (parrot{}).Stream(ctx, req) {
		if err != nil {
			fmt.Println(err)
			return
		}
		switch ev := ev.(type) {
		case llm.TextDelta:
			fmt.Println("delta:", ev.Text)
		case llm.Done:
			fmt.Println("done:", ev.Response.Stop)
		}
	}
	// Output:
	// delta: Why is the sky blue?
	// done: end
}

// Generate is for who wants the whole answer; a failure is an [llm.Error].
func ExampleGenerate() {
	ctx := context.Background()
	resp, err := llm.Generate(ctx, parrot{}, &llm.Request{Messages: []llm.Message{llm.UserText("Hello.")}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(resp.Message.Text())

	_, err = llm.Generate(ctx, parrot{}, &llm.Request{})
	var e *llm.Error
	if errors.As(err, &e) {
		fmt.Println(e.Kind, e.Kind.Retryable())
	}
	fmt.Println(err)
	// Output:
	// Hello.
	// invalid_request false
	// pet:parrot: invalid request: nobody said anything
}
