package app

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cantle-dev/cantle/builtin"
	"github.com/cantle-dev/cantle/internal/config"
	"github.com/cantle-dev/cantle/permission"
	"github.com/cantle-dev/cantle/tool"
)

// Modes lists the names of the permission modes.
func Modes() []string {
	var names []string
	for _, m := range permission.Modes() {
		names = append(names, string(m))
	}
	return names
}

// gate makes the permission gate of a run whose commands are held in a sandbox,
// which is nil where they are not.
func (o Options) gate(po permission.Options, b *box) (*permission.Gate, error) {
	if b != nil {
		s := o.Config.Sandbox
		po.Sandbox = &permission.Sandbox{
			Holds: b.holds, Auto: s.AutoAllow, Excluded: s.Excluded, Network: s.Network == networkOn, Domains: b.reaches, Write: b.write,
		}
	}
	g, err := permission.New(po)
	if err != nil {
		return nil, Usage("%w", err)
	}
	if b != nil {
		b.protect = func() (hide, readOnly []string) { return g.Hidden(), g.Protected() }
	}
	return g, nil
}

// throughLink says why a folder is none to write in.
func throughLink(link, path string) string {
	return "it leads through " + link + ", a symbolic link in the workspace, which may lead anywhere: if you want all of " + realPath(path) + ", name that"
}

// permissions are the rules of the settings, and what they are about.
func (o Options) permissions() (po permission.Options, err error) {
	c, p := o.Config, o.Config.Permissions
	mode, err := permission.ParseMode(p.DefaultMode)
	if err != nil {
		return po, c.Wrong("permissions.defaultMode", "", err.Error())
	}
	timeout := time.Duration(0)
	if p.AskTimeout != "" {
		if timeout, err = config.Duration("permissions.askTimeout", p.AskTimeout); err != nil {
			return po, err
		}
	}
	for key, rules := range map[string][]string{"allow": p.Allow, "deny": p.Deny, "ask": p.Ask} {
		for _, r := range rules {
			if err := permission.CheckRule(r); err != nil {
				return po, c.Wrong("permissions."+key, r, err.Error())
			}
		}
	}
	for _, command := range c.Sandbox.Excluded {
		if err := permission.CheckRule("Bash(" + command + ")"); err != nil {
			return po, c.Wrong("sandbox.excluded", command, err.Error())
		}
	}
	var layers []permission.Rules
	for _, l := range c.Layers {
		layers = append(layers, permission.Rules{Allow: l.Allow, Deny: l.Deny, Ask: l.Ask, Source: permission.Source{Layer: l.Name, File: l.File}})
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
		if link := linkIn([]string{o.Dir}, full); link != "" {
			return po, c.Wrong("permissions.additionalDirectories", d, throughLink(link, full))
		}
		if info, err := os.Stat(real); err != nil || !info.IsDir() {
			return po, c.Wrong("permissions.additionalDirectories", d, "the additional directory: "+real+" is not a directory")
		}
		add = append(add, real)
	}
	project := ""
	if c.Project != "" {
		if project = realPath(c.Project); !inside(project, o.Dir) {
			project = ""
		}
	}
	own, err := filepath.EvalSymlinks(o.Home)
	if err != nil {
		own = o.Home // it is not there yet
	}
	return permission.Options{
		Mode: mode, Yes: o.Yes, Own: own, Home: o.User, Roots: append([]string{o.Dir}, add...), Project: project,
		Layers: layers, AskTimeout: timeout, Save: o.save,
		Hosts: map[string][]string{"WebSearch": {builtin.SearchOptions{URL: c.Web.Search.URL}.Host()}},
	}, nil
}

// mistyped tells of the rules that name no tool: a denial that denies nothing
// should be heard of. Tools of servers are not known here.
// The tools are made only where one of the rules may be of none: a pattern is not.
func mistyped(g *permission.Gate, tools func() []tool.Tool) (notes []string, err error) {
	if len(unused(g, nil)) == 0 {
		return nil, nil
	}
	for _, r := range unused(g, specs(tools())) {
		text := r.String() + " names no tool, and decides nothing"
		if r.Source.Layer == "flags" {
			return nil, Usage("%s: see \"cantle permissions check\"", text)
		}
		notes = append(notes, text+": see \"cantle permissions check\"")
	}
	return notes, nil
}

// unused are the rules that name no tool. Those of servers are not known here.
func unused(g *permission.Gate, tools []tool.Spec) []Rule {
	return slices.DeleteFunc(g.Unused(tools), func(r Rule) bool { return strings.HasPrefix(r.Text, "mcp__") })
}
