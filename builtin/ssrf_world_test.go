package builtin_test

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/cantle-dev/cantle/builtin"
	"github.com/cantle-dev/cantle/internal/x/fetch"
	"github.com/cantle-dev/cantle/tool"
)

// internet is an Internet of its own on loopback: a name server, and a server
// that stands for every host at every public address, over http and https.
// Whatever WebFetch would connect to is written down and led to that server.
type internet struct {
	zone  map[string][]string // by name: its answers in order, the last for ever
	plain *httptest.Server
	tls   *httptest.Server
	dns   net.PacketConn

	mu     sync.Mutex
	asked  map[string]int
	dialed []netip.AddrPort
	got    []*http.Request
	page   string // at /page

	limit time.Duration // of a fetch; 0 is that of the client
}

// newProxy is a server that nobody is to ask.
func newProxy(t *testing.T, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

func newInternet(t *testing.T) *internet {
	t.Helper()
	in := &internet{asked: map[string]int{}, zone: map[string][]string{
		"public.example":   {"1.1.1.1"},
		"other.example":    {"8.8.8.8"},
		"six.example":      {"2606:4700::1111"},
		"a.example.com":    {"9.9.9.9"}, // of which the server has the certificate
		"b.example.com":    {"9.9.9.9"},
		"private.example":  {"10.0.0.1"},
		"loopback.example": {"127.0.0.1"},
		"six-loop.example": {"::1"},
		"any.example":      {"0.0.0.0"},
		"metadata.example": {"169.254.169.254"},
		"shared.example":   {"100.64.0.1"},
		// Mixed: one answer that is bad spoils all.
		"mixed.example":       {"1.1.1.1 10.0.0.1"},
		"mixed-first.example": {"10.0.0.1 1.1.1.1"},
		"mixed-six.example":   {"1.1.1.1 fd00::1"},
		"mixed-many.example":  {strings.Repeat("1.1.1.1 ", 20) + "169.254.169.254"},
		// Chains.
		"alias.example":         {"=one.example"},
		"one.example":           {"=two.example"},
		"two.example":           {"127.0.0.1"},
		"alias-public.example":  {"=public.example"},
		"127.0.0.1.nip.example": {"127.0.0.1"},
		// From one moment to the next.
		"rebind.example":          {"1.1.1.1", "127.0.0.1"},
		"rebind-metadata.example": {"1.1.1.1", "169.254.169.254"},
		"rebind-six.example":      {"2606:4700::1111", "::1"},
		"rebind-back.example":     {"127.0.0.1", "1.1.1.1"},
		// An IPv4 address in an IPv6 one.
		"mapped.example":       {"::ffff:169.254.169.254"},
		"mapped-10.example":    {"::ffff:10.0.0.1"},
		"nat64.example":        {"64:ff9b::a9fe:a9fe"},
		"sixtofour.example":    {"2002:a9fe:a9fe::"},
		"teredo.example":       {"2001:0:7f00:1::"},
		"isatap.example":       {"2606:4700::5efe:7f00:1"},
		"compatible.example":   {"::169.254.169.254"},
		"translated.example":   {"::ffff:0:127.0.0.1"},
		"ec2-six.example":      {"fd00:ec2::254"},
		"linklocal.example":    {"fe80::1"},
		"fake.example":         {"198.18.0.7"},
		"fake-mixed.example":   {"198.18.0.7 169.254.169.254"},
		"private-name.example": {"192.168.1.1"},
		"nobody.example":       {""},
		"slow.example":         {"slow"},
	}}
	h := http.HandlerFunc(in.serve)
	in.plain = httptest.NewServer(h)
	in.tls = httptest.NewUnstartedServer(h)
	in.tls.EnableHTTP2 = true
	in.tls.Config.ErrorLog = log.New(io.Discard, "", 0)
	in.tls.StartTLS()
	var err error
	if in.dns, err = net.ListenPacket("udp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { defer close(done); in.answer(t) }()
	t.Cleanup(func() { in.dns.Close(); <-done; in.plain.Close(); in.tls.Close() })
	return in
}

// answer is the name server. Its answers hold for no time at all.
func (in *internet) answer(t *testing.T) {
	for buf := make([]byte, 1500); ; {
		n, from, err := in.dns.ReadFrom(buf)
		if err != nil {
			return
		}
		var m dnsmessage.Message
		if m.Unpack(buf[:n]) != nil || len(m.Questions) != 1 {
			continue
		}
		out := dnsmessage.Message{Header: dnsmessage.Header{ID: m.ID, Response: true, RecursionAvailable: true}, Questions: m.Questions}
		q := m.Questions[0]
		name := strings.TrimSuffix(strings.ToLower(q.Name.String()), ".")
		if known, slow := in.look(name, q.Type, &out, 0); slow {
			continue
		} else if !known {
			out.RCode = dnsmessage.RCodeNameError
		}
		b, err := out.Pack()
		if err != nil {
			t.Error(err)
			continue
		}
		_, _ = in.dns.WriteTo(b, from) // who asked may be gone
	}
}

// look adds what a name stands for: of the answers that it has, the next for
// each pair of questions, for IPv4 and for IPv6.
func (in *internet) look(name string, typ dnsmessage.Type, out *dnsmessage.Message, depth int) (known, slow bool) {
	answers, known := in.zone[name]
	if !known || depth > 8 {
		return false, false
	}
	in.mu.Lock()
	key := name + typ.String()
	text := answers[min(in.asked[key], len(answers)-1)]
	in.asked[key]++
	in.mu.Unlock()
	head := dnsmessage.ResourceHeader{Name: dnsmessage.MustNewName(name + "."), Class: dnsmessage.ClassINET}
	if to, ok := strings.CutPrefix(text, "="); ok {
		head.Type = dnsmessage.TypeCNAME
		out.Answers = append(out.Answers, dnsmessage.Resource{Header: head, Body: &dnsmessage.CNAMEResource{CNAME: dnsmessage.MustNewName(to + ".")}})
		return in.look(to, typ, out, depth+1)
	}
	for _, s := range strings.Fields(text) {
		if s == "slow" {
			return true, true
		}
		a := netip.MustParseAddr(s)
		head.Type = dnsmessage.TypeAAAA
		var body dnsmessage.ResourceBody = &dnsmessage.AAAAResource{AAAA: a.As16()}
		if a.Is4() {
			head.Type = dnsmessage.TypeA
			body = &dnsmessage.AResource{A: a.As4()}
		}
		if head.Type == typ {
			out.Answers = append(out.Answers, dnsmessage.Resource{Header: head, Body: body})
		}
	}
	return true, false
}

// web are the tools, in this Internet.
func (in *internet) web(w builtin.WebOptions) (webFetch, webSearch tool.Tool) {
	r := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", in.dns.LocalAddr().String())
	}}
	return builtin.WebForTest(builtin.Options{Web: w}, func(o *fetch.Options) {
		o.Timeout = in.limit
		o.TLS = in.tls.Client().Transport.(*http.Transport).TLSClientConfig
		o.Resolve = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return r.LookupNetIP(ctx, "ip", host+".")
		}
		o.Dial = func(ctx context.Context, a netip.AddrPort) (net.Conn, error) {
			in.mu.Lock()
			in.dialed = append(in.dialed, a)
			in.mu.Unlock()
			to := in.plain.Listener.Addr().String()
			if a.Port() == 443 {
				to = in.tls.Listener.Addr().String()
			}
			return new(net.Dialer).DialContext(ctx, "tcp", to)
		}
	})
}

// forget starts the next case afresh, and says what was seen in this one.
func (in *internet) forget() (dialed []netip.AddrPort, got []*http.Request) {
	in.mu.Lock()
	defer in.mu.Unlock()
	dialed, got = in.dialed, in.got
	in.dialed, in.got = nil, nil
	clear(in.asked)
	return dialed, got
}

// serve is every host. What it does is in the path:
//
//	/say?t=TYPE&b=BODY             a page
//	/to/STATUS?l=LOCATION          a redirect, its Location as it stands there
//	/hops/N                        N redirects, and a page
//	/gzip, /deflate, /br, /nested  a body that grows by a thousand when it is read
//	/endless, /drip, /silent       a body without end, a slow one, none
//	/headers, /early               headers without end, of the answer and before it
func (in *internet) serve(w http.ResponseWriter, r *http.Request) {
	in.mu.Lock()
	in.got = append(in.got, r.Clone(context.Background()))
	in.mu.Unlock()
	plain := func() { w.Header().Set("Content-Type", "text/plain") }
	q := r.URL.Query()
	head, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	n, _ := strconv.Atoi(rest)
	switch head {
	case "say":
		w.Header().Set("Content-Type", q.Get("t"))
		for _, h := range q["h"] {
			k, v, _ := strings.Cut(h, "=")
			w.Header().Add(k, v)
		}
		_, _ = io.WriteString(w, q.Get("b"))
	case "page":
		w.Header().Set("Content-Type", "text/html")
		in.mu.Lock()
		page := in.page
		in.mu.Unlock()
		_, _ = io.WriteString(w, page)
	case "to":
		w.Header().Set("Connection", "close") // so that the next hop is a connection of its own
		w.Header()["Location"] = q["l"]
		w.WriteHeader(n)
	case "hops":
		if n > 0 {
			http.Redirect(w, r, fmt.Sprint("/hops/", n-1), http.StatusFound)
			return
		}
		plain()
		_, _ = io.WriteString(w, "there")
	case "gzip", "deflate", "br", "nested":
		plain()
		w.Header().Set("Content-Encoding", map[string]string{"nested": "gzip, gzip"}[head]+map[bool]string{true: head}[head != "nested"])
		_, _ = w.Write(bomb(head))
	case "endless":
		plain()
		for chunk := bytes.Repeat([]byte("a"), 64<<10); ; {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	case "drip":
		plain()
		for tick := time.NewTicker(5 * time.Millisecond); ; {
			select {
			case <-r.Context().Done():
				tick.Stop()
				return
			case <-tick.C:
				_, _ = w.Write([]byte("a"))
				w.(http.Flusher).Flush()
			}
		}
	case "silent":
		<-r.Context().Done()
	case "headers", "early":
		c, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		defer c.Close()
		line := "X: " + strings.Repeat("a", 1000) + "\r\n"
		if head == "early" {
			line = "HTTP/1.1 103 Early Hints\r\n" + line + "\r\n"
		} else {
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n")
		}
		for {
			if _, err := io.WriteString(c, line); err != nil {
				return
			}
		}
	default:
		plain()
		_, _ = io.WriteString(w, "hello from "+r.Host+" by "+r.Proto)
	}
}

// bomb is 16 MB of one letter, compressed.
func bomb(how string) []byte {
	var b bytes.Buffer
	var z io.WriteCloser = gzip.NewWriter(&b)
	switch how {
	case "deflate":
		z, _ = flate.NewWriter(&b, 9) // that level is one
	case "br":
		return []byte("\x0b\x02\x80hello\x03")
	}
	chunk := bytes.Repeat([]byte("a"), 1<<20)
	for range 16 {
		_, _ = z.Write(chunk)
	}
	_ = z.Close()
	if how == "nested" {
		var outer bytes.Buffer
		z := gzip.NewWriter(&outer)
		_, _ = z.Write(b.Bytes())
		_ = z.Close()
		return outer.Bytes()
	}
	return b.Bytes()
}
