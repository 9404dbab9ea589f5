// Package permission decides on tool calls: it is the innermost gate of an
// agent, and the one place where policy sits. Built-in, MCP and custom tools,
// and the calls of children, all pass it.
//
//	gate, err := permission.New(permission.Options{Mode: permission.Default, Roots: []string{dir}})
//	if err != nil {
//		return err
//	}
//	a, err := agent.New(m, agent.Options{Middleware: []agent.Middleware{gate.Middleware()}})
//
// A call is decided by what it would touch: see tool.Access. Deny rules come
// first, in every mode; then ask rules and sensitive paths, which hold in every
// mode too; then allow rules; then the mode. The order of rules, and of the
// files that they are in, has no meaning: none takes another back.
//
// A command line is taken apart into the commands that it would run. To deny,
// one of them is enough, behind whatever wrapper it stands; to allow, all must
// be covered, and every file that they would write. What is not understood is
// asked about. What runs then is the text that was analysed.
//
// A path is looked at as it is written and as it leads: through links, "..",
// /proc and hard links to what is sensitive or denied. A denial holds if any of
// them matches, a permission only if all do.
//
// Where commands are confined (see [Sandbox]), those that stay inside may run
// unasked, if the user chose so. Out of it, and to the network where that is
// closed, nothing comes that was not decided on: see [tool.Anywhere].
// [Gate.Hidden] and [Gate.Protected] are what the sandbox keeps from them.
package permission

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cantle-dev/cantle/tool"
)

// Mode says what happens to a call that no rule decides.
type Mode string

// The modes.
const (
	Default     Mode = "default"           // reads in the workspace run, all else is asked about
	AcceptEdits Mode = "acceptEdits"       // as default, and writes in the workspace run
	Plan        Mode = "plan"              // nothing that changes anything runs
	DontAsk     Mode = "dontAsk"           // as default, and what would be asked is denied
	Bypass      Mode = "bypassPermissions" // everything runs that no rule forbids
)

// Modes lists the modes.
func Modes() []Mode { return []Mode{Default, AcceptEdits, Plan, DontAsk, Bypass} }

// ParseMode reads a mode by its name or by one of the other names for it: ask,
// auto and deny.
func ParseMode(s string) (Mode, error) {
	switch s {
	case "", "ask":
		return Default, nil
	case "auto":
		return Bypass, nil
	case "deny":
		return DontAsk, nil
	}
	for _, m := range Modes() {
		if strings.EqualFold(s, string(m)) {
			return m, nil
		}
	}
	return "", fmt.Errorf("permission: %q is not a mode: use default, acceptEdits, plan, dontAsk or bypassPermissions", s)
}

// Options configure a gate.
type Options struct {
	Mode  Mode
	Rules Rules
	// Layers are further rules, one for each place in which some are written.
	// All hold together.
	Layers []Rules
	// Roots are the workspace: absolute, links resolved. The first is the
	// working directory.
	Roots []string
	// Project is the folder from which paths in rules are, where that is not the
	// first root but one above it: absolute, links resolved.
	Project string
	// ReadRoots are folders that may be read but not written: of skills.
	ReadRoots []string
	// Home is what ~ is in rules and commands: absolute; "" is unknown.
	Home string
	// Yes answers yes where the mode asks. Ask rules and sensitive paths are
	// still asked about.
	Yes bool
	// Own is the folder of the program's settings and sessions, links resolved:
	// to write there is sensitive, for it could grant permissions. "" is none.
	Own string
	// AskTimeout denies what nobody answers in time; 0 waits for ever.
	AskTimeout time.Duration
	// Changed reports that a tool is no longer what it was when the user allowed
	// it, as an MCP server's may: allow rules do not cover it. Nil is never.
	Changed func(name string) bool
	// Hosts are those that the user has set up for a tool, by its name, such as
	// that of his search service: a call that connects to one is asked about as
	// any other, though the host is of this machine or a private network.
	Hosts map[string][]string
	// Sandbox says how commands are confined. Nil is not at all.
	Sandbox *Sandbox
	// Save keeps an update whose destination is not the session, in the file that
	// is its: see [Destination]. It is called from one goroutine at a time. Nil
	// refuses.
	Save func(Update) error
	FS   FS // nil is the local one
}

// Gate decides on calls. It is safe for concurrent use.
type Gate struct {
	o        Options
	fs       FS
	at       places
	fold     bool
	saves    sync.Mutex
	excluded []*pattern        // what the sandbox leaves out
	files    map[string]string // where the rules of a layer are written
	links    atomic.Pointer[aliases]

	mu       sync.Mutex
	mode     Mode
	roots    []string
	rules    *ruleSet
	sessions map[string]*granted // what was granted for a session, by its id
}

// ruleSet is rules, made ready. It does not change: a changed one is a new one.
type ruleSet struct{ allow, deny, ask []*rule }

func (s *ruleSet) all() []*rule { return slices.Concat(s.deny, s.ask, s.allow) }

func (s *ruleSet) list(e Effect) *[]*rule {
	switch e {
	case Allow:
		return &s.allow
	case Ask:
		return &s.ask
	}
	return &s.deny
}

// New makes a gate. A rule that it does not understand is an error, with all
// others: no restriction is ever passed over in silence.
func New(o Options) (*Gate, error) {
	mode, err := ParseMode(string(o.Mode))
	if err != nil {
		return nil, err
	}
	for _, r := range slices.Concat(o.Roots, o.ReadRoots) {
		if !filepath.IsAbs(r) {
			return nil, fmt.Errorf("permission: the root %q is not absolute", r)
		}
	}
	for what, dir := range map[string]string{"home directory": o.Home, "project": o.Project} {
		if dir != "" && !filepath.IsAbs(dir) {
			return nil, fmt.Errorf("permission: the %s %q is not absolute", what, dir)
		}
	}
	g := &Gate{
		o: o, fs: o.FS, mode: mode, roots: cleaned(o.Roots), rules: &ruleSet{},
		sessions: map[string]*granted{}, files: map[string]string{},
	}
	g.o.ReadRoots = cleaned(o.ReadRoots)
	if g.fs == nil {
		g.fs = localFS{}
	}
	g.at = places{home: o.Home}
	if len(g.roots) > 0 {
		g.at.root = cmp.Or(o.Project, g.roots[0])
		g.fold = foldsCase(g.fs, g.roots[0])
	}
	var errs []error
	if o.Sandbox != nil {
		for _, w := range o.Sandbox.Write {
			if !filepath.IsAbs(w) {
				errs = append(errs, fmt.Errorf("permission: the folder %q, for commands to write in, is not absolute", w))
			}
		}
		if g.excluded, err = parseExcluded(o.Sandbox.Excluded); err != nil {
			errs = append(errs, err)
		}
	}
	for _, rs := range append([]Rules{o.Rules}, o.Layers...) {
		if rs.Source.Layer != "" {
			g.files[rs.Source.Layer] = rs.Source.File
		}
		for _, l := range []struct {
			effect Effect
			texts  []string
		}{{Deny, rs.Deny}, {Ask, rs.Ask}, {Allow, rs.Allow}} {
			for _, text := range l.texts {
				r, err := parseRule(Rule{Text: text, Effect: l.effect, Source: rs.Source}, g.at)
				if err != nil {
					if s := rs.Source.String(); s != "" {
						err = fmt.Errorf("%w, in %s", err, s)
					}
					errs = append(errs, fmt.Errorf("permission: %s rule %w", l.effect, err))
					continue
				}
				list := g.rules.list(l.effect)
				*list = append(*list, r)
			}
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return g, nil
}

// dir is the working directory where a call has none of its own.
func (g *Gate) dir() string {
	if len(g.o.Roots) == 0 {
		return ""
	}
	return filepath.Clean(g.o.Roots[0])
}

func cleaned(paths []string) []string {
	out := make([]string, len(paths))
	for i, p := range paths {
		out[i] = filepath.Clean(p)
	}
	return out
}

// Mode is the mode that is on.
func (g *Gate) Mode() Mode {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.mode
}

// SetMode changes the mode for the calls that follow, and for those that are
// being asked about. The caller tells the model, by a notice.
func (g *Gate) SetMode(m Mode) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.mode = m
}

// Rules lists the rules that hold in a session; "" is none in particular.
func (g *Gate) Rules(session string) []Rule {
	st := g.state(session)
	var out []Rule
	for _, set := range st.sets {
		for _, r := range set.all() {
			out = append(out, r.Rule)
		}
	}
	return out
}

// Unused lists the rules that name none of the tools, such as for a typing
// mistake, or a server that is not there.
func (g *Gate) Unused(tools []tool.Spec) []Rule {
	var out []Rule
	for _, r := range g.state("").sets[0].all() {
		_, known := toolNames[r.name]
		if !known && !slices.ContainsFunc(tools, func(s tool.Spec) bool { return r.named(namesOf(s)) }) {
			out = append(out, r.Rule)
		}
	}
	return out
}

// state is what a decision is made on.
type state struct {
	g     *Gate
	mode  Mode
	roots []string
	sets  []*ruleSet
	run   bool     // decides for a run, whose calls come one by one
	links *aliases // nil until it is needed
}

func (g *Gate) state(session string) *state {
	g.mu.Lock()
	defer g.mu.Unlock()
	st := &state{g: g, mode: g.mode, roots: g.roots, sets: []*ruleSet{g.rules}}
	if s := g.sessions[session]; s != nil && session != "" {
		st.sets, st.roots = append(st.sets, s.rules), s.of(g.roots)
	}
	return st
}

// restricts reports whether there is a deny or ask rule with a matcher that is
// over paths, or over anything.
func (st *state) restricts(paths bool) bool {
	for _, set := range st.sets {
		for _, r := range slices.Concat(set.deny, set.ask) {
			if r.content != "" && (!paths || r.paths != nil) {
				return true
			}
		}
	}
	return false
}
