package cantle_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/cantle-dev/cantle"

// A layer is a set of packages, by their path within the module; "x/..." is x
// and everything below it, and "x/*" is everything below x alone.
type layer struct {
	name  string
	paths []string
	// families says that packages under one top folder may import each other;
	// without it no two packages of the layer may.
	families bool
}

// layers is the order of the house, from the ground up: an import may only
// point to a layer that stands earlier in this list.
var layers = []layer{
	{name: "helpers", paths: []string{"internal/x/*"}, families: true},
	{name: "0 vocabulary", paths: []string{"llm"}},
	{name: "1 wire helpers and data", paths: []string{"llm/internal/*", "llm/catalog"}},
	{name: "1 adapters and leaf capabilities", paths: []string{
		"llm/anthropic", "llm/openai", "llm/gemini", "llm/cohere", "llm/ollama", "llm/wrap", "llm/llmtest", "llm/demo",
		"tool", "session/...", "sandbox/...",
	}, families: true},
	{name: "1 adapters on adapters", paths: []string{"llm/vertex", "llm/bedrock"}},
	{name: "1 models by name", paths: []string{"llm/provider"}},
	{name: "1 programs on adapters", paths: []string{"llm/llmtest/replay"}},
	{name: "2 agent", paths: []string{"agent"}},
	{name: "2 agent's tests", paths: []string{"agent/agenttest"}},
	{name: featureLayer, paths: []string{
		"builtin/...", "permission/...", "hook/...", "compact/...", "subagent/...", "skill/...", "mcp/...",
		"memory/...", "guard/...", "record/...", "checkpoint/...",
	}, families: true},
	{name: "4 keys", paths: []string{"internal/credential"}},
	{name: "4 settings", paths: []string{"internal/config"}},
	{name: "4 composition", paths: []string{"internal/app"}},
	{name: "4 faces", paths: []string{"internal/tui/...", "internal/acp/...", "internal/httpd/..."}},
	// The command line starts the other faces.
	{name: "4 command line", paths: []string{"internal/cli/..."}},
	{name: "5 programs", paths: []string{"cmd/*", "examples/...", "bench/...", "internal/gen/*"}},
	{name: "the root", paths: []string{"."}},
}

const featureLayer = "3 features"

// stdlibOnly are the packages that bring no other module into a program.
var stdlibOnly = []string{
	"llm", "llm/anthropic", "llm/openai", "llm/gemini", "llm/cohere", "llm/ollama", "llm/wrap", "llm/llmtest", "llm/catalog", "llm/demo",
	"tool", "session", "session/jsonl", "agent",
}

// bubbleTea are the paths under which Bubble Tea has been published.
var bubbleTea = []string{"github.com/charmbracelet/bubbletea", "charm.land/bubbletea"}

// pkg is what the rules need to know of a package. Imports are full paths and
// those of its tests are left out: a test may import what its package may not.
type pkg struct {
	ImportPath string
	Doc        string
	Imports    []string
	GoFiles    []string
}

func TestArchitecture(t *testing.T) {
	t.Parallel()
	// Files are chosen by system, so a rule could be broken on one alone.
	for _, system := range []string{"linux/amd64", "darwin/arm64", "windows/amd64"} {
		t.Run(system, func(t *testing.T) {
			t.Parallel()
			pkgs := list(t, system)
			for _, want := range []string{"llm", "tool", "session", "agent"} {
				if !slices.ContainsFunc(pkgs, func(p pkg) bool { return rel(p.ImportPath) == want }) {
					t.Errorf("go list did not name %s: the rules were not checked", want)
				}
			}
			for _, problem := range check(pkgs) {
				t.Error(problem)
			}
		})
	}
}

func TestGoMod(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range checkMod(goModJSON(t, data)) {
		t.Error(problem)
	}
}

// TestRules breaks each rule once: a rule that finds nothing holds nothing.
func TestRules(t *testing.T) {
	t.Parallel()
	in := func(p string, imports ...string) pkg {
		for i, imp := range imports {
			if after, ok := strings.CutPrefix(imp, "@"); ok {
				imports[i] = module + "/" + after
			}
		}
		return pkg{ImportPath: module + "/" + p, Doc: "Package x is.", Imports: imports, GoFiles: []string{"x.go"}}
	}
	tests := []struct {
		name string
		pkgs []pkg
		want string // "" means that nothing is wrong
	}{
		{"down", []pkg{in("agent", "@llm", "@tool", "@session", "fmt"), in("llm"), in("tool"), in("session")}, ""},
		{"no layer", []pkg{in("util")}, "util is in no layer"},
		{"no layer below a package that has one", []pkg{in("llm/more")}, "llm/more is in no layer"},
		{"import of a package in no layer", []pkg{in("agent", "@util")}, "agent imports util, which is in no layer"},
		{"up", []pkg{in("llm", "@agent")}, "llm (0 vocabulary) imports agent (2 agent)"},
		{"helper knows the agent", []pkg{in("internal/x/diff", "@llm")}, "internal/x/diff (helpers) imports llm"},
		{"anyone imports a helper", []pkg{in("builtin", "@internal/x/diff"), in("internal/x/diff")}, ""},
		{"sibling feature", []pkg{in("skill", "@builtin")}, "skill imports its sibling builtin"},
		{"sibling's inside", []pkg{in("hook", "@permission/internal/shell")}, "hook imports its sibling permission/internal/shell"},
		{"own inside", []pkg{in("permission", "@permission/internal/shell"), in("permission/internal/shell")}, ""},
		{"adapter on adapter", []pkg{in("llm/openai", "@llm/anthropic")}, "llm/openai imports its sibling llm/anthropic"},
		{"adapter on wire", []pkg{in("llm/openai", "@llm/internal/wire"), in("llm/internal/wire", "@internal/x/sse"), in("internal/x/sse")}, ""},
		{"adapter on the catalog", []pkg{in("llm/openai", "@llm/catalog")}, "llm/openai reads the catalog"},
		{"store on session", []pkg{in("session/jsonl", "@session"), in("session")}, ""},
		{"session on tool", []pkg{in("session", "@tool")}, "session imports its sibling tool"},
		{"face on feature", []pkg{in("internal/cli", "@permission")}, "internal/cli imports the feature permission"},
		{"app on feature", []pkg{in("internal/app", "@permission"), in("permission")}, ""},
		{"settings on app", []pkg{in("internal/config", "@internal/app")}, "internal/config (4 settings) imports internal/app (4 composition)"},
		{"face on face", []pkg{in("internal/acp", "@internal/tui")}, "internal/acp imports its sibling internal/tui"},
		{"other module", []pkg{in("tool", "example.com/m")}, "tool reaches example.com/m"},
		{
			"other module, reached",
			[]pkg{in("llm/openai", "@llm/internal/wire"), in("llm/internal/wire", "example.com/m")},
			"llm/openai reaches example.com/m, through llm/internal/wire",
		},
		{"other module, allowed", []pkg{in("builtin", "example.com/m")}, ""},
		{"Bubble Tea", []pkg{in("internal/cli", "charm.land/bubbletea/v2")}, "internal/cli imports charm.land/bubbletea/v2"},
		{"Bubble Tea, allowed", []pkg{in("internal/tui", "charm.land/bubbletea/v2")}, ""},
		{"no comment", []pkg{{ImportPath: module + "/llm", GoFiles: []string{"x.go"}}}, "llm has no package comment"},
		{"tests alone need no comment", []pkg{{ImportPath: module + "/bench"}}, ""},
	}
	for _, tt := range tests {
		got := check(tt.pkgs)
		if tt.want == "" && len(got) > 0 {
			t.Errorf("%s: got %q, want nothing", tt.name, got)
		}
		if tt.want != "" && !slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, tt.want) }) {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}

	for _, tt := range []struct{ mod, want string }{
		{"module m\n\ngo 1.26\n\nrequire example.com/m v1.0.0\n", ""},
		{"module m\n\nreplace example.com/m => ../m\n", "replaces example.com/m"},
		{"module m\n\nrequire (\n\t" + module + "/contrib/otel v0.1.0 // indirect\n)\n", "requires " + module + "/contrib/otel"},
	} {
		got := checkMod(goModJSON(t, []byte(tt.mod)))
		if tt.want == "" && len(got) > 0 || tt.want != "" && !strings.Contains(strings.Join(got, "\n"), tt.want) {
			t.Errorf("go.mod %q: got %q, want %q", tt.mod, got, tt.want)
		}
	}
}

// check returns what is wrong with the packages, in words.
func check(pkgs []pkg) []string {
	var problems []string
	bad := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	byPath := map[string]pkg{}
	for _, p := range pkgs {
		byPath[rel(p.ImportPath)] = p
	}
	for _, p := range pkgs {
		name := rel(p.ImportPath)
		from := layerOf(name)
		if from < 0 {
			bad("%s is in no layer: see docs/architecture.md, and add it to layers in arch_test.go", name)
			continue
		}
		// A folder that holds tests alone has no package that anyone could read.
		if len(p.GoFiles) > 0 && strings.TrimSpace(p.Doc) == "" {
			bad("%s has no package comment", name)
		}
		for _, imp := range p.Imports {
			if slices.ContainsFunc(bubbleTea, func(s string) bool { return under(imp, s) }) && !under(name, "internal/tui") {
				bad("%s imports %s: only internal/tui draws", name, imp)
			}
			if !own(imp) {
				continue
			}
			target := rel(imp)
			to := layerOf(target)
			switch {
			case to < 0:
				bad("%s imports %s, which is in no layer", name, target)
			case to > from:
				bad("%s (%s) imports %s (%s): an import may only point down", name, layers[from].name, target, layers[to].name)
			case to == from && !(layers[from].families && family(name) == family(target)):
				bad("%s imports its sibling %s: move what both want down", name, target)
			}
			if to >= 0 && layers[to].name == featureLayer && strings.HasPrefix(name, "internal/") && name != "internal/app" {
				bad("%s imports the feature %s: only internal/app chooses features", name, target)
			}
			if target == "llm/catalog" && strings.HasPrefix(name, "llm/") && name != "llm/provider" {
				bad("%s reads the catalog: what an adapter must know of a model is passed in", name)
			}
		}
		if slices.Contains(stdlibOnly, name) {
			if module, through := foreign(byPath, name); module != "" {
				bad("%s reaches %s, through %s: it uses the standard library alone", name, module, through)
			}
		}
	}
	return problems
}

// foreign returns an import from outside the module and the standard library
// that the package reaches, and the package of ours that imports it.
func foreign(byPath map[string]pkg, name string) (imp, through string) {
	seen := map[string]bool{name: true}
	for queue := []string{name}; len(queue) > 0; queue = queue[1:] {
		for _, imp := range byPath[queue[0]].Imports {
			first, _, _ := strings.Cut(imp, "/")
			switch {
			case own(imp):
				if next := rel(imp); !seen[next] {
					seen[next] = true
					queue = append(queue, next)
				}
			case strings.Contains(first, "."):
				return imp, queue[0]
			}
		}
	}
	return "", ""
}

// layerOf returns the index of the package's layer, or -1.
func layerOf(name string) int {
	return slices.IndexFunc(layers, func(l layer) bool {
		return slices.ContainsFunc(l.paths, func(pattern string) bool {
			if root, ok := strings.CutSuffix(pattern, "/..."); ok {
				return under(name, root)
			}
			if root, ok := strings.CutSuffix(pattern, "/*"); ok {
				return name != root && under(name, root)
			}
			return name == pattern
		})
	})
}

// family is the folder whose packages may know each other: the first, but for
// the wire adapters, which are all under llm and are each alone.
func family(name string) string {
	first, _, _ := strings.Cut(name, "/")
	if first == "llm" {
		return name
	}
	return first
}

func own(imp string) bool { return under(imp, module) }

func under(name, root string) bool { return name == root || strings.HasPrefix(name, root+"/") }

func rel(imp string) string {
	return path.Clean(strings.TrimPrefix(strings.TrimPrefix(imp, module), "/"))
}

func list(t *testing.T, system string) []pkg {
	t.Helper()
	goos, goarch, _ := strings.Cut(system, "/")
	// With -e a module that this system does not need, and that is not in the
	// cache, is no error here: whether the module builds is another test's job.
	cmd := exec.CommandContext(t.Context(), "go", "list", "-e", "-json=ImportPath,Doc,Imports,GoFiles", "./...")
	cmd.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0", "GOFLAGS=-mod=readonly")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, &stderr)
	}
	var pkgs []pkg
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return pkgs
		} else if err != nil {
			t.Fatalf("go list: %v", err)
		}
		pkgs = append(pkgs, p)
	}
}

type goMod struct {
	Require []struct{ Path string }
	Replace []struct{ Old struct{ Path string } }
}

// goModJSON reads a go.mod with the go command, so that no form of a directive
// is missed.
func goModJSON(t *testing.T, data []byte) goMod {
	t.Helper()
	file := path.Join(t.TempDir(), "go.mod")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "go", "mod", "edit", "-json", file).Output()
	if err != nil {
		t.Fatalf("go mod edit: %v", err)
	}
	var m goMod
	if err := json.Unmarshal(out, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func checkMod(m goMod) []string {
	var problems []string
	for _, r := range m.Replace {
		problems = append(problems, fmt.Sprintf("go.mod replaces %s: a replace is ignored in every program that imports this module", r.Old.Path))
	}
	for _, r := range m.Require {
		if under(r.Path, module+"/contrib") {
			problems = append(problems, fmt.Sprintf("go.mod requires %s: contrib depends on the module, never the other way round", r.Path))
		}
	}
	return problems
}
