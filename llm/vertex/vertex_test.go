package vertex_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/llmtest"
	"github.com/cantle-dev/cantle/llm/vertex"
)

var hi = &llm.Request{Messages: []llm.Message{llm.UserText("hi")}}

// cloud is a server on loopback that gives tokens and answers as models do.
type cloud struct {
	*httptest.Server
	mu     sync.Mutex
	tokens int
	seen   []*http.Request
	bodies []string

	expires     int    // seconds that a token is good for
	refuse      string // the token server's answer, with status, instead of a token
	status      int
	hold        chan struct{} // the token server waits for it
	modelStatus int
}

const secret = "ya29.token-that-nobody-may-see"

func newCloud(t *testing.T) *cloud {
	t.Helper()
	llmtest.ForbidNetwork(t)
	c := &cloud{expires: 3600}
	c.Server = httptest.NewServer(c)
	t.Cleanup(c.Close)
	return c
}

func (c *cloud) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body) // what does not come shows in the checks
	c.mu.Lock()
	defer c.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if strings.HasSuffix(r.URL.Path, "/token") {
		if hold := c.hold; hold != nil {
			c.mu.Unlock()
			<-hold
			c.mu.Lock()
		}
		if c.refuse != "" {
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, c.refuse)
			return
		}
		c.tokens++
		fmt.Fprintf(w, `{"access_token":"%s-%d","token_type":"Bearer","expires_in":%d}`, secret, c.tokens, c.expires)
		return
	}
	c.seen, c.bodies = append(c.seen, r), append(c.bodies, string(body))
	switch {
	case c.modelStatus != 0:
		w.WriteHeader(c.modelStatus)
		fmt.Fprintf(w, `{"error":{"code":%d,"message":"not with %s","status":"UNAUTHENTICATED"}}`, c.modelStatus, r.Header.Get("Authorization"))
	case strings.Contains(r.URL.Path, "count-tokens"):
		_, _ = io.WriteString(w, `{"input_tokens":42}`)
	case strings.HasSuffix(r.URL.Path, ":countTokens"):
		_, _ = io.WriteString(w, `{"totalTokens":41}`)
	case strings.Contains(r.URL.Path, "anthropic"):
		_, _ = io.WriteString(w, `{"type":"message","id":"m","content":[{"type":"text","text":"Hello"}],"stop_reason":"end_turn"}`)
	default:
		_, _ = io.WriteString(w, `{"candidates":[{"content":{"parts":[{"text":"Hello"}]},"finishReason":"STOP"}]}`)
	}
}

var key = sync.OnceValue(func() string {
	k, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		panic(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
})

// account writes a file of credentials for the cloud's token server.
func (c *cloud) account(t *testing.T, change map[string]string) string {
	t.Helper()
	f := map[string]string{
		"type": "service_account", "project_id": "p", "private_key_id": "1", "private_key": key(),
		"client_email": "a@p.iam.gserviceaccount.com", "client_id": "1", "token_uri": c.URL + "/token",
	}
	for k, v := range change {
		f[k] = v
	}
	b, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "key.json")
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func (c *cloud) gemini(t *testing.T, creds *vertex.Credentials) llm.Model {
	t.Helper()
	m, err := vertex.NewGemini("gemini-3-x", vertex.Options{Project: "p", Location: "us-east5", BaseURL: c.URL, Credentials: creds})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestGemini(t *testing.T) {
	c := newCloud(t)
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", c.account(t, nil))
	m := c.gemini(t, nil)
	if c.tokens != 0 {
		t.Error("a token was asked for before a request")
	}
	for range 3 {
		r, err := llm.Generate(t.Context(), m, hi)
		if err != nil || r.Message.Text() != "Hello" {
			t.Fatal(r, err)
		}
		if r.Message.Origin.Provider != "vertex" {
			t.Errorf("%+v", r.Message.Origin)
		}
	}
	if c.tokens != 1 {
		t.Errorf("%d tokens were asked for", c.tokens)
	}
	r := c.seen[2]
	if got := r.URL.String(); got != "/v1beta1/projects/p/locations/us-east5/publishers/google/models/gemini-3-x:streamGenerateContent?alt=sse" {
		t.Error(got)
	}
	if got := r.Header.Get("Authorization"); got != "Bearer "+secret+"-1" {
		t.Error(got)
	}
}

func TestAnthropic(t *testing.T) {
	c := newCloud(t)
	m, err := vertex.NewAnthropic("claude-x@20260101", vertex.Options{
		Project: "p", BaseURL: c.URL, Beta: []string{"b1", "b2"}, NoCache: true,
		Credentials: &vertex.Credentials{File: c.account(t, map[string]string{"quota_project_id": "other"})},
	})
	if err != nil {
		t.Fatal(err)
	}
	r, err := llm.Generate(t.Context(), m, hi)
	if err != nil || r.Message.Text() != "Hello" {
		t.Fatal(r, err)
	}
	q := c.seen[0]
	if got := q.URL.String(); got != "/v1/projects/p/locations/global/publishers/anthropic/models/claude-x@20260101:streamRawPredict" {
		t.Error(got)
	}
	if h := q.Header; h.Get("Authorization") != "Bearer "+secret+"-1" || h.Get("X-Goog-User-Project") != "other" || h.Get("Anthropic-Beta") != "b1,b2" || h.Get("X-Api-Key") != "" {
		t.Error(h)
	}
	if b := c.bodies[0]; !strings.HasPrefix(b, `{"anthropic_version":"vertex-2023-10-16","stream":true,`) || strings.Contains(b, `"model"`) {
		t.Error(b)
	}
	n, err := m.CountTokens(t.Context(), hi)
	if err != nil || n != 42 || len(c.seen) != 2 {
		t.Fatal(n, err, len(c.seen))
	}
	if got := c.seen[1].URL.String(); got != "/v1/projects/p/locations/global/publishers/anthropic/models/count-tokens:rawPredict" {
		t.Error(got)
	}
	if b := c.bodies[1]; !strings.HasPrefix(b, `{"anthropic_version":"vertex-2023-10-16","model":"claude-x@20260101",`) || strings.Contains(b, "stream") {
		t.Error(b)
	}
}

// TestShared: many requests at once want one token, one that is given up costs
// the others nothing, and one that has run out is replaced.
func TestShared(t *testing.T) {
	c := newCloud(t)
	c.hold = make(chan struct{})
	creds := &vertex.Credentials{File: c.account(t, nil)}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	gone := make(chan error)
	go func() {
		_, err := llm.Generate(ctx, c.gemini(t, creds), hi)
		gone <- err
	}()
	errs := make(chan error)
	for range 8 {
		m := c.gemini(t, creds)
		go func() {
			_, err := llm.Generate(t.Context(), m, hi)
			errs <- err
		}()
	}
	cancel(why)
	if err := <-gone; err != why {
		t.Error(err)
	}
	close(c.hold)
	for range 8 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if c.tokens != 1 {
		t.Errorf("%d tokens for 8 requests", c.tokens)
	}

	c = newCloud(t)
	c.expires = 30
	m := c.gemini(t, &vertex.Credentials{File: c.account(t, nil)})
	for range 2 {
		if _, err := llm.Generate(t.Context(), m, hi); err != nil {
			t.Fatal(err)
		}
	}
	if c.tokens != 1 {
		t.Errorf("%d tokens", c.tokens)
	}
	c.expires = 1 // already too short: it is not used
	_, err := llm.Generate(t.Context(), c.gemini(t, &vertex.Credentials{File: c.account(t, nil)}), hi)
	if !llm.IsKind(err, llm.KindAuth) || !strings.Contains(err.Error(), "clock") {
		t.Error(err)
	}
}

func TestMetadata(t *testing.T) {
	c := newCloud(t)
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", "")
	t.Setenv("HOME", t.TempDir())
	t.Setenv("APPDATA", t.TempDir())
	t.Setenv("GCE_METADATA_HOST", strings.TrimPrefix(c.URL, "http://"))
	if _, err := llm.Generate(t.Context(), c.gemini(t, nil), hi); err != nil {
		t.Fatal(err)
	}
	if got := c.seen[len(c.seen)-1].Header.Get("Authorization"); got != "Bearer "+secret+"-1" {
		t.Error(got)
	}
}

func TestRefused(t *testing.T) {
	for _, tt := range []struct {
		name string
		kind llm.Kind
		set  func(t *testing.T, c *cloud) *vertex.Credentials
		want []string
	}{
		{"none", llm.KindAuth, func(*testing.T, *cloud) *vertex.Credentials {
			return vertex.Finding(errors.New("google: could not find default credentials. See https://x for more information"))
		}, []string{"no Google credentials", "gcloud auth application-default login", "GOOGLE_APPLICATION_CREDENTIALS"}},
		{"the variable names nothing", llm.KindAuth, func(t *testing.T, _ *cloud) *vertex.Credentials {
			t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", filepath.Join(t.TempDir(), "none.json"))
			return nil
		}, []string{"GOOGLE_APPLICATION_CREDENTIALS", "none.json", "gcloud auth application-default login"}},
		{"no such file", llm.KindAuth, func(*testing.T, *cloud) *vertex.Credentials { return &vertex.Credentials{File: "none.json"} }, []string{"credentials file none.json"}},
		{"no file", llm.KindAuth, func(t *testing.T, _ *cloud) *vertex.Credentials { return &vertex.Credentials{File: t.TempDir()} }, []string{"it is no file"}},
		{"another type", llm.KindAuth, func(t *testing.T, c *cloud) *vertex.Credentials {
			return &vertex.Credentials{File: c.account(t, map[string]string{"type": "magic"})}
		}, []string{`type "magic"`, "service_account"}},
		{"not JSON", llm.KindAuth, func(t *testing.T, _ *cloud) *vertex.Credentials {
			name := filepath.Join(t.TempDir(), "key.json")
			if err := os.WriteFile(name, []byte(secret), 0o600); err != nil {
				t.Fatal(err)
			}
			return &vertex.Credentials{File: name}
		}, []string{"is not JSON"}},
		{"no private key", llm.KindAuth, func(t *testing.T, c *cloud) *vertex.Credentials {
			return &vertex.Credentials{File: c.account(t, map[string]string{"private_key": secret})}
		}, []string{"no token from the Google credentials", "private key"}},
		{"refused", llm.KindAuth, func(t *testing.T, c *cloud) *vertex.Credentials {
			c.status, c.refuse = 400, `{"error":"invalid_grant","error_description":"Invalid JWT Signature.","more":"`+secret+`"}`
			return &vertex.Credentials{File: c.account(t, nil)}
		}, []string{"invalid_grant", "Invalid JWT Signature.", "gcloud auth application-default login"}},
		{"refused, the user's own", llm.KindAuth, func(t *testing.T, c *cloud) *vertex.Credentials {
			c.status, c.refuse = 400, `{"error":"invalid_grant","error_description":"Token has been expired or revoked: `+secret+`"}`
			return &vertex.Credentials{File: c.account(t, map[string]string{"type": "authorized_user", "refresh_token": secret, "client_secret": secret})}
		}, []string{"expired or revoked", "gcloud auth application-default login"}},
		{"a failure", llm.KindServer, func(t *testing.T, c *cloud) *vertex.Credentials {
			c.status, c.refuse = 503, secret
			return &vertex.Credentials{File: c.account(t, nil)}
		}, []string{"503"}},
		{"no network", llm.KindNetwork, func(t *testing.T, c *cloud) *vertex.Credentials {
			dead := httptest.NewServer(nil)
			dead.Close()
			return &vertex.Credentials{File: c.account(t, map[string]string{"token_uri": dead.URL + "/token"})}
		}, []string{"cannot reach Google's token server"}},
		{"no network but loopback", llm.KindNetwork, func(t *testing.T, c *cloud) *vertex.Credentials {
			return &vertex.Credentials{File: c.account(t, map[string]string{"token_uri": "http://token.example/token"})}
		}, []string{"cannot reach Google's token server"}},
		{"by the model's server", llm.KindAuth, func(t *testing.T, c *cloud) *vertex.Credentials {
			c.modelStatus = 401
			return &vertex.Credentials{File: c.account(t, nil)}
		}, []string{"not with [redacted]"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newCloud(t)
			creds := tt.set(t, c)
			m := c.gemini(t, creds)
			_, err := llm.Generate(t.Context(), m, hi)
			var e *llm.Error
			if !errors.As(err, &e) || e.Kind != tt.kind || e.Provider != "vertex" || e.Model != "gemini-3-x" {
				t.Fatalf("%v", err)
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%v does not say %q", err, want)
				}
			}
			for e := err; e != nil; e = errors.Unwrap(e) {
				if s := fmt.Sprintf("%v %+v %#v", e, e, e); strings.Contains(s, secret) || strings.Contains(s, "PRIVATE KEY") {
					t.Errorf("a secret is in %s", s)
				}
			}
			// What was mended is tried again.
			if c.refuse != "" {
				c.mu.Lock()
				c.refuse = ""
				c.mu.Unlock()
				if _, err := llm.Generate(t.Context(), m, hi); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func TestOptions(t *testing.T) {
	for _, tt := range []struct {
		name string
		opts vertex.Options
		want string // of the error, or of the address
	}{
		{"m", vertex.Options{}, "no project: set Options.Project, or the variable GOOGLE_CLOUD_PROJECT"},
		{"", vertex.Options{Project: "p"}, "the model has no name"},
		{"m", vertex.Options{Project: "../../x"}, `"../../x" cannot be a project`},
		{"m", vertex.Options{Project: "p/locations/x"}, "cannot be a project"},
		{"m", vertex.Options{Project: "p", Location: "evil.example/"}, `"evil.example/" cannot be a location`},
		{"m", vertex.Options{Project: "p", Location: "us-east5#"}, "cannot be a location"},
		{"m", vertex.Options{Project: "example.com:p-1"}, "https://aiplatform.googleapis.com/v1beta1/projects/example.com:p-1/locations/global/"},
		{"m", vertex.Options{Project: "p", Location: "us-east5"}, "https://us-east5-aiplatform.googleapis.com/v1beta1/projects/p/locations/us-east5/"},
		{"m", vertex.Options{Project: "p", Location: "eu"}, "https://aiplatform.eu.rep.googleapis.com/v1beta1/projects/p/locations/eu/"},
		{"m", vertex.Options{Project: "p", BaseURL: "https://{location}-aiplatform.googleapis.com/"}, "https://aiplatform.googleapis.com/v1beta1/projects/p/locations/global/"},
		{"m", vertex.Options{Project: "p", Location: "us-east5", BaseURL: "https://{location}.proxy.example"}, "https://us-east5.proxy.example/v1beta1/projects/p/locations/us-east5/"},
		{"publishers/google/models/m", vertex.Options{Project: "p"}, "/publishers/google/models/m:streamGenerateContent"},
	} {
		var at string
		opts := tt.opts
		opts.Credentials = &vertex.Credentials{File: newCloud(t).account(t, nil)}
		opts.Client = &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
			at = r.URL.String()
			return nil, errors.New("not sent")
		})}
		m, err := vertex.NewGemini(tt.name, opts)
		if err == nil {
			_, _ = llm.Generate(t.Context(), m, hi) // only where it goes is of interest
			err = errors.New(at)
		}
		if !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: got %v, want %s", tt.opts, err, tt.want)
		}
		if _, again := vertex.NewAnthropic(tt.name, tt.opts); (again == nil) != (at != "") {
			t.Errorf("%+v: %v", tt.opts, again)
		}
	}

	env := map[string]string{"GOOGLE_CLOUD_PROJECT": " p ", "ANTHROPIC_VERTEX_PROJECT_ID": "q", "CLOUD_ML_REGION": "us-east5"}
	if o := (vertex.Options{}).FromEnv(func(k string) string { return env[k] }); o.Project != "p" || o.Location != "us-east5" {
		t.Errorf("%+v", o)
	}
	if o := (vertex.Options{Project: "mine", Location: "eu"}).FromEnv(func(k string) string { return env[k] }); o.Project != "mine" || o.Location != "eu" {
		t.Errorf("%+v", o)
	}
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestClear: a token never goes over a connection that others can read.
func TestClear(t *testing.T) {
	c := newCloud(t)
	sent := false
	m, err := vertex.NewGemini("m", vertex.Options{
		Project: "p", BaseURL: "http://vertex.example", Credentials: &vertex.Credentials{File: c.account(t, nil)},
		Client: &http.Client{Transport: transport(func(*http.Request) (*http.Response, error) { sent = true; return nil, errors.New("sent") })},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := llm.Generate(t.Context(), m, hi); !llm.IsKind(err, llm.KindInvalidRequest) || !strings.Contains(err.Error(), "not https") || sent || c.tokens != 0 {
		t.Error(err, sent)
	}
}

// Claude on Vertex speaks Anthropic's wire, at the address of the location.
func ExampleNewAnthropic() {
	m, err := vertex.NewAnthropic("claude-opus-4-8", vertex.Options{Project: "my-project", Location: "us-east5"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(m.Info().Ref(), m.Info().Wire)
	// Output:
	// vertex:claude-opus-4-8 anthropic
}

func ExampleNewGemini() {
	_, err := vertex.NewGemini("gemini-3-pro-preview", vertex.Options{}.FromEnv(func(string) string { return "" }))
	fmt.Println(err)
	m, err := vertex.NewGemini("gemini-3-pro-preview", vertex.Options{Project: "my-project", Location: "us-east5"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(m.Info().Ref())
	// Output:
	// vertex: no project: set Options.Project, or the variable GOOGLE_CLOUD_PROJECT
	// vertex:gemini-3-pro-preview
}
