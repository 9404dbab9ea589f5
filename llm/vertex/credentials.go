package vertex

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/internal/wire"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"
)

// Credentials get tokens from Google and keep them while they are good. The
// zero Credentials are the Application Default Credentials of the environment.
// Nothing is read before the first request, and one that fails is tried again
// with the next. They are safe for concurrent use, by pointer; several models
// may share them.
type Credentials struct {
	// File is the path of a credentials file: the key of a service account, the
	// user's own as gcloud writes them, or a configuration of workload
	// identity. It names servers that get secrets, so it must be the user's;
	// "" looks as Google's libraries do.
	File string
	// Client gets the tokens; nil is one that knows the proxies of the
	// environment. A request takes 30 seconds at most. The machine's own
	// service account is asked for without it.
	Client *http.Client

	mu     sync.Mutex
	found  *google.Credentials
	saw    *watcher
	tok    *oauth2.Token
	flight *flight // the one request for a token that is on its way

	// find replaces [google.FindDefaultCredentials] in tests.
	find func(ctx context.Context, scopes ...string) (*google.Credentials, error)
}

const (
	scope       = "https://www.googleapis.com/auth/cloud-platform"
	tokenTime   = 30 * time.Second
	maxReason   = 300
	loginSteps  = "run `gcloud auth application-default login`, or name a credentials file in GOOGLE_APPLICATION_CREDENTIALS"
	maxFileSize = 1 << 20
)

type flight struct {
	done chan struct{}
	err  *llm.Error
}

// token is a good token, and the project that its requests are counted for,
// if the credentials name one.
func (c *Credentials) token(ctx context.Context) (tok, quota string, err error) {
	for {
		c.mu.Lock()
		if c.tok.Valid() {
			tok, quota = c.tok.AccessToken, quotaProject(c.found)
			c.mu.Unlock()
			return tok, quota, nil
		}
		f := c.flight
		if f == nil {
			// What is sent for a token outlives the request that wanted it, for
			// the others that wait.
			f = &flight{done: make(chan struct{})}
			c.flight = f
			go c.fetch(context.WithoutCancel(ctx), f)
		}
		c.mu.Unlock()
		select {
		case <-ctx.Done():
			return "", "", context.Cause(ctx)
		case <-f.done:
		}
		if f.err != nil {
			e := *f.err // each caller has its own
			return "", "", &e
		}
	}
}

func (c *Credentials) fetch(ctx context.Context, f *flight) {
	tok, err := c.ask(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil && !tok.Valid() {
		err = &llm.Error{Kind: llm.KindAuth, Message: "Google's token server answered with a token that is of no use: is this machine's clock right?"}
	}
	c.tok, f.err = tok, err
	if err != nil {
		c.tok, c.found = nil, nil // the next may find others
	}
	c.flight = nil
	close(f.done)
}

// ask gets a token; it runs once at a time.
func (c *Credentials) ask(ctx context.Context) (*oauth2.Token, *llm.Error) {
	c.mu.Lock()
	found, saw := c.found, c.saw
	c.mu.Unlock()
	if found == nil {
		client := http.Client{Timeout: tokenTime}
		if c.Client != nil {
			client = *c.Client
			if client.Timeout == 0 {
				client.Timeout = tokenTime
			}
		}
		saw = &watcher{next: client.Transport}
		client.Transport = saw
		var err error
		if found, err = c.search(context.WithValue(ctx, oauth2.HTTPClient, &client)); err != nil {
			return nil, &llm.Error{Kind: llm.KindAuth, Message: clean(err.Error())}
		}
		c.mu.Lock()
		c.found, c.saw = found, saw
		c.mu.Unlock()
	}
	saw.broken.Store(false)
	saw.status.Store(0)
	tok, err := found.TokenSource.Token()
	if err != nil {
		return nil, refused(err, saw)
	}
	return tok, nil
}

func (c *Credentials) search(ctx context.Context) (*google.Credentials, error) {
	if c.File != "" {
		return fromFile(ctx, c.File)
	}
	find := c.find
	if find == nil {
		find = google.FindDefaultCredentials
	}
	found, err := find(ctx, scope)
	if err == nil {
		return found, nil
	}
	if strings.Contains(err.Error(), "could not find default credentials") {
		return nil, errors.New("no Google credentials: " + loginSteps)
	}
	return nil, fmt.Errorf("the Google credentials cannot be read: %w; %s", err, loginSteps)
}

// types are the types of credentials that are known.
var types = []google.CredentialsType{
	google.ServiceAccount, google.AuthorizedUser, google.ExternalAccount, google.ExternalAccountAuthorizedUser, google.ImpersonatedServiceAccount,
}

func fromFile(ctx context.Context, name string) (*google.Credentials, error) {
	info, err := os.Stat(name)
	if err == nil && (!info.Mode().IsRegular() || info.Size() > maxFileSize) {
		err = errors.New("it is no file of credentials")
	}
	var b []byte
	if err == nil {
		b, err = os.ReadFile(name)
	}
	if err != nil {
		return nil, fmt.Errorf("the credentials file %s: %w", name, err)
	}
	var f struct {
		Type google.CredentialsType `json:"type"`
	}
	if err := json.Unmarshal(b, &f); err != nil {
		return nil, fmt.Errorf("the credentials file %s is not JSON", name) // what is wrong may be a secret
	}
	if !slices.Contains(types, f.Type) {
		return nil, fmt.Errorf("the credentials file %s is of the type %q: it must be one of %q", name, f.Type, types)
	}
	found, err := google.CredentialsFromJSONWithType(ctx, b, f.Type, scope)
	if err != nil {
		return nil, fmt.Errorf("the credentials file %s: %w", name, err)
	}
	return found, nil
}

// quotaProject is the project that the user's own credentials count requests
// for.
func quotaProject(c *google.Credentials) string {
	var f struct {
		Quota string `json:"quota_project_id"`
	}
	if c == nil || json.Unmarshal(c.JSON, &f) != nil {
		return ""
	}
	return f.Quota
}

// refused is the error for a token that was not got. Of what the server said
// it shows the words that OAuth (RFC 6749, 5.2) has for it, never the rest.
func refused(err error, saw *watcher) *llm.Error {
	var re *oauth2.RetrieveError
	var ue *url.Error
	var oe *net.OpError
	status := int(saw.status.Load())
	e := &llm.Error{Kind: llm.KindAuth}
	switch {
	case errors.As(err, &re):
		reason := re.ErrorCode
		if re.ErrorDescription != "" {
			reason += ": " + re.ErrorDescription
		}
		var said struct {
			Error       string `json:"error"`
			Description string `json:"error_description"`
		}
		if reason == "" && json.Unmarshal(re.Body, &said) == nil && said.Error != "" {
			reason = strings.TrimSuffix(said.Error+": "+said.Description, ": ")
		}
		if re.Response != nil {
			status = re.Response.StatusCode
		}
		if reason == "" {
			reason = "it answered " + http.StatusText(status)
		}
		e.Message = "Google's token server refused the credentials (" + clean(reason) + "): " + loginSteps
	case saw.broken.Load(), errors.As(err, &ue), errors.As(err, &oe):
		if errors.As(err, &ue) {
			err = ue.Err // its URL may hold a secret
		}
		return &llm.Error{Kind: llm.KindNetwork, Message: "cannot reach Google's token server: " + clean(err.Error())}
	default:
		e.Message = "no token from the Google credentials: " + clean(err.Error())
	}
	if status == http.StatusTooManyRequests || status >= 500 {
		e.Kind = llm.KindServer
		e.Message = fmt.Sprintf("Google's token server answered %d %s", status, http.StatusText(status))
	}
	return e
}

// clean takes out of a text what looks like a token or a key, and most of its
// length.
func clean(s string) string {
	s = wire.KeyLike().ReplaceAllString(s, "[redacted]")
	if i := strings.Index(s, "\nResponse:"); i >= 0 {
		s = s[:i]
	}
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > maxReason {
		s = strings.ToValidUTF8(s[:maxReason], "") + "…"
	}
	return s
}

// watcher sees how requests for tokens end, since the library keeps only the
// text of some errors.
type watcher struct {
	next   http.RoundTripper
	broken atomic.Bool
	status atomic.Int64
}

func (w *watcher) RoundTrip(r *http.Request) (*http.Response, error) {
	next := w.next
	if next == nil {
		next = http.DefaultTransport
	}
	resp, err := next.RoundTrip(r)
	if err != nil {
		w.broken.Store(true)
		return nil, err
	}
	w.status.Store(int64(resp.StatusCode))
	return resp, nil
}
