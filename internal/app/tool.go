package app

import (
	"path/filepath"
	"sync"

	"github.com/cantle-dev/cantle/agent"
	"github.com/cantle-dev/cantle/builtin"
	"github.com/cantle-dev/cantle/internal/config"
	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/catalog"
	"github.com/cantle-dev/cantle/memory"
	"github.com/cantle-dev/cantle/sandbox"
	"github.com/cantle-dev/cantle/tool"
)

// tools makes the tools for a model, the same each time, and what ends the
// commands that they started. With hosted, a model whose provider searches the
// web for it has that search, of which no call is decided on.
func (o Options) tools(a *App, add []string, web builtin.WebOptions, box *box, hosted bool) (func(llm.Info) []tool.Tool, func()) {
	b := o.toolOptions(add, web, box)
	b.Jobs = a.jobs
	if a.Store != nil {
		b.OutputDir = a.Store.Dir
	}
	full := sync.OnceValue(func() []tool.Tool { return builtin.Tools(b) })
	lean := sync.OnceValue(func() []tool.Tool { return builtin.Lean(b) })
	searching := sync.OnceValue(func() []tool.Tool {
		b := b
		b.Web.Hosted = true
		return builtin.Tools(b)
	})
	pick := func(info llm.Info) []tool.Tool {
		switch {
		case info.Traits.NoTools:
			return nil
		case info.Context < leanWindow:
			return lean()
		case info.Traits.Hosts(llm.HostedWebSearch) && hosted:
			return searching()
		}
		return full()
	}
	return pick, func() { _ = b.Runner.Close() } // what could not be ended was told by Bash
}

func (o Options) toolOptions(add []string, web builtin.WebOptions, box *box) builtin.Options {
	b := builtin.Options{
		Root: o.Dir, AddDirs: add, Home: o.User, TodoDir: o.todoDir(),
		Environ: o.Environ, Env: o.commandEnv(), Hidden: o.keyVariables(), Web: web,
	}
	if o.redact != nil {
		b.Filter = o.redact.Writer
	}
	if box == nil {
		b.Runner = sandbox.Local(sandbox.LocalOptions{})
	} else {
		b.Runner, b.Confine = box, &box.confine
	}
	return b
}

// todoDir is the folder of the project's todo list, or "" for a list of the
// session's own. A session that leaves no journal leaves no list.
func (o Options) todoDir() string {
	if o.Session.None || o.Config.TodoScope == "session" {
		return ""
	}
	return filepath.Join(o.Home, "todos", config.ProjectID(memory.ProjectRoot(o.Dir)))
}

// commandEnv is the environment that the settings add for commands: variables
// that are passed on, and others, where a value that is "${NAME}" is that of a
// variable.
func (o Options) commandEnv() map[string]string {
	out := map[string]string{}
	for _, name := range o.Config.EnvPassthrough {
		if v := o.Getenv(name); v != "" {
			out[name] = v
		}
	}
	for name, text := range o.Config.Env {
		out[name] = text
		if ref := config.References(text); len(ref) == 1 && text == "${"+ref[0]+"}" {
			out[name] = o.Getenv(ref[0])
		}
	}
	return out
}

// keyVariables are the names of all variables that hold a key: a provider's, or
// that of the search service.
func (o Options) keyVariables() []string {
	var out []string
	for _, p := range catalog.Providers() {
		out = append(out, p.KeyEnv...)
	}
	for _, p := range o.Config.Providers {
		if p.APIKeyEnv != "" {
			out = append(out, p.APIKeyEnv)
		}
		for _, texts := range []map[string]string{p.Headers, p.Query} {
			for _, text := range texts {
				out = append(out, config.References(text)...)
			}
		}
	}
	if name := o.Config.Web.Search.KeyEnv; name != "" {
		out = append(out, name)
	}
	if o.APIKeyEnv != "" {
		out = append(out, o.APIKeyEnv)
	}
	return out
}

// todos tells a new session of the list that an earlier one of the project has
// left. A model with a small window has no tool to change it with.
func (o Options) todos(info llm.Info) agent.Middleware {
	if info.Context < leanWindow || info.Traits.NoTools {
		return agent.Middleware{}
	}
	return builtin.CarryTodos(builtin.Options{TodoDir: o.todoDir()})
}
