//go:build unix

package sandbox

import (
	"errors"
	"fmt"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// noWait has a pipe opened that nobody writes into.
const noWait = syscall.O_NONBLOCK

// groupsSweep: a process that makes a session of its own leaves the group.
const groupsSweep = false

// group is a command that leads a process group of its own.
type group struct {
	pid    int
	out    *outputs
	exited chan struct{}
	gone   chan struct{}
	exit   Exit
	err    error

	mu    sync.Mutex // held while signalling, so that no signal goes to a group that is known to be gone
	empty bool
}

func startGroup(c *Command) (Process, error) {
	out, err := openOutputs(c)
	if err != nil {
		return nil, err
	}
	cmd := &exec.Cmd{
		Path: c.Args[0], Args: c.Args, Dir: c.Dir, Env: append([]string{}, c.Env...),
		Stdout: out.writers[0], Stderr: out.writers[len(out.writers)-1],
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	if c.Stdin != nil {
		cmd.Stdin = c.Stdin
	}
	if err := cmd.Start(); err != nil {
		out.abandon()
		if errors.Is(err, syscall.EBADF) { // so the system says it in the child
			err = syscall.EMFILE
		}
		return nil, fmt.Errorf("sandbox: %s did not start: %w", c.Args[0], err)
	}
	out.started()
	g := &group{pid: cmd.Process.Pid, out: out, exited: make(chan struct{}), gone: make(chan struct{})}
	go g.follow(cmd)
	return g, nil
}

func (g *group) follow(cmd *exec.Cmd) {
	err := cmd.Wait()
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok {
		g.exit = exitOf(ws)
	} else {
		g.err = fmt.Errorf("sandbox: wait: %w", err)
	}
	close(g.exited)
	// Nobody tells when the last member of a group has gone.
	for wait := time.Millisecond; g.signal(0) && groupAlive(g.pid); wait = min(2*wait, 100*time.Millisecond) {
		time.Sleep(wait)
	}
	g.mu.Lock()
	g.empty = true
	g.mu.Unlock()
	close(g.gone)
}

// signal signals the group and reports whether it has members.
func (g *group) signal(s syscall.Signal) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.empty && errors.Is(syscall.Kill(-g.pid, s), syscall.ESRCH) {
		g.empty = true
	}
	return !g.empty
}

func (g *group) PID() int              { return g.pid }
func (g *group) Done() <-chan struct{} { return g.gone }

func (g *group) Wait() (Exit, error) {
	<-g.exited
	g.out.settle()
	return g.exit, g.err
}

func (g *group) PIDs() []int {
	select {
	case <-g.gone:
		return nil
	default:
		return groupMembers(g.pid)
	}
}

func (g *group) Stop(grace time.Duration) error {
	if grace > 0 {
		g.signal(syscall.SIGTERM)
		g.signal(syscall.SIGCONT)
		t := time.NewTimer(grace)
		defer t.Stop()
		select {
		case <-g.gone:
		case <-t.C:
		}
	}
	deadline := time.NewTimer(stopPatience)
	defer deadline.Stop()
	for {
		g.signal(syscall.SIGKILL)
		select {
		case <-g.gone:
			g.out.end()
			return nil
		case <-deadline.C:
			g.out.end()
			return fmt.Errorf("sandbox: processes %v could not be killed", g.PIDs())
		case <-time.After(10 * time.Millisecond):
		}
	}
}
