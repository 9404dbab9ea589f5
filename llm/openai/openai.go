// Package openai speaks OpenAI's Chat Completions API
// (https://platform.openai.com/docs/api-reference/chat) and its Responses API
// (https://platform.openai.com/docs/api-reference/responses) over net/http, with
// OpenAI itself and with every server that is compatible with it: Azure,
// Groq, OpenRouter, vLLM, Ollama, LM Studio, llama.cpp and many more. How
// a server differs is data: see [Profile].
//
//	m := openai.NewChat("gpt-5", openai.Options{APIKey: key})
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
package openai

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/internal/wire"
)

// WireChat is the name of the Chat Completions wire in [llm.Info] and
// [llm.Origin].
const WireChat = "openai-chat"

// Options configure a model.
type Options struct {
	APIKey  string // may be empty: local servers want none
	BaseURL string // default https://api.openai.com/v1; with or without the path of the wire
	// Query is added to the address, as Azure's api-version.
	Query url.Values
	// Info is what is assumed of the model. Provider defaults to [ProviderOf]
	// the base URL; Name and Wire are set by the constructor. On the wire of
	// Chat Completions a thinking style, of those of [Profile].Effort, counts
	// before the server's.
	Info llm.Info
	// Profile says how the server differs; nil is [ProfileOf] the provider.
	Profile *Profile
	Header  http.Header
	// CacheRetention is how long the server is asked to keep a prompt that it
	// caches, as "24h": prompt_cache_retention, of Responses alone. "" is the
	// server's default.
	CacheRetention string
	// Sign authenticates a request in the place of APIKey.
	Sign   func(*http.Request) error
	Client *http.Client  // nil: one shared by all
	Stall  time.Duration // silence that ends a request: 0 is 90 s, negative never
}

// Chat is a model on the Chat Completions wire. It is safe for concurrent use.
type Chat struct {
	opts    Options
	info    llm.Info
	url     string
	key     string // of encoded messages
	profile Profile

	lessons wire.Lessons
}

// NewChat makes the model of that name.
func NewChat(name string, opts Options) *Chat {
	if opts.BaseURL == "" {
		opts.BaseURL = "https://api.openai.com/v1"
	}
	info := opts.Info
	info.Name, info.Wire = name, WireChat
	if info.Provider == "" {
		info.Provider = ProviderOf(opts.BaseURL)
	}
	m := &Chat{opts: opts, info: info, url: address(opts.BaseURL, "/chat/completions", opts.Query)}
	if opts.Profile != nil {
		m.profile = *opts.Profile
		m.profile.defaults()
	} else {
		m.profile = ProfileOf(info.Provider)
	}
	m.info.Traits = search(info.Traits, m.profile.Search)
	m.lessons = wire.LessonsOf(m.url, name, opts.APIKey, chatFields()...)
	m.key = fmt.Sprintf("%s %s %s %+v %+v", WireChat, info.Provider, name, m.profile, info.Traits)
	return m
}

// address is where the requests go: a query that the base URL has stays one.
func address(base, path string, query url.Values) string {
	base, q, _ := strings.Cut(base, "?")
	base = strings.TrimSuffix(strings.TrimRight(base, "/"), path) + path
	if enc := query.Encode(); enc != "" {
		if q != "" {
			q += "&"
		}
		q += enc
	}
	if q != "" {
		base += "?" + q
	}
	return base
}

// FromEnv is the Options that the variables of OpenAI's own clients describe:
// OPENAI_API_KEY, OPENAI_BASE_URL, OPENAI_ORG_ID and OPENAI_PROJECT_ID. Pass
// [os.Getenv]; nothing in this package reads the environment by itself. The
// key is taken whatever the base URL is, as both are set by the same hand.
func FromEnv(getenv func(string) string) Options {
	o := Options{APIKey: getenv("OPENAI_API_KEY"), BaseURL: getenv("OPENAI_BASE_URL")}
	for name, v := range map[string]string{
		"OpenAI-Organization": getenv("OPENAI_ORG_ID"),
		"OpenAI-Project":      getenv("OPENAI_PROJECT_ID"),
	} {
		if v != "" {
			if o.Header == nil {
				o.Header = http.Header{}
			}
			o.Header.Set(name, v)
		}
	}
	return o
}

// Info is [llm.Model].Info.
func (m *Chat) Info() llm.Info { return m.info }

// Stream is [llm.Model].Stream.
func (m *Chat) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return wire.Sequence(
		func() (*wire.Stream, error) {
			if err := m.tooLong(req); err != nil {
				return nil, err
			}
			return m.post(ctx, req)
		},
		func(s *wire.Stream) wire.Decoder {
			d := newDecoder(m.info, s)
			if m.profile.Cuts {
				return uncut{d, m, llm.Estimate(req)}
			}
			return d
		},
	)
}

// post sends the request. A field that a compatible server refuses by name is
// left out or renamed, once and for good.
func (m *Chat) post(ctx context.Context, req *llm.Request) (*wire.Stream, error) {
	return m.lessons.Post(ctx, m.url, func() (*wire.Body, error) { return m.body(req) }, wire.Options{
		Provider: m.info.Provider, Model: m.info.Name, Client: m.opts.Client,
		Key: m.opts.APIKey, KeyHeader: m.profile.KeyHeader, Header: m.opts.Header,
		Sign: m.opts.Sign, Stall: m.opts.Stall,
	})
}

// chatFields are what may be left out, or sent under another name.
func chatFields() []wire.Optional {
	return []wire.Optional{
		{Name: "max_completion_tokens"},
		{Name: "max_tokens"},
		{Name: "temperature"},
		{Name: "stream_options"},
		{Name: "reasoning_effort", Said: []string{"reasoningeffort"}},
		{Name: "prompt_cache_key"},
		{Name: "safety_identifier"},
		{Name: "user"},
		wire.RefusedHosted("tools"),
	}
}
