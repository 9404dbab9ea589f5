package reviewer

import (
	"encoding/json"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/cantle-dev/cantle/agent"
	"github.com/cantle-dev/cantle/permission"
	"github.com/cantle-dev/cantle/permission/internal/shell"
	"github.com/cantle-dev/cantle/tool"
)

// floor says which calls may come to the model at all. It is made of gates, so
// that a call is looked at as the permissions look at it: behind wrappers,
// through links, in each part of a command line.
type floor struct {
	free     *permission.Gate // of what runs with all that the user may do
	confined *permission.Gate // of what runs in a sandbox without the network
	home     string
}

func newFloor(o Options) (*floor, error) {
	f := &floor{home: o.Home}
	for _, g := range []struct {
		gate  **permission.Gate
		allow []string
	}{{&f.free, reviewed()}, {&f.confined, []string{"Bash(*)"}}} {
		var err error
		*g.gate, err = permission.New(permission.Options{
			Mode: permission.AcceptEdits, Roots: o.Roots, Home: o.Home, FS: o.FS,
			Rules:  permission.Rules{Allow: g.allow, Source: permission.Source{Layer: "the reviewer's floor"}},
			Layers: []permission.Rules{o.Rules},
		})
		if err != nil {
			return nil, fmt.Errorf("reviewer: %w", err)
		}
	}
	return f, nil
}

// why says why a call is not for the reviewer, or "".
func (f *floor) why(t *agent.Turn, c *agent.QuestionCall, asked permission.Verdict, words []string) string {
	if !utf8.Valid(c.Input) || !json.Valid(c.Input) {
		return "its arguments cannot be shown as they are"
	}
	for _, s := range []string{string(c.Input), decoded(c.Input)} {
		if why := secretIn(s); why != "" {
			return why
		}
	}
	tl := t.Tool(c.Name)
	if tl == nil {
		return "the tool is not known"
	}
	r := permission.Request{Spec: tl.Spec(), Input: c.Input, Dir: t.Options().Dir}
	if r.Spec.Access != nil {
		r.Access = []tool.Access{} // what it says is known, even that it is nothing
	}
	confined := is(asked.Sandbox, true) && is(asked.Network, false) && len(asked.Hosts) == 0
	for _, a := range c.Access {
		switch {
		case strings.ContainsFunc(a.Target, func(r rune) bool { return !shown(r) && r != '\n' && r != '\t' }):
			return "what it touches has characters in its name that do not show"
		case a == tool.Access{Op: tool.Write, Target: tool.Anywhere}:
			return "it would run outside of the sandbox"
		case a == tool.Access{Op: tool.Connect, Target: tool.Anywhere}:
			if asksBeyond(c.Input) {
				return "it asks for the network"
			}
		case a.Op == tool.Read: // what is sensitive is asked about firmly
		case a.Op == tool.Connect && named(a.Target, words):
		case a.Op == tool.Exec:
			if why := f.command(a.Target, r.Dir, confined); why != "" {
				return why
			}
			r.Access = append(r.Access, a)
		default:
			r.Access = append(r.Access, a)
		}
	}
	gate := f.free
	if confined {
		gate = f.confined
	}
	if v := gate.Judge(r); v.Effect != permission.Allow {
		return v.Reason
	}
	return ""
}

// asksBeyond reports whether the arguments ask for more than the sandbox gives.
func asksBeyond(input json.RawMessage) bool {
	var in struct {
		Sandbox any `json:"sandbox"`
	}
	return json.Unmarshal(input, &in) != nil || in.Sandbox != nil && in.Sandbox != ""
}

// decoded are the texts in a JSON value, one on a line: what is split or escaped
// there is whole here.
func decoded(input json.RawMessage) string {
	var v any
	if json.Unmarshal(input, &v) != nil {
		return ""
	}
	var b strings.Builder
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			b.WriteString(v + "\n")
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			for k, e := range v {
				b.WriteString(k + "\n")
				walk(e)
			}
		}
	}
	walk(v)
	return b.String()
}

// command looks at a command line.
func (f *floor) command(text, dir string, confined bool) string {
	if why := secretInCommand(text); why != "" {
		return why
	}
	a, err := shell.Analyse(text, shell.Options{Dir: dir, Home: f.home})
	switch {
	case err != nil:
		return "what it would run cannot be known: " + err.Error()
	case a.Text != text:
		return "what it would run is not what was looked at"
	}
	for i := range a.Commands {
		c := &a.Commands[i]
		if why := never(c); why != "" {
			return why
		}
		if confined || c.ReadOnly || c.Passes {
			continue
		}
		if why := f.stays(c); why != "" {
			return why
		}
	}
	return ""
}

// stays says why a command that is not confined might reach out of the
// workspace, or "". Each of its words is taken for a file that it writes.
func (f *floor) stays(c *shell.Command) string {
	if len(c.Dirs) == 0 {
		return "it is not known in which folder " + c.Name() + " would run"
	}
	for _, d := range c.Dirs {
		if !f.writable(d) {
			return c.Name() + " would run in " + d + ", outside of the workspace"
		}
	}
	// Programs that run what they are given in some option or other are many; of
	// these it is known what they do with their words.
	literal := c.Complete || slices.Contains([]string{"git", "go", "sed", "find"}, c.Name())
	for _, w := range c.Words[min(1, len(c.Words)):] {
		if !w.Known || w.Many {
			return "what " + c.Name() + " is told is computed when it runs: " + w.Text
		}
		if !literal && strings.ContainsAny(w.Text, " \t\r\n;|&<>$`{}()") {
			return c.Name() + " is told what may be a command: " + clip(oneLine(w.Text), 80)
		}
		for _, p := range pathsIn(w.Text) {
			switch {
			case strings.Contains(p, "://") && !strings.ContainsAny(p, " \n"):
				return c.Name() + " would connect to " + p
			case strings.HasPrefix(p, "~"):
				return c.Name() + " might write " + p + ", outside of the workspace"
			}
			for _, d := range c.Dirs {
				full := p
				if !filepath.IsAbs(p) {
					full = d + string(filepath.Separator) + p
				}
				if p != "" && p != "/dev/null" && !f.writable(full) {
					return c.Name() + " might write " + p + ", outside of the workspace or where it would run"
				}
			}
		}
	}
	return ""
}

// pathsIn are the paths that a word may stand for: alone, or behind the name of
// an option.
func pathsIn(word string) []string {
	out := []string{word}
	if strings.HasPrefix(word, "-") {
		out = nil // alone it is none
		if len(word) > 2 && word[1] != '-' {
			out = append(out, word[2:])
		}
	}
	for i := range len(word) {
		if word[i] == '=' || word[i] == '@' || word[i] == ':' && !strings.HasPrefix(word[i:], "://") {
			out = append(out, word[i+1:])
		}
	}
	return out
}

// writable reports whether a path lies in the workspace, wherever its links
// lead, and is nothing sensitive.
func (f *floor) writable(path string) bool {
	v := f.free.Judge(permission.Request{
		Spec: tool.Spec{Name: "Write"}, Access: []tool.Access{{Op: tool.Write, Target: path}},
	})
	return v.Effect == permission.Allow
}

// named reports whether the user wrote the host of a URL, and the URL holds no
// more than a place on that host: or whether he wrote all of it.
func named(target string, words []string) bool {
	u, err := url.Parse(target)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.User != nil || u.Host == "" || u.Hostname() == "" {
		return false
	}
	if slices.ContainsFunc(words, func(s string) bool { return holds(s, target) }) {
		return true
	}
	if u.RawQuery != "" || u.ForceQuery || strings.Contains(target, "%") || len(u.Path) > 200 {
		return false
	}
	return slices.ContainsFunc(words, func(s string) bool { return holds(strings.ToLower(s), strings.ToLower(u.Host)) })
}

// holds reports whether a text holds a name that goes on at neither end.
func holds(text, name string) bool {
	part := func(b byte) bool {
		return b == '-' || b == '_' || b == '@' || b == '%' || b >= 0x80 || b >= '0' && b <= '9' || b|0x20 >= 'a' && b|0x20 <= 'z'
	}
	for from := 0; ; {
		i := strings.Index(text[from:], name)
		if i < 0 {
			return false
		}
		i += from
		end := i + len(name)
		before := i > 0 && (part(text[i-1]) || text[i-1] == '.')
		after := end < len(text) && (part(text[end]) || text[end] == ':' && end+1 < len(text) && text[end+1] >= '0' && text[end+1] <= '9' ||
			text[end] == '.' && end+1 < len(text) && part(text[end+1]))
		if !before && !after {
			return true
		}
		from = i + 1
	}
}

// is reports whether what a question says is there and is so.
func is(said *bool, so bool) bool { return said != nil && *said == so }
