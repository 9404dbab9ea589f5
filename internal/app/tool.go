package app

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"path/filepath"
	"strings"
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
// commands that they started.
func (o Options) tools(a *App, add []string, web builtin.WebOptions) (func(llm.Info) []tool.Tool, func()) {
	runner := sandbox.Local(sandbox.LocalOptions{})
	b := builtin.Options{
		Root: o.Dir, AddDirs: add, Home: o.User, Runner: runner, Jobs: a.jobs, TodoDir: o.todoDir(),
		Environ: o.Environ, Env: o.commandEnv(), Hidden: o.keyVariables(), Web: web,
	}
	if a.Store != nil {
		b.OutputDir = a.Store.Dir
	}
	full := sync.OnceValue(func() []tool.Tool { return builtin.Tools(b) })
	lean := sync.OnceValue(func() []tool.Tool { return builtin.Lean(b) })
	pick := func(info llm.Info) []tool.Tool {
		switch {
		case info.Traits.NoTools:
			return nil
		case info.Context < leanWindow:
			return lean()
		}
		return full()
	}
	return pick, func() { _ = runner.Close() } // what could not be ended was told by Bash
}

// todoDir is the folder of the project's todo list, or "" for a list of the
// session's own. A session that leaves no journal leaves no list.
func (o Options) todoDir() string {
	if o.Session.None || o.Config.TodoScope == "session" {
		return ""
	}
	root := memory.ProjectRoot(o.Dir)
	sum := sha256.Sum256([]byte(root))
	name := strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return -1
	}, filepath.Base(root))
	return filepath.Join(o.Home, "todos", name[:min(len(name), 40)]+"-"+hex.EncodeToString(sum[:8]))
}

// commandEnv is the environment that the settings add for commands: a value
// that is "${NAME}" is that of a variable.
func (o Options) commandEnv() map[string]string {
	out := maps.Clone(o.Config.Env)
	for name, text := range out {
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
