package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cantle-dev/cantle/internal/app"
	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/catalog"
	"github.com/cantle-dev/cantle/llm/provider"
)

// modelInfo is a model as --json shows it. What is not known is left out.
// Prices are in US dollars a million tokens.
type modelInfo struct {
	Ref         string       `json:"ref"`
	Name        string       `json:"name,omitempty"`
	Wire        string       `json:"wire"`
	Context     int          `json:"context"`
	ContextFrom catalog.From `json:"contextFrom"`
	MaxContext  int          `json:"maxContext,omitempty"`
	Output      int          `json:"output,omitempty"`
	OutputFrom  catalog.From `json:"outputFrom,omitempty"`
	Takes       []string     `json:"takes"`
	Price       *priceInfo   `json:"price,omitempty"`
	PriceFrom   catalog.From `json:"priceFrom,omitempty"`
	Traits      llm.Traits   `json:"traits"`
	Source      string       `json:"source,omitempty"`
	Disputed    string       `json:"disputed,omitempty"` // what another source says of the price
	Near        []string     `json:"near,omitempty"`
}

type priceInfo struct {
	Above        int64       `json:"above,omitempty"` // tokens of the prompt
	Input        float64     `json:"input"`
	Output       float64     `json:"output"`
	CacheRead    float64     `json:"cacheRead"`
	CacheWrite   float64     `json:"cacheWrite"`
	CacheWrite1h float64     `json:"cacheWrite1h"`
	Tiers        []priceInfo `json:"tiers,omitempty"`
}

func priceOf(p llm.Price, above int64) *priceInfo {
	million := func(m llm.Money) float64 { return float64(m) / 1e6 }
	out := &priceInfo{above, million(p.Input), million(p.Output), million(p.CacheRead), million(p.CacheWrite), million(p.CacheWrite1h), nil}
	for _, t := range p.Tiers {
		out.Tiers = append(out.Tiers, *priceOf(t.Price, t.Above))
	}
	return out
}

func infoOf(k provider.Known) modelInfo {
	i := modelInfo{
		Ref: k.Ref, Wire: k.Info.Wire, Context: k.Info.Context, ContextFrom: k.ContextFrom, Output: k.Info.Output, OutputFrom: k.OutputFrom,
		Takes: takes(k.Info), PriceFrom: k.PriceFrom, Traits: k.Info.Traits, Near: k.Near,
	}
	if k.Info.Price != nil {
		i.Price = priceOf(*k.Info.Price, 0)
	}
	if k.Report != nil {
		i.Name, i.MaxContext = k.Report.Name, k.Report.Max
	}
	if k.Catalog != nil {
		i.Name, i.Source = k.Catalog.Name, k.Catalog.Source
		if k.PriceFrom == catalog.FromCatalog {
			i.Disputed = k.Catalog.Disputed
		}
	}
	return i
}

func newModelsShow(m *models) *cobra.Command {
	return &cobra.Command{
		Use: "show MODEL", Short: "Show what is known of a model, and where it is from", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := m.load(); err != nil {
				return err
			}
			if app.IsDemo(m.config, args[0]) {
				return app.Usage("%s is a stand-in that only plays a model: there is nothing to show", app.DemoModel)
			}
			k, err := m.describe(args[0], app.ModelCache(m.home))
			if err != nil {
				return err
			}
			if m.json {
				return jsonLine(m.e.Out, infoOf(k))
			}
			return m.show(k)
		},
	}
}

// fromWords says where a fact is from.
var fromWords = map[catalog.From]string{
	catalog.FromSettings: "from your settings", catalog.FromProvider: "the provider says so", catalog.FromCatalog: "from the catalog",
	catalog.FromDefault: "assumed: nothing is known",
}

func (m *models) show(k provider.Known) error {
	i := infoOf(k)
	rows := [][]string{{"model", k.Ref}}
	add := func(name, value string, from catalog.From) {
		if words := fromWords[from]; words != "" {
			value += " (" + words + ")"
		}
		rows = append(rows, []string{name, value})
	}
	if i.Name != "" {
		add("name", i.Name, "")
	}
	add("wire", i.Wire, "")
	add("address", k.Provider.BaseURL, "")
	add("key", keyState(m.opts, k.Provider), "")
	add("window", fmt.Sprintf("%d tokens", i.Context), i.ContextFrom)
	if i.MaxContext > i.Context {
		add("made for", fmt.Sprintf("%d tokens; the server gives it less, or does not say", i.MaxContext), "")
	}
	output := "n/a"
	if i.Output > 0 {
		output = fmt.Sprintf("%d tokens", i.Output)
	}
	add("output", output, i.OutputFrom)
	add("takes", strings.Join(i.Takes, ", "), "")
	switch p := k.Info.Price; {
	case p == nil:
		add("price", "n/a: its runs are shown without a cost, until models."+fmt.Sprintf("%q", k.Ref)+".price is set", "")
	case p.Free():
		add("price", "free", k.PriceFrom)
	default:
		add("price", "US dollars a million tokens", k.PriceFrom)
		line := func(p llm.Price) string {
			s := fmt.Sprintf("input %s, output %s, cache read %s, cache write %s", perMillion(p.Input), perMillion(p.Output), perMillion(p.CacheRead), perMillion(p.CacheWrite))
			if p.CacheWrite1h != p.CacheWrite {
				s += ", for an hour " + perMillion(p.CacheWrite1h)
			}
			return s
		}
		add("", line(*p), "")
		for _, t := range p.Tiers {
			add("", fmt.Sprintf("prompts above %d tokens: %s", t.Above, line(t.Price)), "")
		}
	}
	if i.Disputed != "" {
		add("disputed", "another source: "+i.Disputed, "")
	}
	if i.Source != "" {
		add("source", i.Source, "")
	}
	if err := m.table([]string{"WHAT", "VALUE"}, rows); err != nil {
		return err
	}
	if k.Catalog == nil && k.Report == nil {
		note := "The catalog does not have it; that need not mean that the provider does not."
		if len(i.Near) > 0 {
			note += " The nearest: " + strings.Join(i.Near, ", ") + "."
		}
		m.e.tell(clean(note))
	}
	return nil
}
