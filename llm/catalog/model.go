package catalog

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/cantle-dev/cantle/llm"
)

// Model is what is known of a model.
type Model struct {
	Provider string `json:"provider"`
	ID       string `json:"id"`             // as it is named in a request
	Name     string `json:"name,omitempty"` // for people
	Wire     string `json:"wire"`
	Context  int    `json:"context,omitempty"` // context window in tokens; 0 is unknown
	Output   int    `json:"output,omitempty"`  // most output tokens; 0 is unknown
	// Input is what the model itself takes beside text: "image", "pdf",
	// "audio", "video". Traits says what can be sent on the wire.
	Input  []string   `json:"input,omitempty"`
	Price  *llm.Price `json:"price,omitempty"` // nil is unknown
	Traits llm.Traits `json:"traits,omitzero"`
	Compat Compat     `json:"compat,omitzero"`
	// MinCache is the shortest prefix that the provider caches, in tokens;
	// 0 is unknown.
	MinCache int `json:"minCache,omitempty"`
	// Source is where the entry is from if not from the main source.
	Source string `json:"source,omitempty"`
	// Disputed says what another source has for the price, in words, where it
	// is not known which of the two is right; "" is that none disagrees.
	Disputed string `json:"disputed,omitempty"`
}

// Compat says what a model's server takes on a compatible wire, where that
// differs between models of one provider. Its zero value says nothing.
type Compat struct {
	// ReasoningContent says that messages of the assistant must carry
	// reasoning_content.
	ReasoningContent bool `json:"reasoningContent,omitempty"`
	// MaxField is the field that bounds the output.
	MaxField string `json:"maxField,omitempty"`
	// CacheControl says that cache marks are taken as on Anthropic's wire.
	CacheControl bool `json:"cacheControl,omitempty"`
	// NoToolSearch says that the model cannot search among deferred tools.
	NoToolSearch bool `json:"noToolSearch,omitempty"`
}

// Info is the model as adapters want it. A window that is not known is 0.
func (m Model) Info() llm.Info {
	info := llm.Info{Provider: m.Provider, Name: m.ID, Wire: m.Wire, Context: m.Context, Output: m.Output, Price: m.Price, Traits: m.Traits}
	info.Traits.MinCache = m.MinCache
	return info
}

// record is a model in the data: a line of a JSON array. The generator,
// internal/gen/catalog, writes it.
type record struct {
	ID       string     `json:"id"`
	Name     string     `json:"name"`
	Wire     string     `json:"wire"`
	Context  int        `json:"context"`
	Output   int        `json:"output"`
	Input    []string   `json:"in"`
	Price    *rates     `json:"price"`
	Tiers    []tier     `json:"tiers"`
	Traits   llm.Traits `json:"traits"`
	Compat   Compat     `json:"compat"`
	MinCache int        `json:"minCache"`
	Source   string     `json:"source"`
	Disputed string     `json:"disputed"`
}

// rates are input, output, cache read, cache write and cache write for an
// hour, in [llm.Money] a token; a tier has the tokens that it begins above
// before them.
type (
	rates [5]llm.Money
	tier  [6]llm.Money
)

func (r rates) price() llm.Price {
	return llm.Price{Input: r[0], Output: r[1], CacheRead: r[2], CacheWrite: r[3], CacheWrite1h: r[4]}
}

func (r record) model(p Provider) Model {
	m := Model{
		Provider: p.Name, ID: r.ID, Name: r.Name, Wire: r.Wire, Context: r.Context, Output: r.Output, Input: r.Input,
		Traits: r.Traits, Compat: r.Compat, MinCache: r.MinCache, Source: r.Source, Disputed: r.Disputed,
	}
	if m.Wire == "" {
		m.Wire = p.Wire
	}
	if r.Price != nil {
		price := r.Price.price()
		for _, t := range r.Tiers {
			price.Tiers = append(price.Tiers, llm.Tier{Above: int64(t[0]), Price: rates(t[1:]).price()})
		}
		m.Price = &price
	}
	info := llm.Info{Price: m.Price, Traits: m.Traits}
	p.Host(m.ID, &info)
	m.Price, m.Traits = info.Price, info.Traits
	return m
}

// text is the data of a provider, nil if there is none.
func text(p Provider) []byte {
	packed, err := data.ReadFile("data/" + p.Name + ".json.gz")
	if err != nil {
		return nil // a provider of which no model is known
	}
	zr, err := gzip.NewReader(bytes.NewReader(packed))
	var out []byte
	if err == nil {
		// The last four bytes say how long the text is (RFC 1952).
		out = make([]byte, binary.LittleEndian.Uint32(packed[len(packed)-4:]))
		_, err = io.ReadFull(zr, out)
	}
	if err != nil {
		panic(fmt.Sprintf("catalog: data/%s.json.gz: %v", p.Name, err)) // it is embedded, and tested
	}
	return out
}

func decode[T any](p Provider, text []byte) (out T) {
	if err := json.Unmarshal(text, &out); err != nil {
		panic(fmt.Sprintf("catalog: data/%s.json.gz: %v", p.Name, err)) // it is embedded, and tested
	}
	return out
}

// Models lists what is known of a provider's models, by id. It is empty for
// local servers, which have the models that their user gave them. A provider
// that is not known is an [*UnknownError].
func Models(provider string) ([]Model, error) {
	p, err := Named(provider)
	if err != nil {
		return nil, err
	}
	t := text(p)
	if t == nil {
		return nil, nil
	}
	records := decode[[]record](p, t)
	models := make([]Model, len(records))
	for i, r := range records {
		models[i] = r.model(p)
	}
	return models, nil
}

// Lookup finds a model by its exact id or, if the id ends in a date as in
// "-20260101", "-2026-01-01" or "@20260101", by what stands before it. It
// never guesses by a part of the name: a price of another model is worse than
// none. What is not there is an [*UnknownError] that has the nearest names.
func Lookup(provider, model string) (Model, error) {
	p, err := Named(provider)
	if err != nil {
		return Model{}, err
	}
	t := text(p)
	for _, id := range []string{model, undated(model)} {
		if line := find(t, id); line != nil {
			return decode[record](p, line).model(p), nil
		}
	}
	e := &UnknownError{Provider: provider, Model: model}
	if t != nil {
		var ids []string
		for _, r := range decode[[]struct {
			ID string `json:"id"`
		}](p, t) {
			ids = append(ids, r.ID)
		}
		e.Near = Nearest(model, ids, 3)
	}
	return Model{}, e
}

// find returns the line of a model: each begins with its id.
func find(text []byte, id string) []byte {
	var key bytes.Buffer
	enc := json.NewEncoder(&key)
	enc.SetEscapeHTML(false)
	if id == "" || enc.Encode(id) != nil {
		return nil
	}
	head := append([]byte("\n"+`{"id":`), bytes.TrimSpace(key.Bytes())...)
	_, line, ok := bytes.Cut(text, head)
	if !ok || len(line) == 0 || line[0] != ',' && line[0] != '}' {
		return nil
	}
	line, _, _ = bytes.Cut(line, []byte("\n"))
	return append(head[1:], bytes.TrimSuffix(line, []byte(","))...)
}

// undated returns the id without the date at its end; "" if it has none.
func undated(id string) string {
	for _, form := range []string{"-20dddddd", "@20dddddd", "-20dd-dd-dd"} {
		at := len(id) - len(form)
		if at > 0 && strings.Map(digits, id[at:]) == strings.Map(digits, form) && strings.HasPrefix(id[at+1:], "20") {
			return id[:at]
		}
	}
	return ""
}

func digits(r rune) rune {
	if r >= '0' && r <= '9' {
		return 'd'
	}
	return r
}
