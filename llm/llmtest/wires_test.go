package llmtest_test

import (
	"testing"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/anthropic"
	"github.com/cantle-dev/cantle/llm/bedrock"
	"github.com/cantle-dev/cantle/llm/cohere"
	"github.com/cantle-dev/cantle/llm/gemini"
	"github.com/cantle-dev/cantle/llm/llmtest"
	"github.com/cantle-dev/cantle/llm/ollama"
	"github.com/cantle-dev/cantle/llm/openai"
)

// adapters are the models of every wire, and of the clouds that serve a wire
// at addresses of their own.
var adapters = map[string]llmtest.Harness{
	"anthropic": {Wire: llmtest.WireAnthropic, New: func(t testing.TB, url string) llm.Model {
		return anthropic.New("claude-test", anthropic.Options{BaseURL: url, APIKey: "k", Client: client(t)})
	}},
	"anthropic on vertex": {Wire: llmtest.WireAnthropic, New: func(t testing.TB, url string) llm.Model {
		return anthropic.New("claude-test", anthropic.Options{
			BaseURL: url, APIKey: "k", Client: client(t), BodyVersion: "vertex-2023-10-16",
			Path: "/v1/projects/p/locations/global/publishers/anthropic/models/claude-test:streamRawPredict",
		})
	}},
	"anthropic on bedrock": {Wire: llmtest.WireAnthropic, New: func(t testing.TB, url string) llm.Model {
		return bedrock.NewAnthropic("us.anthropic.claude-test-v1:0", bedrock.Options{BaseURL: url, APIKey: "k", Region: "us-east-1", Client: client(t)})
	}},
	"openai-chat": {Wire: llmtest.WireChat, New: func(t testing.TB, url string) llm.Model {
		return openai.NewChat("gpt-test", openai.Options{BaseURL: url, APIKey: "k", Client: client(t)})
	}},
	"openai-responses": {Wire: llmtest.WireResponses, New: func(t testing.TB, url string) llm.Model {
		return openai.NewResponses("gpt-test", openai.Options{BaseURL: url, APIKey: "k", Client: client(t), Info: llm.Info{Traits: llm.Traits{Thinking: true}}})
	}},
	"gemini": {Wire: llmtest.WireGemini, New: func(t testing.TB, url string) llm.Model {
		return gemini.New("gemini-3-pro", gemini.Options{BaseURL: url, APIKey: "k", Client: client(t)})
	}},
	"gemini without ids": {Wire: llmtest.WireGemini, New: func(t testing.TB, url string) llm.Model {
		return gemini.New("gemini-2.5-flash", gemini.Options{BaseURL: url, APIKey: "k", Client: client(t)})
	}},
	"gemini on vertex": {Wire: llmtest.WireGemini, New: func(t testing.TB, url string) llm.Model {
		return gemini.New("gemini-3-pro", gemini.Options{
			BaseURL: url, APIKey: "k", Client: client(t),
			Path: "/v1/projects/p/locations/global/publishers/google/models/gemini-3-pro",
		})
	}},
	"bedrock": {Wire: llmtest.WireBedrock, New: func(t testing.TB, url string) llm.Model {
		return bedrock.New("us.anthropic.claude-test-v1:0", bedrock.Options{BaseURL: url, APIKey: "k", Region: "us-east-1", Client: client(t)})
	}},
	"bedrock nova": {Wire: llmtest.WireBedrock, New: func(t testing.TB, url string) llm.Model {
		return bedrock.New("us.amazon.nova-test-v1:0", bedrock.Options{BaseURL: url, APIKey: "k", Region: "us-east-1", Client: client(t)})
	}},
	"cohere": {Wire: llmtest.WireCohere, New: func(t testing.TB, url string) llm.Model {
		return cohere.New("command-test", cohere.Options{BaseURL: url, APIKey: "k", Client: client(t)})
	}},
	"ollama": {Wire: llmtest.WireOllama, New: func(t testing.TB, url string) llm.Model {
		return ollama.New("test", ollama.Options{BaseURL: url, Client: client(t), NumCtx: 32_000})
	}},
}

func TestAdapters(t *testing.T) {
	for name, h := range adapters {
		t.Run(name, func(t *testing.T) { llmtest.TestModel(t, h) })
	}
}

func TestCaches(t *testing.T) {
	for name, h := range adapters {
		t.Run(name, func(t *testing.T) {
			r := llmtest.TestCache(t, h)
			t.Logf("%.1f %%", 100*r.Share())
		})
	}
}
