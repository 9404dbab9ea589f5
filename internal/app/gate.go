package app

import (
	"path/filepath"

	"github.com/cantle-dev/cantle/permission"
)

// gate makes the permission gate, and returns the further roots.
func (o Options) gate() (*permission.Gate, []string, error) {
	p := o.Config.Permissions
	mode, err := permission.ParseMode(p.DefaultMode)
	if err != nil {
		return nil, nil, Usage("%w", err)
	}
	var add []string
	for _, d := range p.AdditionalDirectories {
		if !filepath.IsAbs(d) {
			d = filepath.Join(o.Dir, d)
		}
		real, err := filepath.EvalSymlinks(d)
		if err != nil {
			return nil, nil, Usage("the additional directory: %w", err)
		}
		add = append(add, real)
	}
	own, err := filepath.EvalSymlinks(o.Home)
	if err != nil {
		own = o.Home // it is not there yet
	}
	g, err := permission.New(permission.Options{
		Mode: mode, Yes: o.Yes, Own: own, Roots: append([]string{o.Dir}, add...),
		Rules: permission.Rules{Allow: p.Allow, Deny: p.Deny, Ask: p.Ask},
	})
	if err != nil {
		return nil, nil, Usage("%w", err)
	}
	return g, add, nil
}
