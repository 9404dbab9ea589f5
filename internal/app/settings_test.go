package app_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cantle-dev/cantle/agent"
	"github.com/cantle-dev/cantle/internal/app"
	"github.com/cantle-dev/cantle/internal/config"
	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/llmtest"
)

var lean = config.Model{Context: 8_192}

// Commands get of the environment what is no secret, and what the user added;
// of a project's making they get nothing.
func TestEnvironmentOfCommands(t *testing.T) {
	w := newWorld(t)
	w.write(".cantle/settings.json", `{"env": {"LD_PRELOAD": "/evil.so", "PATH": "/evil", "BASH_ENV": "/evil", "GIT_SSH_COMMAND": "evil", "EVIL": "1"}}`)
	w.write(".cantle/settings.local.json", `{"env": {"NODE_OPTIONS": "--require evil"}}`)
	if err := os.WriteFile(filepath.Join(w.home, "settings.json"), []byte(`{"env": {"MINE": "yes"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	w.change = func(o *app.Options) {
		c, err := config.Load(config.Sources{Home: w.home, Dir: w.dir, Getenv: o.Getenv, Flags: []config.Flag{{Key: "env.FLAG", Value: "1", Name: "--set"}}})
		if err != nil {
			t.Fatal(err)
		}
		if all := strings.Join(c.Warnings, "\n"); !strings.Contains(all, "settings.json: env") || !strings.Contains(all, "settings.local.json: env") {
			t.Errorf("warnings %q", c.Warnings)
		}
		c.Model, c.Models = o.Config.Model, o.Config.Models
		c.Providers = o.Config.Providers
		p := c.Providers["t"]
		p.APIKeyEnv = "PLAIN_NAME"
		c.Providers["t"] = p
		o.Config = c
		o.Getenv = func(string) string { return "sk-canary" }
		o.Environ = []string{"PATH=/usr/bin:/bin", "LANG=C", "PLAIN_NAME=sk-canary", "ANTHROPIC_API_KEY=sk-canary", "LD_PRELOAD=/mine.so", "OTHER=canary"}
	}
	got, _ := w.run("go", llmtest.Call("Bash", m{"command": "/usr/bin/env"}), llmtest.Say("ok"))[1].LastResult()
	lines := "\n" + got + "\n"
	for _, want := range []string{"PATH=/usr/bin:/bin", "LANG=C", "MINE=yes", "FLAG=1"} {
		if !strings.Contains(lines, "\n"+want+"\n") {
			t.Errorf("%s is missing", want)
		}
	}
	for _, bad := range []string{"canary", "evil", "EVIL", "mine.so"} {
		if strings.Contains(lines, bad) {
			t.Errorf("%s came through: %s", bad, got)
		}
	}
}

// A server that says nothing is given up after stallTimeout, and asked again.
func TestStallTimeout(t *testing.T) {
	w := newWorld(t)
	w.change = func(o *app.Options) { o.Config.StallTimeout = "400ms" }
	a, srv := w.open(llmtest.Stall(), llmtest.Say("here"))
	var why string
	for ev, err := range a.Agent.Stream(t.Context(), a.Session, llm.Text{Text: "hi"}).Events() {
		if err != nil {
			t.Fatal(err)
		}
		if r, ok := ev.Data.(agent.Retrying); ok {
			why = asJSON(t, r)
		}
	}
	if len(srv.Requests()) != 2 || !strings.Contains(why, "400ms") {
		t.Errorf("%d requests, %q", len(srv.Requests()), why)
	}
	for text, want := range map[string]time.Duration{"": 0, "2m": 2 * time.Minute, "0s": -1, "0": -1, "-1s": -1} {
		po, err := app.ProviderOptions(&config.Config{StallTimeout: text}, app.Env{Getenv: os.Getenv})
		if err != nil || po.Stall != want {
			t.Errorf("%q: %v, %v, want %v", text, po.Stall, err, want)
		}
	}
	if _, err := app.ProviderOptions(&config.Config{StallTimeout: "soon"}, app.Env{Getenv: os.Getenv}); err == nil || !strings.Contains(err.Error(), "stallTimeout") {
		t.Error(err)
	}
}

// softLimit asks before the limit itself, once; a no ends the run as the limit
// would.
func TestSoftLimit(t *testing.T) {
	for _, yes := range []bool{true, false} {
		w := newWorld(t)
		var asked []string
		w.change = func(o *app.Options) {
			o.Config.MaxTurns, o.Config.SoftLimit = 4, 50
			o.Ask = func(_ context.Context, _ *agent.Turn, q *agent.Question) (*agent.Answer, error) {
				var l agent.Limit
				if err := json.Unmarshal(q.Data, &l); err != nil || q.Kind != "limit" {
					t.Errorf("%+v, %v", q, err)
				}
				asked = append(asked, l.Text)
				return &agent.Answer{OK: yes}, nil
			}
		}
		list := llmtest.Call("Glob", m{"pattern": "*"})
		steps := []llmtest.Reply{list, list, llmtest.Say("done")}
		want := agent.StopFinished
		if !yes {
			steps, want = steps[:2], agent.StopTurns
		}
		a, _ := w.open(steps...)
		if res := say(t, a, "go"); len(asked) != 1 || asked[0] != "2 of 4 turns are done" || res.Stop != want {
			t.Errorf("answer %v: asked %q, ended %s", yes, asked, res.Stop)
		}
	}
}

// What the gate refuses of the settings is told with the place.
func TestProblemsOfPermissionsNameThePlace(t *testing.T) {
	for text, want := range map[string]string{
		"{\n\"permissions\": {\"defaultMode\": \"yolo\"}}":                       `settings.json:2: permissions.defaultMode: permission: "yolo" is not a mode: use default`,
		"{\"permissions\": {\"deny\": [\n\"Bash\",\n\"Bash(rm:*\"]}}":            `settings.json:3: permissions.deny: "Bash(rm:*": the closing bracket is missing`,
		"{\"permissions\": {\"additionalDirectories\": [\n\"/no/such/place\"]}}": `settings.json:2: permissions.additionalDirectories: the additional directory: `,
	} {
		home, dir := t.TempDir(), t.TempDir()
		if err := os.WriteFile(filepath.Join(home, "settings.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		none := func(string) string { return "" }
		c, err := config.Load(config.Sources{Home: home, Dir: dir, Getenv: none})
		if err != nil {
			t.Fatal(err)
		}
		c.Model = app.DemoModel
		if _, err = app.New(t.Context(), app.Options{Config: c, Home: home, Dir: dir, Getenv: none}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// maxContextTokens is the window of whatever model, and decides which tools and
// how much guidance it gets.
func TestMaxContextTokens(t *testing.T) {
	w := newWorld(t)
	w.change = func(o *app.Options) {
		c, err := config.Load(config.Sources{Home: w.home, Dir: w.dir, Getenv: func(k string) string {
			return map[string]string{"CANTLE_MAX_CONTEXT_TOKENS": "8000"}[k]
		}})
		if err != nil || c.From["maxContextTokens"] != "CANTLE_MAX_CONTEXT_TOKENS" {
			t.Fatalf("%v, %v", c, err)
		}
		o.Config.MaxContextTokens = c.MaxContextTokens
	}
	a, srv := w.open(llmtest.Say("ok"))
	say(t, a, "hi")
	if n := len(srv.Requests()[0].Request.Tools); a.Info.Context != 8000 || n != 5 {
		t.Errorf("a window of %d, %d tools", a.Info.Context, n)
	}
}
