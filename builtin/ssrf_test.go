package builtin_test

import (
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cantle-dev/cantle/builtin"
	"github.com/cantle-dev/cantle/llm/openai"
	"github.com/cantle-dev/cantle/tool"
)

// attack is one try to have WebFetch, or another tool that speaks HTTP, reach
// what it must not.
type attack struct {
	row  string // of the list of faults that TestSSRFTable goes through
	name string
	url  string
	web  builtin.WebOptions
	// want is in what the model is told, or with an exclamation mark before it in
	// the error. dials are the addresses that were connected to, of which each
	// was judged before.
	want  string
	dials string
	// times is how often it is fetched, each time by a tool with an empty memory;
	// want and dials are of the last and of all. 0 is once.
	times int
	// then looks at more than that.
	then func(t *testing.T, in *internet, text string, got []*http.Request)
}

const tooLong = "took longer"

func to(status int, location string) string {
	return fmt.Sprintf("http://public.example/to/%d?l=%s", status, url.QueryEscape(location))
}

func say(kind, body string, headers ...string) string {
	q := url.Values{"t": {kind}, "b": {body}, "h": headers}
	return "http://public.example/say?" + q.Encode()
}

// blocked are tries that end with an error that says so, and connect to dials.
func blocked(row, dials string, urls ...string) []attack {
	var out []attack
	for _, u := range urls {
		out = append(out, attack{row: row, name: u, url: u, want: "!is blocked", dials: dials})
	}
	return out
}

func malformed(row, why, dials string, urls ...string) []attack {
	var out []attack
	for _, u := range urls {
		out = append(out, attack{row: row, name: u, url: u, want: "!" + why, dials: dials})
	}
	return out
}

var allOpen = builtin.WebOptions{AllowPrivate: true, AllowRanges: []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}}

func attacks() []attack {
	six := strings.TrimSpace(strings.Repeat("1.1.1.1:80 ", 6)) // whose redirects have bodies, which are not read
	const one, twice = "1.1.1.1:80", "1.1.1.1:80 1.1.1.1:80"
	var all []attack
	add := func(a ...attack) { all = append(all, a...) }

	// 01: a redirect leads to a private host.
	for _, status := range []int{301, 302, 303, 307, 308} {
		add(blocked("WB-01", one, to(status, "http://169.254.169.254/latest/meta-data/"), to(status, "http://127.0.0.1:8080/"))...)
	}
	add(blocked("WB-01", one, to(302, "//169.254.169.254/x"), to(302, "http://localhost/"), to(302, "http://[::1]/"), to(302, "http://[::ffff:a9fe:a9fe]/"),
		to(302, "http://10.0.0.1/"), to(302, "http://metadata.google.internal/"), to(302, "https://192.168.0.1/"), to(302, "http://intranet/"), to(302, "HTTP://LOCALHOST./"))...)
	add(malformed("WB-01", "only http and https", one, to(302, "file:///etc/passwd"), to(302, "gopher://127.0.0.1:6379/_INFO"), to(302, "data:text/html,x"),
		to(302, "ftp://public.example/"), to(302, "javascript:alert(1)"), to(302, "unix:/run/docker.sock"))...)
	add(malformed("WB-01", "user name", one, to(302, "http://public.example@127.0.0.1/"), to(302, "http://a:b@public.example/"))...)
	add(malformed("WB-01", "usual form", one, to(302, "http://2130706433/"), to(302, "//0x7f.1/x"))...)
	add(malformed("WB-01", "interface", one, to(302, "http://[fe80::1%25eth0]/"))...)
	add(
		attack{row: "WB-01", name: "to a name that is private", url: to(302, "http://private.example/"), want: "to another host", dials: one},
		attack{row: "WB-01", name: "a relative one", url: to(302, "../x/./y"), want: "hello from public.example", dials: twice},
		attack{row: "WB-01", name: "a query alone", url: to(302, "?l=http://127.0.0.1/"), want: "!is blocked", dials: twice},
		attack{row: "WB-01", name: "to another host", url: to(307, "http://other.example/x"), want: "http://other.example/x", dials: one},
		attack{row: "WB-01", name: "to https", url: strings.Replace(to(301, "https://a.example.com/"), "public.example", "a.example.com", 1), want: "hello from a.example.com by HTTP/2.0", dials: "9.9.9.9:80 9.9.9.9:443"},
		attack{row: "WB-01", name: "away from https", url: strings.Replace(to(301, "http://a.example.com/"), "http://public.example", "https://a.example.com", 1), want: "which is not encrypted", dials: "9.9.9.9:443"},
		attack{row: "WB-01", name: "to another host of one certificate", url: strings.Replace(to(301, "https://b.example.com/"), "http://public.example", "https://a.example.com", 1), want: "to another host", dials: "9.9.9.9:443"},
		attack{row: "WB-01", name: "in a circle", url: "http://public.example/hops/20", want: "!redirects more than 5 times", dials: six},
		attack{row: "WB-01", name: "as many as may be", url: "http://public.example/hops/5", want: "there", dials: six},
		attack{row: "WB-01", name: "a header in it", url: to(302, "/x%0d%0aHost:%20127.0.0.1"), want: "hello from public.example", dials: twice, then: func(t *testing.T, _ *internet, _ string, got []*http.Request) {
			if len(got) != 2 || got[1].Host != "public.example" || got[1].URL.EscapedPath() != "/x%0D%0AHost:%20127.0.0.1" && got[1].URL.EscapedPath() != "/x%0d%0aHost:%20127.0.0.1" {
				t.Errorf("%v", got)
			}
		}},
		attack{row: "WB-01", name: "none", url: "http://public.example/to/302", want: "!status 302", dials: one},
		attack{row: "WB-01", name: "a status that is none", url: to(300, "http://127.0.0.1/"), want: "!status 300", dials: one},
		attack{row: "WB-01", name: "two", url: to(302, "/x") + "&l=http%3A%2F%2F127.0.0.1%2F", want: "hello from public.example", dials: twice},
		attack{row: "WB-01", name: "in the page", url: say("text/html", `<meta http-equiv=refresh content="0;url=http://127.0.0.1/"><script>location="http://127.0.0.1/"</script><iframe src="http://127.0.0.1/"></iframe><p>stay`), want: "stay", dials: one},
		attack{row: "WB-01", name: "in a header of another name", url: say("text/plain", "stay", "Refresh=0;url=http://127.0.0.1/", "Content-Location=http://127.0.0.1/", "Link=<http://127.0.0.1/>; rel=preload"), want: "stay", dials: one},
	)

	// 02: a name stands for a private address.
	add(blocked("WB-02", "", "http://private.example/", "http://loopback.example/", "http://six-loop.example/", "http://any.example/", "http://metadata.example/",
		"http://shared.example/", "http://mixed.example/", "http://mixed-first.example/", "http://mixed-six.example/", "http://mixed-many.example/",
		"http://127.0.0.1.nip.example/", "http://alias.example/", "https://loopback.example/", "http://private.example:8080/", "http://metadata.google.internal/")...)
	add(
		attack{row: "WB-02", name: "a public name", url: "http://public.example/", want: "hello from public.example", dials: one},
		attack{row: "WB-02", name: "by an alias", url: "http://alias-public.example/", want: "hello from alias-public.example", dials: one},
		attack{row: "WB-02", name: "of IPv6", url: "http://six.example/", want: "hello from six.example", dials: "[2606:4700::1111]:80"},
		attack{row: "WB-02", name: "a name that there is not", url: "http://nothing.example/", want: "!no such host"},
		attack{row: "WB-02", name: "a name without an address", url: "http://nobody.example/", want: "!fetch: nobody.example"},
		attack{row: "WB-02", name: "a name server that does not answer", url: "http://slow.example/", want: "!" + tooLong},
	)

	// 03: a name stands for another address a moment later.
	again := "http://rebind.example/to/302?l=%2Fx"
	add(
		attack{row: "WB-03", name: "the first time", url: "http://rebind.example/", want: "hello from rebind.example", dials: one},
		attack{row: "WB-03", name: "the second time", url: "http://rebind.example/", times: 2, want: "!127.0.0.1 is loopback", dials: one},
		attack{row: "WB-03", name: "on a redirect", url: again, want: "!127.0.0.1 is loopback", dials: one},
		attack{row: "WB-03", name: "to metadata", url: "http://rebind-metadata.example/", times: 2, want: "!169.254.169.254 is link-local", dials: one},
		attack{row: "WB-03", name: "to metadata, where private addresses are allowed", url: "http://rebind-metadata.example/", web: allOpen, times: 2, want: "!is blocked", dials: one},
		attack{row: "WB-03", name: "of IPv6", url: "http://rebind-six.example/", times: 2, want: "!::1 is loopback", dials: "[2606:4700::1111]:80"},
		attack{row: "WB-03", name: "and back", url: "http://rebind-back.example/", times: 2, want: "hello from rebind-back.example", dials: one},
	)

	// 04 and 05: IPv4 in IPv6.
	add(blocked("WB-04", "", "http://mapped.example/", "http://mapped-10.example/", "http://[::ffff:a9fe:a9fe]/", "http://[::ffff:127.0.0.1]/", "http://[0:0:0:0:0:ffff:7f00:1]/", "http://[::FFFF:10.0.0.1]:80/")...)
	add(blocked("WB-05", "", "http://nat64.example/", "http://sixtofour.example/", "http://teredo.example/", "http://isatap.example/", "http://compatible.example/", "http://translated.example/",
		"http://[64:ff9b::a9fe:a9fe]/", "http://[2002:a9fe:a9fe::]/", "http://[::169.254.169.254]/", "http://[fd00:ec2::254]/", "http://ec2-six.example/", "http://linklocal.example/")...)

	// 06: numbers in other forms.
	add(malformed("WB-06", "usual form", "", "http://2130706433/", "http://0177.0.0.1/", "http://0x7f.1/", "http://127.1/", "http://0x7f000001/", "http://127.0.0.1.1/", "http://256.1.1.1/", "http://１２７.1/", "http://foo.0x7f/")...)

	// 07: a dot at the end, and capitals.
	add(blocked("WB-07", "", "http://localhost./", "http://LOCALHOST/", "http://LocalHost.:80/", "http://a.localhost./", "http://127.0.0.1./", "http://METADATA.google.internal./", "http://LOOPBACK.Example./")...)
	add(attack{row: "WB-07", name: "a public one", url: "http://PUBLIC.Example.:80/", want: "hello from public.example by", dials: one})

	// 08: a proxy in the environment, which TestSSRFTable sets: it is not asked.
	add(
		attack{row: "WB-08", name: "http", url: "http://public.example/", want: "hello from public.example by HTTP/1.1", dials: one},
		attack{row: "WB-08", name: "https", url: "https://a.example.com/", want: "hello from a.example.com by HTTP/2.0", dials: "9.9.9.9:443"},
		attack{row: "WB-08", name: "https with another's certificate", url: "https://public.example/", want: "!certificate", dials: "1.1.1.1:443"},
		attack{row: "WB-08", name: "a name of the proxy's network", url: "http://private.example/", want: "!is blocked"},
	)

	// 09: nothing but a few headers goes with a request, and no cookie comes back.
	few := func(t *testing.T, _ *internet, _ string, got []*http.Request) {
		for _, r := range got {
			for k := range r.Header {
				if !slices.Contains([]string{"Accept", "Accept-Encoding", "User-Agent"}, k) {
					t.Errorf("%s was sent: %v", k, r.Header)
				}
			}
			if r.Method != http.MethodGet || r.ContentLength > 0 {
				t.Errorf("%s with %d bytes", r.Method, r.ContentLength)
			}
		}
	}
	add(
		attack{row: "WB-09", name: "after a redirect", url: to(307, "/x"), want: "hello", dials: twice, then: few},
		attack{row: "WB-09", name: "after a cookie", url: say("text/plain", "stay", "Set-Cookie=a=b"), times: 2, want: "stay", dials: twice, then: few},
	)

	// 10, 11 and 21: what is decided on is the host, whole and in one form, and what
	// is shown is the whole address. Rules and questions are the gate's.
	for raw, host := range map[string]string{
		"https://docs.python.org.evil.example/":         "docs.python.org.evil.example",
		"https://evil.example/docs.python.org":          "evil.example",
		"https://evil.example#@docs.python.org/":        "evil.example",
		"https://evil.example/?docs.python.org":         "evil.example",
		"https://SUB.Docs.Python.org.:8443/x":           "sub.docs.python.org",
		"https://xn--pythn-mua.org/":                    "xn--pythn-mua.org",
		"https://pythön.org/":                           "xn--pythn-mua.org",
		"https://docs.python.org%2eevil.example/":       "!malformed",
		"https://docs.python.org\\.evil.example/":       "!backslash",
		"https://docs.python.org:80@evil.example/":      "!user name",
		"https://docs.python.org:443:8080.evil.example": "!malformed",
	} {
		for _, row := range []string{"WB-10", "WB-11"} {
			add(attack{row: row, name: "host of " + raw, url: raw, then: decidedOn(raw, host)})
		}
	}
	carried := "https://evil.example/?d=" + strings.Repeat("c2VjcmV0", 200)
	add(attack{row: "WB-21", name: "the whole address is shown", url: carried, then: func(t *testing.T, in *internet, _ string, _ []*http.Request) {
		w, _ := in.web(builtin.WebOptions{})
		p, err := w.(tool.Previewer).Preview(t.Context(), &tool.Call{Input: asJSON(m{"url": carried})})
		if err != nil || p.Text != carried || !strings.Contains(p.Title, "evil.example") {
			t.Errorf("%+v %v", p, err)
		}
		if _, err := w.Call(t.Context(), &tool.Call{Input: asJSON(m{"url": carried}), Access: []tool.Access{{Op: tool.Connect, Target: "public.example"}}}); err == nil {
			t.Error("it ran, and another host was decided on")
		}
	}})

	// 12 and 13: bodies, headers and answers without end.
	bounded := func(t *testing.T, _ *internet, text string, _ []*http.Request) {
		if len(text) > 20_000 {
			t.Errorf("%d bytes", len(text))
		}
	}
	add(
		attack{row: "WB-12", name: "a body", url: "http://public.example/endless", want: "its end is missing", dials: one, then: bounded},
		attack{row: "WB-12", name: "a slow body", url: "http://public.example/drip", want: "!" + tooLong, dials: one},
		attack{row: "WB-12", name: "silence", url: "http://public.example/silent", want: "!" + tooLong, dials: one},
		attack{row: "WB-12", name: "headers", url: "http://public.example/headers", want: "!exceeded", dials: one},
		attack{row: "WB-12", name: "answers before the answer", url: "http://public.example/early", want: "!fetch: public.example", dials: one},
		attack{row: "WB-13", name: "gzip", url: "http://public.example/gzip", want: "its end is missing", dials: one, then: bounded},
		attack{row: "WB-13", name: "gzip in gzip", url: "http://public.example/nested", want: "!compressed by gzip, gzip", dials: one},
		attack{row: "WB-13", name: "deflate", url: "http://public.example/deflate", want: "!compressed by deflate", dials: one},
		attack{row: "WB-13", name: "brotli", url: "http://public.example/br", want: "!compressed by br", dials: one},
	)

	// 14: pages that take for ever to be read.
	for name, page := range map[string]string{
		"nested":     strings.Repeat("<div>", 100_000) + "deep",
		"unclosed":   strings.Repeat("<a href=x><b><i>", 30_000) + "x",
		"attributes": "<p " + strings.Repeat("a=b ", 200_000) + ">x",
		"tables":     strings.Repeat("<table><tr><td>", 20_000) + "x",
	} {
		add(attack{row: "WB-14", name: name, then: func(t *testing.T, in *internet, _ string, _ []*http.Request) {
			in.mu.Lock()
			in.page = page
			in.mu.Unlock()
			w, _ := in.web(builtin.WebOptions{})
			began := time.Now()
			_, _, err := fetched(t, w, m{"url": "http://public.example/page"})
			if took := time.Since(began); took > 20*time.Second || err != nil && !strings.Contains(err.Error(), tooLong) {
				t.Errorf("%v, after %v", err, took)
			}
		}})
	}

	// 15: an answer that is an error is none with a page in it.
	for status, want := range map[int]string{500: "!status 500", 404: "!status 404", 429: "!status 429", 503: "!status 503"} {
		add(attack{row: "WB-15", name: fmt.Sprint(status), url: to(status, ""), want: want, dials: one})
	}

	// 16: the memory of pages is TestWebFetchCache's; a page of it goes to who asked
	// for that address alone, and to no call that was decided on for another.
	add(attack{row: "WB-16", name: "what is kept is decided on too", then: func(t *testing.T, in *internet, _ string, _ []*http.Request) {
		w, _ := in.web(builtin.WebOptions{})
		if _, _, err := fetched(t, w, m{"url": "http://rebind.example/"}); err != nil {
			t.Fatal(err)
		}
		call := &tool.Call{Input: asJSON(m{"url": "http://rebind.example/"}), Access: []tool.Access{{Op: tool.Connect, Target: "public.example"}}}
		if _, err := w.Call(t.Context(), call); err == nil {
			t.Error("a page was given that was not decided on")
		}
		if got, d, err := fetched(t, w, m{"url": "http://rebind.example/"}); err != nil || !d.Cached || !strings.Contains(got, "hello") {
			t.Error(err) // the page of then, and no other connection
		}
	}})

	// 17: metadata services, whatever is allowed.
	for _, u := range []string{
		"http://169.254.169.254/latest/meta-data/", "http://metadata.google.internal/computeMetadata/v1/", "http://metadata/", "http://100.100.100.200/", "http://[fd00:ec2::254]/",
		"http://168.63.129.16/", "http://169.254.170.2/v2/credentials", "http://metadata.example/", "http://mapped.example/", "http://nat64.example/", "http://ec2-six.example/", "http://linklocal.example/", "http://any.example/",
	} {
		add(attack{row: "WB-17", name: u, url: u, web: allOpen, want: "!is blocked"})
	}
	for _, u := range []string{"http://private.example/", "http://loopback.example/", "http://localhost/"} {
		add(attack{row: "WB-17", name: "private, which is allowed: " + u, url: u, web: allOpen, want: map[bool]string{true: "!no such host", false: "hello"}[strings.Contains(u, "localhost")], dials: map[string]string{"http://private.example/": "10.0.0.1:80", "http://loopback.example/": "127.0.0.1:80"}[u]})
	}
	add(attack{row: "WB-17", name: "by a redirect", url: to(302, "http://169.254.169.254/"), web: allOpen, want: "!is blocked", dials: one})

	// 18: addresses that a local proxy makes up.
	proxied := builtin.WebOptions{AllowRanges: []netip.Prefix{netip.MustParsePrefix("198.18.0.0/15")}}
	add(
		attack{row: "WB-18", name: "by default", url: "http://fake.example/", want: "!web.allowRanges"},
		attack{row: "WB-18", name: "where private addresses are allowed", url: "http://fake.example/", web: builtin.WebOptions{AllowPrivate: true}, want: "!web.allowRanges"},
		attack{row: "WB-18", name: "where the range is", url: "http://fake.example/", web: proxied, want: "hello from fake.example", dials: "198.18.0.7:80"},
		attack{row: "WB-18", name: "with metadata", url: "http://fake-mixed.example/", web: proxied, want: "!is blocked"},
		attack{row: "WB-18", name: "and nothing else", url: "http://private.example/", web: proxied, want: "!is blocked"},
	)

	// 19: what is no URL is refused.
	add(malformed("WB-19", "no host", "", "http:///x", "http://", "http:x", "http://?", "http://:80/", "http://.")...)
	add(malformed("WB-19", "no scheme", "", "//x", "/etc/passwd", "public.example", "")...)
	add(malformed("WB-19", "malformed", "", "http://[::1", "http://a%00b/", "http://[1.2.3.4]/")...)
	add(malformed("WB-19", "only http and https", "", "file:///etc/passwd", "gopher://127.0.0.1/", "data:text/html,x", "ftp://public.example/", "javascript:alert(1)", "jar:http://127.0.0.1!/")...)
	add(malformed("WB-19", "blank or a control byte", "", "http://public.example/ HTTP/1.1", "http://public.example/\r\nHost: x", "http://public.example\t.evil.example/", " http://public.example/")...)
	add(malformed("WB-19", "port", "", "http://public.example:22/", "http://public.example:0/", "http://public.example:6667/")...)

	// 20: a key goes to its own host, told by the whole of its name.
	add(
		attack{row: "WB-20", name: "a provider is told by its host", then: func(t *testing.T, _ *internet, _ string, _ []*http.Request) {
			for _, u := range []string{"https://evil.example/openrouter.ai/", "https://openrouter.ai.evil.example/", "https://evil-openrouter.ai/", "https://evil.example/?openrouter.ai"} {
				if p := openai.ProviderOf(u); p == "openrouter" || !strings.Contains(p, "evil") {
					t.Errorf("%s is taken for %s", u, p)
				}
			}
		}},
		attack{row: "WB-20", name: "the key of the search", then: searched("http://public.example/to/302?l=http%3A%2F%2Fpublic.example%3A8080%2Fx&q={query}", "not understood", "1.1.1.1:80 1.1.1.1:8080", func(t *testing.T, got []*http.Request) {
			if len(got) != 2 || got[0].Header.Get("Authorization") != "Bearer secret" || got[1].Header.Get("Authorization") != "" {
				t.Errorf("the key went to %v", got)
			}
		})},
	)

	// 22: the other tool that speaks HTTP has the same guard, but for the one host
	// that the user chose.
	add(
		attack{row: "WB-22", name: "search at a private host", then: searched("http://private.example/say?t=application/json&b=[]&q={query}", "", "10.0.0.1:80", nil)},
		attack{row: "WB-22", name: "search at metadata", then: searched("http://metadata.example/?q={query}", "is blocked", "", nil)},
		attack{row: "WB-22", name: "search that redirects", then: searched("http://public.example/to/302?l=http%3A%2F%2F10.0.0.1%2F&q={query}", "redirects to another host", "1.1.1.1:80", nil)},
		attack{row: "WB-22", name: "search that redirects to metadata", then: searched("http://public.example/to/302?l=http%3A%2F%2F169.254.169.254%2F&q={query}", "is blocked", "1.1.1.1:80", nil)},
		attack{row: "WB-22", name: "search without an end", then: searched("http://public.example/endless?q={query}", "not understood", "1.1.1.1:80", nil)},
	)
	return all
}

// decidedOn looks at the host that a call is decided on, or the error.
func decidedOn(raw, host string) func(*testing.T, *internet, string, []*http.Request) {
	return func(t *testing.T, in *internet, _ string, _ []*http.Request) {
		w, _ := in.web(builtin.WebOptions{})
		acc, err := w.Spec().Access(t.Context(), &tool.Call{Input: asJSON(m{"url": raw})})
		if why, bad := strings.CutPrefix(host, "!"); bad {
			if err == nil || !strings.Contains(err.Error(), why) {
				t.Errorf("%v, %v", acc, err)
			}
			return
		}
		if err != nil || len(acc) != 1 || acc[0] != (tool.Access{Op: tool.Connect, Target: host}) {
			t.Errorf("%v, %v, want %s", acc, err, host)
		}
	}
}

// searched searches at an address with a key. fails is in the error, if there is
// to be one.
func searched(at, fails, dials string, then func(*testing.T, []*http.Request)) func(*testing.T, *internet, string, []*http.Request) {
	return func(t *testing.T, in *internet, _ string, _ []*http.Request) {
		_, s := in.web(builtin.WebOptions{Search: builtin.SearchOptions{URL: at, Key: "secret"}})
		c := &tool.Call{Name: "WebSearch", Input: asJSON(m{"query": "x"})}
		var err error
		if c.Access, err = s.Spec().Access(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		_, err = tool.Run(t.Context(), s, c)
		if (err == nil) != (fails == "") || err != nil && (!strings.Contains(err.Error(), fails) || strings.Contains(err.Error(), "secret")) {
			t.Errorf("%v, want %s", err, fails)
		}
		dialed, got := in.forget()
		if joined(dialed) != dials {
			t.Errorf("dialled %v, want %s", dialed, dials)
		}
		if then != nil {
			then(t, got)
		}
	}
}

func joined(dialed []netip.AddrPort) string {
	var out []string
	for _, a := range dialed {
		out = append(out, a.String())
	}
	return strings.Join(out, " ")
}

// TestSSRFTable goes through what is known to have let tools like this one reach
// what they must not, over a name server and a redirector.
func TestSSRFTable(t *testing.T) {
	proxied := make(chan string, 100)
	proxy := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { proxied <- r.URL.String() })
	in := newInternet(t)
	env := newProxy(t, proxy)
	for _, k := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"} {
		t.Setenv(k, env)
	}
	rows := map[string]int{}
	for _, a := range attacks() {
		rows[a.row]++
		t.Run(a.row+" "+regexp.MustCompile(`[^\w.:]+`).ReplaceAllString(a.name, " "), func(t *testing.T) {
			in.forget()
			in.limit = 0
			if strings.HasSuffix(a.want, tooLong) {
				in.limit = 200 * time.Millisecond
			}
			text := ""
			if a.want != "" {
				var err error
				for range max(a.times, 1) {
					w, _ := in.web(a.web)
					text, _, err = fetched(t, w, m{"url": a.url})
				}
				if why, fails := strings.CutPrefix(a.want, "!"); fails {
					if err == nil || !strings.Contains(err.Error(), why) {
						t.Errorf("%.300q, %v, want %s", text, err, why)
					}
				} else if err != nil || !strings.Contains(text, a.want) {
					t.Errorf("%.300q, %v, want %s", text, err, a.want)
				}
			}
			dialed, got := in.forget()
			if a.want != "" && joined(dialed) != a.dials {
				t.Errorf("dialled %v, want %s", dialed, a.dials)
			}
			if a.then != nil {
				a.then(t, in, text, got)
			}
		})
	}
	for n := 1; n <= 22; n++ {
		if row := fmt.Sprintf("WB-%02d", n); rows[row] == 0 {
			t.Errorf("nothing tries %s", row)
		}
	}
	if len(proxied) > 0 {
		t.Errorf("the proxy of the environment was asked for %s", <-proxied)
	}
}
