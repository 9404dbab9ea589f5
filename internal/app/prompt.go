package app

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/cantle-dev/cantle/agent"
	"github.com/cantle-dev/cantle/builtin"
	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/memory"
	"github.com/cantle-dev/cantle/session"
)

//go:embed base.md
var baseGuidance string

//go:embed lean.md
var leanGuidance string

// leanWindow is the window below which the model gets fewer tools and shorter
// guidance.
const leanWindow = 16_000

// environment is the section about where the run takes place. It holds nothing
// that changes while a session goes on.
func environment(dir string, add []string, info llm.Info) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Environment\n- Working directory: %s\n", dir)
	for _, d := range add {
		fmt.Fprintf(&b, "- Also in the workspace: %s\n", d)
	}
	root := memory.ProjectRoot(dir)
	if _, err := os.Lstat(filepath.Join(root, ".git")); err == nil {
		fmt.Fprintf(&b, "- Git repository: yes, from %s\n", root)
	} else {
		b.WriteString("- Git repository: no\n")
	}
	fmt.Fprintf(&b, "- Platform: %s/%s\n- Model: %s", runtime.GOOS, runtime.GOARCH, info.Ref())
	return b.String()
}

const denialSection = "A call that the user or a rule denies is answered with the reason. Do not try to reach the same by another way: do without it, or say what you need and why."

// notices tells the model, on the first message of a run, what may have changed
// since the last: the date, the branch, the permission mode. It is a notice and
// not part of the system prompt, so that the prompt stays as it is.
func notices(dir string, now func() time.Time, mode func() string) agent.Middleware {
	const kind = "app.notice"
	return agent.Middleware{Name: "notices", Priority: 20, Start: func(ctx context.Context, t *agent.Turn, _ *agent.Setup) error {
		text := "Today is " + now().Format("Monday, 2 January 2006") + ". Permission mode: " + mode() + "."
		if b := branch(memory.ProjectRoot(dir)); b != "" {
			text += " Git branch: " + b + "."
		}
		last := ""
		for n, err := range t.Session.Notes(ctx, kind) {
			if err != nil {
				return err
			}
			_ = json.Unmarshal(n.Data, &last) // one that cannot be read is said again
		}
		if text == last {
			return nil
		}
		t.Notice(llm.Text{Text: "[" + text + "]"})
		data, err := json.Marshal(text)
		if err != nil {
			return err
		}
		return t.Append(ctx, session.Note{Kind: kind, Data: data})
	}}
}

// branch reads the branch without running git, which a repository's own
// configuration could turn into running anything.
func branch(root string) string {
	head := filepath.Join(root, ".git", "HEAD")
	info, err := os.Lstat(head)
	if err != nil || !info.Mode().IsRegular() || info.Size() > 4096 {
		return ""
	}
	b, err := os.ReadFile(head)
	if err != nil {
		return ""
	}
	name, ok := strings.CutPrefix(strings.TrimSpace(string(b)), "ref: refs/heads/")
	if !ok || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == ']' }) {
		return ""
	}
	return name
}

// finished tells the model of background jobs that have ended since it last
// heard of them.
func finished(jobs *builtin.JobTable) agent.Middleware {
	return agent.Middleware{Name: "jobs", Priority: 30, Model: func(next agent.ModelFunc) agent.ModelFunc {
		return func(ctx context.Context, t *agent.Turn, req *llm.Request) iter.Seq2[llm.Event, error] {
			for _, j := range jobs.Finished(t.Session.ID()) {
				t.Notice(llm.Text{Text: fmt.Sprintf("[The background job %s has ended: %s.]", j.ID, j.Status)})
			}
			return next(ctx, t, req)
		}
	}}
}
