package app

import (
	"github.com/cantle-dev/cantle/internal/config"
)

// Role is what a model is used for, and whether it can be.
type Role struct {
	Name  string // "default", "fallback", "route.cheap", "route.frontier", "route.judge"
	Model string // as it is named in the settings; "" is none
	From  string // the layer that named it
	Err   error  // why it cannot be used
}

// Roles are the models that the settings name. It asks for no key, and opens
// no connection.
func Roles(c *config.Config, e Env) ([]Role, error) {
	op, err := newOpener(c, e)
	if err != nil {
		return nil, err
	}
	o := Options{Config: c, Home: e.Home}
	var out []Role
	add := func(name, key, ref string) {
		r := Role{Name: name, Model: ref, From: c.From[key]}
		switch {
		case ref != "":
			r.Err = op.check(ref)
		case name == "default":
			r.Err = o.noModel()
		default:
			r.Err = c.Wrong("route.mode", "", "triage needs "+name)
		}
		out = append(out, r)
	}
	add("default", "model", c.Model)
	for _, ref := range c.Fallback {
		add("fallback", "fallback", ref)
	}
	routed := c.Route.Mode == triage
	if routed || c.Route.Cheap != "" {
		add("route.cheap", "route.cheap", c.Route.Cheap)
	}
	frontier := c.Route.Frontier
	if routed && frontier == "" {
		frontier = c.Model
	}
	if frontier != "" {
		add("route.frontier", "route.frontier", frontier)
	}
	if c.Route.Judge != "" {
		add("route.judge", "route.judge", c.Route.Judge)
	}
	return out, nil
}
