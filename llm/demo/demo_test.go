package demo_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/demo"
	"github.com/cantle-dev/cantle/llm/llmtest"
)

func Example() {
	m := demo.New("offline")
	resp, err := llm.Generate(context.Background(), m, &llm.Request{
		Messages: []llm.Message{llm.UserText("What does this project do?")},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(resp.Message.Text())
	// Output:
	// I am Cantle's built-in stand-in, not a language model: I follow a fixed script and understand nothing. I was given no tools, so I looked at nothing.
	//
	// The conversation has 1 message. It was asked:
	//
	// - What does this project do?
	//
	// For an answer to what you asked, choose a language model.
}

func TestConformance(t *testing.T) {
	llmtest.TestModel(t, llmtest.Harness{New: func(testing.TB, string) llm.Model { return demo.New("offline") }})
}

func TestInfo(t *testing.T) {
	i := demo.New("offline").Info()
	if i.Ref() != "demo:offline" || !i.Traits.StandIn || i.Price == nil || i.Price.Cost(llm.Usage{Input: 1000, Output: 1000}) != 0 || i.Wire != "demo" {
		t.Errorf("got %+v", i)
	}
}

// repo is a directory with tools over it that behave as a coding agent's do.
type repo struct {
	dir     string
	tools   []llm.ToolSpec
	fail    map[string]string // by tool: the error that it gives
	grouped bool              // Grep writes the path above its lines, and a blank before each
	called  []string
}

func newRepo(t *testing.T, files map[string]string) *repo {
	t.Helper()
	r := &repo{dir: t.TempDir(), fail: map[string]string{}}
	for name, content := range files {
		path := filepath.Join(r.dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r.tools = []llm.ToolSpec{
		spec("Glob", `"pattern":{"type":"string"},"path":{"type":"string"}`, "pattern"),
		spec("Read", `"file_path":{"type":"string"},"offset":{"type":"integer"},"limit":{"type":"integer"}`, "file_path"),
		spec("Grep", `"pattern":{"type":"string"},"output_mode":{"enum":["content","count"]}`, "pattern"),
		spec("Bash", `"command":{"type":"string"},"description":{"type":"string"}`, "command"),
		spec("Write", `"file_path":{"type":"string"},"content":{"type":"string"}`, "file_path", "content"),
	}
	return r
}

func spec(name, props string, required ...string) llm.ToolSpec {
	req, _ := json.Marshal(required)
	return llm.ToolSpec{Name: name, Input: json.RawMessage(`{"type":"object","properties":{` + props + `},"required":` + string(req) + `,"additionalProperties":false}`)}
}

func (r *repo) without(names ...string) *repo {
	r.tools = slices.DeleteFunc(r.tools, func(t llm.ToolSpec) bool { return slices.Contains(names, t.Name) })
	return r
}

func (r *repo) walk() (names []string) {
	_ = filepath.WalkDir(r.dir, func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(r.dir, p)
			names = append(names, filepath.ToSlash(rel))
		}
		return err
	})
	return names
}

// run is the tools' side of a call.
func (r *repo) run(t *testing.T, c llm.ToolCall) llm.ToolResult {
	t.Helper()
	r.called = append(r.called, c.Name)
	var in map[string]any
	if err := json.Unmarshal(c.Input, &in); err != nil {
		t.Fatalf("%s has the input %s", c.Name, c.Input)
	}
	i := slices.IndexFunc(r.tools, func(t llm.ToolSpec) bool { return t.Name == c.Name })
	if i < 0 {
		t.Fatalf("it called %s, which it was not offered", c.Name)
	}
	var schema struct {
		Properties map[string]any
		Required   []string
	}
	if err := json.Unmarshal(r.tools[i].Input, &schema); err != nil {
		t.Fatal(err)
	}
	for k := range in {
		if _, ok := schema.Properties[k]; !ok {
			t.Errorf("%s has no argument %q", c.Name, k)
		}
	}
	for _, k := range schema.Required {
		if _, ok := in[k]; !ok {
			t.Errorf("%s lacks %q", c.Name, k)
		}
	}
	if why, ok := r.fail[c.Name]; ok {
		return llm.ToolResult{CallID: c.ID, IsError: true, Parts: llm.Texts(why)}
	}
	text, err := r.do(c.Name, in)
	if err != nil {
		return llm.ToolResult{CallID: c.ID, IsError: true, Parts: llm.Texts(err.Error())}
	}
	return llm.ToolResult{CallID: c.ID, Name: c.Name, Parts: llm.Texts(text)}
}

func (r *repo) do(name string, in map[string]any) (string, error) {
	arg := func(k string) string { s, _ := in[k].(string); return s }
	var b strings.Builder
	switch name {
	case "Glob":
		for _, n := range r.walk() {
			if arg("pattern") != "*" || !strings.Contains(n, "/") {
				fmt.Fprintln(&b, n)
			}
		}
		if b.Len() == 0 {
			return "No files match.", nil
		}
	case "Read":
		path := filepath.Join(r.dir, arg("file_path"))
		if es, err := os.ReadDir(path); err == nil {
			for _, e := range es {
				fmt.Fprintln(&b, e.Name())
			}
			return b.String(), nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return "", errors.New("read: there is no such file")
		}
		if strings.ContainsRune(string(data), 0) {
			return "", errors.New("read: it is a binary file")
		}
		for i, l := range strings.Split(strings.TrimSuffix(string(data), "\n"), "\n") {
			fmt.Fprintf(&b, "%6d\t%s\n", i+1, l)
		}
	case "Grep":
		re, err := regexp.Compile(arg("pattern"))
		if err != nil {
			return "", err
		}
		for _, n := range r.walk() {
			data, err := os.ReadFile(filepath.Join(r.dir, n))
			if err != nil {
				return "", err
			}
			head := n + "\n"
			for i, l := range strings.Split(string(data), "\n") {
				switch {
				case !re.MatchString(l):
				case r.grouped:
					fmt.Fprintf(&b, "%s%d: %s\n", head, i+1, l)
					head = ""
				default:
					fmt.Fprintf(&b, "%s:%d:%s\n", n, i+1, l)
				}
			}
		}
	case "Bash":
		switch cmd := arg("command"); {
		case cmd == "ls":
			return strings.Join(r.walk(), "\n"), nil
		case strings.HasPrefix(cmd, "head "):
			f := strings.Trim(cmd[strings.LastIndexByte(cmd, ' ')+1:], "'")
			data, err := os.ReadFile(filepath.Join(r.dir, f))
			return string(data), err
		}
		return "", errors.New("fatal: not a git repository (or any of the parent directories): .git")
	}
	return b.String(), nil
}

// play runs the conversation to its end and returns the last answer.
func (r *repo) play(t *testing.T, ms []llm.Message) (string, []llm.Message) {
	t.Helper()
	m := demo.New("offline")
	seen := map[string]bool{}
	for range 8 {
		req := &llm.Request{Messages: ms, Tools: r.tools}
		resp, err := llm.Generate(t.Context(), m, req)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := llm.Generate(t.Context(), m, req); err != nil || !reflect.DeepEqual(resp, again) {
			t.Fatalf("the same request got another answer: %v", err)
		}
		if u := resp.Usage; u == nil || u.Input != int64(llm.Estimate(req)) || u.Output <= 0 {
			t.Errorf("usage %+v", u)
		}
		ms = append(slices.Clone(ms), resp.Message)
		calls := resp.Message.Parts.Calls()
		if (len(calls) > 0) != (resp.Stop == llm.StopToolUse) {
			t.Errorf("%d calls with stop %q", len(calls), resp.Stop)
		}
		if !strings.Contains(strings.ToLower(resp.Message.Text()), "stand-in") {
			t.Errorf("a message does not say what it is from: %q", resp.Message.Text())
		}
		if len(calls) == 0 {
			return resp.Message.Text(), ms
		}
		var results llm.Parts
		for _, c := range calls {
			if seen[c.ID] {
				t.Errorf("the id %s is used twice", c.ID)
			}
			seen[c.ID] = true
			results = append(results, r.run(t, c))
		}
		ms = append(ms, llm.Message{Role: llm.RoleUser, Parts: results})
	}
	t.Fatal("it does not come to an end")
	return "", nil
}

var fence = regexp.MustCompile("(?s)`([^`\n]+):(\\d+)` says:\n\n```\n(.*?)\n```")

// checkQuotes holds each quote against the file and line that it names.
func (r *repo) checkQuotes(t *testing.T, answer string, least int) {
	t.Helper()
	ms := fence.FindAllStringSubmatch(answer, -1)
	if len(ms) < least {
		t.Errorf("%d quotes, want %d or more:\n%s", len(ms), least, answer)
	}
	for _, m := range ms {
		data, err := os.ReadFile(filepath.Join(r.dir, m[1]))
		if err != nil {
			t.Error(err)
			continue
		}
		n := 0
		fmt.Sscan(m[2], &n)
		lines := strings.Split(string(data), "\n")
		if n < 1 || n > len(lines) || strings.TrimSuffix(lines[n-1], "\r") != m[3] {
			t.Errorf("%s:%d is not %q", m[1], n, m[3])
		}
	}
}

func ask(prompt string) []llm.Message { return []llm.Message{llm.UserText(prompt)} }

func TestTwoRepositories(t *testing.T) {
	a := newRepo(t, map[string]string{
		"README.md":         "# Harbour\n\nHarbour moves ships from one list to another.\n",
		"go.mod":            "module example.com/harbour\n\ngo 1.26\n",
		"main.go":           "package main\n\nfunc main() {\n\tlaunch()\n}\n",
		"fleet/fleet.go":    "package fleet\n\n// Ship is one ship.\ntype Ship struct{ Name string }\n",
		"fleet/x_test.go":   "package fleet\n",
		"testdata/noise.go": "package noise\n",
	})
	b := newRepo(t, map[string]string{
		"package.json":  "{\n  \"name\": \"orchard\",\n  \"version\": \"1.0.0\"\n}\n",
		"src/index.js":  "export function graft(tree) {\r\n  return tree;\r\n}\r\n",
		"src/branch.js": "class Branch {}\n",
	})
	const prompt = "What does this project do?"
	textA, _ := a.play(t, ask(prompt))
	textB, _ := b.play(t, ask(prompt))
	if textA == textB {
		t.Error("both got the same answer")
	}
	a.checkQuotes(t, textA, 4)
	b.checkQuotes(t, textB, 3)
	for _, want := range []string{"# Harbour", "module example.com/harbour", "func main() {", "4 Go, 1 Markdown", "`README.md`, `go.mod`", "not a git repository", "`ls` printed"} {
		if !strings.Contains(textA, want) {
			t.Errorf("no %q in:\n%s", want, textA)
		}
	}
	for _, want := range []string{`  "name": "orchard",`, "export function graft(tree) {", "2 JavaScript"} {
		if !strings.Contains(textB, want) {
			t.Errorf("no %q in:\n%s", want, textB)
		}
	}
	if !strings.HasPrefix(textA, "I am Cantle's built-in stand-in, not a language model") {
		t.Errorf("the answer does not say first what it is: %s", textA)
	}
	if want := "Glob Glob Read Read Read Bash Bash"; strings.Join(a.called, " ") != want {
		t.Errorf("it called %v, want %s", a.called, want)
	}
}

func TestWordsOfThePrompt(t *testing.T) {
	r := newRepo(t, map[string]string{
		"a/deep/place/needle.go": "package place\n\nfunc parseHeader(b []byte) int { return len(b) }\n",
		"main.go":                "package main\n\nfunc main() {}\n",
		"z.txt":                  "notes about parseHeader\n",
	})
	r.grouped = true
	text, ms := r.play(t, ask("Where is parseHeader defined? Look at z.txt too, please."))
	r.checkQuotes(t, text, 3)
	for _, want := range []string{"`a/deep/place/needle.go:3` says:", "func parseHeader(b []byte) int", "was shown 2 lines in 2 files", "notes about parseHeader"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
	// The next question of the conversation is looked into anew.
	r.called, r.grouped = nil, false
	text, _ = r.play(t, append(ms, llm.UserText("And what has \"package main\" in it?")))
	if !slices.Contains(r.called, "Grep") || !strings.Contains(text, "`package main`") {
		t.Errorf("called %v:\n%s", r.called, text)
	}
	r.checkQuotes(t, text, 3)
}

func TestNoticesAreNotQuestions(t *testing.T) {
	r := newRepo(t, map[string]string{"main.go": "package main\n\nfunc main() {}\n"})
	m := demo.New("offline")
	ms := ask("What is here?")
	resp, err := llm.Generate(t.Context(), m, &llm.Request{Messages: ms, Tools: r.tools})
	if err != nil {
		t.Fatal(err)
	}
	results := llm.Parts{llm.Text{Text: "[Today is Monday. uniqueMarker]"}}
	for _, c := range resp.Message.Parts.Calls() {
		results = append(results, r.run(t, c))
	}
	ms = append(ms, resp.Message, llm.Message{Role: llm.RoleUser, Parts: results}, llm.UserText("<note>\nuniqueMarker\n</note>"))
	r.called = nil
	text, _ := r.play(t, ms)
	if slices.Contains(r.called, "Glob") || strings.Contains(text, "uniqueMarker") {
		t.Errorf("a notice was taken for a question: called %v\n%s", r.called, text)
	}
}

func TestFewerTools(t *testing.T) {
	files := map[string]string{"README.md": "# Lantern\n\nA lantern of many colours.\n", "lamp.py": "def light():\n    pass\n"}
	for name, c := range map[string]struct {
		without []string
		want    []string
		quotes  int
	}{
		"no Glob":           {[]string{"Glob"}, []string{"# Lantern", "def light():"}, 2},
		"a shell alone":     {[]string{"Glob", "Read", "Grep", "Write"}, []string{"# Lantern", "head -n 40 -- 'README.md'"}, 0},
		"no shell":          {[]string{"Bash"}, []string{"# Lantern"}, 2},
		"search alone":      {[]string{"Glob", "Read", "Bash", "Write"}, []string{"`lamp.py:1`", "def light():"}, 1},
		"nothing to use":    {[]string{"Glob", "Read", "Grep", "Bash"}, []string{"no tool that I know how to use"}, 0},
		"nothing whatever":  {[]string{"Glob", "Read", "Grep", "Bash", "Write"}, []string{"given no tools"}, 0},
		"no reading either": {[]string{"Read", "Bash"}, []string{"2 files were listed"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepo(t, files).without(c.without...)
			prompt := "What is it?"
			if name == "search alone" {
				prompt = "Where is `light`?"
			}
			text, _ := r.play(t, ask(prompt))
			for _, want := range c.want {
				if !strings.Contains(text, want) {
					t.Errorf("no %q in:\n%s", want, text)
				}
			}
			r.checkQuotes(t, text, c.quotes)
		})
	}
}

func TestFailuresAreReported(t *testing.T) {
	files := map[string]string{"main.go": "package main\n\nfunc main() {}\n", "README": "\x00\x01binary"}
	r := newRepo(t, files)
	r.fail["Bash"] = "Denied: the user said no."
	text, _ := r.play(t, ask("go"))
	for _, want := range []string{"The call `Bash` of `git log --oneline -n 3` was refused or failed: Denied: the user said no.", "it is a binary file", "func main() {}"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
	if n := len(slices.DeleteFunc(slices.Clone(r.called), func(s string) bool { return s != "Bash" })); n != 1 {
		t.Errorf("it tried %d commands after the first was refused", n-1)
	}
	r = newRepo(t, files)
	r.fail["Glob"], r.fail["Bash"] = "glob: broken", "bash: broken"
	text, _ = r.play(t, ask("go"))
	if !strings.Contains(text, "glob: broken") || !strings.Contains(text, "no line of text to quote") {
		t.Errorf("got:\n%s", text)
	}
}

func TestEmptyAndOddRepositories(t *testing.T) {
	text, _ := newRepo(t, nil).play(t, ask("What is here?"))
	if !strings.Contains(text, "looks empty") {
		t.Errorf("got:\n%s", text)
	}
	many := map[string]string{}
	for i := range 300 {
		many[fmt.Sprintf("pkg%d/f.go", i)] = fmt.Sprintf("package pkg%d\n", i)
	}
	many["evil.go"] = "\x1b[31mpackage evil ```\n" + strings.Repeat("x", 100_000) + "\n"
	many["with blanks.md"] = "# A name with blanks\n"
	r := newRepo(t, many)
	text, _ = r.play(t, ask("What is here?"))
	if strings.ContainsRune(text, 0x1b) || len(text) > 10_000 || !strings.Contains(text, "301 Go") {
		t.Errorf("%d bytes:\n%.3000s", len(text), text)
	}
	r.checkQuotes(t, text, 1)
}

func TestBounds(t *testing.T) {
	m := demo.New("offline")
	resp, err := llm.Generate(t.Context(), m, &llm.Request{Messages: ask("é"), MaxTokens: 10})
	if err != nil || resp.Stop != llm.StopMaxTokens || len(resp.Message.Text()) > 40 {
		t.Errorf("got %+v, %v", resp, err)
	}
	resp, err = llm.Generate(t.Context(), m, &llm.Request{Messages: ask("x"), Stop: []string{"language"}})
	if err != nil || resp.Stop != llm.StopSequence || resp.StopDetail != "language" || strings.Contains(resp.Message.Text(), "language") {
		t.Errorf("got %+v, %v", resp, err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	why := errors.New("enough")
	n := 0
	for ev, err := range m.Stream(ctx, &llm.Request{Messages: ask("x")}) {
		if n++; n == 2 {
			cancel(why)
		}
		if n > 2 && (ev != nil || !errors.Is(err, why)) {
			t.Errorf("after the cancel came %v, %v", ev, err)
		}
	}
	if n != 3 {
		t.Errorf("%d events", n)
	}
}

func TestToolChoice(t *testing.T) {
	r := newRepo(t, map[string]string{"main.go": "package main\n"})
	m := demo.New("offline")
	for mode, want := range map[llm.ToolChoice]string{
		{Mode: llm.ChoiceNone}:                "",
		{Mode: llm.ChoiceTool, Name: "Write"}: "Write",
		{Mode: llm.ChoiceAny}:                 "Glob",
	} {
		resp, err := llm.Generate(t.Context(), m, &llm.Request{Messages: ask("x"), Tools: r.tools, ToolChoice: mode})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if cs := resp.Message.Parts.Calls(); len(cs) > 0 {
			got = cs[0].Name
		}
		if got != want {
			t.Errorf("%v: called %q, want %q", mode, got, want)
		}
	}
}
