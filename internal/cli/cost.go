package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/cantle-dev/cantle/internal/app"
	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/session"
)

// costLine is what was used for one purpose of one model. Costs are in US
// dollars; null is unknown.
type costLine struct {
	For      string    `json:"for"`            // "main", "child", or what a side call was for
	Path     string    `json:"path,omitempty"` // of the agent
	Model    string    `json:"model,omitempty"`
	Usage    llm.Usage `json:"usage"`
	Requests int       `json:"requests"`
	// Unreported counts the requests whose usage the provider did not report.
	Unreported int      `json:"unreported,omitempty"`
	Cost       *float64 `json:"cost"`
	// Saved is by how much the cache made it cheaper, at the model's present
	// price; less than 0 where writing cost more than reading saved. It is null
	// where there is no price.
	Saved *float64 `json:"saved"`

	cost     llm.Money
	unpriced bool
}

// costDoc is what sessions show --cost --json prints.
type costDoc struct {
	Session string      `json:"session"`
	Lines   []*costLine `json:"lines"`
	Total   *costLine   `json:"total"`
}

func (l *costLine) add(requests int, u *llm.Usage, cost *llm.Money) {
	l.Requests += requests
	if u != nil {
		l.Usage.Add(*u)
	} else {
		l.Unreported += requests
	}
	if cost != nil {
		l.cost += *cost
	} else {
		l.unpriced = true
	}
}

// close fills in what is derived. The price is nil if it is unknown.
func (l *costLine) close(p *llm.Price) {
	if !l.unpriced {
		usd := l.cost.Dollars()
		l.Cost = &usd
	}
	if p != nil {
		u := l.Usage
		plain := llm.Usage{Input: u.Prompt(), Output: u.Output}
		usd := (p.Cost(plain) - p.Cost(u)).Dollars()
		l.Saved = &usd
	}
}

// costs are what all branches of a session used: a run that was done again cost
// money too. Children that ran in a run are what they told it; their own
// sessions are not read.
func costs(ctx context.Context, s *session.Session, price func(ref string) *llm.Price) (costDoc, error) {
	doc := costDoc{Session: s.ID(), Lines: []*costLine{}}
	line := func(purpose, path, model string) *costLine {
		for _, l := range doc.Lines {
			if l.For == purpose && l.Path == path && l.Model == model {
				return l
			}
		}
		l := &costLine{For: purpose, Path: path, Model: model}
		doc.Lines = append(doc.Lines, l)
		return l
	}
	for e, err := range s.Store().Read(ctx, s.ID()) {
		if err != nil {
			return doc, err
		}
		switch d := e.Data.(type) {
		case session.Message:
			if d.Role == llm.RoleAssistant && (d.Usage != nil || !d.Partial) {
				line("main", "", d.Model).add(1, d.Usage, d.Cost)
			}
		case session.Note:
			var sp session.SideSpent
			if d.Kind != session.SpentNote {
				continue
			}
			if err := json.Unmarshal(d.Data, &sp); err != nil {
				return doc, fmt.Errorf("session %s: entry %s: what was spent: %w", s.ID(), e.ID, err)
			}
			line(sp.Purpose, sp.Path, sp.Model).add(max(sp.Requests, 1), sp.Usage, sp.Cost)
		}
	}
	slices.SortStableFunc(doc.Lines, func(a, b *costLine) int {
		return cmp.Or(strings.Compare(rank(a.For), rank(b.For)), strings.Compare(a.Path, b.Path), strings.Compare(a.Model, b.Model))
	})
	sum := &costLine{For: "total"}
	saved := 0.0
	whole := true
	for _, l := range doc.Lines {
		l.close(price(l.Model))
		sum.Usage.Add(l.Usage)
		sum.Requests += l.Requests
		sum.Unreported += l.Unreported
		sum.cost += l.cost
		sum.unpriced = sum.unpriced || l.unpriced
		if l.Saved == nil {
			whole = false
		} else {
			saved += *l.Saved
		}
	}
	sum.close(nil)
	if whole {
		sum.Saved = &saved
	}
	doc.Total = sum
	return doc, nil
}

// rank puts the conversation first and children last.
func rank(purpose string) string {
	switch purpose {
	case "main":
		return "0"
	case "child":
		return "2"
	}
	return "1" + purpose
}

// showCost prints what a session used.
func (e Env) showCost(ctx context.Context, s *session.Session, asJSON bool) error {
	f := &flags{}
	prices := map[string]*llm.Price{}
	c, home, _, broken := f.load(e)
	doc, err := costs(ctx, s, func(ref string) *llm.Price {
		if _, ok := prices[ref]; !ok && broken == nil && ref != "" {
			prices[ref] = nil
			if po, err := app.ModelOptions(c, e.app(home), ref); err == nil {
				if k, err := po.Describe(ref); err == nil {
					prices[ref] = k.Info.Price
				}
			}
		}
		return prices[ref]
	})
	if err != nil {
		return err
	}
	if asJSON {
		return jsonLine(e.Out, doc)
	}
	if broken != nil { // without the settings the prices in them are not known
		e.tell("cantle: " + clean(broken.Error()))
	}
	w := tabwriter.NewWriter(e.Out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "FOR\tMODEL\tREQUESTS\tIN\tCACHE READ\tCACHE WRITE\tOUT\tCOST\tSAVED\t")
	for _, l := range append(doc.Lines, doc.Total) {
		what := l.For
		if l.Path != "" {
			what += " " + l.Path
		}
		n := func(v int64) string { return strconv.FormatInt(v, 10) }
		requests := strconv.Itoa(l.Requests)
		if l.Unreported > 0 {
			requests += fmt.Sprintf(" (%d not reported)", l.Unreported)
		}
		u := l.Usage
		fmt.Fprintln(w, strings.Join([]string{
			oneLine(what), oneLine(l.Model), requests, n(u.Input), n(u.CacheRead), n(u.CacheWrite), n(u.Output), dollars(l.Cost), dollars(l.Saved), "",
		}, "\t"))
	}
	return w.Flush()
}

func dollars(usd *float64) string {
	if usd == nil {
		return "n/a"
	}
	return llm.Dollars(*usd).String()
}
