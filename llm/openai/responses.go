package openai

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/internal/wire"
)

// WireResponses is the name of the Responses wire in [llm.Info] and
// [llm.Origin].
const WireResponses = "openai-responses"

// Responses is a model on the Responses wire. It is stateless: the server is
// asked to store nothing, and every request has the whole conversation. The
// items of an answer, among them encrypted reasoning and those of tools that
// the server ran, go back to the same model as they came, each beside those
// that it belongs to.
//
// The wire has no stop sequences: a request that asks for some is refused. Of
// [llm.Request].MaxTokens it takes no less than 16. It is safe for concurrent
// use.
type Responses struct {
	opts    Options
	info    llm.Info
	url     string
	key     string // of encoded messages
	profile Profile

	lessons wire.Lessons
	plain   atomic.Bool // it could not read reasoning items
}

// NewResponses makes the model of that name.
func NewResponses(name string, opts Options) *Responses {
	if opts.BaseURL == "" {
		opts.BaseURL = "https://api.openai.com/v1"
	}
	info := opts.Info
	info.Name, info.Wire = name, WireResponses
	if info.Provider == "" {
		info.Provider = ProviderOf(opts.BaseURL)
	}
	m := &Responses{opts: opts, info: info, url: responsesAddress(opts.BaseURL, info.Provider, opts.Query)}
	if opts.Profile != nil {
		m.profile = *opts.Profile
		m.profile.defaults()
	} else {
		m.profile = ProfileOf(info.Provider)
	}
	m.info.Traits = search(info.Traits, m.profile.ResponsesSearch)
	m.lessons = wire.LessonsOf(m.url, name, opts.APIKey, responsesFields()...)
	m.key = fmt.Sprintf("%s %s %s %+v %+v", WireResponses, info.Provider, name, m.profile, info.Traits)
	return m
}

// responsesAddress is where the requests go. Azure's addresses come in several
// forms; one of a deployment is for other calls, as this one names it in the
// body.
func responsesAddress(base, provider string, query url.Values) string {
	base, q, ask := strings.Cut(base, "?")
	base = strings.TrimSuffix(strings.TrimRight(base, "/"), "/chat/completions")
	if provider == "azure" {
		if i := strings.Index(base, "/deployments/"); i >= 0 {
			base = base[:i]
		}
		if u, err := url.Parse(base); err == nil && u.Host != "" && u.Path == "" {
			base += "/openai/v1"
		}
	}
	if ask {
		base += "?" + q
	}
	return address(base, "/responses", query)
}

// Info is [llm.Model].Info.
func (m *Responses) Info() llm.Info { return m.info }

// Stream is [llm.Model].Stream.
func (m *Responses) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return wire.Sequence(
		func() (*wire.Stream, error) { return m.post(ctx, req) },
		func(s *wire.Stream) wire.Decoder { return newResponseDecoder(m, s, req) },
	)
}

// responsesFields are what may be left out of a request.
func responsesFields() []wire.Optional {
	return []wire.Optional{
		{Name: "reasoning.summary", In: "reasoning", Said: []string{"reasoning summaries"}},
		{Name: "reasoning.effort", In: "reasoning", Said: []string{"reasoning effort"}},
		{Name: "reasoning"},
		{Name: "include", Said: []string{"encrypted content is not supported"}},
		{Name: "store"},
		{Name: "tool_search", In: "tools", Said: []string{"defer_loading"}},
		{Name: "max_output_tokens"},
		{Name: "temperature"},
		{Name: "prompt_cache_key"},
		{Name: "prompt_cache_retention"},
		{Name: "safety_identifier"},
		{Name: "user"},
		wire.RefusedHosted("tools"),
	}
}

// post sends the request. A field that a server refuses by name is left out,
// once and for good, and so are the reasoning items that it cannot read, as of
// another account.
func (m *Responses) post(ctx context.Context, req *llm.Request) (*wire.Stream, error) {
	var sent *wire.Body
	encode := func() (body *wire.Body, err error) {
		sent, err = m.body(req)
		return sent, err
	}
	for {
		s, err := m.lessons.Post(ctx, m.url, encode, wire.Options{
			Provider: m.info.Provider, Model: m.info.Name, Client: m.opts.Client,
			Key: m.opts.APIKey, KeyHeader: m.profile.KeyHeader, Header: m.opts.Header,
			Sign: m.opts.Sign, Stall: m.opts.Stall,
		})
		if err == nil || !unreadable(err) {
			return s, err
		}
		m.plain.Store(true)
		if again, failed := m.body(req); failed != nil || bytes.Equal(again.Bytes(), sent.Bytes()) {
			return nil, err
		}
	}
}

// unreadable reports whether the server cannot decrypt the reasoning that it
// got back, or looks for it in a store: a history that holds such an item would
// otherwise never be answered again.
func unreadable(err error) bool {
	var e *llm.Error
	if !errors.As(err, &e) || e.Kind != llm.KindInvalidRequest && e.Kind != llm.KindNotFound {
		return false
	}
	said := strings.ToLower(e.Message)
	return e.Code == "invalid_encrypted_content" || strings.Contains(said, "items are not persisted") ||
		strings.Contains(said, "encrypted content") && (strings.Contains(said, "could not be verified") || strings.Contains(said, "decrypt"))
}

var dated = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`[-@](20\d\d-\d\d-\d\d|20\d{6}|latest)$`)
})

// family is a model's name without its date: encrypted reasoning holds within
// it.
func family(name string) string { return dated().ReplaceAllString(name, "") }

// native reports whether the items of a message may go back to this model.
func (m *Responses) native(o *llm.Origin) bool {
	return o != nil && o.Wire == WireResponses && o.Provider == m.info.Provider && family(o.Model) == family(m.info.Name)
}
