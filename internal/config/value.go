package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/anthropic"
	"github.com/cantle-dev/cantle/llm/openai"
)

// A rule says what a setting must be, beyond its type.
type rule struct {
	want string // as it is said: "a time such as 90s or 10m"
	ok   func(text string) error
}

// rules are by key; a star stands for a name that the user gives.
var rules = map[string]rule{
	"effort":                            {"one of " + efforts(), oneOf(llm.Efforts()...)},
	"maxTurns":                          {"a whole number that is not less than 0", atLeast(0)},
	"maxContextTokens":                  {"a number of tokens, not less than 0", atLeast(0)},
	"maxTokens":                         {"a whole number that is not less than 0", atLeast(0)},
	"maxCost":                           {"an amount of US dollars such as \"1.50\"", ifGiven(money)},
	"softLimit":                         {"a percentage from 0 to 99", percentage},
	"timeout":                           {"a time such as \"90s\" or \"10m\"", ifGiven(positive)},
	"stallTimeout":                      {"a time such as \"90s\"; \"0s\" waits for ever", ifGiven(duration)},
	"todoScope":                         {"project or session", oneOf("", "project", "session")},
	"permissions.additionalDirectories": {"a directory", given},
	"env.*":                             {"text without a NUL character", noNUL},
	"providers.*.baseUrl":               {"an address such as \"http://127.0.0.1:8080/v1\"", address},
	"providers.*.wire":                  {openai.WireChat + " or " + anthropic.Wire, oneOf("", openai.WireChat, anthropic.Wire)},
	"providers.*.apiKeyEnv":             {"the name of the variable that holds the key, not the key", ifGiven(variable)},
	"models.*.context":                  {"a number of tokens, not less than 0", atLeast(0)},
	"models.*.output":                   {"a number of tokens, not less than 0", atLeast(0)},
	"models.*.price.input":              {perMillion, price},
	"models.*.price.output":             {perMillion, price},
	"models.*.price.cacheRead":          {perMillion, price},
	"models.*.price.cacheWrite":         {perMillion, price},
}

const perMillion = "a number of US dollars for a million tokens, such as 2.50"

// names are rules for the names that the user gives.
var names = map[string]rule{
	"env":       {"the name of a variable", variable},
	"providers": {"the name of a provider, without a colon", providerName},
	"models":    {"the name of a model, as provider:model, or a part of one", given},
}

var (
	errEmpty = errors.New("it is empty")
	errForm  = errors.New("it is of another form")
)

func given(s string) error {
	if strings.TrimSpace(s) == "" {
		return errEmpty
	}
	return nil
}

func ifGiven(f func(string) error) func(string) error {
	return func(s string) error {
		if s == "" {
			return nil
		}
		return f(s)
	}
}

func oneOf[T ~string](list ...T) func(string) error {
	return func(s string) error {
		if !slices.Contains(list, T(s)) {
			return errForm
		}
		return nil
	}
}

func efforts() string {
	var out []string
	for _, e := range llm.Efforts() {
		out = append(out, string(e))
	}
	return strings.Join(out, ", ")
}

func atLeast(least int64) func(string) error {
	return func(s string) error {
		if n, err := strconv.ParseInt(s, 10, 64); err != nil || n < least {
			return errForm
		}
		return nil
	}
}

func percentage(s string) error {
	if n, err := strconv.Atoi(s); err != nil || n < 0 || n > 99 {
		return errForm
	}
	return nil
}

func money(s string) error {
	_, err := llm.ParseMoney(s)
	return err
}

func price(s string) error {
	_, err := perToken(json.Number(s))
	return err
}

func duration(s string) error {
	_, err := time.ParseDuration(s)
	return err
}

func positive(s string) error {
	if d, err := time.ParseDuration(s); err != nil || d < 0 {
		return errForm
	}
	return nil
}

func noNUL(s string) error {
	if strings.ContainsRune(s, 0) {
		return errForm
	}
	return nil
}

func address(s string) error {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return errForm
	}
	return nil
}

// variable is what every system takes for the name of a variable. What has
// other characters is a value more likely, as a key.
func variable(s string) error {
	for i, r := range s {
		letter := r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return errForm
		}
	}
	return given(s)
}

func providerName(s string) error {
	if strings.ContainsAny(s, ": \t\n") {
		return errForm
	}
	return given(s)
}

// Price is p as the models want it.
func (p *ModelPrice) Price() (*llm.Price, error) {
	out := &llm.Price{}
	for _, f := range []struct {
		name string
		from *json.Number
		to   []*llm.Money
	}{
		{"input", &p.Input, []*llm.Money{&out.Input, &out.CacheRead, &out.CacheWrite, &out.CacheWrite1h}},
		{"output", &p.Output, []*llm.Money{&out.Output}},
		{"cacheRead", p.CacheRead, []*llm.Money{&out.CacheRead}},
		{"cacheWrite", p.CacheWrite, []*llm.Money{&out.CacheWrite, &out.CacheWrite1h}},
	} {
		if f.from == nil {
			continue
		}
		m, err := perToken(*f.from)
		if err != nil {
			return nil, fmt.Errorf("price.%s: %w", f.name, err)
		}
		for _, to := range f.to {
			*to = m
		}
	}
	return out, nil
}

// perToken makes a price of one token of that of a million.
func perToken(n json.Number) (llm.Money, error) {
	m, err := llm.ParseMoney(n.String())
	return m / 1_000_000, err
}

// Duration reads a setting such as "10m"; "" is 0.
func Duration(key, s string) (time.Duration, error) {
	if s == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 && key != "stallTimeout" {
		return 0, &Error{Key: key, Text: quoted(s) + " is not " + rules[key].want}
	}
	return d, nil
}
