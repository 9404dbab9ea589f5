package builtin

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/cantle-dev/cantle/sandbox"
	"github.com/cantle-dev/cantle/tool"
)

//go:embed jobs.md
var jobsText string

const jobWait = 30 * time.Second // that Jobs waits unless told otherwise

// JobTable holds the commands that run in the background. It is safe for
// concurrent use.
type JobTable struct {
	mu   sync.Mutex
	next int
	jobs []*job
}

// NewJobs makes an empty table.
func NewJobs() *JobTable { return &JobTable{} }

// job is a command, and what it started.
type job struct {
	id, owner, command string
	p                  sandbox.Process
	out                *capture
	began              time.Time

	exited chan struct{} // closed when the command itself has exited
	exit   sandbox.Exit  // valid then, as are err and took
	err    error
	took   time.Duration
}

func (t *JobTable) add(ctx context.Context, command string, p sandbox.Process, out *capture) *job {
	key, _, _ := owner(ctx)
	t.mu.Lock()
	t.next++
	j := &job{id: fmt.Sprintf("j%d", t.next), owner: key, command: command, p: p, out: out, began: time.Now(), exited: make(chan struct{})}
	t.jobs = append(t.jobs, j)
	t.mu.Unlock()
	go func() {
		select {
		case <-p.Done():
		case <-time.After(jobMax):
			_ = p.Stop(sandbox.Grace) // what is left then shows in the list
		}
	}()
	return j
}

func (t *JobTable) drop(j *job) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range t.jobs {
		if t.jobs[i] == j {
			t.jobs = append(t.jobs[:i:i], t.jobs[i+1:]...)
			return
		}
	}
}

// of lists the jobs of the agent that a call belongs to.
func (t *JobTable) of(ctx context.Context) []*job {
	key, _, _ := owner(ctx)
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []*job
	for _, j := range t.jobs {
		if j.owner == key {
			out = append(out, j)
		}
	}
	return out
}

type jobsIn struct {
	Action  string `json:"action" enum:"list,read,wait,kill"`
	ID      string `json:"id,omitempty" doc:"the job, as j1" alias:"job,job_id"`
	Offset  int64  `json:"offset,omitempty" doc:"for read: bytes that were read already" min:"0"`
	Timeout int    `json:"timeout_ms,omitempty" min:"0" max:"600000"`
}

// Jobs makes the tool that reads and ends background jobs.
func Jobs(o Options) tool.Tool {
	o = o.filled()
	return tool.New(tool.Spec{
		Name: "Jobs", Description: strings.TrimSpace(jobsText), Access: tool.NoAccess, Polls: true, ReadOnly: true,
		Aliases: []string{"BashOutput", "KillShell", "KillBash"},
	}, func(ctx context.Context, in jobsIn) (string, error) { return o.jobs(ctx, in) })
}

func (o Options) jobs(ctx context.Context, in jobsIn) (string, error) {
	list := o.Jobs.of(ctx)
	if in.Action == "list" {
		if len(list) == 0 {
			return "There are no jobs.", nil
		}
		var b strings.Builder
		for _, j := range list {
			fmt.Fprintf(&b, "%s  %s  %s\n", j.id, j.state(), cut(printable(strings.ReplaceAll(j.command, "\n", " ")), 120))
		}
		return strings.TrimRight(b.String(), "\n"), nil
	}
	var j *job
	var ids []string
	for _, c := range list {
		ids = append(ids, c.id)
		if c.id == in.ID {
			j = c
		}
	}
	switch {
	case in.ID == "":
		return "", errors.New("id is missing: it names the job, as j1")
	case j == nil && len(ids) == 0:
		return "", fmt.Errorf("there is no job %q: there are none", in.ID)
	case j == nil:
		return "", fmt.Errorf("there is no job %q: there are %s", in.ID, strings.Join(ids, ", "))
	}
	switch in.Action {
	case "kill":
		if err := j.p.Stop(sandbox.Grace); err != nil {
			return "", err
		}
		o.Jobs.drop(j)
		j.out.close()
		return j.id + " and all that it started have ended.\n" + j.read(in.Offset), nil
	case "wait":
		limit := jobWait
		if in.Timeout > 0 {
			limit = time.Duration(in.Timeout) * time.Millisecond
		}
		timer := time.NewTimer(limit)
		defer timer.Stop()
		select {
		case <-j.p.Done():
		case <-timer.C:
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
	return j.read(in.Offset), nil
}

func (j *job) state() string {
	select {
	case <-j.exited:
	default:
		return fmt.Sprintf("running for %v", time.Since(j.began).Round(time.Second))
	}
	state := "ended, " + j.exit.String()
	if n := len(j.p.PIDs()); n > 0 {
		state += fmt.Sprintf(", %d process(es) left running", n)
	}
	return state
}

func (j *job) read(offset int64) string {
	text, next := j.out.since(offset)
	text = strings.TrimRight(text, "\n")
	if text == "" {
		text = "(no new output)"
	}
	return fmt.Sprintf("%s\n[%s %s; next offset %d]", text, j.id, j.state(), next)
}
