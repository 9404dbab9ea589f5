// Package wire is what the adapters for HTTP wires share: it sends a request,
// finds out how the answer is framed, watches it for stalls, and turns every
// failure into an [llm.Error].
//
// A wire of its own writes an encoder, a [Decoder], and:
//
//	func (m *Model) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
//		return wire.Sequence(func() (*wire.Stream, error) {
//			var body wire.Body
//			body.Value("model", m.name)
//			body.Pieces("messages", encode(req.Messages))
//			if err := body.Merge(req.Extra[Wire]); err != nil {
//				return nil, wire.Invalid(m.info, err)
//			}
//			return wire.Post(ctx, m.url, body.Join(), m.wireOptions())
//		}, func(s *wire.Stream) wire.Decoder { return &decoder{s: s} })
//	}
package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cantle-dev/cantle/llm"
)

// DefaultStall is how long a server may send nothing when [Options.Stall] is 0.
const DefaultStall = 90 * time.Second

const (
	maxErrorBody = 1 << 20
	maxHeader    = 1 << 20
	maxRedirects = 5
)

// Options say how a request is sent. The zero value is usable.
type Options struct {
	// Provider and Model are named in errors.
	Provider, Model string
	// Client sends the request; nil is a client that all adapters share: it
	// pools connections, speaks HTTP/2, and leaves proxies to net/http, which
	// reads HTTP_PROXY, HTTPS_PROXY and NO_PROXY once. A Client with a
	// Transport of its own ignores them unless that asks for them.
	// Redirects to another host are refused whatever the Client says.
	Client *http.Client
	// Key is sent as Authorization: Bearer or, where KeyHeader names a header,
	// as it is in that. With none, and no Sign, nothing is sent.
	Key, KeyHeader string
	// Header is added to the request, over the headers that Post sets itself.
	// A header without a value takes one of those out.
	Header http.Header
	// Framing is how a stream is split into events; the zero Framing is that of
	// server-sent events.
	Framing Framing
	// Secrets are values that no error may show, besides Key and those that are
	// found in the headers, the query and the user of the request.
	Secrets []string
	// Sign is called last, to authenticate the request. It may read the body
	// through GetBody. Its error ends the call.
	Sign func(*http.Request) error
	// Stall is how long not one byte may pass in either direction before the
	// call fails as [llm.KindStalled]; 0 is [DefaultStall], negative is for
	// ever. It is not a limit for the whole answer, and the time that the
	// caller takes between two calls of [Stream.Next] does not count.
	Stall time.Duration
}

var sharedClient = sync.OnceValue(func() *http.Client {
	dialer := &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Client{Transport: &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           dialer.DialContext,
		ForceAttemptHTTP2:     true,
		MaxIdleConns:          128,
		MaxIdleConnsPerHost:   32,
		IdleConnTimeout:       90 * time.Second,
		TLSHandshakeTimeout:   20 * time.Second,
		ExpectContinueTimeout: time.Second,
		// There is no time-out for headers or answers: a model may think for
		// long. Options.Stall is about silence.
		MaxResponseHeaderBytes: maxHeader,
		// A pooled connection that died while the machine slept is found out.
		HTTP2: &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second},
	}}
})

// Invalid is the error for a request that cannot be put into a body.
func Invalid(info llm.Info, err error) error {
	return &llm.Error{Kind: llm.KindInvalidRequest, Provider: info.Provider, Model: info.Name, Message: err.Error(), Err: err}
}

// Headers are those of own and of user, whose count where both have one. Names
// may be in any case.
func Headers(own, user http.Header) http.Header {
	out := http.Header{}
	for _, h := range []http.Header{own, user} {
		for k, vs := range h {
			out[http.CanonicalHeaderKey(k)] = vs
		}
	}
	return out
}

// Post sends body as JSON and returns the stream of a 2xx answer, which the
// caller must close. Any other outcome is an error: what the context's cause
// is if ctx ended, else an [*llm.Error]. No error holds a key, a query or
// anything else that was sent to authenticate.
func Post(ctx context.Context, rawURL string, body Pieces, opts Options) (*Stream, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	w := newWatch(ctx, opts.Stall)
	s := &Stream{provider: opts.Provider, model: opts.Model, framing: opts.Framing, watch: w}
	if err := s.post(ctx, rawURL, body, opts); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (s *Stream) post(ctx context.Context, rawURL string, body Pieces, opts Options) error {
	req, err := s.request(rawURL, body, opts)
	if err != nil {
		return err
	}
	base := opts.Client
	if base == nil {
		base = sharedClient()
	}
	client := *base
	client.CheckRedirect = refuseOtherHosts(base.CheckRedirect)

	s.watch.start()
	resp, err := client.Do(req)
	fired := s.watch.stop()
	if err != nil {
		if resp != nil {
			resp.Body.Close()
		}
		return s.sendError(ctx, err, fired)
	}
	s.body = resp.Body
	s.status, s.Header = resp.StatusCode, resp.Header
	if resp.StatusCode >= 200 && resp.StatusCode < 300 {
		return nil
	}
	text, err := io.ReadAll(io.LimitReader(s.reader(), maxErrorBody))
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	e := s.classify(text)
	if e.Kind == llm.KindAuth && !s.keyed {
		e.NoKey, e.Message = true, strings.TrimSpace(e.Message+" (no key was sent)")
	}
	if e.Kind == llm.KindNotFound && e.Code == "" && e.Type == "" { // it may be the address that is wrong
		e.Message = strings.TrimSpace(e.Message + " (asked at " + s.redact.clean(showURL(req.URL)) + ")")
	}
	return e
}

func (s *Stream) request(rawURL string, body Pieces, opts Options) (*http.Request, error) {
	req, err := http.NewRequestWithContext(s.watch.ctx, http.MethodPost, rawURL, nil)
	if err != nil {
		return nil, s.fail(llm.KindInvalidRequest, "the base URL is not a valid URL", nil)
	}
	if (req.URL.Scheme != "https" && req.URL.Scheme != "http") || req.URL.Host == "" {
		return nil, s.fail(llm.KindInvalidRequest, "the base URL "+showURL(req.URL)+" is not an http or https URL with a host", nil)
	}
	s.host = req.URL.Host
	req.GetBody = func() (io.ReadCloser, error) {
		return &upload{rest: body, w: s.watch}, nil
	}
	req.Body, _ = req.GetBody()
	req.ContentLength = int64(body.Len())
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("User-Agent", "cantle")
	if opts.Key != "" && opts.KeyHeader != "" {
		req.Header.Set(opts.KeyHeader, opts.Key)
	} else if opts.Key != "" {
		req.Header.Set("Authorization", "Bearer "+opts.Key)
	}
	for k, vs := range opts.Header {
		req.Header[http.CanonicalHeaderKey(k)] = vs
	}
	s.keyed = opts.Key != "" || opts.Sign != nil || carriesSecret(req)
	if opts.Sign != nil {
		if err := opts.Sign(req); err != nil {
			s.redact = newRedactor(req, slices.Concat(opts.Secrets, []string{opts.Key}))
			var le *llm.Error
			if s.watch.parent.Err() != nil {
				return nil, context.Cause(s.watch.parent)
			} else if errors.As(err, &le) {
				return nil, err
			}
			return nil, s.fail(llm.KindAuth, "cannot sign the request: "+err.Error(), err)
		}
	}
	s.redact = newRedactor(req, slices.Concat(opts.Secrets, []string{opts.Key}))
	return req, nil
}

func (s *Stream) sendError(ctx context.Context, err error, stalled bool) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if stalled {
		return s.stalled()
	}
	var refused *redirectError
	if errors.As(err, &refused) {
		return s.fail(llm.KindInvalidRequest, refused.Error(), refused)
	}
	// The URL in a *url.Error has the query, which may hold a key.
	var ue *url.Error
	if errors.As(err, &ue) {
		err = ue.Err
	}
	text, final := "cannot reach "+s.host+": "+err.Error(), true
	var cert *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	switch {
	case errors.As(err, &cert):
		text += "; where the server or a proxy has a certificate of its own, add its authority to those that the system trusts (SSL_CERT_FILE may name a file with it)"
	case errors.Is(err, http.ErrSchemeMismatch):
		text += "; write http:// in its address"
	default:
		final = errors.As(err, &record)
	}
	e := s.fail(llm.KindNetwork, text, err)
	e.NoRetry = final
	return e
}

// redirectError says where a server wanted the request, and with it the key,
// to go.
type redirectError struct{ to, why string }

func (e *redirectError) Error() string {
	return "the server redirects to " + e.to + ", " + e.why + ": set the base URL to the address that is meant"
}

// refuseOtherHosts lets through only redirects that keep the scheme, the host
// and the method: headers such as x-api-key would go along to anywhere.
func refuseOtherHosts(next func(*http.Request, []*http.Request) error) func(*http.Request, []*http.Request) error {
	return func(req *http.Request, via []*http.Request) error {
		first := via[0]
		switch {
		case !strings.EqualFold(req.URL.Host, first.URL.Host) || req.URL.Scheme != first.URL.Scheme:
			return &redirectError{showURL(req.URL), "to which the key is not sent"}
		case req.Method != first.Method:
			return &redirectError{showURL(req.URL), "which drops the request's body"}
		case len(via) > maxRedirects:
			return &redirectError{showURL(req.URL), fmt.Sprintf("after %d redirects", maxRedirects)}
		}
		if next != nil {
			return next(req, via)
		}
		return nil
	}
}

// showURL is u without user, query and fragment.
func showURL(u *url.URL) string {
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}
