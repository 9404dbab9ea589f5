package provider

import (
	"encoding/json"
	"math"
	"slices"
	"strings"

	"github.com/cantle-dev/cantle/llm"
)

// object is a JSON object of a server's, of which no field is sure to be there
// or to have the type that others give it.
type object map[string]any

func (o object) object(key string) object {
	v, _ := o[key].(map[string]any)
	return v
}

func (o object) list(key string) ([]object, bool) {
	v, ok := o[key].([]any)
	if !ok {
		return nil, false
	}
	var out []object
	for _, e := range v {
		if m, ok := e.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out, true
}

func (o object) text(key string) string {
	s, _ := o[key].(string)
	return s
}

func (o object) yes(key string) bool {
	b, _ := o[key].(bool)
	return b
}

// most bounds a number of tokens that is believed.
const most = 1 << 30

// number is the first of the keys that holds a count that can be one, else 0.
func (o object) number(keys ...string) int {
	for _, key := range keys {
		var n json.Number
		switch v := o[key].(type) {
		case json.Number:
			n = v
		case string:
			n = json.Number(v)
		}
		if f, err := n.Float64(); err == nil && f >= 1 && f <= most && f == math.Trunc(f) {
			return int(f)
		}
	}
	return 0
}

// report reads a model in the list of an OpenAI-compatible server, in any of
// the words that they use.
func (o object) report(profile string) Report {
	r := Report{ID: o.text("id"), Name: o.text("display_name")}
	if r.Name == "" {
		r.Name = o.text("name")
	}
	if r.Name == r.ID {
		r.Name = ""
	}
	top := o.object("top_provider")
	r.Context = o.number("context_length", "context_window", "max_model_len", "max_context_length", "max_input_tokens")
	if n := top.number("context_length"); n > 0 && (r.Context == 0 || n < r.Context) {
		r.Context = n // a request may go to the server with the least
	}
	r.Output = o.number("max_completion_tokens", "max_output_tokens", "max_output_length")
	if r.Output == 0 && (profile == "vercel" || profile == "anthropic") {
		r.Output = o.number("max_tokens")
	}
	if r.Output == 0 {
		r.Output = top.number("max_completion_tokens")
	}
	if r.Context > 0 && r.Output >= r.Context {
		r.Output = 0
	}
	r.Max = o.object("meta").number("n_ctx_train")
	if in, ok := o.object("architecture")["input_modalities"].([]any); ok {
		r.Images = among(in, "image")
	}
	if p, ok := o["supported_parameters"].([]any); ok {
		r.Tools = among(p, "tools")
		r.Thinking = among(p, "reasoning")
	}
	if can := o.object("capabilities"); can != nil {
		for key, to := range map[string]**bool{"vision": &r.Images, "function_calling": &r.Tools} {
			if b, ok := can[key].(bool); ok {
				*to = &b
			}
		}
	}
	switch price := o.object("pricing"); profile {
	case "openrouter":
		r.Price = price.price("prompt", "completion")
	case "vercel":
		r.Price = price.price("input", "output")
	}
	return r
}

// price reads prices in US dollars a token, as text. One that is negative,
// as where the model is only chosen later, is not known; nor is one with a fee
// for each request beside it.
func (o object) price(input, output string) *llm.Price {
	read := func(key string) (llm.Money, bool) {
		m, err := llm.ParseMoney(o.text(key))
		return m, err == nil
	}
	if fee, ok := read("request"); ok && fee != 0 {
		return nil
	}
	in, ok1 := read(input)
	out, ok2 := read(output)
	if !ok1 || !ok2 {
		return nil
	}
	p := llm.Price{Input: in, Output: out, CacheRead: in, CacheWrite: in, CacheWrite1h: in}
	if m, ok := read("input_cache_read"); ok && m <= in && (m > 0 || in == 0) {
		p.CacheRead = m
	}
	if m, ok := read("input_cache_write"); ok && m > 0 {
		p.CacheWrite, p.CacheWrite1h = m, m
		if m > in {
			p.CacheWrite1h = max(m, 2*in) // dearer writes are Anthropic's
		}
	}
	return &p
}

func among(list []any, word string) *bool {
	has := slices.ContainsFunc(list, func(v any) bool {
		s, _ := v.(string)
		return strings.EqualFold(s, word)
	})
	return &has
}
