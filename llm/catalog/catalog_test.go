package catalog_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/catalog"
)

func ExampleLookup() {
	m, err := catalog.Lookup("anthropic", "claude-opus-4-8")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(m.Context, m.Output, m.Traits.Images)
	fmt.Println("a million tokens of input:", m.Price.Cost(llm.Usage{Input: 1_000_000}))

	_, err = catalog.Lookup("anthropic", "claude-opus-48")
	fmt.Println(err)
	// Output:
	// 1000000 128000 true
	// a million tokens of input: $5.0000
	// catalog: nothing is known of anthropic:claude-opus-48; the nearest: claude-opus-4-8, claude-opus-4-5, claude-opus-4-6
}

func TestData(t *testing.T) {
	t.Parallel()
	if !slices.IsSortedFunc(catalog.Providers(), func(a, b catalog.Provider) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("the providers are not in order")
	}
	total := 0
	for _, p := range catalog.Providers() {
		if p.Wire == "" || p.BaseURL == "" {
			t.Errorf("%s: %+v", p.Name, p)
		}
		if remote := strings.HasPrefix(p.BaseURL, "https://"); remote == p.Local {
			t.Errorf("%s: local is %v at %s", p.Name, p.Local, p.BaseURL)
		}
		models, err := catalog.Models(p.Name)
		if err != nil {
			t.Fatal(err)
		}
		total += len(models)
		for i, m := range models {
			ref := p.Name + ":" + m.ID
			if i > 0 && models[i-1].ID >= m.ID {
				t.Errorf("%s: not in order, or twice", ref)
			}
			if m.Provider != p.Name || m.Wire == "" || m.Context <= 0 || m.Output < 0 || m.Output >= m.Context {
				t.Errorf("%s: %+v", ref, m)
			}
			if m.Traits.Images != slices.Contains(m.Input, "image") {
				t.Errorf("%s: images %v, input %v", ref, m.Traits.Images, m.Input)
			}
			if found, err := catalog.Lookup(p.Name, m.ID); err != nil || found.ID != m.ID {
				t.Errorf("Lookup(%s) = %q, %v", ref, found.ID, err)
			}
			if m.Price != nil {
				checkPrice(t, ref, *m.Price)
				for _, tier := range m.Price.Tiers {
					checkPrice(t, ref, tier.Price)
					if tier.Price.Input < m.Price.Input || tier.Price.Output < m.Price.Output {
						t.Errorf("%s: longer prompts are cheaper", ref)
					}
				}
			}
		}
	}
	if total < 1200 {
		t.Errorf("%d models: some are lost", total)
	}
	t.Logf("%d providers, %d models", len(catalog.Providers()), total)
}

// checkPrice finds a price that cannot be: 1,000 dollars a million tokens, or
// a cache that is dearer than no cache.
func checkPrice(t *testing.T, ref string, p llm.Price) {
	t.Helper()
	if p.Input > 1_000_000_000 || p.Output > 1_000_000_000 || p.Input < 0 || p.Output < 0 {
		t.Errorf("%s: %+v", ref, p)
	}
	if p.CacheRead > p.Input || p.CacheWrite < 0 || p.CacheWrite1h < p.CacheWrite {
		t.Errorf("%s: cache prices of %+v", ref, p)
	}
	if p.Free() && !strings.Contains(ref, "free") {
		t.Errorf("%s: free", ref)
	}
}

// TestKnownPrices holds facts that anyone can check with the provider.
func TestKnownPrices(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		provider, model string
		usage           llm.Usage
		want            string
	}{
		{"anthropic", "claude-opus-4-5", llm.Usage{Input: 1000, Output: 100}, "$0.0075"},
		{"anthropic", "claude-opus-4-5", llm.Usage{CacheRead: 10_000}, "$0.0050"},
		{"anthropic", "claude-opus-4-5", llm.Usage{CacheWrite: 10_000}, "$0.0625"},
		{"anthropic", "claude-opus-4-5", llm.Usage{CacheWrite: 10_000, CacheWrite1h: 10_000}, "$0.1000"},
		{"openai", "gpt-4o", llm.Usage{Input: 1_000_000, Output: 1_000_000}, "$12.5000"},
		{"google", "gemini-2.5-pro", llm.Usage{Input: 200_000}, "$0.2500"},
		{"google", "gemini-2.5-pro", llm.Usage{Input: 200_001}, "$0.5000"},
	} {
		m, err := catalog.Lookup(tt.provider, tt.model)
		if err != nil {
			t.Error(err)
			continue
		}
		if got := m.Price.Cost(tt.usage).String(); got != tt.want {
			t.Errorf("%s:%s %+v = %s, want %s", tt.provider, tt.model, tt.usage, got, tt.want)
		}
	}
	// A price that the source gives as 0 is not known; one that the provider
	// calls free is 0.
	for _, tt := range []struct {
		provider, model string
		want            *llm.Price
	}{
		{"nvidia", "google/gemma-3-12b-it", nil},
		{"openrouter", "openrouter/auto", nil},
		{"openrouter", "openrouter/free", &llm.Price{}},
		{"perplexity", "sonar", nil},
	} {
		m, err := catalog.Lookup(tt.provider, tt.model)
		if err != nil || (m.Price == nil) != (tt.want == nil) || m.Price != nil && !m.Price.Free() {
			t.Errorf("%s:%s: price %+v, %v", tt.provider, tt.model, m.Price, err)
		}
	}
}

func TestLookup(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ provider, model, want string }{
		{"anthropic", "claude-opus-4-8", "claude-opus-4-8"},
		{"anthropic", "claude-opus-4-5-20251101", "claude-opus-4-5-20251101"},
		{"anthropic", "claude-opus-4-8-20260401", "claude-opus-4-8"},
		{"vertex", "gemini-2.5-pro@20260101", "gemini-2.5-pro"},
		{"openai", "gpt-4o-2031-01-02", "gpt-4o"},
		{"openai", "gpt-4o-2024-05-13", "gpt-4o-2024-05-13"},
		{"openrouter", "anthropic/claude-haiku-4.5", "anthropic/claude-haiku-4.5"},
		// Nothing else is near enough for a price.
		{"openai", "gpt-4o-mini-tts", ""},
		{"openai", "gpt-4o-1999-01-01", ""},
		{"openai", "gpt", ""},
		{"openai", "", ""},
		{"openai", "-20260101", ""},
		{"openai", "gpt-4o\n", ""},
		{"openai", `gpt-4o","name":"GPT-4o`, ""},
		{"anthropic", "claude-opus-4-8-2026", ""},
		{"ollama", "qwen3:4b", ""},
	} {
		m, err := catalog.Lookup(tt.provider, tt.model)
		if m.ID != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("Lookup(%q, %q) = %q, %v, want %q", tt.provider, tt.model, m.ID, err, tt.want)
		}
		if err != nil && !errors.Is(err, catalog.ErrUnknown) {
			t.Errorf("Lookup(%q, %q): %v is not ErrUnknown", tt.provider, tt.model, err)
		}
	}
	var e *catalog.UnknownError
	if _, err := catalog.Lookup("antropic", "x"); !errors.As(err, &e) || e.Model != "" || len(e.Near) == 0 || e.Near[0] != "anthropic" {
		t.Errorf("a provider that is not known: %v", err)
	}
	if _, err := catalog.Models("grok"); !errors.As(err, &e) || !slices.Contains(e.Near, "groq") {
		t.Errorf("a provider that is not known: %v", err)
	}
}

// TestConcurrent is for the race detector.
func TestConcurrent(t *testing.T) {
	t.Parallel()
	var wg sync.WaitGroup
	for _, p := range catalog.Providers() {
		for range 4 {
			wg.Go(func() {
				models, err := catalog.Models(p.Name)
				if err != nil {
					t.Error(err)
				}
				for i := range models { // they are the caller's own
					models[i].Input, models[i].Price = nil, nil
					if m, err := catalog.Lookup(p.Name, models[i].ID); i == 0 && (err != nil || m.ID != models[i].ID) {
						t.Errorf("%s:%s: %v", p.Name, models[i].ID, err)
					} else if i > 2 {
						break
					}
				}
			})
		}
	}
	wg.Wait()
}

func TestAliases(t *testing.T) {
	t.Parallel()
	a := catalog.Aliases{
		"fast": "cheap", "cheap": "groq:x", "a": "b", "b": "c", "c": "a", "self": "self", "empty": " ",
	}
	for i := range 12 {
		a[fmt.Sprint("n", i)] = fmt.Sprint("n", i+1)
	}
	for _, tt := range []struct{ name, want, err string }{
		{"fast", "groq:x", ""},
		{"groq:x", "groq:x", ""},
		{"self", "self", ""},
		{"a", "", "a → b → c → a"},
		{"n2", "n12", ""},
		{"n1", "", "more than 10"},
		{"empty", "", "stands for nothing"},
	} {
		got, err := a.Resolve(tt.name)
		if got != tt.want || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("Resolve(%q) = %q, %v, want %q, %q", tt.name, got, err, tt.want, tt.err)
		}
	}
	got, bad := catalog.ParseAliases("a=x:y, b = a,, nonsense, =z, q=")
	if len(got) != 2 || got["a"] != "x:y" || got["b"] != "a" || !slices.Equal(bad, []string{"nonsense", "=z", "q="}) {
		t.Errorf("ParseAliases: %v, %q", got, bad)
	}
}

func TestWindow(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		settings, reported, known int
		local                     bool
		want                      int
		from                      catalog.From
	}{
		{1, 2, 3, false, 1, catalog.FromSettings},
		{0, 2, 3, false, 2, catalog.FromProvider},
		{0, 0, 3, true, 3, catalog.FromCatalog},
		{0, 0, 0, true, 8_192, catalog.FromDefault},
		{0, 0, 0, false, 128_000, catalog.FromDefault},
	} {
		if n, from := catalog.Window(tt.settings, tt.reported, tt.known, tt.local); n != tt.want || from != tt.from {
			t.Errorf("%+v: got %d from %s", tt, n, from)
		}
	}
}

func TestMatch(t *testing.T) {
	t.Parallel()
	table := map[string]int{"gpt-4o": 1, "gpt-4o-mini": 2, "openai:gpt-4o-mini-x": 3, "": 4}
	for _, tt := range []struct {
		ref  string
		want int
	}{{"openai:gpt-4o", 1}, {"openai:gpt-4o-mini-2031", 2}, {"openai:gpt-4o-mini-x", 3}, {"a:b", 0}} {
		if _, v, _ := catalog.Match(table, tt.ref); v != tt.want {
			t.Errorf("Match(%s) = %d, want %d", tt.ref, v, tt.want)
		}
	}
}

func TestNotice(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("data/NOTICE")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Permission is hereby granted", "Copyright (c)", "npm"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("data/NOTICE does not have %q", want)
		}
	}
}

func BenchmarkLookup(b *testing.B) {
	for b.Loop() {
		if _, err := catalog.Lookup("openrouter", "anthropic/claude-haiku-4.5"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkModels(b *testing.B) {
	for _, p := range []string{"anthropic", "openai", "vercel", "openrouter"} {
		b.Run(p, func(b *testing.B) {
			for b.Loop() {
				if _, err := catalog.Models(p); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// The shortest prefix that Claude caches is that of the model, whoever serves it.
func TestMinCache(t *testing.T) {
	t.Parallel()
	want := func(id string) int {
		id = strings.NewReplacer(".", "-", ":", "-").Replace(id)
		for _, c := range []struct {
			name string
			n    int
		}{
			{"opus-4-5", 4096}, {"opus-4-6", 4096}, {"haiku-4-5", 4096}, {"opus-4-7", 2048}, {"opus-4-", 1024}, {"sonnet-4-", 1024}, {"sonnet-5-5", 512}, {"sonnet-5", 1024},
		} {
			if strings.Contains(id+"-", c.name+"-") || strings.HasSuffix(c.name, "-") && strings.Contains(id, c.name) {
				return c.n
			}
		}
		return 512
	}
	seen := 0
	for _, p := range []string{"anthropic", "bedrock", "openrouter", "vertex"} {
		models, err := catalog.Models(p)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range models {
			if !strings.Contains(m.ID, "claude-") {
				continue
			}
			seen++
			if got := m.Info().Traits.MinCache; got != want(m.ID) {
				t.Errorf("%s:%s: %d, want %d", p, m.ID, got, want(m.ID))
			}
		}
	}
	if seen < 80 {
		t.Errorf("%d models", seen)
	}
}

// What a model's kind decides is there for each that has it.
func TestFamilies(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		provider, id, style string
		noSearch, disputed  bool
	}{
		{"bedrock", "us.anthropic.claude-opus-4-1-20250805-v1:0", "budget", false, false},
		{"bedrock", "eu.anthropic.claude-sonnet-4-20250514-v1:0", "budget", false, false},
		{"bedrock", "global.anthropic.claude-sonnet-4-5-20250929-v1:0", "budget", false, false},
		{"bedrock", "anthropic.claude-haiku-4-5-20251001-v1:0", "budget", false, false},
		{"bedrock", "anthropic.claude-sonnet-4-6", "adaptive", false, false},
		{"bedrock", "global.anthropic.claude-opus-4-6-v1", "adaptive", false, false},
		{"bedrock", "jp.anthropic.claude-haiku-5-5", "adaptive", false, false},
		{"bedrock", "amazon.nova-2-lite-v1:0", "nova", false, false},
		{"bedrock", "openai.gpt-oss-120b-1:0", "effort", false, false},
		{"bedrock", "qwen.qwen3-32b-v1:0", "qwen", false, false},
		{"bedrock", "qwen.qwen3-coder-next", "", false, false}, // it does not think
		{"openai", "gpt-5", "", true, false},
		{"openai", "gpt-5.3-codex", "", true, false},
		{"azure", "gpt-5-mini", "", true, false},
		{"openai", "gpt-5.4", "", false, false},
		{"openai", "gpt-6-sol", "", false, false},
		{"vertex", "claude-opus-4-5@20251101", "", false, false},
		{"vertex", "claude-opus-4-8", "adaptive", false, false},
		{"mistral", "mistral-large-latest", "", false, true},
	} {
		m, err := catalog.Lookup(tt.provider, tt.id)
		if err != nil || m.Traits.ThinkingStyle != tt.style || m.Compat.NoToolSearch != tt.noSearch || (m.Disputed != "") != tt.disputed {
			t.Errorf("%s:%s: %v, %+v", tt.provider, tt.id, err, m)
		}
	}
}

// Which models search the web by themselves, and what a search costs.
func TestHosted(t *testing.T) {
	t.Parallel()
	for ref, want := range map[string]struct {
		has bool
		usd float64
	}{
		"anthropic:claude-opus-4-8":           {true, 0.01},
		"anthropic:claude-haiku-4-5-20251001": {true, 0.01},
		"google:gemini-3.6-flash":             {true, 0.014},
		"google:gemini-flash-latest":          {true, 0.014},
		"google:gemini-2.5-pro":               {false, 0}, // not beside tools
		"openai:gpt-5":                        {true, 0.01},
		"openai:gpt-4o":                       {false, 0},
	} {
		provider, model, _ := strings.Cut(ref, ":")
		m, err := catalog.Lookup(provider, model)
		if err != nil {
			t.Fatal(err)
		}
		if m.Info().Traits.Hosts(llm.HostedWebSearch) != want.has || m.Price.Search != llm.Dollars(want.usd) {
			t.Errorf("%s: %v, %v a search", ref, m.Traits.Hosted, m.Price.Search)
		}
	}
	// A model that is not known is told by its name; what has another price is
	// not changed with it.
	p, err := catalog.Named("anthropic")
	if err != nil {
		t.Fatal(err)
	}
	price := llm.Price{Input: 1}
	info := llm.Info{Price: &price}
	if p.Host("claude-new", &info); !info.Traits.Hosts(llm.HostedWebSearch) || info.Price.Search == 0 || price.Search != 0 {
		t.Errorf("%+v %+v", info, price)
	}
	info = llm.Info{}
	if p.Host("other-model", &info); len(info.Traits.Hosted) > 0 {
		t.Errorf("%+v", info)
	}
	for _, p := range catalog.Providers() {
		models, err := catalog.Models(p.Name)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range p.Hosted {
			if h.Tool != llm.HostedWebSearch || h.USD < 0 || len(h.Models) == 0 || !slices.ContainsFunc(models, func(m catalog.Model) bool { return m.Traits.Hosts(h.Tool) }) {
				t.Errorf("%s: %+v is for no model", p.Name, h)
			}
		}
	}
}
