package sandbox

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

// Main must be the first thing that a program's main does, and a test's
// TestMain. If the process was started as a supervisor, it serves as one and
// never returns; otherwise it returns at once, and [Local] will use
// supervisors.
func Main() {
	if len(os.Args) == 1 && os.Args[0] == helperName || len(os.Args) == 2 && os.Args[1] == helperName {
		if typ, err := syscall.GetsockoptInt(3, syscall.SOL_SOCKET, syscall.SO_TYPE); err == nil && typ == syscall.SOCK_STREAM {
			os.Exit(supervise(control))
		}
	}
	if len(os.Args) == 3 && os.Args[1] == helperName {
		os.Exit(supervise(func() (net.Conn, error) { return net.Dial("unix", os.Args[2]) }))
	}
	mainCalled.Store(true)
}

const (
	prSetChildSubreaper = 36
	pAll                = 0
	wExited             = 4
	wNoWait             = 0x01000000
)

// supervisor runs one command at a time. What the command starts and leaves
// behind becomes its child, wherever it went, and is ended with it.
type supervisor struct {
	conn *net.UnixConn
	null *os.File

	mu      sync.Mutex // held while children are reaped and signalled
	started *sync.Cond
	shell   int  // 0 once it was reaped
	busy    bool // a command, or something of it, is left
	gone    chan struct{}

	sendMu    sync.Mutex
	listenErr error
}

// control is the connection that a supervisor was started with.
func control() (net.Conn, error) {
	f := os.NewFile(3, "control")
	defer f.Close()
	return net.FileConn(f)
}

func supervise(connect func() (net.Conn, error)) int {
	// The children die with the thread that made them: see Pdeathsig.
	runtime.LockOSThread()
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, prSetChildSubreaper, 1, 0); errno != 0 {
		return 1
	}
	// Caught, not ignored: ignored signals would stay ignored in the commands.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	sealFiles()
	// Nobody reads what a supervisor says, but for one in a box, before it serves.
	fail := func(what string, err error) int {
		fmt.Fprintf(os.Stderr, "supervisor: %s: %v\n", what, err)
		return 1
	}
	c, err := connect()
	if err != nil {
		return fail("its connection", err)
	}
	conn, ok := c.(*net.UnixConn)
	if !ok {
		return 1
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return fail("no device to read nothing from", err)
	}
	s := &supervisor{conn: conn, null: null}
	if os.Getpid() == 1 {
		// Alone in a box with the command, which may have the same user: it
		// must not be able to take this process over.
		if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, syscall.PR_SET_DUMPABLE, 0, 0); errno != 0 {
			return 1
		}
		s.say(message{Op: "ready"})
	}
	s.started = sync.NewCond(&s.mu)
	go s.reap()
	for {
		m, fds, err := receive(conn)
		if err != nil {
			// The program is gone or done with us.
			if gone := s.current(); gone != nil {
				s.kill(gone, 0)
			}
			return 0
		}
		switch m.Op {
		case "start":
			s.start(m, fds)
		case "stop":
			if gone := s.current(); gone != nil {
				go s.kill(gone, time.Duration(m.Grace))
			}
		case "list":
			go s.list()
		case "check":
			answer := message{Op: "ready"}
			for _, mark := range m.Marks {
				if err := mark.check(); err != nil {
					answer = message{Op: "failed", Error: err.Error()}
				}
			}
			s.say(answer)
		case "listen":
			s.listenErr = s.listen(m.Addr)
		}
		closeAll(fds)
	}
}

// sealFiles keeps from the commands what this process was given: the control
// socket, and what the program itself had inherited.
func sealFiles() {
	d, err := os.Open("/proc/self/fd")
	if err != nil {
		syscall.CloseOnExec(3)
		return
	}
	defer d.Close()
	names, _ := d.Readdirnames(-1) // what could be read is all that there is to go by
	for _, n := range names {
		if fd, err := strconv.Atoi(n); err == nil && fd > 2 {
			syscall.CloseOnExec(fd)
		}
	}
}

// say sends m. If the program is gone, the next receive says so.
func (s *supervisor) say(m message) {
	s.sendMu.Lock()
	defer s.sendMu.Unlock()
	_ = send(s.conn, m)
}

func (s *supervisor) start(m message, fds []int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	stdin := s.null.Fd()
	if n := len(fds) - 1; m.Stdin && n >= 0 {
		stdin, fds = uintptr(fds[n]), fds[:n]
	}
	if s.busy || len(fds) == 0 {
		why := "the supervisor is busy"
		if !s.busy {
			why = "the command's pipes did not arrive: the limit of open files may be too low"
		}
		s.say(message{Op: "failed", Error: why})
		return
	}
	if s.listenErr != nil {
		s.say(message{Op: "failed", Error: "no proxy in the sandbox: " + s.listenErr.Error()})
		return
	}
	gone := make(chan struct{})
	attr := &syscall.ProcAttr{
		Dir: m.Dir, Env: m.Env,
		Files: []uintptr{stdin, uintptr(fds[0]), uintptr(fds[len(fds)-1])},
		Sys:   &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL},
	}
	var pid int
	var err error
	if m.Confine == nil {
		pid, err = syscall.ForkExec(m.Args[0], m.Args, attr)
	} else {
		pid, err = forkConfined(m, attr, gone)
	}
	if err != nil {
		var errno syscall.Errno
		errors.As(err, &errno)
		s.say(message{Op: "failed", Error: err.Error(), Errno: int(errno)})
		return
	}
	s.shell, s.busy, s.gone = pid, true, gone
	s.say(message{Op: "started", PID: pid})
	s.started.Signal()
}

// reap takes the ended children, and says when the command has ended and when
// nothing of it is left.
func (s *supervisor) reap() {
	var info [128]byte // a siginfo, of which nothing is read
	for {
		s.mu.Lock()
		for !s.busy {
			s.started.Wait()
		}
		s.mu.Unlock()
		// Left unreaped until the lock is held: the number stays the child's.
		_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, pAll, 0, uintptr(unsafe.Pointer(&info)), wExited|wNoWait, 0, 0)
		if errno == syscall.EINTR {
			continue
		}
		s.mu.Lock()
		var ws syscall.WaitStatus
		var exit *message
		for {
			pid, err := syscall.Wait4(-1, &ws, syscall.WNOHANG, nil)
			if err == syscall.EINTR {
				continue
			}
			if pid > 0 {
				if pid == s.shell {
					s.shell = 0
					exit = &message{Op: "exit", Status: uint32(ws)}
				}
				continue
			}
			left := err == nil
			if exit != nil {
				exit.Left = left
				s.say(*exit)
			}
			if !left {
				s.busy = false
				close(s.gone)
				if exit == nil {
					s.say(message{Op: "gone"})
				}
			}
			break
		}
		s.mu.Unlock()
	}
}

// current is what is closed when the running command is gone; nil if none is.
func (s *supervisor) current() chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.busy {
		return nil
	}
	return s.gone
}

// signal signals all that the command started, of which gone is; it does
// nothing to a later command.
func (s *supervisor) signal(gone chan struct{}, sigs ...syscall.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.busy || s.gone != gone {
		return
	}
	for _, c := range descendants(os.Getpid()) {
		for _, sig := range sigs {
			signalChild(c, sig)
		}
	}
}

func (s *supervisor) kill(gone chan struct{}, grace time.Duration) {
	if grace > 0 {
		s.signal(gone, syscall.SIGTERM, syscall.SIGCONT)
		select {
		case <-gone:
			return
		case <-time.After(grace):
		}
	}
	// What is killed may have started others since it was looked at, and
	// leaves them to us: until nothing is left.
	for wait := time.Millisecond; ; wait = min(2*wait, 50*time.Millisecond) {
		s.signal(gone, syscall.SIGKILL)
		select {
		case <-gone:
			return
		case <-time.After(wait):
		}
	}
}

func (s *supervisor) list() {
	s.say(message{Op: "pids", PIDs: pidsOf(descendants(os.Getpid()))})
}
