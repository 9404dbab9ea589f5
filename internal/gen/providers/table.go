package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cantle-dev/cantle/llm/anthropic"
	"github.com/cantle-dev/cantle/llm/bedrock"
	"github.com/cantle-dev/cantle/llm/catalog"
	"github.com/cantle-dev/cantle/llm/cohere"
	"github.com/cantle-dev/cantle/llm/gemini"
	"github.com/cantle-dev/cantle/llm/ollama"
	"github.com/cantle-dev/cantle/llm/openai"
	"github.com/cantle-dev/cantle/llm/provider"
)

// The markers between which the table stands.
const (
	begin = "<!-- begin: go run ./internal/gen/providers -->\n"
	end   = "<!-- end -->\n"
)

// between puts the table in the place of what is between the markers.
func between(page, table string) (string, error) {
	before, rest, ok := strings.Cut(page, begin)
	_, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		return "", errors.New("docs/providers.md has no markers for the table: " + strings.TrimSpace(begin) + " and " + strings.TrimSpace(end))
	}
	return before + begin + table + end + after, nil
}

const wireVertex = "vertex" // of the catalog: two wires at one provider

// streams is how each wire splits a stream.
var streams = map[string]string{
	anthropic.Wire: "SSE", openai.WireChat: "SSE", openai.WireResponses: "SSE", gemini.Wire: "SSE", wireVertex: "SSE", cohere.Wire: "SSE",
	ollama.Wire: "NDJSON", bedrock.Wire: "AWS frames",
}

// recordedAs are the names of providers in the recorded exchanges that are not
// those of the catalog.
var recordedAs = map[string]string{"ollama-cloud": "ollama", "vercel-gateway": "vercel"}

// table is the table, and the line below it.
func table(r recorded) (string, error) {
	counts := map[string]count{}
	for name, c := range r.Providers {
		if as := recordedAs[name]; as != "" {
			name = as
		}
		have := counts[name]
		counts[name] = count{have.Passed + c.Passed, have.Failed + c.Failed}
	}
	var b strings.Builder
	b.WriteString("\n| provider | wire | stream | tools | thinking | images | caching | prices known | recorded |\n|---|---|---|---|---|---|---|---|---|\n")
	for _, p := range catalog.Providers() {
		models, err := catalog.Models(p.Name)
		if err != nil {
			return "", err
		}
		c, ok := counts[p.Name]
		delete(counts, p.Name)
		went := "–"
		if ok {
			went = fmt.Sprintf("%d of %d", c.Passed, c.Passed+c.Failed)
		}
		prices := of(models, func(m catalog.Model) bool { return m.Price != nil }, "none")
		if p.Local {
			prices = "free"
		}
		row := []string{
			"`" + p.Name + "`", wires(p, models), streams[p.Wire],
			of(models, func(m catalog.Model) bool { return !m.Traits.NoTools }, assumed(!p.Traits.NoTools)),
			of(models, settable, assumed(p.Traits.Thinking)),
			of(models, func(m catalog.Model) bool { return m.Traits.Images }, assumed(p.Traits.Images)),
			caching(p, models), prices, went,
		}
		if row[2] == "" {
			return "", fmt.Errorf("%s: how the wire %s streams is not known here", p.Name, p.Wire)
		}
		b.WriteString("| " + strings.Join(row, " | ") + " |\n")
	}
	var sum count // of those that the catalog does not have
	for _, c := range counts {
		sum = count{sum.Passed + c.Passed, sum.Failed + c.Failed}
	}
	fmt.Fprintf(&b, "\nRecorded exchanges as of %s. Of %d with other servers, %d pass.\n\n", r.Date, sum.Passed+sum.Failed, sum.Passed)
	return b.String(), nil
}

// settable reports whether a model has an effort that can be set, and that it is
// known how.
func settable(m catalog.Model) bool {
	k, err := provider.Options{}.Describe(m.Provider + ":" + m.ID)
	return err == nil && k.Info.Traits.Thinking
}

// of counts models; with none it is otherwise.
func of(models []catalog.Model, is func(catalog.Model) bool, otherwise string) string {
	if len(models) == 0 {
		return otherwise
	}
	n := 0
	for _, m := range models {
		if is(m) {
			n++
		}
	}
	return fmt.Sprintf("%d of %d", n, len(models))
}

func assumed(yes bool) string {
	if yes {
		return "yes*"
	}
	return "no*"
}

// wires are those of the provider's models.
func wires(p catalog.Provider, models []catalog.Model) string {
	n := map[string]int{}
	for _, m := range models {
		n[m.Wire]++
	}
	if len(n) <= 1 {
		return p.Wire
	}
	var out []string
	for _, w := range slices.Sorted(maps.Keys(n)) {
		out = append(out, fmt.Sprintf("%s (%d)", w, n[w]))
	}
	return strings.Join(out, ", ")
}

// caching is what is sent for the prompt cache.
func caching(p catalog.Provider, models []catalog.Model) string {
	switch p.Wire {
	case anthropic.Wire:
		return "marks"
	case bedrock.Wire:
		return "marks: Claude, Nova"
	case wireVertex:
		return "marks: Claude"
	case openai.WireChat, openai.WireResponses:
	default:
		return "–"
	}
	profile, marked := openai.ProfileOf(p.Name), 0
	onResponses := p.Wire == openai.WireResponses
	for _, m := range models {
		onResponses = onResponses || m.Wire == openai.WireResponses
		if m.Compat.CacheControl {
			marked++
		}
	}
	switch {
	case profile.CacheKey, profile.ResponsesCacheKey && onResponses:
		return "key"
	case marked > 0:
		return fmt.Sprintf("marks: %d models", marked)
	}
	return "–"
}
