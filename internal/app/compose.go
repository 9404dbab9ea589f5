package app

import (
	"context"
	"strings"

	"github.com/cantle-dev/cantle/agent"
	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/wrap"
)

// triage is the mode in which plain inputs go to a cheap model.
const triage = "triage"

// model makes the model of a run: the one that the settings name or, with
// a route, one of two for each turn of the user's; with others to fall back on,
// and a watch over the cache.
func (o Options) model() (llm.Model, error) {
	c := o.Config
	key, ref := "model", c.Model
	// A model that the user names for this run gets all of it.
	routed := c.Route.Mode == triage && !strings.HasPrefix(c.From["model"], "-")
	if routed && c.Route.Frontier != "" {
		key, ref = "route.frontier", c.Route.Frontier
	}
	if ref == "" {
		return nil, Usage("no model is configured: name one with -m provider:model, in CANTLE_MODEL, or as \"model\" in %s/settings.json; %s needs no key", o.Home, DemoModel)
	}
	op, err := newOpener(c, o.env())
	if err != nil {
		return nil, err
	}
	if name := o.APIKeyEnv; name != "" {
		op.base.APIKey = strings.TrimSpace(o.Getenv(name))
		if op.base.APIKey == "" {
			return nil, Usage("the variable %s, which is to have the key, is not set", name)
		}
		if _, p, _, err := op.base.Resolve(ref); err == nil { // what is wrong with it is told below
			op.base.APIKeyFor = p
		}
	}
	m, err := op.open(ref)
	if err != nil {
		return nil, o.problem(key, "", err)
	}
	if m, err = o.fallback(op, m); err != nil {
		return nil, err
	}
	if routed {
		if c.Route.Cheap == "" {
			return nil, c.Wrong("route.mode", "", "triage needs route.cheap, the model for plain inputs")
		}
		cheap, err := o.further(op, "route.cheap", c.Route.Cheap)
		if err != nil {
			return nil, err
		}
		m = wrap.Route(m, cheap, wrap.RouteOptions{Turn: turn})
	}
	if c.CacheWatch == nil || *c.CacheWatch {
		m = wrap.CacheWatch(m, wrap.CacheWatchOptions{})
	}
	return m, nil
}

// turn names the user turn of a request: the run that it is of. A notice in the
// middle of one begins no other.
func turn(ctx context.Context, req *llm.Request) string {
	if t := agent.FromContext(ctx); t != nil {
		return t.RunID
	}
	return wrap.TurnOf(req)
}

// fallback adds the models to ask when the first cannot answer.
func (o Options) fallback(op *opener, first llm.Model) (llm.Model, error) {
	var others []llm.Model
	for _, ref := range o.Config.Fallback {
		m, err := o.further(op, "fallback", ref)
		if err != nil {
			return nil, err
		}
		others = append(others, m)
	}
	return wrap.Fallback(first, wrap.FallbackOptions{Turn: turn}, others...), nil
}

// further opens a model beside the first. A limit on cost holds for it too.
func (o Options) further(op *opener, key, ref string) (llm.Model, error) {
	item := ref
	if key != "fallback" {
		item = ""
	}
	m, err := op.open(ref)
	if err != nil {
		return nil, o.problem(key, item, err)
	}
	if o.Config.MaxCost != "" && m.Info().Price == nil {
		return nil, o.Config.Wrong(key, item, unpriced(m.Info()))
	}
	return m, nil
}
