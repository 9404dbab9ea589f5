// Package wire carries requests to providers and their answers back: it posts
// a body, tells a stream from a whole JSON body, watches over silence, and
// classifies failures. The adapters of all wires stand on it.
//
//	s, err := wire.Post(ctx, url, body, opts)
//	if err != nil {
//		return err // an *llm.Error, or the context's
//	}
//	defer s.Close()
//	for {
//		ev, err := s.Next()
//		…
//	}
package wire

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/cantle-dev/cantle/internal/x/sse"
	"github.com/cantle-dev/cantle/llm"
)

// Options say how to reach a provider.
type Options struct {
	Provider, Model string // for errors
	// Client does the requests; nil is one shared by all, with a connection
	// pool, HTTP proxies from the environment, and no overall time-out.
	Client *http.Client
	Header http.Header // sent as they are
	// Secrets are values that no error may show.
	Secrets []string
	// Sign, if not nil, authenticates the request just before it is sent.
	Sign func(*http.Request) error
	// Stall is how long nothing may come before the request is given up: 0 is
	// [DefaultStall], a negative value never.
	Stall time.Duration
}

// DefaultStall is the default of [Options.Stall].
const DefaultStall = 90 * time.Second

// Bounds of what is read whole.
const (
	maxError = 1 << 20
	maxWhole = 64 << 20
)

var shared = sync.OnceValue(func() *http.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost = 64
	t.MaxIdleConns = 256
	return &http.Client{Transport: t, CheckRedirect: sameHost}
})

// sameHost lets no redirect carry a key to another host.
func sameHost(req *http.Request, via []*http.Request) error {
	if len(via) >= 5 {
		return errors.New("too many redirects")
	}
	if first := via[0].URL; req.URL.Host != first.Host || (first.Scheme == "https" && req.URL.Scheme != "https") {
		return fmt.Errorf("redirected to %s: not followed, since the key would go along", req.URL.Host)
	}
	return nil
}

var errStalled = errors.New("stalled")

// Stream is an answer of status 2xx.
type Stream struct {
	Header http.Header
	ctx    context.Context
	cancel context.CancelCauseFunc
	watch  *watch
	body   io.ReadCloser
	opts   Options
	reader *sse.Reader
	whole  []byte
	isJSON bool
	done   bool
}

// Event is one event of a stream, or with Whole the whole JSON body.
type Event struct {
	Name  string
	Data  []byte // good until the next call of Next
	Whole bool
	Cut   bool // the stream ended in the middle of it
}

// Post sends body as JSON to addr. The error is an *llm.Error, or the
// context's cause when it ended. The caller closes the stream.
func Post(ctx context.Context, addr string, body []byte, opts Options) (*Stream, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	w := newWatch(opts.Stall, func() { cancel(errStalled) })
	s := &Stream{ctx: ctx, cancel: cancel, watch: w, opts: opts}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, addr, bytes.NewReader(body))
	if err != nil {
		cancel(nil)
		w.stop()
		return nil, s.fail(llm.KindInvalidRequest, fmt.Errorf("the base URL is not one: %s", hostOf(addr)))
	}
	for k, v := range opts.Header {
		req.Header[k] = v
	}
	req.Header.Set("Content-Type", "application/json")
	if req.Header.Get("Accept") == "" {
		req.Header.Set("Accept", "text/event-stream, application/json")
	}
	if opts.Sign != nil {
		if err := opts.Sign(req); err != nil {
			cancel(nil)
			w.stop()
			return nil, s.fail(llm.KindAuth, err)
		}
	}
	client := opts.Client
	if client == nil {
		client = shared()
	}
	resp, err := client.Do(req)
	if err != nil {
		err = s.netError(err, hostOf(addr))
		s.Close()
		return nil, err
	}
	s.Header = resp.Header
	s.body = resp.Body
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		b, _ := io.ReadAll(io.LimitReader(&watched{resp.Body, w}, maxError)) // what could be read is classified
		cause := s.ended()
		s.Close()
		if cause != nil {
			return nil, cause
		}
		return nil, s.name(Classify(resp.StatusCode, resp.Header, b))
	}
	if err := s.frame(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// frame tells by the first byte what the body is.
func (s *Stream) frame() error {
	br := bufio.NewReaderSize(&watched{s.body, s.watch}, 16<<10)
	for n := 1; ; n++ {
		head, err := br.Peek(n)
		if len(head) < n {
			if err == io.EOF {
				s.reader = sse.NewReader(br)
				return nil
			}
			return s.readError(err)
		}
		switch c := head[n-1]; c {
		case ' ', '\t', '\r', '\n', 0xEF, 0xBB, 0xBF:
			if n >= 16<<10 {
				_, _ = br.Discard(n)
				n = 0
			}
			continue
		case '{', '[':
			b, err := io.ReadAll(io.LimitReader(br, maxWhole+1))
			if err != nil {
				return s.readError(err)
			}
			if len(b) > maxWhole {
				return s.fail(llm.KindCorrupt, fmt.Errorf("the answer is larger than %d MiB", maxWhole>>20))
			}
			s.isJSON, s.whole = true, bytes.Trim(b, " \t\r\n\xef\xbb\xbf")
			return nil
		case '<':
			return s.fail(llm.KindCorrupt, errors.New("the server answered with a web page: is the base URL right?"))
		}
		s.reader = sse.NewReader(br)
		return nil
	}
}

// Next returns the next event. At the end of the stream it returns io.EOF; what
// that means the adapter knows. Other errors are an *llm.Error, or the
// context's cause.
func (s *Stream) Next() (Event, error) {
	if s.isJSON {
		if s.done {
			return Event{}, io.EOF
		}
		s.done = true
		return Event{Data: s.whole, Whole: true}, nil
	}
	ev, err := s.reader.Next()
	switch {
	case err == io.EOF:
		if cause := s.ended(); cause != nil {
			return Event{}, cause
		}
		return Event{}, io.EOF
	case errors.Is(err, sse.ErrTooLong):
		return Event{}, s.fail(llm.KindCorrupt, err)
	case err != nil:
		return Event{}, s.readError(err)
	}
	return Event{Name: ev.Name, Data: ev.Data, Cut: ev.Cut}, nil
}

// Close ends the request. It may be called more than once.
func (s *Stream) Close() {
	s.watch.stop()
	if s.body != nil {
		if s.done || s.reader == nil {
			// A little may be left, such as a last blank line: read, it gives
			// the connection back to the pool.
			_, _ = io.CopyN(io.Discard, s.body, 4<<10)
		}
		_ = s.body.Close() // nothing to do about it
	}
	s.cancel(context.Canceled)
}

// End tells the stream that its end mark was seen, so that Close may wait for
// the last bytes and keep the connection.
func (s *Stream) End() { s.done = true }

// RequestID is the provider's id of the request.
func (s *Stream) RequestID() string { return requestID(s.Header) }

// Truncated is the error for a stream that ended before its end mark.
func (s *Stream) Truncated() error {
	return s.fail(llm.KindTruncated, errors.New("the stream ended before the answer did"))
}

// Undecodable is the error for an event that is not JSON: a cut one ends the
// stream too early, any other is corrupt.
func (s *Stream) Undecodable(ev Event, err error) error {
	if ev.Cut {
		return s.Truncated()
	}
	return s.Corrupt("an event cannot be read: %v", err)
}

// Corrupt is the error for what cannot be understood.
func (s *Stream) Corrupt(format string, args ...any) error {
	return s.fail(llm.KindCorrupt, fmt.Errorf(format, args...))
}

// Failure is the error for an error object in a stream.
func (s *Stream) Failure(body []byte) *llm.Error {
	e := s.name(Classify(http.StatusOK, s.Header, body))
	e.RetryAfter = max(e.RetryAfter, 0)
	return e
}

func (s *Stream) name(e *llm.Error) *llm.Error {
	e.Provider, e.Model = s.opts.Provider, s.opts.Model
	for _, secret := range s.opts.Secrets {
		if len(secret) >= 4 {
			e.Message = strings.ReplaceAll(e.Message, secret, "[key]")
		}
	}
	return e
}

func (s *Stream) fail(k llm.Kind, err error) error {
	e := s.name(&llm.Error{Kind: k, Message: err.Error(), Err: err})
	if s.Header != nil {
		e.Status, e.RequestID = http.StatusOK, s.RequestID()
	}
	return e
}

// ended is the error for a context that ended, or nil.
func (s *Stream) ended() error {
	cause := context.Cause(s.ctx)
	switch {
	case cause == nil:
		return nil
	case errors.Is(cause, errStalled):
		return s.fail(llm.KindStalled, fmt.Errorf("nothing came for %v", s.watch.after))
	}
	return cause
}

func (s *Stream) readError(err error) error {
	if cause := s.ended(); cause != nil {
		return cause
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return s.Truncated()
	}
	return s.fail(llm.KindNetwork, fmt.Errorf("the connection broke: %w", plain(err)))
}

func (s *Stream) netError(err error, host string) error {
	if cause := s.ended(); cause != nil {
		return cause
	}
	err = plain(err)
	var dns *net.DNSError
	var op *net.OpError
	switch {
	case errors.As(err, &dns):
		err = fmt.Errorf("cannot find the host %s: check the base URL and the network", host)
	case errors.As(err, &op) && op.Op == "dial":
		err = fmt.Errorf("cannot connect to %s: %w: is the server running, and the base URL right?", host, op.Err)
	default:
		err = fmt.Errorf("%s: %w", host, err)
	}
	return s.fail(llm.KindNetwork, err)
}

// plain takes away the URL, which may hold a key.
func plain(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

func hostOf(addr string) string {
	u, err := url.Parse(addr)
	if err != nil || u.Host == "" {
		return "the base URL"
	}
	return u.Host
}

// watch calls a function when nothing was seen for a time.
type watch struct {
	after time.Duration
	timer *time.Timer
}

func newWatch(after time.Duration, fn func()) *watch {
	if after == 0 {
		after = DefaultStall
	}
	w := &watch{after: after}
	if after > 0 {
		w.timer = time.AfterFunc(after, fn)
	}
	return w
}

func (w *watch) seen() {
	if w.timer != nil {
		w.timer.Reset(w.after)
	}
}

func (w *watch) stop() {
	if w.timer != nil {
		w.timer.Stop()
	}
}

type watched struct {
	r io.Reader
	w *watch
}

func (w *watched) Read(b []byte) (int, error) {
	n, err := w.r.Read(b)
	if n > 0 {
		w.w.seen()
	}
	return n, err
}
