package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/cantle-dev/cantle/llm/internal/wirecase"
)

// count is how cases went.
type count struct {
	Passed int `json:"passed"`
	Failed int `json:"failed"`
}

func (c *count) add(faults int) {
	if faults > 0 {
		c.Failed++
	} else {
		c.Passed++
	}
}

// tally is how cases went in all and by provider. A case that speaks to
// several providers counts for each of them.
type tally struct {
	count
	Skipped   int               `json:"skipped"`
	Providers map[string]*count `json:"providers"`
}

// add counts a case that was run. One that could not be loaded has no
// exchanges, and is of no provider.
func (t *tally) add(c wirecase.Case, faults int) {
	t.count.add(faults)
	seen := map[string]bool{}
	for _, x := range c.Exchanges {
		if seen[x.Provider] {
			continue
		}
		seen[x.Provider] = true
		if t.Providers == nil {
			t.Providers = map[string]*count{}
		}
		if t.Providers[x.Provider] == nil {
			t.Providers[x.Provider] = &count{}
		}
		t.Providers[x.Provider].add(faults)
	}
}

// write says how it went: in words or, for other programs, as JSON.
func (t *tally) write(out io.Writer, asJSON bool) error {
	if !asJSON {
		_, err := fmt.Fprintf(out, "%d passed, %d failed, %d skipped\n", t.Passed, t.Failed, t.Skipped)
		return err
	}
	enc := json.NewEncoder(out)
	enc.SetIndent("", "  ")
	return enc.Encode(t)
}
