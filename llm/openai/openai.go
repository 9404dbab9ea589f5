// Package openai speaks OpenAI's Chat Completions API
// (https://platform.openai.com/docs/api-reference/chat) over net/http, with
// OpenAI itself and with every server that is compatible with it: Azure,
// Groq, OpenRouter, vLLM, Ollama, LM Studio, llama.cpp and many more. How
// a server differs is data: see [Profile].
//
//	m := openai.NewChat("gpt-5", openai.Options{APIKey: key})
//	resp, err := llm.Generate(ctx, m, &llm.Request{
//		Messages: []llm.Message{llm.UserText("Why is the sky blue?")},
//	})
//
// It reads no environment and knows no model: what is to be assumed about one
// comes in Options.Info.
package openai

import (
	"context"
	"errors"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
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
	BaseURL string // default https://api.openai.com/v1; with or without /chat/completions
	// Query is added to the address, as Azure's api-version.
	Query url.Values
	Info  llm.Info // Provider defaults to "openai"; Name and Wire are set by NewChat
	// Profile says how the server differs; nil is [ProfileOf] the provider.
	Profile *Profile
	Header  http.Header
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

	mu      sync.Mutex
	learned map[string]bool // fields that the server refused
}

// NewChat makes the model of that name.
func NewChat(name string, opts Options) *Chat {
	if opts.BaseURL == "" {
		opts.BaseURL = "https://api.openai.com/v1"
	}
	info := opts.Info
	info.Name, info.Wire = name, WireChat
	if info.Provider == "" {
		info.Provider = "openai"
	}
	m := &Chat{opts: opts, info: info, key: WireChat + " " + info.Provider + " " + name, learned: map[string]bool{}}
	if opts.Profile != nil {
		m.profile = *opts.Profile
	} else {
		m.profile = ProfileOf(info.Provider)
	}
	m.url = strings.TrimSuffix(strings.TrimRight(opts.BaseURL, "/"), "/chat/completions") + "/chat/completions"
	if len(opts.Query) > 0 {
		m.url += "?" + opts.Query.Encode()
	}
	return m
}

// Info is [llm.Model].Info.
func (m *Chat) Info() llm.Info { return m.info }

// Stream is [llm.Model].Stream.
func (m *Chat) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	var used atomic.Bool
	return func(yield func(llm.Event, error) bool) {
		if used.Swap(true) {
			yield(nil, llm.ErrUsed)
			return
		}
		m.stream(ctx, req, yield)
	}
}

func (m *Chat) stream(ctx context.Context, req *llm.Request, yield func(llm.Event, error) bool) {
	s, err := m.post(ctx, req)
	if err != nil {
		yield(nil, err)
		return
	}
	defer s.Close()
	d := newDecoder(m.info, s)
	for {
		ev, err := s.Next()
		switch {
		case err == io.EOF:
			err = d.eof()
		case err != nil:
		case ev.Whole:
			err = d.whole(ev.Data)
		default:
			err = d.event(ev)
		}
		for _, out := range d.out {
			if !yield(out, nil) {
				return
			}
		}
		d.out = d.out[:0]
		if err != nil {
			var e *llm.Error
			if errors.As(err, &e) && d.started {
				e.Partial = d.response()
			}
			yield(nil, err)
			return
		}
		if d.done {
			s.End()
			yield(llm.Done{Response: d.response()}, nil)
			return
		}
	}
}

// post sends the request. A field that a compatible server refuses by name is
// left out, once and for good.
func (m *Chat) post(ctx context.Context, req *llm.Request) (*wire.Stream, error) {
	for range 4 {
		body, err := m.body(req)
		if err != nil {
			return nil, &llm.Error{Kind: llm.KindInvalidRequest, Provider: m.info.Provider, Model: m.info.Name, Message: err.Error(), Err: err}
		}
		s, err := wire.Post(ctx, m.url, body, m.wireOptions())
		if err == nil || !m.learn(err) {
			return s, err
		}
	}
	return nil, &llm.Error{Kind: llm.KindInvalidRequest, Provider: m.info.Provider, Model: m.info.Name, Message: "the server refuses one field after another"}
}

// learnable are the fields that may be left out, or sent under another name.
var learnable = []string{"max_completion_tokens", "max_tokens", "temperature", "stream_options", "reasoning_effort", "parallel_tool_calls", "prompt_cache_key"}

// learn reports whether err says that a field is refused which was sent.
func (m *Chat) learn(err error) bool {
	var e *llm.Error
	if !errors.As(err, &e) || e.Kind != llm.KindInvalidRequest || e.Status != http.StatusBadRequest && e.Status != http.StatusUnprocessableEntity {
		return false
	}
	said := strings.ToLower(e.Message + " " + e.Param)
	if !refusal(said) {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, f := range learnable {
		// "'max_tokens' is not supported, use 'max_completion_tokens'": the
		// field that is refused comes first.
		i := strings.Index(said, f)
		if i < 0 && f == "reasoning_effort" {
			i = strings.Index(said, "reasoningeffort")
		}
		if i < 0 || m.learned[f] {
			continue
		}
		if other := strings.Index(said, "max_tokens"); f == "max_completion_tokens" && other >= 0 && other < i {
			continue
		}
		m.learned[f] = true
		return true
	}
	return false
}

func refusal(said string) bool {
	for _, w := range []string{"unsupported", "not support", "unrecognized", "unknown", "unexpected", "not permitted", "not allowed", "extra inputs", "extra fields", "deprecated", "invalid parameter"} {
		if strings.Contains(said, w) {
			return true
		}
	}
	return false
}

func (m *Chat) refused(field string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.learned[field]
}

func (m *Chat) wireOptions() wire.Options {
	h := http.Header{}
	for k, v := range m.opts.Header {
		h[http.CanonicalHeaderKey(k)] = v
	}
	o := wire.Options{
		Provider: m.info.Provider, Model: m.info.Name, Client: m.opts.Client,
		Header: h, Stall: m.opts.Stall, Sign: m.opts.Sign,
	}
	if key := m.opts.APIKey; key != "" {
		o.Secrets = []string{key}
		if m.profile.KeyHeader != "" {
			h.Set(m.profile.KeyHeader, key)
		} else {
			h.Set("Authorization", "Bearer "+key)
		}
	}
	return o
}
