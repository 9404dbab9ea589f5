package builtin

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/cantle-dev/cantle/internal/x/fetch"
	"github.com/cantle-dev/cantle/tool"
)

//go:embed webfetch.md
var webFetchText string

// WebOptions configure WebFetch and WebSearch. With the zero value WebFetch
// reaches public addresses alone, and there is no WebSearch.
type WebOptions struct {
	// AllowPrivate lets WebFetch reach this machine and private networks.
	// Link-local addresses and the metadata services of clouds stay blocked.
	AllowPrivate bool
	// AllowRanges lets it reach ranges that are reserved or private, such as
	// 198.18.0.0/15 where a local proxy makes up addresses.
	AllowRanges []netip.Prefix
	// MaxChars is how many characters of a page are given at once: 0 is 8000,
	// and less than 0 as many as there may be, 100,000.
	MaxChars int
	// UserAgent says who asks; "" is "cantle (+https://github.com/cantle-dev/cantle)".
	UserAgent string
	// Search is where WebSearch searches.
	Search SearchOptions
	// Hosted lets models search the web by themselves whose provider runs
	// a search for them ([llm.Traits].Hosted): it takes the place of WebSearch,
	// which for all others searches at Search or, without an address there, is
	// not offered. Such a search happens within an answer. It makes no call, so
	// that no rule, no mode, no hook and no person decides on one, its words go
	// to the provider and whom it asks, and its pages are read unseen. Set it
	// only where WebSearch is allowed without a question.
	Hosted bool
}

const (
	webChars    = 8000
	webCharsMax = 100_000
	webAgent    = "cantle (+https://github.com/cantle-dev/cantle)"
)

func (w WebOptions) chars() int {
	n := cmp.Or(w.MaxChars, webChars)
	if n < 0 || n > webCharsMax {
		return webCharsMax
	}
	return n
}

// fetching are the options of a tool's client.
func (w WebOptions) fetching(private bool) fetch.Options {
	return fetch.Options{AllowPrivate: private, Allow: w.AllowRanges, UserAgent: cmp.Or(w.UserAgent, webAgent)}
}

type webFetchIn struct {
	URL    string `json:"url" doc:"the whole URL" alias:"uri,link"`
	Offset int    `json:"offset,omitempty" doc:"characters to pass over, to go on within a long page" min:"0"`
	// Prompt is what other programs ask of a page. The model is not told of it
	// and reads the page by itself.
	Prompt string `json:"prompt,omitempty"`
}

// WebFetch makes the tool that fetches pages. A call's Access is the host that
// it connects to, in one form, without the port; a redirect to another host is
// told and not followed, so that each host is decided on. The result's Detail
// is a [FetchDetail].
//
// No address of this machine, of a private network or of a cloud's metadata
// service is reached, whatever was decided: see [WebOptions.AllowPrivate].
func WebFetch(o Options) tool.Tool {
	return newWebFetch(o, fetch.New(o.Web.fetching(o.Web.AllowPrivate)))
}

func newWebFetch(o Options, client *fetch.Client) tool.Tool {
	w := &webFetch{chars: o.Web.chars(), client: client, cache: newPages()}
	t := tool.New(tool.Spec{
		Name: "WebFetch", Description: fmt.Sprintf(strings.TrimSpace(webFetchText), w.chars), ReadOnly: true, Parallel: true,
		Aliases: []string{"web_fetch", "webfetch", "fetch"},
		Access: tool.AccessFor(func(_ context.Context, _ *tool.Call, in webFetchIn) ([]tool.Access, error) {
			u, err := w.parse(in.URL)
			if err != nil {
				return nil, err
			}
			return []tool.Access{{Op: tool.Connect, Target: u.Hostname()}}, nil
		}),
	}, w.call)
	w.Tool = withInput{t, only(t.Spec().Input, []string{"url", "offset"})}
	return w
}

// withInput is a tool that is told of with another schema.
type withInput struct {
	tool.Tool
	input json.RawMessage
}

func (t withInput) Spec() tool.Spec {
	s := t.Tool.Spec()
	s.Input = t.input
	return s
}

func (t withInput) Normalize(raw json.RawMessage) (json.RawMessage, error) {
	return t.Tool.(tool.Normalizer).Normalize(raw)
}

type webFetch struct {
	tool.Tool
	chars  int
	client *fetch.Client
	cache  *pages
}

// Normalize is [tool.Normalizer].Normalize.
func (w *webFetch) Normalize(raw json.RawMessage) (json.RawMessage, error) {
	return w.Tool.(tool.Normalizer).Normalize(raw)
}

// Preview is [tool.Previewer].Preview: the whole URL, which may carry more out
// than it brings in.
func (w *webFetch) Preview(_ context.Context, c *tool.Call) (*tool.Preview, error) {
	in, err := tool.Decode[webFetchIn](c.Input)
	if err != nil {
		return nil, err
	}
	u, err := w.parse(in.URL)
	if err != nil {
		return nil, err
	}
	return &tool.Preview{Title: "Fetch from " + u.Host, Text: u.String()}, nil
}

// parse reads a URL that may be fetched as far as that can be said by now.
func (w *webFetch) parse(raw string) (*url.URL, error) {
	u, err := fetch.Parse(raw)
	if err == nil {
		err = w.client.Check(u)
	}
	if err != nil {
		return nil, webError(err)
	}
	return u, nil
}

// FetchDetail is the Detail of a result of WebFetch.
type FetchDetail struct {
	URL        string   `json:"url"` // where it was, after redirects
	Redirects  []string `json:"redirects,omitempty"`
	RedirectTo string   `json:"redirectTo,omitempty"` // another host, which was not asked
	Type       string   `json:"type,omitempty"`
	Characters int      `json:"characters"` // of the whole text
	From       int      `json:"from"`
	To         int      `json:"to"`
	Cached     bool     `json:"cached,omitempty"`
}

func (w *webFetch) call(ctx context.Context, in webFetchIn) (*tool.Result, error) {
	u, err := w.parse(in.URL)
	if err != nil {
		return nil, err
	}
	if err := decidedHost(tool.FromContext(ctx), u.Hostname()); err != nil {
		return nil, err
	}
	p, cached := w.cache.get(u.String())
	if !cached {
		got, err := w.client.Get(ctx, u, nil)
		if moved, ok := errors.AsType[*fetch.RedirectError](err); ok {
			return redirected(moved)
		}
		if err != nil {
			return nil, webError(err)
		}
		if p, err = readPage(ctx, got); err != nil {
			return nil, err
		}
		w.cache.put(u.String(), p)
	}
	return w.show(p, in.Offset, cached)
}

// decidedHost holds a call to the host that was decided on.
func decidedHost(c *tool.Call, host string) error {
	if c == nil || c.Access == nil {
		return nil
	}
	for _, a := range c.Access {
		if a.Op == tool.Connect && a.Target == host {
			return nil
		}
	}
	return fmt.Errorf("nothing was decided on connecting to %s", host)
}

func redirected(e *fetch.RedirectError) (*tool.Result, error) {
	const most = 2000
	to := e.To.String()
	if len(to) > most {
		return nil, fmt.Errorf("%s redirects to %s, to an address of more than %d bytes", e.From.Host, e.To.Host, most)
	}
	d, err := json.Marshal(FetchDetail{URL: e.From.String(), RedirectTo: to})
	if err != nil {
		return nil, err
	}
	why := "another host"
	if e.From.Hostname() == e.To.Hostname() {
		why = "http, which is not encrypted"
	}
	res := tool.Text(fmt.Sprintf("The server redirects (status %d) to %s, which was not followed. If that is where you want to go, call WebFetch with this URL:\n%s", e.Status, why, to))
	res.Detail = d
	return res, nil
}

// show is a part of a page's text, between lines that it cannot forge.
func (w *webFetch) show(p *webPage, offset int, cached bool) (*tool.Result, error) {
	if offset > 0 && offset >= p.chars {
		return nil, fmt.Errorf("offset %d is beyond the end of the page, whose text has %d characters", offset, p.chars)
	}
	text := skipChars(p.text, offset)
	if p.chars-offset > w.chars {
		text = atLine(text[:len(text)-len(skipChars(text, w.chars))])
	}
	end := offset + utf8.RuneCountInString(text)
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", p.url)
	for _, n := range p.notes {
		fmt.Fprintf(&b, "[%s]\n", n)
	}
	b.WriteString(untrusted("the page", text))
	if end < p.chars || offset > 0 {
		fmt.Fprintf(&b, "\n[Characters %d-%d of %d.", offset+1, end, p.chars)
		if end < p.chars {
			fmt.Fprintf(&b, " Go on with offset %d.", end)
		}
		b.WriteString("]")
	}
	res := tool.Text(b.String())
	var err error
	res.Detail, err = json.Marshal(FetchDetail{
		URL: p.url, Redirects: p.redirects, Type: p.kind, Characters: p.chars, From: offset, To: end, Cached: cached,
	})
	return res, err
}

// skipChars is s without its first n characters.
func skipChars(s string, n int) string {
	for ; n > 0 && len(s) > 0; n-- {
		_, size := utf8.DecodeRuneInString(s)
		s = s[size:]
	}
	return s
}

// atLine is s up to the end of a line, if there is one near its end.
func atLine(s string) string {
	if i := strings.LastIndexByte(s, '\n'); i > len(s)*9/10 {
		return s[:i+1]
	}
	return s
}

// webError says what went wrong and what can be done about it.
func webError(err error) error {
	if e, ok := errors.AsType[*fetch.BlockedError](err); ok {
		switch {
		case e.Private:
			return fmt.Errorf("%w: only the user can open this machine and private networks, with the setting web.allowPrivate", err)
		case e.Reserved:
			return fmt.Errorf("%w: only the user can open it, with its range in the setting web.allowRanges", err)
		}
	}
	if e, ok := errors.AsType[*fetch.StatusError](err); ok && e.RetryAfter != "" && (e.Status == 429 || e.Status == 503) {
		return fmt.Errorf("%w: it asks to wait (Retry-After: %q)", err, e.RetryAfter)
	}
	return err
}
