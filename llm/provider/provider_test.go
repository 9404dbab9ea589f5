package provider_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/catalog"
	"github.com/cantle-dev/cantle/llm/llmtest"
	"github.com/cantle-dev/cantle/llm/provider"
)

func ExampleOptions_Describe() {
	o := provider.Options{Aliases: catalog.Aliases{"opus": "anthropic:claude-opus-4-8"}}
	k, err := o.Describe("opus")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(k.Ref, k.Info.Context, k.ContextFrom)
	k, err = o.Describe("ollama:qwen3:4b")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(k.Ref, k.Info.Context, k.ContextFrom, k.Info.Price.Free())
	// Output:
	// anthropic:claude-opus-4-8 1000000 catalog
	// ollama:qwen3:4b 8192 assumed true
}

// Nothing is asked for over the network, and what is missing is named.
func ExampleOpen() {
	_, err := provider.Open("groq:llama-3.3-70b-versatile", provider.Options{Getenv: func(string) string { return "" }})
	fmt.Println(err)
	_, err = provider.Open("grok:grok-4", provider.Options{})
	fmt.Println(errors.Is(err, provider.ErrUnknown))
	m, err := provider.Open("fast", provider.Options{
		Getenv:  func(name string) string { return map[string]string{"GROQ_API_KEY": "secret"}[name] }, // or os.Getenv
		Aliases: catalog.Aliases{"fast": "groq:llama-3.3-70b-versatile"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(m.Info().Ref(), m.Info().Context)
	// Output:
	// provider: no key for groq: set GROQ_API_KEY
	// true
	// groq:llama-3.3-70b-versatile 131072
}

func env(vars map[string]string) func(string) string {
	return func(name string) string { return vars[name] }
}

// TestOpen holds what a request to a custom provider is like.
func TestOpen(t *testing.T) {
	t.Parallel()
	srv := llmtest.NewServer(t, llmtest.Play(t, llmtest.Say("one"), llmtest.Say("two"), llmtest.Say("three")))
	o := provider.Options{
		Getenv: env(map[string]string{"MINE": "k-1"}),
		Providers: []provider.Custom{
			{Provider: catalog.Provider{Name: "chat", BaseURL: srv.BaseURL(llmtest.WireChat), KeyEnv: []string{"MINE"}}, Header: http.Header{"X-Team": {"a"}}},
			{Provider: catalog.Provider{Name: "msgs", BaseURL: srv.BaseURL(llmtest.WireAnthropic), Wire: llmtest.WireAnthropic}, Set: map[string]string{"beta": "one, two"}},
		},
		Aliases: catalog.Aliases{"quick": "chat:m"},
	}
	for _, ref := range []string{"quick", "msgs:m"} {
		m, err := provider.Open(ref, o)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := llm.Generate(t.Context(), m, &llm.Request{Messages: []llm.Message{llm.UserText("hi")}}); err != nil {
			t.Fatal(err)
		}
	}
	o.APIKey = "explicit" // it goes before a variable, and to what has none
	m, err := provider.Open("chat:m", o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := llm.Generate(t.Context(), m, &llm.Request{Messages: []llm.Message{llm.UserText("hi")}}); err != nil {
		t.Fatal(err)
	}
	got := srv.Requests()
	for i, want := range []map[string]string{
		{"Authorization": "Bearer k-1", "X-Team": "a"},
		{"X-Api-Key": "", "Anthropic-Beta": "one,two"},
		{"Authorization": "Bearer explicit"},
	} {
		for name, v := range want {
			if h := got[i].Header.Get(name); h != v {
				t.Errorf("request %d: %s is %q, want %q", i, name, h, v)
			}
		}
	}
}

func TestOpenErrors(t *testing.T) {
	t.Parallel()
	local := catalog.Provider{Name: "mine", BaseURL: "http://127.0.0.1:1/v1"}
	o := provider.Options{Providers: []provider.Custom{
		{Provider: local, Set: map[string]string{"organisation": "x"}},
		{Provider: catalog.Provider{Name: "bad", BaseURL: "http://127.0.0.1:1", Wire: "anthropic"}, Set: map[string]string{"cache": "2h"}},
		{Provider: catalog.Provider{Name: "nowhere"}},
		{Provider: catalog.Provider{Name: "like", BaseURL: "http://127.0.0.1:1"}, Profile: "grok"},
		{Provider: catalog.Provider{Name: "odd", BaseURL: "http://127.0.0.1:1", Wire: "gopher"}},
	}, Aliases: catalog.Aliases{"a": "b", "b": "a", "sonnet": "anthropic:claude-sonnet-5"}}
	for _, tt := range []struct {
		ref, want string
		is        error
	}{
		{"", "write provider:model", nil},
		{"sonet", "did you mean the alias sonnet?", nil},
		{"gpt-4o", "openai:gpt-4o", nil},
		{"a", "a → b → a", nil},
		{"antropic:x", "did you mean anthropic?", provider.ErrUnknown},
		{"anthropic:claude-opus-4-8", "set ANTHROPIC_API_KEY", provider.ErrNoKey},
		{"mine:m", `no option "organisation": did you mean organization?`, nil},
		{"bad:m", "there are off, 5m and 1h", nil},
		{"nowhere:m", "has no baseUrl", nil},
		{"like:m", `no profile "grok": did you mean groq`, nil},
		{"odd:m", `wire "gopher", which this version does not speak`, nil},
		{"vertex:gemini-2.5-pro", "set providers.vertex.project", nil},
		{"azure:gpt-4o", "set providers.azure.baseUrl to https://{resource}.openai.azure.com", nil},
	} {
		m, err := provider.Open(tt.ref, o)
		if m != nil || err == nil || !strings.Contains(err.Error(), tt.want) || tt.is != nil && !errors.Is(err, tt.is) {
			t.Errorf("Open(%q) = %v, %v, want an error with %q", tt.ref, m, err, tt.want)
		}
	}
}

// TestKeyStaysHome holds that a key goes to the provider's own hosts alone.
func TestKeyStaysHome(t *testing.T) {
	t.Parallel()
	vars := env(map[string]string{"OPENAI_API_KEY": "k", "AZURE_OPENAI_API_KEY": "k", "AWS_BEARER_TOKEN_BEDROCK": "k", "DASHSCOPE_API_KEY": "k", "MINE": "mine"})
	for _, tt := range []struct {
		name, base string
		keyEnv     []string
		want       string
	}{
		{"openai", "", nil, "k"},
		{"openai", "https://api.openai.com/v2", nil, "k"},
		{"openai", "http://api.openai.com/v1", nil, ""},
		{"openai", "https://api.openai.com.evil.example/v1", nil, ""},
		{"openai", "https://user@api.openai.com/v1", nil, ""},
		{"openai", "https://evil.example/api.openai.com", nil, ""},
		{"openai", "https://evil.example", []string{"MINE"}, "mine"},
		{"azure", "https://team.openai.azure.com/openai/v1", nil, "k"},
		{"azure", "https://team.openai.azure.com.evil.example", nil, ""},
		{"azure", "https://notopenai.azure.com", nil, ""},
		{"azure", "https://evil.example.openai.azure.com", nil, ""},
		{"azure", "https://team.services.ai.azure.com/openai/v1", nil, "k"},
		{"bedrock", "https://bedrock-runtime.eu-west-1.amazonaws.com", nil, "k"},
		{"bedrock", "https://bedrock-runtime.evil.compute.amazonaws.com", nil, ""},
		{"bedrock", "https://bucket.s3.amazonaws.com", nil, ""},
		{"alibaba", "https://dashscope.aliyuncs.com/compatible-mode/v1", nil, "k"},
		{"alibaba", "https://evil.oss-cn-hangzhou.aliyuncs.com", nil, ""},
		{"openai", "https://api.openai.com:8443/v1", nil, ""},
	} {
		o := provider.Options{Getenv: vars, Providers: []provider.Custom{{Provider: catalog.Provider{Name: tt.name, BaseURL: tt.base, KeyEnv: tt.keyEnv}}}}
		c, err := o.Find(tt.name)
		if err != nil {
			t.Error(err)
			continue
		}
		if key, _, err := o.Key(c); err != nil || key != tt.want {
			t.Errorf("%s at %s: key %q, %v, want %q", tt.name, tt.base, key, err, tt.want)
		}
	}
}

func TestDescribe(t *testing.T) {
	t.Parallel()
	reported := map[string]provider.Report{
		"ollama:seen":                 {Context: 4096, Max: 262_144},
		"openrouter:a/b":              {Context: 1000, Output: 10, Price: llm.PerMillion(1, 2)},
		"google:gemini-2.5-pro":       {Price: &llm.Price{Input: 1_250_000, Output: 10_000_000, CacheRead: 125_000}},
		"groq:llama-3.1-8b-instant":   {Context: 9000},
		"anthropic:claude-opus-4-8":   {},
		"anthropic:claude-sonnet-4-6": {Context: 50_000},
	}
	o := provider.Options{
		Reported: func(p, _, m string) (provider.Report, bool) { r, ok := reported[p+":"+m]; return r, ok },
		Providers: []provider.Custom{
			{Provider: catalog.Provider{Name: "gpu", BaseURL: "http://10.0.0.7:8000/v1"}},
			{Provider: catalog.Provider{Name: "box", BaseURL: "http://box.local:11434/v1"}, Profile: "ollama"},
			{Provider: catalog.Provider{Name: "cloud", BaseURL: "https://ollama.example/v1"}, Profile: "ollama"},
			{Provider: catalog.Provider{Name: "own", BaseURL: "https://own.example/v1", Local: true, Traits: llm.Traits{Images: true}}},
			{Provider: catalog.Provider{Name: "far", BaseURL: "https://models.example/v1"}},
			{Provider: catalog.Provider{Name: "lmstudio", BaseURL: "http://studio:1234/v1"}},
			{Provider: catalog.Provider{Name: "vllm", BaseURL: "https://vllm.example/v1"}},
			{Provider: catalog.Provider{Name: "deepseek", BaseURL: "https://proxy.example/v1"}},
		},
	}
	for _, tt := range []struct {
		ref     string
		context int
		from    catalog.From
		price   string // of a million tokens each way; "" is unknown
		by      catalog.From
	}{
		{"anthropic:claude-opus-4-8", 1_000_000, catalog.FromCatalog, "$30.0000", catalog.FromCatalog},
		{"anthropic:claude-sonnet-4-6", 50_000, catalog.FromProvider, "$18.0000", catalog.FromCatalog},
		{"groq:llama-3.1-8b-instant", 9000, catalog.FromProvider, "$0.1300", catalog.FromCatalog},
		{"openrouter:a/b", 1000, catalog.FromProvider, "$3.0000", catalog.FromProvider},
		{"google:gemini-2.5-pro", 1_048_576, catalog.FromCatalog, "$17.5000", catalog.FromCatalog}, // its tier stays
		{"openai:gpt-99", 128_000, catalog.FromDefault, "", ""},
		{"ollama:new", 8_192, catalog.FromDefault, "$0.0000", catalog.FromCatalog},
		{"ollama:seen", 4096, catalog.FromProvider, "$0.0000", catalog.FromCatalog},
		{"lmstudio:m", 8_192, catalog.FromDefault, "$0.0000", catalog.FromCatalog},
		{"vllm:m", 128_000, catalog.FromDefault, "", ""}, // not at home: it may cost
		{"gpu:m", 8_192, catalog.FromDefault, "", ""},    // at home, but perhaps a proxy
		{"far:m", 128_000, catalog.FromDefault, "", ""},
		{"box:m", 8_192, catalog.FromDefault, "$0.0000", catalog.FromCatalog},
		{"cloud:m", 128_000, catalog.FromDefault, "", ""},
		{"own:m", 8_192, catalog.FromDefault, "$0.0000", catalog.FromCatalog},
		{"anthropic:claude-next", 200_000, catalog.FromDefault, "", ""},
		{"deepseek:deepseek-flash", 1_000_000, catalog.FromCatalog, "", ""}, // through a gateway, at another price
		{"deepseek:own", 128_000, catalog.FromDefault, "", ""},
		{"ollama:gpt-oss:120b-cloud", 128_000, catalog.FromDefault, "", ""}, // not on this machine
	} {
		k, err := o.Describe(tt.ref)
		if err != nil {
			t.Error(err)
			continue
		}
		price := ""
		if p := k.Info.Price; p != nil {
			price = p.Cost(llm.Usage{Input: 1_000_000, Output: 1_000_000}).String()
		}
		if k.Info.Context != tt.context || k.ContextFrom != tt.from || price != tt.price || k.PriceFrom != tt.by || k.Info.Ref() != tt.ref {
			t.Errorf("%s: window %d from %s, price %s from %s", k.Info.Ref(), k.Info.Context, k.ContextFrom, price, k.PriceFrom)
		}
	}
	o.Change = func(i *llm.Info) { i.Context, i.Output, i.Price = 7, 3, &llm.Price{} }
	if k, err := o.Describe("anthropic:claude-opus-4-8"); err != nil || k.Info.Context != 7 || k.ContextFrom != catalog.FromSettings || k.OutputFrom != catalog.FromSettings || k.PriceFrom != catalog.FromSettings {
		t.Errorf("with settings: %+v, %v", k, err)
	}
	o.Change = nil
	if k, err := o.Describe("own:m"); err != nil || !k.Info.Traits.Images {
		t.Errorf("traits of a provider: %+v, %v", k.Info.Traits, err)
	}
	if k, err := o.Describe("anthropic:claude-opus-48"); err != nil || len(k.Near) == 0 {
		t.Errorf("a model with a slip: %q, %v", k.Near, err)
	}
}

// TestModelTraits holds that what the catalog says of a model reaches the wire.
func TestModelTraits(t *testing.T) {
	t.Parallel()
	bodies := make(chan string, 1)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b := new(strings.Builder)
		_ = r.Write(b)
		bodies <- b.String()
		http.Error(w, `{"error":{"message":"no"}}`, http.StatusUnauthorized)
	}))
	defer srv.Close()
	toServer := &http.Client{Transport: redirect{srv.Listener.Addr().String()}}
	half := 0.5
	for _, tt := range []struct {
		ref       string
		has, lack []string
	}{
		{"anthropic:claude-opus-4-8", []string{`"type":"adaptive"`, `"effort":"xhigh"`}, []string{"temperature", "budget_tokens"}},
		{"anthropic:claude-opus-4-6", []string{`"type":"adaptive"`, `"effort":"max"`}, []string{"budget_tokens"}},
		{"anthropic:claude-haiku-4-5", []string{`budget_tokens`}, []string{"adaptive"}},
		{"openai:o3", []string{`"reasoning_effort":"high"`, "max_completion_tokens"}, []string{"temperature"}},
		{"openai:gpt-4o", []string{`"temperature":0.5`}, []string{"reasoning_effort"}},
		{"moonshot:kimi-k3", []string{`"reasoning_effort":"max"`}, []string{`"thinking"`}},
		{"moonshot:kimi-k2.6", []string{`"thinking":{"type":"enabled"}`}, []string{"reasoning_effort"}},
	} {
		m, err := provider.Open(tt.ref, provider.Options{APIKey: "k", Client: toServer})
		if err != nil {
			t.Error(err)
			continue
		}
		_, err = llm.Generate(t.Context(), m, &llm.Request{
			Messages: []llm.Message{llm.UserText("hi")}, Effort: llm.EffortXHigh, Temperature: &half, MaxTokens: 50_000,
		})
		if !llm.IsKind(err, llm.KindAuth) {
			t.Errorf("%s: %v", tt.ref, err)
		}
		body := <-bodies
		for _, s := range tt.has {
			if !strings.Contains(body, s) {
				t.Errorf("%s: the request has no %s:\n%s", tt.ref, s, body)
			}
		}
		for _, s := range tt.lack {
			if strings.Contains(body, s) {
				t.Errorf("%s: the request has %s:\n%s", tt.ref, s, body)
			}
		}
	}
}

// redirect sends every request to one address.
type redirect struct{ host string }

func (r redirect) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.URL.Scheme, req.URL.Host = "http", r.host
	return http.DefaultTransport.RoundTrip(req)
}

// What a model is told to think with, where nothing says so: as most servers
// take it if the user says that it thinks, and not at all if it is only known
// to think.
func TestThinkingThatIsNotSettled(t *testing.T) {
	t.Parallel()
	yes := func(i *llm.Info) { i.Traits.Thinking = true }
	for _, tt := range []struct {
		ref     string
		change  func(*llm.Info)
		thinks  bool
		style   string
		isWrong string
	}{
		{"mine:m", nil, false, "", ""},
		{"mine:m", yes, true, "flat", ""},
		{"lmstudio:m", yes, true, "flat", ""},
		{"vllm:m", yes, true, "", ""}, // its profile has a way
		{"llamacpp:m", yes, true, "", ""},
		{"ollama:m", yes, true, "", ""},
		{"huggingface:MiniMaxAI/MiniMax-M2", nil, false, "", ""},
		{"huggingface:MiniMaxAI/MiniMax-M2", yes, true, "flat", ""},
		{"baseten:zai-org/GLM-5.2", nil, true, "flat", ""}, // its words are known
		{"bedrock:zai.glm-5", nil, false, "", ""},
		{"bedrock:zai.glm-5", yes, true, "", `models."bedrock:zai.glm-5": it thinks, and its name does not say how it is told to: set its thinkingStyle too: there are adaptive, budget, effort, nova, qwen`},
		{"bedrock:anthropic.claude-sonnet-9", yes, true, "", ""},
	} {
		o := provider.Options{
			APIKey: "k", Change: tt.change,
			Providers: []provider.Custom{{Provider: catalog.Provider{Name: "mine", BaseURL: "http://127.0.0.1:1/v1"}}},
		}
		k, err := o.Describe(tt.ref)
		if err != nil {
			t.Fatal(err)
		}
		if got := k.Info.Traits; got.Thinking != tt.thinks || got.ThinkingStyle != tt.style {
			t.Errorf("%s: %+v", tt.ref, got)
		}
		_, err = provider.Open(tt.ref, o)
		if tt.isWrong == "" && err != nil || tt.isWrong != "" && (err == nil || !strings.Contains(err.Error(), tt.isWrong)) {
			t.Errorf("%s: %v", tt.ref, err)
		}
	}
}

// silent is a server that takes the request and says nothing.
type silent struct{}

func (silent) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// A server at home may be silent for longer: it may read a prompt without a GPU.
func TestStall(t *testing.T) {
	for _, tt := range []struct {
		ref, base string
		set, want time.Duration
	}{
		{"ollama:m", "", 0, 10 * time.Minute},
		{"llamacpp:m", "", 0, 10 * time.Minute},
		{"mine:m", "http://[::1]:8080/v1", 0, 10 * time.Minute},
		{"mine:m", "http://192.168.1.7:8080/v1", 0, 10 * time.Minute},
		{"mine:m", "http://gpubox.local/v1", 0, 10 * time.Minute},
		{"mine:m", "http://gpubox.local/v1", 5 * time.Second, 5 * time.Second},
		{"mine:m", "https://models.example.com/v1", 0, 90 * time.Second},
		{"vllm:m", "https://models.example.com/v1", 0, 90 * time.Second},
		{"groq:m", "", 0, 90 * time.Second},
		{"anthropic:m", "http://127.0.0.1:8080", 0, 10 * time.Minute},
	} {
		synctest.Test(t, func(t *testing.T) {
			name, _, _ := strings.Cut(tt.ref, ":")
			m, err := provider.Open(tt.ref, provider.Options{
				APIKey: "k", Stall: tt.set, Client: &http.Client{Transport: silent{}},
				Providers: []provider.Custom{{Provider: catalog.Provider{Name: name, BaseURL: tt.base}}},
			})
			if err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			_, err = llm.Generate(t.Context(), m, &llm.Request{Messages: []llm.Message{llm.UserText("hi")}})
			if took := time.Since(start); !llm.IsKind(err, llm.KindStalled) || took != tt.want {
				t.Errorf("%s at %s: %v after %v, want %v", tt.ref, tt.base, err, took, tt.want)
			}
		})
	}
}

// The stand-in is the program's: who asks for it here learns where it is.
func TestStandIn(t *testing.T) {
	_, err := provider.Open("demo:offline", provider.Options{})
	if !errors.Is(err, provider.ErrUnknown) || !strings.Contains(err.Error(), "llm/demo.New") || strings.Contains(err.Error(), "did you mean") {
		t.Error(err)
	}
	if _, err := provider.Open("deno:offline", provider.Options{}); err == nil || !strings.Contains(err.Error(), "did you mean demo") {
		t.Error(err)
	}
}
