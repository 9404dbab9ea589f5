package app_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/internal/app"
	"github.com/cantle-dev/cantle/internal/config"
	"github.com/cantle-dev/cantle/llm/llmtest"
)

// TestReviewer: with one in the settings, what would be asked about is answered
// by it, within its floor; what it must not answer is denied where nobody is.
func TestReviewer(t *testing.T) {
	w := newWorld(t)
	judge := llmtest.NewServer(t, func(*llmtest.Exchange) llmtest.Reply {
		return llmtest.Call("verdict", m{"reason": "it is what was asked for", "verdict": "allow"})
	})
	w.change = func(o *app.Options) {
		o.Yes = false
		o.Config.Providers["j"] = config.Provider{BaseURL: judge.BaseURL(llmtest.WireChat), Wire: llmtest.WireChat}
		o.Config.Models["j:m"] = config.Model{Context: 32_000, Price: &config.ModelPrice{Input: "1", Output: "1"}}
		o.Config.Permissions.Reviewer = config.Reviewer{Model: "j:m", Timeout: "10s"}
	}
	seen := w.run("make the file", llmtest.Call("Write", m{"file_path": "made", "content": "x"}), llmtest.Call("Write", m{"file_path": ".git/hooks/x", "content": "x"}), llmtest.Say("ok"))
	if b, err := os.ReadFile(filepath.Join(w.dir, "made")); err != nil || string(b) != "x" {
		last, _ := seen[1].LastResult()
		t.Errorf("%q, %v: %s", b, err, last)
	}
	if last, _ := seen[2].LastResult(); !strings.HasPrefix(last, "Denied: ") {
		t.Errorf("a hook: %s", last)
	}
	if n := len(judge.Requests()); n != 1 {
		t.Errorf("the reviewer was asked %d times", n)
	}
}

// TestMistypedRules: a rule of the command line that names no tool is an error,
// for a denial that denies nothing must be heard of; one of a file is told.
func TestMistypedRules(t *testing.T) {
	o := app.Options{
		Config: &config.Config{Model: app.DemoModel, Layers: []config.Layer{{Name: "user", File: "f", Deny: []string{"Bsh(rm:*)", "mcp__x__*"}}}},
		Home:   t.TempDir(), Dir: t.TempDir(), Getenv: func(string) string { return "" },
	}
	a, err := app.New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if notes := strings.Join(a.Notes, "\n"); strings.Count(notes, "names no tool") != 1 || !strings.Contains(notes, "Bsh(rm:*)") {
		t.Errorf("%q", notes)
	}
	o.Config.Layers[0].Name = "flags"
	if _, err := app.New(t.Context(), o); !errors.Is(err, app.ErrUsage) || !strings.Contains(err.Error(), "Bsh(rm:*)") {
		t.Errorf("%v", err)
	}
}
