package fetch_test

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
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/cantle-dev/cantle/internal/x/fetch"
)

// world is a server on loopback that stands for every host of the Internet.
type world struct {
	*httptest.Server
	o fetch.Options

	mu     sync.Mutex
	dialed []netip.AddrPort
}

func newWorld(t *testing.T, h http.HandlerFunc) *world {
	t.Helper()
	w := &world{Server: httptest.NewServer(h)}
	t.Cleanup(w.Close)
	w.o = fetch.Options{Resolve: answers("1.1.1.1"), Dial: func(ctx context.Context, a netip.AddrPort) (net.Conn, error) {
		w.mu.Lock()
		w.dialed = append(w.dialed, a)
		w.mu.Unlock()
		return new(net.Dialer).DialContext(ctx, "tcp", w.Listener.Addr().String())
	}}
	return w
}

func (w *world) get(t *testing.T, raw string) (*fetch.Page, error) {
	t.Helper()
	return fetch.New(w.o).Get(t.Context(), parse(t, raw), nil)
}

func parse(t *testing.T, raw string) *url.URL {
	t.Helper()
	u, err := fetch.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func typed(kind string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) { w.Header().Set("Content-Type", kind) }
}

func TestGet(t *testing.T) {
	w := newWorld(t, func(w http.ResponseWriter, r *http.Request) {
		typed("text/plain; charset=utf-8")(w)
		fmt.Fprintf(w, "%s %s %s %s %s", r.Method, r.Host, r.URL, r.UserAgent(), r.Header.Get("Cookie"))
	})
	w.o.UserAgent = "test/1 (+https://test.example)"
	p, err := w.get(t, "http://Name.Example.:8080/a%2Fb?c=%20d")
	if err != nil {
		t.Fatal(err)
	}
	if want := "GET name.example:8080 /a%2Fb?c=%20d test/1 (+https://test.example) "; string(p.Body) != want || p.Type != "text/plain; charset=utf-8" || p.Truncated {
		t.Errorf("%q, want %q: %+v", p.Body, want, p)
	}
	if len(w.dialed) != 1 || w.dialed[0].String() != "1.1.1.1:8080" {
		t.Errorf("dialled %v", w.dialed)
	}
}

// A name that stands for a public address when it is judged and for a private
// one a moment later: what was judged is dialled, and the next look-up is judged
// again.
func TestRebinding(t *testing.T) {
	w := newWorld(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/again" {
			w.Header().Set("Connection", "close") // so that a redirect dials anew
			http.Redirect(w, r, "/", http.StatusFound)
			return
		}
		io.WriteString(w, "hello")
	})
	n := 0
	w.o.Resolve = func(context.Context, string) ([]netip.Addr, error) {
		if n++; n == 1 {
			return []netip.Addr{netip.MustParseAddr("1.1.1.1")}, nil
		}
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
	}
	if _, err := w.get(t, "http://rebind.example/"); err != nil || n != 1 {
		t.Fatalf("%d look-ups: %v", n, err)
	}
	n = 0
	_, err := w.get(t, "http://rebind.example/again")
	if _, ok := errors.AsType[*fetch.BlockedError](err); !ok || n != 2 {
		t.Errorf("%d look-ups: %v", n, err)
	}
	for _, a := range w.dialed {
		if a.Addr().String() != "1.1.1.1" {
			t.Errorf("dialled %v", a)
		}
	}
}

// dnsServer answers each question with the next of the addresses, and says
// that its answers hold for no time at all.
func dnsServer(t *testing.T, addrs ...string) *net.Resolver {
	t.Helper()
	pc, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() { pc.Close(); <-done })
	go func() {
		defer close(done)
		buf, n := make([]byte, 1500), 0
		for {
			k, from, err := pc.ReadFrom(buf)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(buf[:k]) != nil || len(m.Questions) != 1 {
				continue
			}
			q := m.Questions[0]
			out := dnsmessage.Message{Header: dnsmessage.Header{ID: m.ID, Response: true, RecursionAvailable: true}, Questions: m.Questions}
			if q.Type == dnsmessage.TypeA {
				out.Answers = []dnsmessage.Resource{{
					Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class},
					Body:   &dnsmessage.AResource{A: netip.MustParseAddr(addrs[min(n, len(addrs)-1)]).As4()},
				}}
				n++
			}
			b, err := out.Pack()
			if err != nil {
				t.Error(err)
			}
			pc.WriteTo(b, from)
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", pc.LocalAddr().String())
	}}
}

// The same through a real resolver that asks a real server.
func TestRebindingOverDNS(t *testing.T) {
	w := newWorld(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") })
	r := dnsServer(t, "1.1.1.1", "127.0.0.1")
	w.o.Resolve = func(ctx context.Context, host string) ([]netip.Addr, error) {
		return r.LookupNetIP(ctx, "ip", host+".")
	}
	if p, err := w.get(t, "http://127.0.0.1.rebind.example/"); err != nil || string(p.Body) != "hello" {
		t.Fatalf("%v", err)
	}
	_, err := w.get(t, "http://127.0.0.1.rebind.example/")
	if e, ok := errors.AsType[*fetch.BlockedError](err); !ok || e.Addr.String() != "127.0.0.1" {
		t.Errorf("%v", err)
	}
	if len(w.dialed) != 1 || w.dialed[0].String() != "1.1.1.1:80" {
		t.Errorf("dialled %v", w.dialed)
	}
}

// With the dialler of its own, a client connects to loopback only if it may.
func TestOwnDialer(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") }))
	defer s.Close()
	u := parse(t, s.URL)
	if _, err := fetch.New(fetch.Options{}).Get(t.Context(), u, nil); err == nil {
		t.Error("loopback was reached")
	}
	p, err := fetch.New(fetch.Options{AllowPrivate: true}).Get(t.Context(), u, nil)
	if err != nil || string(p.Body) != "hello" {
		t.Error(err)
	}
	p, err = fetch.New(fetch.Options{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}}).Get(t.Context(), u, nil)
	if err != nil || string(p.Body) != "hello" {
		t.Error(err)
	}
}

func TestNoProxyOfTheEnvironment(t *testing.T) {
	asked := make(chan string, 10)
	proxy := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked <- r.URL.String() }))
	defer proxy.Close()
	for _, k := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"} {
		t.Setenv(k, proxy.URL)
	}
	w := newWorld(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "direct") })
	if p, err := w.get(t, "http://name.example/"); err != nil || string(p.Body) != "direct" {
		t.Error(err)
	}
	if len(asked) > 0 {
		t.Errorf("the proxy was asked for %s", <-asked)
	}
}

func TestRedirects(t *testing.T) {
	to := ""
	w := newWorld(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/out":
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusFound)
		case strings.HasPrefix(r.URL.Path, "/hop/"):
			n := 0
			fmt.Sscan(r.URL.Path[5:], &n)
			if n > 0 {
				http.Redirect(w, r, fmt.Sprintf("/hop/%d", n-1), http.StatusMovedPermanently)
				return
			}
			io.WriteString(w, "there")
		case r.URL.Path == "/loop":
			http.Redirect(w, r, "/loop", http.StatusTemporaryRedirect)
		case r.URL.Path == "/nowhere":
			w.WriteHeader(http.StatusFound)
		}
	})
	p, err := w.get(t, "http://a.example/hop/5")
	if err != nil || string(p.Body) != "there" || len(p.Redirects) != 5 || p.URL.String() != "http://a.example/hop/0" || p.Redirects[0].Path != "/hop/4" {
		t.Errorf("%+v: %v", p, err)
	}
	for _, path := range []string{"/hop/6", "/loop"} {
		if _, err := w.get(t, "http://a.example"+path); !is[*fetch.LoopError](err) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := w.get(t, "http://a.example/nowhere"); !is[*fetch.StatusError](err) {
		t.Error(err)
	}
	for _, bad := range []string{
		"http://169.254.169.254/", "//169.254.169.254/latest", "http://[::ffff:a9fe:a9fe]/", "http://localhost/", "http://127.0.0.1:8080/",
		"http://metadata.google.internal/", "http://10.0.0.1/",
	} {
		to = bad
		if _, err := w.get(t, "http://a.example/out"); !is[*fetch.BlockedError](err) {
			t.Errorf("%s: %v", bad, err)
		}
	}
	for _, bad := range []string{"file:///etc/passwd", "http://0x7f.1/", "http://user@a.example/", "http:///x", "javascript:alert(1)", "http://a\\@b/", "ht!tp://x"} {
		to = bad
		if _, err := w.get(t, "http://a.example/out"); !is[*fetch.URLError](err) {
			t.Errorf("%s: %v", bad, err)
		}
	}
	for from, there := range map[string]string{"http://b.example/x y?a b\n": "http://b.example/x%20y?a%20b", "//A.example.evil.example/": "http://a.example.evil.example/", "https://www.a.example/": "https://www.a.example/"} {
		to = from
		_, err := w.get(t, "http://a.example/out")
		if e, ok := errors.AsType[*fetch.RedirectError](err); !ok || e.To.String() != there || e.Status != 302 {
			t.Errorf("%s: %v", from, err)
		}
	}
	for _, a := range w.dialed {
		if a.String() != "1.1.1.1:80" {
			t.Errorf("dialled %v", a)
		}
	}
}

func is[T error](err error) bool { _, ok := errors.AsType[T](err); return ok }

// Over TLS: the certificate is checked against the name, and a redirect to
// http is not followed.
func TestTLS(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/down" {
			http.Redirect(w, r, "http://example.com/", http.StatusFound)
			return
		}
		io.WriteString(w, r.Proto)
	}))
	s.EnableHTTP2 = true
	s.Config.ErrorLog = nil
	s.StartTLS()
	defer s.Close()
	o := fetch.Options{Resolve: answers("1.1.1.1"), TLS: s.Client().Transport.(*http.Transport).TLSClientConfig}
	o.Dial = func(ctx context.Context, _ netip.AddrPort) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", s.Listener.Addr().String())
	}
	c := fetch.New(o)
	if p, err := c.Get(t.Context(), parse(t, "https://example.com/"), nil); err != nil || string(p.Body) != "HTTP/2.0" {
		t.Errorf("%v: %v", p, err)
	}
	if _, err := c.Get(t.Context(), parse(t, "https://example.com/down"), nil); !is[*fetch.RedirectError](err) {
		t.Error(err)
	}
}

// Headers with keys do not follow to another port or scheme of the host.
func TestHeadersStayAtTheirOrigin(t *testing.T) {
	var seen []string
	w := newWorld(t, func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, fmt.Sprint(r.Host, r.Header["X-Api-Key"], r.Header["Authorization"], r.Header["Private-Token"], r.Header["Cookie"], r.Header["Accept-Language"]))
		switch r.URL.Path {
		case "/same":
			http.Redirect(w, r, "/end", http.StatusFound)
		case "/other":
			http.Redirect(w, r, "http://a.example:81/back", http.StatusFound)
		case "/back":
			http.Redirect(w, r, "http://a.example/end", http.StatusFound)
		}
	})
	h := http.Header{"X-Api-Key": {"k"}, "Authorization": {"k"}, "private-token": {"k"}, "Cookie": {"k=k"}, "Accept-Language": {"en"}}
	for _, path := range []string{"/same", "/other"} {
		if _, err := fetch.New(w.o).Get(t.Context(), parse(t, "http://a.example"+path), h); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{
		"a.example[k] [k] [k] [k=k] [en]", "a.example[k] [k] [k] [k=k] [en]",
		"a.example[k] [k] [k] [k=k] [en]", "a.example:81[] [] [] [] [en]", "a.example[k] [k] [k] [k=k] [en]",
	}
	if fmt.Sprint(seen) != fmt.Sprint(want) {
		t.Errorf("%q", seen)
	}
}

func TestBodiesAreBounded(t *testing.T) {
	chunk := bytes.Repeat([]byte("a"), 64<<10)
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	for range 500 { // 32 MB
		z.Write(chunk)
	}
	z.Close()
	w := newWorld(t, func(w http.ResponseWriter, r *http.Request) {
		typed("text/plain")(w)
		switch r.URL.Path {
		case "/endless":
			for {
				if _, err := w.Write(chunk); err != nil {
					return
				}
			}
		case "/bomb":
			w.Header().Set("Content-Encoding", "gzip")
			w.Write(bomb.Bytes())
		case "/empty-members": // many gzip members with nothing in them
			w.Header().Set("Content-Encoding", "gzip")
			var none bytes.Buffer
			gzip.NewWriter(&none).Close()
			many := bytes.Repeat(none.Bytes(), 1000)
			for {
				if _, err := w.Write(many); err != nil {
					return
				}
			}
		case "/gzip":
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			io.WriteString(z, r.Header.Get("Accept-Encoding"))
			z.Close()
		case "/cut":
			w.Header().Set("Content-Encoding", "gzip")
			w.Write(bomb.Bytes()[:1000])
		case "/short":
			w.Header().Set("Content-Length", "100")
			io.WriteString(w, "ten bytes.")
		case "/br":
			w.Header().Set("Content-Encoding", "br")
		case "/exact":
			w.Write(make([]byte, 1000))
		}
	})
	for path, want := range map[string]int{"/endless": 2_000_000, "/bomb": 2_000_000, "/empty-members": 0} {
		p, err := w.get(t, "http://a.example"+path)
		if err != nil || len(p.Body) != want || !p.Truncated {
			t.Errorf("%s: %v", path, err)
		}
	}
	if p, err := w.get(t, "http://a.example/gzip"); err != nil || string(p.Body) != "gzip" || p.Truncated {
		t.Error(err)
	}
	for _, path := range []string{"/cut", "/short"} {
		if _, err := w.get(t, "http://a.example"+path); !is[*fetch.HostError](err) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := w.get(t, "http://a.example/br"); !is[*fetch.TypeError](err) {
		t.Error(err)
	}
	w.o.MaxBytes = 1000
	if p, err := w.get(t, "http://a.example/exact"); err != nil || len(p.Body) != 1000 || p.Truncated {
		t.Error(err)
	}
	w.o.MaxBytes = 999
	if p, err := w.get(t, "http://a.example/exact"); err != nil || len(p.Body) != 999 || !p.Truncated {
		t.Error(err)
	}
}

// A server that sends a byte now and then is bounded by the whole's time.
func TestTimeout(t *testing.T) {
	w := newWorld(t, func(w http.ResponseWriter, r *http.Request) {
		typed("text/plain")(w)
		if r.URL.Path == "/silent" {
			<-r.Context().Done()
			return
		}
		for {
			select {
			case <-r.Context().Done():
				return
			case <-time.After(time.Millisecond):
				w.Write([]byte("a"))
				w.(http.Flusher).Flush()
			}
		}
	})
	w.o.Timeout = 50 * time.Millisecond
	for _, path := range []string{"/drip", "/silent"} {
		if _, err := w.get(t, "http://a.example"+path); !is[*fetch.TimeoutError](err) {
			t.Errorf("%s: %v", path, err)
		}
	}
	w.o.Timeout = 0
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("the user went away")
	time.AfterFunc(20*time.Millisecond, func() { cancel(why) })
	if _, err := fetch.New(w.o).Get(ctx, parse(t, "http://a.example/drip"), nil); !errors.Is(err, why) {
		t.Error(err)
	}
}

func TestTypesAndStatuses(t *testing.T) {
	w := newWorld(t, func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		w.Header()["Content-Type"] = q["t"]
		status := 200
		fmt.Sscan(q.Get("s"), &status)
		w.Header().Set("Retry-After", "120")
		w.WriteHeader(status)
		io.WriteString(w, q.Get("b"))
	})
	for query, ok := range map[string]bool{
		"t=text/html": true, "t=text/x-anything": true, "t=application/json": true, "t=application/vnd.api%2Bjson": true,
		"t=application/atom%2Bxml;charset=utf-8": true, "t=application/pdf": true, "t=APPLICATION/JSON": true, "b=hello": true,
		"t=application/octet-stream&b=hello": true, "t=application/octet-stream&b=%2550DF-1.7": true, "b=%2525PDF-1.7": true,
		"t=image/png": false, "t=application/zip": false, "t=video/mp4": false, "t=application/octet-stream&b=%00%01%02": false,
		"b=%89PNG%0D%0A%1A%0A": false, "t=application/wasm": false, "t=bad": false,
	} {
		_, err := w.get(t, "http://a.example/?"+query)
		if (err == nil) != ok || err != nil && !is[*fetch.TypeError](err) {
			t.Errorf("%s: %v", query, err)
		}
	}
	for _, status := range []int{300, 304, 400, 401, 403, 404, 429, 500, 503, 529} {
		_, err := w.get(t, fmt.Sprintf("http://a.example/?t=text/html&s=%d&b=overloaded", status))
		e, ok := errors.AsType[*fetch.StatusError](err)
		if !ok || e.Status != status || e.RetryAfter != "120" {
			if status != 304 || !ok { // no body, no matter
				t.Errorf("%d: %v", status, err)
			}
		}
	}
}

func TestUnreachable(t *testing.T) {
	gone := errors.New("no such host")
	o := fetch.Options{Resolve: func(context.Context, string) ([]netip.Addr, error) { return nil, gone }}
	if _, err := fetch.New(o).Get(t.Context(), parse(t, "http://a.example/"), nil); !errors.Is(err, gone) || !is[*fetch.HostError](err) {
		t.Error(err)
	}
	o.Resolve = answers()
	if _, err := fetch.New(o).Get(t.Context(), parse(t, "http://a.example/"), nil); !is[*fetch.HostError](err) {
		t.Error(err)
	}
	// The first address that answers is used.
	w := newWorld(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "second") })
	w.o.Resolve = answers("2606:4700::1", "1.1.1.1")
	dial := w.o.Dial
	w.o.Dial = func(ctx context.Context, a netip.AddrPort) (net.Conn, error) {
		if a.Addr().Is6() {
			return nil, errors.New("no route")
		}
		return dial(ctx, a)
	}
	if p, err := w.get(t, "http://a.example/"); err != nil || string(p.Body) != "second" {
		t.Error(err)
	}
}
