// Package gemini speaks the Gemini API (generateContent, version v1beta,
// https://ai.google.dev/api/generate-content), over net/http: Google AI Studio
// with a key, and, with [Options.Path] and [Options.Sign], Vertex AI.
//
//	m := gemini.New("gemini-3-pro-preview", gemini.Options{APIKey: key})
//	resp, err := llm.Generate(ctx, m, &llm.Request{
//		Messages: []llm.Message{llm.UserText("Why is the sky blue?")},
//	})
//	if err != nil {
//		return err
//	}
//	fmt.Println(resp.Message.Text())
//
// It reads no environment and knows no model: what is to be assumed about one
// comes in [Options.Info]. Only what the generations of models differ in is
// told by the number in the name: from 3 on, a model takes images within the
// result of a tool and a schema for the answer beside tools, and wants
// signatures with its calls.
//
// Signatures of thoughts go back in the part that they came in. The prompt is
// cached by the provider itself where its start is the same; nothing is stored
// there explicitly.
package gemini

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/internal/wire"
)

// Wire is the name of this wire in [llm.Info], [llm.Origin], [llm.Native] and
// [llm.Request.Extra]. Of the extra fields, those in generationConfig and
// toolConfig are merged with what the adapter sets there, and tools are added
// to those of the request.
const Wire = "gemini"

// KeyVariables are the environment variables that [FromEnv] asks for, in
// order.
func KeyVariables() []string { return []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"} }

// Options configure a model. The zero value is for the public API.
type Options struct {
	// APIKey goes in the x-goog-api-key header; with none, and no Sign,
	// requests are sent without a key.
	APIKey string
	// BaseURL is https://generativelanguage.googleapis.com by default; with or
	// without a version at its end, which is /v1beta where there is none.
	BaseURL string
	// Info is what is assumed of the model. Provider defaults to "google"; Name
	// and Wire are set by New. The thinking styles are "budget", a number of
	// tokens, and "level", an effort in words; the default is "level" from
	// generation 3 on, and "budget" for models before it and those that have no
	// number. With "budget", the model's own word for an effort is the number.
	Info   llm.Info
	Header http.Header

	// Path replaces /v1beta/models/NAME, for clouds that serve this wire at
	// addresses of their own. What is asked for, as :streamGenerateContent,
	// follows it.
	Path string

	// Sign authenticates a request just before it is sent.
	Sign   func(*http.Request) error
	Client *http.Client // nil: one shared by all models
	// Stall is how long a server may send nothing before the request fails: 0
	// is 90 seconds, negative is for ever.
	Stall time.Duration
}

// Model is a model on this wire. It is safe for concurrent use.
type Model struct {
	opts       Options
	info       llm.Info
	url        string // without what is asked for
	generation int    // 0 is unknown
	key        string // of encoded messages
	lessons    wire.Lessons
}

// New makes the model of that name, with or without "models/" before it.
func New(name string, opts Options) *Model {
	name = strings.TrimPrefix(name, "models/")
	if opts.BaseURL == "" {
		opts.BaseURL = "https://generativelanguage.googleapis.com"
	}
	base := strings.TrimRight(opts.BaseURL, "/")
	path := opts.Path
	if path == "" {
		path = "/v1beta"
		if version().MatchString(base) {
			path = ""
		}
		if strings.HasPrefix(name, "tunedModels/") {
			path += "/tunedModels/" + url.PathEscape(strings.TrimPrefix(name, "tunedModels/"))
		} else {
			path += "/models/" + url.PathEscape(name)
		}
	}
	info := opts.Info
	info.Name, info.Wire = name, Wire
	if info.Provider == "" {
		info.Provider = "google"
	}
	info.Traits = wire.Hosts(info.Traits, llm.HostedWebSearch)
	m := &Model{opts: opts, info: info, url: base + path, generation: generation(name)}
	m.lessons = wire.LessonsOf(m.url, name, opts.APIKey, optional()...)
	m.key = fmt.Sprintf("%s %s %s images=%t pdf=%t", Wire, info.Provider, family(name), info.Traits.Images, info.Traits.PDF)
	return m
}

// FromEnv is New with the key that getenv, such as [os.Getenv], has under the
// first of [KeyVariables] that is set. That there is none is an error.
func FromEnv(name string, getenv func(string) string, opts Options) (*Model, error) {
	names := KeyVariables()
	for _, v := range names {
		if opts.APIKey = strings.TrimSpace(getenv(v)); opts.APIKey != "" {
			return New(name, opts), nil
		}
	}
	return nil, fmt.Errorf("gemini: no API key: set %s", strings.Join(names, " or "))
}

// Info is [llm.Model].Info.
func (m *Model) Info() llm.Info { return m.info }

// Stream is [llm.Model].Stream.
func (m *Model) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return wire.Sequence(
		func() (*wire.Stream, error) {
			return m.post(ctx, ":streamGenerateContent?alt=sse", func() (*wire.Body, error) { return m.body(req) })
		},
		func(s *wire.Stream) wire.Decoder { return m.newDecoder(s) },
	)
}

// post sends what encode makes. A field that the endpoint refuses by name is left
// out, or thinking asked for otherwise, once and for good.
func (m *Model) post(ctx context.Context, what string, encode func() (*wire.Body, error)) (*wire.Stream, error) {
	return m.lessons.Post(ctx, m.url+what, encode, wire.Options{
		Provider: m.info.Provider, Model: m.info.Name, Client: m.opts.Client,
		Key: m.opts.APIKey, KeyHeader: "X-Goog-Api-Key", Header: wire.Headers(nil, m.opts.Header),
		Sign: m.opts.Sign, Stall: m.opts.Stall, Framing: wire.Array(),
	})
}

// vertex reports whether the model is served by Vertex AI, which numbers some
// things otherwise.
func (m *Model) vertex() bool { return strings.Contains(m.url, "/projects/") }

func pattern(s string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(s) })
}

var (
	version  = pattern(`/v1(alpha|beta)?\d*$`)
	numbered = pattern(`(?:^|[-/])gemini-(\d+)`)
	dated    = pattern(`(-preview|-latest|-exp|-\d{2}-\d{4}|-\d{3}|@[\w-]+)+$`)
)

// generation is the number in a model's name, or 0.
func generation(name string) int {
	n := 0
	if f := numbered().FindStringSubmatch(name); f != nil {
		n, _ = strconv.Atoi(f[1]) // too long a number is none
	}
	return n
}

// wantsSignatures reports whether the model refuses a turn whose first call has
// no signature: from generation 3 on, which is also what the names that stand
// for the latest stand for.
func (m *Model) wantsSignatures() bool {
	return m.generation >= 3 || m.generation == 0 && strings.HasSuffix(m.info.Name, "-latest")
}

// family is a model's name without its date and its stage: signatures hold
// within it.
func family(name string) string { return dated().ReplaceAllString(name, "") }

// native reports whether what a message keeps for its own wire may go back to
// this model.
func (m *Model) native(o *llm.Origin) bool {
	return o != nil && o.Wire == Wire && o.Provider == m.info.Provider && family(o.Model) == family(m.info.Name)
}
