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
	heartbeat   = 15 * time.Second // of silence, after which a sign of life is shown
)

// commandMax is the size of a command line: Linux takes no argument of more
// than 128 KiB.
const commandMax = 120 << 10

type bashIn struct {
	Command     string `json:"command" doc:"the command line" alias:"cmd,script"`
	Description string `json:"description,omitempty" doc:"what it does, in a few words"`
	Timeout     int    `json:"timeout_ms,omitempty" min:"1" max:"600000" alias:"timeout"`
	Background  bool   `json:"background,omitempty" doc:"start it as a job and return at once" alias:"run_in_background"`
	Sandbox     string `json:"sandbox,omitempty" enum:"network,off"`
}

// Bash makes the tool that runs commands, each in a fresh shell in the call's
// directory. It runs the text that was decided on: the target of the call's
// first Access.
//
// With [Options.Confine], commands are confined, by the call's Access too: with
// [tool.Anywhere] to connect to, a command may use the network, and with it to
// write to, it runs outside. The input can ask for either; what counts is what
// was decided.
//
// How a command ended is an observation: a result with an exit code other than
// 0 is no error. The result's Detail is a [CommandDetail].
func Bash(o Options) tool.Tool {
	o = o.filled()
	text := strings.TrimSpace(bashText)
	if runtime.GOOS != "linux" { // where there are no supervisors
		text += " A child that detaches itself with setsid may survive the end of its command here."
	}
	return bash{tool.New(tool.Spec{
		Name: "Bash", Description: text,
		Aliases: []string{"bash", "shell", "run_shell", "run_command", "execute_command", "python_exec"},
		Access: tool.AccessFor(func(_ context.Context, _ *tool.Call, in bashIn) ([]tool.Access, error) {
			if err := checkCommand(in.Command); err != nil {
				return nil, err
			}
			return append([]tool.Access{{Op: tool.Exec, Target: in.Command}}, o.ask(in.Sandbox)...), nil
		}),
	}, func(ctx context.Context, in bashIn) (*tool.Result, error) { return o.bash(ctx, in) })}
}

func checkCommand(s string) error {
	switch {
	case strings.TrimSpace(s) == "":
		return errors.New("the command is empty")
	case strings.IndexByte(s, 0) >= 0:
		return errors.New("the command holds a NUL byte")
	case len(s) > commandMax:
		return fmt.Errorf("the command is %d bytes long, and %d at most can be run: write a script with Write and run that", len(s), commandMax)
	}
	return nil
}

type bash struct{ tool.Tool }

// Normalize is [tool.Normalizer].Normalize.
func (b bash) Normalize(raw json.RawMessage) (json.RawMessage, error) {
	return b.Tool.(tool.Normalizer).Normalize(raw)
}

// Preview is [tool.Previewer].Preview: the whole command.
func (bash) Preview(_ context.Context, c *tool.Call) (*tool.Preview, error) {
	in, err := tool.Decode[bashIn](c.Input)
	if err != nil {
		return nil, err
	}
	if err := checkCommand(in.Command); err != nil {
		return nil, err
	}
	title := in.Description
	if title == "" {
		title = firstLine(in.Command)
	}
	return &tool.Preview{Title: title, Text: in.Command}, nil
}

func (o Options) bash(ctx context.Context, in bashIn) (*tool.Result, error) {
	c := tool.FromContext(ctx)
	command := in.Command
	if c.Access != nil {
		if len(c.Access) == 0 || c.Access[0].Op != tool.Exec {
			return nil, errors.New("nothing was decided on that could be run")
		}
		command = c.Access[0].Target
	}
	if err := checkCommand(command); err != nil {
		return nil, err
	}
	session := sessionID(ctx)
	if in.Background && o.Jobs.full(session) {
		return nil, errManyJobs
	}
	dir := c.Dir
	if dir == "" {
		dir = o.Root
	}
	out := &capture{quota: o.Jobs.quota(session)}
	if o.OutputDir != nil {
		out.dir = func() (string, error) { return o.OutputDir(session) }
	}
	if c.Progress != nil && !in.Background {
		out.show = func(s string) { c.Show(llm.Text{Text: s}) }
	}
	out.through(o.Filter)
	how := o.confine(c.Access)
	if how.unheld {
		return nil, tool.Fatal(errors.New("bash: commands are to be confined, and the policy of Options.Confine holds them to nothing"))
	}
	env := how.env(o)
	p, err := o.Runner.Start(ctx, &sandbox.Command{
		Args: how.shell(command, env), Dir: dir, Stdout: out, Env: env, Policy: how.policy,
	})
	if err != nil {
		return nil, err
	}
	j := follow(command, how, p, out)
	if in.Background {
		return o.background(session, j, "It runs in the background", false)
	}
	limit := bashTimeout
	if in.Timeout > 0 {
		limit = min(time.Duration(in.Timeout)*time.Millisecond, bashMax)
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	said := j.began
	for {
		select {
		case <-j.exited:
			return o.exited(session, j)
		case <-ctx.Done():
			err := j.stop("it was cancelled")
			return nil, errors.Join(fmt.Errorf("the command was cancelled: %w", context.Cause(ctx)), err)
		case <-timer.C:
			return o.timedOut(session, j, limit)
		case <-tick.C:
			out.flush()
			if quiet := out.quiet(j.began); quiet >= heartbeat && time.Since(said) >= heartbeat {
				said = time.Now()
				c.Show(llm.Text{Text: fmt.Sprintf("[no output for %v]\n", quiet.Round(time.Second))})
			}
		}
	}
}

// shellPath is the shell that is there: bash, or the system's own.
var shellPath = sync.OnceValue(func() string {
	for _, p := range []string{"/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"} {
		if info, err := os.Stat(p); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return p
		}
	}
	return "/bin/sh"
})

// inImage has bash run a command where the image has one: it was analysed as bash
// would read it, and others read some of it in other ways.
const inImage = `for b in /bin/bash /usr/bin/bash /usr/local/bin/bash; do [ -x $b ] && exec $b --noprofile --norc -c "$1"; done; exec /bin/sh -c "$1"`

// shell is the command line of a fresh shell that is no login shell and reads
// no start-up files.
func (r confined) shell(command string, env []string) []string {
	if r.image {
		return []string{"/bin/sh", "-c", inImage, "sh", command}
	}
	if runtime.GOOS == "windows" {
		// Where the system is, not COMSPEC, which may name anything.
		root := valueOf(env, "SYSTEMROOT")
		if root == "" {
			root = `C:\Windows`
		}
		return []string{root + `\System32\cmd.exe`, "/d", "/s", "/c", command}
	}
	p := shellPath()
	if strings.HasSuffix(p, "bash") {
		return []string{p, "--noprofile", "--norc", "-c", command}
	}
	return []string{p, "-c", command}
}

// exited is the result of a command that has ended.
func (o Options) exited(session string, j *job) (*tool.Result, error) {
	// What it left is gone in a moment, or is there to stay.
	left := false
	timer := time.NewTimer(settleTime)
	defer timer.Stop()
	select {
	case <-j.p.Done():
		j.out.close()
	case <-timer.C:
		j.out.release()
		left = len(j.p.PIDs()) > 0
	}
	text, cutOff := j.body()
	if text == "" {
		text = "(no output)"
	}
	d := j.detail()
	d.Truncated = cutOff
	why := ""
	switch {
	case j.err != nil:
		text += "\n[" + j.err.Error() + "]"
	case j.exit.Signal != "":
		text += "\n[" + j.exit.String() + "]"
	case j.exit.Code != 0:
		text += fmt.Sprintf("\n[exit code %d]", j.exit.Code)
	}
	if j.err != nil || j.exit.Code != 0 {
		why = j.how.why(text)
	} else {
		why = j.how.told()
	}
	if left {
		if err := o.Jobs.add(session, j); err != nil {
			text += fmt.Sprintf("\n[What it left running was ended: %v]", errors.Join(err, j.stop("there were too many jobs")))
		} else {
			d.Job = j.id
			j.mu.Lock()
			j.cursor = d.Bytes // until here the model is shown it now
			j.mu.Unlock()
			text += fmt.Sprintf("\n[It left running %s, as job %s: see Jobs.]", pidList(j.p.PIDs()), j.id)
		}
	}
	if why != "" {
		text += "\n[" + why + "]"
	}
	return j.answer(text, d), nil
}

// timedOut makes a job of a command that goes on, or ends it if it would only
// go on flooding.
func (o Options) timedOut(session string, j *job, limit time.Duration) (*tool.Result, error) {
	if !j.out.flooding() && !o.Jobs.full(session) {
		return o.background(session, j, fmt.Sprintf("It has not ended after %v, and goes on in the background", limit), true)
	}
	why := fmt.Sprintf("it had printed %d bytes", j.out.size())
	if !j.out.flooding() {
		why = errManyJobs.Error()
	}
	if err := j.stop("it timed out"); err != nil {
		return nil, err
	}
	text, cutOff := j.body()
	d := j.detail()
	d.TimedOut, d.Truncated = true, cutOff
	return j.answer(fmt.Sprintf("%s\n[timed out after %v and was ended, since %s]", text, limit, why), d), nil
}

// background is the result of a command that goes on.
func (o Options) background(session string, j *job, what string, timedOut bool) (*tool.Result, error) {
	if err := o.Jobs.add(session, j); err != nil {
		return nil, errors.Join(err, j.stop("there were too many jobs"))
	}
	j.mu.Lock()
	if timedOut {
		j.cursor = j.out.size() // as of now; the model is shown the output up to here
	}
	j.mu.Unlock()
	text, cutOff := "", false
	if timedOut {
		text, cutOff = j.body()
		if text != "" {
			text += "\n"
		}
	}
	d := j.detail()
	d.Job, d.TimedOut, d.Truncated = j.id, timedOut, cutOff
	return j.answer(fmt.Sprintf("%s[%s as job %s, for %v at most. Read it, wait for it or kill it with Jobs.]", text, what, j.id, jobMax), d), nil
}

// body is the output, and where to find what is left out of it.
func (j *job) body() (text string, cutOff bool) {
	text, cutOff = j.out.text()
	text = strings.TrimRight(text, "\n")
	if cutOff {
		text += "\n[" + j.out.where() + ".]"
	}
	return text, cutOff
}

// CommandDetail is what the Detail of a Bash result says to programs.
type CommandDetail struct {
	Command   string `json:"command"`
	ExitCode  *int   `json:"exit_code"` // null while it goes on; 128+n for signal n
	Signal    string `json:"signal,omitempty"`
	TimedOut  bool   `json:"timed_out"`
	Truncated bool   `json:"truncated"`
	Bytes     int64  `json:"output_bytes"` // of both streams
	Output    string `json:"output_path,omitempty"`
	Job       string `json:"job,omitempty"`
	Duration  int64  `json:"duration_ms"`
	Sandbox   string `json:"sandbox,omitempty"` // the name of the one that it ran in; "" is outside
	Network   bool   `json:"network"`           // it was open to the command
}

func (j *job) detail() CommandDetail {
	d := CommandDetail{Command: j.command, Bytes: j.out.size(), Output: j.out.filePath(), Duration: time.Since(j.began).Milliseconds()}
	d.Network = !j.how.inside || !j.how.policy.NoNetwork
	if j.how.inside {
		d.Sandbox = j.how.info.Name
	}
	select {
	case <-j.exited:
		code := j.exit.Code
		d.ExitCode, d.Signal, d.Duration = &code, j.exit.Signal, j.took.Milliseconds()
	default:
	}
	return d
}

func (j *job) answer(text string, d CommandDetail) *tool.Result {
	res := tool.Text(text)
	res.Detail, _ = json.Marshal(d) // strings and numbers marshal
	return res
}
