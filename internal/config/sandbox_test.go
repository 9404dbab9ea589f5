package config_test

import (
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/internal/config"
)

func TestSandboxSettings(t *testing.T) {
	c, err := load(t, map[string]string{
		"home/settings.json": `{"sandbox": {"mode": "docker", "image": "python:3.12-slim", "strict": true, "network": "off", "autoAllow": true,
			"allowedDomains": ["Example.com", "*.go.dev", "bücher.example"], "excluded": ["docker:*"], "write": ["~/.cache/x", "/var/tmp/y"], "hide": ["/etc/shadow", "~/notes"]},
			"envPassthrough": ["CI", "MONKEY", "KEYBOARD"], "permissions": {"askTimeout": "5m", "reviewer": {"model": "a:b", "timeout": "30s", "instructions": "be strict"}}}`,
		"managed.json": `{"sandbox": {"hide": ["/srv"], "allowedDomains": []}}`,
	}, nil, config.Flag{Key: "sandbox.hide", Value: "/opt/x", Name: "--set"})
	want := config.Sandbox{
		Mode: "docker", Image: "python:3.12-slim", Strict: true, Network: "off", AutoAllow: true, AllowedDomains: []string{},
		Excluded: []string{"docker:*"}, Write: []string{"~/.cache/x", "/var/tmp/y"}, Hide: []string{"/etc/shadow", "~/notes", "/opt/x", "/srv"},
	}
	if err != nil || !reflect.DeepEqual(c.Sandbox, want) || !slices.Equal(c.EnvPassthrough, []string{"CI", "MONKEY", "KEYBOARD"}) || c.Permissions.AskTimeout != "5m" ||
		c.Permissions.Reviewer != (config.Reviewer{Model: "a:b", Timeout: "30s", Instructions: "be strict"}) || len(c.Warnings) != 0 {
		t.Errorf("%+v, %v", c, err)
	}
}

// What a project says of the sandbox counts where it confines more than what
// the user has, and is left out with a warning otherwise.
func TestProjectOnlyTightensTheSandbox(t *testing.T) {
	for _, w := range []struct{ user, project, left string }{
		{`{}`, `"mode": "none"`, "mode"},
		{`{}`, `"mode": "outer"`, "mode"},
		{`{}`, `"mode": "landlock"`, "mode"},
		{`{}`, `"mode": "auto"`, "mode"}, // it is so already
		{`{}`, `"mode": ""`, "mode"},
		{`{}`, `"mode": "docker"`, "mode"},
		{`{}`, `"mode": "bubblewrap"`, ""},
		{`{"mode": "none"}`, `"mode": "auto"`, ""},
		{`{"mode": "none"}`, `"mode": "landlock"`, ""},
		{`{"mode": "none"}`, `"mode": "docker"`, "mode"},
		{`{"mode": "bubblewrap"}`, `"mode": "seatbelt"`, "mode"},
		{`{"mode": "bwrap"}`, `"mode": "bubblewrap"`, "mode"},
		{`{"mode": "docker"}`, `"mode": "bubblewrap"`, "mode"},
		{`{}`, `"strict": true`, ""},
		{`{"strict": true}`, `"strict": false`, "strict"},
		{`{"network": "on"}`, `"network": "off"`, ""},
		{`{}`, `"network": "on"`, "network"},
		{`{}`, `"network": ""`, "network"},
		{`{"autoAllow": true}`, `"autoAllow": false`, ""},
		{`{}`, `"autoAllow": true`, "autoAllow"},
		{`{}`, `"image": "evil/image"`, "image"},
		{`{}`, `"allowedDomains": ["evil.example"]`, "allowedDomains"},
		{`{"allowedDomains": ["a.example"]}`, `"allowedDomains": []`, "allowedDomains"},
		{`{}`, `"excluded": ["sh:*"]`, "excluded"},
		{`{}`, `"write": ["/etc"]`, "write"},
		{`{"hide": ["/a"]}`, `"hide": ["/b"]`, ""},
	} {
		user := map[string]string{"home/settings.json": `{"sandbox": ` + w.user + `}`}
		before, err := load(t, user, nil)
		if err != nil {
			t.Fatal(err)
		}
		user["p/.cantle/settings.json"] = `{"sandbox": {` + w.project + `}}`
		c, err := load(t, user, nil)
		switch {
		case err != nil:
			t.Errorf("%+v: %v", w, err)
		case w.left == "" && (len(c.Warnings) > 0 || reflect.DeepEqual(c.Sandbox, before.Sandbox)):
			t.Errorf("%+v: %+v, %q", w, c.Sandbox, c.Warnings)
		case w.left != "" && (len(c.Warnings) != 1 || !strings.Contains(c.Warnings[0], "settings.json: sandbox."+w.left+" is left out") || !reflect.DeepEqual(c.Sandbox, before.Sandbox)):
			t.Errorf("%+v: %+v, %q", w, c.Sandbox, c.Warnings)
		}
	}
	if _, err := load(t, map[string]string{"p/.cantle/settings.json": `{"sandbox": {"Mode": "none"}}`}, nil); err == nil {
		t.Error("a key in capitals was taken")
	}
}

func TestProjectSetsNoReviewer(t *testing.T) {
	c, err := load(t, map[string]string{
		"p/.cantle/settings.json": `{"envPassthrough": ["SSH_AUTH_SOCK"], "permissions": {"askTimeout": "1ns", "reviewer": {"model": "evil:yes"}}}`,
	}, nil)
	if err != nil || c.EnvPassthrough != nil || c.Permissions.AskTimeout != "" || c.Permissions.Reviewer != (config.Reviewer{}) || len(c.Warnings) != 1 {
		t.Errorf("%+v, %v", c, err)
	}
}

// Each rule that took effect is in the layer that it is from.
func TestLayersNameTheirRules(t *testing.T) {
	files := map[string]string{
		"home/settings.json":            `{"permissions": {"allow": ["Read"], "deny": ["Bash(rm:*)"]}}`,
		"p/.cantle/settings.json":       `{"permissions": {"allow": ["Bash"], "ask": ["Edit"]}}`,
		"p/.cantle/settings.local.json": `{"permissions": {"deny": ["Read"]}}`,
		"managed.json":                  `{"permissions": {"deny": ["WebFetch"]}}`,
	}
	c, err := load(t, files, nil, config.Flag{Key: "permissions.allow", Value: `["Glob"]`, Name: "--allow"},
		config.Flag{Key: "permissions.allow", Value: `["Grep"]`, Name: "--allow"}, config.Flag{Key: "permissions.deny", Value: `["Write"]`, Name: "--deny"},
		config.Flag{Key: "permissions.defaultMode", Value: "plan", Name: "--mode"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, l := range c.Layers {
		got = append(got, strings.Join([]string{l.Name, filepath.Base(l.File), strings.Join(l.Allow, " "), strings.Join(l.Deny, " "), strings.Join(l.Ask, " ")}, "|"))
	}
	want := []string{"user|settings.json|Read|Bash(rm:*)|", "project|settings.json|||Edit", "local|settings.local.json||Read|", "flags|--allow|Glob Grep||", "flags|--deny||Write|", "managed|managed.json||WebFetch|"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

func TestUsersOwnSettingsForAProject(t *testing.T) {
	root := t.TempDir()
	home, dir, link := filepath.Join(root, "home"), filepath.Join(root, "a b", "p.é"), filepath.Join(root, "link")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	file := config.ProjectFile(home, dir)
	for name, text := range map[string]string{
		filepath.Join(home, "settings.json"): `{"model": "a:user", "maxTurns": 9, "permissions": {"allow": ["Read"]}}`,
		file:                                 `{"model": "a:mine", "env": {"A": "1"}, "permissions": {"allow": ["Bash(make:*)"]}}`,
		filepath.Join(dir, ".cantle", "settings.json"): `{"maxTurns": 3}`,
	} {
		if err := config.Set(name, "maxTurns", "5"); err != nil { // makes the folder
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, err := config.Load(config.Sources{Home: home, Dir: dir, Getenv: func(string) string { return "" }})
	if err != nil || c.Model != "a:mine" || c.Env["A"] != "1" || c.MaxTurns != 3 || !slices.Equal(c.Permissions.Allow, []string{"Read", "Bash(make:*)"}) ||
		len(c.Layers) != 2 || c.Layers[1].Name != "projectUser" || c.Layers[1].File != file || len(c.Warnings) != 0 {
		t.Errorf("%+v, %v", c, err)
	}
	if err := os.Symlink(dir, link); err != nil {
		t.Skip("this system makes no links: ", err)
	}
	if got := config.ProjectFile(home, link); got != file {
		t.Errorf("through a link it is %s, not %s", got, file)
	}
}

// Two folders have two names, however much alike their paths are.
func TestProjectID(t *testing.T) {
	long := strings.Repeat("/"+strings.Repeat("x", 100), 3)
	seen := map[string]string{}
	for _, p := range []string{"/a/b", "/a-b", "/a/b/c", "/a_b", "/", "/a/ü", "/a/u", long + "/a", long + "/b", long + strings.Repeat("y", 80), long + strings.Repeat("y", 81)} {
		if runtime.GOOS == "windows" {
			p = `C:` + filepath.FromSlash(p)
		}
		id := config.ProjectID(p)
		if was, ok := seen[id]; ok {
			t.Errorf("%s and %s are both %s", was, p, id)
		}
		seen[id] = p
		if len(id) > 60 || strings.ContainsFunc(id, func(r rune) bool { return r > 'z' || r == '/' || r == '.' || r == '\\' }) {
			t.Errorf("%s: %s", p, id)
		}
	}
}
