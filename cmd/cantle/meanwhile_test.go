package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/llm/llmtest"
)

// A turn whose first calls make a repository of a folder, each of them allowed, and
// whose last one is git status, which is allowed too: together they would run what
// nobody allowed.
func TestCallsOfOneTurnTogether(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git here: ", err)
	}
	for _, oneLine := range []bool{false, true} {
		w := newWorld(t)
		canary := filepath.Join(w.home, "canary")
		config := "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = " + w.dir + "\n\tfsmonitor = touch " + canary + "; false\n"
		file := func(name, text string) map[string]any { return map[string]any{"file_path": name, "content": text} }
		sh := func(c string) map[string]any { return map[string]any{"command": c} }
		turn := llmtest.Call("Write", file("b/HEAD", "ref: refs/heads/main\n")).Call("Write", file("b/config", config)).
			Call("Write", file("b/objects/x", "x\n")).Call("Write", file("b/refs/x", "x\n")).Call("Bash", sh("cd b && git status"))
		if oneLine {
			turn = llmtest.Call("Bash", sh("mkdir -p b/objects b/refs && echo 'ref: refs/heads/main' > b/HEAD && printf '"+strings.ReplaceAll(config, "\n", `\n`)+"' > b/config && cd b && git status"))
		}
		told := ""
		w.serve(llmtest.WireChat, func(e *llmtest.Exchange) llmtest.Reply {
			last, ok := e.LastResult()
			if !ok {
				return turn
			}
			told = last
			return llmtest.Say("done")
		})
		args := []string{"--mode", "acceptEdits", "--set", "sandbox.mode=none"}
		for _, r := range []string{"git status", "cd", "mkdir", "echo", "printf"} {
			args = append(args, "--allow", "Bash("+r+":*)")
		}
		if out, errs, code := w.run(append(args, "go")...); code != 0 {
			t.Fatalf("exit %d: %s%s", code, out, errs)
		}
		if _, err := os.Stat(canary); err == nil {
			t.Errorf("in one line: %v; what no rule allows ran", oneLine)
		}
		if !strings.Contains(told, "configuration") {
			t.Errorf("in one line: %v; the model was told %q", oneLine, told)
		}
		// The canary would have told.
		if oneLine {
			continue
		}
		cmd := exec.Command("git", "status")
		cmd.Dir = filepath.Join(w.dir, "b")
		cmd.Env = w.env
		_ = cmd.Run()
		if _, err := os.Stat(canary); err != nil {
			t.Errorf("git does not run what its configuration says: %v", err)
		}
	}
}
