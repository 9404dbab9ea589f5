package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/cantle-dev/cantle/sandbox/internal/confine"
)

// supervises: a confined command needs a supervisor.
const supervises = true

// boxPatience is how long a box may take until its supervisor answers.
const boxPatience = 20 * time.Second

// tail keeps the last of what a program says.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if n := len(t.buf); n > 2<<10 {
		t.buf = slices.Delete(t.buf, 0, n-1<<10)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.buf))
}

// key is "" for supervisors that are started as they are.
func (l *Launch) key() string {
	if l == nil || l.Box == nil && l.Connect == nil {
		return ""
	}
	return "box " + l.Key
}

func (h *helper) key() string { return h.launch.key() }
func (h *helper) boxed() bool { return h.launch != nil }

// connect starts a supervisor in the launch's own way.
func (p *pool) connect(ctx context.Context, how *Launch) (*helper, error) {
	r, err := how.Connect(ctx)
	if err != nil {
		return nil, err
	}
	if err := checkMarks(r.conn, how); err != nil {
		r.conn.Close()
		return nil, errors.Join(err, r.kill())
	}
	h := &helper{conn: r.conn, pool: p, launch: how, kill: r.kill}
	go func() {
		h.listen()
		r.conn.Close()
		_ = r.kill() // what is gone already is as good
	}()
	return h, nil
}

// awaitBox waits until there is a supervisor in a box: one that cannot be made
// says so and ends, and nothing is to be given to it.
func awaitBox(conn *net.UnixConn, cmd *exec.Cmd, said *tail) error {
	_ = conn.SetReadDeadline(time.Now().Add(boxPatience))
	m, fds, err := receive(conn)
	closeAll(fds)
	_ = conn.SetReadDeadline(time.Time{})
	if err == nil && m.Op == "ready" {
		return nil
	}
	conn.Close()
	if !errors.Is(err, io.EOF) {
		_ = cmd.Process.Kill()
	}
	_ = cmd.Wait() // its words say more
	return &BoxError{Program: cmd.Path, Said: said.String()}
}

// forkConfined starts a command from a thread of its own that is confined, and
// the command with it. The thread stays until the command and all that is left
// of it are gone: the command dies with it.
func forkConfined(m message, attr *syscall.ProcAttr, gone <-chan struct{}) (pid int, err error) {
	begun := make(chan struct{})
	go func() {
		runtime.LockOSThread() // for good: the thread ends with this
		if err = confine.Apply(*m.Confine); err != nil {
			err = fmt.Errorf("it could not be confined: %w", err)
		} else {
			pid, err = syscall.ForkExec(m.Args[0], m.Args, attr)
		}
		failed := err != nil
		close(begun)
		if !failed {
			<-gone
		}
	}()
	<-begun
	return pid, err
}

// listen hands the program a listener in this box.
func (s *supervisor) listen(addr string) error {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	defer l.Close()
	f, err := l.(*net.TCPListener).File() // what Listen gives for tcp is nothing else
	if err != nil {
		return err
	}
	defer f.Close()
	s.sendMu.Lock()
	defer s.sendMu.Unlock()
	return send(s.conn, message{Op: "listening"}, int(f.Fd()))
}

// serve hands on the listener that a supervisor has made in its box.
func (h *helper) serve(fd int) {
	f := os.NewFile(uintptr(fd), "listener")
	defer f.Close()
	l, err := net.FileListener(f)
	if err != nil {
		return // nothing answers there: commands find no proxy, and no way out
	}
	h.mu.Lock()
	h.served = append(h.served, l)
	h.mu.Unlock()
	go h.launch.Serve(l)
}

// boxPIDs are the processes in a box but for its supervisor.
func (h *helper) boxPIDs() []int {
	below := h.below()
	return pidsOf(slices.DeleteFunc(below, func(c child) bool { return c.parent == h.proc.Pid }))
}

// outsidePID finds the process that has the number inside in its box; 0 if it
// is gone.
func outsidePID(list []child, inside int) int {
	for _, c := range list {
		b, err := os.ReadFile("/proc/" + strconv.Itoa(c.pid) + "/status")
		if err != nil {
			continue
		}
		_, rest, _ := bytes.Cut(b, []byte("\nNSpid:"))
		line, _, _ := bytes.Cut(rest, []byte("\n"))
		if f := strings.Fields(string(line)); len(f) > 0 && f[len(f)-1] == strconv.Itoa(inside) {
			return c.pid
		}
	}
	return 0
}
