package app

import (
	"fmt"

	"github.com/cantle-dev/cantle/agent"
	"github.com/cantle-dev/cantle/internal/config"
	"github.com/cantle-dev/cantle/llm"
)

func (o Options) budget(info llm.Info) (agent.Budget, error) {
	b := agent.Budget{Turns: o.Config.MaxTurns, Tokens: o.Config.MaxTokens, Soft: o.Config.SoftLimit}
	if s := o.Config.MaxCost; s != "" {
		m, err := llm.ParseMoney(s)
		if err != nil {
			return b, Usage("maxCost: %w", err)
		}
		if m > 0 && info.Price == nil {
			return b, Usage("%s", unpriced(info))
		}
		b.Money = m
	}
	d, err := config.Duration("timeout", o.Config.Timeout)
	if err != nil {
		return b, Usage("%w", err)
	}
	b.Time = d
	return b, nil
}

func unpriced(info llm.Info) string {
	return fmt.Sprintf("a cost limit needs a price, and that of %s is unknown: set models.%q.price in the settings, or limit --max-tokens instead", info.Ref(), info.Ref())
}
