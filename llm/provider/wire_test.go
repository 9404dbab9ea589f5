package provider_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/catalog"
	"github.com/cantle-dev/cantle/llm/provider"
)

// TestWires holds which wire each model is spoken to on, and where.
func TestWires(t *testing.T) {
	t.Parallel()
	cloud := []provider.Custom{
		{Provider: catalog.Provider{Name: "vertex"}, Set: map[string]string{"project": "p", "location": "europe-west1"}},
		{Provider: catalog.Provider{Name: "bedrock"}, Set: map[string]string{"region": "eu-west-1"}},
		{Provider: catalog.Provider{Name: "proxy", BaseURL: "https://proxy.example/v1"}},
	}
	as := func(name, base, wire string) []provider.Custom {
		return []provider.Custom{{Provider: catalog.Provider{Name: name, BaseURL: base, Wire: wire}}}
	}
	for _, tt := range []struct {
		ref  string
		own  []provider.Custom
		wire string
	}{
		{"anthropic:claude-opus-4-8", nil, "anthropic"},
		{"openai:gpt-4.1", nil, "openai-chat"},
		{"openai:o3", nil, "openai-chat"},
		{"openai:gpt-5", nil, "openai-responses"},
		{"openai:gpt-5.3-codex", nil, "openai-responses"},
		{"openai:o3-pro", nil, "openai-responses"},
		{"openai:gpt-6.2-sol", nil, "openai-responses"},
		{"openai:gpt-99", nil, "openai-responses"},
		{"openai:gpt-5", as("openai", "", "openai-chat"), "openai-chat"},              // the user's word counts
		{"openai:gpt-5", as("openai", "https://proxy.example/v1", ""), "openai-chat"}, // another server
		{"openai:gpt-5", as("openai", "https://proxy.example/v1", "openai-responses"), "openai-responses"},
		{"google:gemini-2.5-pro", nil, "gemini"},
		{"google:gemini-99", nil, "gemini"},
		{"vertex:gemini-2.5-pro", cloud, "gemini"},
		{"vertex:claude-opus-4-8", cloud, "anthropic"},
		{"bedrock:anthropic.claude-opus-4-8", cloud, "bedrock"},
		{"cohere:command-a-03-2025", nil, "cohere"},
		{"ollama:qwen3:4b", nil, "ollama"},
		{"ollama:qwen3:4b", as("ollama", "http://127.0.0.1:11434/v1", ""), "ollama"},
		{"ollama:qwen3:4b", as("ollama", "http://127.0.0.1:11434/v1", "openai-chat"), "openai-chat"},
		{"minimax:MiniMax-M2.5", nil, "anthropic"},
		{"proxy:m", cloud, "openai-chat"},
	} {
		m, err := provider.Open(tt.ref, provider.Options{APIKey: "k", Providers: tt.own})
		if err != nil {
			t.Errorf("%s: %v", tt.ref, err)
		} else if m.Info().Wire != tt.wire || m.Info().Ref() != tt.ref {
			t.Errorf("%s is %s on the wire %s, want %s", tt.ref, m.Info().Ref(), m.Info().Wire, tt.wire)
		}
	}
	if len(provider.Wires()) != 8 {
		t.Errorf("the wires are %q", provider.Wires())
	}
	// Bedrock knows its user by a key or by what AWS has for it.
	if _, err := provider.Open("bedrock:amazon.nova-lite-v1:0", provider.Options{Getenv: env(nil)}); err != nil {
		t.Error(err)
	}
	if _, err := provider.Open("vertex:gemini-2.5-pro", provider.Options{Getenv: env(map[string]string{"GOOGLE_CLOUD_PROJECT": "p"})}); err != nil {
		t.Error(err)
	}
}

// asked is the request that a model of the provider is asked with.
func asked(t *testing.T, ref string, cu provider.Custom, change func(*llm.Info), req *llm.Request) string {
	t.Helper()
	got := ""
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got = r.URL.RequestURI() + " " + string(b)
		http.Error(w, `{"error":{"message":"no"},"message":"no"}`, http.StatusUnauthorized)
	}))
	defer srv.Close()
	cu.Name, _, _ = strings.Cut(ref, ":")
	m, err := provider.Open(ref, provider.Options{APIKey: "k", Client: &http.Client{Transport: redirect{srv.Listener.Addr().String()}}, Providers: []provider.Custom{cu}, Change: change})
	if err != nil {
		t.Fatalf("%s: %v", ref, err)
	}
	if _, err := llm.Generate(t.Context(), m, req); !llm.IsKind(err, llm.KindAuth) {
		t.Fatalf("%s: %v", ref, err)
	}
	return got
}

// What the settings say of a provider and of a model reaches the wire.
func TestOptionsReachTheWire(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word ", 8000)
	req := &llm.Request{System: long, Messages: []llm.Message{llm.UserText("hi")}, Effort: llm.EffortHigh, Tools: []llm.ToolSpec{{Name: "Rare", Deferred: true}}}
	set := func(kv ...string) provider.Custom {
		c := provider.Custom{Set: map[string]string{}}
		for i := 0; i < len(kv); i += 2 {
			c.Set[kv[i]] = kv[i+1]
		}
		return c
	}
	for _, tt := range []struct {
		ref    string
		cu     provider.Custom
		change func(*llm.Info)
		has    string
		lacks  string
	}{
		{"anthropic:claude-opus-4-8", set(), nil, `"cache_control":{"type":"ephemeral"}`, `"ttl"`},
		{"anthropic:claude-opus-4-8", set("cache", "1h"), nil, `"ttl":"1h"`, ""},
		{"anthropic:claude-opus-4-8", set("cache", "off"), nil, "", "cache_control"},
		{"anthropic:claude-opus-4-8", set(), func(i *llm.Info) { i.Traits.MinCache = 1_000_000 }, "", "cache_control"},
		{"openrouter:anthropic/claude-opus-4.8", set(), nil, `"cache_control":{"type":"ephemeral"}`, ""},
		{"openrouter:anthropic/claude-opus-4.8", set("cache", "off"), nil, "", "cache_control"},
		{"openrouter:openai/gpt-4.1", set(), nil, "", "cache_control"},
		{"groq:m", set("cache", "1h"), nil, `"ttl":"1h"`, ""},
		{"cohere:command-a-03-2025", set("cache", "5m"), nil, "/v2/chat", "cache"}, // what it does by itself
		{"ollama:m", set("numCtx", "16384", "keepAlive", "-1s"), nil, `"num_ctx":16384`, ""},
		{"cohere:command-a-03-2025", set("cache", "off"), nil, "/v2/chat", "cache"},
		{"openai:gpt-5", set("cache", "off"), nil, "/responses", "cache_control"},
		{"google:gemini-2.5-pro", set("cache", "off"), nil, "streamGenerateContent", "cache"},
		{"ollama:m", set("cache", "off", "numCtx", "16384"), nil, `"num_ctx":16384`, "cache"},
		{"ollama:gpt-oss:120b-cloud", set(), nil, `"model":"gpt-oss:120b-cloud"`, "num_ctx"},
		{"ollama:gpt-oss:120b-cloud", set("numCtx", "16384"), nil, "/api/chat", "num_ctx"},
		{"ollama:gpt-oss:120b-cloud", set(), func(i *llm.Info) { i.Context = 131_072 }, "/api/chat", "num_ctx"},
		{"google:gemini-2.5-pro", set(), nil, "/v1beta/models/gemini-2.5-pro:streamGenerateContent", ""},
		{"openai:gpt-5.2", set(), nil, `"name":"Rare"`, "tool_search"},
		{"openai:gpt-5.4", set(), nil, `{"type":"tool_search"}`, ""},
		{"openai:gpt-unknown", set(), nil, `{"type":"tool_search"}`, ""},
		{"zai:glm-5.2", set(), nil, `"thinking":{"type":"enabled"}`, ""},
		{"together:m", set(), func(i *llm.Info) { i.Traits.Thinking, i.Traits.ThinkingStyle = true, "enabled+flat" }, `"reasoning":{"enabled":true},"reasoning_effort":"high"`, ""},
	} {
		got := asked(t, tt.ref, tt.cu, tt.change, req)
		if !strings.Contains(got, tt.has) || tt.lacks != "" && strings.Contains(got, tt.lacks) {
			t.Errorf("%s %v: the request should have %q and not %q: %.300s … %s", tt.ref, tt.cu.Set, tt.has, tt.lacks, got, got[max(0, len(got)-400):])
		}
	}
}

// Ollama's imitation of OpenAI is found from the address of its own interface.
func TestOllamaCompatible(t *testing.T) {
	t.Parallel()
	for base, want := range map[string]string{
		"": "/v1/chat/completions ", "http://127.0.0.1:11434": "/v1/chat/completions ", "http://box.local:11434/": "/v1/chat/completions ",
		"http://127.0.0.1:11434/api": "/v1/chat/completions ", "http://127.0.0.1:11434/v1": "/v1/chat/completions ", "http://gate.local/ollama/v1/": "/ollama/v1/chat/completions ",
	} {
		cu := provider.Custom{Provider: catalog.Provider{BaseURL: base, Wire: "openai-chat"}}
		if got := asked(t, "ollama:m", cu, nil, &llm.Request{Messages: []llm.Message{llm.UserText("hi")}}); !strings.HasPrefix(got, want) {
			t.Errorf("%s: asked at %.60s", base, got)
		}
	}
}

// An option, a style or a query that a wire does not know is an error that
// names the nearest, or what there is.
func TestOptionsThatAreNotKnown(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		ref, option, value, style string
		want                      string
	}{
		{"anthropic:m", "betas", "x", "", `no option "betas": did you mean beta?`},
		{"openai:gpt-4.1", "organisation", "x", "", "did you mean organization?"},
		{"openai:gpt-5", "numCtx", "1", "", `the wire openai-responses has no option "numCtx"`},
		{"cohere:m", "region", "x", "", `no option "region": there are none`},
		{"cohere:m", "cache", "1h", "", `no option "cache"`},
		{"anthropic:m", "cache", "2h", "", "there are off, 5m and 1h"},
		{"ollama:m", "numCtx", "8k", "", "it must be a number of tokens"},
		{"ollama:m", "keepAlive", "soon", "", "write how long, as 30m"},
		{"bedrock:m", "regions", "x", "", "did you mean region?"},
		{"vertex:m", "locale", "x", "", "location"},
		{"anthropic:m", "", "", "adaptiv", `models."anthropic:m": the wire anthropic has no thinkingStyle "adaptiv": did you mean adaptive?`},
		{"groq:m", "", "", "thinking+flatt", "did you mean flat?"},
		{"google:m", "", "", "words", "there are budget, level"},
	} {
		name, _, _ := strings.Cut(tt.ref, ":")
		cu := provider.Custom{Provider: catalog.Provider{Name: name}, Set: map[string]string{}}
		if tt.option != "" {
			cu.Set[tt.option] = tt.value
		}
		_, err := provider.Open(tt.ref, provider.Options{APIKey: "k", Providers: []provider.Custom{cu}, Change: func(i *llm.Info) {
			if tt.style != "" {
				i.Traits.ThinkingStyle = tt.style
			}
		}})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s %s=%s: %v, want %q", tt.ref, tt.option, tt.value, err, tt.want)
		}
	}
}

// What a model is goes with its name through a gateway, as does the way that its
// wire has for it; its key and its price stay.
func TestGateway(t *testing.T) {
	t.Parallel()
	const gateway = "https://gateway.example/v1"
	vars := env(map[string]string{"ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "k", "OPENROUTER_API_KEY": "k", "DEEPSEEK_API_KEY": "k", "AZURE_OPENAI_API_KEY": "k"})
	for _, tt := range []struct {
		ref, wire string
		at        string // the wire that it is then spoken to on
		style     string
		thinks    bool
	}{
		{"anthropic:claude-opus-4-8", "", "anthropic", "adaptive", true},
		{"anthropic:claude-haiku-4-5", "", "anthropic", "", true},
		{"anthropic:claude-opus-4-8", "openai-chat", "openai-chat", "", false}, // that wire has no such style
		{"openai:gpt-5", "", "openai-chat", "", true},
		{"openai:gpt-5", "openai-responses", "openai-responses", "", true},
		{"azure:gpt-5", "", "openai-chat", "", true},
		{"openrouter:anthropic/claude-opus-4.8", "", "openai-chat", "", true},
		{"deepseek:deepseek-flash", "", "openai-chat", "", true},
	} {
		name, _, _ := strings.Cut(tt.ref, ":")
		home, err := provider.Options{}.Describe(tt.ref)
		if err != nil {
			t.Fatal(err)
		}
		o := provider.Options{Getenv: vars, Providers: []provider.Custom{{Provider: catalog.Provider{Name: name, BaseURL: gateway, Wire: tt.wire}}}}
		k, err := o.Describe(tt.ref)
		if err != nil {
			t.Fatal(err)
		}
		if home.Info.Price == nil || k.Info.Price != nil || k.PriceFrom != "" || k.Catalog.Price != nil {
			t.Errorf("%s: the price is %v, from %q", tt.ref, k.Info.Price, k.PriceFrom)
		}
		if key, from, err := o.Key(k.Provider); key != "" || from != "" || err != nil {
			t.Errorf("%s: a key from %s, %v", tt.ref, from, err)
		}
		i, was := k.Info, home.Info
		if i.Context != was.Context || k.ContextFrom != catalog.FromCatalog || i.Output != was.Output || i.Traits.Images != was.Traits.Images || i.Traits.NoTemperature != was.Traits.NoTemperature {
			t.Errorf("%s: %+v, and at home %+v", tt.ref, i, was)
		}
		style := tt.style
		if tt.at == was.Wire {
			style = was.Traits.ThinkingStyle
		}
		if i.Wire != tt.at || i.Traits.Thinking != tt.thinks || i.Traits.ThinkingStyle != style {
			t.Errorf("%s: on %s, thinks %v, %q", tt.ref, i.Wire, i.Traits.Thinking, i.Traits.ThinkingStyle)
		}
		if m, err := provider.Open(tt.ref, o); err != nil || m.Info().Wire != tt.at {
			t.Errorf("%s: %v", tt.ref, err)
		}
	}
}

// Which models are known to write their calls as text, on which servers.
func TestSalvageIsKnown(t *testing.T) {
	t.Parallel()
	o := provider.Options{Providers: []provider.Custom{
		{Provider: catalog.Provider{Name: "gpu", BaseURL: "http://10.0.0.7:8000/v1"}, Profile: "vllm"},
		{Provider: catalog.Provider{Name: "other", BaseURL: "http://10.0.0.8:8000/v1"}},
	}}
	for ref, want := range map[string]bool{
		"ollama:qwen2.5-coder:7b": true, "gpu:Qwen/Qwen2.5-Coder-7B-Instruct": true, "lmstudio:qwen2.5-coder-7b-instruct": true,
		"llamacpp:/models/Meta-Llama-3.1-8B-Instruct-Q4_K_M.gguf": true, "ollama:llama3.2": true, "ollama:mistral": true, "vllm:mistralai/Mistral-7B-Instruct-v0.3": true,
		"ollama:qwen3:4b": false, "ollama:gpt-oss:20b": false, "ollama:mistral-small3.2": false, "ollama:llama4": false, "ollama:qwen2.5-coder:7b-cloud": false,
		"groq:llama-3.1-8b-instant": false, "other:qwen2.5-coder:7b": false,
	} {
		if k, err := o.Describe(ref); err != nil || k.Salvage != want {
			t.Errorf("%s: %v, %v", ref, k.Salvage, err)
		}
	}
}

func TestListGoogle(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path != "/v1beta/models" || r.Header.Get("X-Goog-Api-Key") != "k":
			http.Error(w, "no", http.StatusNotFound)
		case r.URL.Query().Get("pageToken") == "":
			_, _ = io.WriteString(w, `{"models":[{"name":"models/gemini-a","displayName":"A","inputTokenLimit":1000,"outputTokenLimit":100,"supportedGenerationMethods":["generateContent"],"thinking":true},
				{"name":"models/embed","supportedGenerationMethods":["embedContent"]}],"nextPageToken":"2"}`)
		default:
			_, _ = io.WriteString(w, `{"models":[{"name":"models/gemini-b"}]}`)
		}
	}))
	defer srv.Close()
	o := provider.Options{APIKey: "k", Providers: []provider.Custom{{Provider: catalog.Provider{Name: "google", BaseURL: srv.URL + "/v1beta"}}}}
	l, err := o.List(t.Context(), "google")
	if err != nil || len(l.Models) != 2 {
		t.Fatalf("%+v, %v", l, err)
	}
	if a := l.Models[0]; a.ID != "gemini-a" || a.Name != "A" || a.Context != 1000 || a.Output != 100 || a.Thinking == nil || !*a.Thinking {
		t.Errorf("%+v", a)
	}
	for _, name := range []string{"vertex", "bedrock", "cohere"} {
		if _, err := (provider.Options{APIKey: "k"}).List(t.Context(), name); !errors.Is(err, provider.ErrNoList) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
