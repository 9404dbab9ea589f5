package shell

import (
	"strings"

	"github.com/cantle-dev/cantle/tool"
)

// finishAll adds what redirects touch, and puts paths under the directories
// that the commands may run in.
func (w *walker) finishAll() {
	for i := range w.out.Commands {
		c := &w.out.Commands[i]
		for _, r := range c.Redirects {
			w.redirectAccess(i, r)
		}
		var all []Access
		for _, a := range c.Accesses {
			all = append(all, place(a, c.Dirs)...)
		}
		c.Accesses = all
		if len(c.Words) == 0 {
			c.Complete = len(c.Assigns) == 0
			c.ReadOnly = c.Complete && !c.Doubt
			for _, a := range all {
				c.ReadOnly = c.ReadOnly && a.Op == tool.Read
			}
		}
		if c.Passes && !c.Doubt {
			c.ReadOnly = true
			for _, a := range all {
				c.ReadOnly = c.ReadOnly && a.Op == tool.Read
			}
		}
	}
}

func (w *walker) redirectAccess(at int, r Redirect) {
	for _, net := range []string{"/dev/tcp/", "/dev/udp/"} {
		if rest, ok := strings.CutPrefix(r.Target.Text, net); ok && (r.Read || r.Write) {
			c := &w.out.Commands[at]
			host, port, _ := strings.Cut(rest, "/")
			c.Network = !c.Doubt
			c.Accesses = append(c.Accesses, Access{Op: tool.Connect, Target: host + ":" + port, Known: r.Target.Known, Start: r.Target.Start, End: r.Target.End})
			return
		}
	}
	if r.Read {
		w.access(at, tool.Read, r.Target, false)
	}
	if r.Write {
		w.access(at, tool.Write, r.Target, false)
	}
}

// place puts a path under each directory; where none is known, neither is the
// path.
func place(a Access, dirs []string) []Access {
	if a.Op != tool.Read && a.Op != tool.Write || !a.Known || strings.HasPrefix(a.Target, "/") {
		return []Access{a}
	}
	if len(dirs) == 0 {
		a.Known = false
		return []Access{a}
	}
	var out []Access
	for _, d := range dirs {
		one := a
		if a.Glob {
			d = globEscape.Replace(d)
		}
		one.Target = strings.TrimSuffix(d, "/") + "/" + a.Target
		out = append(out, one)
	}
	return out
}

var globEscape = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`)
