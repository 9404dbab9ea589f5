package builtin

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/cantle-dev/cantle/agent"
	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/sandbox"
	"github.com/cantle-dev/cantle/tool"
)

//go:embed bash.md
var bashText string

// Times of commands.
const (
	bashTimeout = 120 * time.Second // then a command becomes a job
	bashMax     = 600 * time.Second
	jobMax      = 30 * time.Minute // then a job is ended
	heartbeat   = 15 * time.Second // of silence, after which a sign of life is shown
)

type bashIn struct {
	Command     string `json:"command" doc:"the command line" alias:"cmd,script"`
	Description string `json:"description,omitempty" doc:"what it does, in a few words"`
	Timeout     int    `json:"timeout_ms,omitempty" min:"1" max:"600000" alias:"timeout"`
	Background  bool   `json:"background,omitempty" doc:"start it as a job and return at once" alias:"run_in_background"`
}

// Bash makes the tool that runs commands.
func Bash(o Options) tool.Tool {
	o = o.filled()
	text := strings.TrimSpace(bashText)
	if !o.Runner.Info().Sweeps {
		text += " A child that detaches itself (setsid) may survive the end of its command here."
	}
	return bash{tool.New(tool.Spec{
		Name: "Bash", Description: text, Aliases: []string{"run_shell", "run_command", "shell", "execute_command", "python_exec"},
		Access: tool.AccessFor(func(_ context.Context, _ *tool.Call, in bashIn) ([]tool.Access, error) {
			if err := checkCommand(in.Command); err != nil {
				return nil, err
			}
			return []tool.Access{{Op: tool.Exec, Target: in.Command}}, nil
		}),
	}, func(ctx context.Context, in bashIn) (*tool.Result, error) { return o.bash(ctx, in) })}
}

func checkCommand(s string) error {
	switch {
	case strings.TrimSpace(s) == "":
		return errors.New("the command is empty")
	case strings.IndexByte(s, 0) >= 0:
		return errors.New("the command holds a NUL byte")
	}
	return nil
}

type bash struct{ tool.Tool }

// Preview is [tool.Previewer].Preview: the whole command.
func (bash) Preview(_ context.Context, c *tool.Call) (*tool.Preview, error) {
	in, err := tool.Decode[bashIn](c.Input)
	if err != nil {
		return nil, err
	}
	return &tool.Preview{Title: in.Description, Text: in.Command}, nil
}

func (o Options) bash(ctx context.Context, in bashIn) (*tool.Result, error) {
	c := tool.FromContext(ctx)
	if err := checkCommand(in.Command); err != nil {
		return nil, err
	}
	command := in.Command
	if len(c.Access) > 0 {
		command = c.Access[0].Target // what was decided on
	}
	dir := c.Dir
	if dir == "" {
		dir = o.Root
	}
	limit := bashTimeout
	if in.Timeout > 0 {
		limit = min(time.Duration(in.Timeout)*time.Millisecond, bashMax)
	}
	out := &capture{dir: o.outputDir(ctx), last: time.Now(), show: func(s string) { c.Show(llm.Text{Text: s}) }}
	began := time.Now()
	p, err := o.Runner.Start(ctx, &sandbox.Command{
		Args: shell(command), Dir: dir, Stdout: out, Env: environment(os.Environ(), o.Env, o.Hidden),
	})
	if err != nil {
		return nil, err
	}
	j := o.Jobs.add(ctx, command, p, out)
	ended := make(chan struct{})
	go func() {
		j.exit, j.err = p.Wait()
		j.took = time.Since(began)
		close(j.exited)
		close(ended)
	}()
	if in.Background {
		return j.started("It runs in the background as job " + j.id + "."), nil
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for {
		select {
		case <-ended:
			return j.result(o), nil
		case <-ctx.Done():
			err := p.Stop(sandbox.Grace)
			o.Jobs.drop(j)
			return nil, errors.Join(context.Cause(ctx), err)
		case <-timer.C:
			return j.started(fmt.Sprintf("It has not ended after %v, and goes on in the background as job %s.", limit, j.id)), nil
		case <-beat.C:
			out.mu.Lock()
			quiet := time.Since(out.last)
			out.mu.Unlock()
			if quiet >= heartbeat {
				c.Show(llm.Text{Text: fmt.Sprintf("[no output for %v]\n", quiet.Round(time.Second))})
			}
		}
	}
}

// outputDir is the folder for whole outputs; nil is none.
func (o Options) outputDir(ctx context.Context) func() (string, error) {
	if o.OutputDir == nil {
		return nil
	}
	id := ""
	if t := agent.FromContext(ctx); t != nil {
		id = t.Session.ID()
	}
	return func() (string, error) { return o.OutputDir(id) }
}

var shellPath = sync.OnceValue(func() string {
	for _, p := range []string{"/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"} {
		if info, err := os.Stat(p); err == nil && info.Mode().IsRegular() {
			return p
		}
	}
	return "/bin/sh"
})

// shell is the command line of a fresh shell that is no login shell and reads
// no start-up files.
func shell(command string) []string {
	if runtime.GOOS == "windows" {
		return []string{os.Getenv("COMSPEC"), "/d", "/s", "/c", command}
	}
	p := shellPath()
	if strings.HasSuffix(p, "bash") {
		return []string{p, "--noprofile", "--norc", "-c", command}
	}
	return []string{p, "-c", command}
}

// result is what a command that has exited came to.
func (j *job) result(o Options) *tool.Result {
	text, cutOff := j.out.text()
	text = strings.TrimRight(text, "\n")
	if text == "" {
		text = "(no output)"
	}
	if cutOff {
		if w := j.out.where(); w != "" {
			text += "\n[" + w + ": read it with Read, offset and limit.]"
		}
	}
	switch {
	case j.err != nil:
		text += "\n[" + j.err.Error() + "]"
	case j.exit.Signal != "":
		text += "\n[" + j.exit.String() + "]"
	case j.exit.Code != 0:
		text += fmt.Sprintf("\n[exit code %d]", j.exit.Code)
	}
	d := j.detail()
	select {
	case <-j.p.Done():
		o.Jobs.drop(j)
		j.out.close()
	case <-time.After(20 * time.Millisecond):
		if pids := j.p.PIDs(); len(pids) > 0 {
			d.Job = j.id
			text += fmt.Sprintf("\n[It left %d process(es) running, as job %s.]", len(pids), j.id)
		} else {
			o.Jobs.drop(j)
		}
	}
	return j.answer(text, d)
}

// started is the result of a command that goes on.
func (j *job) started(what string) *tool.Result {
	text, _ := j.out.text()
	text = strings.TrimRight(text, "\n")
	if text != "" {
		text += "\n"
	}
	d := j.detail()
	d.Job = j.id
	return j.answer(text+"["+what+" Read, wait for or kill it with Jobs.]", d)
}

// bashDetail is what programs are told of a command.
type bashDetail struct {
	Command  string `json:"command"`
	ExitCode *int   `json:"exit_code"` // null: it goes on
	Signal   string `json:"signal,omitempty"`
	Bytes    int64  `json:"bytes"`
	Output   string `json:"output_path,omitempty"`
	Job      string `json:"job,omitempty"`
	Duration int64  `json:"duration_ms,omitempty"`
}

func (j *job) detail() bashDetail {
	d := bashDetail{Command: j.command, Bytes: j.out.size()}
	j.out.mu.Lock()
	d.Output = j.out.path
	j.out.mu.Unlock()
	select {
	case <-j.exited:
		code := j.exit.Code
		d.ExitCode, d.Signal, d.Duration = &code, j.exit.Signal, j.took.Milliseconds()
	default:
	}
	return d
}

func (j *job) answer(text string, d bashDetail) *tool.Result {
	res := tool.Text(text)
	res.Detail, _ = json.Marshal(d) // strings and numbers marshal
	return res
}
