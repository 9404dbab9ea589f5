// Package catalog holds what is known of providers and of their models, as
// embedded data: the wire, the address and the variable with the key; the
// context window, the most output, what a model takes, and what it costs.
//
//	m, err := catalog.Lookup("anthropic", "claude-opus-4-8")
//	if err != nil {
//		return err
//	}
//	if m.Price != nil {
//		fmt.Println(m.Context, m.Price.Input)
//	}
//
// What is not known is said to be unknown: a window of 0, a nil price. Only
// a local server costs nothing.
//
// The data of a provider is decoded when it is asked for and at no other time,
// so that importing the package costs nothing. All functions are safe for
// concurrent use. The data is made by internal/gen/catalog; data/NOTICE names
// its sources and their licences.
package catalog

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/cantle-dev/cantle/llm"
)

// Provider is what is known of a provider.
type Provider struct {
	Name    string   `json:"name"`
	Wire    string   `json:"wire"`             // "anthropic", "openai-chat", "bedrock", "vertex"
	BaseURL string   `json:"baseUrl"`          // with {braces} around what the user must fill in
	KeyEnv  []string `json:"keyEnv,omitempty"` // the first that is set counts; none: keyless
	// KeyOptional says that there are other ways than a key to be known to the
	// provider, as the credentials of a cloud.
	KeyOptional bool `json:"keyOptional,omitempty"`
	// KeyHosts are hosts that the key in KeyEnv may go to beside the host of
	// BaseURL. They are whole names, in which {braces} are one part.
	KeyHosts []string `json:"keyHosts,omitempty"`
	// Local servers cost nothing.
	Local bool `json:"local,omitempty"`
	// List is how the provider lists its models: "" as OpenAI does, at
	// /models; "anthropic", "ollama", "lmstudio", "llamacpp"; "none" not.
	List string `json:"list,omitempty"`
	// Traits, Context and Output are what is assumed of a model of the
	// provider's that is not in the catalog.
	Traits  llm.Traits `json:"traits,omitzero"`
	Context int        `json:"context,omitempty"`
	Output  int        `json:"output,omitempty"`
	// Hosted are the tools that the provider runs for its models.
	Hosted []Hosted `json:"hosted,omitempty"`
}

// Hosted is a tool that a provider runs itself, and for which models. In the
// patterns, each * stands for any text.
type Hosted struct {
	Tool   string   `json:"tool"` // of llm.ToolSpec.Hosted
	Models []string `json:"models"`
	Not    []string `json:"not,omitempty"`
	USD    float64  `json:"usd,omitempty"` // a use; 0 is unknown
}

// has reports whether the model of that name has the tool.
func (h Hosted) has(model string) bool {
	is := func(pattern string) bool { return like(pattern, model) }
	return slices.ContainsFunc(h.Models, is) && !slices.ContainsFunc(h.Not, is)
}

// like matches a text with a pattern in which each * stands for any text.
func like(pattern, s string) bool {
	head, rest, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == s
	}
	s, ok := strings.CutPrefix(s, head)
	if !ok {
		return false
	}
	pieces := strings.Split(rest, "*")
	last := pieces[len(pieces)-1]
	for _, piece := range pieces[:len(pieces)-1] {
		_, after, found := strings.Cut(s, piece)
		if !found {
			return false
		}
		s = after
	}
	return strings.HasSuffix(s, last)
}

// Host adds to info the tools that the provider runs for the model of that
// name, and what a search costs where its price is known.
func (p Provider) Host(model string, info *llm.Info) {
	for _, h := range p.Hosted {
		if !h.has(model) || info.Traits.Hosts(h.Tool) {
			continue
		}
		info.Traits.Hosted = append(slices.Clip(info.Traits.Hosted), h.Tool)
		if h.Tool == llm.HostedWebSearch && h.USD > 0 && info.Price != nil {
			price := *info.Price
			price.Search = llm.Dollars(h.USD)
			info.Price = &price
		}
	}
}

// Template reports whether the base URL has a part that the user must fill in.
func (p Provider) Template() bool { return strings.Contains(p.BaseURL, "{") }

//go:embed providers.json data/*.json.gz
var data embed.FS

var all = sync.OnceValue(func() []Provider {
	var ps []Provider
	text, err := data.ReadFile("providers.json")
	if err == nil {
		err = json.Unmarshal(text, &ps)
	}
	if err != nil {
		panic(fmt.Sprintf("catalog: providers.json: %v", err)) // it is embedded, and tested
	}
	return ps
})

// Providers lists the providers by name. The caller must not change them.
func Providers() []Provider { return all() }

// ErrUnknown means that the catalog has no provider, or no model, of a name.
// The error around it is an [*UnknownError].
var ErrUnknown = errors.New("unknown")

// UnknownError says which name is not in the catalog.
type UnknownError struct {
	Provider string
	Model    string   // "" when it is the provider that is not known
	Near     []string // the names that are most like it, the nearest first
}

func (e *UnknownError) Error() string {
	s := fmt.Sprintf("catalog: unknown provider %q", e.Provider)
	if e.Model != "" {
		s = fmt.Sprintf("catalog: nothing is known of %s:%s", e.Provider, e.Model)
	}
	if len(e.Near) > 0 {
		s += "; the nearest: " + strings.Join(e.Near, ", ")
	}
	return s
}

// Unwrap is [ErrUnknown].
func (e *UnknownError) Unwrap() error { return ErrUnknown }

// Named finds a provider. One that is not there is an [*UnknownError] that
// has the nearest names.
func Named(name string) (Provider, error) {
	var names []string
	for _, p := range all() {
		if p.Name == name {
			return p, nil
		}
		names = append(names, p.Name)
	}
	return Provider{}, &UnknownError{Provider: name, Near: Nearest(name, names, 3)}
}

// Windows that are assumed where nothing is known, in tokens.
const (
	UnknownLocal  = 8_192
	UnknownHosted = 128_000
)
