//go:build unix

package sandbox

import (
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"time"
)

// outputs are the pipes of a command. They are read until the last process
// that holds them has closed them, or until end.
type outputs struct {
	readers []*os.File
	writers []*os.File // [0] is stdout, the last one stderr
	eof     chan struct{}
}

func openOutputs(c *Command) (*outputs, error) {
	o := &outputs{eof: make(chan struct{})}
	sinks := []io.Writer{c.Stdout}
	if c.Stderr != nil {
		sinks = append(sinks, c.Stderr)
	}
	for range sinks {
		r, w, err := pipe()
		if err != nil {
			for _, f := range append(o.readers, o.writers...) {
				f.Close()
			}
			return nil, fmt.Errorf("sandbox: pipe: %w", err)
		}
		o.readers = append(o.readers, r)
		o.writers = append(o.writers, w)
	}
	var wg sync.WaitGroup
	for i, r := range o.readers {
		sink := sinks[i]
		wg.Go(func() {
			defer r.Close()
			copyAll(sink, r)
		})
	}
	go func() { wg.Wait(); close(o.eof) }()
	return o, nil
}

// copyAll reads to the end, also when the sink fails: a full disk must not
// block the command.
func copyAll(w io.Writer, r *os.File) {
	buf := make([]byte, 64<<10)
	for {
		n, err := r.Read(buf)
		if n > 0 && w != nil {
			if _, werr := w.Write(buf[:n]); werr != nil {
				w = nil
			}
		}
		if err != nil {
			return
		}
	}
}

// pipe makes a pipe whose read end has deadlines and whose write end blocks,
// as programs expect of their output.
func pipe() (r, w *os.File, err error) {
	var p [2]int
	syscall.ForkLock.RLock()
	err = syscall.Pipe(p[:])
	if err == nil {
		syscall.CloseOnExec(p[0])
		syscall.CloseOnExec(p[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, nil, err
	}
	if err := syscall.SetNonblock(p[0], true); err != nil {
		syscall.Close(p[0])
		syscall.Close(p[1])
		return nil, nil, err
	}
	return os.NewFile(uintptr(p[0]), "output"), os.NewFile(uintptr(p[1]), "output"), nil
}

// started closes the write ends, which the command has now.
func (o *outputs) started() {
	for _, w := range o.writers {
		w.Close()
	}
}

// abandon ends everything when the command did not start.
func (o *outputs) abandon() {
	o.started()
	o.end()
}

// settle waits for what the command wrote before it ended.
func (o *outputs) settle() {
	t := time.NewTimer(drain)
	defer t.Stop()
	select {
	case <-o.eof:
	case <-t.C:
	}
}

// end stops reading soon, whoever holds the pipes.
func (o *outputs) end() {
	for _, r := range o.readers {
		_ = r.SetReadDeadline(time.Now().Add(drain)) // closed already: it has ended
	}
	<-o.eof
}

func exitOf(ws syscall.WaitStatus) Exit {
	if ws.Signaled() {
		return Exit{Code: 128 + int(ws.Signal()), Signal: signalName(ws.Signal())}
	}
	return Exit{Code: ws.ExitStatus()}
}

var signalNames = map[syscall.Signal]string{
	syscall.SIGABRT: "SIGABRT", syscall.SIGALRM: "SIGALRM", syscall.SIGBUS: "SIGBUS",
	syscall.SIGFPE: "SIGFPE", syscall.SIGHUP: "SIGHUP", syscall.SIGILL: "SIGILL",
	syscall.SIGINT: "SIGINT", syscall.SIGKILL: "SIGKILL", syscall.SIGPIPE: "SIGPIPE",
	syscall.SIGQUIT: "SIGQUIT", syscall.SIGSEGV: "SIGSEGV", syscall.SIGSYS: "SIGSYS",
	syscall.SIGTERM: "SIGTERM", syscall.SIGTRAP: "SIGTRAP", syscall.SIGUSR1: "SIGUSR1",
	syscall.SIGUSR2: "SIGUSR2", syscall.SIGXCPU: "SIGXCPU", syscall.SIGXFSZ: "SIGXFSZ",
}

func signalName(s syscall.Signal) string {
	if n, ok := signalNames[s]; ok {
		return n
	}
	return fmt.Sprintf("signal %d", int(s))
}
