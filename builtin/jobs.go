package builtin

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/cantle-dev/cantle/sandbox"
	"github.com/cantle-dev/cantle/tool"
)

//go:embed jobs.md
var jobsText string

// Times of waiting for a job.
const (
	jobWait    = 30 * time.Second // unless told otherwise
	jobWaitMax = 600 * time.Second
)

type jobsIn struct {
	Action  string `json:"action" enum:"list,read,wait,kill"`
	ID      string `json:"id,omitempty" doc:"the job, as j1" alias:"job,job_id,bash_id,shell_id"`
	Offset  *int64 `json:"offset,omitempty" doc:"byte to read from; by default, where the last read ended" min:"0"`
	Timeout int    `json:"timeout_ms,omitempty" doc:"for wait" min:"0" max:"600000" alias:"timeout"`
}

// Jobs makes the tool that lists, reads, awaits and ends background jobs.
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
			fmt.Fprintf(&b, "%s: %s, %d bytes of output: %s\n", j.id, j.state(), j.out.size(), firstLine(j.command))
		}
		return strings.TrimRight(b.String(), "\n"), nil
	}
	j, err := pick(list, in.ID)
	if err != nil {
		return "", err
	}
	switch in.Action {
	case "kill":
		if err := j.stop("it was killed through Jobs"); err != nil {
			return "", err
		}
	case "wait":
		limit := jobWait
		if in.Timeout > 0 {
			limit = min(time.Duration(in.Timeout)*time.Millisecond, jobWaitMax)
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

func pick(list []*job, id string) (*job, error) {
	var ids []string
	for _, j := range list {
		if j.id == id {
			return j, nil
		}
		ids = append(ids, j.id)
	}
	switch {
	case len(ids) == 0:
		return nil, errors.New("there are no jobs")
	case id == "":
		return nil, fmt.Errorf("id is missing; the jobs are %s", strings.Join(ids, ", "))
	}
	return nil, fmt.Errorf("there is no job %q; the jobs are %s", cut(id, 40), strings.Join(ids, ", "))
}

// read is what the job has printed since offset, or since the last read.
func (j *job) read(offset *int64) string {
	j.mu.Lock()
	from := j.cursor
	if offset != nil {
		from = *offset
	}
	text, next := j.out.since(from)
	j.cursor = next
	select {
	case <-j.p.Done():
		j.told = true // the model knows: no notice is needed
	default:
	}
	j.mu.Unlock()
	text = strings.TrimRight(text, "\n")
	if text == "" {
		text = "(no new output)"
	}
	note := fmt.Sprintf("%s %s; next offset %d", j.id, j.state(), next)
	if more := j.out.size() - next; more > 0 {
		note += fmt.Sprintf(", %d bytes more to read", more)
	}
	return text + "\n[" + note + "]"
}

// state says how the job stands.
func (j *job) state() string {
	select {
	case <-j.p.Done():
		<-j.exited
	default:
	}
	select {
	case <-j.exited:
	default:
		return fmt.Sprintf("has been running for %v", time.Since(j.began).Round(time.Second))
	}
	how := "ended: " + j.exit.String()
	if j.err != nil {
		how += " (" + j.err.Error() + ")"
	}
	j.mu.Lock()
	if j.why != "" {
		how += "; " + j.why
	}
	j.mu.Unlock()
	if pids := j.p.PIDs(); len(pids) > 0 {
		how += "; left running: " + pidList(pids)
	}
	return how
}

func pidList(pids []int) string {
	s := fmt.Sprint(pids[:min(len(pids), 10)])
	s = "pid " + strings.ReplaceAll(strings.Trim(s, "[]"), " ", ", ")
	if more := len(pids) - 10; more > 0 {
		s += fmt.Sprintf(" and %d more", more)
	}
	return s
}

func firstLine(s string) string {
	line, rest, _ := strings.Cut(strings.TrimSpace(s), "\n")
	short := cut(line, 120)
	if len(short) < len(line) || rest != "" {
		short += " …"
	}
	return printable(short)
}

// stop ends the job and all that it started, and remembers why.
func (j *job) stop(why string) error {
	j.mu.Lock()
	select {
	case <-j.p.Done():
	default:
		j.why = why
	}
	j.mu.Unlock()
	if err := j.p.Stop(sandbox.Grace); err != nil {
		return fmt.Errorf("%s: %w", j.id, err)
	}
	<-j.exited
	return nil
}
