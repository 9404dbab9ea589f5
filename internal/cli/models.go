package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/cantle-dev/cantle/internal/app"
	"github.com/cantle-dev/cantle/internal/config"
	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/catalog"
	"github.com/cantle-dev/cantle/llm/provider"
)

// models is what the commands about models share.
type models struct {
	e      Env
	f      flags
	json   bool
	config *config.Config
	home   string
	opts   provider.Options
}

func newModels(e Env) *cobra.Command {
	m := &models{e: e}
	c := &cobra.Command{
		Use: "models [PROVIDER]", Short: "List providers, or the models of one; show and refresh what is known of them",
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := m.load(); err != nil {
				return err
			}
			if len(args) == 1 {
				return m.listModels(args[0])
			}
			return m.listProviders()
		},
	}
	fs := c.PersistentFlags()
	fs.BoolVar(&m.json, "json", false, "write JSON")
	fs.StringArrayVar(&m.f.set, "set", nil, "a setting, as key=value (again for more)")
	fs.StringVarP(&m.f.dir, "cd", "C", "", "work in this directory")
	c.AddCommand(newModelsShow(m), newModelsRefresh(m))
	return c
}

// app is what surrounds the program, for package app.
func (e Env) app(home string) app.Env {
	return app.Env{Home: home, User: e.User, Getenv: e.Getenv, Environ: e.Environ}
}

func (m *models) load() error {
	c, home, _, err := m.f.load(m.e)
	if err != nil {
		return err
	}
	m.config, m.home = c, home
	m.opts, err = app.ProviderOptions(c, m.e.app(home))
	return err
}

// table writes a head and rows: in columns at a terminal, and with tabs between
// the cells anywhere else.
func (m *models) table(head []string, rows [][]string) error {
	out := m.e.Out
	var w *tabwriter.Writer
	if m.e.OutTTY {
		w = tabwriter.NewWriter(m.e.Out, 0, 0, 2, ' ', 0)
		out = w
	}
	if len(rows) == 0 {
		return nil
	}
	for _, row := range append([][]string{head}, rows...) {
		for i, cell := range row {
			// What a server or a file calls itself must not draw.
			row[i] = strings.Join(strings.Fields(clean(cell)), " ")
		}
		if _, err := fmt.Fprintln(out, strings.Join(row, "\t")); err != nil {
			return err
		}
	}
	if w != nil {
		return w.Flush()
	}
	return nil
}

// providerInfo is a provider as --json shows it.
type providerInfo struct {
	Name      string     `json:"name"`
	Wire      string     `json:"wire,omitempty"`
	BaseURL   string     `json:"baseUrl,omitempty"`
	KeyEnv    []string   `json:"keyEnv,omitempty"`
	Key       string     `json:"key"` // "set", "missing", "none needed", "cloud credentials"
	Models    int        `json:"models"`
	Refreshed *time.Time `json:"refreshed,omitempty"`
	Error     string     `json:"error,omitempty"`
}

// roleInfo is a role as --json shows it.
type roleInfo struct {
	Name  string `json:"name"`            // default, fallback, route.cheap, route.frontier, route.judge
	Model string `json:"model,omitempty"` // as the settings name it
	From  string `json:"from,omitempty"`  // the settings that name it
	Error string `json:"error,omitempty"` // why it cannot be used
}

// roles are the models that the settings name, and what for.
func (m *models) roles() ([]roleInfo, error) {
	rs, err := app.Roles(m.config, m.e.app(m.home))
	out := make([]roleInfo, len(rs))
	for i, r := range rs {
		out[i] = roleInfo{Name: r.Name, Model: r.Model, From: r.From}
		if r.Err != nil {
			out[i].Error = r.Err.Error()
		}
	}
	return out, err
}

// names are the providers of the catalog and of the settings.
func (m *models) names() []string {
	names := map[string]bool{}
	for _, p := range catalog.Providers() {
		names[p.Name] = true
	}
	for n := range m.config.Providers {
		names[n] = true
	}
	return slices.Sorted(maps.Keys(names))
}

func (m *models) listProviders() error {
	var infos []providerInfo
	var rows [][]string
	for _, n := range m.names() {
		p, err := m.opts.Find(n)
		if err != nil {
			infos = append(infos, providerInfo{Name: n, Key: "unknown", Error: err.Error()})
			rows = append(rows, []string{n, "", "", err.Error()})
			continue
		}
		info := providerInfo{Name: n, Wire: p.Wire, BaseURL: p.BaseURL, KeyEnv: p.KeyEnv, Key: "none needed"}
		if cloud(p) != "" {
			info.Key = "cloud credentials"
		}
		switch from, err := m.opts.KeyFrom(p); {
		case err != nil:
			info.Key = "missing"
		case from != "":
			info.Key = "set"
		}
		known, listing, err := m.known(n, p)
		if err != nil {
			info.Error = err.Error()
		}
		info.Models = len(known)
		if listing != nil {
			info.Refreshed = &listing.Time
		}
		infos = append(infos, info)
		rows = append(rows, []string{n, strconv.Itoa(info.Models), keyState(m.opts, p), p.BaseURL})
	}
	roles, err := m.roles()
	if err != nil {
		return err
	}
	inUse, err := m.inUse()
	if m.json {
		wrong := ""
		if err != nil {
			wrong = err.Error()
		}
		return jsonLine(m.e.Out, struct {
			Model      string         `json:"model,omitempty"`
			ModelError string         `json:"modelError,omitempty"`
			Roles      []roleInfo     `json:"roles"`
			Providers  []providerInfo `json:"providers"`
		}{m.config.Model, wrong, roles, infos})
	}
	if err != nil {
		inUse = err.Error()
	}
	if err := m.table([]string{"PROVIDER", "MODELS", "KEY", "ADDRESS"}, rows); err != nil {
		return err
	}
	for _, i := range infos {
		if i.Error != "" {
			m.e.tell(fmt.Sprintf("%s: %s", i.Name, clean(i.Error)))
		}
	}
	m.e.tell(fmt.Sprintf("\nIn use: %s", clean(inUse)))
	for _, r := range roles {
		if r.Name == "default" { // the line above is about it
			continue
		}
		state := "ok"
		if r.Error != "" {
			state = r.Error
		}
		m.e.tell(fmt.Sprintf("  %s: %s", oneLine(strings.TrimSpace(r.Name+" "+r.Model)), oneLine(state)))
	}
	fmt.Fprintf(m.e.Err, "Name a model as provider:model, as the provider names it: anthropic:claude-opus-4-8, ollama:qwen3:4b.\n"+
		"cantle models PROVIDER lists its models; %s is a stand-in that needs no key.\n", app.DemoModel)
	return nil
}

// inUse says which model the settings name, or why it cannot be used.
func (m *models) inUse() (string, error) {
	switch ref := m.config.Model; {
	case ref == "":
		return "none; name one with -m, in CANTLE_MODEL, or as \"model\" in the settings", nil
	case app.IsDemo(m.config, ref):
		return app.DemoModel, nil
	}
	k, err := m.describe(m.config.Model, app.ModelCache(m.home))
	if err == nil {
		_, err = provider.Open(m.config.Model, m.opts)
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", m.config.Model, err)
	}
	return fmt.Sprintf("%s, window %d tokens (%s)", k.Ref, k.Info.Context, fromWords[k.ContextFrom]), nil
}

// known are the ids of the models that the catalog has, or the provider's kept
// list, in order.
func (m *models) known(name string, p provider.Custom) ([]string, *provider.Listing, error) {
	ids := map[string]bool{}
	if list, err := catalog.Models(name); err == nil {
		if usual, err := catalog.Named(name); err == nil && (usual.BaseURL == p.BaseURL || usual.Template()) {
			for _, c := range list {
				ids[c.ID] = true
			}
		}
	}
	for ref := range m.config.Models {
		if id, ok := strings.CutPrefix(ref, name+":"); ok {
			ids[id] = true
		}
	}
	listing, err := app.ModelCache(m.home).Load(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = nil
	case err == nil && listing.BaseURL != p.BaseURL:
		listing = nil
	case err == nil:
		for _, r := range listing.Models {
			ids[r.ID] = true
		}
	}
	return slices.Sorted(maps.Keys(ids)), listing, err
}

// describe is what is known of a model, with the settings over it. A cache that
// is shared reads each kept list once.
func (m *models) describe(ref string, cache *provider.Cache) (provider.Known, error) {
	po, err := app.ModelOptions(m.config, m.e.app(m.home), ref)
	if err != nil {
		return provider.Known{}, err
	}
	po.Reported = cache.Reported
	k, err := po.Describe(ref)
	if err != nil {
		return k, app.Usage("%w", err)
	}
	return k, nil
}

func (m *models) listModels(name string) error {
	p, err := m.opts.Find(name)
	if err != nil {
		return app.Usage("%w", err)
	}
	ids, listing, err := m.known(name, p)
	if err != nil {
		m.e.tell("cantle: " + clean(err.Error()))
	}
	cache := app.ModelCache(m.home)
	infos := []modelInfo{}
	var rows [][]string
	for _, id := range ids {
		k, err := m.describe(name+":"+id, cache)
		if err != nil {
			return err
		}
		infos = append(infos, infoOf(k))
		in, out := "n/a", "n/a"
		if p := k.Info.Price; p != nil {
			in, out = perMillion(p.Input), perMillion(p.Output)
		}
		rows = append(rows, []string{id, tokens(k.Info.Context), tokens(k.Info.Output), in, out, strings.Join(takes(k.Info), " ")})
	}
	if m.json {
		return jsonLine(m.e.Out, struct {
			Provider string      `json:"provider"`
			Models   []modelInfo `json:"models"`
		}{name, infos})
	}
	if err := m.table([]string{"MODEL", "WINDOW", "OUTPUT", "$/M IN", "$/M OUT", "TAKES"}, rows); err != nil {
		return err
	}
	switch {
	case len(rows) == 0:
		m.e.tell(fmt.Sprintf("No model of %s is known: cantle models refresh %s asks for them.", name, name))
	case listing != nil:
		m.e.tell(fmt.Sprintf("\nWith what %s said on %s.", name, listing.Time.Local().Format("2006-01-02 15:04")))
	}
	return nil
}

// tokens is a count for people; what is not known is n/a.
func tokens(n int) string {
	switch {
	case n == 0:
		return "n/a"
	case n >= 10_000:
		return strconv.Itoa(n/1000) + "k"
	}
	return strconv.Itoa(n)
}

// perMillion is a price a token in US dollars a million tokens, exactly.
func perMillion(m llm.Money) string {
	s := fmt.Sprintf("%d.%06d", m/1_000_000, m%1_000_000)
	s = strings.TrimRight(s, "0")
	if whole, fraction, _ := strings.Cut(s, "."); len(fraction) < 2 {
		return whole + "." + fraction + strings.Repeat("0", 2-len(fraction))
	}
	return s
}

// takes is what can be sent to a model, in words.
func takes(i llm.Info) []string {
	out := []string{"text"}
	for _, t := range []struct {
		is   bool
		word string
	}{{i.Traits.Images, "images"}, {i.Traits.PDF, "pdf"}, {!i.Traits.NoTools, "tools"}, {i.Traits.Thinking, "effort"}} {
		if t.is {
			out = append(out, t.word)
		}
	}
	return out
}

func keyState(po provider.Options, p provider.Custom) string {
	if !slices.Contains(provider.Wires(), p.Wire) {
		return "this version does not speak its wire, " + p.Wire
	}
	from, err := po.KeyFrom(p)
	switch {
	case err != nil:
		return "missing: set " + strings.Join(p.KeyEnv, " or ")
	case from == "" && cloud(p) != "":
		return "none: " + cloud(p)
	case from == "":
		return "none needed"
	case slices.Contains(p.KeyEnv, from):
		return from + " is set"
	case from == provider.FromCommand:
		return "from " + from
	}
	return "stored in the " + from
}

// cloud says which credentials a provider takes in the place of a key, or "". They
// are looked for when a model is asked.
func cloud(p provider.Custom) string {
	switch p.Wire {
	case "bedrock":
		return "the credentials of AWS"
	case "vertex":
		return "the application credentials of Google Cloud"
	}
	return ""
}
