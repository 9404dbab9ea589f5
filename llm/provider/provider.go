// Package provider opens a model by its name, "provider:model": it joins what
// the catalog knows, the adapter of the wire, and the key.
//
//	m, err := provider.Open("anthropic:claude-opus-4-8", provider.Options{Getenv: os.Getenv})
package provider

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/anthropic"
	"github.com/cantle-dev/cantle/llm/catalog"
	"github.com/cantle-dev/cantle/llm/openai"
)

// Options say how to open a model.
type Options struct {
	// Getenv looks a key's variable up. It is asked for no other.
	Getenv func(string) string
	// Providers add to the catalog, or replace what is in it.
	Providers []Custom
	// Change may change what is assumed of the model.
	Change func(*llm.Info)
	Stall  time.Duration // silence that ends a request: 0 is 90 s, negative never
}

// Custom is a provider that the user describes. What is left out is as in the
// catalog, if it is there.
type Custom struct {
	catalog.Provider
	Profile string // as whose compatible server: a provider's name
	Query   url.Values
}

// ErrNoKey means that the variable with a provider's key is not set.
var ErrNoKey = errors.New("no key")

// ErrUnknown means that a provider is in neither the catalog nor the settings.
var ErrUnknown = errors.New("unknown provider")

// Split takes "provider:model" apart.
func Split(ref string) (provider, model string, err error) {
	p, m, ok := strings.Cut(ref, ":")
	if !ok || p == "" || m == "" {
		return "", "", fmt.Errorf("provider: %q is not a model: write provider:model, as anthropic:claude-opus-4-8 or ollama:qwen3:4b", ref)
	}
	return p, m, nil
}

// Find returns what is known of a provider.
func (o Options) Find(name string) (Custom, error) {
	known, inCatalog := catalog.Lookup(name)
	out := Custom{Provider: known, Profile: name}
	for _, c := range o.Providers {
		if c.Name != name {
			continue
		}
		out.Name = name
		if c.BaseURL != "" && c.BaseURL != known.BaseURL {
			// Another server: the key of the first must not go to it.
			out.BaseURL, out.KeyEnv = c.BaseURL, nil
		}
		if c.Wire != "" {
			out.Wire = c.Wire
		}
		if len(c.KeyEnv) > 0 {
			out.KeyEnv = c.KeyEnv
		}
		if c.Profile != "" {
			out.Profile = c.Profile
		}
		out.Query = c.Query
		inCatalog = true
	}
	if !inCatalog {
		var names []string
		for _, p := range catalog.Providers() {
			names = append(names, p.Name)
		}
		return out, fmt.Errorf("provider: %w %q: there are %s; any other needs a baseUrl in the settings, under providers.%s", ErrUnknown, name, strings.Join(names, ", "), name)
	}
	if out.BaseURL == "" {
		return out, fmt.Errorf("provider: providers.%s has no baseUrl", name)
	}
	if out.Wire == "" {
		out.Wire = openai.WireChat
	}
	return out, nil
}

// Key returns the provider's key and the variable it is in.
func (o Options) Key(c Custom) (key, variable string, err error) {
	for _, v := range c.KeyEnv {
		if k := strings.TrimSpace(o.Getenv(v)); k != "" {
			return k, v, nil
		}
	}
	if len(c.KeyEnv) == 0 {
		return "", "", nil
	}
	return "", c.KeyEnv[0], fmt.Errorf("provider: %w for %s: set %s", ErrNoKey, c.Name, strings.Join(c.KeyEnv, " or "))
}

// Open makes the model that ref names.
func Open(ref string, o Options) (llm.Model, error) {
	name, model, err := Split(ref)
	if err != nil {
		return nil, err
	}
	c, err := o.Find(name)
	if err != nil {
		return nil, err
	}
	key, _, err := o.Key(c)
	if err != nil {
		return nil, err
	}
	info := c.Info(model)
	if o.Change != nil {
		o.Change(&info)
	}
	switch c.Wire {
	case anthropic.Wire:
		return anthropic.New(model, anthropic.Options{APIKey: key, BaseURL: c.BaseURL, Info: info, Stall: o.Stall}), nil
	case openai.WireChat:
		p := openai.ProfileOf(c.Profile)
		return openai.NewChat(model, openai.Options{APIKey: key, BaseURL: c.BaseURL, Info: info, Stall: o.Stall, Profile: &p, Query: c.Query}), nil
	}
	return nil, fmt.Errorf("provider: providers.%s speaks the wire %q: there are %s and %s", name, c.Wire, anthropic.Wire, openai.WireChat)
}
