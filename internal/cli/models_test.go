package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/internal/cli"
	"github.com/cantle-dev/cantle/llm/catalog"
)

// house is a home and a project, and the environment of commands there.
type house struct {
	t         *testing.T
	home, dir string
	vars      map[string]string
	tty       bool
}

func newHouse(t *testing.T, settings string) *house {
	t.Helper()
	b := &house{t: t, home: t.TempDir(), dir: t.TempDir(), vars: map[string]string{}}
	if err := os.WriteFile(filepath.Join(b.home, "settings.json"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *house) run(args ...string) (code int, stdout, stderr string) {
	b.t.Helper()
	var out, errs bytes.Buffer
	code = cli.Main(b.t.Context(), cli.Env{
		Streams: cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs, OutTTY: b.tty},
		Getenv: func(name string) string {
			if name == "CANTLE_HOME" {
				return b.home
			}
			return b.vars[name]
		},
		Dir: b.dir, User: b.home,
	}, args)
	return code, out.String(), errs.String()
}

func TestModelsList(t *testing.T) {
	t.Parallel()
	b := newHouse(t, `{"model": "groq:x", "providers": {"mine": {"baseUrl": "http://127.0.0.1:9/v1"}}, "models": {"mine:m": {"context": 5000}}}`)
	b.vars["GROQ_API_KEY"] = "secret"

	code, out, errs := b.run("models")
	if !strings.Contains(errs, "In use: groq:x, window 128000 tokens (assumed: nothing is known)") {
		t.Errorf("the model in use:\n%s", errs)
	}
	if code != 0 || !strings.Contains(out, "groq\t7\tGROQ_API_KEY is set\t") || !strings.Contains(out, "mine\t1\tnone needed\thttp://127.0.0.1:9/v1") ||
		!strings.HasPrefix(out, "PROVIDER\tMODELS\tKEY\tADDRESS\n") || !strings.Contains(out, "\tnone: the credentials of AWS\t") || !strings.Contains(out, "\tnone: the application credentials of Google Cloud\t") {
		t.Errorf("models: %d\n%s", code, out)
	}
	if strings.Contains(out, "secret") {
		t.Error("the key is shown")
	}
	b.tty = true
	if _, out, _ := b.run("models"); !strings.HasPrefix(out, "PROVIDER ") || strings.Contains(out, "\t") {
		t.Errorf("at a terminal:\n%s", out)
	}
	b.tty = false

	code, out, _ = b.run("models", "--json")
	var list struct {
		Model     string
		Providers []struct{ Name, Key string }
	}
	if err := json.Unmarshal([]byte(out), &list); code != 0 || err != nil || list.Model != "groq:x" || len(list.Providers) < 27 {
		t.Errorf("models --json: %d, %v\n%s", code, err, out)
	}
	keys := map[string]string{}
	for _, p := range list.Providers {
		keys[p.Name] = p.Key
	}
	if keys["groq"] != "set" || keys["openai"] != "missing" || keys["ollama"] != "none needed" || keys["bedrock"] != "cloud credentials" {
		t.Errorf("keys: %v", keys)
	}

	code, out, _ = b.run("models", "groq")
	if code != 0 || !strings.Contains(out, "llama-3.1-8b-instant\t131k\tn/a\t0.05\t0.08\ttext tools\n") {
		t.Errorf("models groq: %d\n%s", code, out)
	}
	code, out, errs = b.run("models", "mine")
	if code != 0 || out != "MODEL\tWINDOW\tOUTPUT\t$/M IN\t$/M OUT\tTAKES\nm\t5000\tn/a\tn/a\tn/a\ttext tools\n" {
		t.Errorf("models mine: %d\n%s%s", code, out, errs)
	}
	if code, out, errs := b.run("models", "antropic"); code != 2 || out != "" || !strings.Contains(errs, "did you mean anthropic") {
		t.Errorf("a provider that is not there: %d\n%s%s", code, out, errs)
	}
	delete(b.vars, "GROQ_API_KEY")
	if code, _, errs := b.run("models"); code != 0 || !strings.Contains(errs, "In use: groq:x: provider: no key for groq: set GROQ_API_KEY") {
		t.Errorf("the model in use, without a key: %d\n%s", code, errs)
	}
	if code, _, errs := b.run("models", "ollama"); code != 0 || !strings.Contains(errs, "cantle models refresh ollama") {
		t.Errorf("a provider without models: %d\n%s", code, errs)
	}
}

// TestModelsRoles: what the settings name models for, and which of them cannot
// be used.
func TestModelsRoles(t *testing.T) {
	t.Parallel()
	b := newHouse(t, `{"model": "demo:offline", "fallback": ["groq:x", "grok:y"], "route": {"mode": "triage", "cheap": "ollama:a"}}`)
	b.vars["GROQ_API_KEY"] = "secret"
	code, _, errs := b.run("models")
	if code != 0 || !strings.Contains(errs, "\n  fallback groq:x: ok\n") || !strings.Contains(errs, "\n  fallback grok:y: provider: ") ||
		!strings.Contains(errs, "\n  route.cheap ollama:a: ok\n") || !strings.Contains(errs, "\n  route.frontier demo:offline: ok\n") {
		t.Errorf("%d, %s", code, errs)
	}
	code, out, _ := b.run("models", "--json")
	var list struct {
		Roles []struct{ Name, Model, Error string }
	}
	if err := json.Unmarshal([]byte(out), &list); code != 0 || err != nil || len(list.Roles) != 5 {
		t.Fatalf("%d, %v, %+v", code, err, list)
	}
	for i, want := range []string{"default demo:offline", "fallback groq:x", "fallback grok:y", "route.cheap ollama:a", "route.frontier demo:offline"} {
		if r := list.Roles[i]; r.Name+" "+r.Model != want || (r.Error != "") != (r.Model == "grok:y") {
			t.Errorf("%d: %+v", i, r)
		}
	}
	b = newHouse(t, `{"model": "grok:y"}`)
	if _, _, errs := b.run("models"); strings.Count(errs, "grok:y: ") != 1 {
		t.Errorf("a model that is not there is told once:\n%s", errs)
	}
}

// TestModelsDisputed: a price that another source has otherwise, unless it is
// the settings' own.
func TestModelsDisputed(t *testing.T) {
	t.Parallel()
	list, err := catalog.Models("mistral")
	i := slices.IndexFunc(list, func(m catalog.Model) bool { return m.Disputed != "" })
	if err != nil || i < 0 {
		t.Skip("no price is disputed")
	}
	ref := "mistral:" + list[i].ID
	for settings, shown := range map[string]bool{"{}": true, `{"models": {"` + ref + `": {"price": {"input": 1, "output": 2}}}}`: false} {
		b := newHouse(t, settings)
		code, out, _ := b.run("models", "show", ref)
		if code != 0 || strings.Contains(out, "disputed\tanother source: "+list[i].Disputed) != shown {
			t.Errorf("%s: %d, %s", settings, code, out)
		}
		_, out, _ = b.run("models", "show", "--json", ref)
		var doc struct{ Disputed string }
		if err := json.Unmarshal([]byte(out), &doc); err != nil || (doc.Disputed == list[i].Disputed) != shown {
			t.Errorf("%s: %v, %s", settings, err, out)
		}
	}
}

func TestModelsShow(t *testing.T) {
	t.Parallel()
	b := newHouse(t, `{"models": {
		"openai:gpt-4o": {"context": 60000},
		"openai:house": {"price": {"input": 1, "output": 2}}
	}}`)
	for _, tt := range []struct {
		ref   string
		code  int
		wants []string
	}{
		{"openai:gpt-4o", 0, []string{"window\t60000 tokens (from your settings)\n", "output\t16384 tokens (from the catalog)\n", "input 2.50, output 10.00"}},
		{"anthropic:claude-opus-4-8-20260401", 0, []string{"anthropic:claude-opus-4-8-20260401", "window\t1000000 tokens (from the catalog)", "for an hour 10.00"}},
		{"google:gemini-2.5-pro", 0, []string{"prompts above 200000 tokens: input 2.50"}},
		{"openai:gpt-4o-x", 0, []string{"window\t128000 tokens (assumed: nothing is known)", "price\tn/a", "The nearest: gpt-4o"}},
		// A user's own price counts for what has its name in it.
		{"openai:house-2", 0, []string{"price\tn/a"}},
		{"ollama:x", 0, []string{"window\t8192 tokens (assumed", "price\tfree"}},
		{"gpt-4o", 2, []string{"openai:gpt-4o"}},
		{"demo:offline", 2, []string{"only plays a model"}},
	} {
		code, out, errs := b.run("models", "show", tt.ref)
		for _, want := range tt.wants {
			if tt.ref == "openai:house-2" {
				want = "input 1.00, output 2.00"
			}
			if code != tt.code || !strings.Contains(out+errs, want) {
				t.Errorf("show %s: %d, no %q in\n%s%s", tt.ref, code, want, out, errs)
			}
		}
	}
	code, out, _ := b.run("models", "show", "openai:gpt-4o", "--json")
	var got struct {
		Context     int
		ContextFrom string
		Price       struct{ Input, CacheRead float64 }
	}
	if err := json.Unmarshal([]byte(out), &got); code != 0 || err != nil || got.Context != 60000 || got.ContextFrom != "settings" || got.Price.Input != 2.5 || got.Price.CacheRead != 1.25 {
		t.Errorf("show --json: %d, %v, %+v\n%s", code, err, got, out)
	}
}

func TestModelsRefresh(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer k" {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		fmt.Fprint(w, `{"data":[{"id":"live","max_model_len":4321},{"id":"\u001b[31mred"}]}`)
	}))
	defer srv.Close()
	b := newHouse(t, fmt.Sprintf(`{"providers": {"mine": {"baseUrl": "%s/v1", "apiKeyEnv": "MINE"}, "down": {"baseUrl": "http://127.0.0.1:1/v1"}}}`, srv.URL))
	if code, _, errs := b.run("models", "refresh", "mine"); code != 1 || !strings.Contains(errs, "set MINE") {
		t.Errorf("without its key: %d\n%s", code, errs)
	}
	b.vars["MINE"] = "wrong"
	if code, _, errs := b.run("models", "refresh", "mine"); code != 1 || !strings.Contains(errs, "401 Unauthorized: who are you?") {
		t.Errorf("with a wrong key: %d\n%s", code, errs)
	}
	b.vars["MINE"] = "k"
	// Without a name: what is usable, and one that fails stops no other.
	code, out, errs := b.run("models", "refresh")
	if code != 1 || out != "PROVIDER\tMODELS\nmine\t1\n" || !strings.Contains(errs, "listing the models of down") {
		t.Errorf("refresh: %d\n%s%s", code, out, errs)
	}
	code, out, errs = b.run("models", "refresh", "mine", "--json")
	if code != 0 || out != `{"providers":[{"provider":"mine","models":1}]}`+"\n" {
		t.Errorf("refresh --json: %d\n%s%s", code, out, errs)
	}
	srv.Close() // from here on there is no network
	code, out, errs = b.run("models", "show", "mine:live")
	if code != 0 || !strings.Contains(out, "window\t4321 tokens (the provider says so)") {
		t.Errorf("show: %d\n%s%s", code, out, errs)
	}
	code, out, errs = b.run("models", "mine")
	if code != 0 || !strings.Contains(out, "live\t4321\t") || strings.Contains(out, "\x1b") {
		t.Errorf("list: %d\n%q%s", code, out, errs)
	}
	kept := filepath.Join(b.home, "cache", "models", "mine.json")
	if text, err := os.ReadFile(kept); err != nil || strings.Contains(string(text), `"k"`) {
		t.Errorf("%s: %v", text, err)
	}
	// A file that was damaged is told of, and nothing ends for it.
	if err := os.WriteFile(kept, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, _, errs = b.run("models", "mine")
	if code != 0 || !strings.Contains(errs, "mine.json") {
		t.Errorf("with a damaged file: %d\n%s", code, errs)
	}
	if code, _, errs := newHouse(t, "{}").run("models", "refresh"); code != 2 || !strings.Contains(errs, "there is no provider to ask") {
		t.Errorf("nothing to ask: %d\n%s", code, errs)
	}
}
