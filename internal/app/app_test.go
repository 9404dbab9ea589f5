package app_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/internal/app"
	"github.com/cantle-dev/cantle/internal/config"
	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/llmtest"
)

// request is the first request of a run with a model of that window.
func request(t *testing.T, window int) *llmtest.Exchange {
	t.Helper()
	srv := llmtest.NewServer(t, llmtest.Play(t, llmtest.Say("ok")))
	dir, home := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "AGENTS.md"), []byte("Use tabs."), 0o600); err != nil {
		t.Fatal(err)
	}
	a, err := app.New(t.Context(), app.Options{
		Config: &config.Config{
			Model:     "t:m",
			Providers: map[string]config.Provider{"t": {BaseURL: srv.BaseURL(llmtest.WireAnthropic), Wire: llmtest.WireAnthropic}},
			Models:    map[string]config.Model{"t:m": {Context: window}},
		},
		Home: home, Dir: dir, Getenv: func(string) string { return "" },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if _, err := a.Agent.Run(t.Context(), a.Session, llm.Text{Text: "hi"}); err != nil {
		t.Fatal(err)
	}
	return srv.Requests()[0]
}

// fixed is the size of what every request holds.
func fixed(t *testing.T, e *llmtest.Exchange) int {
	t.Helper()
	tools, err := json.Marshal(e.Request.Tools)
	if err != nil {
		t.Fatal(err)
	}
	return len(e.Request.System) + len(tools)
}

// TestFixedCost bounds the system prompt and the tools together.
func TestFixedCost(t *testing.T) {
	for window, most := range map[int]int{200_000: 14_000, 8_192: 5_000} {
		if n := fixed(t, request(t, window)); n > most {
			t.Errorf("with a window of %d: %d bytes, more than %d", window, n, most)
		} else {
			t.Logf("with a window of %d: %d bytes", window, n)
		}
	}
}

// TestPromptHoldsNothingThatChanges looks for what belongs into notices.
func TestPromptHoldsNothingThatChanges(t *testing.T) {
	a, b := request(t, 200_000), request(t, 200_000)
	for _, e := range []*llmtest.Exchange{a, b} {
		if s := e.Request.System; !strings.Contains(s, "Use tabs.") || strings.Contains(s, "20"+"26") || strings.Contains(s, "ermission mode:") {
			t.Errorf("the system prompt: %s", s)
		}
		last := e.LastText()
		if !strings.Contains(last, "hi") || !strings.Contains(last, "Permission mode: default") {
			t.Errorf("the first message: %q", last)
		}
	}
}

func TestProblemsAreUsageErrors(t *testing.T) {
	for want, c := range map[string]*config.Config{
		"no model is configured":   {},
		"is not a model":           {Model: "x"},
		"maxCost":                  {Model: "demo:offline", MaxCost: "a lot"},
		"is not a mode":            {Model: "demo:offline", Permissions: config.Permissions{DefaultMode: "x"}},
		"the additional directory": {Model: "demo:offline", Permissions: config.Permissions{AdditionalDirectories: []string{"/nowhere/at/all"}}},
	} {
		_, err := app.New(t.Context(), app.Options{Config: c, Home: t.TempDir(), Dir: t.TempDir(), Getenv: func(string) string { return "" }})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
