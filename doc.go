// Package cantle is the root of a module with two products in it: an agent SDK
// for Go programs, and cantle, a terminal coding agent built on that SDK. The
// model proposes; Cantle validates, executes and records.
//
// There is no code here and nothing is re-exported. The packages to start with
// are:
//
//   - llm, the vocabulary: messages, parts, requests, models, errors. Adapters
//     for providers' wires are below it, as llm/anthropic and llm/openai, and
//     llm/provider opens a model by its name.
//   - tool, the typed functions that a model may call.
//   - session, the append-only journal of a conversation; session/jsonl keeps
//     it in a file.
//   - agent, the loop: a model, tools and middleware.
//   - builtin, permission and memory, features that enter an agent as tools or
//     middleware and can each be left out.
//
// A program with one tool, run on the model that is embedded for trying things
// without a key or a network:
//
//	type In struct {
//		City string `json:"city" doc:"the city's name"`
//	}
//	weather := tool.New(tool.Spec{Name: "Weather", Description: "Tells the weather.", Access: tool.NoAccess},
//		func(ctx context.Context, in In) (string, error) { return "rain in " + in.City, nil })
//
//	a, err := agent.New(demo.New("offline"), agent.Options{Tools: []tool.Tool{weather}})
//	if err != nil {
//		return err
//	}
//	s, err := session.Open(ctx, new(session.Memory), "s1", session.OpenOptions{Create: true})
//	if err != nil {
//		return err
//	}
//	res, err := a.Run(ctx, s, llm.Text{Text: "Do I need an umbrella in Oslo?"})
//	if err != nil {
//		return err
//	}
//	fmt.Println(res.Text)
//
// How the packages depend on each other is held by the test beside this file
// and told in docs/architecture.md.
package cantle
