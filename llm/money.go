package llm

import (
	"fmt"
	"math"
	"math/big"
	"strings"
)

// Money is an amount in 1e-12 US dollars, so that the price of one token is
// a whole number and sums are exact. It reaches to some nine million dollars.
type Money int64

// Dollar is one US dollar.
const Dollar Money = 1e12

// Dollars is usd US dollars, rounded to the nearest Money.
func Dollars(usd float64) Money { return Money(math.Round(usd * float64(Dollar))) }

// ParseMoney reads an amount of US dollars written in decimal, with or without
// a leading "$": "0.10", "$5". It is exact; an amount that is negative, too
// large, or finer than 1e-12 dollars is an error.
func ParseMoney(s string) (Money, error) {
	text := strings.TrimPrefix(strings.TrimSpace(s), "$")
	if text == "" || strings.Trim(text, "0123456789.") != "" {
		return 0, fmt.Errorf("llm: %q is not an amount in US dollars, such as 0.50", s)
	}
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		return 0, fmt.Errorf("llm: %q is not an amount in US dollars, such as 0.50", s)
	}
	r.Mul(r, new(big.Rat).SetInt64(int64(Dollar)))
	if !r.IsInt() || !r.Num().IsInt64() {
		return 0, fmt.Errorf("llm: %q is out of range for an amount in US dollars", s)
	}
	return Money(r.Num().Int64()), nil
}

// Dollars returns m in US dollars, for display and for JSON that people read.
func (m Money) Dollars() float64 { return float64(m) / float64(Dollar) }

// String is "$0.0123": four decimals, or more where they would show nothing.
func (m Money) String() string {
	digits := 4
	for v := m; v != 0 && v < Dollar/10_000 && v > -Dollar/10_000 && digits < 12; v *= 10 {
		digits++
	}
	return fmt.Sprintf("$%.*f", digits, m.Dollars())
}

// Price is what a model costs, in Money a token, and a search. The zero Price is free; an
// unknown price is a nil *Price.
type Price struct {
	Input        Money `json:"input"`
	Output       Money `json:"output"`
	CacheRead    Money `json:"cache_read"`
	CacheWrite   Money `json:"cache_write"`
	CacheWrite1h Money `json:"cache_write_1h"`
	// Search is that of one search of the web that the provider runs; 0 also
	// where it is not known. A tier's does not count.
	Search Money `json:"search,omitempty"`
	// Tiers are dearer prices for long prompts, in rising order of Above.
	Tiers []Tier `json:"tiers,omitempty"`
}

// Tier is a price for requests whose whole prompt has more than Above tokens.
type Tier struct {
	Above int64 `json:"above"`
	Price Price `json:"price"`
}

// PerMillion makes a Price from US dollars a million tokens. Cached tokens are
// priced as input; set the other fields where they differ.
func PerMillion(input, output float64) *Price {
	in, out := Dollars(input/1e6), Dollars(output/1e6)
	return &Price{Input: in, Output: out, CacheRead: in, CacheWrite: in, CacheWrite1h: in}
}

// Free reports whether everything costs nothing, as on a local server.
func (p Price) Free() bool {
	return p.Input == 0 && p.Output == 0 && p.CacheRead == 0 && p.CacheWrite == 0 && p.CacheWrite1h == 0 && p.Search == 0 && len(p.Tiers) == 0
}

// Cost returns the price of u.
func (p Price) Cost(u Usage) Money {
	searches := Money(u.Searches) * p.Search
	for i := len(p.Tiers) - 1; i >= 0; i-- {
		if u.Prompt() > p.Tiers[i].Above {
			p = p.Tiers[i].Price
			break
		}
	}
	return Money(u.Input)*p.Input + Money(u.Output)*p.Output + Money(u.CacheRead)*p.CacheRead +
		Money(u.CacheWrite-u.CacheWrite1h)*p.CacheWrite + Money(u.CacheWrite1h)*p.CacheWrite1h + searches
}
