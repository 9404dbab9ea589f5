package proxy_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cantle-dev/cantle/sandbox/proxy"
)

// world is what the proxy finds: names, and one server behind every address
// that is not of this machine.
type world struct {
	names  map[string][]string
	server string

	mu     sync.Mutex
	dialed []string
	denied []string
}

func (w *world) options(domains ...string) proxy.Options {
	return proxy.Options{
		Domains: domains,
		Denied: func(host, why string) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.denied = append(w.denied, host+": "+why)
		},
		Resolve: func(_ context.Context, host string) ([]netip.Addr, error) {
			var out []netip.Addr
			for _, a := range w.names[host] {
				out = append(out, netip.MustParseAddr(a))
			}
			if out == nil {
				return nil, errors.New("no such host")
			}
			return out, nil
		},
		Dial: func(ctx context.Context, a netip.AddrPort) (net.Conn, error) {
			w.mu.Lock()
			w.dialed = append(w.dialed, a.String())
			w.mu.Unlock()
			var d net.Dialer
			return d.DialContext(ctx, "tcp", w.server)
		},
	}
}

func start(t *testing.T, o proxy.Options) string {
	t.Helper()
	p, err := proxy.New(o)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { p.Serve(l); close(done) }()
	t.Cleanup(func() { p.Close(); <-done })
	return l.Addr().String()
}

func newWorld(t *testing.T, tls bool) (*world, *http.Client) {
	h := http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { fmt.Fprintf(rw, "%s %s", r.Host, r.URL.Path) })
	srv := httptest.NewUnstartedServer(h)
	if tls {
		srv.StartTLS()
	} else {
		srv.Start()
	}
	t.Cleanup(srv.Close)
	w := &world{server: srv.Listener.Addr().String(), names: map[string][]string{
		"example.com": {"8.8.8.8"}, "www.example.com": {"8.8.4.4"}, "evil.com": {"9.9.9.9"}, "notexample.com": {"9.9.9.9"},
		"inside.example.com": {"10.0.0.1"}, "both.example.com": {"8.8.8.8", "127.0.0.1"}, "meta.example.com": {"169.254.169.254"},
	}}
	return w, srv.Client()
}

func TestPlain(t *testing.T) {
	w, c := newWorld(t, false)
	at := start(t, w.options("example.com", "*.example.com"))
	c.Transport.(*http.Transport).Proxy = http.ProxyURL(&url.URL{Scheme: "http", Host: at})
	for _, tc := range []struct {
		url    string
		status int
		body   string
	}{
		{"http://example.com/a", 200, "example.com /a"},
		{"http://EXAMPLE.com./a", 200, "example.com /a"},
		{"http://www.example.com:8080/b", 200, "www.example.com:8080 /b"},
		{"http://evil.com/", 403, "not on the list"},
		{"http://notexample.com/", 403, "not on the list"},
		{"http://example.com.evil.com/", 403, "not on the list"},
		{"http://inside.example.com/", 403, "private"},
		{"http://both.example.com/", 403, "loopback"},
		{"http://meta.example.com/", 403, "credentials"},
		{"http://127.0.0.1:8080/", 403, "not on the list"},
		{"http://[::1]:8080/", 403, "not on the list"},
		{"http://gone.example.com/", 502, "no such host"},
	} {
		resp, err := c.Get(tc.url)
		if err != nil {
			t.Errorf("%s: %v", tc.url, err)
			continue
		}
		b, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != tc.status || !strings.Contains(string(b), tc.body) {
			t.Errorf("%s: %d %s", tc.url, resp.StatusCode, b)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if want := []string{"8.8.8.8:80", "8.8.4.4:8080"}; !slices.Equal(slices.Compact(slices.Clone(w.dialed)), want) {
		t.Errorf("dialled %v, want %v", w.dialed, want)
	}
	if len(w.denied) != 8 {
		t.Errorf("%d denials were reported: %v", len(w.denied), w.denied)
	}
}

func TestConnect(t *testing.T) {
	w, c := newWorld(t, true)
	at := start(t, w.options("example.com"))
	tr := c.Transport.(*http.Transport)
	tr.Proxy = http.ProxyURL(&url.URL{Scheme: "http", Host: at})
	resp, err := c.Get("https://example.com/x") // a name that the test server's certificate has
	if err != nil {
		t.Fatal(err)
	}
	b, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	if string(b) != "example.com /x" {
		t.Errorf("%s", b)
	}
	if _, err := c.Get("https://www.example.com/"); err == nil || !strings.Contains(err.Error(), "Forbidden") {
		t.Errorf("a host that is not on the list: %v", err)
	}
	tr.CloseIdleConnections()
}

// TestBytes sends what no client should: a host is judged as it would be used.
func TestBytes(t *testing.T) {
	w, _ := newWorld(t, false)
	at := start(t, w.options("example.com", "*.example.com"))
	empty := start(t, w.options())
	for _, tc := range []struct{ at, line, want string }{
		{at, "CONNECT example.com:443", "200"},
		{empty, "CONNECT example.com:443", "403"},
		{at, "CONNECT evil.com\x00.example.com:443", "40"},
		{at, "CONNECT evil.com%00.example.com:443", "40"},
		{at, "CONNECT evil.com%2f.example.com:443", "40"},
		{at, "CONNECT evil.com#.example.com:443", "40"},
		{at, "CONNECT evil.com\\.example.com:443", "40"},
		{at, "CONNECT evil.com@example.com:443", "40"},
		{at, "CONNECT example.com", "40"},
		{at, "CONNECT example.com:0", "40"},
		{at, "CONNECT example.com:http", "40"},
		{at, "CONNECT ::1:443", "40"},
		{at, "CONNECT [::1]:443", "403"},
		{at, "CONNECT 2130706433:443", "403"},
		{at, "CONNECT 0x7f.1:443", "403"},
		{at, "CONNECT 127.0.0.1:443", "403"},
		{at, "GET http://evil.com@example.com/", "200"},
		{at, "GET ftp://example.com/", "400"},
		{at, "GET /", "400"},
	} {
		c, err := net.Dial("tcp", tc.at)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(c, "%s HTTP/1.1\r\nHost: example.com\r\nConnection: close\r\n\r\n", tc.line)
		line, err := bufio.NewReader(c).ReadString('\n')
		c.Close()
		if got := strings.TrimPrefix(line, "HTTP/1.1 "); err != nil || !strings.HasPrefix(got, tc.want) {
			t.Errorf("%q: %q %v, want %s", tc.line, line, err, tc.want)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, d := range w.dialed {
		if !strings.HasPrefix(d, "8.8.8.8:") {
			t.Errorf("dialled %s", d)
		}
	}
}

func TestDomains(t *testing.T) {
	for _, d := range []string{"", "*", "*.", "*.com", "*.*.com", "ex*mple.com", "https://example.com", "example.com/x", "example.com:443", "a b", "*.8.8.8.8", "evil.com\x00.example.com", "8.8"} {
		if _, err := proxy.New(proxy.Options{Domains: []string{d}}); err == nil || !strings.Contains(err.Error(), "example.com") {
			t.Errorf("%q: %v", d, err)
		}
	}
	p, err := proxy.New(proxy.Options{Domains: []string{"*.Example.com", "bücher.example"}})
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]bool{
		"a.example.com": true, "a.b.example.com.": true, "example.com": false, "aexample.com": false,
		"xn--bcher-kva.example": true, "a.example.com\x00": false, "": false,
	} {
		if p.Allows(host) != want {
			t.Errorf("%q: %v", host, !want)
		}
	}
}
