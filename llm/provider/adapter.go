package provider

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/anthropic"
	"github.com/cantle-dev/cantle/llm/catalog"
	"github.com/cantle-dev/cantle/llm/openai"
)

func (o Options) anthropic(k Known, key string) (llm.Model, error) {
	c := k.Provider
	if err := c.onlyKnows("beta", "version", "cache"); err != nil {
		return nil, err
	}
	if len(c.Query) > 0 {
		return nil, fmt.Errorf("provider: providers.%s.query: the wire %s has no query", c.Name, anthropic.Wire)
	}
	ao := anthropic.Options{
		APIKey: key, BaseURL: c.BaseURL, Info: k.Info, Header: c.Header, Client: o.Client, Stall: o.Stall,
		Version: c.Set["version"],
	}
	for name := range strings.SplitSeq(c.Set["beta"], ",") {
		if name = strings.TrimSpace(name); name != "" {
			ao.Beta = append(ao.Beta, name)
		}
	}
	switch v := c.Set["cache"]; v {
	case "", "5m":
	case "1h":
		ao.CacheTTL = v
	case "off":
		ao.NoCache = true
	default:
		return nil, fmt.Errorf("provider: providers.%s: cache is %q: there are off, 5m and 1h", c.Name, v)
	}
	return anthropic.New(k.Info.Name, ao), nil
}

func (o Options) chat(k Known, key string) (llm.Model, error) {
	c := k.Provider
	if err := c.onlyKnows("organization", "project", "maxField"); err != nil {
		return nil, err
	}
	h := http.Header{}
	if v := c.Set["organization"]; v != "" {
		h.Set("OpenAI-Organization", v)
	}
	if v := c.Set["project"]; v != "" {
		h.Set("OpenAI-Project", v)
	}
	maps.Copy(h, c.Header)
	p := profile(c, k.Catalog)
	return openai.NewChat(k.Info.Name, openai.Options{
		APIKey: key, BaseURL: c.BaseURL, Info: k.Info, Header: h, Client: o.Client, Stall: o.Stall, Profile: &p, Query: c.Query,
	}), nil
}

// profile is how the provider's server differs, and how this model of it does.
func profile(c Custom, m *catalog.Model) openai.Profile {
	p := openai.ProfileOf(c.Profile)
	if m != nil && c.Profile == c.Name {
		if m.Compat.ReasoningContent {
			p.Reasoning, p.ReasoningAlways = "reasoning_content", true
		}
		if m.Compat.MaxField != "" {
			p.MaxField = m.Compat.MaxField
		}
	}
	if f := c.Set["maxField"]; f != "" {
		p.MaxField = f
	}
	return p
}

// onlyKnows checks the names of the provider's options.
func (c Custom) onlyKnows(names ...string) error {
	for _, name := range slices.Sorted(maps.Keys(c.Set)) {
		if !slices.Contains(names, name) {
			return fmt.Errorf("provider: providers.%s: the wire %s has no option %q: %s", c.Name, c.Wire, name, choices(name, names))
		}
	}
	return nil
}

func profileNames() []string { return slices.Sorted(maps.Keys(openai.Profiles())) }
