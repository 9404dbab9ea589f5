package openai

// Profile says how a compatible server differs from what most of them do. The
// zero Profile is the careful one, for a server that nothing is known of.
type Profile struct {
	// MaxField is the field that bounds the output; default "max_tokens".
	MaxField string
	// KeyHeader carries the key as it is; default is Authorization: Bearer.
	KeyHeader string
	// Effort is how an effort is sent: "" not at all, "flat" as
	// reasoning_effort, "nested" as reasoning{effort}.
	Effort string
	// Minimal says that "minimal" and "xhigh" are known efforts.
	Minimal bool
	// Developer sends the system prompt with the role developer.
	Developer bool
	// NoUsage leaves stream_options out.
	NoUsage bool
	// Reasoning is the field in which the assistant's thinking goes back, for
	// servers that want it: "reasoning_content", "reasoning".
	Reasoning string
	// Details sends reasoning_details back unchanged.
	Details bool
	// ShortIDs says that call ids must be nine letters or digits.
	ShortIDs bool
	// CacheKey sends prompt_cache_key.
	CacheKey bool
	// Custom says that custom (free text) tools are known.
	Custom bool
	// Files says that PDF files are taken as file parts.
	Files bool
}

// profiles by provider.
var profiles = map[string]Profile{
	"openai":      {MaxField: "max_completion_tokens", Effort: "flat", Minimal: true, Developer: true, CacheKey: true, Custom: true, Files: true},
	"azure":       {MaxField: "max_completion_tokens", KeyHeader: "api-key", Effort: "flat", Minimal: true, Custom: true, Files: true},
	"groq":        {MaxField: "max_completion_tokens", Effort: "flat"},
	"deepseek":    {Reasoning: "reasoning_content"},
	"xai":         {Effort: "flat"},
	"openrouter":  {Effort: "nested", Minimal: true, Details: true, Files: true},
	"vercel":      {Effort: "nested", Details: true},
	"together":    {},
	"fireworks":   {Effort: "flat"},
	"cerebras":    {MaxField: "max_completion_tokens", Effort: "flat"},
	"huggingface": {},
	"perplexity":  {},
	"moonshot":    {Reasoning: "reasoning_content"},
	"zai":         {Reasoning: "reasoning_content"},
	"alibaba":     {Reasoning: "reasoning_content"},
	"nvidia":      {},
	"github":      {},
	"mistral":     {ShortIDs: true},
	"ollama":      {Effort: "flat"},
	"lmstudio":    {},
	"llamacpp":    {Reasoning: "reasoning_content"},
	"vllm":        {},
}

// ProfileOf is the profile of a provider, or the careful one.
func ProfileOf(provider string) Profile {
	p := profiles[provider]
	if p.MaxField == "" {
		p.MaxField = "max_tokens"
	}
	return p
}
