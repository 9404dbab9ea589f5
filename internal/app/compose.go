package app

import (
	"context"
	"fmt"
	"strings"

	"github.com/cantle-dev/cantle/agent"
	"github.com/cantle-dev/cantle/internal/config"
	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/wrap"
	"github.com/cantle-dev/cantle/permission/reviewer"
)

// triage is the mode in which plain inputs go to a cheap model.
const triage = "triage"

// model makes the model of a run: the one that the settings name or, with
// a route, one of two for each turn of the user's; with others to fall back on,
// and a watch over the cache, which is nil where there is none. The notes are
// for the user.
func (o Options) model() (m llm.Model, w *wrap.Watch, notes []string, err error) {
	c := o.Config
	key, ref := "model", c.Model
	if o.pin != "" {
		ref = o.pin
	}
	// A model that the user names for this run gets all of it.
	routed := c.Route.Mode == triage && o.pin == "" && !strings.HasPrefix(c.From["model"], "-")
	if routed && c.Route.Frontier != "" {
		key, ref = "route.frontier", c.Route.Frontier
	}
	if ref == "" {
		return nil, nil, nil, o.noModel()
	}
	op, err := newOpener(c, o.env())
	if err != nil {
		return nil, nil, nil, err
	}
	if name := o.APIKeyEnv; name != "" {
		op.base.APIKey = strings.TrimSpace(o.Getenv(name))
		if op.base.APIKey == "" {
			return nil, nil, nil, Usage("the variable %s, which is to have the key, is not set", name)
		}
		first := ref
		if o.pin != "" && c.Model != "" {
			first = c.Model // the run began with it, and the key is for its provider
		}
		if _, p, _, err := op.base.Resolve(first); err == nil { // what is wrong with it is told below
			op.base.APIKeyFor = p
		}
	}
	m, k, err := op.openKnown(ref)
	if err != nil {
		return nil, nil, nil, o.problem(key, "", err)
	}
	notes = assumed(k)
	if k.Info.Traits.NoTools {
		if o.Schema != nil && !k.Info.Traits.Schema {
			return nil, nil, nil, Usage("%s takes neither tools nor a schema: its answer cannot be held to one; use another model, or set models.%q.schema if it takes one", k.Ref, k.Ref)
		}
		notes = append(notes, fmt.Sprintf("%s takes no tools: it is offered none, and can read and change nothing; set models.%q.noTools to false if it does take them", k.Ref, k.Ref))
	}
	m, more, err := o.fallback(op, m)
	if err != nil {
		return nil, nil, nil, err
	}
	notes = append(notes, more...)
	if routed {
		if m, err = o.route(op, m); err != nil {
			return nil, nil, nil, err
		}
	}
	if c.CacheWatch != nil && !*c.CacheWatch {
		return m, nil, notes, nil
	}
	w = wrap.CacheWatch(m, wrap.CacheWatchOptions{Watched: mainRun})
	return w, w, notes, nil
}

func (o Options) noModel() error {
	return Usage("no model is configured: name one with -m provider:model, in CANTLE_MODEL, or as \"model\" in %s/settings.json; %s needs no key", o.Home, DemoModel)
}

// route sends plain inputs to the cheap model.
func (o Options) route(op *opener, frontier llm.Model) (llm.Model, error) {
	r := o.Config.Route
	if r.Cheap == "" {
		return nil, o.Config.Wrong("route.mode", "", "triage needs route.cheap, the model for plain inputs")
	}
	cheap, err := o.further(op, "route.cheap", r.Cheap)
	if err != nil {
		return nil, err
	}
	// A tool that one of the two does not take is offered to neither.
	if cheap.Info().Traits.NoTools && !frontier.Info().Traits.NoTools {
		return nil, o.Config.Wrong("route.cheap", "", cheap.Info().Ref()+" takes no tools, and "+frontier.Info().Ref()+" would get none either: name a model that takes them")
	}
	ro := wrap.RouteOptions{Turn: turn, Generate: sideCall}
	if r.Judge != "" {
		if ro.Judge, err = o.further(op, "route.judge", r.Judge); err != nil {
			return nil, err
		}
	}
	return wrap.Route(frontier, cheap, ro), nil
}

// reviewer is the model that answers approval questions in the user's place, if
// the settings name one.
func (o Options) reviewer(add []string) (agent.Middleware, error) {
	r := o.Config.Permissions.Reviewer
	if r.Model == "" {
		return agent.Middleware{}, nil
	}
	op, err := newOpener(o.Config, o.env())
	if err != nil {
		return agent.Middleware{}, err
	}
	m, err := o.further(op, "permissions.reviewer.model", r.Model)
	if err != nil {
		return agent.Middleware{}, err
	}
	ro := reviewer.Options{Instructions: r.Instructions, Roots: append([]string{o.Dir}, add...), Home: o.User}
	if r.Timeout != "" {
		if ro.Timeout, err = config.Duration("permissions.reviewer.timeout", r.Timeout); err != nil {
			return agent.Middleware{}, err
		}
	}
	return reviewer.New(m, ro), nil
}

// sideCall asks the judge of a route. It is in the run's budget, and its
// failure is told and leaves the choice to the rules.
func sideCall(ctx context.Context, m llm.Model, req *llm.Request) (*llm.Response, error) {
	if t := agent.FromContext(ctx); t != nil {
		return t.Generate(ctx, "route", m, req)
	}
	return llm.Generate(ctx, m, req)
}

// mainRun reports whether a request is of the conversation with the user.
// Children and side calls have caches of their own.
func mainRun(ctx context.Context, req *llm.Request) bool {
	t := agent.FromContext(ctx)
	return t != nil && t.Path == "" && req.CacheKey != "" && req.CacheKey == t.Session.ID()
}

// watching tells the watch of a history that was made smaller on purpose.
func watching(w *wrap.Watch) agent.Middleware {
	if w == nil {
		return agent.Middleware{}
	}
	return agent.Middleware{Name: "cachewatch", Event: func(_ context.Context, t *agent.Turn, e agent.EventData) {
		if _, ok := e.(agent.Compacted); ok {
			w.Reset(t.Session.ID())
		}
	}}
}

// turn names the user turn of a request: the run that it is of. A notice in the
// middle of one begins no other.
func turn(ctx context.Context, req *llm.Request) string {
	if t := agent.FromContext(ctx); t != nil {
		return t.RunID
	}
	return wrap.TurnOf(req)
}

// fallback adds the models to ask when the first cannot answer. The notes say
// of which of them little is to be had.
func (o Options) fallback(op *opener, first llm.Model) (m llm.Model, notes []string, err error) {
	var others []llm.Model
	for _, ref := range o.Config.Fallback {
		m, err := o.further(op, "fallback", ref)
		if err != nil {
			return nil, nil, err
		}
		if t := m.Info().Traits; t.NoTools && !first.Info().Traits.NoTools {
			notes = append(notes, fmt.Sprintf("fallback: %s takes no tools, and is passed over where there are some", m.Info().Ref()))
		}
		others = append(others, m)
	}
	return wrap.Fallback(first, wrap.FallbackOptions{Turn: turn}, others...), notes, nil
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
	if m.Info().Traits.StandIn {
		m = &standIn{Model: m}
	}
	return m, nil
}
