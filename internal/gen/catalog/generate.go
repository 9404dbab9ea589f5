package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// from says which provider of the source each of ours is made from.
var from = map[string]string{
	"alibaba": "qwen-token-plan", "anthropic": "anthropic", "azure": "azure", "baseten": "baseten",
	"bedrock": "amazon-bedrock", "cerebras": "cerebras", "deepseek": "deepseek", "fireworks": "fireworks",
	"google": "google", "groq": "groq", "huggingface": "huggingface", "minimax": "minimax", "mistral": "mistral",
	"moonshot": "moonshotai", "nvidia": "nvidia", "openai": "openai", "openrouter": "openrouter",
	"together": "together", "vercel": "vercel-ai-gateway", "vertex": "google-vertex", "xai": "xai",
	"xiaomi": "xiaomi", "zai": "zai",
}

// messages are the providers that we speak to on Anthropic's wire, or on one
// that takes what it takes.
var messages = map[string]bool{"anthropic": true, "bedrock": true, "minimax": true}

// corrections is the overlay: what is known better, and why.
type corrections struct {
	// Free are the models of which a price of 0 is true.
	Free []struct{ Provider, Match, Why string }
	// Set changes the records that match: Set is merged into them.
	Set []struct {
		Provider, Match, Why string
		Thinks               *bool // only those that think, or do not
		Images               *bool
		Set                  json.RawMessage
	}
	// Add are models that the source does not have.
	Add []struct {
		Provider, Why string
		USD           *struct {
			Input, Output, CacheRead, CacheWrite json.Number
		}
		Model record
	}
	// Copy are models that a provider serves beside its own, with what another
	// has for them but the price, which is each provider's own. Dated names are
	// left out.
	Copy    []struct{ Provider, From, Match, Why string }
	Notices []struct{ Source, URL, License string }
}

// generate makes the files by name, and says what was odd.
func generate(packed, overlay []byte) (files map[string][]byte, odd []string, err error) {
	src, err := unpack(packed)
	if err != nil {
		return nil, nil, err
	}
	var c corrections
	dec := json.NewDecoder(bytes.NewReader(overlay))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&c); err != nil {
		return nil, nil, fmt.Errorf("the overlay: %w", err)
	}
	records := map[string][]record{}
	for _, name := range slices.Sorted(maps.Keys(from)) {
		models, ok := src.Files[from[name]]
		if !ok {
			return nil, nil, fmt.Errorf("the source has no provider %q any more", from[name])
		}
		slices.SortFunc(models, func(a, b sourceModel) int { return cmp.Or(strings.Compare(a.ID, b.ID), strings.Compare(a.API, b.API)) })
		for _, m := range models {
			note := func(format string, args ...any) {
				odd = append(odd, name+":"+m.ID+": "+fmt.Sprintf(format, args...))
			}
			r, err := convert(m, messages[name], c.free(name, m.ID), note)
			if err != nil {
				return nil, nil, err
			}
			if have := records[name]; len(have) > 0 && have[len(have)-1].ID == r.ID {
				note("it is there twice: the first is kept")
				continue
			}
			records[name] = append(records[name], r)
		}
	}
	if err := c.apply(records); err != nil {
		return nil, nil, fmt.Errorf("the overlay: %w", err)
	}
	files = map[string][]byte{"NOTICE": c.notice(src)}
	for name, list := range records {
		slices.SortFunc(list, func(a, b record) int { return strings.Compare(a.ID, b.ID) })
		if files[name+".json.gz"], err = pack(list); err != nil {
			return nil, nil, err
		}
	}
	return files, odd, nil
}

func (c *corrections) free(provider, id string) bool {
	return slices.ContainsFunc(c.Free, func(f struct{ Provider, Match, Why string }) bool {
		return f.Provider == provider && match(f.Match, id)
	})
}

// match is a pattern in which * is any text, slashes too.
func match(pattern, id string) bool {
	flat := strings.NewReplacer("/", "\x00")
	ok, err := path.Match(flat.Replace(pattern), flat.Replace(id))
	return err == nil && ok
}

func (c *corrections) apply(records map[string][]record) error {
	for _, a := range c.Add {
		if a.Why == "" || a.Model.ID == "" {
			return fmt.Errorf("%s: an added model needs an id and a reason", a.Provider)
		}
		if slices.ContainsFunc(records[a.Provider], func(r record) bool { return r.ID == a.Model.ID }) {
			return fmt.Errorf("%s:%s is in the source by now: take it out of add", a.Provider, a.Model.ID)
		}
		if a.USD != nil {
			price, err := ratesOf(sourceRates{a.USD.Input, a.USD.Output, a.USD.CacheRead, a.USD.CacheWrite}, false, func(string, ...any) {})
			if err != nil {
				return fmt.Errorf("%s:%s: %w", a.Provider, a.Model.ID, err)
			}
			a.Model.Price = &price
		}
		if a.Model.Source == "" {
			a.Model.Source = "by hand"
		}
		records[a.Provider] = append(records[a.Provider], a.Model)
	}
	for _, s := range c.Set {
		if s.Why == "" {
			return fmt.Errorf("%s:%s: a correction needs a reason", s.Provider, s.Match)
		}
		used := false
		for i := range records[s.Provider] {
			r := &records[s.Provider][i]
			thinks := r.Traits["thinking"] == true
			if !match(s.Match, r.ID) || s.Thinks != nil && *s.Thinks != thinks || s.Images != nil && *s.Images != slices.Contains(r.Input, "image") {
				continue
			}
			used = true
			// Decoding into what is there merges objects and replaces the rest.
			dec := json.NewDecoder(bytes.NewReader(s.Set))
			dec.DisallowUnknownFields()
			if err := dec.Decode(r); err != nil {
				return fmt.Errorf("%s:%s: %w", s.Provider, s.Match, err)
			}
		}
		if !used {
			return fmt.Errorf("%s:%s changes nothing: the source was mended, or the pattern is wrong", s.Provider, s.Match)
		}
	}
	for _, cp := range c.Copy {
		n := len(records[cp.Provider])
		for _, r := range records[cp.From] {
			if match(cp.Match, r.ID) && !dated.MatchString(r.ID) {
				r.Price, r.Tiers, r.Source = nil, nil, "as for "+cp.From
				records[cp.Provider] = append(records[cp.Provider], r)
			}
		}
		if cp.Why == "" || len(records[cp.Provider]) == n {
			return fmt.Errorf("copying %s:%s: it needs a reason, and models", cp.From, cp.Match)
		}
	}
	return nil
}

// dated are names of one state of a model.
var dated = regexp.MustCompile(`-20\d{6}$`)

func (c *corrections) notice(src *source) []byte {
	var b strings.Builder
	b.WriteString("The files beside this one hold facts about models: names, limits and prices.\n")
	b.WriteString("They are made by internal/gen/catalog, and corrected by its overlay.json, from\nthe sources below. Prices are those of the day that is named.\n\n")
	fmt.Fprintf(&b, "%s %s (npm), made %s\nLicence: MIT\nCopyright (c) %s\n\n", src.Name, src.Version, src.Made.UTC().Format("2006-01-02"), src.Author)
	for _, n := range c.Notices {
		fmt.Fprintf(&b, "%s\nLicence: %s\n\n", n.Source, n.License)
	}
	b.WriteString("The MIT licence, which holds for each of them:\n\n")
	b.WriteString(mit)
	return []byte(b.String())
}

const mit = `Permission is hereby granted, free of charge, to any person obtaining a copy
of this software and associated documentation files (the "Software"), to deal
in the Software without restriction, including without limitation the rights
to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all
copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
SOFTWARE.
`
