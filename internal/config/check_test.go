package config_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/internal/config"
)

// bad are values that a setting refuses, with what is said of them.
var bad = map[string]map[string]string{
	"model":                             {`1`: "text is wanted, a number came", `["a:b"]`: "a list came"},
	"effort":                            {`"huge"`: `"huge" is not one of off, minimal`, `2`: "a number came"},
	"temperature":                       {`"warm"`: "is not a number from 0 to 2", `[]`: "a list came", `2.5`: "2.5 is not a number from 0 to 2", `-1`: "-1 is not"},
	"maxOutputTokens":                   {`"8k"`: "text came", `-1`: "-1 is not a number of tokens"},
	"maxTurns":                          {`"9"`: "text came", `1.5`: "1.5 is not a whole number", `-1`: "-1 is not", `9999999999999999999999`: "is not a whole number", `true`: "true came"},
	"maxTokens":                         {`"9"`: "text came", `1e99`: "1e99 is not", `-2`: "-2 is not"},
	"maxCost":                           {`1.5`: `an amount of US dollars such as "1.50" is wanted, a number came`, `"-1"`: "is not an amount", `"much"`: "is not an amount", `"99999999999"`: "is not an amount"},
	"maxContextTokens":                  {`"8k"`: "text came", `-1`: "-1 is not a number of tokens"},
	"softLimit":                         {`100`: "100 is not a percentage from 0 to 99", `-1`: "-1 is not", `"80"`: "text came", `80.5`: "80.5 is not"},
	"timeout":                           {`90`: `a time such as "90s" or "10m" is wanted, a number came`, `"90"`: `"90" is not a time`, `"-1s"`: "is not a time"},
	"stallTimeout":                      {`90`: "a number came", `"soon"`: `"soon" is not a time`},
	"user":                              {`"jo@example.com"`: "is not an opaque id", `"Jo Do"`: "is not an opaque id", `1`: "a number came"},
	"route.judge":                       {`1`: "text is wanted"},
	"todoScope":                         {`"mine"`: `"mine" is not project or session`, `{}`: "an object came"},
	"system":                            {`{}`: "text is wanted, an object came"},
	"appendSystem":                      {`[]`: "text is wanted, a list came"},
	"permissions":                       {`[]`: "an object is wanted, a list came", `null`: "null is not a value"},
	"permissions.defaultMode":           {`1`: "a number came"},
	"permissions.allow":                 {`"Read"`: "a list is wanted, text came", `[1]`: "a number is in it", `[null]`: "null is in it"},
	"permissions.deny":                  {`true`: "a list is wanted, true came"},
	"permissions.ask":                   {`{}`: "an object came"},
	"permissions.additionalDirectories": {`[""]`: `"" is not a directory`, `[{}]`: "an object is in it"},
	"permissions.askTimeout":            {`"soon"`: `"soon" is not a time such as "5m"`, `"-1s"`: "is not a time", `5`: "a number came"},
	"permissions.reviewer":              {`"a:b"`: "an object is wanted, text came", `{"models": "a:b"}`: "did you mean model?"},
	"permissions.reviewer.model":        {`1`: "text is wanted"},
	"permissions.reviewer.timeout":      {`"x"`: `"x" is not a time`, `1`: "a number came"},
	"permissions.reviewer.instructions": {`["x"]`: "text is wanted, a list came"},
	"sandbox":                           {`"docker"`: "an object is wanted, text came", `{"domains": []}`: "there are allowedDomains, autoAllow, "},
	"sandbox.mode":                      {`"jail"`: `"jail" is not one of auto, bubblewrap, `, `true`: "true came"},
	"sandbox.image":                     {`"--privileged"`: "is not the name of an image", `"a b"`: "is not the name of an image", `1`: "a number came"},
	"sandbox.strict":                    {`"yes"`: "true or false is wanted"},
	"sandbox.allowedDomains": {
		`["https://example.com"]`: "is not a host such as", `["example.com:443"]`: "is not a host", `["example.com/x"]`: "is not a host", `["*"]`: "is not a host",
		`["*.*.com"]`: "is not a host", `["a.*.com"]`: "is not a host", `["*.com"]`: "is not a host", `["*."]`: "is not a host", `[""]`: "is not a host", `["exa mple.com"]`: "is not a host",
		`["127.0.0.1"]`: "is not a host", `["::1"]`: "is not a host", `["[::1]"]`: "is not a host", `["*.0.0.1"]`: "is not a host", `["0x7f000001"]`: "is not a host", `["2130706433"]`: "is not a host",
		`["e.com\u0000"]`: "is not a host", `["me@e.com"]`: "is not a host", `[1]`: "a number is in it", `"example.com"`: "a list is wanted, text came",
	},
	"sandbox.network":   {`"open"`: `"open" is not off or on`, `true`: "true came"},
	"sandbox.autoAllow": {`1`: "true or false is wanted"},
	"sandbox.excluded":  {`[""]`: `"" is not a command`, `["a\nb"]`: "is not a command", `[1]`: "a number is in it"},
	"sandbox.write":     {`["x"]`: `"x" is not a folder`, `["/"]`: "is not a folder", `["/a/.."]`: "is not a folder", `["~/"]`: "is not a folder", `["~/a/.."]`: "is not a folder", `["~/../x"]`: "is not a folder", `["~"]`: "is not a folder", `["/a\u0000"]`: "is not a folder", `[""]`: "is not a folder", `"/a"`: "text came"},
	"sandbox.hide":      {`["x"]`: `"x" is not a path`, `[""]`: "is not a path", `["/a\u0000"]`: "is not a path", `{}`: "an object came"},
	"envPassthrough": {
		`["GITHUB_TOKEN"]`: `"GITHUB_TOKEN" is not the name of a variable that commands may have`, `["client_secret_2"]`: "is not the name", `["DB_PASSWORD"]`: "is not the name", `["MY_API_KEYS"]`: "is not the name",
		`["SIGNING_KEY"]`: "is not the name", `["AWS_ACCESS_KEY_ID"]`: "is not the name", `["BASH_ENV"]`: "is not the name", `["A=1"]`: "is not the name", `[""]`: "is not the name", `["A*"]`: "is not the name", `"CI"`: "text came",
	},
	"env":                        {`{"A B": "x"}`: `"A B" is not the name of a variable`, `{"": "x"}`: "is not the name", `{"A": 1}`: "a number came", `"A=1"`: "an object is wanted, text came", `{"A": "\u0000"}`: "text without a NUL"},
	"providers":                  {`{"a:b": {}}`: `"a:b" is not the name of a provider`, `{"x": {"baseURL": "http://h"}}`: "did you mean baseUrl?"},
	"providers.x.baseUrl":        {`"h:80"`: "is not an address", `"ftp://h"`: "is not an address", `1`: "a number came"},
	"providers.x.wire":           {`"soap"`: `"soap" is not one of anthropic, `},
	"providers.x.apiKeyEnv":      {`"sk-ant-canary-1"`: "what is there is not the name of the variable", `1`: "a number came"},
	"providers.x.profile":        {`1`: "text is wanted"},
	"providers.x.query":          {`"a=b"`: "an object is wanted", `{"a": 1}`: "text on one line is wanted", `{"api-key": "canary"}`: "a key must not be in the settings"},
	"providers.x.headers":        {`{"A": 1}`: "text on one line is wanted", `{"A B": "x"}`: `"A B" is not the name of a header`, `{"A": "x\ny"}`: "is not text on one line", `{"Authorization": "Bearer canary"}`: "cantle login", `{"X-Api-Key": "canary${A}"}`: "cantle login"},
	"providers.x.options":        {`[]`: "an object is wanted", `{"a": true}`: "true came", `{"access_token": "canary"}`: "cantle login"},
	"providers.x.apiKeyCommand":  {`1`: "a list of a program and its arguments, or the text of a shell's line, is wanted, a number came", `[]`: "is wanted", `[1]`: "is wanted", `[""]`: "is wanted", `" "`: "is wanted", `{}`: "an object came"},
	"providers.x.maxRetries":     {`-1`: "-1 is not a whole number from 0 to 100", `101`: "101 is not", `"3"`: "text came"},
	"providers.x.promptCache":    {`"2h"`: `true, false, "5m" or "1h" is wanted`, `1`: "is wanted", `"off"`: "is wanted"},
	"providers.x.numCtx":         {`-1`: "-1 is not a number of tokens", `"8k"`: "text came"},
	"providers.x.keepAlive":      {`5`: "a number came", `"soon"`: `"soon" is not a time`},
	"providers.x.project":        {`1`: "text is wanted"},
	"providers.x.location":       {`1`: "text is wanted"},
	"providers.x.region":         {`[]`: "text is wanted"},
	"aliases":                    {`[]`: "an object is wanted", `{"": "a:b"}`: `"" is not a name for a model`, `{"x": ""}`: "is not a model", `{"x": 1}`: "a number came"},
	"fallback":                   {`"a:b"`: "a list is wanted, text came", `[1]`: "a number is in it", `[""]`: "is not a model"},
	"route":                      {`"off"`: "an object is wanted", `{"modes": "off"}`: "did you mean mode?"},
	"route.mode":                 {`"on"`: `"on" is not off or triage`},
	"route.cheap":                {`1`: "text is wanted"},
	"route.frontier":             {`1`: "text is wanted"},
	"retry":                      {`3`: "an object is wanted"},
	"retry.max":                  {`-1`: "-1 is not a whole number from 0 to 100", `"3"`: "text came"},
	"retry.wait":                 {`"x"`: `"x" is not a time`, `1`: "a number came"},
	"retry.maxWait":              {`"-1s"`: `"-1s" is not a time`},
	"web":                        {`true`: "an object is wanted", `{"proxy": "x"}`: "there are allowPrivate, allowRanges, "},
	"web.allowPrivate":           {`"yes"`: "true or false is wanted"},
	"web.allowRanges":            {`"10.0.0.0/8"`: "a list is wanted, text came", `["10.0.0.0"]`: `"10.0.0.0" is not a range of addresses`, `["localhost/8"]`: "is not a range", `[1]`: "a number is in it"},
	"web.maxChars":               {`-1`: "-1 is not a number of characters", `"8k"`: "text came"},
	"web.userAgent":              {`"a\nb"`: "is not text on one line", `"é"`: "is not text on one line", `1`: "a number came"},
	"web.search":                 {`"http://h/?q={query}"`: "an object is wanted", `{"key": "canary"}`: "in keyEnv for web.search"},
	"web.search.url":             {`"http://canary/?q="`: "what is there is not an address such as", `"h?q={query}"`: "is not an address", `"https://h/?q={query}&api_key=canary"`: "keyEnv and keyHeader are for that", `"https://me:canary@h/?q={query}"`: "is not an address", `1`: "a number came"},
	"web.search.keyEnv":          {`"sk-canary-1"`: "what is there is not the name of the variable", `1`: "a number came"},
	"web.search.keyHeader":       {`"X Key: canary"`: "what is there is not the name of a header", `1`: "a number came"},
	"cacheWatch":                 {`"yes"`: "true or false is wanted"},
	"models.a:b.1.noTools":       {`1`: "true or false is wanted"},
	"models.a:b.1.thinkingStyle": {`1`: "text is wanted"},
	"models.a:b.1.efforts":       {`{"huge": "x"}`: `"huge" is not one of off, `, `{"low": 1}`: "a number came", `"low"`: "an object is wanted"},
	"models.a:b.1.minCache":      {`-1`: "-1 is not a number of tokens"},
	"models.a:b.1.salvage":       {`"x"`: "true or false is wanted"},
	"models":                     {`{" ": {}}`: `" " is not the name of a model, as provider:model`, `[]`: "an object is wanted"},
	"models.a:b.1.context":       {`"8k"`: "text came", `-1`: "-1 is not a number of tokens"},
	"models.a:b.1.output":        {`1.5`: "1.5 is not", `true`: "true came"},
	"models.a:b.1.price": {
		`3`: "an object is wanted, a number came", `{"input": 1}`: "output is missing", `{"output": 1}`: "input is missing",
		`{"input": 1, "output": 1, "cached": 1}`: "there are cacheRead",
	},
	"models.a:b.1.price.input":      {`"a lot"`: `"a lot" is not a number of US dollars for a million tokens, such as 2.50`, `-1`: "-1 is not", `1e3`: "1e3 is not", `{}`: "an object came"},
	"models.a:b.1.price.output":     {`"x"`: "is not a number of US dollars", `99999999999`: "is not a number of US dollars"},
	"models.a:b.1.price.cacheRead":  {`true`: "true came"},
	"models.a:b.1.price.cacheWrite": {`[]`: "a list came"},
	"models.a:b.1.images":           {`"yes"`: "true or false is wanted, text came"},
	"models.a:b.1.pdf":              {`1`: "true or false is wanted, a number came"},
	"models.a:b.1.thinking":         {`{}`: "true or false is wanted"},
	"models.a:b.1.schema":           {`"on"`: "true or false is wanted"},
	"models.a:b.1.noTemperature":    {`null`: "null is not a value"},
}

// keys lists every key of the settings, with x and a:b.1 as names.
func keys(t reflect.Type, at string) []string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	var out []string
	switch t.Kind() {
	case reflect.Struct:
		for i := range t.NumField() {
			if name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ","); name != "-" && name != "" {
				key := strings.TrimPrefix(at+"."+name, ".")
				out = append(append(out, key), keys(t.Field(i).Type, key)...)
			}
		}
	case reflect.Map:
		if name := map[string]string{"providers": "x", "models": "a:b.1"}[at]; name != "" {
			out = keys(t.Elem(), at+"."+name)
		}
	}
	return out
}

// nested is the settings file that sets key, which stands alone on line 3.
func nested(key, value string) string {
	parts := []string{key}
	for _, name := range []string{"a:b.1", "x"} {
		if pre, post, ok := strings.Cut(key, "."+name+"."); ok {
			parts = append([]string{pre, name}, strings.Split(post, ".")...)
		}
	}
	if len(parts) == 1 {
		parts = strings.Split(key, ".")
	}
	last := len(parts) - 1
	text := "\n\n\"" + parts[last] + "\": " + value + "\n"
	for i := last - 1; i >= 0; i-- {
		text = `"` + parts[i] + `": {` + text + "}"
	}
	return "{" + text + "}"
}

func TestEveryKeyRefusesWhatItIsNot(t *testing.T) {
	all := keys(reflect.TypeFor[config.Config](), "")
	for key := range bad {
		if !slices.Contains(all, key) {
			t.Errorf("%s is no setting", key)
		}
	}
	for _, key := range all {
		if len(bad[key]) == 0 {
			t.Errorf("nothing is tried on %s", key)
		}
		for value, want := range bad[key] {
			_, err := load(t, map[string]string{"home/settings.json": nested(key, value)}, nil)
			var e *config.Error
			if !errors.As(err, &e) || !strings.HasPrefix(e.Key, key) || !strings.HasSuffix(e.File, "settings.json") || e.Line != 3 ||
				!strings.Contains(e.Text, want) || strings.Contains(err.Error(), "canary") {
				t.Errorf("%s = %s: got %v, want line 3 and %q", key, value, err, want)
			}
			// The same from the command line, where a bare word is text.
			if strings.HasPrefix(value, `"`) == (key == "permissions.allow") || key == "providers" || key == "models" || key == "env" {
				continue
			}
			given := value
			if json.Unmarshal([]byte(value), &given) != nil && !strings.Contains(key, "max") && !strings.Contains(key, ".context") && !strings.Contains(key, "price") {
				continue // text is what is wanted there
			}
			if strings.Contains(want, "text came") {
				continue
			}
			_, err = load(t, nil, nil, config.Flag{Key: key, Value: given, Name: "--set"})
			if !errors.As(err, &e) || e.File != "--set" || !strings.HasPrefix(e.Key, key) && e.Key != key {
				t.Errorf("--set %s=%s: got %v", key, given, err)
			}
		}
	}
}

func TestUnknownKeysNameTheNearest(t *testing.T) {
	for key, want := range map[string]string{
		"modle":                    "did you mean model?",
		"max_turns":                "did you mean maxTurns?",
		"stall":                    "did you mean stallTimeout?",
		"maxCosts":                 "did you mean maxCost?",
		"defaultMode":              "did you mean permissions.defaultMode?",
		"permissions.alow":         "did you mean allow?",
		"providers.p.base_url":     "did you mean baseUrl?",
		"models.a:b.contxt":        "did you mean context?",
		"models.a:b-1.2.price.inp": "did you mean input?",
		"xyzzy":                    "there are aliases, appendSystem, ",
		"model.x":                  "model is no object",
		"permissions":              "name one of its settings, as permissions.additionalDirectories",
	} {
		_, err := load(t, nil, nil, config.Flag{Key: key, Value: "1", Name: "--set"})
		var e *config.Error
		if !errors.As(err, &e) || e.File != "--set" || e.Key != key || !strings.Contains(e.Text, want) {
			t.Errorf("%s: got %v, want %q", key, err, want)
		}
	}
}

func TestNamesMayHaveDots(t *testing.T) {
	half := config.Flag{Key: "models.openai:gpt-4.1.price.input", Value: "2.5", Name: "--set"}
	if _, err := load(t, nil, nil, half); err == nil || !strings.Contains(err.Error(), "--set: models.openai:gpt-4.1.price: output is missing") {
		t.Errorf("half a price: %v", err)
	}
	c, err := load(t, nil, nil,
		config.Flag{Key: "models.openai:gpt-4.1.context", Value: "1000", Name: "--set"},
		half, config.Flag{Key: "models.openai:gpt-4.1.price.output", Value: `10`, Name: "--set"},
		config.Flag{Key: "providers.my.co.query.api.version", Value: "1", Name: "--set"},
		config.Flag{Key: "env.A", Value: "1", Name: "--set"})
	if err != nil {
		t.Fatal(err)
	}
	m := c.Models["openai:gpt-4.1"]
	p, err := m.Price.Price()
	if err != nil || m.Context != 1000 || p.Input != 2_500_000 || p.Output != 10_000_000 || p.CacheRead != p.Input ||
		c.Providers["my.co"].Query["api.version"] != "1" || c.Env["A"] != "1" {
		t.Errorf("%+v %+v, %v", c, p, err)
	}
}
