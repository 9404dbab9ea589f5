package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cantle-dev/cantle/agent"
	"github.com/cantle-dev/cantle/internal/app"
	"github.com/cantle-dev/cantle/internal/config"
	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/tool"
)

// flags are those of every command that runs the agent.
type flags struct {
	model, dir, mode, effort, system, appendSystem string
	maxTurns, maxTokens, maxCost, timeout          string
	allow, deny, ask, set, addDir                  []string
	yes, cont, fork, retry, noSession              bool
	resume, schema, keyEnv                         string

	wanted llm.Effort // what flags and settings ask for, once the app is open
}

func (f *flags) add(c *cobra.Command) {
	fs := c.Flags()
	fs.StringVarP(&f.model, "model", "m", "", "the model, as provider:model")
	fs.Var((*given)(&f.keyEnv), "api-key-env", "the variable with the key for this run, before all others")
	fs.VarP((*given)(&f.dir), "cd", "C", "work in this directory")
	fs.Var((*given)(&f.mode), "mode", "permission mode: default, acceptEdits, plan, dontAsk, bypassPermissions")
	fs.BoolVarP(&f.yes, "yes", "y", false, "answer yes where the mode asks; ask rules and sensitive paths still ask")
	fs.Var((*many)(&f.allow), "allow", "allow this tool (again for more)")
	fs.Var((*many)(&f.deny), "deny", "deny this tool (again for more)")
	fs.Var((*many)(&f.ask), "ask", "ask about this tool (again for more)")
	fs.BoolVarP(&f.cont, "continue", "c", false, "go on with the last session of this directory")
	fs.VarP((*given)(&f.resume), "resume", "r", "go on with this session (an id, or its beginning)")
	fs.VarP((*given)(&f.resume), "session", "s", "the same as --resume")
	fs.BoolVar(&f.fork, "fork", false, "with --continue or --resume: go on in a copy")
	fs.BoolVar(&f.retry, "retry", false, "with --continue or --resume: do its last run again, in a new branch, with its prompt or with another")
	fs.BoolVar(&f.noSession, "no-session", false, "record nothing")
	fs.Var((*given)(&f.effort), "effort", "how much to think: off, minimal, low, medium, high, xhigh")
	fs.Var((*given)(&f.maxTurns), "max-turns", "most model responses (default 40)")
	fs.Var((*given)(&f.maxTokens), "max-tokens", "most tokens, input and output together")
	fs.Var((*given)(&f.maxCost), "max-cost", "most US dollars")
	fs.Var((*given)(&f.timeout), "timeout", "most wall time, as 10m")
	fs.Var((*given)(&f.schema), "schema", "answer with JSON of this schema: a file, or the schema itself")
	fs.Var((*given)(&f.system), "system", "base guidance in the place of Cantle's own")
	fs.Var((*given)(&f.appendSystem), "append-system", "text for the end of the system prompt")
	fs.Var((*many)(&f.set), "set", "a setting, as key=value (again for more)")
	fs.Var((*many)(&f.addDir), "add-dir", "a further directory of the workspace (again for more)")
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

// many is a list of texts that may not be empty.
type many []string

func (m *many) String() string { return strings.Join(*m, ", ") }
func (m *many) Type() string   { return "string" }
func (m *many) Set(s string) error {
	var g given
	if err := g.Set(s); err != nil {
		return err
	}
	*m = append(*m, s)
	return nil
}

// oneOf is one of a few words.
type oneOf struct {
	to *string
	of []string
}

func (o *oneOf) String() string {
	if o.to == nil {
		return ""
	}
	return *o.to
}
func (o *oneOf) Type() string { return "string" }
func (o *oneOf) Set(s string) error {
	if !slices.Contains(o.of, s) {
		return fmt.Errorf("use %s", strings.Join(o.of, " or "))
	}
	*o.to = s
	return nil
}

// form is the form of the output, which several flags say.
type form struct{ to *string }

func (f *form) String() string { return "" }
func (f *form) Type() string   { return "string" }
func (f *form) Set(s string) error {
	o := oneOf{f.to, []string{"text", "json", "stream-json"}}
	if was := *f.to; was != "" && was != s {
		return fmt.Errorf("it is %s already, and contradicts that", was)
	}
	return o.Set(s)
}

// flagError is a flag that could not be read, so that no command ran.
type flagError struct{ err error }

func (e *flagError) Error() string { return e.err.Error() }
func (e *flagError) Unwrap() error { return e.err }

// wantsDocument reports whether arguments that could not be read as a whole
// ask run for a closing document. Where they contradict each other, they do.
func wantsDocument(args []string) bool {
	isJSON := func(v string) bool { return v == "json" || v == "stream-json" }
	for i, a := range args {
		name, v, joined := strings.Cut(a, "=")
		switch {
		case a == "--":
			return false
		case a == "--json":
			return true
		case strings.HasPrefix(a, "--"):
			if name != "--output" && name != "--output-format" {
				continue
			}
		case strings.HasPrefix(a, "-"):
			rest := strings.TrimLeft(a[1:], "yvc") // short flags without a value
			if !strings.HasPrefix(rest, "o") {
				continue
			}
			v = strings.TrimPrefix(rest[1:], "=")
			joined = rest != "o"
		default:
			continue
		}
		if !joined && i+1 < len(args) {
			v = args[i+1]
		}
		if isJSON(v) {
			return true
		}
	}
	return false
}

// places are the folder of Cantle's own and the working directory.
func (f *flags) places(e Env) (home, dir string, err error) {
	if home, err = e.home(); err != nil {
		return "", "", err
	}
	dir = e.Dir
	if f.dir != "" {
		dir = f.dir
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(e.Dir, dir)
		}
	}
	if dir == "" || !filepath.IsAbs(dir) {
		return "", "", app.Usage("the working directory cannot be told, it may have been removed: change into another, or name one with -C")
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return "", "", app.Usage("%s is not a directory", dir)
	}
	return home, dir, nil
}

// saved are the files for rules that are granted for longer than a session, by
// their destinations: the user's own, also for a project.
func (f *flags) saved(e Env) map[string]string {
	home, dir, err := f.places(e)
	if err != nil {
		return nil // it is told where it is needed
	}
	return map[string]string{"localSettings": config.ProjectFile(home, config.ProjectDir(home, dir)), "userSettings": filepath.Join(home, "settings.json")}
}

// load reads the settings with the flags over them.
func (f *flags) load(e Env) (*config.Config, string, string, error) {
	home, dir, err := f.places(e)
	if err != nil {
		return nil, "", "", err
	}
	src := config.Sources{Home: home, Dir: dir, Managed: config.ManagedFile(), Getenv: e.Getenv}
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
	if m, err := llm.ParseMoney(f.maxCost); f.maxCost != "" && err == nil && m == 0 {
		return nil, "", "", app.Usage("--max-cost: %q is not above 0, and would be no limit", f.maxCost)
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
	if f.retry && !f.cont && f.resume == "" {
		return nil, app.Usage("--retry goes with --continue or --resume")
	}
	schema, err := f.readSchema(dir)
	if err != nil {
		return nil, err
	}
	if f.yes {
		ask = onward(ask)
	}
	notes := f.resumed(ctx, e, c, home, dir)
	a, err := app.New(ctx, app.Options{
		Config: c, Home: home, User: e.User, Dir: dir, Getenv: e.Getenv, Environ: e.Environ, Yes: f.yes, Ask: ask, Schema: schema,
		APIKeyEnv: f.keyEnv, Version: Version(),
		Session: app.Session{Resume: f.resume, Continue: f.cont, Fork: f.fork, None: f.noSession},
	})
	if err == nil {
		f.wanted = c.Effort
		a.Notes = append(append(slices.Clip(a.Notes), notes...), effortNote(c.Effort, a.Info)...)
	}
	var at *fs.PathError
	if errors.As(err, &at) && !f.noSession && strings.HasPrefix(at.Path, filepath.Join(home, "sessions")) {
		err = fmt.Errorf("%w\n  Set CANTLE_HOME to a folder that can be written, or record nothing with --no-session", err)
	}
	return a, err
}

// effortNote says that an effort is not sent, and why.
func effortNote(e llm.Effort, i llm.Info) []string {
	if e == "" || e == llm.EffortOff && !i.Traits.Thinking || i.Traits.StandIn {
		return nil
	}
	if !i.Traits.Thinking {
		return []string{fmt.Sprintf("the effort %s is left out: %s has none that could be set; set models.%q.thinking if it has", e, i.Ref(), i.Ref())}
	}
	if i.Traits.EffortWord(e, string(e)) != "" {
		return nil
	}
	var has []string
	for _, o := range llm.Efforts() {
		if i.Traits.EffortWord(o, string(o)) != "" {
			has = append(has, string(o))
		}
	}
	return []string{fmt.Sprintf("the effort %s is left out: %s does not have it, only %s", e, i.Ref(), strings.Join(has, ", "))}
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
	if err := tool.Validate(schemaSchema, raw); err != nil {
		return nil, app.Usage("--schema: it is not a JSON Schema: %w", err)
	}
	return &llm.Schema{Name: "answer", JSON: raw}, nil
}

// schemaSchema says what a JSON Schema looks like, as far as answers are held
// against it.
var schemaSchema = json.RawMessage(`{"$ref": "#/$defs/schema", "$defs": {
	"schema": {"anyOf": [{"type": "boolean"}, {"type": "object", "properties": {
		"type": {"anyOf": [{"$ref": "#/$defs/type"}, {"type": "array", "items": {"$ref": "#/$defs/type"}, "minItems": 1}]},
		"properties": {"$ref": "#/$defs/schemas"}, "patternProperties": {"$ref": "#/$defs/schemas"},
		"$defs": {"$ref": "#/$defs/schemas"}, "definitions": {"$ref": "#/$defs/schemas"},
		"required": {"type": "array", "items": {"type": "string"}},
		"enum": {"type": "array", "minItems": 1},
		"items": {"$ref": "#/$defs/schema"}, "additionalProperties": {"$ref": "#/$defs/schema"}, "not": {"$ref": "#/$defs/schema"},
		"prefixItems": {"$ref": "#/$defs/list"}, "anyOf": {"$ref": "#/$defs/list"}, "oneOf": {"$ref": "#/$defs/list"}, "allOf": {"$ref": "#/$defs/list"},
		"minimum": {"type": "number"}, "maximum": {"type": "number"}, "exclusiveMinimum": {"type": "number"}, "exclusiveMaximum": {"type": "number"},
		"minItems": {"$ref": "#/$defs/size"}, "maxItems": {"$ref": "#/$defs/size"}, "minLength": {"$ref": "#/$defs/size"},
		"maxLength": {"$ref": "#/$defs/size"}, "minProperties": {"$ref": "#/$defs/size"}, "maxProperties": {"$ref": "#/$defs/size"},
		"pattern": {"type": "string"}, "$ref": {"type": "string", "pattern": "^#"}, "description": {"type": "string"}, "title": {"type": "string"}
	}}]},
	"type": {"enum": ["null", "boolean", "object", "array", "number", "string", "integer"]},
	"schemas": {"type": "object", "additionalProperties": {"$ref": "#/$defs/schema"}},
	"list": {"type": "array", "items": {"$ref": "#/$defs/schema"}, "minItems": 1},
	"size": {"type": "integer", "minimum": 0}
}}`)

func quantity(n int64) string {
	switch {
	case n < 1000:
		return strconv.FormatInt(n, 10)
	case n < 1_000_000:
		return fmt.Sprintf("%.1fk", float64(n)/1e3)
	}
	return fmt.Sprintf("%.1fM", float64(n)/1e6)
}
