package provider

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/anthropic"
	"github.com/cantle-dev/cantle/llm/bedrock"
	"github.com/cantle-dev/cantle/llm/catalog"
	"github.com/cantle-dev/cantle/llm/cohere"
	"github.com/cantle-dev/cantle/llm/gemini"
	"github.com/cantle-dev/cantle/llm/ollama"
	"github.com/cantle-dev/cantle/llm/openai"
)

// A speaker makes the models of a wire.
type speaker struct {
	build   func(Options, Known, string) (llm.Model, error)
	options []string // those of Custom.Set that it knows
	query   bool     // whether it takes Custom.Query
	styles  []string // those of llm.Traits.ThinkingStyle
	regions bool     // whether it makes the address of a region by itself
}

// speakers by wire.
var speakers = map[string]speaker{
	anthropic.Wire: {build: Options.anthropic, options: []string{"beta", "cache", "version"}, styles: []string{"adaptive", "budget"}},
	openai.WireChat: {
		build: Options.chat, options: []string{"cache", "maxField", "organization", "project"}, query: true,
		styles: []string{"enable_thinking", "enabled", "flat", "nested", "template", "thinking"},
	},
	openai.WireResponses: {build: Options.responses, options: []string{"cacheRetention", "organization", "project"}, query: true},
	gemini.Wire:          {build: Options.gemini, styles: []string{"budget", "level"}},
	wireVertex:           {build: Options.vertex, options: []string{"beta", "cache", "location", "project"}, styles: []string{"adaptive", "budget", "level"}, regions: true},
	bedrock.Wire: {
		build: Options.bedrock, options: []string{"beta", "cache", "family", "profile", "region"},
		styles: []string{"adaptive", "budget", "effort", "nova", "qwen"}, regions: true,
	},
	cohere.Wire: {build: Options.cohere},
	ollama.Wire: {build: Options.ollama, options: []string{"keepAlive", "numCtx"}, styles: []string{"levels", "switch"}},
}

// Wires are the wires that models can be opened on.
func Wires() []string { return slices.Sorted(maps.Keys(speakers)) }

// OptionNames are the options that a wire takes of [Custom].Set: "beta" are
// names between commas, "cache" is "off", "5m" or "1h", "cacheRetention" is
// "24h" or what else the provider takes, "keepAlive" is a time.
func OptionNames(wire string) []string { return slices.Clone(speakers[wire].options) }

// speak makes the model, after a look at what the user says of its provider.
func (o Options) speak(k Known, key string) (llm.Model, error) {
	c := k.Provider
	s := speakers[k.Info.Wire]
	for _, name := range slices.Sorted(maps.Keys(c.Set)) {
		if v := c.Set[name]; name == "cache" && (v == "5m" || v == "off") {
			continue // as the provider does, and no marks: so it is without the option
		}
		if !slices.Contains(s.options, name) {
			return nil, fmt.Errorf("provider: providers.%s: the wire %s has no option %q: %s", c.Name, k.Info.Wire, name, choices(name, s.options))
		}
	}
	if len(c.Query) > 0 && !s.query {
		return nil, fmt.Errorf("provider: providers.%s.query: the wire %s has no query", c.Name, k.Info.Wire)
	}
	for style := range strings.SplitSeq(k.Info.Traits.ThinkingStyle, "+") {
		if style == "" || slices.Contains(s.styles, style) || k.Catalog != nil && k.Info.Traits.ThinkingStyle == k.Catalog.Traits.ThinkingStyle {
			continue
		}
		return nil, fmt.Errorf("provider: models.%q: the wire %s has no thinkingStyle %q: %s", k.Ref, k.Info.Wire, style, choices(style, s.styles))
	}
	if t := k.Info.Traits; k.Info.Wire == bedrock.Wire && t.Thinking && t.ThinkingStyle == "" && k.bedrockStyle() == "" {
		return nil, fmt.Errorf("provider: models.%q: it thinks, and its name does not say how it is told to: set its thinkingStyle too: %s", k.Ref, choices("", s.styles))
	}
	switch v := c.Set["cache"]; v {
	case "", "off", "5m", "1h":
	default:
		return nil, fmt.Errorf("provider: providers.%s: cache is %q: there are off, 5m and 1h", c.Name, v)
	}
	if o.Stall == 0 && (c.Local || atHome(c.BaseURL)) {
		o.Stall = localStall
	}
	return s.build(o, k, key)
}

// localStall is how long a server at home may be silent: one that loads
// a model, or reads a long prompt without a GPU, says nothing meanwhile.
const localStall = 10 * time.Minute

// list is an option that is several names.
func (c Custom) list(option string) []string {
	var out []string
	for name := range strings.SplitSeq(c.Set[option], ",") {
		if name = strings.TrimSpace(name); name != "" {
			out = append(out, name)
		}
	}
	return out
}

// cache is the option of that name as adapters want it.
func (c Custom) cache() (none bool, ttl string) {
	switch v := c.Set["cache"]; v {
	case "off":
		return true, ""
	case "1h":
		return false, v
	}
	return false, ""
}

func (o Options) anthropic(k Known, key string) (llm.Model, error) {
	c := k.Provider
	none, ttl := c.cache()
	return anthropic.New(k.Info.Name, anthropic.Options{
		APIKey: key, BaseURL: c.BaseURL, Info: k.Info, Header: c.Header, Client: o.Client, Stall: o.Stall,
		Version: c.Set["version"], Beta: c.list("beta"), NoCache: none, CacheTTL: ttl,
	}), nil
}

func (o Options) chat(k Known, key string) (llm.Model, error) {
	return openai.NewChat(k.Info.Name, o.openai(k, key)), nil
}

func (o Options) responses(k Known, key string) (llm.Model, error) {
	opts := o.openai(k, key)
	opts.CacheRetention = k.Provider.Set["cacheRetention"]
	return openai.NewResponses(k.Info.Name, opts), nil
}

// openai are the options of both of OpenAI's wires.
func (o Options) openai(k Known, key string) openai.Options {
	c := k.Provider
	h := http.Header{}
	if v := c.Set["organization"]; v != "" {
		h.Set("OpenAI-Organization", v)
	}
	if v := c.Set["project"]; v != "" {
		h.Set("OpenAI-Project", v)
	}
	maps.Copy(h, c.Header)
	p := profile(c, k.Catalog)
	return openai.Options{
		APIKey: key, BaseURL: c.compatible(), Info: k.Info, Header: h, Client: o.Client, Stall: o.Stall, Profile: &p, Query: c.Query,
	}
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
		p.ToolSearch = p.ToolSearch && !m.Compat.NoToolSearch
	}
	switch c.Set["cache"] {
	case "":
		if m != nil && m.Compat.CacheControl {
			p.CacheMarks = "5m"
		}
	case "off":
	case "1h":
		p.CacheMarks = "1h"
	default:
		if !p.CacheKey { // a server that has it needs no marks
			p.CacheMarks = "5m"
		}
	}
	if f := c.Set["maxField"]; f != "" {
		p.MaxField = f
	}
	return p
}

func profileNames() []string { return slices.Sorted(maps.Keys(openai.Profiles())) }
