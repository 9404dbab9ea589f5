// Package vertex speaks to models on Google Cloud's Vertex AI: those of Google
// on the wire of [gemini], and those of Anthropic on the wire of [anthropic].
//
//	m, err := vertex.NewGemini("gemini-3-pro-preview", vertex.Options{Project: "my-project"})
//	if err != nil {
//		return err
//	}
//	resp, err := llm.Generate(ctx, m, &llm.Request{
//		Messages: []llm.Message{llm.UserText("Why is the sky blue?")},
//	})
//	if err != nil {
//		return err
//	}
//	fmt.Println(resp.Message.Text())
//
// Requests are authenticated with Application Default Credentials
// (https://cloud.google.com/docs/authentication/application-default-credentials):
// the file that GOOGLE_APPLICATION_CREDENTIALS names, that of
//
//	gcloud auth application-default login
//
// or the service account of the machine. They are looked for when the first
// request is sent, not before; see [Credentials].
package vertex

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/anthropic"
	"github.com/cantle-dev/cantle/llm/gemini"
)

// Options configure a model. Project must be set.
type Options struct {
	// Project is the id or the number of the project that is billed.
	Project string
	// Location is the region that serves the model, as "us-east5"; default
	// "global". "us" and "eu" are multi-regions.
	Location string
	// BaseURL is made of the location by default; {location} in it stands for
	// that.
	BaseURL string
	// Info is what is assumed of the model. Provider defaults to "vertex"; Name
	// and Wire are set.
	Info   llm.Info
	Header http.Header

	// Credentials are shared by models that are given the same; nil is some of
	// the model's own, from the environment.
	Credentials *Credentials
	Client      *http.Client // nil: one shared by all models
	// Stall is how long a server may send nothing before the request fails: 0
	// is 90 seconds, negative is for ever.
	Stall time.Duration

	// Beta, NoCache and CacheTTL are those of [anthropic.Options].
	Beta     []string
	NoCache  bool
	CacheTTL string
}

// The environment variables that [Options.FromEnv] asks for, each list in
// order: those of Google's own libraries, and then others that are in use.
var (
	projectVariables  = []string{"GOOGLE_CLOUD_PROJECT", "ANTHROPIC_VERTEX_PROJECT_ID"}
	locationVariables = []string{"GOOGLE_CLOUD_LOCATION", "GOOGLE_CLOUD_REGION", "CLOUD_ML_REGION"}
)

// FromEnv is o with the project and the location, where it has none, that
// getenv, such as [os.Getenv], has under GOOGLE_CLOUD_PROJECT (or
// ANTHROPIC_VERTEX_PROJECT_ID) and GOOGLE_CLOUD_LOCATION (or
// GOOGLE_CLOUD_REGION or CLOUD_ML_REGION).
func (o Options) FromEnv(getenv func(string) string) Options {
	fill := func(to *string, names []string) {
		for _, n := range names {
			if *to == "" {
				*to = strings.TrimSpace(getenv(n))
			}
		}
	}
	fill(&o.Project, projectVariables)
	fill(&o.Location, locationVariables)
	return o
}

// NewGemini makes a model of Google's. It is an error that names what is
// missing if there is no project, or if the project or the location cannot be
// one. Nothing is looked for and nothing sent.
func NewGemini(name string, opts Options) (*gemini.Model, error) {
	p, err := opts.place("google", strings.TrimPrefix(name, "publishers/google/models/"))
	if err != nil {
		return nil, err
	}
	return gemini.New(p.name, gemini.Options{
		BaseURL: p.base, Path: "/v1beta1" + p.path, Info: p.info, Header: opts.Header,
		Sign: p.sign, Client: opts.Client, Stall: opts.Stall,
	}), nil
}

// NewAnthropic makes a model of Anthropic's; its errors are those of
// [NewGemini].
func NewAnthropic(name string, opts Options) (*anthropic.Model, error) {
	p, err := opts.place("anthropic", strings.TrimPrefix(name, "publishers/anthropic/models/"))
	if err != nil {
		return nil, err
	}
	return anthropic.New(p.name, anthropic.Options{
		BaseURL: p.base, Path: "/v1" + p.path + ":streamRawPredict", BodyVersion: "vertex-2023-10-16",
		CountPath: "/v1" + strings.TrimSuffix(p.path, url.PathEscape(p.name)) + "count-tokens:rawPredict", Info: p.info, Header: opts.Header,
		Beta: opts.Beta, NoCache: opts.NoCache, CacheTTL: opts.CacheTTL,
		Sign: p.sign, Client: opts.Client, Stall: opts.Stall,
	}), nil
}

// place is where a model is.
type place struct {
	name, base, path string
	info             llm.Info
	sign             func(*http.Request) error
}

var (
	// What is in a path or a host name must not lead elsewhere.
	projects  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9.:-]*[A-Za-z0-9])?$`) })
	locations = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`) })
)

func (o Options) place(publisher, name string) (place, error) {
	loc := o.Location
	if loc == "" {
		loc = "global"
	}
	switch {
	case name == "":
		return place{}, errors.New("vertex: the model has no name")
	case o.Project == "":
		return place{}, fmt.Errorf("vertex: no project: set Options.Project, or the variable %s", projectVariables[0])
	case !projects().MatchString(o.Project):
		return place{}, fmt.Errorf("vertex: %q cannot be a project: it is an id, as my-project-123, or a number", o.Project)
	case !locations().MatchString(loc):
		return place{}, fmt.Errorf("vertex: %q cannot be a location: it is global, or a region as us-east5", loc)
	}
	p := place{name: name, base: o.BaseURL, info: o.Info}
	if p.base == "" {
		p.base = "https://" + host(loc)
	}
	p.base = strings.TrimRight(strings.ReplaceAll(p.base, "{location}-aiplatform.googleapis.com", host(loc)), "/")
	p.base = strings.ReplaceAll(p.base, "{location}", loc)
	p.path = "/projects/" + o.Project + "/locations/" + loc + "/publishers/" + publisher + "/models/" + url.PathEscape(name)
	if p.info.Provider == "" {
		p.info.Provider = "vertex"
	}
	creds := o.Credentials
	if creds == nil {
		creds = &Credentials{}
	}
	info := p.info
	info.Name = name
	p.sign = func(r *http.Request) error { return sign(r, creds, info) }
	return p, nil
}

// host is the address that serves a location.
func host(loc string) string {
	switch loc {
	case "global":
		return "aiplatform.googleapis.com"
	case "us", "eu":
		return "aiplatform." + loc + ".rep.googleapis.com"
	}
	return loc + "-aiplatform.googleapis.com"
}

func sign(r *http.Request, creds *Credentials, info llm.Info) error {
	fail := func(e *llm.Error) error {
		e.Provider, e.Model = info.Provider, info.Name
		return e
	}
	if ip := net.ParseIP(r.URL.Hostname()); r.URL.Scheme != "https" && r.URL.Hostname() != "localhost" && !ip.IsLoopback() {
		return fail(&llm.Error{Kind: llm.KindInvalidRequest, Message: "the base URL is not https: the token is not sent to " + r.URL.Host})
	}
	tok, quota, err := creds.token(r.Context())
	if err != nil {
		var e *llm.Error
		if errors.As(err, &e) {
			return fail(e)
		}
		return err
	}
	r.Header.Set("Authorization", "Bearer "+tok)
	if quota != "" && r.Header.Get("X-Goog-User-Project") == "" {
		r.Header.Set("X-Goog-User-Project", quota)
	}
	return nil
}
