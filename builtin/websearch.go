package builtin

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/net/html"

	"github.com/cantle-dev/cantle/internal/x/fetch"
	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/tool"
)

//go:embed websearch.md
var webSearchText string

// SearchOptions say where WebSearch searches: a service that answers a GET
// request with JSON, as SearXNG, Brave, Google's and many others do. It is the
// user's choice, so it may be on this machine or in a private network.
type SearchOptions struct {
	// URL holds {query} where the words go:
	// "http://localhost:8888/search?format=json&q={query}". "" means that there
	// is no WebSearch.
	URL string
	// Key is sent to the host of URL alone. "" sends none.
	Key string
	// Header carries the key, as "X-Subscription-Token"; "" is "Authorization",
	// with "Bearer " before the key.
	Header string
}

// Check says what is wrong with the options.
func (s SearchOptions) Check() error {
	if s.URL == "" {
		return nil
	}
	_, err := s.url("x")
	return err
}

// Host is the host of the service as a call's Access has it; "" if there is none.
// The user named it in the settings: that it is private is no reason to ask.
func (s SearchOptions) Host() string {
	if u, err := s.url("x"); err == nil {
		return u.Hostname()
	}
	return ""
}

const queryMark = "{query}"

// url is where a query is sent.
func (s SearchOptions) url(query string) (*url.URL, error) {
	before, after, ok := strings.Cut(s.URL, queryMark)
	if !ok {
		return nil, fmt.Errorf("the address of the search service holds no %s", queryMark)
	}
	if !strings.Contains(before, "?") {
		return nil, fmt.Errorf("the address of the search service must hold %s after a question mark", queryMark)
	}
	return fetch.Parse(before + url.QueryEscape(query) + after)
}

// Bounds of a search.
const (
	queryBytes = 1000
	hitsMax    = 10
	hitText    = 400 // characters
)

type webSearchIn struct {
	Query string `json:"query" doc:"what to look for, in a few words" alias:"q,search_query"`
}

// WebSearch makes the tool that searches the web: at [WebOptions.Search], if that
// has a URL, and a call's Access is then the host of the search service; or, with
// [WebOptions.Hosted], the search that the model's provider runs, of which no
// call comes. With both, models that have the second do not use the first.
func WebSearch(o Options) tool.Tool {
	hosted := ""
	if o.Web.Hosted {
		hosted = llm.HostedWebSearch
	}
	if o.Web.Search.URL == "" {
		return hostedSearch{tool.Spec{
			Name: "WebSearch", Description: strings.TrimSpace(webSearchText), ReadOnly: true, Parallel: true,
			Aliases: searchAliases(), Hosted: hosted,
			Access: func(context.Context, *tool.Call) ([]tool.Access, error) { return nil, errNoSearch },
		}}
	}
	return newWebSearch(o, hosted, fetch.New(o.Web.fetching(true)))
}

func newWebSearch(o Options, hosted string, client *fetch.Client) tool.Tool {
	w := &webSearch{o: o.Web.Search, client: client}
	w.Tool = tool.New(tool.Spec{
		Name: "WebSearch", Description: strings.TrimSpace(webSearchText), ReadOnly: true, Parallel: true,
		Aliases: searchAliases(), Hosted: hosted,
		Access: tool.AccessFor(func(_ context.Context, _ *tool.Call, in webSearchIn) ([]tool.Access, error) {
			u, err := w.url(in)
			if err != nil {
				return nil, err
			}
			return []tool.Access{{Op: tool.Connect, Target: u.Hostname()}}, nil
		}),
	}, w.call)
	return w
}

func searchAliases() []string { return []string{"web_search", "websearch", "search_web"} }

// hostedSearch is WebSearch where the provider's is all that there is.
type hostedSearch struct{ spec tool.Spec }

var errNoSearch = errors.New("there is no search service to call: WebSearch is run by the provider of models that have it, and web.search.url names none for others")

// Spec is [tool.Tool].Spec.
func (h hostedSearch) Spec() tool.Spec { return h.spec }

// Call is [tool.Tool].Call. A model that was not offered the tool may still call it.
func (h hostedSearch) Call(context.Context, *tool.Call) (*tool.Result, error) {
	return nil, errNoSearch
}

type webSearch struct {
	tool.Tool
	o      SearchOptions
	client *fetch.Client
}

// Normalize is [tool.Normalizer].Normalize.
func (w *webSearch) Normalize(raw json.RawMessage) (json.RawMessage, error) {
	return w.Tool.(tool.Normalizer).Normalize(raw)
}

// Preview is [tool.Previewer].Preview: the words that are sent, and where to.
func (w *webSearch) Preview(_ context.Context, c *tool.Call) (*tool.Preview, error) {
	in, err := tool.Decode[webSearchIn](c.Input)
	if err != nil {
		return nil, err
	}
	u, err := w.url(in)
	if err != nil {
		return nil, err
	}
	return &tool.Preview{Title: "Search at " + u.Host, Text: in.Query}, nil
}

func (w *webSearch) url(in webSearchIn) (*url.URL, error) {
	switch q := strings.TrimSpace(in.Query); {
	case q == "":
		return nil, errors.New("the query is empty")
	case len(q) > queryBytes:
		return nil, fmt.Errorf("the query is %d bytes long: %d at most are sent", len(q), queryBytes)
	default:
		return w.o.url(q)
	}
}

// SearchDetail is the Detail of a result of WebSearch.
type SearchDetail struct {
	Hits []SearchHit `json:"hits"`
}

// SearchHit is one of the results of a search, in one form.
type SearchHit struct {
	Title   string `json:"title"`
	URL     string `json:"url"`
	Snippet string `json:"snippet,omitempty"`
}

func (w *webSearch) call(ctx context.Context, in webSearchIn) (*tool.Result, error) {
	u, err := w.url(in)
	if err != nil {
		return nil, err
	}
	if err := decidedHost(tool.FromContext(ctx), u.Hostname()); err != nil {
		return nil, err
	}
	h := http.Header{"Accept": {"application/json"}}
	switch {
	case w.o.Key == "":
	case w.o.Header == "" || strings.EqualFold(w.o.Header, "Authorization"):
		h.Set("Authorization", "Bearer "+w.o.Key)
	default:
		h.Set(w.o.Header, w.o.Key)
	}
	p, err := w.client.Get(ctx, u, h)
	if err != nil {
		return nil, w.failed(err)
	}
	hits, err := readHits(p.Body)
	if err != nil {
		return nil, fmt.Errorf("the search service at %s: %w", u.Host, err)
	}
	if len(hits) == 0 {
		return tool.Text("Nothing was found. Try other words."), nil
	}
	var b strings.Builder
	for i, hit := range hits {
		fmt.Fprintf(&b, "%d. %s\n   %s\n", i+1, hit.Title, hit.URL)
		if hit.Snippet != "" {
			fmt.Fprintf(&b, "   %s\n", hit.Snippet)
		}
	}
	res := tool.Text(untrusted("the web", b.String()))
	res.Detail, err = json.Marshal(SearchDetail{hits})
	return res, err
}

// failed tells of a failure without the address, which may hold a key.
func (w *webSearch) failed(err error) error {
	const at = "the search service"
	if e, ok := errors.AsType[*fetch.StatusError](err); ok {
		switch e.Status {
		case http.StatusUnauthorized, http.StatusForbidden:
			return fmt.Errorf("%s at %s refuses the request (status %d): its key, or for SearXNG its JSON format, must be set up by the user", at, e.URL.Host, e.Status)
		case http.StatusTooManyRequests:
			return fmt.Errorf("%s at %s has had too many requests (Retry-After: %q)", at, e.URL.Host, e.RetryAfter)
		}
		return fmt.Errorf("%s at %s answered with status %d", at, e.URL.Host, e.Status)
	}
	if e, ok := errors.AsType[*fetch.RedirectError](err); ok {
		return fmt.Errorf("%s redirects to another host, %s: its address must be corrected by the user", at, e.To.Host)
	}
	if e, ok := errors.AsType[*fetch.TypeError](err); ok {
		return fmt.Errorf("%s at %s answered with %s, which is not JSON", at, e.URL.Host, e.Type)
	}
	if e, ok := errors.AsType[*fetch.TimeoutError](err); ok {
		return fmt.Errorf("%s at %s did not answer within %s", at, e.URL.Host, e.After)
	}
	if e, ok := errors.AsType[*fetch.LoopError](err); ok {
		return fmt.Errorf("%s at %s redirects more than %d times", at, e.URL.Host, e.Max)
	}
	if e, ok := errors.AsType[*fetch.HostError](err); ok {
		return fmt.Errorf("%s cannot be reached: %w", at, e)
	}
	return fmt.Errorf("%s: %w", at, err)
}

// readHits finds the results in an answer, where and as the services have them.
func readHits(b []byte) ([]SearchHit, error) {
	var top struct {
		Results, Items, Organic, Data json.RawMessage
		Web                           struct{ Results json.RawMessage }
	}
	list := json.RawMessage(b)
	if strings.HasPrefix(strings.TrimSpace(string(b)), "{") {
		if err := json.Unmarshal(b, &top); err != nil {
			return nil, errors.New("its answer is not understood: no object with a list of results")
		}
		list = nil
		for _, l := range []json.RawMessage{top.Results, top.Web.Results, top.Items, top.Organic, top.Data} {
			if len(l) > 0 {
				list = l
				break
			}
		}
		if list == nil {
			return nil, noList(b)
		}
	}
	var raw []struct{ Title, Name, URL, Link, Href, Content, Snippet, Description, Text string }
	if json.Unmarshal(list, &raw) != nil {
		return nil, errors.New("its answer is not understood: it must be JSON with a list of results that have title and url")
	}
	var hits []SearchHit
	for _, r := range raw {
		u, err := fetch.Parse(first(r.URL, r.Link, r.Href))
		if err != nil || len(u.String()) > 2000 {
			continue // none that could be fetched
		}
		hits = append(hits, SearchHit{
			Title: words(first(r.Title, r.Name, u.Host), 200), URL: u.String(),
			Snippet: words(first(r.Content, r.Snippet, r.Description, r.Text), hitText),
		})
		if len(hits) == hitsMax {
			break
		}
	}
	return hits, nil
}

// noList tells an answer without results from one that is not understood: some
// services leave out an empty list.
func noList(b []byte) error {
	var e struct {
		Error, Message, Detail json.RawMessage
	}
	_ = json.Unmarshal(b, &e) // nothing then
	for _, m := range []json.RawMessage{e.Error, e.Message, e.Detail} {
		if len(m) > 0 && string(m) != "null" {
			return fmt.Errorf("it answered with an error: %s", words(string(m), 300))
		}
	}
	return nil
}

func first(of ...string) string {
	for _, s := range of {
		if strings.TrimSpace(s) != "" {
			return s
		}
	}
	return ""
}

// words is a text of a few words, without tags, on one line.
func words(s string, most int) string {
	var b strings.Builder
	for z := html.NewTokenizer(strings.NewReader(cut(s, 20*most))); ; {
		kind := z.Next()
		if kind == html.ErrorToken {
			break
		}
		if kind == html.TextToken {
			b.Write(z.Text())
		}
	}
	s = strings.Join(strings.Fields(visible(clean([]byte(b.String())))), " ")
	if rest := skipChars(s, most); rest != "" {
		return s[:len(s)-len(rest)] + "…"
	}
	return s
}
