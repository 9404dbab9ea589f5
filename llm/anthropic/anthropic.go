// Package anthropic speaks the Anthropic Messages API, version 2023-06-01
// (https://docs.anthropic.com/en/api/messages), over net/http.
//
//	m := anthropic.New("claude-opus-4-8", anthropic.Options{APIKey: key})
//	resp, err := llm.Generate(ctx, m, &llm.Request{
//		Messages: []llm.Message{llm.UserText("Why is the sky blue?")},
//	})
//
// It reads no environment and knows no model: what is to be assumed about one
// comes in Options.Info.
package anthropic

import (
	"context"
	"errors"
	"io"
	"iter"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/internal/wire"
)

// Wire is the name of this wire in [llm.Info] and [llm.Origin].
const Wire = "anthropic"

// Options configure a model.
type Options struct {
	APIKey  string
	BaseURL string   // default https://api.anthropic.com
	Info    llm.Info // Provider defaults to "anthropic"; Name and Wire are set by New
	Version string   // the anthropic-version header; default 2023-06-01
	Beta    []string // anthropic-beta headers
	Header  http.Header

	// NoCache leaves cache marks out. With them, the tools, the system prompt
	// and the end of the conversation are marked for the provider's prompt
	// cache. CacheTTL is how long it keeps them: "" is 5 minutes, "1h" an hour.
	NoCache  bool
	CacheTTL string

	// Adaptive says that the model takes an effort rather than a budget of
	// thinking tokens.
	Adaptive bool

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
}

// New makes the model of that name.
func New(name string, opts Options) *Model {
	if opts.BaseURL == "" {
		opts.BaseURL = "https://api.anthropic.com"
	}
	if opts.Version == "" {
		opts.Version = "2023-06-01"
	}
	info := opts.Info
	info.Name, info.Wire = name, Wire
	if info.Provider == "" {
		info.Provider = "anthropic"
	}
	base := strings.TrimSuffix(strings.TrimRight(opts.BaseURL, "/"), "/v1")
	return &Model{opts: opts, info: info, url: base + "/v1/messages", key: Wire + " " + info.Provider + " " + family(name)}
}

// Info is [llm.Model].Info.
func (m *Model) Info() llm.Info { return m.info }

// Stream is [llm.Model].Stream.
func (m *Model) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	var used atomic.Bool
	return func(yield func(llm.Event, error) bool) {
		if used.Swap(true) {
			yield(nil, llm.ErrUsed)
			return
		}
		m.stream(ctx, req, yield)
	}
}

func (m *Model) stream(ctx context.Context, req *llm.Request, yield func(llm.Event, error) bool) {
	body, err := m.body(req)
	if err != nil {
		yield(nil, &llm.Error{Kind: llm.KindInvalidRequest, Provider: m.info.Provider, Model: m.info.Name, Message: err.Error(), Err: err})
		return
	}
	s, err := wire.Post(ctx, m.url, body, m.wireOptions())
	if err != nil {
		yield(nil, err)
		return
	}
	defer s.Close()
	d := newDecoder(m.info, s)
	for {
		ev, err := s.Next()
		if err == io.EOF {
			err = s.Truncated()
		}
		if err != nil {
			yield(nil, d.partial(err))
			return
		}
		if ev.Whole {
			err = d.whole(ev.Data)
		} else {
			err = d.event(ev)
		}
		for _, out := range d.out {
			if !yield(out, nil) {
				return
			}
		}
		d.out = d.out[:0]
		if err != nil {
			yield(nil, d.partial(err))
			return
		}
		if d.done {
			s.End()
			yield(llm.Done{Response: d.response()}, nil)
			return
		}
	}
}

func (m *Model) wireOptions() wire.Options {
	h := http.Header{}
	for k, v := range m.opts.Header {
		h[http.CanonicalHeaderKey(k)] = v
	}
	h.Set("Anthropic-Version", m.opts.Version)
	for _, b := range m.opts.Beta {
		h.Add("Anthropic-Beta", b)
	}
	o := wire.Options{
		Provider: m.info.Provider, Model: m.info.Name, Client: m.opts.Client,
		Header: h, Stall: m.opts.Stall, Sign: m.opts.Sign,
	}
	if m.opts.APIKey != "" {
		h.Set("X-Api-Key", m.opts.APIKey)
		o.Secrets = []string{m.opts.APIKey}
	}
	return o
}

// partial adds to an error what had come before it.
func (d *decoder) partial(err error) error {
	var e *llm.Error
	if errors.As(err, &e) && d.started {
		e.Partial = d.response()
	}
	return err
}
