package fetch_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/internal/x/fetch"
)

// dialed says which addresses a client would have connected to.
func dialed(t *testing.T, o fetch.Options, raw string) ([]netip.Addr, error) {
	t.Helper()
	u, err := fetch.Parse(raw)
	if err != nil {
		return nil, err
	}
	var got []netip.Addr
	o.Dial = func(_ context.Context, a netip.AddrPort) (net.Conn, error) {
		got = append(got, a.Addr())
		return nil, errors.New("nothing is connected to in this test")
	}
	_, err = fetch.New(o).Get(t.Context(), u, nil)
	return got, err
}

// answers makes a resolver that has one answer for every name.
func answers(addrs ...string) func(context.Context, string) ([]netip.Addr, error) {
	return func(context.Context, string) ([]netip.Addr, error) {
		var out []netip.Addr
		for _, a := range addrs {
			out = append(out, netip.MustParseAddr(a))
		}
		return out, nil
	}
}

var blockedAddrs = []string{
	"0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "127.0.0.1", "127.255.255.254", "169.254.169.254", "169.254.0.1",
	"169.254.170.2", "172.16.0.1", "172.31.255.255", "192.168.1.1", "192.0.0.1", "192.0.2.1", "192.88.99.1", "198.18.0.1", "198.19.255.255",
	"198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255", "100.100.100.200",
	"168.63.129.16", "192.0.0.192",
	"::", "::1", "::2", "fe80::1", "febf::1", "fec0::1", "fc00::1", "fd00::1", "fd00:ec2::254", "fd20:ce::254", "ff02::1", "100::1", "5f00::1",
	"2001:db8::1", "3fff::1", "2001:2::1", "2001:10::1", "4000::1",
	"::ffff:127.0.0.1", "::ffff:a9fe:a9fe", "::ffff:10.0.0.1", "::127.0.0.1", "::169.254.169.254", "::8.8.8.8", "::ffff:0:127.0.0.1",
	"64:ff9b::a9fe:a9fe", "64:ff9b::7f00:1", "64:ff9b:1::1", "2002:a9fe:a9fe::", "2002:7f00:1::1", "2002:c0a8:101::1",
	"2001:0:7f00:1::", "2001::8000:0:0:3f57:fefe", // Teredo: the server, and the client 192.168.1.1
	"2606:4700::5efe:7f00:1", "2606:4700::200:5efe:a9fe:a9fe", "2606:4700::5efe:10.0.0.1",
}

var publicAddrs = []string{
	"1.1.1.1", "8.8.8.8", "11.0.0.1", "100.63.255.255", "100.128.0.1", "128.0.0.1", "172.15.255.255", "172.32.0.1", "169.253.255.255", "169.255.0.1",
	"192.0.1.1", "192.167.255.255", "198.17.255.255", "198.20.0.1", "223.255.255.255", "2606:4700:4700::1111", "2a00:1450::1",
	"64:ff9b::808:808", "2002:808:808::1", "2606:4700::5efe:808:808",
}

func TestAddressesAreJudged(t *testing.T) {
	for _, a := range blockedAddrs {
		for _, how := range []struct {
			url string
			o   fetch.Options
		}{
			{"http://" + netJoin(a) + "/", fetch.Options{}},
			{"http://name.example/", fetch.Options{Resolve: answers(a)}},
			{"http://name.example/", fetch.Options{Resolve: answers("1.1.1.1", a)}}, // all answers count
			{"http://name.example/", fetch.Options{Resolve: answers(a, "1.1.1.1")}},
		} {
			got, err := dialed(t, how.o, how.url)
			if _, ok := errors.AsType[*fetch.BlockedError](err); !ok || len(got) > 0 {
				t.Errorf("%s, which is %s: dialled %v: %v", how.url, a, got, err)
			}
		}
	}
	for _, a := range publicAddrs {
		want := netip.MustParseAddr(a).Unmap()
		for _, url := range []string{"http://" + netJoin(a) + "/", "http://name.example/"} {
			if got, err := dialed(t, fetch.Options{Resolve: answers(a)}, url); len(got) != 1 || got[0] != want {
				t.Errorf("%s, which is %s: dialled %v: %v", url, a, got, err)
			}
		}
	}
}

func netJoin(a string) string {
	if strings.Contains(a, ":") {
		return "[" + a + "]"
	}
	return a
}

// The escape hatch opens what is private, and never metadata.
func TestAllow(t *testing.T) {
	private := fetch.Options{AllowPrivate: true}
	fake := fetch.Options{Allow: []netip.Prefix{netip.MustParsePrefix("198.18.0.0/15")}}
	all := fetch.Options{AllowPrivate: true, Allow: []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}}
	for _, c := range []struct {
		o    fetch.Options
		addr string
		open bool
	}{
		{private, "127.0.0.1", true},
		{private, "::1", true},
		{private, "10.1.2.3", true},
		{private, "100.64.0.1", true},
		{private, "fd00::1", true},
		{private, "::ffff:127.0.0.1", true},
		{private, "198.18.0.1", false},
		{private, "0.0.0.0", false},
		{private, "224.0.0.1", false},
		{private, "169.254.169.254", false},
		{private, "::ffff:a9fe:a9fe", false},
		{private, "64:ff9b::a9fe:a9fe", false},
		{private, "100.100.100.200", false},
		{private, "fd00:ec2::254", false},
		{private, "fe80::1", false},
		{fake, "198.18.0.1", true},
		{fake, "198.19.1.1", true},
		{fake, "127.0.0.1", false},
		{fake, "10.0.0.1", false},
		{fake, "169.254.169.254", false},
		{fake, "2002:c612:1::1", false},
		{all, "198.18.0.1", true},
		{all, "240.0.0.1", true},
		{all, "169.254.169.254", false},
		{all, "168.63.129.16", false},
		{all, "2002:a9fe:a9fe::", false},
		{all, "::169.254.169.254", false},
		{all, "0.0.0.0", false},
	} {
		o := c.o
		o.Resolve = answers(c.addr)
		for _, url := range []string{"http://name.example/", "http://" + netJoin(c.addr) + "/"} {
			got, err := dialed(t, o, url)
			blocked, ok := errors.AsType[*fetch.BlockedError](err)
			if (len(got) == 1) != c.open || ok == c.open {
				t.Errorf("%s, which is %s: dialled %v: %v", url, c.addr, got, err)
			}
			if ok && o.AllowPrivate && blocked.Private {
				t.Errorf("%s: the error names a hatch that is open: %v", c.addr, err)
			}
		}
	}
	for _, host := range []string{"metadata.google.internal", "METADATA.google.internal.", "metadata", "instance-data"} {
		if got, err := dialed(t, fetch.Options{AllowPrivate: true, Resolve: answers("10.0.0.1")}, "http://"+host+"/"); len(got) > 0 {
			t.Errorf("%s: dialled %v: %v", host, got, err)
		}
	}
}

func TestParse(t *testing.T) {
	for raw, want := range map[string]string{
		"https://Example.COM":                     "https://example.com/",
		"HTTPS://example.com.:443/a?b#c":          "https://example.com/a?b",
		"http://example.com:80/":                  "http://example.com/",
		"http://example.com:8080/":                "http://example.com:8080/",
		"http://example.com:443/":                 "http://example.com:443/",
		"http://[::FFFF:1.2.3.4]:81/":             "http://1.2.3.4:81/",
		"http://[2606:4700:0::1111]/":             "http://[2606:4700::1111]/",
		"http://example.com/ä/%2F?q=ü":            "http://example.com/%C3%A4/%2F?q=%C3%BC",
		"https://bücher.example/":                 "https://xn--bcher-kva.example/",
		"https://faß.example/":                    "https://xn--fa-hia.example/",
		"https://ＥＸＡＭＰＬＥ.com/":                    "https://example.com/",
		"https://a_b.example.com/":                "https://a_b.example.com/",
		"https://docs.python.org.evil.com/":       "https://docs.python.org.evil.com/",
		"https://evil.example/openrouter.ai/":     "https://evil.example/openrouter.ai/",
		"http://example.com/?":                    "http://example.com/?",
		"http://example.com:08080/":               "http://example.com:8080/",
		"http://1.2.3.4.nip.io/":                  "http://1.2.3.4.nip.io/",
		"http://0x7f.example/":                    "http://0x7f.example/",
		"http://127.0.0.1/":                       "http://127.0.0.1/", // it is judged later
		"https://example.com/a//b/../c?x=1&y=%20": "https://example.com/a//b/../c?x=1&y=%20",
	} {
		u, err := fetch.Parse(raw)
		if err != nil || u.String() != want {
			t.Errorf("%s: %v, %v, want %s", raw, u, err, want)
		}
	}
	for raw, want := range map[string]string{
		"":                                   "no scheme",
		"not a url":                          "blank",
		"http:///x":                          "no host",
		"//x":                                "no scheme",
		"/etc/passwd":                        "no scheme",
		"example.com":                        "no scheme",
		"http:x":                             "no host",
		"http://":                            "no host",
		"http://.":                           "no host",
		"http://..":                          "domain name",
		"http://a..b/":                       "domain name",
		"http://:80/":                        "no host",
		"http://?":                           "no host",
		"file:///etc/passwd":                 "only http",
		"ftp://example.com/":                 "only http",
		"javascript:alert(1)":                "only http",
		"gopher://127.0.0.1/":                "only http",
		"data:text/html,x":                   "only http",
		"http://2130706433/":                 "no usual form",
		"http://0177.0.0.1/":                 "no usual form",
		"http://0x7f.1/":                     "no usual form",
		"http://0x7f000001/":                 "no usual form",
		"http://127.1/":                      "no usual form",
		"http://127.0.1/":                    "no usual form",
		"http://127.0.0.01/":                 "no usual form",
		"http://127.0.0.0x1/":                "no usual form",
		"http://256.1.1.1/":                  "no usual form",
		"http://1.2.3.4.5/":                  "no usual form",
		"http://0/":                          "no usual form",
		"http://0x/":                         "no usual form",
		"http://127.1./":                     "no usual form",
		"http://１２７.1/":                      "no usual form",
		"http://127。1/":                      "no usual form",
		"http://foo.0x7f/":                   "no usual form",
		"http://user@a.example/":             "user name",
		"http://user:pw@127.0.0.1/":          "user name",
		"http://a.example@evil.example/":     "user name",
		"http://@a.example/":                 "user name",
		"https://evil.test\\@example.com/":   "backslash",
		"https://example.com\\.evil.test/":   "backslash",
		"https://example.com%00.evil.test/":  "malformed",
		"https://example.com\x00.evil.test/": "control byte",
		"https://example.com\t.evil.test/":   "control byte",
		"https://example.com\n/":             "control byte",
		" https://example.com/":              "blank",
		"http://[fe80::1%25eth0]/":           "interface",
		"http://[::1%eth0]/":                 "malformed",
		"http://[1.2.3.4]/":                  "malformed",
		"http://[::1/":                       "malformed",
		"http://::1/":                        "malformed",
		"http://exa%6Dple.com:x/":            "malformed",
		"http://a.example:0/":                "port",
		"http://a.example:65536/":            "port",
		"http://a.example:22/":               "port 22",
		"http://a.example:25/":               "port 25",
		"http://a*b.example/":                "character",
		"http://a,b.example/":                "character",
		"http://" + strings.Repeat("a", 64) + ".example/":  "domain name",
		"http://" + strings.Repeat("a.", 130) + "example/": "longer than 253",
		"http://a.example/" + strings.Repeat("a", 9000):    "longer than 8192",
	} {
		u, err := fetch.Parse(raw)
		if e, ok := errors.AsType[*fetch.URLError](err); !ok || !strings.Contains(e.Reason, want) {
			t.Errorf("%.80q: %v, %v, want %s", raw, u, err, want)
		}
	}
}

// Names that can only be of this machine or its network, in all their forms.
func TestLocalNames(t *testing.T) {
	for _, raw := range []string{
		"http://localhost./", "http://LOCALHOST/", "http://LocalHost.:80/x", "http://a.localhost/", "http://intranet/",
		"http://ｌocalhost/", "http://localhost/", "http://[::ffff:7f00:1]/", "http://127.0.0.1.:80/",
	} {
		got, err := dialed(t, fetch.Options{Resolve: answers("1.1.1.1")}, raw)
		if e, ok := errors.AsType[*fetch.BlockedError](err); !ok || !e.Private || len(got) > 0 {
			t.Errorf("%s: dialled %v: %v", raw, got, err)
		}
	}
}

// FuzzParse holds Parse to its word: what it lets through has one form, which
// every reader takes for the same host, and no host leads to an address that is
// not public.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"http://2130706433/", "http://[::ffff:a9fe:a9fe]/", "http://0177.0.0.1/", "http://localhost./", "https://a@b.c/", "http://[64:ff9b::a9fe:a9fe]:8080/x?y#z",
		"http://1.1.1.1/", "http://bücher.example:81/", "http://１２７.0.0.1/", "http://a%2eb/", "http://[2002:a9fe:a9fe::]", "//x", "http://a\\@b", "http://xn--a/",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		u, err := fetch.Parse(raw)
		if err != nil {
			if _, ok := errors.AsType[*fetch.URLError](err); !ok {
				t.Fatalf("%q: %T", raw, err)
			}
			return
		}
		s := u.String()
		again, err := fetch.Parse(s)
		if err != nil || again.String() != s {
			t.Fatalf("%q became %q, and that %v: %v", raw, s, again, err)
		}
		std, err := url.Parse(s)
		if err != nil || std.Host != u.Host || std.User != nil {
			t.Fatalf("%q became %q, which net/url takes for %v: %v", raw, s, std, err)
		}
		if req, err := http.NewRequest(http.MethodGet, s, nil); err != nil || req.Host != u.Host {
			t.Fatalf("%q became %q, which net/http takes for %v: %v", raw, s, req, err)
		}
		for _, c := range []byte(s) {
			if c <= ' ' || c >= 0x7F || c == '\\' {
				t.Fatalf("%q became %q", raw, s)
			}
		}
		host := u.Hostname()
		if canonical, err := fetch.Host(host); err != nil || canonical != host {
			t.Fatalf("%q has the host %q, and that is %q: %v", raw, host, canonical, err)
		}
		if strings.Trim(host, "0123456789.xabcdef") == "" && strings.ContainsAny(host[len(host)-1:], "0123456789") {
			if last := host[strings.LastIndexByte(host, '.')+1:]; strings.Trim(last, "0123456789") == "" {
				if a, err := netip.ParseAddr(host); err != nil || a.String() != host {
					t.Fatalf("%q has the host %q", raw, host)
				}
			}
		}
		got, _ := dialed(t, fetch.Options{Resolve: answers("127.0.0.1")}, s)
		for _, a := range got {
			if a.IsLoopback() || a.IsPrivate() || a.IsLinkLocalUnicast() || a.IsUnspecified() || a.IsMulticast() || a.Is4In6() {
				t.Fatalf("%q: dialled %v", raw, a)
			}
		}
	})
}
