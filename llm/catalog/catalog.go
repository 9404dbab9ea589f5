// Package catalog holds what is known of providers, as embedded data: the wire,
// the address, the variable that has the key.
//
//	p, ok := catalog.Lookup("groq")
package catalog

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/cantle-dev/cantle/llm"
)

// Provider is what is known of a provider.
type Provider struct {
	Name    string   `json:"name"`
	Wire    string   `json:"wire"` // "anthropic", "openai-chat"
	BaseURL string   `json:"baseUrl"`
	KeyEnv  []string `json:"keyEnv,omitempty"` // the first that is set counts; none: keyless
	// Local servers cost nothing.
	Local bool `json:"local,omitempty"`
	// Traits and Context are what is assumed of the provider's models.
	Traits  llm.Traits `json:"traits,omitzero"`
	Context int        `json:"context,omitempty"`
	Output  int        `json:"output,omitempty"`
}

//go:embed providers.json
var data []byte

var all = sync.OnceValue(func() []Provider {
	var ps []Provider
	if err := json.Unmarshal(data, &ps); err != nil {
		panic(fmt.Sprintf("catalog: providers.json: %v", err)) // it is embedded, and tested
	}
	slices.SortFunc(ps, func(a, b Provider) int { return strings.Compare(a.Name, b.Name) })
	return ps
})

// Providers lists the providers by name. The caller must not change them.
func Providers() []Provider { return all() }

// Lookup finds a provider by name.
func Lookup(name string) (Provider, bool) {
	for _, p := range all() {
		if p.Name == name {
			return p, true
		}
	}
	return Provider{}, false
}

// Windows that are assumed where nothing is known, in tokens.
const (
	UnknownLocal  = 8_192
	UnknownHosted = 128_000
)

// Info is what is assumed of a provider's model.
func (p Provider) Info(model string) llm.Info {
	info := llm.Info{Provider: p.Name, Name: model, Wire: p.Wire, Context: p.Context, Output: p.Output, Traits: p.Traits}
	if info.Context == 0 {
		info.Context = UnknownHosted
		if p.Local {
			info.Context = UnknownLocal
		}
	}
	if p.Local {
		info.Price = &llm.Price{}
	}
	return info
}
