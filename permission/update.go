package permission

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/cantle-dev/cantle/agent"
	"github.com/cantle-dev/cantle/session"
)

// UpdateType is a way to change permissions.
type UpdateType string

// The ways.
const (
	AddRules          UpdateType = "addRules"
	ReplaceRules      UpdateType = "replaceRules"
	RemoveRules       UpdateType = "removeRules"
	SetMode           UpdateType = "setMode"
	AddDirectories    UpdateType = "addDirectories"
	RemoveDirectories UpdateType = "removeDirectories"
)

// Destination says for how long an update holds.
type Destination string

// The destinations. What is granted for a project goes to the user's own
// settings for it, outside of the project: what a repository brings grants
// nothing by itself, and what is granted is not handed on with it. The project's
// own file, which others may get, is for who asks for just that.
const (
	ForSession Destination = "session"         // kept in the journal: it is there again on resume
	ForLocal   Destination = "localSettings"   // the user's own for this project: <home>/projects/<id>/settings.json
	ForProject Destination = "projectSettings" // the project's own: .cantle/settings.json
	ForUser    Destination = "userSettings"    // the user's own for all: <home>/settings.json
)

// Update changes the permissions that are in force. It is plain JSON.
type Update struct {
	Type        UpdateType  `json:"type"`
	Destination Destination `json:"destination"`        // "" is the session
	Behavior    Effect      `json:"behavior,omitempty"` // of the rules; "" is allow
	Rules       []string    `json:"rules,omitempty"`
	Mode        Mode        `json:"mode,omitempty"`
	Directories []string    `json:"directories,omitempty"` // absolute
	// Root is the project that a grant for a session was given in, as its journal
	// keeps it: in another one it does not hold. Empty is any.
	Root string `json:"root,omitempty"`
}

// Grant is the update that allows what rules are for.
func Grant(d Destination, rules ...string) Update {
	return Update{Type: AddRules, Destination: d, Behavior: Allow, Rules: rules}
}

// forProcess is what holds in a session until the program ends, and is not in
// the journal.
const forProcess Destination = "process"

func (d Destination) session() bool { return d == ForSession || d == forProcess }

// NoteKind is that of the [session.Note] that keeps an [Update] for a session.
const NoteKind = "permission"

// CheckUpdate says what is wrong with an update.
func CheckUpdate(u Update) error {
	switch u.Destination {
	case "", ForSession, ForLocal, ForProject, ForUser:
	default:
		return fmt.Errorf("permission: update: %q is no destination: use session, localSettings, projectSettings or userSettings", u.Destination)
	}
	switch u.Type {
	case AddRules, ReplaceRules, RemoveRules:
		switch u.Behavior {
		case "", Allow, Ask, Deny:
		default:
			return fmt.Errorf("permission: update: %q is no behavior: use allow, ask or deny", u.Behavior)
		}
		if len(u.Rules) == 0 && u.Type != ReplaceRules {
			return errors.New("permission: update: it has no rules")
		}
		for _, r := range u.Rules {
			if err := CheckRule(r); err != nil {
				return fmt.Errorf("permission: update: the rule %w", err)
			}
		}
	case SetMode:
		if _, err := ParseMode(string(u.Mode)); err != nil || u.Mode == "" {
			return fmt.Errorf("permission: update: %q is not a mode", u.Mode)
		}
	case AddDirectories, RemoveDirectories:
		if len(u.Directories) == 0 {
			return errors.New("permission: update: it has no directories")
		}
		for _, d := range u.Directories {
			if !filepath.IsAbs(d) {
				return fmt.Errorf("permission: update: the directory %q is not absolute", d)
			}
		}
	default:
		return fmt.Errorf("permission: update: %q is no type: use addRules, replaceRules, removeRules, setMode, addDirectories or removeDirectories", u.Type)
	}
	return nil
}

// Update puts an update in force. For the session, rules hold in the session of
// that id alone, and the caller records it (see [Update.Note]); for any other
// destination it is saved first, and holds for all sessions of the gate.
func (g *Gate) Update(session string, u Update) error {
	if err := CheckUpdate(u); err != nil {
		return err
	}
	if u.Destination == "" {
		u.Destination = ForSession
	}
	if u.Destination == ForSession && session == "" {
		return errors.New("permission: update: it is for a session, and none is named")
	}
	if u.Destination != ForSession {
		g.saves.Lock()
		defer g.saves.Unlock()
		if g.o.Save == nil {
			return fmt.Errorf("permission: update: %s cannot be written here: grant it for the session", u.Destination)
		}
		if err := g.o.Save(u); err != nil {
			return fmt.Errorf("permission: update: %s: %w", u.Destination, err)
		}
	}
	return g.apply(session, u)
}

func (g *Gate) apply(session string, u Update) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch u.Type {
	case SetMode:
		mode, err := ParseMode(string(u.Mode))
		if err != nil {
			return err
		}
		g.mode = mode
		return nil
	case AddDirectories, RemoveDirectories:
		s := g.granted(session)
		added, dropped, roots := slices.Clone(s.added), slices.Clone(s.dropped), slices.Clone(g.roots)
		for _, d := range cleaned(u.Directories) {
			real, _, _ := follow(g.fs, d, "")
			is := func(r string) bool { return r == real || r == d }
			switch add := u.Type == AddDirectories; {
			case !u.Destination.session() && add && !slices.Contains(roots, real):
				roots = append(roots, real)
			case !u.Destination.session() && !add:
				keep := min(len(roots), 1) // the first is the project itself, which stays
				roots = append(roots[:keep], slices.DeleteFunc(roots[keep:], is)...)
			case add:
				added, dropped = append(added, real), slices.DeleteFunc(dropped, is)
			default:
				added, dropped = slices.DeleteFunc(added, is), append(dropped, real, d)
			}
		}
		if u.Destination.session() {
			g.sessions[session] = &granted{s.rules, added, dropped}
		} else {
			g.roots = roots
		}
		return nil
	}
	old := g.rules
	if u.Destination.session() {
		old = g.granted(session).rules
	}
	if u.Behavior == "" {
		u.Behavior = Allow
	}
	set := &ruleSet{slices.Clone(old.allow), slices.Clone(old.deny), slices.Clone(old.ask)}
	list := set.list(u.Behavior)
	layer := layers[u.Destination]
	if u.Type == ReplaceRules {
		*list = slices.DeleteFunc(*list, func(r *rule) bool { return r.Source.Layer == layer })
	}
	for _, text := range u.Rules {
		r, err := parseRule(Rule{Text: text, Effect: u.Behavior, Source: Source{Layer: layer, File: g.files[layer]}}, g.at)
		if err != nil {
			return fmt.Errorf("permission: update: the rule %w", err)
		}
		same := func(o *rule) bool { return o.name == r.name && o.content == r.content && o.Source.Layer == layer }
		switch {
		case u.Type == RemoveRules:
			*list = slices.DeleteFunc(*list, same)
		case !slices.ContainsFunc(*list, same):
			*list = append(*list, r)
		}
	}
	if u.Destination.session() {
		s := g.granted(session)
		g.sessions[session] = &granted{set, s.added, s.dropped}
	} else {
		g.rules = set
	}
	return nil
}

// layers are the sources of rules that have a destination. Rules of
// [Options.Layers] with these are those that updates replace and remove.
var layers = map[Destination]string{ForSession: "session", forProcess: "process", ForLocal: "projectUser", ForProject: "project", ForUser: "user"}

// granted is what was granted for one session. It does not change.
type granted struct {
	rules          *ruleSet
	added, dropped []string // directories of the workspace
}

// of is the workspace with them. The first root stays.
func (s *granted) of(roots []string) []string {
	if len(s.added)+len(s.dropped) == 0 {
		return roots
	}
	var out []string
	for i, r := range roots {
		if i == 0 || !slices.Contains(s.dropped, r) {
			out = append(out, r)
		}
	}
	return append(out, s.added...)
}

// granted is what holds in a session. The caller has the lock.
func (g *Gate) granted(session string) *granted {
	if s := g.sessions[session]; s != nil && session != "" {
		return s
	}
	return &granted{rules: &ruleSet{}}
}

// Note is u as the session keeps it.
func (u Update) Note() (session.Note, error) {
	b, err := json.Marshal(u)
	if err != nil {
		return session.Note{}, fmt.Errorf("permission: update: %w", err)
	}
	return session.Note{Kind: NoteKind, Data: b}, nil
}

// permits reports whether an update lets more happen than before.
func (u Update) permits() bool {
	return u.Type == AddDirectories || (u.Type == AddRules || u.Type == ReplaceRules) && (u.Behavior == Allow || u.Behavior == "")
}

// Restore puts in force what was granted on the path of a session, and nothing
// that was granted on another branch. The middleware does it at each run's start.
func (g *Gate) Restore(ctx context.Context, s *session.Session) error {
	var updates []Update
	for n, err := range s.Notes(ctx, NoteKind) {
		if err != nil {
			return fmt.Errorf("permission: what was granted before could not be read: %w", err)
		}
		var u Update
		if err := json.Unmarshal(n.Data, &u); err != nil {
			return fmt.Errorf("permission: what was granted before could not be read: %w", err)
		}
		if u.Root != "" && u.Root != g.at.root && u.permits() {
			continue // to run make in one project is not to run it in another
		}
		if u.Type != SetMode && CheckUpdate(u) == nil { // a mode is chosen anew by each program
			updates = append(updates, u)
		}
	}
	g.mu.Lock()
	if old := g.sessions[s.ID()]; old != nil {
		keep := func(list []*rule) []*rule {
			return slices.DeleteFunc(slices.Clone(list), func(r *rule) bool { return r.Source.Layer != layers[forProcess] })
		}
		g.sessions[s.ID()] = &granted{rules: &ruleSet{keep(old.rules.allow), keep(old.rules.deny), keep(old.rules.ask)}}
	}
	g.mu.Unlock()
	for _, u := range updates {
		u.Destination = ForSession
		if err := g.apply(s.ID(), u); err != nil {
			return err
		}
	}
	return nil
}

// scope is the session whose grants hold: that of the agent itself, for its
// children too.
type scope struct {
	id   string
	turn *agent.Turn // of the agent itself
}

type scopeKey struct{}

func scopeOf(ctx context.Context, t *agent.Turn) scope {
	if s, ok := ctx.Value(scopeKey{}).(scope); ok {
		return s
	}
	return scope{t.Session.ID(), t}
}

// record puts an update in force and in the journal.
func (g *Gate) record(ctx context.Context, t *agent.Turn, u Update) error {
	s := scopeOf(ctx, t)
	if u.Destination == forProcess {
		return g.apply(s.id, u)
	}
	if err := g.Update(s.id, u); err != nil {
		return err
	}
	if u.Destination != ForSession && u.Destination != "" {
		return nil
	}
	u.Root = g.at.root
	n, err := u.Note()
	if err != nil {
		return err
	}
	return s.turn.Append(ctx, n)
}
