package provider_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cantle-dev/cantle/llm/catalog"
	"github.com/cantle-dev/cantle/llm/provider"
)

// many is the answer of a server with n models.
func many(n int) string {
	var b strings.Builder
	b.WriteString(`{"data":[`)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"id":"m%d","context_length":%d}`, i, i+1)
	}
	return b.String() + "]}"
}

// A list of any length is kept to its first models, and each is found at once.
func TestListIsBounded(t *testing.T) {
	t.Parallel()
	page := func(first int) string {
		var ids []map[string]string
		for i := range 1000 {
			ids = append(ids, map[string]string{"id": fmt.Sprintf("m%d", first+i)})
		}
		b, err := json.Marshal(map[string]any{"data": ids, "has_more": true, "last_id": fmt.Sprint(first)})
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	pages := map[string]string{"GET /v1/models?limit=1000": page(0)}
	for i := range 11 {
		pages[fmt.Sprintf("GET /v1/models?after_id=%d&limit=1000", i*1000)] = page((i + 1) * 1000)
	}
	for _, tt := range []struct {
		name, path string
		answers    map[string]string
		want       int
		more       bool
	}{
		{"groq", "/v1", map[string]string{"GET /v1/models": many(provider.MaxModels + 2000)}, provider.MaxModels, true},
		{"groq", "/v1", map[string]string{"GET /v1/models": many(provider.MaxModels)}, provider.MaxModels, false},
		{"anthropic", "", pages, provider.MaxModels, true},
	} {
		base, seen := server(t, tt.answers)
		l, err := list(t, tt.name, base+tt.path, "k")
		if err != nil || len(l.Models) != tt.want || l.More != tt.more || l.Models[len(l.Models)-1].ID != "m9999" {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if n := len(seen()); n > 11 {
			t.Errorf("%s: %d requests", tt.name, n)
		}
	}

	// One of an older version, or of another hand.
	dir := t.TempDir()
	text := strings.Replace(strings.Replace(many(provider.MaxModels+2000), `{"data"`, `{"version":1,"provider":"x","baseUrl":"u","models"`, 1), "context_length", "context", -1)
	if err := os.WriteFile(filepath.Join(dir, "x.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c := &provider.Cache{Dir: dir}
	if l, err := c.Load("x"); err != nil || len(l.Models) != provider.MaxModels || !l.More {
		t.Fatalf("%v", err)
	}
	for i := range provider.MaxModels + 2000 {
		if r, ok := c.Reported("x", "u", fmt.Sprintf("m%d", i)); ok != (i < provider.MaxModels) || ok && r.Context != i+1 {
			t.Fatalf("m%d: %+v, %v", i, r, ok)
		}
	}
	// The last is found as soon as the first.
	took := func(model string) time.Duration {
		start := time.Now()
		for range 2000 {
			c.Reported("x", "u", model)
		}
		return time.Since(start)
	}
	if first, last := took("m0"), took(fmt.Sprintf("m%d", provider.MaxModels-1)); last > 50*first+20*time.Millisecond {
		t.Errorf("2000 times the first took %v, the last %v", first, last)
	}
}

// An id is shown and typed: one with characters that do not show is none.
func TestListDropsWhatIsNoID(t *testing.T) {
	t.Parallel()
	models, err := json.Marshal([]map[string]string{
		{"id": "good", "name": "Good one"},
		{"id": "\x1b[2Jevil"},
		{"id": "a\nb"},
		{"id": "a\x00"},
		{"id": "a\u009bb"},
		{"id": "a\u202eb"},
		{"id": "a\u2028b"},
		{"id": strings.Repeat("x", 1000)},
		{"id": "named", "name": "\x1b]0;evil\a"},
	})
	if err != nil {
		t.Fatal(err)
	}
	base, _ := server(t, map[string]string{"GET /v1/models": string(models)})
	l, err := list(t, "groq", base+"/v1", "k")
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(l.Models); len(l.Models) != 2 || l.Models[0].Name != "Good one" || l.Models[1].ID != "named" || l.Models[1].Name != "" {
		t.Errorf("%q", got)
	}
	ollama, asked := server(t, map[string]string{"GET /api/tags": `{"models":[{"name":"m\u001b"}]}`})
	if l, err := list(t, "ollama", ollama, ""); err != nil || len(l.Models) != 0 || len(asked()) != 2 {
		t.Errorf("%+v, %v", l, err)
	}
}

// A page of a gateway is told of by its title.
func TestListShowsTheTitleOfAPage(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(http.StatusBadGateway)
		fmt.Fprint(w, "<!DOCTYPE html><html><head><title>502 Bad Gateway: sk-secret-1</title><style>p{}</style></head><body><p>nginx</p></body></html>")
	}))
	defer srv.Close()
	_, err := list(t, "groq", srv.URL+"/v1", "sk-secret-1")
	if err == nil || err.Error() != "provider: listing the models of groq: 502 Bad Gateway: …" {
		t.Errorf("got %v", err)
	}
}

// A server that says nothing is given up, with what to do about it.
func TestListThatTakesTooLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := provider.Options{
			Getenv:    env(nil),
			Client:    &http.Client{Transport: silent{}},
			Providers: []provider.Custom{{Provider: catalog.Provider{Name: "box", BaseURL: "http://box.example/v1"}}},
		}
		start := time.Now()
		_, err := o.List(t.Context(), "box")
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 10*time.Second {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
		for _, want := range []string{"box.example did not answer in time", "10s", "check that it runs", "can be used without being listed"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%q is not in: %v", want, err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := o.List(ctx, "box"); !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "in time") {
			t.Errorf("given up: %v", err)
		}
	})
}

// A key that is in the query of an address is in no error.
func TestListHidesTheQuery(t *testing.T) {
	t.Parallel()
	o := provider.Options{Getenv: env(nil), Providers: []provider.Custom{{
		Provider: catalog.Provider{Name: "box", BaseURL: "http://127.0.0.1:1/v1"}, Query: map[string][]string{"code": {"canary"}},
	}}}
	if _, err := o.List(t.Context(), "box"); err == nil || strings.Contains(err.Error(), "canary") || !strings.Contains(err.Error(), "http://127.0.0.1:1/v1/models") {
		t.Errorf("got %v", err)
	}
}
