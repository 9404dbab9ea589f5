// Package config reads the settings: files, environment and flags, in layers,
// into one typed Config that knows where each value came from.
//
//	c, err := config.Load(config.Sources{Home: home, Dir: dir, Getenv: os.Getenv, Flags: flags})
//	if err != nil {
//		return err // names the file, the line and the key
//	}
//	fmt.Println(c.Model, "from", c.From["model"])
//
// The layers, the later over the earlier: the user's settings.json, the
// project's .cantle/settings.json, its settings.local.json, the environment,
// the flags, and the managed file, which no other overrules. Permission rules
// are added up, so that no layer loses a restriction.
package config

import (
	"encoding/json"

	"github.com/cantle-dev/cantle/llm"
)

// Config is the settings.
type Config struct {
	Model     string     `json:"model,omitempty"`
	Effort    llm.Effort `json:"effort,omitempty"`
	MaxTurns  int        `json:"maxTurns,omitempty"`
	MaxTokens int64      `json:"maxTokens,omitempty"`
	MaxCost   string     `json:"maxCost,omitempty"` // US dollars
	// MaxContextTokens is the window to work in, of whatever model; 0 (default)
	// is the model's own.
	MaxContextTokens int `json:"maxContextTokens,omitempty"`
	// SoftLimit is the percentage of maxTurns, maxTokens and maxCost at which
	// the user is asked whether to go on to the limit; 0 (default) asks never.
	SoftLimit    int                 `json:"softLimit,omitempty"`
	Timeout      string              `json:"timeout,omitempty"` // as 10m
	System       string              `json:"system,omitempty"`  // in the place of the base guidance
	AppendSystem string              `json:"appendSystem,omitempty"`
	Permissions  Permissions         `json:"permissions,omitzero"`
	Env          map[string]string   `json:"env,omitempty"` // for commands
	Providers    map[string]Provider `json:"providers,omitempty"`
	Models       map[string]Model    `json:"models,omitempty"` // by provider:name, or a part of it
	// StallTimeout is the silence that ends a request, as "90s", which is the
	// default. "0s" and what is less wait for ever.
	StallTimeout string `json:"stallTimeout,omitempty"`
	// TodoScope says whose the todo list is: "project" (default), for all
	// sessions of a project, or "session".
	TodoScope string `json:"todoScope,omitempty"`
	// From says for each key that was set which layer set it last.
	From map[string]string `json:"-"`
	// Warnings are what was left out, and why.
	Warnings []string `json:"-"`
	// Files are the settings files that were read.
	Files []string `json:"-"`

	tree   json.RawMessage // all layers so far
	places map[string]place
}

// Permissions are the rules and the mode.
type Permissions struct {
	DefaultMode           string   `json:"defaultMode,omitempty"`
	Allow                 []string `json:"allow,omitempty"`
	Deny                  []string `json:"deny,omitempty"`
	Ask                   []string `json:"ask,omitempty"`
	AdditionalDirectories []string `json:"additionalDirectories,omitempty"`
}

// Provider is a server that models are reached at.
type Provider struct {
	BaseURL   string            `json:"baseUrl,omitempty"`
	Wire      string            `json:"wire,omitempty"`      // "openai-chat" (default) or "anthropic"
	APIKeyEnv string            `json:"apiKeyEnv,omitempty"` // the variable with the key; none: keyless
	Profile   string            `json:"profile,omitempty"`   // how a compatible server differs: a provider's name
	Query     map[string]string `json:"query,omitempty"`
}

// Model is what is known of a model; what is left out comes from the catalog.
type Model struct {
	Context       int         `json:"context,omitempty"`
	Output        int         `json:"output,omitempty"`
	Price         *ModelPrice `json:"price,omitempty"`
	Images        *bool       `json:"images,omitempty"`
	PDF           *bool       `json:"pdf,omitempty"`
	Thinking      *bool       `json:"thinking,omitempty"`
	Schema        *bool       `json:"schema,omitempty"`
	NoTemperature *bool       `json:"noTemperature,omitempty"`
}

// ModelPrice is in US dollars a million tokens. Cached tokens without a price
// of their own cost what input costs.
type ModelPrice struct {
	Input      json.Number  `json:"input"`
	Output     json.Number  `json:"output"`
	CacheRead  *json.Number `json:"cacheRead,omitempty"`
	CacheWrite *json.Number `json:"cacheWrite,omitempty"`
}
