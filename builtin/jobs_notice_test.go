//go:build unix

package builtin_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/agent"
	"github.com/cantle-dev/cantle/builtin"
	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/llmtest"
	"github.com/cantle-dev/cantle/sandbox"
	"github.com/cantle-dev/cantle/sandbox/sandboxtest"
	"github.com/cantle-dev/cantle/session"
	"github.com/cantle-dev/cantle/tool"
)

// A job that ended between two runs is told of once, with the user's next
// message, to the session that started it alone.
func TestJobsFinishedIsANotice(t *testing.T) {
	run := sandbox.Local(sandbox.LocalOptions{})
	defer run.Close()
	table, dir := builtin.NewJobs(), t.TempDir()
	o := builtin.Options{Runner: run, Jobs: table}
	var last *llm.Request
	calls := 0
	m := llmtest.Func(llm.Info{Name: "scripted"}, func(_ context.Context, req *llm.Request) (*llm.Response, error) {
		last = req
		if calls++; calls == 1 {
			return &llm.Response{Message: llmtest.CallID("1", "Bash", map[string]any{"command": "until [ -e go ]; do sleep 0.01; done; exit 3", "background": true}).Message()}, nil
		}
		return &llm.Response{Message: llmtest.Say("ok").Message()}, nil
	})
	a, err := agent.New(m, agent.Options{Tools: []tool.Tool{builtin.Bash(o), builtin.Jobs(o)}, Dir: dir, Middleware: []agent.Middleware{{
		Name: "jobs",
		Start: func(_ context.Context, t *agent.Turn, _ *agent.Setup) error {
			for _, j := range table.Finished(t.Session.ID()) {
				t.Notice(llm.Text{Text: "[" + j.ID + " " + j.Status + "]"})
			}
			return nil
		},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	store := &session.Memory{}
	mine, other := open(t, store, "mine"), open(t, store, "other")
	say := func(s *session.Session) string {
		t.Helper()
		if _, err := a.Run(t.Context(), s, llm.Text{Text: "go on"}); err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for _, msg := range last.Messages {
			b.WriteString(msg.Parts.Text())
		}
		return b.String()
	}
	const notice = "[j1 ended: exit code 3]"
	if got := say(mine); strings.Contains(got, notice) {
		t.Errorf("told before its end: %s", got)
	}
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	sandboxtest.Until(t, "the notice", func() bool { return strings.Contains(say(mine), notice) })
	if got := say(other); strings.Contains(got, "j1") {
		t.Errorf("another session is told: %s", got)
	}
	if got := say(mine); strings.Count(got, notice) != 1 {
		t.Errorf("told again: %s", got)
	}
}
