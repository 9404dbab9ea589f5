package cli

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/cantle-dev/cantle/internal/app"
	"github.com/cantle-dev/cantle/llm/provider"
)

func newModelsRefresh(m *models) *cobra.Command {
	return &cobra.Command{
		Use:   "refresh [PROVIDER...]",
		Short: "Ask providers which models they have, and keep the answer",
		Long: "Ask providers which models they have, with which windows and prices, and keep the answer.\n" +
			"Without a name: those whose key is set, those in the settings, and that of the model in use.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := m.load(); err != nil {
				return err
			}
			names := slices.Compact(slices.Sorted(slices.Values(args)))
			for _, n := range names {
				if _, err := m.opts.Find(n); err != nil {
					return app.Usage("%w", err)
				}
			}
			chosen := len(names) == 0
			if chosen {
				if names = m.usable(); len(names) == 0 {
					return app.Usage("there is no provider to ask: none has its key set; name one, as in cantle models refresh ollama")
				}
			}
			answers := make([]refreshed, len(names))
			var wg sync.WaitGroup
			for i, n := range names {
				wg.Go(func() {
					answers[i] = refreshed{Provider: n}
					l, err := m.opts.List(cmd.Context(), n)
					if err == nil {
						l.Time = time.Now().UTC().Truncate(time.Second)
						answers[i].Models, answers[i].More = len(l.Models), l.More
						err = app.ModelCache(m.home).Save(l)
					}
					// Of those that were not named, one without a list is none to tell of.
					if answers[i].skip = chosen && errors.Is(err, provider.ErrNoList); err != nil && !answers[i].skip {
						answers[i].Error = err.Error()
					}
				})
			}
			wg.Wait()
			return m.tell(slices.DeleteFunc(answers, func(a refreshed) bool { return a.skip }))
		},
	}
}

// refreshed is what came of asking a provider.
type refreshed struct {
	Provider string `json:"provider"`
	Models   int    `json:"models"`
	More     bool   `json:"more,omitempty"` // and more, which are not kept
	Error    string `json:"error,omitempty"`
	skip     bool
}

// usable are the providers to ask when none is named.
func (m *models) usable() []string {
	used, _, _ := strings.Cut(m.config.Model, ":")
	var names []string
	for _, n := range m.names() {
		p, err := m.opts.Find(n)
		if err != nil {
			continue
		}
		_, configured := m.config.Providers[n]
		if from, err := m.opts.KeyFrom(p); err == nil && (from != "" || configured || n == used) {
			names = append(names, n)
		}
	}
	return names
}

func (m *models) tell(answers []refreshed) error {
	failed := false
	var rows [][]string
	for _, a := range answers {
		if a.Error != "" {
			failed = true
			if !m.json {
				m.e.tell("cantle: " + clean(a.Error))
			}
			continue
		}
		if a.More && !m.json {
			m.e.tell(fmt.Sprintf("cantle: %s has more models: the first %d are kept; any other can be named all the same", clean(a.Provider), a.Models))
		}
		rows = append(rows, []string{a.Provider, strconv.Itoa(a.Models)})
	}
	var err error
	if m.json {
		err = jsonLine(m.e.Out, struct {
			Providers []refreshed `json:"providers"`
		}{answers})
	} else {
		err = m.table([]string{"PROVIDER", "MODELS"}, rows)
	}
	if err == nil && failed {
		return exit(ExitError)
	}
	return err
}
