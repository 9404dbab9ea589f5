package llm

// Response is one whole answer of a model.
type Response struct {
	ID        string // the provider's id of the response, if it gives one
	RequestID string // the provider's id of the HTTP request, for its support
	Model     string // the name of the model that served it, as sent
	Message   Message
	Stop      StopReason
	StopRaw   string // the stop word as sent; "" if the wire sent none
	// StopDetail is the stop sequence that was met, or the provider's
	// explanation of a refusal.
	StopDetail string
	// Usage is nil when the provider reported none, which is not zero.
	Usage *Usage
	// Reported holds the same counters as the provider counts them, with no
	// arithmetic: whether Input contains the cached tokens, and Output the
	// reasoning, differs from wire to wire.
	Reported *Usage
}

// StopReason says why a model stopped, in the same words for every wire.
type StopReason string

// The stop reasons. A response with client tool calls always says StopToolUse,
// whatever the wire's own word was, unless it was cut or refused.
const (
	StopEnd           StopReason = "end"
	StopToolUse       StopReason = "tool_use"
	StopMaxTokens     StopReason = "max_tokens"
	StopSequence      StopReason = "stop_sequence"
	StopRefusal       StopReason = "refusal"
	StopContentFilter StopReason = "content_filter"
	StopPause         StopReason = "pause" // send the turn back to go on
	StopError         StopReason = "error"
	StopOther         StopReason = "other"
)

// Usage counts the tokens of one response. The four that are paid for do not
// overlap: Input excludes what was read from or written to a cache.
type Usage struct {
	Input      int64 `json:"input"`
	Output     int64 `json:"output"` // includes Reasoning
	CacheRead  int64 `json:"cache_read,omitempty"`
	CacheWrite int64 `json:"cache_write,omitempty"` // includes CacheWrite1h
	// CacheWrite1h is the part of CacheWrite that is kept for an hour.
	CacheWrite1h int64 `json:"cache_write_1h,omitempty"`
	Reasoning    int64 `json:"reasoning,omitempty"`
	// ToolPrompt counts prompt tokens of server-run tools where a provider
	// counts them apart; they are in Input.
	ToolPrompt int64 `json:"tool_prompt,omitempty"`
	// Searches counts the searches of the web that the provider ran, as far as
	// it tells. They are no tokens, and may be paid for apart.
	Searches int64 `json:"searches,omitempty"`
}

// Add adds v to u.
func (u *Usage) Add(v Usage) {
	u.Input += v.Input
	u.Output += v.Output
	u.CacheRead += v.CacheRead
	u.CacheWrite += v.CacheWrite
	u.CacheWrite1h += v.CacheWrite1h
	u.Reasoning += v.Reasoning
	u.ToolPrompt += v.ToolPrompt
	u.Searches += v.Searches
}

// Prompt is the size of the whole prompt: fresh, read and written.
func (u Usage) Prompt() int64 { return u.Input + u.CacheRead + u.CacheWrite }

// Total is the prompt and the output together.
func (u Usage) Total() int64 { return u.Prompt() + u.Output }
