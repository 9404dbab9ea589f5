// Package app is the composition root: it makes an agent of the settings, the
// model, the tools and the session, and hands out a small interface that no
// front end needs to look behind.
package app

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/cantle-dev/cantle/agent"
	"github.com/cantle-dev/cantle/builtin"
	"github.com/cantle-dev/cantle/internal/config"
	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/catalog"
	"github.com/cantle-dev/cantle/memory"
	"github.com/cantle-dev/cantle/permission"
	"github.com/cantle-dev/cantle/sandbox"
	"github.com/cantle-dev/cantle/session"
	"github.com/cantle-dev/cantle/session/jsonl"
	"github.com/cantle-dev/cantle/tool"
)

// Options say what to run.
type Options struct {
	Config  *config.Config
	Home    string // ~/.cantle
	User    string // the user's home directory
	Dir     string // absolute
	Getenv  func(string) string
	Environ []string // of which commands get what is no secret
	Yes     bool
	Ask     agent.AskFunc // nil: nobody is there to answer

	Session Session
	Schema  *llm.Schema
	Budget  agent.Budget // over what the settings say, where set

	Now func() time.Time // default time.Now
}

// Session says which session to run in. The zero value is a new one.
type Session struct {
	Resume   string // the id, or a prefix of it
	Continue bool   // the last of this directory
	Fork     bool   // in a copy
	None     bool   // in memory only
}

// App is an agent in its session.
type App struct {
	Agent   *agent.Agent
	Session *session.Session
	Store   *jsonl.Store // nil without a journal
	Info    llm.Info
	Notes   []string // what the user should know
	close   func() error
	jobs    *builtin.JobTable
}

// ErrUsage is wrapped by errors that the user mends in the command line or the
// settings.
var ErrUsage = errors.New("usage")

// Usage is an error of the user's side: it wraps ErrUsage.
func Usage(format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...)}
}

type usageError struct{ err error }

func (e *usageError) Error() string        { return e.err.Error() }
func (e *usageError) Unwrap() error        { return e.err }
func (e *usageError) Is(target error) bool { return target == ErrUsage }

// OpenStore opens the user's sessions.
func OpenStore(home string) (*jsonl.Store, error) {
	return jsonl.Open(filepath.Join(home, "sessions"), jsonl.Options{})
}

// New makes the agent and opens its session. The caller closes it.
func New(ctx context.Context, o Options) (*App, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	dir, err := filepath.EvalSymlinks(o.Dir)
	if err != nil {
		return nil, Usage("the working directory: %w", err)
	}
	o.Dir = dir
	m, err := o.model()
	if err != nil {
		return nil, err
	}
	a := &App{Info: m.Info(), Notes: o.Config.Warnings, jobs: builtin.NewJobs()}
	budget, err := o.budget(a.Info)
	if err != nil {
		return nil, err
	}
	gate, add, err := o.gate()
	if err != nil {
		return nil, err
	}
	if err := a.open(ctx, o); err != nil {
		return nil, err
	}
	tools, end := o.tools(a, add)
	files, err := memory.Instructions(memory.Options{Home: o.Home, Dir: dir})
	if err != nil {
		return nil, errors.Join(err, a.Session.Close())
	}
	a.Agent, err = agent.New(m, agent.Options{
		System: o.system(a.Info), Tools: tools, Dir: dir, Budget: budget, Ask: o.Ask, Now: o.Now,
		Effort: o.Config.Effort, Schema: o.Schema,
		Middleware: []agent.Middleware{
			o.sections(add, a.Info), memory.Middleware(files), o.appended(),
			notices(dir, o.Now, func() string { return string(gate.Mode()) }), finished(a.jobs), gate.Middleware(),
		},
	})
	if err != nil {
		return nil, errors.Join(err, a.Session.Close())
	}
	a.close = func() error {
		end()
		return a.Session.Close()
	}
	return a, nil
}

// Close ends what the run left, and closes the session.
func (a *App) Close() error { return a.close() }

func (o Options) system(info llm.Info) string {
	switch {
	case o.Config.System != "":
		return o.Config.System
	case info.Context < leanWindow:
		return strings.TrimSpace(leanGuidance)
	}
	return strings.TrimSpace(baseGuidance)
}

// sections are the parts of the prompt that a user's own base does not replace.
func (o Options) sections(add []string, info llm.Info) agent.Middleware {
	return agent.Middleware{Name: "sections", Priority: 0, Start: func(_ context.Context, _ *agent.Turn, s *agent.Setup) error {
		s.System = append(s.System, environment(o.Dir, add, info), denialSection)
		return nil
	}}
}

// appended comes last.
func (o Options) appended() agent.Middleware {
	return agent.Middleware{Name: "append", Priority: 900, Start: func(_ context.Context, _ *agent.Turn, s *agent.Setup) error {
		if t := o.Config.AppendSystem; t != "" {
			s.System = append(s.System, t)
		}
		return nil
	}}
}

func (o Options) budget(info llm.Info) (agent.Budget, error) {
	b := agent.Budget{Turns: o.Config.MaxTurns, Tokens: o.Config.MaxTokens}
	if s := o.Config.MaxCost; s != "" {
		m, err := llm.ParseMoney(s)
		if err != nil {
			return b, Usage("maxCost: %w", err)
		}
		if m > 0 && info.Price == nil {
			return b, Usage("a cost limit needs a price, and that of %s is unknown: set models.%q.price in the settings, or limit --max-tokens instead", info.Ref(), info.Ref())
		}
		b.Money = m
	}
	d, err := config.Duration("timeout", o.Config.Timeout)
	if err != nil {
		return b, Usage("%w", err)
	}
	b.Time = d
	return b, nil
}

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

// open opens the session that was asked for.
func (a *App) open(ctx context.Context, o Options) error {
	id := o.Now().UTC().Format("20060102-150405-") + strings.ToLower(randomID(6))
	var err error
	if o.Session.None {
		a.Session, err = session.Open(ctx, new(session.Memory), id, session.OpenOptions{Create: true})
		return err
	}
	if a.Store, err = OpenStore(o.Home); err != nil {
		return err
	}
	from := ""
	switch {
	case o.Session.Resume != "":
		if from, err = a.Store.Resolve(ctx, o.Session.Resume); err != nil {
			return Usage("%w", err)
		}
	case o.Session.Continue:
		if from, err = a.Store.Latest(ctx, o.Dir); err != nil {
			return Usage("%w", err)
		}
	}
	switch {
	case from == "":
		a.Session, err = session.Open(ctx, a.Store, id, session.OpenOptions{Create: true})
	case o.Session.Fork:
		var old *session.Session
		if old, err = session.Open(ctx, a.Store, from, session.OpenOptions{ReadOnly: true}); err == nil {
			a.Session, err = old.Fork(ctx, a.Store, id, "")
		}
	default:
		a.Session, err = session.Open(ctx, a.Store, from, session.OpenOptions{})
	}
	return err
}

// tools makes the tools, and what ends the commands they started.
func (o Options) tools(a *App, add []string) ([]tool.Tool, func()) {
	runner := sandbox.Local(sandbox.LocalOptions{})
	b := builtin.Options{
		Root: o.Dir, AddDirs: add, Home: o.User, Runner: runner, Environ: o.Environ, Env: o.Config.Env, Hidden: o.keyVariables(), Jobs: a.jobs,
	}
	if a.Store != nil {
		b.OutputDir = a.Store.Dir
	}
	end := func() { _ = runner.Close() } // what could not be ended was told by Bash
	if a.Info.Context < leanWindow {
		return builtin.Lean(b), end
	}
	return builtin.Tools(b), end
}

// keyVariables are the names of all variables that hold a provider's key.
func (o Options) keyVariables() []string {
	var out []string
	for _, p := range catalog.Providers() {
		out = append(out, p.KeyEnv...)
	}
	for _, p := range o.Config.Providers {
		if p.APIKeyEnv != "" {
			out = append(out, p.APIKeyEnv)
		}
	}
	return out
}
