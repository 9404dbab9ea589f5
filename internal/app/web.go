package app

import (
	"net/netip"
	"strings"

	"github.com/cantle-dev/cantle/builtin"
	"github.com/cantle-dev/cantle/permission"
)

// web is what WebFetch and WebSearch may do by the settings. The notes are for
// the user.
func (o Options) web() (w builtin.WebOptions, notes []string, err error) {
	c := o.Config.Web
	w = builtin.WebOptions{AllowPrivate: c.AllowPrivate, UserAgent: c.UserAgent}
	if w.UserAgent == "" && o.Version != "" {
		w.UserAgent = "cantle/" + o.Version
	}
	for _, text := range c.AllowRanges {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			return w, nil, o.Config.Wrong("web.allowRanges", text, err.Error())
		}
		w.AllowRanges = append(w.AllowRanges, p.Masked())
	}
	if c.MaxChars != nil {
		if w.MaxChars = *c.MaxChars; w.MaxChars == 0 {
			w.MaxChars = -1 // all that may be: 0 is the tool's default
		}
	}
	s := builtin.SearchOptions{URL: c.Search.URL, Header: c.Search.KeyHeader}
	if s.URL == "" {
		return w, nil, nil
	}
	if err := s.Check(); err != nil {
		return w, nil, o.Config.Wrong("web.search.url", "", err.Error())
	}
	if name := c.Search.KeyEnv; name != "" {
		// A search without the key that it needs would fail each time.
		if s.Key = strings.TrimSpace(o.Getenv(name)); s.Key == "" {
			return w, []string{"web.search.keyEnv: the variable " + name + ", which is to have the key, is not set: there is no WebSearch"}, nil
		}
	}
	w.Search = s
	return w, nil, nil
}

// searches reports whether the user lets WebSearch run unasked. The search that
// a provider runs leaves no call to decide on, so that it is offered only then.
func searches(g *permission.Gate) bool {
	return g.Judge(permission.Request{Spec: builtin.WebSearch(builtin.Options{}).Spec()}).Effect == permission.Allow
}
