// Package fetch gets pages for a reader that may not be trusted with the
// network it runs in: no request reaches an address of this machine, of its
// network, or of a cloud's metadata service, whatever the URL says, whatever a
// name stands for from one moment to the next, and wherever a server redirects.
//
//	c := fetch.New(fetch.Options{UserAgent: "example/1.0 (+https://example.com)"})
//	u, err := fetch.Parse("https://go.dev/doc/")
//	...
//	page, err := c.Get(ctx, u, nil)
//
// A name is looked up once for each connection, every address that it stands
// for is judged, and one of those is dialled: what was judged is what is
// dialled. Proxies of the environment are not used, since nothing can be said
// of what they dial.
package fetch

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"syscall"
	"time"
)

// Options configure a [Client]. The zero value is strict.
type Options struct {
	// AllowPrivate lets addresses of this machine and of private networks
	// through. Link-local addresses and metadata services stay blocked.
	AllowPrivate bool
	// Allow lets ranges through that are reserved or private, such as
	// 198.18.0.0/15 where a local proxy makes up addresses. Link-local
	// addresses and metadata services stay blocked.
	Allow []netip.Prefix
	// UserAgent says who asks; "" is "cantle".
	UserAgent string
	// MaxBytes bounds a body, as it comes and as it is decompressed; 0 is
	// 2,000,000. What is beyond is cut off.
	MaxBytes int
	// MaxDocument is MaxBytes for PDF documents, which cannot be read in part;
	// 0 is 16 MiB.
	MaxDocument int
	// Timeout bounds the whole: look-ups, redirects and body; 0 is 30 s.
	Timeout time.Duration
	// MaxRedirects is how many redirects on one host are followed; 0 is 5,
	// less than 0 none.
	MaxRedirects int

	// Resolve looks up a host; nil asks [net.DefaultResolver].
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)
	// Dial connects to an address that has been judged; nil is a [net.Dialer].
	Dial func(ctx context.Context, addr netip.AddrPort) (net.Conn, error)
	// TLS has the roots to trust; nil are those of the system.
	TLS *tls.Config
}

// Client gets pages. It is safe for concurrent use.
type Client struct{ o Options }

// New makes a client.
func New(o Options) *Client {
	o.UserAgent = cmp.Or(o.UserAgent, "cantle")
	o.MaxBytes = cmp.Or(o.MaxBytes, 2_000_000)
	o.MaxDocument = cmp.Or(o.MaxDocument, 16<<20)
	o.Timeout = cmp.Or(o.Timeout, 30*time.Second)
	o.MaxRedirects = max(cmp.Or(o.MaxRedirects, 5), 0)
	c := &Client{o}
	if o.Resolve == nil {
		c.o.Resolve = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	if o.Dial == nil {
		c.o.Dial = c.connect
	}
	return c
}

// Page is what a URL led to.
type Page struct {
	URL       *url.URL   // where it is, after redirects
	Redirects []*url.URL // those that were followed, from the first
	Type      string     // the media type with its parameters, as declared or else as guessed
	Body      []byte
	Truncated bool // there is more than the bound that was set
}

// Check says why u would not be fetched, as far as that can be said without
// looking up its host.
func (c *Client) Check(u *url.URL) error {
	host, err := Host(u.Hostname())
	if err != nil {
		return &URLError{URL: u.Redacted(), Reason: err.Error()}
	}
	return c.vetHost(host)
}

// Get fetches u, which must be from [Parse]. Redirects are followed on its host
// alone, and never from https to http: any other is a [*RedirectError], and it
// is for the caller to decide. The header is sent to the origin of u alone; of
// it, Accept and Accept-Language go on to another scheme or port of its host.
//
// Errors are one of those of this package, or the context's.
func (c *Client) Get(ctx context.Context, u *url.URL, header http.Header) (*Page, error) {
	u, err := Parse(u.String()) // whoever made it
	if err != nil {
		return nil, err
	}
	if err := c.Check(u); err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeout(ctx, c.o.Timeout)
	defer cancel()
	t := c.transport()
	defer t.CloseIdleConnections()
	p, err := c.follow(limited, t, u, header)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil && limited.Err() != nil:
		return nil, &TimeoutError{u, c.o.Timeout}
	case err != nil:
		return nil, plain(u, err)
	}
	return p, nil
}

// plain is an error of the transport as one of ours.
func plain(u *url.URL, err error) error {
	for _, as := range []func() (error, bool){
		find[*URLError](err), find[*BlockedError](err), find[*RedirectError](err), find[*StatusError](err),
		find[*TypeError](err), find[*LoopError](err), find[*HostError](err),
	} {
		if e, ok := as(); ok {
			return e
		}
	}
	return &HostError{u.Hostname(), err}
}

func find[T error](err error) func() (error, bool) {
	return func() (error, bool) {
		e, ok := errors.AsType[T](err)
		return e, ok
	}
}

func (c *Client) follow(ctx context.Context, t http.RoundTripper, u *url.URL, header http.Header) (*Page, error) {
	start, hops := u, []*url.URL(nil)
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
		if err != nil {
			return nil, err
		}
		c.headers(req.Header, header, u.Scheme == start.Scheme && u.Host == start.Host)
		resp, err := t.RoundTrip(req)
		if err != nil {
			return nil, err
		}
		next, err := redirect(u, resp)
		if err != nil || next == nil {
			defer resp.Body.Close()
			if err != nil {
				return nil, err
			}
			p, err := c.page(u, resp)
			if p != nil {
				p.Redirects = hops
			}
			return p, err
		}
		resp.Body.Close()
		if err := c.Check(next); err != nil {
			return nil, err
		}
		if next.Hostname() != u.Hostname() || u.Scheme == "https" && next.Scheme != "https" {
			return nil, &RedirectError{From: start, To: next, Status: resp.StatusCode}
		}
		if hops = append(hops, next); len(hops) > c.o.MaxRedirects {
			return nil, &LoopError{start, c.o.MaxRedirects}
		}
		u = next
	}
}

// redirect is where an answer leads to; nil for an answer that is no redirect.
func redirect(u *url.URL, resp *http.Response) (*url.URL, error) {
	switch resp.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	default:
		return nil, nil
	}
	loc := resp.Header.Get("Location")
	if loc == "" || len(loc) > maxURL {
		return nil, &StatusError{URL: u, Status: resp.StatusCode}
	}
	ref, err := url.Parse(loc)
	if err != nil {
		return nil, &URLError{URL: loc[:min(len(loc), 200)], Reason: "a redirect leads there, and it is malformed"}
	}
	to := u.ResolveReference(ref)
	to.RawQuery = escape(to.RawQuery, queryKeep) // servers write blanks there
	return Parse(to.String())
}

// travels are the headers that go on to another origin.
var travels = []string{"Accept", "Accept-Language"}

func (c *Client) headers(to, from http.Header, origin bool) {
	to.Set("Accept", "text/markdown, text/html;q=0.9, text/*;q=0.8, application/json;q=0.8, application/pdf;q=0.7, */*;q=0.1")
	for k, v := range from {
		if k = http.CanonicalHeaderKey(k); origin || slices.Contains(travels, k) {
			to[k] = slices.Clone(v)
		}
	}
	to.Set("User-Agent", c.o.UserAgent)
	to.Set("Accept-Encoding", "gzip")
}

// transport makes one for a single Get, so that no connection outlives what it
// was judged for.
func (c *Client) transport() *http.Transport {
	t := &http.Transport{
		Proxy:                  nil,
		DialContext:            c.dial,
		TLSHandshakeTimeout:    10 * time.Second,
		ForceAttemptHTTP2:      true,
		DisableCompression:     true, // or else it is undone without a bound
		MaxResponseHeaderBytes: 64 << 10,
		MaxConnsPerHost:        1,
	}
	if c.o.TLS != nil {
		t.TLSClientConfig = c.o.TLS.Clone()
	}
	return t
}

// dial looks a host up, judges every address that it stands for, and connects
// to the first of them that answers.
func (c *Client) dial(ctx context.Context, _, to string) (net.Conn, error) {
	name, port, err := net.SplitHostPort(to)
	if err != nil {
		return nil, err
	}
	host, err := Host(name)
	if err != nil {
		return nil, &URLError{URL: to, Reason: err.Error()}
	}
	if err := c.vetHost(host); err != nil {
		return nil, err
	}
	addrs, err := c.lookup(ctx, host)
	if err != nil {
		return nil, err
	}
	for _, a := range addrs {
		if err := c.vet(host, a); err != nil {
			return nil, err // one bad answer spoils them all
		}
	}
	n, err := net.DefaultResolver.LookupPort(ctx, "tcp", port)
	if err != nil {
		return nil, err
	}
	var errs []error
	for i, a := range addrs {
		conn, err := c.try(ctx, netip.AddrPortFrom(a, uint16(n)), len(addrs)-i)
		if err == nil {
			return conn, nil
		}
		if errs = append(errs, err); ctx.Err() != nil || len(errs) == 8 {
			break
		}
	}
	return nil, &HostError{host, errors.Join(errs...)}
}

// try leaves time for the n addresses of which this is the first.
func (c *Client) try(ctx context.Context, a netip.AddrPort, n int) (net.Conn, error) {
	wait := 10 * time.Second
	if end, ok := ctx.Deadline(); ok {
		wait = min(wait, time.Until(end)/time.Duration(n))
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	return c.o.Dial(ctx, a)
}

func (c *Client) lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a}, nil
	}
	addrs, err := c.o.Resolve(ctx, host)
	if err == nil && len(addrs) == 0 {
		err = errors.New("the name stands for no address")
	}
	if err != nil {
		return nil, &HostError{host, err}
	}
	out := make([]netip.Addr, len(addrs))
	for i, a := range addrs {
		out[i] = a.Unmap()
	}
	return out, nil
}

// connect is how a judged address is dialled. The system's own view of it is
// judged once more, right before the connection is made.
func (c *Client) connect(ctx context.Context, addr netip.AddrPort) (net.Conn, error) {
	d := net.Dialer{Control: func(_, address string, _ syscall.RawConn) error {
		got, err := netip.ParseAddrPort(address)
		if err != nil {
			return fmt.Errorf("%s is no address: %w", address, err)
		}
		return c.vet(addr.Addr().String(), got.Addr())
	}}
	return d.DialContext(ctx, "tcp", addr.String())
}
