package provider_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/catalog"
	"github.com/cantle-dev/cantle/llm/provider"
)

// server answers by "METHOD path" with JSON; a body that begins with a digit
// is a status.
func server(t *testing.T, answers map[string]string) (base string, seen func() []*http.Request) {
	t.Helper()
	var mu sync.Mutex
	var requests []*http.Request
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		requests = append(requests, r)
		mu.Unlock()
		key := r.Method + " " + r.URL.RequestURI()
		if r.Method == http.MethodPost {
			var in struct{ Model string }
			_ = json.NewDecoder(r.Body).Decode(&in)
			key += " " + in.Model
		}
		body, ok := answers[key]
		var status int
		if n, _ := fmt.Sscanf(body, "%d ", &status); !ok || n == 1 {
			if !ok {
				status = http.StatusNotFound
			}
			http.Error(w, body, status)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, body)
	}))
	t.Cleanup(srv.Close)
	return srv.URL, func() []*http.Request {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(requests)
	}
}

// list asks the server as if it were the provider's own.
func list(t *testing.T, name, base, key string) (*provider.Listing, error) {
	t.Helper()
	o := provider.Options{APIKey: key, Providers: []provider.Custom{{Provider: catalog.Provider{Name: name, BaseURL: base}}}}
	return o.List(t.Context(), name)
}

func TestList(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	for _, tt := range []struct {
		provider, path string
		answers        map[string]string
		want           []provider.Report
	}{
		{"openai", "/v1", map[string]string{"GET /v1/models": `{"data":[{"id":"a","object":"model"},{"object":"no id"},7]}`}, []provider.Report{{ID: "a"}}},
		{
			"groq", "/v1",
			map[string]string{"GET /v1/models": `{"data":[{"id":"a","context_window":131072,"max_completion_tokens":32768}]}`},
			[]provider.Report{{ID: "a", Context: 131072, Output: 32768}},
		},
		{
			"together", "/v1",
			map[string]string{"GET /v1/models": `[{"id":"a","context_length":9000,"pricing":{"input":0.6,"output":1.2}}]`},
			[]provider.Report{{ID: "a", Context: 9000}},
		},
		{
			"mistral", "/v1",
			map[string]string{"GET /v1/models": `{"data":[{"id":"a","max_context_length":1000,"capabilities":{"vision":true,"function_calling":false}}]}`},
			[]provider.Report{{ID: "a", Context: 1000, Images: &yes, Tools: &no}},
		},
		{"vllm", "/v1", map[string]string{"GET /v1/models": `{"data":[{"id":"a","max_model_len":40960}]}`}, []provider.Report{{ID: "a", Context: 40960}}},
		// Numbers that cannot be are not believed, and are no errors.
		{
			"vllm", "/v1",
			map[string]string{"GET /v1/models": `{"data":[{"id":"a","max_model_len":-1,"max_completion_tokens":"many"},{"id":"b","max_model_len":1e30},{"id":"c","max_model_len":[1]}]}`},
			[]provider.Report{{ID: "a"}, {ID: "b"}, {ID: "c"}},
		},
		{
			"vercel", "/v1",
			map[string]string{"GET /v1/models": `{"data":[{"id":"a/b","context_window":1000,"max_tokens":100,"pricing":{"input":"0.000001","output":"0.000002","input_cache_read":"0.0000001"}}]}`},
			[]provider.Report{{ID: "a/b", Context: 1000, Output: 100, Price: &llm.Price{Input: 1_000_000, Output: 2_000_000, CacheRead: 100_000, CacheWrite: 1_000_000, CacheWrite1h: 1_000_000}}},
		},
		{
			"openrouter", "/api/v1",
			map[string]string{"GET /api/v1/models": `{"data":[
			{"id":"a/b","name":"B","context_length":1000,"top_provider":{"context_length":800,"max_completion_tokens":100},
			 "architecture":{"input_modalities":["text","image"]},"supported_parameters":["tools","reasoning"],
			 "pricing":{"prompt":"0.000003","completion":"0.000015","input_cache_read":"0.0000003","input_cache_write":"0.00000375","request":"0"}},
			{"id":"free","pricing":{"prompt":"0","completion":"0"}},
			{"id":"auto","pricing":{"prompt":"-1","completion":"-1"}},
			{"id":"fee","pricing":{"prompt":"0.000001","completion":"0.000001","request":"0.005"}}]}`},
			[]provider.Report{
				{ID: "a/b", Name: "B", Context: 800, Output: 100, Images: &yes, Tools: &yes, Thinking: &yes, Price: &llm.Price{Input: 3_000_000, Output: 15_000_000, CacheRead: 300_000, CacheWrite: 3_750_000, CacheWrite1h: 6_000_000}},
				{ID: "free", Price: &llm.Price{}},
				{ID: "auto"},
				{ID: "fee"},
			},
		},
		{"anthropic", "", map[string]string{
			"GET /v1/models?limit=1000":            `{"data":[{"id":"a","display_name":"A","max_input_tokens":200000,"max_tokens":64000}],"has_more":true,"last_id":"a"}`,
			"GET /v1/models?after_id=a&limit=1000": `{"data":[{"id":"b"}],"has_more":false,"last_id":"b"}`,
		}, []provider.Report{{ID: "a", Name: "A", Context: 200000, Output: 64000}, {ID: "b"}}},
		{"ollama", "/v1", map[string]string{
			"GET /api/tags":         `{"models":[{"name":"q:4b"},{"name":"ctx:1b"},{"name":"idle:1b"},{"name":"gone:1b"}]}`,
			"GET /api/ps":           `{"models":[{"name":"q:4b","context_length":4096}]}`,
			"POST /api/show q:4b":   `{"model_info":{"general.architecture":"q","q.context_length":262144},"capabilities":["completion","tools"]}`,
			"POST /api/show ctx:1b": `{"parameters":"stop   \"x\"\nnum_ctx    16384","model_info":{"l.context_length":8192},"capabilities":["vision"]}`,
			// What a model was made for is not what it is served with.
			"POST /api/show idle:1b": `{"model_info":{"l.context_length":131072}}`,
		}, []provider.Report{
			{ID: "q:4b", Context: 4096, Max: 262144, Images: &no, Tools: &yes, Thinking: &no},
			{ID: "ctx:1b", Context: 8192, Max: 8192, Images: &yes, Tools: &no, Thinking: &no},
			{ID: "idle:1b", Max: 131072},
			{ID: "gone:1b"},
		}},
		{
			"lmstudio", "/v1",
			map[string]string{"GET /api/v0/models": `{"data":[{"id":"a","type":"vlm","max_context_length":32768,"loaded_context_length":4096,"capabilities":["tool_use"]},{"id":"e","type":"embeddings"}]}`},
			[]provider.Report{{ID: "a", Context: 4096, Max: 32768, Images: &yes, Tools: &yes}},
		},
		{"lmstudio", "/v1", map[string]string{"GET /v1/models": `{"data":[{"id":"old"}]}`}, []provider.Report{{ID: "old"}}},
		{"llamacpp", "/v1", map[string]string{
			"GET /v1/models": `{"data":[{"id":"a.gguf","meta":{"n_ctx_train":131072}}]}`,
			"GET /props":     `{"default_generation_settings":{"n_ctx":16384},"modalities":{"vision":true}}`,
		}, []provider.Report{{ID: "a.gguf", Context: 16384, Max: 131072, Images: &yes}}},
	} {
		base, seen := server(t, tt.answers)
		l, err := list(t, tt.provider, base+tt.path, "k")
		if err != nil {
			t.Errorf("%s: %v", tt.provider, err)
			continue
		}
		got, _ := json.Marshal(l.Models)
		want, _ := json.Marshal(tt.want)
		if string(got) != string(want) {
			t.Errorf("%s:\n got %s\nwant %s", tt.provider, got, want)
		}
		for _, r := range seen() {
			if r.Header.Get("Authorization") != "Bearer k" && r.Header.Get("X-Api-Key") != "k" {
				t.Errorf("%s: %s has no key", tt.provider, r.URL)
			}
		}
	}
}

// TestListLike holds that a server of the user's own is asked as the one that
// it is said to be like.
func TestListLike(t *testing.T) {
	t.Parallel()
	base, _ := server(t, map[string]string{
		"GET /api/tags": `{"models":[{"name":"m"}]}`, "POST /api/show m": `{"model_info":{"a.context_length":7}}`,
	})
	o := provider.Options{Providers: []provider.Custom{{Provider: catalog.Provider{Name: "box", BaseURL: base + "/v1"}, Profile: "ollama"}}}
	l, err := o.List(t.Context(), "box")
	if err != nil || len(l.Models) != 1 || l.Models[0].Max != 7 {
		t.Errorf("%+v, %v", l, err)
	}
}

func TestListErrors(t *testing.T) {
	t.Parallel()
	elsewhere, reached := server(t, map[string]string{"GET /v1/models": `{"data":[{"id":"stolen"}]}`})
	away := httptest.NewServer(http.RedirectHandler(strings.Replace(elsewhere, "127.0.0.1", "localhost", 1)+"/v1/models", http.StatusFound))
	defer away.Close()
	refused, _ := server(t, map[string]string{"GET /v1/models": `401 {"error":"the key sk-secret is wrong"}`})
	html, _ := server(t, map[string]string{"GET /v1/models": "<html>"})
	empty, _ := server(t, map[string]string{"GET /v1/models": "{}"})
	endless, _ := server(t, map[string]string{
		"GET /v1/models?limit=1000":            `{"data":[],"has_more":true,"last_id":"a"}`,
		"GET /v1/models?after_id=a&limit=1000": `{"data":[],"has_more":true,"last_id":"b"}`,
		"GET /v1/models?after_id=b&limit=1000": `{"data":[],"has_more":true,"last_id":"a"}`,
	})
	for _, tt := range []struct {
		name, base, want string
		is               error
	}{
		{"groq", refused + "/v1", "401 Unauthorized", nil},
		{"groq", html + "/v1", "not JSON", nil},
		{"groq", empty + "/v1", "no list of models", nil},
		{"groq", away.URL + "/v1", "where the key must not go", nil},
		{"anthropic", endless, "more than 50 pages", nil},
		{"ollama", "http://127.0.0.1:1", "listing the models of ollama", nil},
		{"perplexity", elsewhere, "", provider.ErrNoList},
		{"bedrock", "", "", provider.ErrNoList},
		{"grog", "", "did you mean groq", provider.ErrUnknown},
	} {
		if tt.name == "grog" {
			_, err := provider.Options{}.List(t.Context(), tt.name)
			if err == nil || !strings.Contains(err.Error(), tt.want) || !errors.Is(err, tt.is) {
				t.Errorf("%s: %v", tt.name, err)
			}
			continue
		}
		l, err := list(t, tt.name, tt.base, "sk-secret")
		if err == nil || !strings.Contains(err.Error(), tt.want) || tt.is != nil && !errors.Is(err, tt.is) {
			t.Errorf("%s at %s: %+v, %v, want an error with %q", tt.name, tt.base, l, err, tt.want)
		} else if strings.Contains(err.Error(), "sk-secret") {
			t.Errorf("%s: the error has the key: %v", tt.name, err)
		}
	}
	if n := len(reached()); n > 0 {
		t.Errorf("%d requests reached another host", n)
	}
}

func TestCache(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a", "b")
	c := &provider.Cache{Dir: dir}
	if _, err := c.Load("x"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("nothing is kept: %v", err)
	}
	if _, ok := c.Reported("../x", "u", "m"); ok {
		t.Error("reported with nothing kept")
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	// A name of the user's own stays a file in the folder.
	for _, name := range []string{"x", "../x", "a/b"} {
		err := c.Save(&provider.Listing{Provider: name, BaseURL: "u", Time: at, Models: []provider.Report{{ID: "m", Context: 7, Price: llm.PerMillion(1, 2)}}})
		if err != nil {
			t.Fatal(err)
		}
		l, err := c.Load(name)
		if err != nil || l.Provider != name || !l.Time.Equal(at) {
			t.Errorf("%q: %+v, %v", name, l, err)
		}
		r, ok := c.Reported(name, "u", "m")
		if !ok || r.Context != 7 || r.Price == nil || r.Price.Output != 2_000_000 {
			t.Errorf("%q: %+v, %v", name, r, ok)
		}
		if _, ok := c.Reported(name, "v", "m"); ok {
			t.Errorf("%q: another address counts", name)
		}
		if _, ok := c.Reported(name, "u", "n"); ok {
			t.Errorf("%q: another model counts", name)
		}
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 3 {
		t.Errorf("%v, %v", files, err)
	}
	for _, text := range []string{"", "{", "[]", `{"version":99}`, `{"version":1,"models":[{"context":"x"}]}`} {
		if err := os.WriteFile(filepath.Join(dir, "x.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		fresh := &provider.Cache{Dir: dir}
		if _, err := fresh.Load("x"); err == nil || !strings.Contains(err.Error(), "x.json") {
			t.Errorf("%q: %v", text, err)
		}
		if _, ok := fresh.Reported("x", "u", "m"); ok {
			t.Errorf("%q: reported", text)
		}
	}
}
