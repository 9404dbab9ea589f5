package main

import (
	"bytes"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cantle-dev/cantle/internal/app"
	"github.com/cantle-dev/cantle/internal/config"
	"github.com/cantle-dev/cantle/llm/catalog"
	"github.com/cantle-dev/cantle/llm/openai"
	"github.com/cantle-dev/cantle/llm/provider"
)

const root = "../../.."

// TestUpToDate holds the table in the manual against the catalog.
func TestUpToDate(t *testing.T) {
	old, err := os.ReadFile(page(root))
	if err != nil {
		t.Fatal(err)
	}
	r, err := read(root)
	if err != nil {
		t.Fatal(err)
	}
	tab, err := table(r)
	if err != nil {
		t.Fatal(err)
	}
	want, err := between(string(old), tab)
	if err != nil {
		t.Fatal(err)
	}
	if want == string(old) {
		return
	}
	have := strings.Split(string(old), "\n")
	for _, line := range strings.Split(tab, "\n") {
		if !slices.Contains(have, line) {
			t.Errorf("docs/providers.md lacks\n\t%s", line)
		}
	}
	t.Error("the table in docs/providers.md is out of date: go run ./internal/gen/providers")
}

// TestPage wants a word about each provider of the catalog in the text around
// the table, in which each is named anyhow.
func TestPage(t *testing.T) {
	text, err := os.ReadFile(page(root))
	if err != nil {
		t.Fatal(err)
	}
	before, rest, _ := strings.Cut(string(text), begin)
	_, after, _ := strings.Cut(rest, end)
	for _, p := range catalog.Providers() {
		if !strings.Contains(before+after, "`"+p.Name+"`") {
			t.Errorf("the text does not name `%s`", p.Name)
		}
		for _, v := range p.KeyEnv {
			if !strings.Contains(before+after, "`"+v+"`") {
				t.Errorf("the text does not name `%s`, the variable of %s", v, p.Name)
			}
		}
	}
}

// TestNames wants each setting, each option of a wire and each profile named.
func TestNames(t *testing.T) {
	text, err := os.ReadFile(page(root))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, typ := range []reflect.Type{reflect.TypeFor[config.Provider](), reflect.TypeFor[config.Model]()} {
		for i := range typ.NumField() {
			name, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
			names = append(names, name)
		}
	}
	for _, w := range provider.Wires() {
		names = append(append(names, w), provider.OptionNames(w)...)
	}
	names = append(names, slices.Collect(maps.Keys(openai.Profiles()))...)
	names = slices.DeleteFunc(names, func(n string) bool { return n == "cache" }) // that is promptCache
	for _, n := range slices.Compact(slices.Sorted(slices.Values(names))) {
		if !bytes.Contains(text, []byte("`"+n+"`")) {
			t.Errorf("docs/providers.md does not name `%s`", n)
		}
	}
}

// TestSettings loads the settings that the page shows, and opens the models
// that they name.
func TestSettings(t *testing.T) {
	text, err := os.ReadFile(page(root))
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(text), "```jsonc\n")[1:]
	if len(blocks) < 5 {
		t.Fatalf("there are %d blocks of settings", len(blocks))
	}
	for _, b := range blocks {
		b, _, _ = strings.Cut(b, "```")
		home := t.TempDir()
		if err := os.WriteFile(filepath.Join(home, "settings.json"), []byte("{"+b+"}"), 0o600); err != nil {
			t.Fatal(err)
		}
		getenv := func(name string) string {
			return map[string]string{"TEAM": "t", "MINE_KEY": "k", "GOOGLE_CLOUD_PROJECT": "p"}[name]
		}
		c, err := config.Load(config.Sources{Home: home, Dir: t.TempDir(), Getenv: getenv})
		if err != nil || len(c.Warnings) > 0 {
			t.Errorf("%v, %+v:\n%s", err, c, b)
			continue
		}
		var refs []string
		for name := range c.Providers {
			refs = append(refs, name+":some-model")
		}
		refs = slices.AppendSeq(refs, maps.Keys(c.Models))
		refs = slices.AppendSeq(refs, maps.Keys(c.Aliases))
		refs = append(append(refs, c.Fallback...), c.Route.Cheap, c.Route.Frontier)
		for _, ref := range slices.DeleteFunc(refs, func(r string) bool { return r == "" }) {
			o, err := app.ModelOptions(c, app.Env{Home: home, Getenv: getenv}, ref)
			if err == nil {
				o.Keys = nil // not those of whoever tests
				_, err = provider.Open(ref, o)
			}
			if err != nil && !errors.Is(err, provider.ErrNoKey) {
				t.Errorf("%s: %v", ref, err)
			}
		}
	}
}

func TestStreams(t *testing.T) {
	if got, want := slices.Sorted(maps.Keys(streams)), provider.Wires(); !slices.Equal(got, want) {
		t.Errorf("streams has %q, and there are %q", got, want)
	}
}

// TestTable breaks what the table is made of: it must show.
func TestTable(t *testing.T) {
	whole, err := table(recorded{Date: "2001-02-03", Providers: map[string]count{
		"anthropic": {Passed: 4, Failed: 1}, "ollama": {Passed: 2}, "ollama-cloud": {Passed: 3}, "elsewhere": {Passed: 1, Failed: 6},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{" | 4 of 5 |\n", "| free | 5 of 5 |\n", "as of 2001-02-03", "Of 7 with other servers, 1 pass."} {
		if !strings.Contains(whole, want) {
			t.Errorf("there is no %q in\n%s", want, whole)
		}
	}
	if n := strings.Count(whole, "\n| `"); n != len(catalog.Providers()) {
		t.Errorf("%d rows for %d providers", n, len(catalog.Providers()))
	}
	if _, err := between("no markers", whole); err == nil {
		t.Error("a page without markers is taken")
	}
	got, err := between("a\n"+begin+"old\n"+end+"b\n", "new\n")
	if err != nil || got != "a\n"+begin+"new\n"+end+"b\n" {
		t.Errorf("%q, %v", got, err)
	}
}

// TestRun makes a page in a folder of its own, from what replay writes.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	for _, d := range []string{filepath.Dir(file(dir)), filepath.Dir(page(dir))} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := run(dir); err == nil {
		t.Error("no page is no error")
	}
	if err := os.WriteFile(page(dir), []byte("x\n"+begin+end), 0o600); err != nil {
		t.Fatal(err)
	}
	now := time.Date(2030, 4, 5, 0, 0, 0, 0, time.UTC)
	if err := keep(strings.NewReader(`{"passed":0,"providers":{}}`), dir, now); err == nil {
		t.Error("counts of nobody are taken")
	}
	if err := keep(strings.NewReader(`{"passed":3,"failed":1,"skipped":0,"providers":{"groq":{"passed":3,"failed":1}}}`), dir, now); err != nil {
		t.Fatal(err)
	}
	if err := run(dir); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(page(dir))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"as of 2030-04-05", "| 3 of 4 |"} {
		if !bytes.Contains(text, []byte(want)) {
			t.Errorf("there is no %q in\n%s", want, text)
		}
	}
}
