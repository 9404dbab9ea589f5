// Package provider opens a model by its name, "provider:model": it joins what
// the catalog knows, the adapter of the wire, and the key.
//
//	m, err := provider.Open("anthropic:claude-opus-4-8", provider.Options{Getenv: os.Getenv})
//	if err != nil {
//		return err
//	}
//	fmt.Println(m.Info().Context)
//
// [Options.Describe] says what is known of a model without a key and without
// a network, and where each fact is from. [Options.List] asks a provider for
// the models that it has, and [Cache] keeps the answer for later runs.
package provider

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"time"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/catalog"
	"github.com/cantle-dev/cantle/llm/openai"
)

// Options say how to open a model. The zero value opens what needs no key.
type Options struct {
	// APIKey is the key for whatever is opened or, with APIKeyFor, for the models
	// of that provider alone; it goes before any other.
	APIKey    string
	APIKeyFor string
	// Keys has keys that are kept elsewhere than in variables, which go before
	// them; nil: none.
	Keys Keys
	// Getenv looks a key's variable up, as [os.Getenv] does. It is asked for
	// no other. With nil there is no environment.
	Getenv func(string) string
	// Providers add to the catalog, or replace what is in it.
	Providers []Custom
	// Aliases are the user's own names for models.
	Aliases catalog.Aliases
	// Reported says what a provider said of a model when it was last asked:
	// see [Cache.Reported]. It goes before the catalog.
	Reported func(provider, baseURL, model string) (Report, bool)
	// Change may change what is assumed of the model: the user's settings go
	// before everything.
	Change func(*llm.Info)
	Client *http.Client // nil: one shared by all
	// Stall is the silence that ends a request: 0 is 90 seconds, and 10 minutes
	// for servers on this machine and its network; negative is never.
	Stall time.Duration
}

// Custom is a provider that the user describes. What is left out is as in the
// catalog, if it is there.
type Custom struct {
	catalog.Provider
	Profile string // as whose compatible server: a provider's name
	Query   url.Values
	Header  http.Header // sent with every request
	// KeyCommand gets the key where no variable has it.
	KeyCommand func() (string, error)
	// Set are options of the wire, by name, as [OptionNames] lists them.
	// Another name is an error.
	Set map[string]string

	// Err is why the provider cannot be used, for Open and List to return.
	Err error

	elsewhere bool // another server than the one that the name is of
	wired     bool // the wire is the user's
}

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

// Resolve is the "provider:model" that ref stands for, and its parts. A bare
// name that providers of the catalog have is an error that names them.
func (o Options) Resolve(ref string) (full, provider, model string, err error) {
	full, err = o.Aliases.Resolve(ref)
	if err != nil {
		return "", "", "", fmt.Errorf("provider: %w", err)
	}
	provider, model, err = Split(full)
	if err == nil {
		return full, provider, model, nil
	}
	if near := catalog.Nearest(ref, o.Aliases.Names(), 1); len(near) > 0 && full == ref {
		return "", "", "", fmt.Errorf("%w; or did you mean the alias %s?", err, near[0])
	}
	if full != "" && !strings.Contains(full, ":") {
		var with []string
		for _, p := range catalog.Providers() {
			if m, lookup := catalog.Lookup(p.Name, full); lookup == nil && len(with) < 3 {
				with = append(with, p.Name+":"+m.ID)
			}
		}
		if len(with) > 0 {
			return "", "", "", fmt.Errorf("%w; here perhaps %s", err, strings.Join(with, ", "))
		}
	}
	return "", "", "", err
}

// standIn is the name under which the program has a model that only plays one.
const standIn = "demo"

// Find returns what is known of a provider.
func (o Options) Find(name string) (Custom, error) {
	known, unknown := catalog.Named(name)
	out := Custom{Provider: known, Profile: name}
	names := []string{standIn}
	for _, c := range o.Providers {
		names = append(names, c.Name)
		if c.Name != name {
			continue
		}
		out = c.over(out)
		unknown = nil
	}
	switch {
	case unknown == nil:
	case name == standIn:
		return out, fmt.Errorf("provider: %w %q: it is the stand-in of the program cantle, which makes it itself and opens it before any other; in a program of your own, llm/demo.New makes it, and llm/llmtest.New a model with a script", ErrUnknown, name)
	default:
		for _, p := range catalog.Providers() {
			names = append(names, p.Name)
		}
		hint := "there are " + strings.Join(names, ", ")
		if near := catalog.Nearest(name, names, 3); len(near) > 0 {
			hint = "did you mean " + strings.Join(near, " or ") + "?"
		}
		return out, fmt.Errorf("provider: %w %q: %s; any other needs a baseUrl in the settings, under providers.%s", ErrUnknown, name, hint, name)
	}
	switch {
	case out.BaseURL == "":
		return out, fmt.Errorf("provider: providers.%s has no baseUrl", name)
	case out.Wire == "":
		out.Wire = openai.WireChat
	}
	if out.Profile != name && (out.Wire == openai.WireChat || out.Wire == openai.WireResponses) {
		if _, ok := openai.Profiles()[out.Profile]; !ok {
			return out, fmt.Errorf("provider: providers.%s.profile: there is no profile %q: %s", name, out.Profile, choices(out.Profile, profileNames()))
		}
	}
	return out, nil
}

// over lays what the user says over what is known.
func (c Custom) over(known Custom) Custom {
	out := known
	out.Name = c.Name
	if c.BaseURL != "" && c.BaseURL != known.BaseURL {
		out.BaseURL = c.BaseURL
		if !known.mayHaveKey(c.BaseURL) {
			// Another server: the key of the first must not go to it, and it
			// may cost money.
			out.KeyEnv, out.elsewhere = nil, known.BaseURL != ""
			out.Local = known.Local && atHome(c.BaseURL)
			if known.Wire == openai.WireResponses {
				out.Wire = openai.WireChat // which compatible servers all speak
			}
		}
	}
	if c.Wire != "" {
		out.Wire, out.wired = c.Wire, true
	}
	if len(c.KeyEnv) > 0 {
		out.KeyEnv = c.KeyEnv
	}
	if c.Profile != "" {
		out.Profile = c.Profile
		if like, err := catalog.Named(c.Profile); err == nil {
			out.List, out.Local = like.List, like.Local && atHome(out.BaseURL)
		}
	}
	if c.Local {
		out.Local = true
	}
	if !reflect.ValueOf(c.Traits).IsZero() {
		out.Traits = c.Traits
	}
	if c.List != "" {
		out.List = c.List
	}
	if c.Context > 0 {
		out.Context = c.Context
	}
	if c.Output > 0 {
		out.Output = c.Output
	}
	out.Query, out.Header, out.Set, out.KeyCommand = c.Query, c.Header, c.Set, c.KeyCommand
	out.Err = c.Err
	return out
}

// Open makes the model that ref names, by "provider:model" or by an alias. It
// opens no connection.
func Open(ref string, o Options) (llm.Model, error) {
	m, _, err := OpenKnown(ref, o)
	return m, err
}

// OpenKnown is [Open], and says what is known of the model.
func OpenKnown(ref string, o Options) (llm.Model, Known, error) {
	k, err := o.ready(ref)
	if err != nil {
		return nil, k, err
	}
	key, _, err := o.Key(k.Provider)
	if err != nil {
		return nil, k, err
	}
	m, err := o.speak(k, key)
	return m, k, err
}

// Check returns the error that [Open] would, without asking for the key.
func (o Options) Check(ref string) error {
	k, err := o.ready(ref)
	if err != nil {
		return err
	}
	if _, err := o.KeyFrom(k.Provider); err != nil {
		return err
	}
	_, err = o.speak(k, "")
	return err
}

// ready describes a model that can be spoken to, but for its key.
func (o Options) ready(ref string) (Known, error) {
	k, err := o.Describe(ref)
	if err != nil {
		return k, err
	}
	c := k.Provider
	s, ok := speakers[k.Info.Wire]
	if !ok {
		return k, fmt.Errorf("provider: %s is served on the wire %q, which this version does not speak: %s", k.Info.Ref(), k.Info.Wire, choices(k.Info.Wire, Wires()))
	}
	if c.Template() && !s.regions {
		return k, fmt.Errorf("provider: %s has an address of its own for everyone: set providers.%s.baseUrl to %s", c.Name, c.Name, c.BaseURL)
	}
	return k, c.Err
}
