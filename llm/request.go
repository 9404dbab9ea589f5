package llm

import "encoding/json"

// Request is one model call. The zero value of every field but Messages means
// the provider's default.
type Request struct {
	System   string
	Messages []Message
	Tools    []ToolSpec

	// MaxTokens bounds the output; 0 is the model's own cap.
	MaxTokens int
	Effort    Effort
	// Temperature is left out for models that refuse it; nil is the default.
	Temperature *float64
	Stop        []string // stop sequences
	ToolChoice  ToolChoice
	// Schema asks for an answer that is JSON of this schema. Only models with
	// [Traits.Schema] enforce it; on others adapters leave it out.
	Schema *Schema

	// CacheKey groups requests that share a prefix, for providers that route
	// by it. An agent sends its session's id.
	CacheKey string
	// User names the end user to the provider's abuse checks, for those that
	// have a field for it. It should be a hash or another opaque id: no name, no
	// address.
	User string
	// Extra is merged into the body of the request on the wire it is named
	// for: Extra["openai-chat"] = {"service_tier":"flex"}. Keys that the
	// adapter sets itself are overridden by it.
	Extra map[string]json.RawMessage
}

// ToolSpec is a tool as the model is told of it.
type ToolSpec struct {
	Name        string
	Description string
	Input       json.RawMessage // JSON Schema, passed through byte for byte
	// Format, if set, makes it a custom tool, whose input is free text of this
	// format (a wire's own grammar object). Wires without custom tools ignore
	// it and use Input.
	Format json.RawMessage
	// Deferred tools may be left out of the request's prefix by wires that
	// have a tool search of their own.
	Deferred bool
	// Hosted names a tool of the provider's own, such as [HostedWebSearch], that
	// is offered in the place of this one where the model has it: see
	// [Traits].Hosted. The provider runs it within its answer, where it leaves
	// [Native] parts and no call. For every other model it is a tool like any
	// or, if it has no Input, left out.
	Hosted string `json:",omitempty"`
}

// HostedWebSearch is the [ToolSpec].Hosted of a search of the web that the
// provider runs itself, however its wire calls it.
const HostedWebSearch = "web_search"

// Effort says how much a model should think. Adapters map it to what the
// model's family understands. The empty Effort is the provider's default.
type Effort string

// The efforts, in order.
const (
	EffortOff     Effort = "off"
	EffortMinimal Effort = "minimal"
	EffortLow     Effort = "low"
	EffortMedium  Effort = "medium"
	EffortHigh    Effort = "high"
	EffortXHigh   Effort = "xhigh"
)

// Efforts lists the efforts in order.
func Efforts() []Effort {
	return []Effort{EffortOff, EffortMinimal, EffortLow, EffortMedium, EffortHigh, EffortXHigh}
}

// ToolChoice says whether the model must call a tool. The zero value lets it
// decide.
type ToolChoice struct {
	Mode ChoiceMode
	Name string // for ChoiceTool
}

// ChoiceMode is the mode of a [ToolChoice].
type ChoiceMode string

// The modes of a [ToolChoice].
const (
	ChoiceAuto ChoiceMode = ""
	ChoiceAny  ChoiceMode = "any"
	ChoiceNone ChoiceMode = "none"
	ChoiceTool ChoiceMode = "tool"
)

// Schema is a named JSON Schema for a whole answer.
type Schema struct {
	Name string
	JSON json.RawMessage
}
