// Package llm is the vocabulary that every other package shares: messages and
// their parts, requests, responses, usage, errors, and the two-method [Model]
// interface that each provider's adapter implements.
//
// It imports the standard library only and knows nothing of tools, sessions or
// agents. A whole conversation with a model is:
//
//	resp, err := llm.Generate(ctx, m, &llm.Request{
//		Messages: []llm.Message{llm.UserText("Why is the sky blue?")},
//	})
//	if err != nil {
//		return err
//	}
//	fmt.Println(resp.Message.Text())
package llm
