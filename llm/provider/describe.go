package provider

import (
	"errors"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/bedrock"
	"github.com/cantle-dev/cantle/llm/catalog"
	"github.com/cantle-dev/cantle/llm/ollama"
	"github.com/cantle-dev/cantle/llm/openai"
)

// Known is what is known of a model, and where it is from.
type Known struct {
	Ref      string // provider:model, with aliases resolved
	Info     llm.Info
	Provider Custom
	// Catalog is the catalog's entry and Report what the provider said of the
	// model; nil if there is none.
	Catalog *catalog.Model
	Report  *Report
	// Near are the models of the catalog with the likest names, where it does
	// not have this one.
	Near []string

	// Salvage says that the model is known to write tool calls into its text, on
	// servers as this one: see [catalog.WritesCalls].
	Salvage bool

	ContextFrom catalog.From
	OutputFrom  catalog.From // "" if it is unknown, as of the price
	PriceFrom   catalog.From
}

// Describe says what is known of a model, in the order settings, provider,
// catalog, assumption. It needs no key and no network, and opens nothing.
func (o Options) Describe(ref string) (Known, error) {
	full, name, model, err := o.Resolve(ref)
	if err != nil {
		return Known{}, err
	}
	c, err := o.Find(name)
	if err != nil {
		return Known{}, err
	}
	usual, unknown := catalog.Named(name)
	// What a model is goes with its name, also through a gateway; what it costs
	// and on which of its provider's wires it is served there does not.
	same := unknown == nil && (c.BaseURL == usual.BaseURL || Custom{Provider: usual}.mayHaveKey(c.BaseURL))
	k := Known{Ref: full, Provider: c, Info: llm.Info{Provider: name, Name: model, Wire: c.Wire, Output: c.Output, Traits: c.Traits}}
	context := c.Context
	if m, err := catalog.Lookup(name, model); err == nil {
		if !same {
			m.Price, m.Disputed = nil, ""
		}
		k.Catalog = &m
		k.Info, context = m.Info(), m.Context
		k.Info.Name = model // the dated name, where the entry has none
		if m.Wire == usual.Wire || c.wired || !same {
			k.Info.Wire = c.Wire
		}
		k.rewire(m.Wire)
		k.PriceFrom = fromIf(m.Price != nil, catalog.FromCatalog)
	} else {
		var e *catalog.UnknownError
		if errors.As(err, &e) && e.Model != "" {
			k.Near = e.Near
		}
		usual.Host(model, &k.Info)
	}
	if !same {
		k.Info.Traits.Hosted = c.Traits.Hosted // the catalog's are the provider's, not the model's
	}
	k.OutputFrom = fromIf(k.Info.Output > 0 && k.Catalog != nil, catalog.FromCatalog)
	reported := 0
	if o.Reported != nil {
		if r, ok := o.Reported(name, c.BaseURL, model); ok {
			k.Report, reported = &r, r.Context
			r.apply(&k)
		}
	}
	hosted := c.List == "ollama" && ollama.Hosted(c.BaseURL, model) // whatever server passes it on
	k.Info.Context, k.ContextFrom = catalog.Window(0, reported, context, !hosted && (c.Local || unknown != nil && atHome(c.BaseURL)))
	if k.ContextFrom == catalog.FromCatalog && k.Catalog == nil {
		k.ContextFrom = catalog.FromDefault // it is of the provider, not of the model
	}
	if c.Local && !hosted && k.Info.Price == nil {
		k.Info.Price, k.PriceFrom = &llm.Price{}, catalog.FromCatalog
	}
	n, err := c.numCtx()
	if err != nil {
		return Known{}, err
	}
	if n > 0 && !hosted {
		k.Info.Context, k.ContextFrom = n, catalog.FromSettings
	}
	// A profile says whose server it is as which this one is spoken to.
	if like, err := catalog.Named(c.Profile); err == nil && like.Local && !hosted {
		k.Salvage = catalog.WritesCalls(model) != ""
	}
	k.settle(false)
	if o.Change != nil {
		was := k.Info
		o.Change(&k.Info)
		if k.Info.Context != was.Context {
			k.ContextFrom = catalog.FromSettings
		}
		if k.Info.Output != was.Output {
			k.OutputFrom = catalog.FromSettings
		}
		if k.Info.Price != was.Price {
			k.PriceFrom = catalog.FromSettings
		}
	}
	k.settle(true)
	return k, nil
}

// rewire takes away how the model is told to think on the wire that the catalog
// has it on, where it is spoken to on another that has no such way. OpenAI's two
// have the same words.
func (k *Known) rewire(from string) {
	openAI := func(wire string) bool { return wire == openai.WireChat || wire == openai.WireResponses }
	if k.Info.Wire == from || openAI(k.Info.Wire) && openAI(from) {
		return
	}
	k.Info.Traits.ThinkingStyle, k.Info.Traits.Efforts = "", nil
}

// settle says how a model is told to think where nothing says so and its
// adapter has no way of its own. A model that thinks, and of which no more is
// known, has no effort that could be set; of one that the user says it of
// (told), or whose words are known, it is tried as most servers take it: an
// adapter leaves out what is refused.
func (k *Known) settle(told bool) {
	t := &k.Info.Traits
	if !t.Thinking || t.ThinkingStyle != "" {
		return
	}
	switch k.Info.Wire {
	case openai.WireChat:
		switch {
		case openai.ProfileOf(k.Provider.Profile).Effort != "":
		case told || len(t.Efforts) > 0:
			t.ThinkingStyle = "flat"
		default:
			t.Thinking = false
		}
	case bedrock.Wire:
		// What the user says without the style is an error where it is opened.
		t.Thinking = told || k.bedrockStyle() != ""
	}
}

func (k *Known) bedrockStyle() string {
	if f := k.Provider.Set["family"]; f != "" {
		return bedrock.Style(f)
	}
	return bedrock.Style(k.Info.Name)
}

// apply lays what the provider said over what the catalog says.
func (r Report) apply(k *Known) {
	if r.Output > 0 {
		k.Info.Output, k.OutputFrom = r.Output, catalog.FromProvider
	}
	if r.Price != nil && !sameRates(r.Price, k.Info.Price) {
		price := *r.Price
		if k.Info.Price != nil && price.Search == 0 {
			price.Search = k.Info.Price.Search // of which lists say nothing
		}
		k.Info.Price, k.PriceFrom = &price, catalog.FromProvider
	}
	if r.Images != nil {
		k.Info.Traits.Images = *r.Images
	}
	if r.Tools != nil {
		k.Info.Traits.NoTools = !*r.Tools
	}
	if r.Thinking != nil {
		k.Info.Traits.Thinking = *r.Thinking
	}
}

func fromIf(known bool, from catalog.From) catalog.From {
	if known {
		return from
	}
	return ""
}

// sameRates reports whether the price is b but for what b knows of long
// prompts, of which lists of models say nothing.
func sameRates(a, b *llm.Price) bool {
	return b != nil && a.Input == b.Input && a.Output == b.Output && a.CacheRead == b.CacheRead
}
