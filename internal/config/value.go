package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/provider"
)

// A rule says what a setting must be, beyond its type.
type rule struct {
	want string // as it is said: "a time such as 90s or 10m"
	ok   func(text string) error
	raw  func(raw json.RawMessage) error // of what has several forms
}

// rules are by key; a star stands for a name that the user gives.
var rules = map[string]rule{
	"effort":                            {want: "one of " + efforts(), ok: oneOf(llm.Efforts()...)},
	"temperature":                       {want: "a number from 0 to 2", ok: temperature},
	"maxOutputTokens":                   {want: "a number of tokens, not less than 0", ok: atLeast(0)},
	"maxTurns":                          {want: "a whole number that is not less than 0", ok: atLeast(0)},
	"maxContextTokens":                  {want: "a number of tokens, not less than 0", ok: atLeast(0)},
	"maxTokens":                         {want: "a whole number that is not less than 0", ok: atLeast(0)},
	"maxCost":                           {want: "an amount of US dollars such as \"1.50\"", ok: ifGiven(money)},
	"softLimit":                         {want: "a percentage from 0 to 99", ok: percentage},
	"timeout":                           {want: "a time such as \"90s\" or \"10m\"", ok: ifGiven(positive)},
	"stallTimeout":                      {want: "a time such as \"90s\"; \"0s\" waits for ever", ok: ifGiven(duration)},
	"user":                              {want: "an opaque id of at most 64 letters, digits and marks, no name and no address", ok: ifGiven(opaque)},
	"todoScope":                         {want: "project or session", ok: oneOf("", "project", "session")},
	"permissions.additionalDirectories": {want: "a directory", ok: given},
	"permissions.askTimeout":            {want: "a time such as \"5m\"", ok: ifGiven(positive)},
	"permissions.reviewer.timeout":      {want: "a time such as \"30s\"", ok: ifGiven(positive)},
	"sandbox.mode":                      {want: "one of auto, bubblewrap, landlock, seatbelt, docker, outer, none", ok: oneOf(modeNames()...)},
	"sandbox.image":                     {want: "the name of an image such as \"python:3.12-slim\"", ok: ifGiven(image)},
	"sandbox.allowedDomains":            {want: "a host such as \"example.com\" or \"*.example.com\", with no scheme, port or path, and no address", ok: domain},
	"sandbox.network":                   {want: "off or on", ok: oneOf("", "off", "on")},
	"sandbox.excluded":                  {want: "a command as in the brackets of a Bash rule, such as \"docker:*\"", ok: matcher},
	"sandbox.write":                     {want: "a folder, absolute or as ~/…, and neither the root nor the whole of home", ok: below},
	"sandbox.hide":                      {want: "a path, absolute or as ~/…", ok: absolute},
	"envPassthrough":                    {want: "the name of a variable that commands may have: what looks like a secret's (with TOKEN, SECRET, PASSWORD, API_KEY, a last _KEY and the like in it) is passed to none, nor are BASH_ENV and ENV", ok: passable},
	"env.*":                             {want: "text without a NUL character", ok: noNUL},
	"providers.*.baseUrl":               {want: "an address such as \"http://127.0.0.1:8080/v1\", with http or https, and no user, password or key in it: apiKeyEnv, headers and query are for those", ok: address},
	"providers.*.wire":                  {want: "one of " + strings.Join(provider.Wires(), ", "), ok: oneOf(append(provider.Wires(), "")...)},
	"providers.*.apiKeyEnv":             {want: "the name of the variable that holds the key, not the key", ok: ifGiven(variable)},
	"models.*.context":                  {want: "a number of tokens, not less than 0", ok: atLeast(0)},
	"models.*.output":                   {want: "a number of tokens, not less than 0", ok: atLeast(0)},
	"providers.*.apiKeyCommand":         {want: "a list of a program and its arguments, or the text of a shell's line,", raw: command},
	"providers.*.promptCache":           {want: "true, false, \"5m\" or \"1h\"", raw: promptCache},
	"providers.*.maxRetries":            {want: "a whole number from 0 to 100", ok: retries},
	"providers.*.numCtx":                {want: "a number of tokens, not less than 0", ok: atLeast(0)},
	"providers.*.keepAlive":             {want: "a time such as \"10m\"; \"-1s\" is for ever", ok: ifGiven(duration)},
	"providers.*.headers.*":             {want: "text on one line", ok: oneLine},
	"providers.*.query.*":               {want: "text on one line", ok: oneLine},
	"providers.*.options.*":             {want: "text on one line", ok: oneLine},
	"aliases.*":                         {want: "a model, as provider:model, or another alias", ok: given},
	"fallback":                          {want: "a model, as provider:model, or an alias", ok: given},
	"route.mode":                        {want: "off or triage", ok: oneOf("", "off", "triage")},
	"retry.max":                         {want: "a whole number from 0 to 100", ok: retries},
	"retry.wait":                        {want: "a time such as \"2h\"", ok: ifGiven(positive)},
	"retry.maxWait":                     {want: "a time such as \"60s\"", ok: ifGiven(positive)},
	"web.allowRanges":                   {want: "a range of addresses such as \"198.18.0.0/15\"", ok: addressRange},
	"web.maxChars":                      {want: "a number of characters, not less than 0", ok: atLeast(0)},
	"web.userAgent":                     {want: "text on one line, of at most 200 letters, digits and marks", ok: userAgent},
	"web.search.url":                    {want: "an address such as \"http://localhost:8888/search?format=json&q={query}\", with {query} where the words go and no key in it: keyEnv and keyHeader are for that", ok: ifGiven(searchAddress)},
	"web.search.keyEnv":                 {want: "the name of the variable that holds the key, not the key", ok: ifGiven(variable)},
	"web.search.keyHeader":              {want: "the name of a header", ok: ifGiven(headerName)},
	"models.*.minCache":                 {want: "a number of tokens, not less than 0", ok: atLeast(0)},
	"models.*.price.input":              {want: perMillion, ok: price},
	"models.*.price.output":             {want: perMillion, ok: price},
	"models.*.price.cacheRead":          {want: perMillion, ok: price},
	"models.*.price.cacheWrite":         {want: perMillion, ok: price},
}

const perMillion = "a number of US dollars for a million tokens, such as 2.50"

// names are rules for the names that the user gives.
var names = map[string]rule{
	"env":                 {want: "the name of a variable", ok: variable},
	"providers":           {want: "the name of a provider, without a colon", ok: providerName},
	"providers.*.headers": {want: "the name of a header", ok: headerName},
	"models.*.efforts":    {want: "one of " + efforts(), ok: oneOf(llm.Efforts()...)},
	"aliases":             {want: "a name for a model", ok: given},
	"models":              {want: "the name of a model, as provider:model, or a part of one", ok: given},
}

var (
	errEmpty = errors.New("it is empty")
	errForm  = errors.New("it is of another form")
)

func temperature(s string) error {
	if f, err := strconv.ParseFloat(s, 64); err != nil || !(f >= 0 && f <= 2) {
		return errForm
	}
	return nil
}

// opaque is an id that may be told to others. What is an address is none.
func opaque(s string) error {
	if len(s) > 64 || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '@' }) {
		return errForm
	}
	return nil
}

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
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		return errForm
	}
	for name := range u.Query() {
		if keyName(name) {
			return errForm // it belongs into query, as ${NAME}
		}
	}
	return nil
}

func searchAddress(s string) error {
	if !strings.Contains(s, "{query}") {
		return errForm
	}
	return address(s)
}

func addressRange(s string) error {
	_, err := netip.ParsePrefix(s)
	return err
}

// userAgent is what every server takes in a header.
func userAgent(s string) error {
	if len(s) > 200 || strings.TrimSpace(s) != s || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) {
		return errForm
	}
	return nil
}

func retries(s string) error {
	if n, err := strconv.Atoi(s); err != nil || n < 0 || n > 100 {
		return errForm
	}
	return nil
}

func oneLine(s string) error {
	if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
		return errForm
	}
	return nil
}

// image is a reference to an image: no flag of the program that runs it.
func image(s string) error {
	if strings.HasPrefix(s, "-") || len(s) > 512 || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return errForm
	}
	return nil
}

// headerName is a token of RFC 9110.
func headerName(s string) error {
	for _, r := range s {
		if (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && !strings.ContainsRune("!#$%&'*+-.^_`|~", r) {
			return errForm
		}
	}
	return given(s)
}

func command(raw json.RawMessage) error {
	var c Command
	if err := json.Unmarshal(raw, &c); err != nil {
		return errForm
	}
	if c.Shell != "" {
		return given(c.Shell)
	}
	if len(c.Args) == 0 {
		return errEmpty
	}
	for _, a := range c.Args {
		if noNUL(a) != nil {
			return errForm
		}
	}
	return given(c.Args[0])
}

func promptCache(raw json.RawMessage) error {
	var c PromptCache
	if err := json.Unmarshal(raw, &c); err != nil {
		return err
	}
	if c == "off" && kindOf(raw) == "text" {
		return errForm
	}
	return oneOf[PromptCache]("off", "5m", "1h")(string(c))
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
