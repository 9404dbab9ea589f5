package llm

import (
	"context"
	"io"
	"iter"
	"slices"
)

// Model is something that answers a request with a stream: a provider's wire
// adapter, or a wrapper around another Model. Implementations must be safe for
// concurrent use.
//
// Stream sends one request. The sequence is single-use: ranging over it sends
// the request, and a second range yields [ErrUsed]. Deltas come first and
// a [Done] comes last; or, if the request fails, the last pair is a nil Event
// and the error, which is an [*Error] unless the context ended. Every sequence
// that is ranged to its end ends in one of the two. Stopping the range early
// cancels the request. The request must not be changed while the sequence is
// in use, and the adapter does not change it.
type Model interface {
	Info() Info
	Stream(ctx context.Context, req *Request) iter.Seq2[Event, error]
}

// Info is what a caller may assume about a model. It is data, so that wrappers
// can pass it through or change it, and it costs nothing to ask for.
type Info struct {
	Provider string // the name before the colon of "provider:model"
	Name     string // the provider's own name for the model
	Wire     string // the wire that it is spoken to on: "anthropic", "openai-chat", …
	Context  int    // context window in tokens; 0 means unknown
	Output   int    // most output tokens in one response; 0 means unknown
	Price    *Price // nil means unknown, which is not the same as free
	Traits   Traits
}

// Ref is "provider:name", the form in which users write a model.
func (i Info) Ref() string {
	if i.Provider == "" {
		return i.Name
	}
	return i.Provider + ":" + i.Name
}

// Traits are facts about a model that decide what may be sent to it.
type Traits struct {
	Images   bool `json:"images,omitempty"`   // takes image blobs
	PDF      bool `json:"pdf,omitempty"`      // takes PDF blobs
	Thinking bool `json:"thinking,omitempty"` // has an effort that can be set
	Schema   bool `json:"schema,omitempty"`   // takes Request.Schema natively
	NoTools  bool `json:"noTools,omitempty"`  // refuses a request that has tools

	// ThinkingStyle is how the model is told to think where its wire has
	// several ways; "" is the adapter's default. Each adapter's Options say
	// which it knows: "budget" of tokens, "adaptive" effort in words, …
	ThinkingStyle string `json:"thinkingStyle,omitempty"`
	// Efforts are the model's own words for efforts, where they are not those
	// that its adapter sends by itself. An effort whose word is "" is not sent.
	Efforts map[Effort]string `json:"efforts,omitempty"`

	// Hosted are the tools that the provider runs for the model if they are
	// offered, of those of [ToolSpec].Hosted.
	Hosted []string `json:"hosted,omitempty"`

	// MinCache is the shortest prefix that the provider caches, in tokens; 0 is
	// unknown. Adapters that mark what is to be cached leave shorter ones
	// unmarked.
	MinCache int `json:"minCache,omitempty"`

	// NoTemperature is set for models that refuse sampling parameters: they
	// are left out of the request.
	NoTemperature bool `json:"noTemperature,omitempty"`
	// StandIn is set for models that only play a model. Surfaces say so.
	StandIn bool `json:"standIn,omitempty"`
}

// Hosts reports whether the provider runs that tool for the model.
func (t Traits) Hosts(tool string) bool { return slices.Contains(t.Hosted, tool) }

// EffortWord is the word for e: the model's own or, where it has none, word.
func (t Traits) EffortWord(e Effort, word string) string {
	if own, ok := t.Efforts[e]; ok {
		return own
	}
	return word
}

// Generate sends req and returns the whole response.
func Generate(ctx context.Context, m Model, req *Request) (*Response, error) {
	return Collect(m.Stream(ctx, req))
}

// Collect drains a stream and returns the response of its [Done]. A stream
// that ends with neither Done nor an error is [io.ErrUnexpectedEOF].
func Collect(seq iter.Seq2[Event, error]) (*Response, error) {
	var resp *Response
	for ev, err := range seq {
		if err != nil {
			return nil, err
		}
		if d, ok := ev.(Done); ok {
			resp = d.Response
		}
	}
	if resp == nil {
		return nil, io.ErrUnexpectedEOF
	}
	return resp, nil
}

// A Wrapper is a Model that adds behaviour to another. Every decorator has
// Unwrap, so that [As] finds what is inside.
type Wrapper interface{ Unwrap() Model }

// As returns the first model in m's chain of wrappers that is a T. It finds
// optional interfaces, such as [TokenCounter], through any number of wrappers.
func As[T any](m Model) (T, bool) {
	for m != nil {
		if t, ok := m.(T); ok {
			return t, true
		}
		w, ok := m.(Wrapper)
		if !ok {
			break
		}
		m = w.Unwrap()
	}
	var zero T
	return zero, false
}

// TokenCounter is implemented by models whose provider counts a request's
// input tokens without answering it.
type TokenCounter interface {
	CountTokens(ctx context.Context, req *Request) (int, error)
}

// CountTokens asks the model to count the input tokens of req, or estimates
// them with [Estimate] when it cannot.
func CountTokens(ctx context.Context, m Model, req *Request) (int, error) {
	if c, ok := As[TokenCounter](m); ok {
		return c.CountTokens(ctx, req)
	}
	return Estimate(req), nil
}
