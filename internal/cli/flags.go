package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cantle-dev/cantle/agent"
	"github.com/cantle-dev/cantle/internal/app"
	"github.com/cantle-dev/cantle/internal/config"
	"github.com/cantle-dev/cantle/llm"
)

// flags are those of every command that runs the agent.
type flags struct {
	model, dir, mode, effort, system, appendSystem string
	maxTurns, maxTokens, maxCost, timeout          string
	allow, deny, ask, set, addDir                  []string
	yes, cont, fork, noSession                     bool
	resume, schema                                 string
}

func (f *flags) add(c *cobra.Command) {
	fs := c.Flags()
	fs.StringVarP(&f.model, "model", "m", "", "the model, as provider:model")
	fs.StringVarP(&f.dir, "cd", "C", "", "work in this directory")
	fs.StringVar(&f.mode, "mode", "", "permission mode: default, acceptEdits, plan, dontAsk, bypassPermissions")
	fs.BoolVarP(&f.yes, "yes", "y", false, "answer yes where the mode asks; ask rules and sensitive paths still ask")
	fs.StringArrayVar(&f.allow, "allow", nil, "allow this tool (again for more)")
	fs.StringArrayVar(&f.deny, "deny", nil, "deny this tool (again for more)")
	fs.StringArrayVar(&f.ask, "ask", nil, "ask about this tool (again for more)")
	fs.BoolVarP(&f.cont, "continue", "c", false, "go on with the last session of this directory")
	fs.VarP((*given)(&f.resume), "resume", "r", "go on with this session (an id, or its beginning)")
	fs.VarP((*given)(&f.resume), "session", "s", "the same as --resume")
	fs.BoolVar(&f.fork, "fork", false, "with --continue or --resume: go on in a copy")
	fs.BoolVar(&f.noSession, "no-session", false, "record nothing")
	fs.StringVar(&f.effort, "effort", "", "how much to think: off, minimal, low, medium, high, xhigh")
	fs.StringVar(&f.maxTurns, "max-turns", "", "most model responses (default 40)")
	fs.StringVar(&f.maxTokens, "max-tokens", "", "most tokens, input and output together")
	fs.StringVar(&f.maxCost, "max-cost", "", "most US dollars")
	fs.StringVar(&f.timeout, "timeout", "", "most wall time, as 10m")
	fs.StringVar(&f.schema, "schema", "", "answer with JSON of this schema: a file, or the schema itself")
	fs.StringVar(&f.system, "system", "", "base guidance in the place of Cantle's own")
	fs.StringVar(&f.appendSystem, "append-system", "", "text for the end of the system prompt")
	fs.StringArrayVar(&f.set, "set", nil, "a setting, as key=value (again for more)")
	fs.StringArrayVar(&f.addDir, "add-dir", nil, "a further directory of the workspace (again for more)")
}

// given is text that may not be empty: --resume "$ID" must not begin a new
// session where the variable is not set.
type given string

func (g *given) String() string { return string(*g) }
func (g *given) Type() string   { return "string" }
func (g *given) Set(s string) error {
	if strings.TrimSpace(s) == "" {
		return errors.New("it is empty")
	}
	*g = given(s)
	return nil
}

// flagError is a flag that could not be read, so that no command ran.
type flagError struct{ err error }

func (e *flagError) Error() string { return e.err.Error() }
func (e *flagError) Unwrap() error { return e.err }

// wantsDocument reports whether arguments that could not be read as a whole
// ask run for a closing document.
func wantsDocument(args []string) bool {
	want := false
	for i, a := range args {
		name, v, joined := strings.Cut(a, "=")
		switch {
		case a == "--":
			return want
		case a == "--json":
			want = true
		case name == "-o" || name == "--output" || name == "--output-format":
			if !joined && i+1 < len(args) {
				v = args[i+1]
			}
			want = v == "json" || v == "stream-json"
		case strings.HasPrefix(a, "-o"):
			want = a == "-ojson" || a == "-ostream-json"
		}
	}
	return want
}

// load reads the settings with the flags over them.
func (f *flags) load(e Env) (*config.Config, string, string, error) {
	home, err := e.home()
	if err != nil {
		return nil, "", "", err
	}
	dir := e.Dir
	if f.dir != "" {
		dir = f.dir
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(e.Dir, dir)
		}
	}
	if dir == "" || !filepath.IsAbs(dir) {
		return nil, "", "", app.Usage("the working directory cannot be told, it may have been removed: change into another, or name one with -C")
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, "", "", app.Usage("%s is not a directory", dir)
	}
	src := config.Sources{Home: home, Dir: dir, Getenv: e.Getenv}
	text := func(key, flag, v string) {
		if v != "" {
			src.Flags = append(src.Flags, config.Flag{Key: key, Value: v, Name: flag})
		}
	}
	for _, s := range f.set {
		k, v, ok := strings.Cut(s, "=")
		if !ok {
			return nil, "", "", app.Usage("--set %q: write key=value", s)
		}
		src.Flags = append(src.Flags, config.Flag{Key: k, Value: v, Name: "--set"})
	}
	text("model", "--model", f.model)
	text("permissions.defaultMode", "--mode", f.mode)
	text("system", "--system", f.system)
	text("appendSystem", "--append-system", f.appendSystem)
	text("maxCost", "--max-cost", f.maxCost)
	text("timeout", "--timeout", f.timeout)
	for _, n := range []struct{ key, flag, v string }{{"maxTurns", "--max-turns", f.maxTurns}, {"maxTokens", "--max-tokens", f.maxTokens}} {
		if n.v == "" {
			continue
		}
		if i, err := strconv.ParseInt(n.v, 10, 64); err != nil || i <= 0 {
			return nil, "", "", app.Usage("%s: %q is not a number above 0", n.flag, n.v)
		}
		text(n.key, n.flag, n.v)
	}
	if f.effort != "" {
		ok := false
		for _, ef := range llm.Efforts() {
			ok = ok || string(ef) == f.effort
		}
		if !ok {
			return nil, "", "", app.Usage("--effort %q: use off, minimal, low, medium, high or xhigh", f.effort)
		}
		text("effort", "--effort", f.effort)
	}
	list := func(key, flag string, vs []string) {
		for _, v := range vs {
			b, _ := json.Marshal([]string{v}) // strings marshal
			src.Flags = append(src.Flags, config.Flag{Key: key, Value: string(b), Name: flag})
		}
	}
	list("permissions.allow", "--allow", f.allow)
	list("permissions.deny", "--deny", f.deny)
	list("permissions.ask", "--ask", f.ask)
	list("permissions.additionalDirectories", "--add-dir", f.addDir)
	c, err := config.Load(src)
	return c, home, dir, err
}

// open makes the app.
func (f *flags) open(ctx context.Context, e Env, ask agent.AskFunc) (*app.App, error) {
	c, home, dir, err := f.load(e)
	if err != nil {
		return nil, err
	}
	n := 0
	for _, on := range []bool{f.cont, f.resume != "", f.noSession} {
		if on {
			n++
		}
	}
	if n > 1 {
		return nil, app.Usage("--continue, --resume and --no-session exclude each other")
	}
	if f.fork && !f.cont && f.resume == "" {
		return nil, app.Usage("--fork goes with --continue or --resume")
	}
	schema, err := f.readSchema(dir)
	if err != nil {
		return nil, err
	}
	return app.New(ctx, app.Options{
		Config: c, Home: home, User: e.User, Dir: dir, Getenv: e.Getenv, Environ: e.Environ, Yes: f.yes, Ask: ask, Schema: schema,
		Session: app.Session{Resume: f.resume, Continue: f.cont, Fork: f.fork, None: f.noSession},
	})
}

func (f *flags) readSchema(dir string) (*llm.Schema, error) {
	if f.schema == "" {
		return nil, nil
	}
	raw := []byte(f.schema)
	if !strings.HasPrefix(strings.TrimSpace(f.schema), "{") {
		name := f.schema
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		b, err := readBounded(name)
		if err != nil {
			return nil, app.Usage("--schema: %w", err)
		}
		raw = b
	}
	var obj map[string]json.RawMessage
	if err := json.Unmarshal(raw, &obj); err != nil {
		return nil, app.Usage("--schema: not a JSON object: %w", err)
	}
	var typ string
	_ = json.Unmarshal(obj["type"], &typ) // absent: told below
	if typ != "object" {
		return nil, app.Usage("--schema: its type must be \"object\"")
	}
	return &llm.Schema{Name: "answer", JSON: raw}, nil
}

func quantity(n int64) string {
	switch {
	case n < 1000:
		return strconv.FormatInt(n, 10)
	case n < 1_000_000:
		return fmt.Sprintf("%.1fk", float64(n)/1e3)
	}
	return fmt.Sprintf("%.1fM", float64(n)/1e6)
}
