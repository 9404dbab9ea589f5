package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/cantle-dev/cantle/sandbox/internal/confine"
)

// listPatience is how long a supervisor has to say what it holds.
const listPatience = time.Second

// headStart is how long after the grace a supervisor is left to kill by itself.
const headStart = 150 * time.Millisecond

// maxIdle is how many supervisors wait for the next command.
const maxIdle = 2

// pool keeps supervisors. Each serves one command at a time, so that whatever
// it adopts is that command's.
type pool struct {
	mu     sync.Mutex
	closed bool
	idle   []*helper
}

func newPool(opts LocalOptions) *pool {
	if opts.NoSupervisor || !mainCalled.Load() || !procMounted() {
		return nil
	}
	return &pool{}
}

// helper is a supervisor as this program sees it.
type helper struct {
	conn   *net.UnixConn
	pool   *pool
	proc   *os.Process // the supervisor, or what holds its box; nil if it is remote
	launch *Launch     // what it was started with; nil: as it is
	kill   func() error

	sendMu sync.Mutex
	mu     sync.Mutex
	cur    *supervised
	dead   bool
	served []net.Listener
}

// supervised is a command under a supervisor.
type supervised struct {
	h      *helper
	out    *outputs
	pid    int
	begun  chan error
	exited chan struct{}
	gone   chan struct{}
	exit   Exit
	err    error
	listMu sync.Mutex
	listed chan []int
}

// take gives a supervisor for a command that is launched like how.
func (p *pool) take(ctx context.Context, how *Launch) (*helper, error) {
	p.mu.Lock()
	for i := len(p.idle) - 1; i >= 0; i-- {
		if h := p.idle[i]; h.key() == how.key() {
			p.idle = slices.Delete(p.idle, i, i+1)
			p.mu.Unlock()
			return h, nil
		}
	}
	p.mu.Unlock()
	if how.key() == "" {
		how = nil
	}
	return p.open(ctx, how)
}

// open starts a supervisor: this very program, also if its file has been
// replaced since, with an empty environment, since what runs under it can read
// that.
func (p *pool) open(ctx context.Context, how *Launch) (*helper, error) {
	fail := func(err error) (*helper, error) {
		return nil, fmt.Errorf("sandbox: the supervisor did not start: %w", err)
	}
	if how != nil && how.Connect != nil {
		return p.connect(ctx, how)
	}
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return fail(err)
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "control"), os.NewFile(uintptr(fds[1]), "control")
	defer ours.Close()
	defer theirs.Close()
	c, err := net.FileConn(ours)
	if err != nil {
		return fail(err)
	}
	ours.Close()              // the supervisor ends when the connection is closed, which is another of it
	conn := c.(*net.UnixConn) // an AF_UNIX socket is nothing else
	cmd := &exec.Cmd{
		Path: "/proc/self/exe", Args: []string{helperName}, Dir: "/", Env: []string{"GOMAXPROCS=2"},
		ExtraFiles: []*os.File{theirs}, SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	said := new(tail)
	if how != nil {
		// By an open file: the box need not show the program's own.
		self, err := os.Open("/proc/self/exe")
		if err != nil {
			conn.Close()
			return fail(err)
		}
		defer self.Close()
		cmd.Path, cmd.Args = how.Box[0], append(slices.Clone(how.Box), "/proc/self/fd/4", helperName)
		cmd.ExtraFiles = append(cmd.ExtraFiles, self)
		cmd.Stderr, cmd.WaitDelay = said, stopPatience
	}
	if err := cmd.Start(); err != nil {
		conn.Close()
		if errors.Is(err, syscall.EBADF) { // so the system says it in the child
			err = syscall.EMFILE
		}
		return fail(err)
	}
	h := &helper{conn: conn, pool: p, proc: cmd.Process, launch: how, kill: cmd.Process.Kill}
	if how != nil {
		theirs.Close()
		if err := awaitBox(conn, cmd, said); err != nil {
			return nil, err
		}
		if err := checkMarks(conn, how); err != nil {
			conn.Close()
			_ = cmd.Wait() // it ends with its connection
			return nil, err
		}
	}
	go func() {
		h.listen()
		conn.Close()
		_ = cmd.Wait() // it ends with its connection; how does not matter
	}()
	if how != nil && how.Serve != nil {
		if err := h.send(message{Op: "listen", Addr: how.Listen}); err != nil {
			conn.Close()
			return fail(err)
		}
	}
	return h, nil
}

func (p *pool) close() {
	p.mu.Lock()
	p.closed = true
	idle := p.idle
	p.idle = nil
	p.mu.Unlock()
	for _, h := range idle {
		h.conn.Close()
	}
}

// put takes h back.
func (p *pool) put(h *helper) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		h.conn.Close()
		return
	}
	// The latest is the likeliest to be wanted: of boxes, each serves one policy.
	if p.idle = append(p.idle, h); len(p.idle) > maxIdle {
		p.idle[0].conn.Close()
		p.idle = slices.Delete(p.idle, 0, 1)
	}
}

var (
	errSupervisor = errors.New("the supervisor died")
	errIdle       = fmt.Errorf("%w before the command was given to it", errSupervisor)
)

func (p *pool) start(ctx context.Context, c *Command, how *Launch) (Process, error) {
	for try := 0; ; try++ {
		h, err := p.take(ctx, how)
		if err != nil {
			return nil, err
		}
		var spec *confine.Spec
		if how != nil {
			spec = how.Confine
		}
		s, err := h.start(ctx, c, spec)
		if errors.Is(err, errIdle) && try < maxIdle+1 {
			continue // it was killed while it was idle
		}
		if err != nil {
			return nil, fmt.Errorf("sandbox: %s did not start: %w", c.Args[0], err)
		}
		return s, nil
	}
}

func (h *helper) start(ctx context.Context, c *Command, spec *confine.Spec) (*supervised, error) {
	out, err := openOutputs(c)
	if err != nil {
		h.pool.put(h)
		return nil, err
	}
	s := &supervised{
		h: h, out: out, begun: make(chan error, 1), listed: make(chan []int, 1),
		exited: make(chan struct{}), gone: make(chan struct{}),
	}
	h.mu.Lock()
	dead := h.dead
	h.cur = s
	h.mu.Unlock()
	if dead {
		out.abandon()
		return nil, errIdle
	}
	var fds []int
	for _, w := range out.writers {
		fds = append(fds, int(w.Fd()))
	}
	if c.Stdin != nil {
		fds = append(fds, int(c.Stdin.Fd()))
	}
	err = h.send(message{Op: "start", Args: c.Args, Dir: c.Dir, Env: c.Env, Confine: spec, Stdin: c.Stdin != nil}, fds...)
	runtime.KeepAlive(c.Stdin)
	if err != nil {
		out.abandon()
		h.conn.Close()
		if errors.Is(err, syscall.E2BIG) {
			return nil, err
		}
		return nil, errIdle
	}
	out.started()
	tick := time.NewTicker(headStart)
	defer tick.Stop()
	for done := ctx.Done(); ; {
		select {
		case err := <-s.begun:
			switch {
			case err != nil:
				out.end()
			case ctx.Err() != nil:
				_ = s.Stop(0) // it is over; what could not be killed nobody can name
			default:
				return s, nil
			}
			if ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			return nil, err
		case <-tick.C:
			h.wake()
		case <-done:
			// The listener says that it is gone, if it has not said more by then.
			done = nil
			h.sweep()
			_ = h.kill()
		}
	}
}

// send sends m. A supervisor that does not read for long is as good as dead.
func (h *helper) send(m message, fds ...int) error {
	h.sendMu.Lock()
	defer h.sendMu.Unlock()
	_ = h.conn.SetWriteDeadline(time.Now().Add(stopPatience)) // closed: send says so
	return send(h.conn, m, fds...)
}

// wake lets a supervisor go on that its command has stopped.
func (h *helper) wake() {
	if h.proc != nil {
		_ = h.proc.Signal(syscall.SIGCONT) // gone is as good
	}
}

// below are the processes under the supervisor, and in a box the supervisor.
func (h *helper) below() []child {
	if h.proc == nil {
		return nil
	}
	return descendants(h.proc.Pid)
}

// sweep kills what runs under the supervisor, and gives what there was.
func (h *helper) sweep() []child {
	if h.proc == nil {
		_ = h.kill() // if it fails, it is tried again
	}
	left := h.below()
	for _, c := range left {
		signalChild(c, syscall.SIGKILL)
	}
	return left
}

// listen follows what the supervisor says, until it is gone.
func (h *helper) listen() {
	for {
		m, fds, err := receive(h.conn)
		if m.Op == "listening" && len(fds) == 1 && h.boxed() && h.launch.Serve != nil {
			h.serve(fds[0])
			continue
		}
		closeAll(fds)
		h.mu.Lock()
		s := h.cur
		if err != nil {
			h.dead = true
			for _, l := range h.served {
				l.Close()
			}
		}
		h.mu.Unlock()
		if err != nil {
			if s != nil {
				s.lost()
			}
			return
		}
		if s == nil {
			continue
		}
		switch m.Op {
		case "started":
			s.pid = m.PID
			s.begun <- nil
		case "failed":
			var err error = errors.New(m.Error)
			if m.Errno != 0 {
				err = syscall.Errno(m.Errno)
			}
			h.release()
			s.begun <- err
		case "exit":
			s.exit = exitOf(syscall.WaitStatus(m.Status))
			close(s.exited)
			if !m.Left {
				h.release()
				s.finish()
			}
		case "gone":
			h.release()
			s.finish()
		case "pids":
			select {
			case s.listed <- m.PIDs:
			default:
			}
		}
	}
}

func (h *helper) release() {
	h.mu.Lock()
	h.cur = nil
	h.mu.Unlock()
	h.pool.put(h)
}

// finish closes gone once the output has been read to its end.
func (s *supervised) finish() {
	go func() {
		s.out.end()
		close(s.gone)
	}()
}
