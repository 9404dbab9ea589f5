package provider

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/bedrock"
	"github.com/cantle-dev/cantle/llm/catalog"
	"github.com/cantle-dev/cantle/llm/cohere"
	"github.com/cantle-dev/cantle/llm/gemini"
	"github.com/cantle-dev/cantle/llm/ollama"
	"github.com/cantle-dev/cantle/llm/vertex"
)

// wireVertex is the wire of Vertex AI, on which Google's models are spoken to
// on the wire of gemini, and Claude on that of anthropic.
const wireVertex = "vertex"

func (o Options) gemini(k Known, key string) (llm.Model, error) {
	c := k.Provider
	return gemini.New(k.Info.Name, gemini.Options{
		APIKey: key, BaseURL: c.BaseURL, Info: k.Info, Header: c.Header, Client: o.Client, Stall: o.Stall,
	}), nil
}

func (o Options) vertex(k Known, _ string) (llm.Model, error) {
	c := k.Provider
	none, ttl := c.cache()
	vo := vertex.Options{
		Project: c.Set["project"], Location: c.Set["location"], BaseURL: c.ownBaseURL(), Info: k.Info, Header: c.Header,
		Client: o.Client, Stall: o.Stall, Beta: c.list("beta"), NoCache: none, CacheTTL: ttl,
	}
	if o.Getenv != nil {
		vo = vo.FromEnv(o.Getenv)
	}
	if vo.Project == "" {
		return nil, fmt.Errorf("provider: %s needs a project of Google Cloud: set providers.%s.project, or the variable GOOGLE_CLOUD_PROJECT", c.Name, c.Name)
	}
	var m llm.Model
	var err error
	if strings.HasPrefix(k.Info.Name, "claude-") {
		m, err = vertex.NewAnthropic(k.Info.Name, vo)
	} else {
		m, err = vertex.NewGemini(k.Info.Name, vo)
	}
	if err != nil {
		return nil, fmt.Errorf("provider: %w", err)
	}
	return m, nil
}

func (o Options) bedrock(k Known, key string) (llm.Model, error) {
	c := k.Provider
	none, ttl := c.cache()
	return bedrock.New(k.Info.Name, bedrock.Options{
		APIKey: key, Region: c.Set["region"], Profile: c.Set["profile"], BaseURL: c.ownBaseURL(), Info: k.Info, Family: c.Set["family"],
		Beta: c.list("beta"), Header: c.Header, NoCache: none, CacheTTL: ttl, Client: o.Client, Stall: o.Stall,
	}), nil
}

// ownBaseURL is the base URL that the user set; "" leaves it to an adapter
// that makes it of a region.
func (c Custom) ownBaseURL() string {
	if known, err := catalog.Named(c.Name); err == nil && known.BaseURL == c.BaseURL {
		return ""
	}
	return c.BaseURL
}

func (o Options) cohere(k Known, key string) (llm.Model, error) {
	c := k.Provider
	return cohere.New(k.Info.Name, cohere.Options{
		APIKey: key, BaseURL: c.BaseURL, Info: k.Info, Header: c.Header, Client: o.Client, Stall: o.Stall,
	}), nil
}

func (o Options) ollama(k Known, key string) (llm.Model, error) {
	c := k.Provider
	oo := ollama.Options{APIKey: key, BaseURL: c.BaseURL, Info: k.Info, Header: c.Header, Client: o.Client, Stall: o.Stall}
	if s := c.Set["keepAlive"]; s != "" {
		d, err := time.ParseDuration(s)
		if err != nil || d == 0 {
			return nil, fmt.Errorf("provider: providers.%s: keepAlive is %q: write how long, as 30m or, for ever, -1s", c.Name, s)
		}
		oo.KeepAlive = d
	}
	return ollama.New(k.Info.Name, oo), nil
}

// numCtx is the window that the user wants a local server to load models with;
// 0 is its own.
func (c Custom) numCtx() (int, error) {
	s := c.Set["numCtx"]
	if s == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("provider: providers.%s: numCtx is %q: it must be a number of tokens", c.Name, s)
	}
	return n, nil
}
