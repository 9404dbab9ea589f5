package provider_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/llm/catalog"
	"github.com/cantle-dev/cantle/llm/provider"
)

// safe is a store of keys in memory.
type safe struct {
	keys  map[string]string
	asked []string
	err   error
}

func (s *safe) Get(name string) (string, string, error) {
	s.asked = append(s.asked, name)
	return s.keys[name], "file", s.err
}

func (s *safe) Has(name string) string {
	if s.keys[name] == "" {
		return ""
	}
	return "file"
}

// The first of the run's own key, the variables, the command and the store
// counts, and what comes after it is not asked.
func TestKeyPrecedence(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		given, given4, variable, command, stored string
		key, from                                string
	}{
		{"g", "", "v", "c", "s", "g", provider.FromGiven},
		{"g", "openai", "v", "c", "s", "g", provider.FromGiven},
		{"g", "anthropic", "v", "c", "s", "v", "OPENAI_API_KEY"}, // of another provider's model
		{"", "", " v\n", "c", "s", "v", "OPENAI_API_KEY"},
		{"", "", "", "c", "s", "c", provider.FromCommand},
		{"", "", " ", "", "s", "s", "file"},
		{"", "", "", "", "", "", ""},
	} {
		ran := 0
		store := &safe{keys: map[string]string{"openai": tt.stored}}
		cu := provider.Custom{Provider: catalog.Provider{Name: "openai"}}
		if tt.command != "" {
			cu.KeyCommand = func() (string, error) { ran++; return tt.command, nil }
		}
		o := provider.Options{
			APIKey: tt.given, APIKeyFor: tt.given4, Getenv: env(map[string]string{"OPENAI_API_KEY": tt.variable}), Keys: store, Providers: []provider.Custom{cu},
		}
		c, err := o.Find("openai")
		if err != nil {
			t.Fatal(err)
		}
		from, err := o.KeyFrom(c)
		if from != tt.from || errors.Is(err, provider.ErrNoKey) != (tt.key == "") || ran+len(store.asked) != 0 {
			t.Errorf("%+v: from %q, %v; %d runs, asked %q", tt, from, err, ran, store.asked)
		}
		key, from, err := o.Key(c)
		if key != tt.key || from != tt.from || (err == nil) != (tt.key != "") || (ran == 1) != (tt.from == provider.FromCommand) || (len(store.asked) == 1) != (tt.from == "file") {
			t.Errorf("%+v: %q from %q, %v; %d runs, asked %q", tt, key, from, err, ran, store.asked)
		}
		if tt.key == "" && !strings.Contains(err.Error(), "set OPENAI_API_KEY, or store one with cantle login openai") {
			t.Error(err)
		}
	}
}

// A stored key is for the provider, not for a server that stands in its place.
func TestStoredKeyStaysHome(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, base string
		want       string
	}{
		{"openai", "", "k"},
		{"openai", "https://api.openai.com/v1", "k"},
		{"openai", "https://evil.example/v1", ""},
		{"openai", "http://api.openai.com/v1", ""},
		{"azure", "https://team.openai.azure.com/openai/v1", "k"},
		{"mine", "https://mine.example/v1", "k"},
		{"ollama", "", "k"},
	} {
		store := &safe{keys: map[string]string{tt.name: "k"}}
		o := provider.Options{Keys: store, Providers: []provider.Custom{{Provider: catalog.Provider{Name: tt.name, BaseURL: tt.base}}}}
		c, err := o.Find(tt.name)
		if err != nil {
			t.Fatal(err)
		}
		if key, _, err := o.Key(c); key != tt.want || err != nil || tt.want == "" && len(store.asked) > 0 {
			t.Errorf("%s at %s: %q, %v, asked %q", tt.name, tt.base, key, err, store.asked)
		}
	}
}

func TestKeyErrors(t *testing.T) {
	t.Parallel()
	o := provider.Options{
		Keys: &safe{keys: map[string]string{"groq": "k"}, err: errors.New("it is locked")},
		Providers: []provider.Custom{
			{Provider: catalog.Provider{Name: "mine", BaseURL: "http://127.0.0.1:1/v1"}, KeyCommand: func() (string, error) { return "", errors.New("no vault") }},
			{Provider: catalog.Provider{Name: "odd", BaseURL: "http://127.0.0.1:1/v1"}, Err: errors.New("the variable X is not set")},
		},
	}
	for ref, want := range map[string]string{
		"mine:m": "provider: providers.mine.apiKeyCommand: no vault",
		"groq:m": "provider: the key of groq: it is locked",
		"odd:m":  "the variable X is not set",
	} {
		if _, err := provider.Open(ref, o); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", ref, err, want)
		}
		name, _, _ := strings.Cut(ref, ":")
		if _, err := o.List(t.Context(), name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("listing %s: %v, want %s", name, err, want)
		}
	}
}
