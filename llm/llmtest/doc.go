// Package llmtest is the test kit for programs that talk to language models:
// a scripted model, a loopback server that speaks the providers' wires, record
// and replay of HTTP, and the conformance suite for an [llm.Model].
//
//	func TestGreeting(t *testing.T) {
//		m := llmtest.New(t,
//			llmtest.Call("Weather", map[string]string{"city": "Oslo"}).Want(llmtest.HasTool("Weather")),
//			llmtest.Say("It rains in Oslo.").Want(llmtest.LastResult("rain")),
//		)
//		answer := runMyAgent(t.Context(), m, "What is the weather in Oslo?")
//		if answer != "It rains in Oslo." {
//			t.Error(answer)
//		}
//	}
//
// A [Reply] is one answer of a model, or one way to fail. A [Script] plays
// replies in process; a Server plays the same replies over HTTP, where
// Play makes a Player of them:
//
//	srv := llmtest.NewServer(t, llmtest.Play(t,
//		llmtest.Status(529, nil),
//		llmtest.Say("Hello."),
//	))
//	m := anthropic.New("claude-x", anthropic.Options{BaseURL: srv.BaseURL(llmtest.WireAnthropic)})
//
// The server speaks every wire named by a constant such as [WireGemini]; the
// same replies come to the same [llm.Response] on each. It refuses what the
// provider would refuse, and plays the provider's prompt cache, so that
//
//	report := llmtest.CacheOf(srv.Requests())
//	fmt.Println(report.Share(), report.Breaks)
//
// says how much of a conversation's prompts was billed at the cache's price,
// and which requests did not extend the one before. An adapter's own test has
// two lines: [TestModel] and [TestCache].
//
// Nothing here opens a connection to anything but loopback, and nothing reads
// the clock but where a reply asks for a delay.
package llmtest
