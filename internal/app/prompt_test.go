package app_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/internal/app"
	"github.com/cantle-dev/cantle/llm/llmtest"
)

// inOrder fails unless the texts stand in s, in that order.
func inOrder(t *testing.T, s string, texts ...string) {
	t.Helper()
	at := 0
	for _, text := range texts {
		i := strings.Index(s[at:], text)
		if i < 0 {
			t.Fatalf("%q is missing, or out of order, in:\n%s", text, s)
		}
		at += i + len(text)
	}
}

func TestSectionsOfThePrompt(t *testing.T) {
	w := newWorld(t)
	w.write("AGENTS.md", "Use tabs.")
	w.write("sub/deep/AGENTS.md", "Deeper.")
	root, err := filepath.EvalSymlinks(w.dir)
	if err != nil {
		t.Fatal(err)
	}
	w.dir = filepath.Join(w.dir, "sub", "deep")
	extra := t.TempDir()
	w.change = func(o *app.Options) {
		o.Config.AppendSystem = "The very last."
		o.Config.Permissions.AdditionalDirectories = []string{extra}
	}
	base := w.run("hi", llmtest.Say("ok"))[0].Request.System
	inOrder(t, base, "You are Cantle", "# Environment\n- Working directory: "+filepath.Join(root, "sub", "deep"), "- Also in the workspace: ",
		"- Git repository: yes, from "+root, "- Platform: ", "- Model: t:m", "denies", "Use tabs.", "Deeper.", "The very last.")
	if !strings.HasSuffix(base, "The very last.") {
		t.Errorf("something comes after what is last: %q", base[len(base)-100:])
	}

	// A base of the user's own replaces Cantle's, and nothing else.
	change := w.change
	w.change = func(o *app.Options) {
		change(o)
		o.Config.System = "You are a poet."
	}
	own := w.run("hi", llmtest.Say("ok"))[0].Request.System
	_, rest, _ := strings.Cut(base, "# Environment")
	if own != "You are a poet.\n\n# Environment"+rest {
		t.Errorf("got:\n%s", own)
	}
}

// The same inputs make the same bytes, whenever and however often, so that a
// provider's cache serves them.
func TestPromptIdentity(t *testing.T) {
	w := newWorld(t)
	w.write("AGENTS.md", "Use tabs.")
	for _, name := range []string{"A", "B", "C", "D"} {
		w.write(name+".go", name)
	}
	w.change = func(o *app.Options) {
		o.Config.Env = map[string]string{"A": "1", "B": "2", "C": "3"}
	}
	a, srv := w.open(llmtest.Say("ok"), llmtest.Call("Glob", m{"pattern": "*.go"}), llmtest.Say("ok"))
	say(t, a, "hi")
	w.write(".git/HEAD", "ref: refs/heads/other\n") // a change that is a notice
	say(t, a, "again")
	seen := append(srv.Requests(), w.run("hi", llmtest.Say("ok"))...)
	for _, e := range seen[1:] {
		if e.Request.System != seen[0].Request.System || asJSON(t, e.Request.Tools) != asJSON(t, seen[0].Request.Tools) {
			t.Error("the prompt or the tools changed")
		}
	}
	for i := 1; i < 3; i++ {
		if err := seen[i].Extends(seen[i-1]); err != nil {
			t.Error(err)
		}
	}
	if got := seen[1].LastText(); !strings.Contains(got, "Git branch: other") {
		t.Errorf("the other branch is not told: %q", got)
	}
	if n := strings.Count(string(seen[2].Body), "Git branch: other"); n != 1 {
		t.Errorf("it is told %d times", n)
	}
}

func TestNoRepository(t *testing.T) {
	w := &world{t: t, home: t.TempDir(), dir: t.TempDir()}
	if s := w.run("hi", llmtest.Say("ok"))[0].Request.System; !strings.Contains(s, "- Git repository: no\n") {
		t.Error(s)
	}
}
