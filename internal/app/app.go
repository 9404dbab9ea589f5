// Package app is the composition root: it makes an agent of the settings, the
// model, the tools and the session, and hands out a small interface that no
// front end needs to look behind.
//
//	a, err := app.New(ctx, app.Options{Config: c, Home: home, Dir: dir, Getenv: os.Getenv})
//	if err != nil {
//		return err
//	}
//	defer a.Close()
//	res, err := a.Agent.Run(ctx, a.Session, llm.Text{Text: "what is this project?"})
//
// Each concern has a file: model.go opens the model, tool.go the tools,
// web.go what they may do on the web, gate.go the permissions, sandbox.go what
// commands are held in, session.go the session; budget.go has the limits,
// prompt.go the system prompt, and notice.go what changes while a session goes
// on.
package app

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/cantle-dev/cantle/agent"
	"github.com/cantle-dev/cantle/builtin"
	"github.com/cantle-dev/cantle/guard"
	"github.com/cantle-dev/cantle/internal/config"
	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/wrap"
	"github.com/cantle-dev/cantle/memory"
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
	Environ []string // as "NAME=value": commands get what is no secret of it
	Yes     bool
	Ask     agent.AskFunc // nil: nobody is there to answer
	// APIKeyEnv names the variable with the key for this run, for the provider
	// of its model. It goes before all other keys.
	APIKeyEnv string

	Session Session
	Schema  *llm.Schema

	Now     func() time.Time // default time.Now
	Version string           // the program's own, for servers; "" tells them none

	pin    string          // the model that was switched to
	held   *guard.Known    // keys, as they are got
	redact *guard.Redactor // takes them out of what tools tell
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
	// switchTo is SetModel, which needs what New was made of.
	switchTo func(ref string) error
}

// New makes the agent and opens its session. The caller closes it.
func New(ctx context.Context, o Options) (*App, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if err := o.resolve(); err != nil {
		return nil, err
	}
	o.held = &guard.Known{}
	o.redact = o.redactor()
	dir := o.Dir
	set, err := o.settle()
	if err != nil {
		return nil, err
	}
	temperature, err := o.temperature()
	if err != nil {
		return nil, err
	}
	web, more, err := o.web()
	if err != nil {
		return nil, err
	}
	a := &App{Notes: slices.Concat(o.Config.Warnings, set.notes, more), jobs: builtin.NewJobs()}
	po, err := o.permissions()
	if err != nil {
		return nil, err
	}
	add := po.Roots[1:]
	var b *box
	if o.confined() {
		if b, err = o.box(ctx, add); err != nil {
			return nil, err
		}
	}
	gate, err := o.gate(po, b)
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	more, err = mistyped(gate, func() []tool.Tool { return builtin.Tools(o.toolOptions(add, web, b)) })
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	a.Notes = append(a.Notes, more...)
	review, err := o.reviewer(add)
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	if err := a.open(ctx, o); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	tools, end := o.tools(a, add, web, b, searches(gate))
	files, err := memory.Instructions(memory.Options{Home: o.Home, Dir: dir})
	if err != nil {
		end()
		return nil, errors.Join(err, a.Session.Close())
	}
	use := func(s settled) error {
		info := s.model.Info()
		ag, err := agent.New(s.model, agent.Options{
			System: o.system(info), Tools: tools(info), Dir: dir, Budget: s.budget, Ask: o.Ask, Now: o.Now,
			Effort: o.Config.Effort, Temperature: temperature, MaxTokens: o.Config.MaxOutputTokens, Schema: o.Schema,
			Middleware: []agent.Middleware{
				o.sections(add, info), memory.Middleware(files), o.appended(),
				notices(dir, o.Now, func() string { return string(gate.Mode()) }), finished(a.jobs), o.todos(info),
				watching(s.watch), b.told(), review, gate.Middleware(), o.redact.Middleware(),
			},
		})
		if err == nil {
			a.Agent, a.Info = ag, info
		}
		return err
	}
	if err := use(set); err != nil {
		end()
		return nil, errors.Join(err, a.Session.Close())
	}
	a.switchTo = func(ref string) error {
		if ref == "" {
			return Usage("no model is named: write provider:model, or an alias")
		}
		o := o
		o.pin = ref
		set, err := o.settle()
		if err != nil {
			return err
		}
		if err := use(set); err != nil {
			return err
		}
		a.Notes = set.notes
		return nil
	}
	a.close = func() error {
		end()
		return a.Session.Close()
	}
	return a, nil
}

// settled is a model and what depends on it.
type settled struct {
	model  llm.Model
	watch  *wrap.Watch
	budget agent.Budget
	notes  []string
}

func (o Options) settle() (s settled, err error) {
	if s.model, s.watch, s.notes, err = o.model(); err == nil {
		s.budget, err = o.budget(s.model.Info())
	}
	return s, err
}

// SetModel has the model that ref names, "provider:model" or an alias, answer
// from the next run on, in the same session. It answers all of it: no route
// chooses another one any more. Info, Agent and Notes are then of that model;
// after an error all is as it was. It must not be called while a run is on.
func (a *App) SetModel(ref string) error { return a.switchTo(ref) }

// Close ends what the run left, and closes the session.
func (a *App) Close() error { return a.close() }
