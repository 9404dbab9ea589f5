package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/internal/config"
)

func load(t *testing.T, files map[string]string, env map[string]string, flags ...config.Flag) (*config.Config, error) {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		f := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(f), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(f, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return config.Load(config.Sources{
		Home: filepath.Join(root, "home"), Dir: filepath.Join(root, "p"), Managed: filepath.Join(root, "managed.json"),
		Getenv: func(k string) string { return env[k] }, Flags: flags,
	})
}

func TestLayers(t *testing.T) {
	c, err := load(t, map[string]string{
		"home/settings.json": `{
			// mine
			"model": "a:user", "maxTurns": 7, "permissions": {"deny": ["Bash"], "allow": ["Read"]},
		}`,
		"p/.cantle/settings.json":       `{"maxTurns": 6, "model": "a:project", "permissions": {"deny": ["Write"], "allow": ["Bash"], "defaultMode": "auto"}, "env": {"X": "1"}}`,
		"p/.cantle/settings.local.json": `{"effort": "high"}`,
		"managed.json":                  `{"permissions": {"ask": ["Edit"]}}`,
	}, map[string]string{"CANTLE_MODEL": "a:env"}, config.Flag{Key: "maxTurns", Value: "9", Name: "--max-turns"})
	if err != nil {
		t.Fatal(err)
	}
	p := c.Permissions
	if c.Model != "a:env" || c.MaxTurns != 9 || c.Effort != "high" || !slices.Equal(p.Deny, []string{"Bash", "Write"}) ||
		!slices.Equal(p.Allow, []string{"Read"}) || p.DefaultMode != "" || len(c.Env) != 0 || !slices.Equal(p.Ask, []string{"Edit"}) {
		t.Errorf("%+v", c)
	}
	if c.From["model"] != "CANTLE_MODEL" || c.From["maxTurns"] != "--max-turns" || !strings.HasSuffix(c.From["effort"], "settings.local.json") {
		t.Errorf("%v", c.From)
	}
	if len(c.Warnings) != 2 || !strings.Contains(c.Warnings[1], "model, env and permissions.allow are left out: this folder is not trusted") {
		t.Errorf("warnings %q", c.Warnings)
	}
}

func TestErrorsNameFileLineAndKey(t *testing.T) {
	for text, want := range map[string]string{
		"{\n\"\": 1}":                                    `settings.json:2: "": there is no such setting`,
		"{\"permissions\": {\n\"\": []}}":                `settings.json:2: permissions."": there is no such setting`,
		"{\n\" \\u001b\": 1}":                            `settings.json:2: " \x1b": there is no such setting`,
		"{\n\"models\": {\"\": {}}}":                     `settings.json:2: models."": "" is not the name of a model`,
		"{\n\n \"modle\": \"x\"}":                        "settings.json:3: modle: there is no such setting",
		"{\"permissions\": {\n\"alow\": []}}":            "settings.json:2: permissions.alow: ",
		"{\n\"maxTurns\": \"x\"}":                        "settings.json:2: maxTurns: a whole number that is not less than 0 is wanted, text came",
		"{\"max_turns\": 3}":                             "did you mean maxTurns?",
		"{\"model\": ":                                   "not JSON",
		"[]":                                             "an object is wanted",
		"{\"providers\": {\"x\": {\"apiKey\": \"sk\"}}}": "settings.json:1: providers.x.apiKey: a key must not be in the settings: store it with cantle login",
	} {
		_, err := load(t, map[string]string{"home/settings.json": text}, nil)
		var e *config.Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
	for key, want := range map[string]string{"": `--set: "": there is no such setting`, "permissions.": `--set: permissions."": there is no such setting`, ".x": `--set: "".x: `} {
		if _, err := load(t, nil, nil, config.Flag{Key: key, Value: "1", Name: "--set"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", key, err, want)
		}
	}
	if _, err := load(t, nil, nil, config.Flag{Key: "nope.x", Value: "1", Name: "--set"}); err == nil || !strings.Contains(err.Error(), "--set") {
		t.Errorf("got %v", err)
	}
}

func TestSetTakesTextAndJSON(t *testing.T) {
	c, err := load(t, nil, nil, config.Flag{Key: "permissions.allow", Value: "Read", Name: "--allow"},
		config.Flag{Key: "model", Value: "123", Name: "-m"}, config.Flag{Key: "providers.x.baseUrl", Value: "http://127.0.0.1:1", Name: "--set"})
	if err != nil || c.Model != "123" || !slices.Equal(c.Permissions.Allow, []string{"Read"}) || c.Providers["x"].BaseURL == "" {
		t.Errorf("%+v, %v", c, err)
	}
}
