package app

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/cantle-dev/cantle/agent"
	"github.com/cantle-dev/cantle/builtin"
	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/memory"
	"github.com/cantle-dev/cantle/session"
	"github.com/cantle-dev/cantle/tool"
)

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
	tell := func(t *agent.Turn) {
		for _, j := range jobs.Finished(t.Session.ID()) {
			t.Notice(llm.Text{Text: fmt.Sprintf("[The background job %s has ended: %s.]", j.ID, j.Status)})
		}
	}
	// Where another request is to follow: a notice after the last one of a run
	// would never be read.
	return agent.Middleware{
		Name: "jobs", Priority: 30,
		Start: func(_ context.Context, t *agent.Turn, _ *agent.Setup) error { tell(t); return nil },
		Tool: func(next agent.ToolFunc) agent.ToolFunc {
			return func(ctx context.Context, t *agent.Turn, c *tool.Call) (*tool.Result, error) {
				res, err := next(ctx, t, c)
				tell(t)
				return res, err
			}
		},
	}
}
