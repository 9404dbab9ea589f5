package app_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/cantle-dev/cantle/agent"
	"github.com/cantle-dev/cantle/internal/app"
	"github.com/cantle-dev/cantle/internal/config"
	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/llmtest"
)

// world is a user's home and a project, and the models that are met there.
type world struct {
	t         *testing.T
	home, dir string
	// change may change what an app is made of.
	change func(*app.Options)
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, home: t.TempDir(), dir: t.TempDir()}
	w.write(".git/HEAD", "ref: refs/heads/main\n")
	return w
}

func (w *world) write(name, text string) {
	w.t.Helper()
	name = filepath.Join(w.dir, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// open makes an app on a scripted model.
func (w *world) open(replies ...llmtest.Reply) (*app.App, *llmtest.Server) {
	w.t.Helper()
	srv := llmtest.NewServer(w.t, llmtest.Play(w.t, replies...))
	o := app.Options{
		Config: &config.Config{
			Model:     "t:m",
			Providers: map[string]config.Provider{"t": {BaseURL: srv.BaseURL(llmtest.WireAnthropic), Wire: llmtest.WireAnthropic}},
			Models:    map[string]config.Model{"t:m": {Context: 200_000, Price: &config.ModelPrice{Input: "1", Output: "1"}}},
		},
		Home: w.home, Dir: w.dir, Getenv: func(string) string { return "" }, Yes: true, Environ: []string{"PATH=/usr/bin:/bin"},
	}
	if w.change != nil {
		w.change(&o)
	}
	a, err := app.New(w.t.Context(), o)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		if err := a.Close(); err != nil {
			w.t.Error(err)
		}
	})
	return a, srv
}

// say runs one prompt.
func say(t *testing.T, a *app.App, prompt string) *agent.Result {
	t.Helper()
	res, err := a.Agent.Run(t.Context(), a.Session, llm.Text{Text: prompt})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// run makes an app, runs one prompt and returns what the model saw.
func (w *world) run(prompt string, replies ...llmtest.Reply) []*llmtest.Exchange {
	w.t.Helper()
	a, srv := w.open(replies...)
	say(w.t, a, prompt)
	return srv.Requests()
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
