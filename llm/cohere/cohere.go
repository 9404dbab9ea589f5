// Package cohere speaks Cohere's Chat API, version 2
// (https://docs.cohere.com/v2/reference/chat), over net/http.
//
//	m := cohere.New("command-a-03-2025", cohere.Options{APIKey: key})
//	resp, err := llm.Generate(ctx, m, &llm.Request{
//		Messages: []llm.Message{llm.UserText("Why is the sky blue?")},
//	})
//	if err != nil {
//		return err
//	}
//	fmt.Println(resp.Message.Text())
//
// It reads no environment and knows no model: what is to be assumed about one
// comes in Options.Info.
//
// What a model says before its tool calls is its plan, which is kept as an
// [llm.Native] of the kind "tool_plan" and goes back with the calls; the places
// in an answer that cite a tool's result are one of the kind "citations".
package cohere

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"strings"
	"time"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/internal/wire"
)

// Wire is the name of this wire in [llm.Info], [llm.Origin], [llm.Native] and
// [llm.Request.Extra].
const Wire = "cohere"

// The kinds of [llm.Native] that this package makes.
const (
	KindPlan      = "tool_plan" // Raw is a JSON string
	KindCitations = "citations" // Raw is a list
)

// Options configure a model. The zero value is for the public API.
type Options struct {
	APIKey  string
	BaseURL string // default https://api.cohere.com; with or without /v2/chat
	// Info is what is assumed of the model. Provider defaults to "cohere"; Name
	// and Wire are set by New. An effort is a budget of thinking tokens; words
	// of Traits.Efforts are a number of tokens, "enabled" or "disabled".
	Info   llm.Info
	Header http.Header
	// Sign authenticates a request in the place of APIKey.
	Sign   func(*http.Request) error
	Client *http.Client  // nil: one shared by all
	Stall  time.Duration // silence that ends a request: 0 is 90 s, negative never
}

// Model is a model on this wire. It is safe for concurrent use.
type Model struct {
	opts Options
	info llm.Info
	url  string
	key  string // of encoded messages

	lessons wire.Lessons
}

// New makes the model of that name.
func New(name string, opts Options) *Model {
	info := opts.Info
	info.Name, info.Wire = name, Wire
	if info.Provider == "" {
		info.Provider = "cohere"
	}
	info.Traits = wire.Hosts(info.Traits)
	at := address(opts.BaseURL)
	return &Model{
		opts: opts, info: info, url: at,
		lessons: wire.LessonsOf(at, name, opts.APIKey, wire.Optional{Name: "temperature"},
			wire.Optional{Name: "thinking", Said: []string{"thinking is not supported", "not support thinking"}}),
		key: fmt.Sprintf("%s %s %s images=%t", Wire, info.Provider, name, info.Traits.Images),
	}
}

// address is where the requests go. The base URL may be that of Cohere's
// imitation of another wire, which catalogs list.
func address(base string) string {
	if base == "" {
		base = "https://api.cohere.com"
	}
	base = strings.TrimRight(base, "/")
	for _, tail := range []string{"/chat", "/v2", "/v1", "/compatibility"} {
		base = strings.TrimSuffix(base, tail)
	}
	return base + "/v2/chat"
}

// Info is [llm.Model].Info.
func (m *Model) Info() llm.Info { return m.info }

// Stream is [llm.Model].Stream.
func (m *Model) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return wire.Sequence(
		func() (*wire.Stream, error) { return m.post(ctx, req) },
		func(s *wire.Stream) wire.Decoder { return &decoder{info: m.info, s: s} },
	)
}

// post sends req. A field that the endpoint refuses by name is left out, once and
// for good.
func (m *Model) post(ctx context.Context, req *llm.Request) (*wire.Stream, error) {
	return m.lessons.Post(ctx, m.url, func() (*wire.Body, error) { return m.body(req) }, wire.Options{
		Provider: m.info.Provider, Model: m.info.Name, Client: m.opts.Client,
		Key: m.opts.APIKey, Header: m.opts.Header, Sign: m.opts.Sign, Stall: m.opts.Stall,
	})
}
