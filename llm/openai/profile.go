package openai

import (
	"maps"
	"net/url"
	"strings"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/internal/wire"
)

// Profile says how a compatible server differs from what most of them do. The
// zero Profile is the careful one, for a server that nothing is known of.
type Profile struct {
	// MaxField is the field that bounds the output; default "max_tokens".
	MaxField string
	// KeyHeader carries the key as it is; default is Authorization: Bearer.
	KeyHeader string
	// Effort is how an effort is sent: "" not at all, "flat" as
	// reasoning_effort, "nested" as reasoning{effort}; and where thinking is
	// switched on and off, "thinking" as thinking{type}, "enabled" as
	// reasoning{enabled}, "enable_thinking" as that field, "template" as
	// chat_template_kwargs{enable_thinking}. "thinking+flat" is a switch and,
	// where it is on, an effort beside it, and so with the others.
	Effort string
	// CacheMarks says that prompts are cached where they are marked as on
	// Anthropic's wire, and for how long: "5m" or "1h"; "" is no marks.
	CacheMarks string
	// Minimal says that "minimal" and "xhigh" are known efforts.
	Minimal bool
	// Developer sends the system prompt with the role developer.
	Developer bool
	// Cuts says that the server cuts a prompt that is too long for the window
	// without a word: Info.Context and what is reported are looked at instead.
	Cuts bool
	// NoUsage leaves stream_options out.
	NoUsage bool
	// Reasoning is the field in which the assistant's thinking goes back, for
	// servers that want it: "reasoning_content", "reasoning".
	Reasoning string
	// ReasoningAlways says that a message with tool calls must have that
	// field, if only empty, while the model thinks.
	ReasoningAlways bool
	// ShortIDs says that call ids must be nine letters or digits.
	ShortIDs bool
	// CacheKey sends prompt_cache_key.
	CacheKey bool
	// Custom says that custom (free text) tools are known.
	Custom bool
	// Files says that PDF files are taken as file parts.
	Files bool
	// UserField names the user for the provider's abuse checks; default "user".
	UserField string

	// Search is the type of the tool with which the server searches the web
	// itself, and ResponsesSearch that on the Responses wire; "": it has none.
	Search, ResponsesSearch string

	// The rest is about the Responses wire alone.

	// NoInclude leaves include and store out, for servers that keep nothing and
	// encrypt nothing.
	NoInclude bool
	// ResponsesCacheKey sends prompt_cache_key as CacheKey does, on this wire
	// alone.
	ResponsesCacheKey bool
	// Summary asks for summaries of the thinking.
	Summary bool
	// ResultFiles says that a tool's result may hold images and files. On others
	// they are in the message that follows it.
	ResultFiles bool
	// ToolSearch says that tools may be deferred: the server then has a search
	// over them.
	ToolSearch bool
	// ServerCustom says that the server runs custom tools of its own: a call of
	// one that the request does not have is not for the client.
	ServerCustom bool
}

// profiles by provider.
var profiles = map[string]Profile{
	"openai":      {MaxField: "max_completion_tokens", Effort: "flat", Minimal: true, Developer: true, CacheKey: true, Custom: true, Files: true, UserField: "safety_identifier", Summary: true, ResultFiles: true, ToolSearch: true, ResponsesSearch: "web_search"},
	"azure":       {MaxField: "max_completion_tokens", KeyHeader: "api-key", Effort: "flat", Minimal: true, CacheKey: true, Custom: true, Files: true, Summary: true, ResultFiles: true, ToolSearch: true},
	"groq":        {MaxField: "max_completion_tokens", Effort: "flat"},
	"deepseek":    {Effort: "thinking", Reasoning: "reasoning_content", ReasoningAlways: true, NoInclude: true, ResponsesSearch: "web_search"},
	"xai":         {Effort: "flat", ServerCustom: true, ResponsesCacheKey: true, ResponsesSearch: "web_search"},
	"openrouter":  {Effort: "nested", Minimal: true, Files: true, Summary: true, ResponsesCacheKey: true, Search: "openrouter:web_search", ResponsesSearch: "openrouter:web_search"},
	"vercel":      {Effort: "nested"},
	"together":    {},
	"fireworks":   {Effort: "flat"},
	"cerebras":    {MaxField: "max_completion_tokens", Effort: "flat"},
	"huggingface": {},
	"perplexity":  {},
	"moonshot":    {Effort: "thinking", Reasoning: "reasoning_content", ReasoningAlways: true},
	"zai":         {Effort: "thinking", Reasoning: "reasoning_content"},
	"alibaba":     {Effort: "enable_thinking", Reasoning: "reasoning_content"},
	"nvidia":      {},
	"github":      {},
	"mistral":     {ShortIDs: true},
	"ollama":      {Effort: "flat", Cuts: true, NoInclude: true},
	"lmstudio":    {NoInclude: true},
	"llamacpp":    {Effort: "template", Reasoning: "reasoning_content"},
	"vllm":        {Effort: "template"},
}

// ProfileOf is the profile of a provider, or the careful one.
func ProfileOf(provider string) Profile {
	p := profiles[provider]
	p.defaults()
	return p
}

func (p *Profile) defaults() {
	if p.MaxField == "" {
		p.MaxField = "max_tokens"
	}
	if p.UserField == "" {
		p.UserField = "user"
	}
}

// search is t without a hosted search where the type of its tool is "".
func search(t llm.Traits, typ string) llm.Traits {
	if typ == "" {
		return wire.Hosts(t)
	}
	return wire.Hosts(t, llm.HostedWebSearch)
}

// Profiles are the profiles of the providers that are known, by name.
func Profiles() map[string]Profile {
	out := maps.Clone(profiles)
	for name := range out {
		out[name] = ProfileOf(name)
	}
	return out
}

// hosts of the providers: a base URL on the host, or below it, is theirs.
var hosts = map[string]string{
	"api.openai.com": "openai", "openai.azure.com": "azure", "cognitiveservices.azure.com": "azure", "services.ai.azure.com": "azure",
	"api.groq.com": "groq", "api.deepseek.com": "deepseek", "api.x.ai": "xai", "openrouter.ai": "openrouter",
	"ai-gateway.vercel.sh": "vercel", "api.together.xyz": "together", "api.together.ai": "together", "api.fireworks.ai": "fireworks",
	"api.cerebras.ai": "cerebras", "router.huggingface.co": "huggingface", "api.perplexity.ai": "perplexity",
	"api.moonshot.ai": "moonshot", "api.moonshot.cn": "moonshot", "api.z.ai": "zai", "open.bigmodel.cn": "zai",
	"aliyuncs.com": "alibaba", "api.nvidia.com": "nvidia", "models.github.ai": "github", "api.mistral.ai": "mistral", "ollama.com": "ollama",
}

// ProviderOf names the provider whose base URL it is. Of one that is not known
// it is the host, and the careful profile goes with it.
func ProviderOf(baseURL string) string {
	u, err := url.Parse(baseURL)
	if err != nil || u.Host == "" {
		return "openai-compatible"
	}
	for h := strings.ToLower(u.Hostname()); h != ""; _, h, _ = strings.Cut(h, ".") {
		if p, ok := hosts[h]; ok {
			return p
		}
	}
	return strings.ToLower(u.Host)
}
