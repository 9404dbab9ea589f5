package wire_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/internal/wire"
)

const secret = "topsecret-0123456789"

// signed are options with the key in every place where keys go.
func signed() wire.Options {
	return wire.Options{Provider: "acme", Model: "m1", Header: headers("X-Api-Key", secret, "X-Other", "7"), Sign: func(r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+secret+"-bearer")
		return nil
	}}
}

func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv.URL
}

// post drains an answer into lines of "name data", with a "!" for Whole and
// a "…" for Cut.
func post(t *testing.T, url string, opts wire.Options) (lines []string, err error) {
	t.Helper()
	s, err := wire.Post(t.Context(), url, wire.Pieces{[]byte(`{"a":`), []byte("1}")}, opts)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	for {
		ev, err := s.Next()
		if err == io.EOF {
			return lines, nil
		}
		if err != nil {
			if _, again := s.Next(); again != err {
				t.Errorf("then Next returned %v", again)
			}
			return lines, err
		}
		line := ev.Name + " " + string(ev.Data)
		if ev.Whole {
			line += "!"
		}
		if ev.Cut {
			line += "…"
		}
		lines = append(lines, line)
	}
}

func TestRequestAndFraming(t *testing.T) {
	zipped := func(s string) string {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		_, _ = w.Write([]byte(s))
		_ = w.Close()
		return b.String()
	}
	tests := []struct {
		name, contentType, body, want string
		header                        http.Header
	}{
		{"stream", "text/event-stream", "event: x\ndata: 1\n\ndata: 2\n\n", "[x 1  2]", nil},
		{"stream without a content type", "", ": hi\n\ndata: 1\n\n", "[ 1]", nil},
		{"stream called JSON", "application/json", "data: 1\n\n", "[ 1]", nil},
		{"JSON", "application/json", `{"a":1}`, `[ {"a":1}!]`, nil},
		{"JSON called a stream", "text/event-stream", `{"a":1}`, `[ {"a":1}!]`, nil},
		{"JSON after blanks", "application/json", strings.Repeat(" \n\r\n\t", 9000) + `{"a":1}` + "\n", "[ {\"a\":1}\n!]", nil},
		{"JSON after a mark", "application/json", "\ufeff" + `[1]`, `[ [1]!]`, nil},
		{"stream after blanks", "", "\n\n\r\ndata: 1\n\n", "[ 1]", nil},
		{"stream after a mark", "", "\ufeffdata: 1\n\n", "[ 1]", nil},
		{"cut JSON", "", `{"a":`, `[ {"a":!…]`, nil},
		{"cut event", "", "data: 1\n\ndata: 2", `[ 1  2…]`, nil},
		{"nothing", "", "", "[]", nil},
		{"blanks", "", " \n ", "[]", nil},
		{"zipped", "text/event-stream", zipped("data: 1\n\n"), "[ 1]", headers("Content-Encoding", "gzip")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			url := serve(t, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				if r.Method != "POST" || string(body) != `{"a":1}` || r.ContentLength != 7 || r.Header.Get("Content-Type") != "application/json" ||
					r.Header.Get("X-Other") != "7" || r.Header.Get("Authorization") != "Bearer "+secret+"-bearer" {
					t.Errorf("%s %q %v", r.Method, body, r.Header)
				}
				for k := range tt.header {
					w.Header().Set(k, tt.header.Get(k))
				}
				w.Header()["Content-Type"] = []string{tt.contentType}
				_, _ = io.WriteString(w, tt.body)
			})
			got, err := post(t, url, signed())
			if err != nil || fmt.Sprint(got) != tt.want {
				t.Errorf("%q, %v; want %s", got, err, tt.want)
			}
		})
	}
}

// failure checks what holds for every error: its kind, that it names the
// provider and the model, and that no secret is in it.
func failure(t *testing.T, err error, kind llm.Kind, words ...string) *llm.Error {
	t.Helper()
	var e *llm.Error
	if !errors.As(err, &e) {
		t.Fatalf("not an *llm.Error: %v", err)
	}
	if e.Kind != kind || e.Provider != "acme" || e.Model != "m1" {
		t.Errorf("%+v, want a %s of acme:m1", e, kind)
	}
	all := fmt.Sprintf("%v %+v", err, *e)
	for err := error(e); err != nil; err = errors.Unwrap(err) {
		all += err.Error()
	}
	if strings.Contains(all, secret) {
		t.Errorf("the secret is in %s", all)
	}
	for _, w := range words {
		if !strings.Contains(e.Error(), w) {
			t.Errorf("%q is not in %q", w, e.Error())
		}
	}
	return e
}

func TestFailures(t *testing.T) {
	t.Run("status", func(t *testing.T) {
		url := serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Request-Id", "req_1")
			w.Header().Set("Retry-After", "3")
			w.WriteHeader(429)
			fmt.Fprintf(w, `{"error":{"type":"rate_limit_error","message":"key %s, %s and sk-abcdefghijklmnop1234 are too fast","code":%q}}`,
				secret, r.Header.Get("Authorization"), secret)
		})
		_, err := post(t, url, signed())
		e := failure(t, err, llm.KindRateLimit, "[redacted]", "are too fast", "(429)")
		if e.RequestID != "req_1" || e.RetryAfter != 3*time.Second || strings.Contains(e.Message, "sk-abc") {
			t.Errorf("%+v", e)
		}
	})
	t.Run("huge error", func(t *testing.T) {
		url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(500)
			for r := range 64 << 10 {
				if _, err := fmt.Fprintf(w, "%064d", r); err != nil {
					return
				}
			}
		})
		_, err := post(t, url, signed())
		failure(t, err, llm.KindServer)
	})
	t.Run("page", func(t *testing.T) {
		url := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html><title>Log in</title>") })
		_, err := post(t, url, signed())
		failure(t, err, llm.KindNotFound, "Log in", "base URL")
	})
	t.Run("unreachable", func(t *testing.T) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		_ = l.Close()
		_, err = post(t, "http://"+l.Addr().String()+"/v1?key="+secret, signed())
		if e := failure(t, err, llm.KindNetwork, l.Addr().String()); !e.Retryable() {
			t.Error("not retryable")
		}
	})
	t.Run("certificate", func(t *testing.T) {
		srv := httptest.NewUnstartedServer(http.NotFoundHandler())
		srv.Config.ErrorLog = discard()
		srv.StartTLS()
		defer srv.Close()
		_, err := post(t, srv.URL, signed())
		if e := failure(t, err, llm.KindNetwork, "certificate", "SSL_CERT_FILE"); e.Retryable() {
			t.Error("retryable")
		}
	})
	t.Run("no TLS", func(t *testing.T) {
		srv := httptest.NewServer(http.NotFoundHandler())
		defer srv.Close()
		_, err := post(t, "https"+strings.TrimPrefix(srv.URL, "http"), signed())
		if e := failure(t, err, llm.KindNetwork, "write http://"); e.Retryable() {
			t.Error("retryable")
		}
	})
	t.Run("no such path", func(t *testing.T) {
		srv := httptest.NewServer(http.NotFoundHandler())
		defer srv.Close()
		_, err := post(t, srv.URL+"/wrong/chat?x=y", signed())
		failure(t, err, llm.KindNotFound, "404 page not found (asked at "+srv.URL+"/wrong/chat)")
	})
	t.Run("no URL", func(t *testing.T) {
		for _, url := range []string{"api.example.com/v1", "ftp://x/", "http://", "http://a b/", "/v1"} {
			_, err := post(t, url, signed())
			failure(t, err, llm.KindInvalidRequest, "base URL")
		}
	})
	t.Run("sign", func(t *testing.T) {
		broken := errors.New("no token for " + secret)
		o := signed()
		o.Sign = func(*http.Request) error { return broken }
		_, err := post(t, "http://127.0.0.1:1/", o)
		failure(t, err, llm.KindAuth, "cannot sign", "no token for")
	})
	t.Run("hung up", func(t *testing.T) {
		url := serve(t, hijack(t, ""))
		_, err := post(t, url, signed())
		failure(t, err, llm.KindNetwork)
	})
	t.Run("broken in the middle", func(t *testing.T) {
		url := serve(t, hijack(t, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\ndata: 1\n\n\r\n"))
		got, err := post(t, url, signed())
		e := failure(t, err, llm.KindTruncated, "closed in the middle")
		if fmt.Sprint(got) != "[ 1]" || e.Status != 200 || !e.Retryable() {
			t.Errorf("%q %+v", got, e)
		}
	})
	t.Run("broken JSON body", func(t *testing.T) {
		url := serve(t, hijack(t, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"a\":"))
		_, err := post(t, url, signed())
		failure(t, err, llm.KindTruncated)
	})
	t.Run("endless event", func(t *testing.T) {
		if testing.Short() {
			t.Skip("32 MiB")
		}
		url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "data: ")
			chunk := bytes.Repeat([]byte("x"), 1<<20)
			for range 34 {
				if _, err := w.Write(chunk); err != nil {
					return
				}
			}
		})
		_, err := post(t, url, signed())
		failure(t, err, llm.KindCorrupt, "32 MiB")
	})
}

// hijack answers with raw bytes and hangs up.
func hijack(t *testing.T, raw string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = io.WriteString(conn, raw)
		_ = conn.Close()
	}
}

func TestRedirects(t *testing.T) {
	other := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("the request went to another host") })
	here := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/away":
			http.Redirect(w, r, other+"/x?key="+secret, http.StatusTemporaryRedirect)
		case "/get":
			http.Redirect(w, r, "/end", http.StatusFound)
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusPermanentRedirect)
		case "/moved":
			http.Redirect(w, r, "/end", http.StatusPermanentRedirect)
		default:
			body, _ := io.ReadAll(r.Body)
			fmt.Fprintf(w, `{"body":%q}`, body)
		}
	})
	for _, client := range []*http.Client{nil, {CheckRedirect: func(*http.Request, []*http.Request) error { return nil }}} {
		o := signed()
		o.Client = client
		_, err := post(t, here+"/away", o)
		failure(t, err, llm.KindInvalidRequest, "redirects to "+other+"/x", "set the base URL")
		_, err = post(t, here+"/get", o)
		failure(t, err, llm.KindInvalidRequest, "drops the request's body")
		_, err = post(t, here+"/loop", o)
		failure(t, err, llm.KindInvalidRequest, "5 redirects")
		if got, err := post(t, here+"/moved", o); err != nil || fmt.Sprint(got) != `[ {"body":"{\"a\":1}"}!]` {
			t.Errorf("%q, %v", got, err)
		}
	}
}

// fake is a transport that runs in the bubble of a synctest.
type fake func(*http.Request) (*http.Response, error)

func (f fake) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// piece is a part of an answer, after a wait.
type piece struct {
	wait time.Duration
	text string
}

func slow(header time.Duration, status int, pieces ...piece) *http.Client {
	return &http.Client{Transport: fake(func(r *http.Request) (*http.Response, error) {
		pause := func(d time.Duration) error {
			select {
			case <-time.After(d):
				return nil
			case <-r.Context().Done():
				return r.Context().Err()
			}
		}
		if err := pause(header); err != nil {
			return nil, err
		}
		pr, pw := io.Pipe()
		go func() {
			for _, p := range pieces {
				if err := pause(p.wait); err != nil {
					_ = pw.CloseWithError(err)
					return
				}
				if _, err := io.WriteString(pw, p.text); err != nil {
					return
				}
			}
			_ = pw.Close()
		}()
		return &http.Response{StatusCode: status, Header: http.Header{}, Body: pr, Request: r}, nil
	})}
}

func TestStall(t *testing.T) {
	const s = time.Second
	tests := []struct {
		name   string
		client *http.Client
		stall  time.Duration
		after  time.Duration // when it stalls; 0: not
	}{
		{"no headers", slow(time.Hour, 200), 0, 90 * s},
		{"no body", slow(s, 200, piece{time.Hour, "data: 1\n\n"}), 0, 91 * s},
		{"silence in the middle", slow(s, 200, piece{80 * s, "data: 1\n\n"}, piece{91 * s, "data: 2\n\n"}), 0, 171 * s},
		{"slow but alive", slow(89*s, 200, piece{89 * s, "data: 1\n\n"}, piece{89 * s, "data: 2\n\n"}), 0, 0},
		{"pings", slow(s, 200, piece{80 * s, ": ping\n\n"}, piece{80 * s, "\n"}, piece{80 * s, ":"}, piece{80 * s, "\n\ndata: 1\n\n"}), 0, 0},
		{"blanks before JSON", slow(s, 200, piece{80 * s, " "}, piece{80 * s, "\n"}, piece{80 * s, "{}"}), 0, 0},
		{"own limit", slow(s, 200, piece{3 * s, "data: 1\n\n"}), 2 * s, 3 * s},
		{"off", slow(s, 200, piece{24 * time.Hour, "data: 1\n\n"}), -1, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := signed()
				o.Client, o.Stall = tt.client, tt.stall
				start := time.Now()
				_, err := post(t, "http://acme.test/v1", o)
				if tt.after == 0 {
					if err != nil {
						t.Error(err)
					}
					return
				}
				limit := max(tt.stall, 0)
				if limit == 0 {
					limit = wire.DefaultStall
				}
				failure(t, err, llm.KindStalled, "acme.test", limit.String())
				if took := time.Since(start); took != tt.after {
					t.Errorf("after %v, want %v", took, tt.after)
				}
			})
		})
	}
}

// TestSlowConsumer checks that the time that the caller takes is not taken for
// silence of the server.
func TestSlowConsumer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := signed()
		o.Client = slow(time.Second, 200, piece{0, "data: 1\n\n"}, piece{0, "data: 2\n\n"})
		s, err := wire.Post(t.Context(), "http://acme.test/", nil, o)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		for i := range 2 {
			<-time.After(time.Hour) // of the bubble's clock
			if _, err := s.Next(); err != nil {
				t.Fatal(i, err)
			}
		}
	})
}

func TestStalledErrorBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := signed()
		o.Client = slow(time.Second, 503, piece{0, "busy"}, piece{time.Hour, "!"})
		_, err := post(t, "http://acme.test/", o)
		failure(t, err, llm.KindOverloaded, "busy")
	})
}

func TestCancel(t *testing.T) {
	why := errors.New("the user said so")
	for name, client := range map[string]*http.Client{
		"before headers": slow(time.Hour, 200),
		"in the body":    slow(0, 200, piece{0, "data: 1\n\n"}, piece{time.Hour, "x"}),
		"in an error":    slow(0, 500, piece{time.Hour, "x"}),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				time.AfterFunc(time.Second, func() { cancel(why) })
				o := signed()
				o.Client = client
				s, err := wire.Post(ctx, "http://acme.test/", nil, o)
				for err == nil {
					_, err = s.Next()
				}
				if err != why {
					t.Errorf("%v", err)
				}
				if s != nil {
					s.Close()
				}
			})
		})
	}
}

// TestReuse checks that a stream that was read to its end mark gives its
// connection back, and that one that stays open does not hold up Close.
func TestReuse(t *testing.T) {
	var conns atomic.Int32
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "data: 1\n\ndata: end\n\n")
		w.(http.Flusher).Flush()
		if r.URL.Path == "/open" {
			<-r.Context().Done()
		}
	}))
	srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			conns.Add(1)
		}
	}
	srv.Start()
	defer srv.Close()
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	ask := func(path string) {
		s, err := wire.Post(t.Context(), srv.URL+path, nil, wire.Options{Client: client})
		if err != nil {
			t.Fatal(err)
		}
		for {
			ev, err := s.Next()
			if err != nil {
				t.Fatal(err)
			}
			if string(ev.Data) == "end" {
				break
			}
		}
		s.End()
		s.Close()
		s.Close()
		if _, err := s.Next(); err != io.EOF {
			t.Errorf("after Close: %v", err)
		}
	}
	for range 3 {
		ask("/")
	}
	if conns.Load() != 1 {
		t.Errorf("%d connections for three requests", conns.Load())
	}
	ask("/open")
}

// Of a server that wants a key, the error says whether one was sent.
func TestNoKey(t *testing.T) {
	for name, tt := range map[string]struct {
		opts  wire.Options
		query string
		none  bool
	}{
		"nothing":          {wire.Options{}, "", true},
		"another header":   {wire.Options{Header: headers("X-Team", "a")}, "", true},
		"a key":            {wire.Options{Key: "k"}, "", false},
		"a key by header":  {wire.Options{Key: "k", KeyHeader: "X-Id"}, "", false},
		"a header's":       {wire.Options{Header: headers("X-Api-Key", "k")}, "", false},
		"one in the query": {wire.Options{}, "?key=k", false},
		"signed":           {wire.Options{Sign: func(*http.Request) error { return nil }}, "", false},
	} {
		for status, auth := range map[int]bool{http.StatusUnauthorized: true, http.StatusTooManyRequests: false} {
			url := serve(t, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "Unauthorized", status) })
			tt.opts.Provider, tt.opts.Model = "acme", "m1"
			_, err := post(t, url+tt.query, tt.opts)
			var e *llm.Error
			if !errors.As(err, &e) || e.NoKey != (tt.none && auth) || strings.Contains(e.Error(), "(no key was sent)") != e.NoKey {
				t.Errorf("%s, %d: %v", name, status, err)
			}
		}
	}
}
