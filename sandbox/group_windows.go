package sandbox

import (
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

// noWait has a pipe opened that nobody writes into.
const noWait = 0

// groupsSweep: taskkill follows parents, and finds no orphans.
const groupsSweep = false

type tree struct {
	cmd    *exec.Cmd
	exited chan struct{}
	exit   Exit
	err    error
	kill   sync.Mutex
}

func startGroup(c *Command) (Process, error) {
	stdout, stderr := c.Stdout, c.Stderr
	if stdout == nil {
		stdout = io.Discard
	}
	if stderr == nil {
		stderr = stdout
	}
	cmd := &exec.Cmd{
		Path: c.Args[0], Args: c.Args, Dir: c.Dir, Env: append([]string{}, c.Env...),
		Stdout: stdout, Stderr: stderr, WaitDelay: drain,
		SysProcAttr: &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP, HideWindow: true},
	}
	if c.Stdin != nil {
		cmd.Stdin = c.Stdin
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("sandbox: %s did not start: %w", c.Args[0], err)
	}
	t := &tree{cmd: cmd, exited: make(chan struct{})}
	go func() {
		err := cmd.Wait()
		if cmd.ProcessState == nil {
			t.err = fmt.Errorf("sandbox: wait: %w", err)
		} else {
			t.exit = Exit{Code: cmd.ProcessState.ExitCode()}
		}
		close(t.exited)
	}()
	return t, nil
}

func (t *tree) PID() int              { return t.cmd.Process.Pid }
func (t *tree) Done() <-chan struct{} { return t.exited }

func (t *tree) Wait() (Exit, error) {
	<-t.exited
	return t.exit, t.err
}

func (t *tree) PIDs() []int {
	select {
	case <-t.exited:
		return nil
	default:
		return []int{t.PID()}
	}
}

// Stop kills at once: there is no request to terminate that a console program
// without a console would get.
func (t *tree) Stop(time.Duration) error {
	t.kill.Lock()
	defer t.kill.Unlock()
	select {
	case <-t.exited:
		return nil
	default:
	}
	taskkill := filepath.Join(systemDir(), "taskkill.exe")
	if err := exec.Command(taskkill, "/T", "/F", "/PID", strconv.Itoa(t.PID())).Run(); err != nil {
		_ = t.cmd.Process.Kill() // the least; what fails shows below
	}
	timer := time.NewTimer(stopPatience)
	defer timer.Stop()
	select {
	case <-t.exited:
		return nil
	case <-timer.C:
		return fmt.Errorf("sandbox: process %d could not be killed", t.PID())
	}
}

// systemDir asks the system, since PATH may lead into the workspace.
func systemDir() string {
	var buf [syscall.MAX_PATH]uint16
	n, _, _ := syscall.NewLazyDLL("kernel32.dll").NewProc("GetSystemDirectoryW").Call(uintptr(unsafe.Pointer(&buf[0])), uintptr(len(buf)))
	if n == 0 || int(n) > len(buf) {
		return `C:\Windows\System32`
	}
	return syscall.UTF16ToString(buf[:n])
}
