// Package ollama speaks Ollama's own API
// (https://github.com/ollama/ollama/blob/main/docs/api.md), over net/http.
// Unlike the OpenAI-compatible interface of the same server, it sets the size
// of the context window with each request, and has the server refuse a prompt
// that is longer, which otherwise it cuts without a word.
//
//	m := ollama.New("qwen3:4b", ollama.Options{Info: llm.Info{Context: 32768}})
//	resp, err := llm.Generate(ctx, m, &llm.Request{
//		Messages: []llm.Message{llm.UserText("Why is the sky blue?")},
//	})
//	if err != nil {
//		return err
//	}
//	fmt.Println(resp.Message.Text())
//
// It reads no environment and knows no model: what is to be assumed about one
// comes in Options.Info, and [Model.Show] asks the server.
//
// The wire has no tool choice: for one tool that must be called only that one
// is sent, for none no tools are, and that any must be called is not enforced.
// A done_reason that is not known is the [llm.StopReason] as it came.
package ollama

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

// Wire is the name of this wire in [llm.Info], [llm.Origin] and
// [llm.Request.Extra].
const Wire = "ollama"

// DefaultContext is the window that a model on a server of one's own is given
// where none is asked for. The server's default is half of it.
const DefaultContext = 8192

// Options configure a model. The zero value is for a server on this machine.
type Options struct {
	APIKey  string // for ollama.com; local servers want none
	BaseURL string // default http://127.0.0.1:11434; with or without /api/chat or /v1
	// Info is what is assumed of the model. Provider defaults to "ollama"; Name
	// and Wire are set by New. Context is the window that the server is asked
	// to load the model with: 0 is [DefaultContext]. It takes memory. Of a model
	// that is [Hosted] it is asked for by NumCtx alone. The
	// thinking styles are "switch", which thinks or does not and is the
	// default, and "levels", an effort in words.
	Info llm.Info
	// NumCtx, if not 0, goes before Info.Context; negative leaves the window to
	// the server.
	NumCtx int
	// KeepAlive is how long the server keeps the model loaded after an answer:
	// 0 is the server's default, negative is for ever.
	KeepAlive time.Duration
	Header    http.Header
	// Sign authenticates a request in the place of APIKey.
	Sign   func(*http.Request) error
	Client *http.Client // nil: one shared by all
	// Stall is how long the server may send nothing before the request fails:
	// 0 is 10 minutes, since one that loads a model, or reads a long prompt
	// without a GPU, says nothing meanwhile; negative is for ever.
	Stall time.Duration
}

const defaultStall = 10 * time.Minute

// Model is a model on this wire. It is safe for concurrent use.
type Model struct {
	opts   Options
	info   llm.Info
	base   string
	hosted bool
	numCtx int    // 0: not sent
	key    string // of encoded messages

	lessons wire.Lessons
}

// New makes the model of that name.
func New(name string, opts Options) *Model {
	if opts.Stall == 0 {
		opts.Stall = defaultStall
	}
	info := opts.Info
	info.Name, info.Wire = name, Wire
	if info.Provider == "" {
		info.Provider = "ollama"
	}
	m := &Model{opts: opts, base: address(opts.BaseURL), hosted: Hosted(opts.BaseURL, name)}
	switch {
	case opts.NumCtx > 0:
		info.Context = opts.NumCtx
	case info.Context == 0 && !m.hosted:
		info.Context = DefaultContext
	}
	if opts.NumCtx > 0 || opts.NumCtx == 0 && !m.hosted {
		m.numCtx = info.Context
	}
	info.Traits = wire.Hosts(info.Traits) // it runs none
	m.info = info
	m.lessons = wire.LessonsOf(m.base+chatPath, name, opts.APIKey, optional()...)
	m.key = fmt.Sprintf("%s %s %s images=%t", Wire, info.Provider, name, info.Traits.Images)
	return m
}

// Hosted reports whether the model of that name runs at ollama.com, where windows
// are not the client's to set and an answer is not free: asked there, or through
// a server of one's own, which passes on what ends in "-cloud" or ":cloud".
func Hosted(baseURL, name string) bool {
	u, err := url.Parse(baseURL)
	host := ""
	if err == nil {
		host = u.Hostname()
	}
	return host == "ollama.com" || strings.HasSuffix(host, ".ollama.com") || strings.HasSuffix(name, "-cloud") || strings.HasSuffix(name, ":cloud")
}

// address is the server's, whichever of its interfaces the base URL is of.
func address(base string) string {
	if base == "" {
		base = "http://127.0.0.1:11434"
	}
	base = strings.TrimRight(base, "/")
	for _, tail := range []string{"/chat", "/api", "/v1"} {
		base = strings.TrimSuffix(base, tail)
	}
	return base
}

// Info is [llm.Model].Info.
func (m *Model) Info() llm.Info { return m.info }

// Stream is [llm.Model].Stream.
func (m *Model) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return wire.Sequence(
		func() (*wire.Stream, error) {
			if err := m.tooLong(req); err != nil {
				return nil, err
			}
			s, err := m.lessons.Post(ctx, m.base+chatPath, func() (*wire.Body, error) { return m.body(req) }, m.request())
			return s, m.explain(err)
		},
		func(s *wire.Stream) wire.Decoder { return newDecoder(m, s, req) },
	)
}

const chatPath = "/api/chat"

func (m *Model) request() wire.Options {
	return wire.Options{
		Provider: m.info.Provider, Model: m.info.Name, Client: m.opts.Client, Framing: wire.NDJSON(),
		Key: m.opts.APIKey, Header: m.opts.Header, Sign: m.opts.Sign, Stall: m.opts.Stall,
	}
}

// The names by which refused fields are remembered.
const (
	fieldLevel       = "think value" // an effort in words, where true and false are taken
	fieldThink       = "think"
	fieldTemperature = "temperature"
	fieldKeepAlive   = "keep_alive"
)

// optional are what may be left out, or sent otherwise. The window is not: to
// leave it out would cut prompts.
func optional() []wire.Optional {
	return []wire.Optional{
		{Name: fieldLevel, In: "think", Said: []string{fieldLevel}},
		{Name: fieldThink, Said: []string{"not support thinking", "thinking is not supported"}},
		{Name: fieldTemperature, In: "options"},
		{Name: fieldKeepAlive},
	}
}
