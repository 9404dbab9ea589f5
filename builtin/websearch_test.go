package builtin_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/builtin"
	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/tool"
)

func search(t *testing.T, o builtin.SearchOptions, query string) (string, builtin.SearchDetail, error) {
	t.Helper()
	tl := builtin.WebSearch(builtin.Options{Web: builtin.WebOptions{Search: o}})
	c := &tool.Call{ID: "1", Name: "WebSearch", Input: asJSON(m{"query": query})}
	var d builtin.SearchDetail
	var err error
	if c.Access, err = tl.Spec().Access(t.Context(), c); err != nil {
		return "", d, err
	}
	res, err := tool.Run(t.Context(), tl, c)
	if err != nil {
		return "", d, err
	}
	if len(res.Detail) > 0 {
		if err := json.Unmarshal(res.Detail, &d); err != nil {
			t.Fatal(err)
		}
	}
	return res.Parts.Text(), d, nil
}

func TestWebSearch(t *testing.T) {
	answer, status, seen := "", 200, ""
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = fmt.Sprint(r.URL, r.Header["Authorization"], r.Header["X-Subscription-Token"])
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		fmt.Fprint(w, answer)
	}))
	defer s.Close()
	o := builtin.SearchOptions{URL: s.URL + "/search?format=json&q={query}&safe=1"}

	want := builtin.SearchHit{Title: "The Go & you", URL: "https://go.dev/doc/", Snippet: "All of it."}
	for service, a := range map[string]string{
		"SearXNG": `{"query":"x","number_of_results":0,"results":[{"url":"https://go.dev/doc/","title":"The Go &amp; you","content":"All of it.","engine":"e","score":1.5}],"answers":[]}`,
		"Brave":   `{"type":"search","web":{"type":"search","results":[{"title":"The <b>Go</b> &amp; you","url":"https://go.dev/doc/","description":"All <strong>of</strong>\n it."}]}}`,
		"Google":  `{"kind":"k","items":[{"title":"The Go & you","link":"https://GO.dev/doc/#x","snippet":"All of it."}]}`,
		"Serper":  `{"organic":[{"title":"The Go & you","link":"https://go.dev/doc/","snippet":"All of it.","position":1}]}`,
		"plain":   `[{"title":"The Go & you","url":"https://go.dev/doc/","snippet":"All of it."},{"title":"bad","url":"javascript:alert(1)"},{"title":"bad","url":"http://0x7f.1/"}]`,
	} {
		answer = a
		got, d, err := search(t, o, "go  docs & more")
		if err != nil || len(d.Hits) != 1 || d.Hits[0] != want || inside(t, got) != "1. The Go & you\n   https://go.dev/doc/\n   All of it." {
			t.Errorf("%s: %q %+v %v", service, got, d, err)
		}
		if seen != "/search?format=json&q=go++docs+%26+more&safe=1 [] []" {
			t.Error(seen)
		}
	}
	o.Key = "k"
	if _, _, err := search(t, o, "x"); err != nil || !strings.HasSuffix(seen, "[Bearer k] []") {
		t.Error(seen, err)
	}
	o.Header = "x-subscription-token"
	if _, _, err := search(t, o, "x"); err != nil || !strings.HasSuffix(seen, "[] [k]") {
		t.Error(seen, err)
	}

	// What is large is bounded; what stands in it cannot end the marks.
	var many []m
	for i := range 50 {
		many = append(many, m{"title": strings.Repeat("t ", 5000), "url": fmt.Sprintf("https://%d.example/", i), "content": "--- end\n" + strings.Repeat("s ", 5000)})
	}
	answer = string(asJSON(m{"results": many}))
	got, d, err := search(t, o, "x")
	if err != nil || len(d.Hits) != 10 || len(got) > 10*700 || strings.Count(inside(t, got), "\n") != 29 {
		t.Errorf("%d bytes, %d hits, %v", len(got), len(d.Hits), err)
	}

	for a, want := range map[string]string{
		`{"results":[]}`:      "Nothing was found",
		`{"type":"search"}`:   "Nothing was found",
		`[]`:                  "Nothing was found",
		`{"results":null}`:    "Nothing was found",
		`{"error":"no key"}`:  "no key",
		`{"results":{"a":1}}`: "not understood",
		`{"results`:           "not understood",
		`sorry`:               "not understood",
		``:                    "not understood",
	} {
		answer = a
		got, _, err := search(t, o, "x")
		if !strings.Contains(got+fmt.Sprint(err), want) {
			t.Errorf("%s: %q %v", a, got, err)
		}
	}
	for code, want := range map[int]string{401: "its key", 403: "its key", 429: "too many requests", 500: "status 500"} {
		status = code
		_, _, err := search(t, o, "secret words")
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "words") {
			t.Errorf("%d: %v", code, err)
		}
	}
}

// The key goes to the service that it is for, and to no other.
func TestWebSearchKeyStays(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("asked, with %v", r.Header)
	}))
	defer other.Close()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, strings.Replace(other.URL, "127.0.0.1", "localhost", 1), http.StatusFound)
	}))
	defer s.Close()
	_, _, err := search(t, builtin.SearchOptions{URL: s.URL + "/?q={query}", Key: "k"}, "x")
	if err == nil || !strings.Contains(err.Error(), "redirects to another host, localhost") {
		t.Error(err)
	}
}

func TestWebSearchOptions(t *testing.T) {
	for url, want := range map[string]string{
		"":                                   "",
		"http://localhost:8888/?q={query}":   "",
		"https://a.example/search?q=":        "holds no {query}",
		"https://{query}.example/":           "after a question mark",
		"https://a.example/{query}":          "after a question mark",
		"ftp://a.example/?q={query}":         "only http",
		"a.example/?q={query}":               "no scheme",
		"https://user:pw@a.example/?{query}": "user name",
	} {
		err := builtin.SearchOptions{URL: url}.Check()
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", url, err, want)
		}
	}
	offered := func(o builtin.WebOptions) bool {
		for _, tl := range builtin.Tools(builtin.Options{Web: o}) {
			if tl.Spec().Name == "WebSearch" {
				return true
			}
		}
		return false
	}
	if offered(builtin.WebOptions{}) || !offered(builtin.WebOptions{Search: builtin.SearchOptions{URL: "http://localhost:8888/?q={query}"}}) {
		t.Error("WebSearch is not where it should be")
	}
	if !offered(builtin.WebOptions{Hosted: true}) {
		t.Error("the provider's search is not offered")
	}
	for url, want := range map[string]string{
		"": "", "ftp://a.example/?q={query}": "", "http://LOCALHOST.:8888/?q={query}": "localhost", "http://[::ffff:10.0.0.1]/?q={query}": "10.0.0.1",
	} {
		if got := (builtin.SearchOptions{URL: url}).Host(); got != want {
			t.Errorf("%s: %q, want %q", url, got, want)
		}
	}
	for query, want := range map[string]string{" ": "empty", strings.Repeat("a", 2000): "at most"} {
		if _, _, err := search(t, builtin.SearchOptions{URL: "http://localhost:8888/?q={query}"}, query); err == nil || !strings.Contains(err.Error(), want) {
			t.Error(err)
		}
	}
	tl := builtin.WebSearch(builtin.Options{Web: builtin.WebOptions{Search: builtin.SearchOptions{URL: "http://localhost:8888/?q={query}", Key: "secret"}}})
	p, err := tl.(tool.Previewer).Preview(t.Context(), &tool.Call{Input: asJSON(m{"query": "a b"})})
	if err != nil || p.Title != "Search at localhost:8888" || p.Text != "a b" {
		t.Errorf("%+v %v", p, err)
	}
	if _, _, err := search(t, builtin.SearchOptions{URL: "http://169.254.169.254/?q={query}"}, "x"); err == nil || !strings.Contains(err.Error(), "blocked") {
		t.Error(err)
	}
}

// Which search a model is offered follows from what it has: its provider's, the
// one that is set up, or none. The provider's is never called here.
func TestWebSearchHosted(t *testing.T) {
	at := builtin.SearchOptions{URL: "http://localhost:8888/?q={query}"}
	for name, c := range map[string]struct {
		web    builtin.WebOptions
		hosted string
		local  bool
	}{
		"only here":      {builtin.WebOptions{Search: at}, "", true},
		"both":           {builtin.WebOptions{Search: at, Hosted: true}, llm.HostedWebSearch, true},
		"the provider's": {builtin.WebOptions{Hosted: true}, llm.HostedWebSearch, false},
	} {
		tl := builtin.WebSearch(builtin.Options{Web: c.web})
		s := tl.Spec()
		if s.Hosted != c.hosted || (len(s.Input) > 0) != c.local || !slices.Contains(s.Aliases, "web_search") {
			t.Errorf("%s: %+v", name, s)
		}
		if c.local {
			continue
		}
		call := &tool.Call{Name: "WebSearch", Input: asJSON(m{"query": "x"})}
		if acc, err := s.Access(t.Context(), call); err == nil || len(acc) > 0 {
			t.Errorf("%s: a call would be decided on: %v", name, acc)
		}
		if _, err := tool.Run(t.Context(), tl, call); err == nil || !strings.Contains(err.Error(), "web.search.url") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
