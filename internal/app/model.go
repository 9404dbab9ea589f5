package app

import (
	"errors"
	"net/url"
	"path/filepath"
	"time"

	"github.com/cantle-dev/cantle/internal/config"
	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/catalog"
	"github.com/cantle-dev/cantle/llm/demo"
	"github.com/cantle-dev/cantle/llm/provider"
	"github.com/cantle-dev/cantle/llm/wrap"
)

// DemoModel is the stand-in that needs no key and no network.
const DemoModel = "demo:offline"

// model opens the model that the settings name.
func (o Options) model() (llm.Model, error) {
	ref := o.Config.Model
	switch ref {
	case "":
		return nil, Usage("no model is configured: name one with -m provider:model, in CANTLE_MODEL, or as \"model\" in %s/settings.json; %s needs no key", o.Home, DemoModel)
	case DemoModel:
		d, err := stall(o.Config)
		if err != nil {
			return nil, err
		}
		if d == 0 {
			d = defaultStall
		}
		return wrap.Watchdog(demo.New("offline"), d), nil
	}
	po, err := ModelOptions(o.Config, o.Home, o.Getenv, ref)
	if err != nil {
		return nil, err
	}
	m, err := provider.Open(ref, po)
	if err != nil {
		if errors.Is(err, provider.ErrNoKey) {
			return nil, Usage("%w, or try %s, which needs none", err, DemoModel)
		}
		return nil, o.Config.Wrong("model", "", err.Error())
	}
	return wrap.Retry(m, wrap.RetryOptions{}), nil
}

// ProviderOptions are the providers of the catalog and of the settings.
func ProviderOptions(c *config.Config, getenv func(string) string) (provider.Options, error) {
	d, err := stall(c)
	if err != nil {
		return provider.Options{}, err
	}
	po := provider.Options{Getenv: getenv, Stall: d}
	for name, p := range c.Providers {
		cu := provider.Custom{Provider: catalog.Provider{Name: name, Wire: p.Wire, BaseURL: p.BaseURL}, Profile: p.Profile, Query: url.Values{}}
		if p.APIKeyEnv != "" {
			cu.KeyEnv = []string{p.APIKeyEnv}
		}
		for k, v := range p.Query {
			cu.Query.Set(k, v)
		}
		po.Providers = append(po.Providers, cu)
	}
	return po, nil
}

// ModelOptions are the options to open, or to describe, the model ref with:
// its providers, what they said of their models when they were last asked, and
// over it all what the settings say.
func ModelOptions(c *config.Config, home string, getenv func(string) string, ref string) (provider.Options, error) {
	po, err := ProviderOptions(c, getenv)
	if err != nil {
		return po, err
	}
	po.Reported = ModelCache(home).Reported
	if full, _, _, err := po.Resolve(ref); err == nil { // what is wrong with it is told when it is opened
		ref = full
	}
	own := c.Models[ref]
	if own.Price == nil {
		// A table of prices may name a family; an entry counts as a whole.
		priced := map[string]config.Model{}
		for name, m := range c.Models {
			if m.Price != nil {
				priced[name] = m
			}
		}
		_, family, _ := catalog.Match(priced, ref)
		own.Price = family.Price
	}
	if n := c.MaxContextTokens; n > 0 {
		own.Context = n
	}
	if err := override(&llm.Info{}, own); err != nil {
		return po, Usage("models.%q: %w", ref, err)
	}
	po.Change = func(i *llm.Info) { _ = override(i, own) } // it was tried
	return po, nil
}

// ModelCache is where lists of models are kept.
func ModelCache(home string) *provider.Cache {
	return &provider.Cache{Dir: filepath.Join(home, "cache", "models")}
}

// defaultStall is how long a model may be silent. A model on a wire watches the
// bytes of its connection by itself, keep-alives among them; one on none is
// watched by what it says.
const defaultStall = 90 * time.Second

// stall is the silence that ends a request: 0 is the default, and less than 0
// is none.
func stall(c *config.Config) (time.Duration, error) {
	d, err := config.Duration("stallTimeout", c.StallTimeout)
	if err != nil {
		return 0, Usage("%w", err)
	}
	if d <= 0 && c.StallTimeout != "" {
		d = -1
	}
	return d, nil
}

// override lays what the settings say of a model over what is assumed.
func override(i *llm.Info, m config.Model) error {
	if m.Context > 0 {
		i.Context = m.Context
	}
	if m.Output > 0 {
		i.Output = m.Output
	}
	for _, f := range []struct{ to, from *bool }{
		{&i.Traits.Images, m.Images},
		{&i.Traits.PDF, m.PDF},
		{&i.Traits.Thinking, m.Thinking},
		{&i.Traits.Schema, m.Schema},
		{&i.Traits.NoTemperature, m.NoTemperature},
	} {
		if f.from != nil {
			*f.to = *f.from
		}
	}
	if m.Price != nil {
		p, err := m.Price.Price()
		if err != nil {
			return err
		}
		i.Price = p
	}
	return nil
}
