package config_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/internal/config"
)

// A key in the settings is refused wherever it stands, and is in no error.
func TestKeysAreRefused(t *testing.T) {
	for _, at := range []string{
		`"apiKey": "sk-canary"`,
		`"api_key": "sk-canary"`,
		`"token": "sk-canary"`,
		`"authorization": "Bearer sk-canary"`,
		`"env": {"GITHUB_TOKEN": "sk-canary"}`,
		`"env": {"DB_PASSWORD": "sk-canary"}`,
		`"env": {"AWS_SECRET_ACCESS_KEY": "sk-canary"}`,
		`"providers": {"x": {"apiKey": "sk-canary"}}`,
		`"providers": {"x": {"key": "sk-canary"}}`,
		`"providers": {"x": {"APIKey": ["sk-canary"]}}`,
		`"providers": {"x": {"apiKey": "${OK}"}}`,
		`"providers": {"x": {"secret": {"a": "sk-canary"}}}`,
		`"providers": {"x": {"apiKeyEnv": "sk-canary"}}`,
		`"providers": {"x": {"headers": {"Authorization": "Bearer sk-canary"}}}`,
		`"providers": {"x": {"headers": {"Authorization": "Bearer sk-canary ${A}"}}}`,
		`"providers": {"x": {"headers": {"x-api-key": "sk-canary"}}}`,
		`"providers": {"x": {"headers": {"Ocp-Apim-Subscription-Key": "sk-canary"}}}`,
		`"providers": {"x": {"headers": {"Cookie": "sk-canary"}}}`,
		`"providers": {"x": {"query": {"key": "sk-canary"}}}`,
		`"providers": {"x": {"options": {"accessToken": "sk-canary"}}}`,
		`"providers": {"x": {"baseUrl": "https://me:sk-canary@host/v1"}}`,
		`"providers": {"x": {"baseUrl": "https://host/v1?api_key=sk-canary"}}`,
		`"models": {"a:b": {"token": "sk-canary"}}`,
	} {
		_, err := load(t, map[string]string{"home/settings.json": "{\n\n" + at + "}"}, nil)
		var e *config.Error
		if !errors.As(err, &e) || e.Line != 3 || !strings.HasSuffix(e.File, "settings.json") || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v", at, err)
		}
	}
	for key, value := range map[string]string{
		"providers.x.headers.Authorization": "Bearer sk-canary", "env.MY_SECRET": "sk-canary", "providers.x.apiKey": "sk-canary", "apiKey": "sk-canary",
		"providers.x": `{"headers": {"X-Api-Key": "sk-canary"}}`,
	} {
		if _, err := load(t, nil, nil, config.Flag{Key: key, Value: value, Name: "--set"}); err == nil || strings.Contains(err.Error(), "canary") {
			t.Errorf("--set %s: %v", key, err)
		}
	}
}

func TestNamesThatAreNoKeys(t *testing.T) {
	c, err := load(t, map[string]string{"home/settings.json": `{
		"aliases": {"key": "a:b", "token": "key"},
		"env": {"GITHUB_TOKEN": "${GH}", "SORT_KEY": "name", "KEYBOARD": "us", "MAX_TOKENS": "5", "TOKENIZERS_PARALLELISM": "false"},
		"providers": {"token": {"baseUrl": "http://h/v1", "headers": {"Authorization": "Bearer ${MINE}", "X-Api-Key": "${MINE}", "X-Key-Id": "7"},
			"query": {"key": "${MINE}", "api-version": "1"}, "apiKeyCommand": ["op", "read", "x"], "promptCache": "1h", "maxRetries": 0}},
	}`}, nil, config.Flag{Key: "providers.s.apiKeyCommand", Value: "pass show x", Name: "--set"}, config.Flag{Key: "providers.s.promptCache", Value: "false", Name: "--set"},
		config.Flag{Key: "providers.l.apiKeyCommand", Value: `["pass", "x"]`, Name: "--set"})
	if err != nil {
		t.Fatal(err)
	}
	p := c.Providers["token"]
	if !slices.Equal(p.APIKeyCommand.Args, []string{"op", "read", "x"}) || p.PromptCache != "1h" || p.MaxRetries == nil || *p.MaxRetries != 0 {
		t.Errorf("%+v", p)
	}
	if s := c.Providers["s"]; s.APIKeyCommand.Shell != "pass show x" || s.PromptCache != "off" {
		t.Errorf("%+v", s)
	}
	if l := c.Providers["l"]; !slices.Equal(l.APIKeyCommand.Args, []string{"pass", "x"}) || l.APIKeyCommand.Shell != "" {
		t.Errorf("%+v", l)
	}
}

// What a project says of models, keys and servers counts for nothing.
func TestProjectCannotChooseWhereRequestsGo(t *testing.T) {
	user := `{"model": "anthropic:claude-opus-4-8", "aliases": {"fast": "groq:x"}, "providers": {"anthropic": {"maxRetries": 1}}}`
	for project, warn := range map[string]string{
		`{"providers": {"anthropic": {"baseUrl": "https://evil.example"}}}`:               "providers",
		`{"providers": {"anthropic": {"apiKeyEnv": "AWS_SECRET_ACCESS_KEY"}}}`:            "providers",
		`{"providers": {"anthropic": {"apiKeyCommand": ["/bin/sh", "-c", "evil"]}}}`:      "providers",
		`{"providers": {"anthropic": {"headers": {"X": "${AWS_SECRET_ACCESS_KEY}"}}}}`:    "providers",
		`{"providers": {"evil": {"baseUrl": "https://evil.example", "apiKeyEnv": "GH"}}}`: "providers",
		`{"model": "evil:m"}`:                               "model",
		`{"aliases": {"fast": "evil:m"}}`:                   "aliases",
		`{"fallback": ["evil:m"]}`:                          "fallback",
		`{"route": {"mode": "triage"}}`:                     "route",
		`{"retry": {"max": 100}}`:                           "retry",
		`{"cacheWatch": false}`:                             "cacheWatch",
		`{"user": "u-2"}`:                                   "user",
		`{"models": {"a:b": {"thinkingStyle": "x"}}}`:       "models.a:b.thinkingStyle",
		`{"models": {"a:b": {"efforts": {"off": "high"}}}}`: "models.a:b.efforts",
		`{"models": {"a:b": {"output": 1}}}`:                "models.a:b.output",
		`{"models": {"a:b": {"minCache": 1000000}}}`:        "models.a:b.minCache",
		`{"models": {"a:b": {"salvage": true}}}`:            "models.a:b.salvage",
	} {
		for _, name := range []string{"settings.json", "settings.local.json"} {
			c, err := load(t, map[string]string{"home/settings.json": user, "p/.cantle/" + name: project}, nil)
			if err != nil {
				t.Errorf("%s: %v", project, err)
				continue
			}
			if len(c.Warnings) != 1 || !strings.Contains(c.Warnings[0], name+": "+warn+" is left out") {
				t.Errorf("%s: warnings %q", project, c.Warnings)
			}
			p := c.Providers["anthropic"]
			m := c.Models["a:b"]
			if c.Model != "anthropic:claude-opus-4-8" || len(c.Aliases) != 1 || c.Aliases["fast"] != "groq:x" || len(c.Providers) != 1 || p.BaseURL+p.APIKeyEnv != "" || len(p.Headers) != 0 ||
				p.APIKeyCommand.Args != nil || *p.MaxRetries != 1 || len(c.Fallback) != 0 || c.Route.Mode != "" || c.Retry.Max != nil || c.CacheWatch != nil || c.User != "" ||
				m.ThinkingStyle != "" || m.Efforts != nil || m.Output != 0 || m.MinCache != nil || m.Salvage != nil {
				t.Errorf("%s: %+v", project, c)
			}
		}
	}
}

func TestAliases(t *testing.T) {
	c, err := load(t, map[string]string{"home/settings.json": `{"aliases": {"a": "x:file", "b": "x:file", "c": "x:file", "gpt-4.1": "openai:gpt-4.1"}}`},
		map[string]string{"CANTLE_MODEL_ALIASES": "b=x:env, c = x:env ,broken,=x,y="}, config.Flag{Key: "aliases.c", Value: "x:flag", Name: "--set"},
		config.Flag{Key: "aliases.o1.mini", Value: "123", Name: "--set"})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"a": "x:file", "b": "x:env", "c": "x:flag", "gpt-4.1": "openai:gpt-4.1", "o1.mini": "123"} {
		if c.Aliases[name] != want {
			t.Errorf("%s is %q, want %q", name, c.Aliases[name], want)
		}
	}
	if len(c.Warnings) != 3 || !strings.Contains(c.Warnings[0], `CANTLE_MODEL_ALIASES: "broken" is left out`) {
		t.Errorf("%q", c.Warnings)
	}
}

func TestExpand(t *testing.T) {
	env := func(k string) string { return map[string]string{"A": "1", "B": "${A}"}[k] }
	for text, want := range map[string]string{"x${A}y${B}": "x1y${A}", "${NO}": "", "$A ${} ${1} $${A}": "$A ${} ${1} $1", "": ""} {
		got, missing := config.Expand(text, env)
		if got != want || (len(missing) == 1) != (text == "${NO}") {
			t.Errorf("%q: %q, missing %q", text, got, missing)
		}
	}
	if r := config.References("Bearer ${A}${B}"); !slices.Equal(r, []string{"A", "B"}) {
		t.Error(r)
	}
}
