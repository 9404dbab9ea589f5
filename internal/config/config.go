// Package config reads the settings: files, environment and flags, in layers,
// into one typed Config that knows where each value came from.
//
//	c, err := config.Load(config.Sources{Home: home, Dir: dir, Getenv: os.Getenv, Flags: flags})
//	if err != nil {
//		return err // names the file, the line and the key
//	}
//	fmt.Println(c.Model, "from", c.From["model"])
//
// A project's settings are those of the nearest folder that has some, from the
// working directory up to the root of its repository.
//
// The layers, the later over the earlier: the user's settings.json, the user's
// own for this project (see [ProjectFile]), the project's .cantle/settings.json,
// its settings.local.json, the environment, the flags, and the managed file,
// which no other overrules. Permission rules are added up, so that no layer
// loses a restriction.
//
// What a project's files may set depends on whether the user trusts its folder
// with the content that it has; see [TrustState]. Without trust they may only
// restrict; with it they also set what a session needs, and never what only the
// user may: providers, what requests and commands are sent, the network.
package config

import (
	"encoding/json"

	"github.com/cantle-dev/cantle/llm"
)

// Config is the settings.
type Config struct {
	Model  string     `json:"model,omitempty"`
	Effort llm.Effort `json:"effort,omitempty"`
	// Temperature is of the sampling, where the model takes one; nil (default) is
	// the model's own.
	Temperature *json.Number `json:"temperature,omitempty"`
	// MaxOutputTokens bounds each answer; 0 (default) is the model's own bound.
	MaxOutputTokens int    `json:"maxOutputTokens,omitempty"`
	MaxTurns        int    `json:"maxTurns,omitempty"`
	MaxTokens       int64  `json:"maxTokens,omitempty"`
	MaxCost         string `json:"maxCost,omitempty"` // US dollars
	// MaxContextTokens is the window to work in, of whatever model; 0 (default)
	// is the model's own.
	MaxContextTokens int `json:"maxContextTokens,omitempty"`
	// SoftLimit is the percentage of maxTurns, maxTokens and maxCost at which
	// the user is asked whether to go on to the limit; 0 (default) asks never.
	SoftLimit    int               `json:"softLimit,omitempty"`
	Timeout      string            `json:"timeout,omitempty"` // as 10m
	System       string            `json:"system,omitempty"`  // in the place of the base guidance
	AppendSystem string            `json:"appendSystem,omitempty"`
	Permissions  Permissions       `json:"permissions,omitzero"`
	Sandbox      Sandbox           `json:"sandbox,omitzero"`
	Env          map[string]string `json:"env,omitempty"` // for commands
	// EnvPassthrough are the names of variables that commands get besides those
	// that all get, with the values that they have. A name that looks as if a
	// secret were in it is refused.
	EnvPassthrough []string            `json:"envPassthrough,omitempty"`
	Providers      map[string]Provider `json:"providers,omitempty"`
	Models         map[string]Model    `json:"models,omitempty"` // by provider:name, or a part of it
	// Aliases are names for models: for "provider:model" or for another alias.
	Aliases map[string]string `json:"aliases,omitempty"`
	// Fallback are the models to ask, one after another, when one cannot answer.
	Fallback []string `json:"fallback,omitempty"`
	Route    Route    `json:"route,omitzero"`
	Retry    Retry    `json:"retry,omitzero"`
	// CacheWatch says whether a request that misses the provider's prompt cache
	// where it should not is told of; nil is yes.
	CacheWatch *bool `json:"cacheWatch,omitempty"`
	// StallTimeout is the silence that ends a request, as "90s", which is the
	// default. "0s" and what is less wait for ever.
	StallTimeout string `json:"stallTimeout,omitempty"`
	// User names whoever uses the models to the providers that look for abuse: an
	// opaque id, and no name or address. Default is none.
	User string `json:"user,omitempty"`
	// TodoScope says whose the todo list is: "project" (default), for all
	// sessions of a project, or "session".
	TodoScope string `json:"todoScope,omitempty"`
	Web       Web    `json:"web,omitzero"`
	// From says for each key that was set which layer set it last.
	From map[string]string `json:"-"`
	// Warnings are what was left out, and why.
	Warnings []string `json:"-"`
	// Layers are the permission rules by where they are from, the later over the
	// earlier.
	Layers []Layer `json:"-"`
	// Project is the folder whose settings were read as the project's: see
	// [ProjectDir].
	Project string `json:"-"`
	// Trust is how the project's folder stands, and what it brings.
	Trust TrustState `json:"-"`
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
	// AskTimeout is how long a question is waited for, as "5m"; then it is
	// denied. "" (default) waits as long as it takes.
	AskTimeout string   `json:"askTimeout,omitempty"`
	Reviewer   Reviewer `json:"reviewer,omitzero"`
}

// Layer is the permission rules of one place that took effect. Config.Permissions
// has those of all.
type Layer struct {
	// Name is "user", "projectUser" (the user's own for this project),
	// "project", "local", "flags" or "managed".
	Name             string
	File             string // or the flag, as "--allow"
	Allow, Deny, Ask []string
}

// Web is what WebFetch and WebSearch may do.
type Web struct {
	// AllowPrivate lets pages be fetched from this machine and private networks.
	AllowPrivate bool `json:"allowPrivate,omitempty"`
	// AllowRanges are reserved or private ranges of addresses that pages may be
	// fetched from, as "198.18.0.0/15".
	AllowRanges []string `json:"allowRanges,omitempty"`
	// MaxChars is how many characters of a page are given at once: nil is the
	// default, 0 as many as there may be.
	MaxChars  *int   `json:"maxChars,omitempty"`
	UserAgent string `json:"userAgent,omitempty"` // default "cantle/" and the version
	Search    Search `json:"search,omitzero"`
}

// Search is the service that WebSearch asks.
type Search struct {
	URL       string `json:"url,omitempty"`       // with {query} in its query; "": there is no WebSearch
	KeyEnv    string `json:"keyEnv,omitempty"`    // the variable with the key; none: without
	KeyHeader string `json:"keyHeader,omitempty"` // that carries the key; default "Authorization"
}

// Provider is a server that models are reached at. What is left out is as in
// the catalog.
type Provider struct {
	BaseURL   string `json:"baseUrl,omitempty"`
	Wire      string `json:"wire,omitempty"`      // default "openai-chat"
	APIKeyEnv string `json:"apiKeyEnv,omitempty"` // the variable with the key; none: keyless
	// APIKeyCommand prints the key, where no variable has it.
	APIKeyCommand Command `json:"apiKeyCommand,omitzero"`
	// Profile is how a compatible server differs: a provider's name. For Bedrock
	// it is the profile of the AWS configuration.
	Profile string `json:"profile,omitempty"`
	// Query and Headers go with every request. "${NAME}" stands for a variable
	// in them, and a key may be in them in no other way.
	Query   map[string]string `json:"query,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	// Options are those of the wire that have no setting of their own.
	Options     map[string]string `json:"options,omitempty"`
	MaxRetries  *int              `json:"maxRetries,omitempty"`  // in the place of retry.max
	PromptCache PromptCache       `json:"promptCache,omitempty"` // true, "1h" or false
	NumCtx      int               `json:"numCtx,omitempty"`      // Ollama: the window to load a model with
	KeepAlive   string            `json:"keepAlive,omitempty"`   // Ollama: how long a model stays loaded
	Project     string            `json:"project,omitempty"`     // Vertex
	Location    string            `json:"location,omitempty"`    // Vertex
	Region      string            `json:"region,omitempty"`      // Bedrock
}

// Command is a program and its arguments or, in Shell, a line for the system's
// shell. In the settings it is a list or a text.
type Command struct {
	Args  []string
	Shell string
}

// UnmarshalJSON is [json.Unmarshaler].
func (c *Command) UnmarshalJSON(b []byte) error {
	*c = Command{}
	if err := json.Unmarshal(b, &c.Shell); err == nil {
		return nil
	}
	return json.Unmarshal(b, &c.Args)
}

// MarshalJSON is [json.Marshaler].
func (c Command) MarshalJSON() ([]byte, error) {
	if c.Shell != "" {
		return json.Marshal(c.Shell)
	}
	return json.Marshal(c.Args)
}

// PromptCache is how long a provider is to keep prompts: "" is its default,
// "off", "5m" or "1h". In the settings it is true, false, "5m" or "1h".
type PromptCache string

// UnmarshalJSON is [json.Unmarshaler].
func (c *PromptCache) UnmarshalJSON(b []byte) error {
	switch string(b) {
	case "true":
		*c = "5m"
		return nil
	case "false":
		*c = "off"
		return nil
	}
	return json.Unmarshal(b, (*string)(c))
}

// Route says which of two models gets a request.
type Route struct {
	Mode     string `json:"mode,omitempty"` // "off" (default) or "triage"
	Cheap    string `json:"cheap,omitempty"`
	Frontier string `json:"frontier,omitempty"`
	// Judge is a small model that is asked which of the two; default is rules.
	Judge string `json:"judge,omitempty"`
}

// Retry says how often a request is made again that failed for a while.
type Retry struct {
	Max *int `json:"max,omitempty"` // default 3; 0 is never
	// MaxWait is the longest wait before it; default "60s".
	MaxWait string `json:"maxWait,omitempty"`
	// Wait is how long a request may wait in all where a provider asks for more
	// than MaxWait, or a quota is used up; default is not at all.
	Wait string `json:"wait,omitempty"`
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
	NoTools       *bool       `json:"noTools,omitempty"`
	// ThinkingStyle is how the model is told to think, one of the styles of its
	// wire; Efforts are its own words for efforts.
	ThinkingStyle string                `json:"thinkingStyle,omitempty"`
	Efforts       map[llm.Effort]string `json:"efforts,omitempty"`
	MinCache      *int                  `json:"minCache,omitempty"` // tokens: the shortest prefix that is cached
	// Salvage looks for calls in the text of a model that writes them there.
	Salvage *bool `json:"salvage,omitempty"`
}

// ModelPrice is in US dollars a million tokens. Cached tokens without a price
// of their own cost what input costs.
type ModelPrice struct {
	Input      json.Number  `json:"input"`
	Output     json.Number  `json:"output"`
	CacheRead  *json.Number `json:"cacheRead,omitempty"`
	CacheWrite *json.Number `json:"cacheWrite,omitempty"`
}
