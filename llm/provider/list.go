package provider

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/cantle-dev/cantle/llm/anthropic"
	"github.com/cantle-dev/cantle/llm/internal/wire"
	"github.com/cantle-dev/cantle/llm/ollama"
	"github.com/cantle-dev/cantle/llm/openai"
)

// ErrNoList means that a provider has no list of models that can be asked for.
var ErrNoList = errors.New("no list of models")

// A provider has listTimeout for one answer, and allTimeout for all that is
// asked of it: Ollama is asked about each model.
const (
	listTimeout = 10 * time.Second
	allTimeout  = time.Minute
)

// List asks a provider which models it has and what it says of them. It is the
// only thing in this package that opens a connection.
func (o Options) List(ctx context.Context, provider string) (*Listing, error) {
	c, err := o.Find(provider)
	if err != nil {
		return nil, err
	}
	kind := c.List
	if kind == "" && (c.Wire == anthropic.Wire || c.Wire == ollama.Wire) {
		kind = c.Wire
	}
	if kind == "none" || c.Template() || kind == "" && c.Wire != openai.WireChat && c.Wire != openai.WireResponses {
		return nil, fmt.Errorf("provider: %s: %w", provider, ErrNoList)
	}
	if c.Err != nil {
		return nil, c.Err
	}
	key, _, err := o.Key(c)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, allTimeout)
	defer cancel()
	l := lister{ctx: ctx, c: c, key: key, client: o.Client}
	if l.client == nil {
		l.client = &http.Client{}
	}
	client := *l.client
	client.CheckRedirect = stayHome
	l.client = &client

	ask := map[string]func() ([]Report, error){
		"": l.openai, "openai": l.openai, "anthropic": l.anthropic, "google": l.google, "ollama": l.ollama, "lmstudio": l.lmstudio, "llamacpp": l.llamacpp,
	}[kind]
	if ask == nil {
		return nil, fmt.Errorf("provider: providers.%s lists its models as %q, which is not known", provider, kind)
	}
	models, err := ask()
	if err != nil {
		return nil, fmt.Errorf("provider: listing the models of %s: %w", provider, l.late(err))
	}
	listing := &Listing{Version: listingVersion, Provider: provider, BaseURL: c.BaseURL, Models: models}
	listing.bound()
	return listing, nil
}

// late says of an error that comes of waiting too long what can be done. That
// the caller gave up is no such error.
func (l lister) late(err error) error {
	if !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	shown := "the server"
	if u, err := url.Parse(l.c.BaseURL); err == nil && u.Host != "" {
		shown = u.Host
	}
	return fmt.Errorf("%s did not answer in time (an answer may take %v, all of them %v): check that it runs and that the base URL and the proxy are right, or try again later; a model can be used without being listed: %w",
		shown, listTimeout, allTimeout, context.DeadlineExceeded)
}

// stayHome refuses to follow a redirect to another host: the key is in a
// header that would go along.
func stayHome(next *http.Request, via []*http.Request) error {
	if len(via) >= 5 {
		return errors.New("too many redirects")
	}
	if first := via[0].URL; next.URL.Host != first.Host || next.URL.Scheme != first.Scheme {
		return fmt.Errorf("it redirects to %s, where the key must not go", next.URL.Host)
	}
	return nil
}

// lister asks one provider.
type lister struct {
	ctx    context.Context
	c      Custom
	key    string
	client *http.Client
}

// base is the base URL without a path that belongs to a wire, and its query.
func (l lister) base(suffixes ...string) (base, query string) {
	base, query, _ = strings.Cut(l.c.BaseURL, "?")
	base = strings.TrimRight(base, "/")
	for _, s := range suffixes {
		base = strings.TrimRight(strings.TrimSuffix(base, s), "/")
	}
	q, _ := url.ParseQuery(query)
	maps.Copy(q, l.c.Query)
	return base, q.Encode()
}

// errStatus is an answer that is none.
type errStatus struct {
	code int
	text string
}

func (e *errStatus) Error() string {
	status := strings.TrimSpace(fmt.Sprintf("%d %s", e.code, http.StatusText(e.code)))
	if strings.HasPrefix(e.text, status) { // as the title of a page does
		return e.text
	}
	return status + ": " + e.text
}

// fetch asks for a text. With a body it is a POST.
func (l lister) fetch(address string, body any, header ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(l.ctx, listTimeout)
	defer cancel()
	method, content := http.MethodGet, []byte(nil)
	if body != nil {
		var err error
		if content, err = json.Marshal(body); err != nil {
			return nil, err
		}
		method = http.MethodPost
	}
	req, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	for name, v := range l.c.Header {
		req.Header[http.CanonicalHeaderKey(name)] = v
	}
	resp, err := l.client.Do(req)
	if err != nil {
		var failed *url.Error
		if errors.As(err, &failed) {
			failed.URL = withoutQuery(failed.URL) // there may be a key in it
		}
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }() // all of it was read, or it is given up
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxListing+1))
	switch {
	case err != nil:
		return nil, err
	case len(text) > maxListing:
		return nil, fmt.Errorf("the answer is longer than %d bytes", maxListing)
	case resp.StatusCode != http.StatusOK:
		// A key is taken out before a part of it could be cut off, and after, since
		// the text may have it in another form.
		said := wire.Classify(resp.StatusCode, resp.Header, []byte(l.redact(string(text[:min(len(text), maxError)])))).Message
		return nil, &errStatus{resp.StatusCode, clip(l.redact(said), 300)}
	}
	return text, nil
}

// get asks for a JSON object, or a list, which becomes the object's "data".
func (l lister) get(address string, header ...string) (object, error) {
	text, err := l.fetch(address, nil, header...)
	if err != nil {
		return nil, err
	}
	shown := withoutQuery(address)
	var v any
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		return nil, fmt.Errorf("the answer of %s is not JSON: %w", shown, err)
	}
	switch v := v.(type) {
	case map[string]any:
		return v, nil
	case []any:
		return object{"data": v}, nil
	}
	return nil, fmt.Errorf("the answer of %s is neither an object nor a list", shown)
}

// maxError bounds what is read of an error's text, in bytes.
const maxError = 64 << 10

// redact is a text without the key and what else the request had of the
// user's.
func (l lister) redact(s string) string {
	secrets := []string{l.key}
	for _, values := range []map[string][]string{l.c.Header, l.c.Query} {
		for _, vs := range values {
			for _, v := range vs {
				secrets = append(append(secrets, v), strings.Fields(v)...) // with a scheme, and without
			}
		}
	}
	const shortest = 6 // what is shorter is a version or a name
	for _, secret := range secrets {
		if len(secret) >= shortest || secret != "" && secret == l.key {
			s = strings.ReplaceAll(s, secret, "…")
		}
	}
	return s
}

// clip is the beginning of a text, on one line.
func clip(s string, most int) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "")), " ")
	return strings.ToValidUTF8(s[:min(len(s), most)], "")
}

func (l lister) bearer() []string {
	if l.key == "" {
		return nil
	}
	if h := openai.ProfileOf(l.c.Profile).KeyHeader; h != "" {
		return []string{h, l.key}
	}
	return []string{"Authorization", "Bearer " + l.key}
}

// withoutQuery is an address as it may be shown.
func withoutQuery(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "the server"
	}
	u.RawQuery, u.Fragment = "", ""
	return u.Redacted()
}

func withQuery(address, query string) string {
	if query == "" {
		return address
	}
	return address + "?" + query
}

// openai asks as OpenAI's clients do; most servers say more than OpenAI does.
func (l lister) openai() ([]Report, error) {
	base, query := l.base("/chat/completions")
	answer, err := l.get(withQuery(base+"/models", query), l.bearer()...)
	if err != nil {
		return nil, err
	}
	return l.reports(answer)
}

func (l lister) reports(answer object) ([]Report, error) {
	models, ok := answer.list("data")
	if !ok {
		if models, ok = answer.list("models"); !ok {
			return nil, errors.New("the answer has no list of models")
		}
	}
	var out []Report
	for _, m := range models {
		if r := m.report(l.c.Profile); r.ID != "" {
			out = append(out, r)
		}
	}
	return out, nil
}

// google asks Gemini's own API, which says of each model how long its prompts
// and its answers may be.
func (l lister) google() ([]Report, error) {
	base, _ := l.base("/openai", "/v1beta", "/v1")
	var header []string
	if l.key != "" {
		header = []string{"X-Goog-Api-Key", l.key}
	}
	var out []Report
	page := ""
	for range maxPages {
		query := url.Values{"pageSize": {"1000"}}
		if page != "" {
			query.Set("pageToken", page)
		}
		answer, err := l.get(base+"/v1beta/models?"+query.Encode(), header...)
		if err != nil {
			return nil, err
		}
		models, ok := answer.list("models")
		if !ok {
			return nil, errors.New("the answer has no list of models")
		}
		for _, m := range models {
			r := Report{ID: strings.TrimPrefix(m.text("name"), "models/"), Name: m.text("displayName"), Context: m.number("inputTokenLimit"), Output: m.number("outputTokenLimit")}
			if can, ok := m["supportedGenerationMethods"].([]any); ok && !*among(can, "generateContent") {
				continue // it embeds, or makes pictures
			}
			if b, ok := m["thinking"].(bool); ok {
				r.Thinking = &b
			}
			if r.ID != "" {
				out = append(out, r)
			}
		}
		next := answer.text("nextPageToken")
		if next == "" || next == page || len(out) > MaxModels {
			return out, nil
		}
		page = next
	}
	return out, nil
}

// maxPages bounds a list that never ends.
const maxPages = 50

func (l lister) anthropic() ([]Report, error) {
	base, _ := l.base("/v1")
	header := []string{"Anthropic-Version", "2023-06-01"}
	if v := l.c.Set["version"]; v != "" {
		header[1] = v
	}
	if l.key != "" {
		header = append(header, "X-Api-Key", l.key)
	}
	var out []Report
	after := ""
	for range maxPages {
		query := url.Values{"limit": {"1000"}}
		if after != "" {
			query.Set("after_id", after)
		}
		answer, err := l.get(base+"/v1/models?"+query.Encode(), header...)
		if err != nil {
			return nil, err
		}
		page, err := l.reports(answer)
		if err != nil {
			return nil, err
		}
		out = append(out, page...)
		last := answer.text("last_id")
		if !answer.yes("has_more") || last == "" || last == after || len(out) > MaxModels {
			return out, nil
		}
		after = last
	}
	return nil, fmt.Errorf("the list has more than %d pages", maxPages)
}
