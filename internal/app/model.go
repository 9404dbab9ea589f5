package app

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
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

// An opener opens models as the settings say.
type opener struct {
	c    *config.Config
	e    Env
	base provider.Options
}

func newOpener(c *config.Config, e Env) (*opener, error) {
	d, err := stall(c)
	if err != nil {
		return nil, err
	}
	op := &opener{c, e, provider.Options{
		Getenv: e.Getenv, Stall: d, Aliases: c.Aliases, Keys: kept{Keys(e), e.held}, Reported: ModelCache(e.Home).Reported,
	}}
	for _, name := range slices.Sorted(maps.Keys(c.Providers)) {
		op.base.Providers = append(op.base.Providers, op.custom(name, c.Providers[name]))
	}
	return op, nil
}

// custom is a provider as the settings describe it.
func (op *opener) custom(name string, p config.Provider) provider.Custom {
	cu := provider.Custom{
		Provider: catalog.Provider{Name: name, Wire: p.Wire, BaseURL: p.BaseURL}, Profile: p.Profile,
		Query: url.Values{}, Header: http.Header{}, Set: maps.Clone(p.Options), KeyCommand: keyCommand(name, p.APIKeyCommand, op.e),
	}
	if p.APIKeyEnv != "" {
		cu.KeyEnv = []string{p.APIKeyEnv}
	}
	expand := func(group, key, text string) string {
		out, missing := config.Expand(text, op.e.Getenv)
		if len(missing) > 0 && cu.Err == nil {
			at := "providers." + name
			e := op.c.Wrong(at, "", group+"."+key+": the variable "+missing[0]+" is not set")
			e.Key = at
			cu.Err = e
		}
		return out
	}
	for _, k := range slices.Sorted(maps.Keys(p.Query)) {
		cu.Query.Set(k, expand("query", k, p.Query[k]))
	}
	for _, k := range slices.Sorted(maps.Keys(p.Headers)) {
		cu.Header.Set(k, expand("headers", k, p.Headers[k]))
	}
	if cu.Set == nil {
		cu.Set = map[string]string{}
	}
	for _, s := range []struct{ option, value string }{
		{"cache", string(p.PromptCache)}, {"keepAlive", p.KeepAlive}, {"project", p.Project}, {"location", p.Location}, {"region", p.Region},
	} {
		if s.value != "" {
			cu.Set[s.option] = s.value
		}
	}
	if p.NumCtx > 0 {
		cu.Set["numCtx"] = strconv.Itoa(p.NumCtx)
	}
	wire := p.Wire
	if known, err := catalog.Named(name); err == nil && wire == "" {
		wire = known.Wire
	}
	if wire == "bedrock" && p.Profile != "" {
		cu.Set["profile"], cu.Profile = p.Profile, ""
	}
	return cu
}

// options are those to open or to describe the model ref with: what its
// provider said of it when it was last asked, and over it all what the settings
// say.
func (op *opener) options(ref string) (provider.Options, error) {
	po, c := op.base, op.c
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

// open opens a model, with what makes it dependable around it.
func (op *opener) open(ref string) (llm.Model, error) {
	m, _, err := op.openKnown(ref)
	return m, err
}

// openKnown is open, and says what is known of the model.
func (op *opener) openKnown(ref string) (llm.Model, provider.Known, error) {
	if IsDemo(op.c, ref) {
		d := op.base.Stall
		if d == 0 {
			d = defaultStall
		}
		m := demo.New("offline")
		return wrap.Watchdog(m, d), provider.Known{Ref: DemoModel, Info: m.Info(), ContextFrom: catalog.FromCatalog}, nil
	}
	po, err := op.options(ref)
	if err != nil {
		return nil, provider.Known{}, err
	}
	m, k, err := provider.OpenKnown(ref, po)
	if err != nil {
		return nil, k, err
	}
	if op.c.User != "" {
		m = &named{m, op.c.User}
	}
	leaks := k.Salvage
	if own := op.c.Models[k.Ref].Salvage; own != nil {
		leaks = *own
	}
	if leaks {
		m = wrap.Salvage(m)
	}
	m, err = op.retry(m)
	return m, k, err
}

// IsDemo reports whether ref, which may be an alias, is [DemoModel].
func IsDemo(c *config.Config, ref string) bool {
	full, err := catalog.Aliases(c.Aliases).Resolve(ref)
	return err == nil && full == DemoModel // what is wrong with it is told when it is opened
}

// check is the error that open would return, without asking for a key.
func (op *opener) check(ref string) error {
	if IsDemo(op.c, ref) {
		return nil
	}
	po, err := op.options(ref)
	if err == nil {
		err = po.Check(ref)
	}
	return err
}

// named is a model whose provider is told who uses it.
type named struct {
	llm.Model
	user string
}

// Unwrap returns the model inside.
func (n *named) Unwrap() llm.Model { return n.Model }

// Stream is [llm.Model].Stream.
func (n *named) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	if req.User == "" {
		r := *req
		r.User = n.user
		req = &r
	}
	return n.Model.Stream(ctx, req)
}

// assumed says what is not known of a model and matters to a run.
func assumed(k provider.Known) []string {
	if k.ContextFrom != catalog.FromDefault {
		return nil
	}
	note := fmt.Sprintf("nothing is known of %s: a window of %d tokens is assumed; models.%q.context says another", k.Ref, k.Info.Context, k.Ref)
	if k.Report == nil && k.Provider.List != "none" {
		note += ", and cantle models refresh " + k.Provider.Name + " asks for it"
	}
	if len(k.Near) > 0 {
		note += "; the nearest names are " + strings.Join(k.Near, ", ")
	}
	return []string{note}
}

// retry adds the retries that the settings want.
func (op *opener) retry(m llm.Model) (llm.Model, error) {
	r, most := op.c.Retry, 3
	if r.Max != nil {
		most = *r.Max
	}
	if own := op.c.Providers[m.Info().Provider].MaxRetries; own != nil {
		most = *own
	}
	if most == 0 {
		return m, nil
	}
	wait, err := config.Duration("retry.wait", r.Wait)
	if err != nil {
		return nil, Usage("%w", err)
	}
	longest, err := config.Duration("retry.maxWait", r.MaxWait)
	if err != nil {
		return nil, Usage("%w", err)
	}
	return wrap.Retry(m, wrap.RetryOptions{Attempts: most + 1, Wait: wait, Cap: longest}), nil
}

// problem is what is wrong with a model that a setting names.
func (o Options) problem(key, item string, err error) error {
	var e *config.Error
	switch {
	case errors.As(err, &e), errors.Is(err, ErrUsage):
		return err
	case errors.Is(err, provider.ErrNoKey) && key != "model":
		return Usage("%s: %w", key, err)
	case errors.Is(err, provider.ErrNoKey):
		return Usage("%w; or try %s, which needs none", err, DemoModel)
	}
	return o.Config.Wrong(key, item, err.Error())
}

// ProviderOptions are the providers of the catalog and of the settings.
func ProviderOptions(c *config.Config, e Env) (provider.Options, error) {
	op, err := newOpener(c, e)
	if err != nil {
		return provider.Options{}, err
	}
	return op.base, nil
}

// ModelOptions are the options to open, or to describe, the model ref with.
func ModelOptions(c *config.Config, e Env, ref string) (provider.Options, error) {
	op, err := newOpener(c, e)
	if err != nil {
		return provider.Options{}, err
	}
	return op.options(ref)
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
		{&i.Traits.NoTools, m.NoTools},
	} {
		if f.from != nil {
			*f.to = *f.from
		}
	}
	if m.ThinkingStyle != "" {
		i.Traits.ThinkingStyle = m.ThinkingStyle
	}
	if len(m.Efforts) > 0 {
		words := maps.Clone(i.Traits.Efforts)
		if words == nil {
			words = map[llm.Effort]string{}
		}
		maps.Copy(words, m.Efforts)
		i.Traits.Efforts = words
	}
	if m.MinCache != nil {
		i.Traits.MinCache = *m.MinCache
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

// temperature is that of the settings; nil is the model's own.
func (o Options) temperature() (*float64, error) {
	n := o.Config.Temperature
	if n == nil {
		return nil, nil
	}
	f, err := n.Float64()
	if err != nil {
		return nil, Usage("temperature: %w", err)
	}
	return &f, nil
}
