package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cantle-dev/cantle/agent"
	"github.com/cantle-dev/cantle/internal/app"
	"github.com/cantle-dev/cantle/internal/config"
	"github.com/cantle-dev/cantle/llm/llmtest"
)

// site is a server on this machine that notes what it is asked.
func site(t *testing.T) (url string, asked func() []*http.Request) {
	var mu sync.Mutex
	var all []*http.Request
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		all = append(all, r)
		mu.Unlock()
		if r.URL.Path == "/search" {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"results":[{"title":"The tides","url":"https://example.com/tides","content":"high and low"}]}`)
			return
		}
		w.Header().Set("Content-Type", "text/plain")
		fmt.Fprint(w, "begin "+strings.Repeat("word ", 4000)+"end")
	}))
	t.Cleanup(srv.Close)
	return srv.URL, func() []*http.Request {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(all)
	}
}

// yes answers what is asked of this machine's addresses.
func yes(context.Context, *agent.Turn, *agent.Question) (*agent.Answer, error) {
	return &agent.Answer{OK: true}, nil
}

// toolNames are the tools that a request offers.
func toolNames(e *llmtest.Exchange) []string {
	var out []string
	for _, s := range e.Request.Tools {
		out = append(out, s.Name)
	}
	return out
}

// The settings say which networks WebFetch reaches, how much of a page it
// gives, and how it names itself.
func TestWebFetchSettings(t *testing.T) {
	zero, few := 0, 100
	for name, tt := range map[string]struct {
		web     config.Web
		reached bool
		agent   string
		most    int
	}{
		"nothing":    {config.Web{}, false, "", 0},
		"private":    {config.Web{AllowPrivate: true}, true, "cantle/1.2.3", 8000},
		"a range":    {config.Web{AllowRanges: []string{"127.0.0.1/8"}, UserAgent: "mine/1"}, true, "mine/1", 8000},
		"another":    {config.Web{AllowRanges: []string{"10.0.0.0/8"}}, false, "", 0},
		"all of it":  {config.Web{AllowPrivate: true, MaxChars: &zero}, true, "cantle/1.2.3", 100_000},
		"a bit only": {config.Web{AllowPrivate: true, MaxChars: &few}, true, "cantle/1.2.3", 100},
	} {
		t.Run(name, func(t *testing.T) {
			url, asked := site(t)
			w := newWorld(t)
			w.change = func(o *app.Options) { o.Config.Web, o.Version, o.Ask = tt.web, "1.2.3", yes }
			got, _ := w.run("go", llmtest.Call("WebFetch", m{"url": url + "/page"}), llmtest.Say("ok"))[1].LastResult()
			if len(asked()) > 0 != tt.reached || strings.Contains(got, "begin word") != tt.reached {
				t.Fatalf("%d requests: %.300s", len(asked()), got)
			}
			if !tt.reached {
				return
			}
			words := strings.Count(got, "word") * 5
			if want := min(tt.most, 20_000); words > want || words < want-500 {
				t.Errorf("%d characters, want %d", words, want)
			}
			if ua := asked()[0].UserAgent(); ua != tt.agent {
				t.Errorf("it is named %q, want %q", ua, tt.agent)
			}
		})
	}
}

// WebSearch is there once a service is set, and its key goes to the service and
// to no command.
func TestWebSearchSettings(t *testing.T) {
	url, asked := site(t)
	for header, from := range map[string]string{"": "Bearer " + canary, "X-Subscription-Token": canary} {
		w := newWorld(t)
		w.change = func(o *app.Options) {
			o.Config.Web.Search = config.Search{URL: url + "/search?format=json&q={query}", KeyEnv: "PLAIN", KeyHeader: header}
			o.Getenv = func(name string) string { return map[string]string{"PLAIN": canary}[name] }
			o.Environ, o.Ask = append(o.Environ, "PLAIN="+canary), yes
		}
		seen := w.run("go", llmtest.Call("WebSearch", m{"query": "tides & more"}), llmtest.Call("Bash", m{"command": "/usr/bin/env"}), llmtest.Say("ok"))
		got, _ := seen[1].LastResult()
		env, _ := seen[2].LastResult()
		r := asked()[len(asked())-1]
		if header == "" {
			header = "Authorization"
		}
		if !strings.Contains(got, "https://example.com/tides") || r.URL.Query().Get("q") != "tides & more" || r.Header.Get(header) != from {
			t.Errorf("%s: %v, %s", header, r.URL, got)
		}
		if !strings.Contains(env, "PATH=") || strings.Contains(env+got, canary) {
			t.Errorf("the key came through: %s%s", env, got)
		}
		if n := fixed(t, seen[0]); n > 20_000 {
			t.Errorf("with all tools a request costs %d bytes", n)
		} else {
			t.Logf("with all tools: %d bytes", n)
		}
	}

	// Without its key it would fail each time.
	w := newWorld(t)
	w.change = func(o *app.Options) {
		o.Config.Web.Search = config.Search{URL: url + "/search?q={query}", KeyEnv: "PLAIN"}
	}
	a, srv := w.open(llmtest.Say("ok"))
	say(t, a, "hi")
	names := toolNames(srv.Requests()[0])
	if notes := strings.Join(a.Notes, "\n"); slices.Contains(names, "WebSearch") || !slices.Contains(names, "WebFetch") || !strings.Contains(notes, "web.search.keyEnv: the variable PLAIN") {
		t.Errorf("%q, %q", names, notes)
	}
}

// What a search service's address lacks is told with the place.
func TestWebSearchProblems(t *testing.T) {
	for text, want := range map[string]string{
		"{\"web\": {\n\"search\": {\n\"url\": \"http://h/{query}\"}}}": "settings.json:3: web.search.url: the address of the search service must hold {query} after a question mark",
	} {
		w := newWorld(t)
		w.write(".home/settings.json", text)
		none := func(string) string { return "" }
		c, err := config.Load(config.Sources{Home: w.dir + "/.home", Dir: w.dir, Getenv: none})
		if err != nil {
			t.Fatal(err)
		}
		c.Model = app.DemoModel
		if _, err = app.New(t.Context(), app.Options{Config: c, Home: w.home, Dir: w.dir, Getenv: none}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if b, err := json.Marshal(config.Config{}); err != nil || strings.Contains(string(b), "web") {
		t.Errorf("%s, %v", b, err)
	}
}
