// Package proxy is an HTTP proxy that knows a list of domains, for commands
// that have no other way out.
//
//	p, err := proxy.New(proxy.Options{
//		Domains: []string{"proxy.golang.org", "*.example.com"},
//		Denied:  func(host, why string) { log.Printf("%s: %s", host, why) },
//	})
//	if err != nil {
//		log.Fatal(err) // a domain that is none
//	}
//	defer p.Close()
//	go p.Serve(listener)
//
// It serves CONNECT and plain HTTP (RFC 9110, 9112). An empty list lets nothing
// through. A host that is on the list is looked up once for each connection,
// and none of its addresses may be this machine's, this network's or a cloud's
// metadata service. What goes through a tunnel is not looked at: who controls a
// listed domain can pass data on.
package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cantle-dev/cantle/internal/x/fetch"
)

// Options configure a [Server].
type Options struct {
	// Domains can be reached: "example.com" is that host alone, "*.example.com"
	// every host below it and not itself. No scheme, no port, no path.
	Domains []string
	// Denied hears of each request that is refused, and why. It may be called
	// from several goroutines.
	Denied func(host, why string)

	// Resolve looks up a host; nil asks the system.
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)
	// Dial connects to an address that has been judged; nil is a [net.Dialer].
	Dial func(ctx context.Context, addr netip.AddrPort) (net.Conn, error)
}

// Server is a proxy. It is safe for concurrent use.
type Server struct {
	exact  map[string]bool
	below  []string // ".example.com"
	list   string
	denied func(host, why string)
	dialer *fetch.Client
	http   *http.Server
	plain  *httputil.ReverseProxy

	mu      sync.Mutex
	closed  bool
	tunnels map[net.Conn]bool
}

// connectPatience bounds how long a connection to a host may take, and
// maxTunnels how many there are at once.
const (
	connectPatience = 30 * time.Second
	maxTunnels      = 512
)

// New makes a proxy.
func New(o Options) (*Server, error) {
	s := &Server{
		exact: map[string]bool{}, tunnels: map[net.Conn]bool{}, denied: o.Denied, list: strings.Join(o.Domains, ", "),
		dialer: fetch.New(fetch.Options{Resolve: o.Resolve, Dial: o.Dial}),
	}
	for _, d := range o.Domains {
		if err := s.add(d); err != nil {
			return nil, err
		}
	}
	s.plain = &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.Out.Host = r.In.URL.Host },
		Transport: &http.Transport{
			Proxy: nil, DisableCompression: true, MaxIdleConnsPerHost: 4, IdleConnTimeout: 30 * time.Second,
			MaxResponseHeaderBytes: 256 << 10,
			DialContext: func(ctx context.Context, _, to string) (net.Conn, error) {
				ctx, cancel := context.WithTimeout(ctx, connectPatience)
				defer cancel()
				return s.dialer.Dial(ctx, to)
			},
		},
		FlushInterval: -1,
		ErrorLog:      log.New(io.Discard, "", 0), // the client is told
		ErrorHandler:  func(w http.ResponseWriter, r *http.Request, err error) { s.fail(w, r.URL.Hostname(), err) },
	}
	s.http = &http.Server{
		Handler: http.HandlerFunc(s.serve), ReadHeaderTimeout: time.Minute, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 256 << 10, ErrorLog: log.New(io.Discard, "", 0),
	}
	return s, nil
}

// add reads a domain of the list.
func (s *Server) add(d string) error {
	bad := func(why string) error {
		return fmt.Errorf("proxy: the domain %q %s: write \"example.com\" or \"*.example.com\"", d, why)
	}
	name, wild := strings.CutPrefix(d, "*.")
	if name == "*" {
		return bad("is every host, for which the network has to be open")
	}
	host, err := fetch.Host(name)
	switch {
	case err != nil || strings.ContainsAny(name, "/:*") && !isAddr(host):
		return bad("is none")
	case wild && (isAddr(host) || !strings.Contains(host, ".")):
		return bad("is too wide")
	case wild:
		s.below = append(s.below, "."+host)
	default:
		s.exact[host] = true
	}
	return nil
}

func isAddr(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil
}

// Allows reports whether a host, in whatever form, is on the list.
func (s *Server) Allows(host string) bool {
	h, err := fetch.Host(host)
	return err == nil && (s.exact[h] || !isAddr(h) && slices.ContainsFunc(s.below, func(d string) bool { return strings.HasSuffix(h, d) }))
}

// Serve serves the connections of l until it fails or the proxy is closed, and
// closes it. It may be called for several listeners.
func (s *Server) Serve(l net.Listener) { _ = s.http.Serve(l) } // it always ends with an error, which the closing is

// Close ends all connections.
func (s *Server) Close() {
	_ = s.http.Close() // the listeners' errors: they are gone
	s.mu.Lock()
	s.closed = true
	for c := range s.tunnels {
		c.Close()
	}
	s.mu.Unlock()
	s.plain.Transport.(*http.Transport).CloseIdleConnections()
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodConnect {
		s.connect(w, r)
		return
	}
	if r.URL.Scheme != "http" || r.URL.Host == "" {
		http.Error(w, "cantle: this is a proxy: it serves CONNECT and http:// addresses", http.StatusBadRequest)
		return
	}
	u, err := fetch.Parse((&url.URL{Scheme: "http", Host: r.URL.Host, Path: "/"}).String())
	if err != nil {
		s.refuse(w, r.URL.Host, err.Error())
		return
	}
	if !s.Allows(u.Hostname()) {
		s.refuse(w, u.Hostname(), "")
		return
	}
	r.URL.Host = u.Host // the one form, which is what was judged
	s.plain.ServeHTTP(w, r)
}

func (s *Server) connect(w http.ResponseWriter, r *http.Request) {
	name, port, err := net.SplitHostPort(r.Host)
	if err != nil || r.RequestURI != r.Host {
		s.refuse(w, r.Host, "it is no host and port: an IPv6 address is written in brackets")
		return
	}
	host, err := fetch.Host(name)
	if err != nil {
		s.refuse(w, name, err.Error())
		return
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		s.refuse(w, host, "its port is none")
		return
	}
	if !s.Allows(host) {
		s.refuse(w, host, "")
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), connectPatience)
	defer cancel()
	out, err := s.dialer.Dial(ctx, net.JoinHostPort(host, port))
	if err != nil {
		s.fail(w, host, err)
		return
	}
	defer out.Close()
	if !s.hold(out) {
		http.Error(w, "cantle: too many connections at once", http.StatusServiceUnavailable)
		return
	}
	defer s.drop(out)
	in, buf, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, "cantle: no tunnel over this connection", http.StatusInternalServerError)
		return
	}
	defer in.Close()
	if !s.hold(in) {
		return
	}
	defer s.drop(in)
	if _, err := io.WriteString(in, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	var wg sync.WaitGroup
	wg.Go(func() { pipe(out, buf.Reader); _ = closeWrite(out) })
	wg.Go(func() { pipe(in, out); _ = closeWrite(in) })
	wg.Wait()
}

// pipe copies to the end. When the one that is written to fails, nothing more
// is wanted of the other.
func pipe(to net.Conn, from io.Reader) {
	if _, err := io.Copy(to, from); err != nil {
		to.Close()
		if c, ok := from.(net.Conn); ok {
			c.Close()
		}
	}
}

func closeWrite(c net.Conn) error {
	if h, ok := c.(interface{ CloseWrite() error }); ok {
		return h.CloseWrite()
	}
	return c.Close()
}

func (s *Server) hold(c net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || len(s.tunnels) >= 2*maxTunnels {
		return false
	}
	s.tunnels[c] = true
	return true
}

func (s *Server) drop(c net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.tunnels, c)
}

// refuse answers a request that is not let through, and reports it.
func (s *Server) refuse(w http.ResponseWriter, host, why string) {
	if why == "" {
		why = "it is not on the list of domains that this command may reach (" + s.list + ")"
		if s.list == "" {
			why = "this command may reach no host"
		}
	}
	host = host[:min(len(host), 260)]
	if s.denied != nil {
		s.denied(host, why)
	}
	http.Error(w, fmt.Sprintf("cantle: no connection to %q: %s", host, why), http.StatusForbidden)
}

func (s *Server) fail(w http.ResponseWriter, host string, err error) {
	if b, ok := errors.AsType[*fetch.BlockedError](err); ok {
		s.refuse(w, host, "its address is not one that may be reached: "+b.Reason)
		return
	}
	http.Error(w, fmt.Sprintf("cantle: no connection to %q: %v", host, err), http.StatusBadGateway)
}

// Environ are the variables that lead programs to a proxy at addr. What is on
// the program's own machine does not go through it.
func Environ(addr string) []string {
	var env []string
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"} {
		env = append(env, name+"=http://"+addr)
	}
	return append(env, "NO_PROXY=localhost,127.0.0.1,::1", "no_proxy=localhost,127.0.0.1,::1")
}

// Pool keeps one proxy for each list of domains.
type Pool struct {
	opts Options
	mu   sync.Mutex
	all  map[string]*Server
}

// NewPool makes a pool of proxies with those options, but for their Domains,
// that report to denied.
func NewPool(opts Options, denied func(host, why string)) *Pool {
	opts.Denied = denied
	return &Pool{opts: opts, all: map[string]*Server{}}
}

// Server is the proxy for a list of domains.
func (p *Pool) Server(domains []string) (*Server, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := strings.Join(domains, " ")
	if s := p.all[key]; s != nil {
		return s, nil
	}
	o := p.opts
	o.Domains = slices.Clone(domains)
	s, err := New(o)
	if err == nil {
		p.all[key] = s
	}
	return s, err
}

// Close closes all proxies.
func (p *Pool) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.all {
		s.Close()
	}
}
