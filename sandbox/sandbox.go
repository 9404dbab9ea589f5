// Package sandbox runs commands so that they can always be ended: with no
// terminal and no input, in a session of their own, and on Linux under a
// supervisor that finds every descendant, also those that left the session.
//
//	func main() {
//		sandbox.Main() // first: turns the process into a supervisor if it was started as one
//		run := sandbox.Local(sandbox.LocalOptions{})
//		defer run.Close()
//		var out bytes.Buffer
//		p, err := run.Start(context.Background(), &sandbox.Command{
//			Args: []string{"/bin/sh", "-c", "echo hello"}, Dir: "/", Stdout: &out,
//		})
//		if err != nil {
//			log.Fatal(err)
//		}
//		exit, err := p.Wait()
//		fmt.Println(exit.Code, out.String(), err)
//	}
//
// [Local] confines nothing; runners that hold a [Policy] have packages of
// their own.
package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Runner starts commands. It is safe for concurrent use.
type Runner interface {
	// Start starts c. The context bounds the start alone: a process that has
	// started is ended by Stop or by Close. A Policy that the runner cannot
	// hold is an error that matches [ErrPolicy], and nothing is started.
	Start(ctx context.Context, c *Command) (Process, error)
	Info() Info
	// Close kills all that was started, waits for it, and refuses new starts.
	Close() error
}

// Info says what a runner does. Each false is a thing it does not promise.
type Info struct {
	Name      string // such as "local"
	Confines  bool   // holds policies: what a command may write and reach
	ReadOnly  bool   // holds [Policy.ReadOnly]
	Domains   bool   // holds [Policy.Domains]
	Temp      bool   // shows [Policy.Temp] as /tmp
	Sweeps    bool   // Stop also ends processes that left the command's session
	Supervise bool   // all commands die with this program, even if it is killed
	// Image means that programs are not those of this machine: of shells only
	// /bin/sh can be counted on.
	Image bool
	// Lacks says to users what it does not hold, each a clause such as "names in
	// hidden directories can be listed".
	Lacks []string
}

// Command is what to run.
type Command struct {
	Args []string // Args[0] is the program's absolute path
	Dir  string   // absolute
	Env  []string // the whole environment: nothing is inherited
	// Stdin is what the command reads; nil is nothing. A terminal is no more than
	// a file to it: the signals of its keys are this program's.
	Stdin *os.File
	// Stdout receives the output, and Stderr the error output; a nil Stderr
	// sends both to Stdout, in the order in which they were written. Each is
	// written to from one goroutine, until [Process.Done] is closed. A nil
	// Stdout discards.
	Stdout, Stderr io.Writer
	Policy         Policy
}

// Policy is what a command is held to. The zero Policy holds it to nothing.
//
// Paths are absolute. Links in them are followed when the command starts, and
// what is not there then is left out: who must keep a file from being made
// protects the directory that it would be in.
type Policy struct {
	WriteRoots []string // the only directories to write in; nil: anywhere
	// ReadOnly are files and directories within WriteRoots that must not be
	// written, such as .git/hooks; nor can a directory above one be moved away.
	ReadOnly []string
	Hide     []string // files and directories that must not be read
	// Temp is a private directory in which can be written besides WriteRoots,
	// and which a command also sees as /tmp where the runner has views of files
	// of its own (see [Info.Temp]): of this machine's /tmp there is then nothing
	// but the directories that the policy and the command name. It keeps what is
	// left in it until whoever made it removes it, with [RemoveTemp]. It does
	// nothing where all may be written.
	Temp      string
	NoNetwork bool // nothing can be connected to, on this machine or another
	// Domains can be reached although NoNetwork is set, by a proxy that the
	// command's environment names: "example.com" is that host alone,
	// "*.example.com" every host below it. None is nothing, never everything.
	Domains []string
}

// Writable are the directories that may be written: WriteRoots and Temp; nil is
// anywhere.
func (p Policy) Writable() []string {
	if p.WriteRoots == nil || p.Temp == "" {
		return p.WriteRoots
	}
	return append(slices.Clone(p.WriteRoots), p.Temp)
}

// IsZero reports whether p asks for nothing.
func (p Policy) IsZero() bool {
	return p.Temp == "" && p.WriteRoots == nil && len(p.ReadOnly) == 0 && len(p.Hide) == 0 && !p.NoNetwork && len(p.Domains) == 0
}

// check refuses policies that cannot be meant.
func (p Policy) check() error {
	temp := []string{p.Temp}
	if p.Temp == "" {
		temp = nil
	}
	for _, list := range [][]string{p.WriteRoots, p.ReadOnly, p.Hide, temp} {
		for _, s := range list {
			if !filepath.IsAbs(s) || strings.IndexByte(s, 0) >= 0 {
				return fmt.Errorf("sandbox: the policy holds %q, which is not an absolute path", s)
			}
		}
	}
	if len(p.Domains) > 0 && !p.NoNetwork {
		return errors.New("sandbox: the policy lists domains but leaves the network open: set NoNetwork too")
	}
	return nil
}

// ErrPolicy means that a runner cannot hold a command's policy.
var ErrPolicy = errors.New("this runner cannot hold the policy")

// ErrClosed means that the runner was closed.
var ErrClosed = errors.New("the runner is closed")

// Process is a command that was started. Its methods may be called from any
// goroutine.
type Process interface {
	// PID is the number of the command on this machine, 0 once it is gone from a
	// box; of a command in a container, and in PIDs, those in the container.
	PID() int
	// Wait waits for the command itself, not for what it left running in the
	// background, and for the output that it wrote.
	Wait() (Exit, error)
	// Done is closed when the command and all that it started are gone, as far
	// as the runner can tell (see [Info.Sweeps]).
	Done() <-chan struct{}
	// PIDs are the processes that are left.
	PIDs() []int
	// Stop ends the command and all that it started: a request to terminate,
	// and after the grace a kill. It returns when all are gone, or with an
	// error if some could not be killed. A grace of 0 kills at once.
	Stop(grace time.Duration) error
}

// Grace is how long a cancelled command has between the request to terminate
// and the kill, so that a whole tree is gone within half a second.
const Grace = 250 * time.Millisecond

// stopPatience is how long after the kill Stop waits for the kernel.
const stopPatience = 5 * time.Second

// drain is how long Wait waits for output once the command is gone and
// something else still holds its pipes.
const drain = 50 * time.Millisecond

// Exit is how a command ended.
type Exit struct {
	Code   int    // 128+n if it ended by signal n, as shells say it
	Signal string // such as "SIGTERM"; "" if it exited by itself
}

func (e Exit) String() string {
	if e.Signal != "" {
		return "terminated by " + e.Signal
	}
	return fmt.Sprintf("exit code %d", e.Code)
}

// check refuses commands that cannot be right.
func (c *Command) check() error {
	switch {
	case len(c.Args) == 0:
		return errors.New("sandbox: the command has no program")
	case !filepath.IsAbs(c.Args[0]):
		return fmt.Errorf("sandbox: program %q is not an absolute path", c.Args[0])
	case !filepath.IsAbs(c.Dir):
		return fmt.Errorf("sandbox: working directory %q is not an absolute path", c.Dir)
	}
	for _, list := range [][]string{c.Args, c.Env, {c.Dir}} {
		for _, s := range list {
			if strings.IndexByte(s, 0) >= 0 {
				return errors.New("sandbox: the command holds a NUL byte, which no process can be given")
			}
		}
	}
	if c.Stdin != nil {
		if _, err := c.Stdin.Stat(); err != nil {
			return fmt.Errorf("sandbox: the input of the command: %w", err)
		}
	}
	if err := c.Policy.check(); err != nil {
		return err
	}
	return checkDir(c.Dir)
}
