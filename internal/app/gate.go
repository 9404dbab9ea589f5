package app

import (
	"os"
	"path/filepath"

	"github.com/cantle-dev/cantle/permission"
)

// Modes lists the names of the permission modes.
func Modes() []string {
	var names []string
	for _, m := range permission.Modes() {
		names = append(names, string(m))
	}
	return names
}

// gate makes the permission gate, and returns the further roots.
func (o Options) gate() (*permission.Gate, []string, error) {
	c, p := o.Config, o.Config.Permissions
	mode, err := permission.ParseMode(p.DefaultMode)
	if err != nil {
		return nil, nil, c.Wrong("permissions.defaultMode", "", err.Error())
	}
	for key, rules := range map[string][]string{"allow": p.Allow, "deny": p.Deny, "ask": p.Ask} {
		for _, r := range rules {
			if err := permission.CheckRule(r); err != nil {
				return nil, nil, c.Wrong("permissions."+key, r, err.Error())
			}
		}
	}
	var add []string
	for _, d := range p.AdditionalDirectories {
		full := d
		if !filepath.IsAbs(full) {
			full = filepath.Join(o.Dir, full)
		}
		real, err := filepath.EvalSymlinks(full)
		if err != nil {
			return nil, nil, c.Wrong("permissions.additionalDirectories", d, "the additional directory: "+err.Error())
		}
		if info, err := os.Stat(real); err != nil || !info.IsDir() {
			return nil, nil, c.Wrong("permissions.additionalDirectories", d, "the additional directory: "+real+" is not a directory")
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
