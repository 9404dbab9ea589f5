package llmtest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cantle-dev/cantle/llm"
)

// Server is a loopback model server. It speaks Anthropic Messages and OpenAI
// Chat Completions, streamed and whole, and takes the wire from the path. It
// checks each request as the provider would, answers 400 to one that the
// provider would refuse, and then fails the test too: see [Server.Tolerate].
//
// Usage is reported as if the provider's prompt cache were there: prefixes of
// 1,024 tokens and more, keyed by content, at cache marks on Messages and
// everywhere on Chat Completions.
type Server struct {
	// URL is "http://127.0.0.1:port".
	URL string

	t      testing.TB
	player Player
	http   *http.Server
	done   chan struct{}
	once   sync.Once
	cache  promptCache

	mu       sync.Mutex
	tolerant bool
	models   []string
	key      string
	calls    int
	requests []*Exchange
	thought  map[string]bool // ids of calls that came after thinking
}

// NewServer starts a Server for a test, which closes it.
func NewServer(t testing.TB, p Player) *Server {
	t.Helper()
	s, err := listen(t, "127.0.0.1:0", p)
	if err != nil {
		t.Fatal(err)
		return nil
	}
	t.Cleanup(s.Close)
	return s
}

// Listen starts a Server outside tests on a loopback address such as
// "127.0.0.1:0". The caller closes it.
func Listen(addr string, p Player) (*Server, error) { return listen(nil, addr, p) }

func listen(t testing.TB, addr string, p Player) (*Server, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("llmtest: address %q: %w", addr, err)
	}
	if !isLoopback(host) {
		return nil, fmt.Errorf("llmtest: address %q is not loopback: say 127.0.0.1", addr)
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("llmtest: %w", err)
	}
	s := &Server{
		URL: "http://" + l.Addr().String(), t: t, player: p, done: make(chan struct{}),
		models: []string{"test-model"}, thought: map[string]bool{},
	}
	s.http = &http.Server{Handler: http.HandlerFunc(s.serve)}
	go func() { _ = s.http.Serve(l) }()
	return s, nil
}

// Close stops the server and breaks every connection. It may be called twice.
func (s *Server) Close() {
	s.once.Do(func() {
		close(s.done)
		_ = s.http.Close()
	})
}

// BaseURL is the address that clients of a wire are given: URL for Messages,
// URL/v1 for Chat Completions.
func (s *Server) BaseURL(wire string) string {
	if wire == WireChat {
		return s.URL + "/v1"
	}
	return s.URL
}

// Tolerate lets tests send requests that a provider refuses: the answer is
// still 400, but the test does not fail.
func (s *Server) Tolerate() { s.set(func() { s.tolerant = true }) }

// SetModels sets what /v1/models lists; at first that is "test-model".
func (s *Server) SetModels(names ...string) { s.set(func() { s.models = names }) }

// RequireKey answers 401 to requests without the key.
func (s *Server) RequireKey(key string) { s.set(func() { s.key = key }) }

func (s *Server) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// Requests returns the model calls so far, in order of arrival, also those
// that were refused.
func (s *Server) Requests() []*Exchange {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*Exchange(nil), s.requests...)
}

// Play makes a Player of steps. A request that does not satisfy what its step
// wants, or comes after the last, is answered 400 and fails the test; so do
// steps that are left at its end. Outside tests t is nil.
func Play(t testing.TB, steps ...Reply) Player {
	var mu sync.Mutex
	next := 0
	if t != nil {
		t.Cleanup(func() {
			mu.Lock()
			defer mu.Unlock()
			if next < len(steps) {
				t.Errorf("llmtest: %d of the %d steps are left", len(steps)-next, len(steps))
			}
		})
	}
	return func(e *Exchange) Reply {
		mu.Lock()
		defer mu.Unlock()
		if next >= len(steps) {
			err := fmt.Errorf("llmtest: request %d, but there are %d steps; the last message is %s", e.N, len(steps), brief(e.LastText()))
			if t != nil {
				t.Errorf("%v", err)
			}
			return Fail(&llm.Error{Kind: llm.KindInvalidRequest, Status: http.StatusBadRequest, Message: err.Error()})
		}
		next++
		return steps[next-1]
	}
}

// wire is how a Server speaks one provider's wire.
type wire interface {
	// decode fills e.Request, e.Model and e.Stream, and returns the prompt in
	// blocks. Its error is what the provider would say.
	decode(s *Server, e *Exchange) ([]block, error)
	marks() bool
	envelope(code int, kind llm.Kind, message string, id string) []byte
	frames(r Reply, m meta) (events, end []string)
	whole(r Reply, m meta) []byte
	failure(e *llm.Error, id string) string // an error in mid-stream
}

// meta is what an answer says apart from its parts.
type meta struct {
	id, model string
	usage     llm.Usage
	withUsage bool // the client asked for usage in the stream
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	path := strings.TrimRight(r.URL.Path, "/")
	var wr wire
	name := ""
	switch {
	case strings.HasSuffix(path, "/messages"), strings.HasSuffix(path, "/messages/count_tokens"):
		wr, name = messagesWire{}, WireAnthropic
	case strings.HasSuffix(path, "/chat/completions"):
		wr, name = chatWire{}, WireChat
	case strings.HasSuffix(path, "/models") && r.Method == http.MethodGet:
		s.listModels(w)
		return
	default:
		answer(w, http.StatusNotFound, chatWire{}.envelope(http.StatusNotFound, llm.KindNotFound, "no such address: "+r.Method+" "+r.URL.Path, ""))
		return
	}
	if r.Method != http.MethodPost {
		answer(w, http.StatusMethodNotAllowed, wr.envelope(http.StatusMethodNotAllowed, llm.KindInvalidRequest, "method "+r.Method+" is not allowed", ""))
		return
	}
	e := &Exchange{Wire: name, Method: r.Method, Path: r.URL.RequestURI(), Header: r.Header.Clone(), Body: body, Request: &llm.Request{}}
	var blocks []block
	if ct := r.Header.Get("Content-Type"); !strings.HasPrefix(ct, "application/json") {
		e.Err = fmt.Errorf("content-type: %q, not application/json", ct)
	} else {
		blocks, e.Err = wr.decode(s, e)
	}
	s.mu.Lock()
	key, tolerant := s.key, s.tolerant
	counting := strings.HasSuffix(path, "/count_tokens")
	if !counting {
		s.requests = append(s.requests, e)
		e.N = len(s.requests)
	}
	s.mu.Unlock()
	id := "req_" + strconv.Itoa(e.N)
	w.Header().Set("Request-Id", id)
	w.Header().Set("X-Request-Id", id)
	if key != "" && r.Header.Get("X-Api-Key") != key && r.Header.Get("Authorization") != "Bearer "+key {
		answer(w, http.StatusUnauthorized, wr.envelope(http.StatusUnauthorized, llm.KindAuth, "invalid key", id))
		return
	}
	if e.Err != nil {
		if s.t != nil && !tolerant {
			s.t.Errorf("llmtest: the provider would refuse request %d (%s): %v", e.N, e.Wire, e.Err)
		}
		answer(w, http.StatusBadRequest, wr.envelope(http.StatusBadRequest, llm.KindInvalidRequest, e.Err.Error(), id))
		return
	}
	if counting {
		var n int64
		for _, b := range blocks {
			n += b.tokens
		}
		answer(w, http.StatusOK, fmt.Appendf(nil, `{"input_tokens":%d}`, n))
		return
	}
	s.mu.Lock()
	e.Usage = s.cache.use(e.Model, blocks, wr.marks())
	s.mu.Unlock()
	reply := s.player(e)
	for _, m := range reply.want {
		if err := m(e.Request); err != nil {
			if s.t != nil {
				s.t.Errorf("llmtest: request %d: %v", e.N, err)
			}
			answer(w, http.StatusBadRequest, wr.envelope(http.StatusBadRequest, llm.KindInvalidRequest, err.Error(), id))
			return
		}
	}
	s.mu.Lock()
	reply = reply.named(func() string { s.calls++; return "call_" + strconv.Itoa(s.calls) })
	e.Reply = reply
	thought := false
	for _, p := range reply.parts {
		switch p := p.(type) {
		case llm.Thinking:
			thought = true
		case llm.ToolCall:
			s.thought[p.ID] = thought && wr.marks()
		}
	}
	s.mu.Unlock()
	s.reply(w, r, wr, e, reply, id)
}

func (s *Server) listModels(w http.ResponseWriter) {
	type model struct {
		ID     string `json:"id"`
		Object string `json:"object"`
		Type   string `json:"type"`
	}
	list := struct {
		Object string  `json:"object"`
		Data   []model `json:"data"`
	}{"list", []model{}}
	s.mu.Lock()
	for _, n := range s.models {
		list.Data = append(list.Data, model{n, "model", "model"})
	}
	s.mu.Unlock()
	b, _ := json.Marshal(list)
	answer(w, http.StatusOK, b)
}

func answer(w http.ResponseWriter, code int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(body)
}

// reply sends the answer, faults and all.
func (s *Server) reply(w http.ResponseWriter, req *http.Request, wr wire, e *Exchange, r Reply, id string) {
	for k, vs := range r.header {
		w.Header()[http.CanonicalHeaderKey(k)] = vs
	}
	switch {
	case r.fault == faultPlain:
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.WriteHeader(r.status)
		_, _ = io.WriteString(w, r.body)
		return
	case r.fault == faultStatus:
		answer(w, r.status, wr.envelope(r.status, kindOf(r.status), http.StatusText(r.status), id))
		return
	case r.fault == faultFail && len(r.parts) == 0:
		code := r.err.Status
		if code < 400 {
			code = statusOf(r.err.Kind)
		}
		kind := r.err.Kind
		if kind == "" {
			kind = kindOf(code)
		}
		if r.err.RetryAfter > 0 {
			w.Header().Set("Retry-After", RetryAfter(r.err.RetryAfter).Get("Retry-After"))
		}
		answer(w, code, wr.envelope(code, kind, message(r.err), id))
		return
	}
	m := meta{id: "msg_" + strconv.Itoa(e.N), model: e.Model, usage: e.Usage, withUsage: wantsUsage(e.Body)}
	if r.usage != nil {
		m.usage = *r.usage
	} else {
		m.usage.Output, m.usage.Reasoning = r.outputTokens()
	}
	out := &sender{w: w, ctx: req.Context(), done: s.done, cut: -1, bytes: -1, slow: r.delay}
	switch r.fault {
	case faultCut:
		out.cut = r.after
	case faultCutBytes:
		out.bytes = r.after
	}
	if r.whole || !e.Stream {
		w.Header().Set("Content-Type", "application/json")
		body := string(wr.whole(r, m))
		switch r.fault {
		case faultNone:
			if out.wait(r.pause) {
				out.send(body)
			}
		case faultCutBytes:
			out.send(body)
		case faultMalformed:
			out.send("{not json")
		case faultStall:
			out.stall()
		case faultTruncate:
			out.send(body[:len(body)/2])
		default:
			out.send(body[:len(body)/2])
			panic(http.ErrAbortHandler)
		}
		return
	}
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.Header().Set("Cache-Control", "no-cache")
	if r.fault == faultCut && r.after < 0 && len(r.parts) == 0 {
		panic(http.ErrAbortHandler)
	}
	out.send("")
	events, end := wr.frames(r, m)
	for _, f := range events {
		if !out.event(f) {
			return
		}
	}
	if !out.wait(r.pause) {
		return
	}
	switch r.fault {
	case faultStall:
		out.stall()
		return
	case faultCut:
		if r.after < 0 {
			panic(http.ErrAbortHandler)
		}
	case faultTruncate:
		return
	case faultMalformed:
		out.send("data: {not json\n\n")
		return
	case faultFail:
		out.send(wr.failure(r.err, id))
		return
	}
	for _, f := range end {
		if !out.event(f) {
			return
		}
	}
}

// wantsUsage says whether a Chat Completions body asks for usage in the stream.
func wantsUsage(body []byte) bool {
	var o struct {
		StreamOptions struct {
			IncludeUsage bool `json:"include_usage"`
		} `json:"stream_options"`
	}
	return json.Unmarshal(body, &o) == nil && o.StreamOptions.IncludeUsage
}

func message(e *llm.Error) string {
	if e.Message != "" {
		return e.Message
	}
	if e.Err != nil {
		return e.Err.Error()
	}
	return strings.ReplaceAll(string(e.Kind), "_", " ")
}

// sender writes a body piece by piece and breaks off where it is told.
type sender struct {
	w     http.ResponseWriter
	ctx   context.Context
	done  chan struct{}
	cut   int // events left; -1 for no cut
	bytes int // bytes left; -1 for no cut
	slow  time.Duration
}

func (o *sender) event(f string) bool {
	if o.cut == 0 {
		panic(http.ErrAbortHandler)
	}
	if o.cut > 0 {
		o.cut--
	}
	if !o.wait(o.slow) {
		return false
	}
	return o.send(f)
}

func (o *sender) send(f string) bool {
	broken := false
	if o.bytes >= 0 {
		if len(f) > o.bytes {
			f, broken = f[:o.bytes], true
		}
		o.bytes -= len(f)
	}
	_, err := io.WriteString(o.w, f)
	if flusher, ok := o.w.(http.Flusher); ok {
		flusher.Flush()
	}
	if broken {
		panic(http.ErrAbortHandler)
	}
	return err == nil
}

// wait is false if the client went away or the server closed meanwhile.
func (o *sender) wait(d time.Duration) bool {
	if d <= 0 {
		return o.ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-o.ctx.Done():
		return false
	case <-o.done:
		return false
	case <-timer.C:
		return true
	}
}

func (o *sender) stall() {
	select {
	case <-o.ctx.Done():
	case <-o.done:
	}
}
