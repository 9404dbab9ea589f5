package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
)

// record is a model in the data of llm/catalog, which reads it.
type record struct {
	ID       string         `json:"id"`
	Name     string         `json:"name,omitempty"`
	Wire     string         `json:"wire,omitempty"` // "": the provider's
	Context  int            `json:"context,omitempty"`
	Output   int            `json:"output,omitempty"`
	Input    []string       `json:"in,omitempty"` // beside text
	Price    *rates         `json:"price,omitempty"`
	Tiers    []tier         `json:"tiers,omitempty"`
	Traits   map[string]any `json:"traits,omitempty"`
	Compat   *compat        `json:"compat,omitempty"`
	MinCache int            `json:"minCache,omitempty"`
	Source   string         `json:"source,omitempty"`
	Disputed string         `json:"disputed,omitempty"`
}

// rates are input, output, cache read, cache write and cache write for an
// hour, in 1e-12 US dollars a token.
type rates [5]int64

// tier is the count of prompt tokens that it begins above, and rates.
type tier [6]int64

// compat is how the model's server differs in what it takes.
type compat struct {
	ReasoningContent bool   `json:"reasoningContent,omitempty"`
	MaxField         string `json:"maxField,omitempty"`
	CacheControl     bool   `json:"cacheControl,omitempty"`
	NoToolSearch     bool   `json:"noToolSearch,omitempty"`
}

// perToken turns US dollars a million tokens into 1e-12 dollars a token,
// which is a factor of 1e6. What is finer is rounded to the nearest; what is
// not zero must not become so.
func perToken(n json.Number) (int64, error) {
	if n == "" {
		return 0, nil
	}
	r, ok := new(big.Rat).SetString(n.String())
	if !ok || r.Sign() < 0 {
		return 0, fmt.Errorf("%q is not a price", n)
	}
	r.Mul(r, big.NewRat(1_000_000, 1))
	rounded := new(big.Int).Quo(new(big.Int).Add(new(big.Int).Mul(r.Num(), big.NewInt(2)), r.Denom()), new(big.Int).Mul(r.Denom(), big.NewInt(2)))
	if !rounded.IsInt64() || rounded.Sign() == 0 && r.Sign() != 0 || rounded.Int64() > 1e15 {
		return 0, fmt.Errorf("%q is out of range for a price", n)
	}
	return rounded.Int64(), nil
}

// ratesOf reads one row of prices. hour says that writes for an hour cost
// twice the input, as on Anthropic's models. A cached token without a price of
// its own costs what input costs: that is never too little.
func ratesOf(s sourceRates, hour bool, odd func(string, ...any)) (rates, error) {
	var r rates
	for i, n := range []json.Number{s.Input, s.Output, s.CacheRead, s.CacheWrite} {
		var err error
		if r[i], err = perToken(n); err != nil {
			return r, err
		}
	}
	if r[2] > r[0] {
		odd("a cached token costs more (%s) than one that is not (%s): priced as input", s.CacheRead, s.Input)
		r[2] = 0
	}
	if r[2] == 0 {
		r[2] = r[0]
	}
	if r[3] == 0 {
		r[3] = r[0]
	}
	r[4] = r[3]
	if hour {
		r[4] = 2 * r[0]
	}
	return r, nil
}

// convert makes the record of a model. messages says that we speak to it on
// Anthropic's wire, and free that a price of 0 is one.
func convert(m sourceModel, messages, free bool, odd func(string, ...any)) (record, error) {
	r := record{ID: m.ID, Name: m.Name, Context: m.Window, Output: m.Output, Traits: map[string]any{}}
	if m.ID == "" || m.Window < 0 || m.Output < 0 {
		return r, fmt.Errorf("model %q: context window %d, output %d", m.ID, m.Window, m.Output)
	}
	if r.Name == r.ID {
		r.Name = ""
	}
	if r.Output >= r.Context {
		r.Output = 0 // the window again: no limit of its own is known
	}
	for _, in := range m.Input {
		if in != "text" && !slices.Contains(r.Input, in) {
			r.Input = append(r.Input, in)
		}
	}
	if slices.Contains(r.Input, "image") {
		r.Traits["images"] = true
	}
	hour := strings.Contains(m.ID, "claude")
	price, err := ratesOf(m.Cost.sourceRates, hour, odd)
	if err != nil {
		return r, fmt.Errorf("model %q: %w", m.ID, err)
	}
	if price[0] != 0 || price[1] != 0 || free {
		r.Price = &price
		var last int64
		for _, t := range m.Cost.Tiers {
			tr, err := ratesOf(t.sourceRates, hour, odd)
			if err != nil || t.Above <= last {
				return r, fmt.Errorf("model %q: tier above %d: %w", m.ID, t.Above, err)
			}
			last = t.Above
			r.Tiers = append(r.Tiers, tier{t.Above, tr[0], tr[1], tr[2], tr[3], tr[4]})
		}
	}
	if m.Thinks {
		r.Traits["thinking"] = true
		if e := efforts(m.Efforts); len(e) > 0 {
			r.Traits["efforts"] = e
		}
		switch {
		case messages && m.Compat.Adaptive:
			r.Traits["thinkingStyle"] = "adaptive"
		case !messages && styles[m.Compat.Thinking] != "":
			r.Traits["thinkingStyle"] = m.style()
		}
	}
	if t := m.Compat.Temperature; t != nil && !*t {
		r.Traits["noTemperature"] = true
	}
	c := compat{
		ReasoningContent: m.Compat.ReasoningContent, MaxField: m.Compat.MaxField, CacheControl: m.Compat.CacheControl == "anthropic",
	}
	if c != (compat{}) {
		r.Compat = &c
	}
	return r, nil
}

// styles are the ways to turn thinking on, by the source's names for them:
// those of llm/openai.
var styles = map[string]string{
	"openai": "flat", "openrouter": "nested", "deepseek": "thinking", "zai": "thinking", "qwen": "enable_thinking", "together": "enabled",
}

// style is the way to turn thinking on, and the effort beside a switch where
// the model takes one.
func (m sourceModel) style() string {
	s := styles[m.Compat.Thinking]
	takes := len(m.Efforts) > 0
	if b := m.Compat.Effort; b != nil {
		takes = *b
	}
	if takes && s != "flat" && s != "nested" {
		s += "+flat"
	}
	return s
}

// levels are the efforts in order, "max" only in the source's words.
var levels = []string{"minimal", "low", "medium", "high", "xhigh", "max"}

// efforts are the model's own words for our efforts, where the source says
// something of one. An effort that the model does not know is the nearest one
// that it does, the higher of two; that it cannot stop thinking is "".
func efforts(in map[string]*string) map[string]string {
	if len(in) == 0 {
		return nil
	}
	out := map[string]string{}
	if word, named := in["off"]; named && word == nil {
		out["off"] = ""
	} else if named {
		out["off"] = *word
	}
	// word is what the model calls a level: "xhigh" and "max" have to be named
	// to be known, the others to be unknown.
	word := func(i int) (string, bool) {
		if i < 0 || i >= len(levels) {
			return "", false
		}
		w, named := in[levels[i]]
		if named && w != nil {
			return *w, true
		}
		return levels[i], !named && i < 4
	}
	for i, level := range levels[:5] {
		if own, known := word(i); known {
			if _, named := in[level]; named {
				out[level] = own
			}
			continue
		}
		for d := 1; d < len(levels); d++ {
			if near, known := word(i + d); known {
				out[level] = near
				break
			}
			if near, known := word(i - d); known {
				out[level] = near
				break
			}
		}
	}
	return out
}

// pack is the file of a provider: a JSON array with a model on each line, so
// that a reader finds one without decoding the others, compressed.
func pack(records []record) ([]byte, error) {
	var text bytes.Buffer
	text.WriteString("[\n")
	for i, r := range records {
		if i > 0 {
			text.WriteString(",\n")
		}
		maps.DeleteFunc(r.Traits, func(_ string, v any) bool { return v == false })
		var line bytes.Buffer
		enc := json.NewEncoder(&line)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(r); err != nil {
			return nil, err
		}
		text.Write(bytes.TrimSpace(line.Bytes()))
	}
	text.WriteString("\n]\n")
	var out bytes.Buffer
	zw, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := zw.Write(text.Bytes()); err != nil {
		return nil, err
	}
	if err := zw.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
