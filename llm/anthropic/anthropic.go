// Package anthropic speaks the Anthropic Messages API, version 2023-06-01
// (https://docs.anthropic.com/en/api/messages), over net/http.
//
//	m := anthropic.New("claude-opus-4-8", anthropic.Options{APIKey: key})
//	resp, err := llm.Generate(ctx, m, &llm.Request{
//		Messages: []llm.Message{llm.UserText("Why is the sky blue?")},
//	})
//	if err != nil {
//		return err
//	}
//	fmt.Println(resp.Message.Text())
//
// It reads no environment and knows no model: what is to be assumed about one
// comes in [Options.Info].
package anthropic

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
const Wire = "anthropic"

// KeyVariable is the environment variable that [FromEnv] asks for.
const KeyVariable = "ANTHROPIC_API_KEY"

const defaultPath = "/v1/messages"

// Options configure a model. The zero value is for the public API.
type Options struct {
	// APIKey goes in the x-api-key header; with none, and no Sign, requests
	// are sent without a key, as servers at home want them.
	APIKey  string
	BaseURL string // default https://api.anthropic.com; with or without /v1
	// Info is what is assumed of the model. Provider defaults to "anthropic";
	// Name and Wire are set by New. The thinking styles are "budget", a number
	// of tokens, which is the default, and "adaptive", an effort in words.
	Info    llm.Info
	Version string   // the anthropic-version header; default 2023-06-01
	Beta    []string // of the anthropic-beta header
	Header  http.Header

	// NoCache leaves cache marks out. With them, the tools, the system prompt
	// and the end of the conversation are marked for the provider's prompt
	// cache. CacheTTL is how long it keeps them: "" is 5 minutes, "1h" an hour.
	NoCache  bool
	CacheTTL string

	// Path replaces /v1/messages. BodyVersion, if set, is sent in the body as
	// anthropic_version, and the model, which is then in the path, and the
	// anthropic-version header are left out. Both are for clouds that serve
	// this wire at addresses of their own.
	Path        string
	BodyVersion string
	// CountPath is where such a cloud counts tokens; with "" they are
	// estimated. The model is then named in the body.
	CountPath string
	// Framing is how such a cloud splits a stream, where that is not into
	// server-sent events. Then the path says that there is to be a stream, and
	// the body does not, and Beta goes in the body as anthropic_beta.
	Framing wire.Framing

	// Sign authenticates a request just before it is sent.
	Sign   func(*http.Request) error
	Client *http.Client // nil: one shared by all models
	// Stall is how long a server may send nothing, pings included, before the
	// request fails: 0 is 90 seconds, negative is for ever.
	Stall time.Duration
}

// Model is a model on this wire. It is safe for concurrent use.
type Model struct {
	opts Options
	info llm.Info
	base string
	key  string // of encoded messages

	lessons wire.Lessons
}

// New makes the model of that name.
func New(name string, opts Options) *Model {
	if opts.BaseURL == "" {
		opts.BaseURL = "https://api.anthropic.com"
	}
	if opts.Version == "" {
		opts.Version = "2023-06-01"
	}
	if opts.Path == "" {
		opts.Path = defaultPath
	}
	info := opts.Info
	info.Name, info.Wire = name, Wire
	if info.Provider == "" {
		info.Provider = "anthropic"
	}
	info.Traits = wire.Hosts(info.Traits, llm.HostedWebSearch)
	m := &Model{opts: opts, info: info, base: strings.TrimRight(opts.BaseURL, "/")}
	if strings.HasPrefix(opts.Path, "/v1/") {
		m.base = strings.TrimRight(strings.TrimSuffix(m.base, "/v1"), "/")
	}
	m.lessons = wire.LessonsOf(m.base+opts.Path, name, opts.APIKey, append(wire.ClaudeFields("thinking", "output_config"),
		wire.Optional{Name: "temperature"}, wire.Optional{Name: "metadata"}, wire.RefusedHosted("tools"))...)
	m.key = fmt.Sprintf("%s %s %s images=%t pdf=%t fetch=%t", Wire, info.Provider, family(name), info.Traits.Images, info.Traits.PDF, opts.Framing.New == nil)
	return m
}

// FromEnv is New with the key that getenv, such as [os.Getenv], has under
// [KeyVariable]. That there is none is an error.
func FromEnv(name string, getenv func(string) string, opts Options) (*Model, error) {
	opts.APIKey = strings.TrimSpace(getenv(KeyVariable))
	if opts.APIKey == "" {
		return nil, fmt.Errorf("anthropic: no API key: set %s", KeyVariable)
	}
	return New(name, opts), nil
}

// Info is [llm.Model].Info.
func (m *Model) Info() llm.Info { return m.info }

// Stream is [llm.Model].Stream.
func (m *Model) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return wire.Sequence(
		func() (*wire.Stream, error) { return m.post(ctx, req, m.opts.Path, false) },
		func(s *wire.Stream) wire.Decoder { return newDecoder(m.info, s) },
	)
}

// post sends req to that path, for an answer or to count its tokens.
// A field that the endpoint refuses by name is left out, or thinking asked for
// otherwise, once and for good.
func (m *Model) post(ctx context.Context, req *llm.Request, path string, count bool) (*wire.Stream, error) {
	own := http.Header{}
	if m.opts.BodyVersion == "" {
		own.Set("Anthropic-Version", m.opts.Version)
	}
	if len(m.opts.Beta) > 0 && m.opts.Framing.New == nil {
		own.Set("Anthropic-Beta", strings.Join(m.opts.Beta, ","))
	}
	encode := func() (*wire.Body, error) { return m.body(req, count) }
	return m.lessons.Post(ctx, m.base+path, encode, wire.Options{
		Provider: m.info.Provider, Model: m.info.Name, Client: m.opts.Client,
		Key: m.opts.APIKey, KeyHeader: "X-Api-Key", Header: wire.Headers(own, m.opts.Header),
		Sign: m.opts.Sign, Stall: m.opts.Stall, Framing: m.opts.Framing,
	})
}
