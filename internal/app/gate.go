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
	po, err := o.permissions()
	if err != nil {
		return nil, nil, err
	}
	g, err := permission.New(po)
	if err != nil {
		return nil, nil, Usage("%w", err)
	}
	return g, po.Roots[1:], nil
}

// permissions are the rules of the settings, and what they are about.
func (o Options) permissions() (po permission.Options, err error) {
	c, p := o.Config, o.Config.Permissions
	mode, err := permission.ParseMode(p.DefaultMode)
	if err != nil {
		return po, c.Wrong("permissions.defaultMode", "", err.Error())
	}
	for key, rules := range map[string][]string{"allow": p.Allow, "deny": p.Deny, "ask": p.Ask} {
		for _, r := range rules {
			if err := permission.CheckRule(r); err != nil {
				return po, c.Wrong("permissions."+key, r, err.Error())
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
			return po, c.Wrong("permissions.additionalDirectories", d, "the additional directory: "+err.Error())
		}
		if info, err := os.Stat(real); err != nil || !info.IsDir() {
			return po, c.Wrong("permissions.additionalDirectories", d, "the additional directory: "+real+" is not a directory")
		}
		add = append(add, real)
	}
	own, err := filepath.EvalSymlinks(o.Home)
	if err != nil {
		own = o.Home // it is not there yet
	}
	return permission.Options{
		Mode: mode, Yes: o.Yes, Own: own, Home: o.User, Roots: append([]string{o.Dir}, add...),
		Rules: permission.Rules{Allow: p.Allow, Deny: p.Deny, Ask: p.Ask},
	}, nil
}
