package llmtest

import (
	"fmt"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/cantle-dev/cantle/llm"
)

// Server is a loopback model server. It speaks every wire named by a constant
// such as [WireAnthropic], streamed and whole, and takes the wire from the path. It
// checks each request as the provider would, answers 400 to one that the
// provider would refuse, and then fails the test too: see [Server.Tolerate].
//
// Usage is reported as if the provider's prompt cache were there, keyed by
// content: at cache marks on Messages and Converse and everywhere on the other
// wires, from the provider's least length on and in its steps.
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
	provider string // "" is the one that the wire is named after
	models   []string
	key      string
	calls    int
	requests []*Exchange
	thought  map[string]bool // by callKey: the calls that came after thinking
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

// BaseURL is the address that clients of a wire are given: URL/v1 for the two
// of OpenAI, URL/v1beta for Gemini, and URL for the others.
func (s *Server) BaseURL(wire string) string {
	switch wire {
	case WireChat, WireResponses:
		return s.URL + "/v1"
	case WireGemini:
		return s.URL + "/v1beta"
	}
	return s.URL
}

// Elapse lets d pass for the prompt cache, whose entries end when they were
// not read for their time to live. Nothing else reads that clock.
func (s *Server) Elapse(d time.Duration) { s.set(func() { s.cache.now += d }) }

// Tolerate lets tests send requests that a provider refuses: the answer is
// still 400, but the test does not fail.
func (s *Server) Tolerate() { s.set(func() { s.tolerant = true }) }

// SetProvider says which provider of a wire is played, where those differ. At
// first that is the one whose wire it is. Of Responses, "openai" alone wants back
// the ids of items in its own form.
func (s *Server) SetProvider(name string) { s.set(func() { s.provider = name }) }

// plays reports whether name is the provider that is played.
func (s *Server) plays(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.provider == "" || s.provider == name
}

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
