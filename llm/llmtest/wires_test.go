package llmtest_test

import (
	"net/http"
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
var adapters = map[string]struct {
	wire string
	open func(url string, c *http.Client) llm.Model
}{
	"anthropic": {llmtest.WireAnthropic, func(url string, c *http.Client) llm.Model {
		return anthropic.New("claude-test", anthropic.Options{BaseURL: url, APIKey: "k", Client: c})
	}},
	"anthropic on vertex": {llmtest.WireAnthropic, func(url string, c *http.Client) llm.Model {
		return anthropic.New("claude-test", anthropic.Options{
			BaseURL: url, APIKey: "k", Client: c, BodyVersion: "vertex-2023-10-16",
			Path: "/v1/projects/p/locations/global/publishers/anthropic/models/claude-test:streamRawPredict",
		})
	}},
	"anthropic on bedrock": {llmtest.WireAnthropic, func(url string, c *http.Client) llm.Model {
		return bedrock.NewAnthropic("us.anthropic.claude-test-v1:0", bedrock.Options{BaseURL: url, APIKey: "k", Region: "us-east-1", Client: c})
	}},
	"openai-chat": {llmtest.WireChat, func(url string, c *http.Client) llm.Model {
		return openai.NewChat("gpt-test", openai.Options{BaseURL: url, APIKey: "k", Client: c})
	}},
	"openai-responses": {llmtest.WireResponses, func(url string, c *http.Client) llm.Model {
		return openai.NewResponses("gpt-test", openai.Options{BaseURL: url, APIKey: "k", Client: c, Info: llm.Info{Traits: llm.Traits{Thinking: true}}})
	}},
	"gemini": {llmtest.WireGemini, func(url string, c *http.Client) llm.Model {
		return gemini.New("gemini-3-pro", gemini.Options{BaseURL: url, APIKey: "k", Client: c})
	}},
	"gemini without ids": {llmtest.WireGemini, func(url string, c *http.Client) llm.Model {
		return gemini.New("gemini-2.5-flash", gemini.Options{BaseURL: url, APIKey: "k", Client: c})
	}},
	"gemini on vertex": {llmtest.WireGemini, func(url string, c *http.Client) llm.Model {
		return gemini.New("gemini-3-pro", gemini.Options{
			BaseURL: url, APIKey: "k", Client: c,
			Path: "/v1/projects/p/locations/global/publishers/google/models/gemini-3-pro",
		})
	}},
	"bedrock": {llmtest.WireBedrock, func(url string, c *http.Client) llm.Model {
		return bedrock.New("us.anthropic.claude-test-v1:0", bedrock.Options{BaseURL: url, APIKey: "k", Region: "us-east-1", Client: c})
	}},
	"bedrock nova": {llmtest.WireBedrock, func(url string, c *http.Client) llm.Model {
		return bedrock.New("us.amazon.nova-test-v1:0", bedrock.Options{BaseURL: url, APIKey: "k", Region: "us-east-1", Client: c})
	}},
	"cohere": {llmtest.WireCohere, func(url string, c *http.Client) llm.Model {
		return cohere.New("command-test", cohere.Options{BaseURL: url, APIKey: "k", Client: c})
	}},
	"ollama": {llmtest.WireOllama, func(url string, c *http.Client) llm.Model {
		return ollama.New("test", ollama.Options{BaseURL: url, Client: c, NumCtx: 32_000})
	}},
}

func harness(name string) llmtest.Harness {
	a := adapters[name]
	return llmtest.Harness{Wire: a.wire, New: func(t testing.TB, url string) llm.Model { return a.open(url, client(t)) }}
}

func TestAdapters(t *testing.T) {
	for name := range adapters {
		t.Run(name, func(t *testing.T) { llmtest.TestModel(t, harness(name)) })
	}
}

func TestCaches(t *testing.T) {
	for name := range adapters {
		t.Run(name, func(t *testing.T) {
			r := llmtest.TestCache(t, harness(name))
			t.Logf("%.1f %%", 100*r.Share())
		})
	}
}
