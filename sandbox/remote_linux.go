package sandbox

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/cantle-dev/cantle/internal/x/owntemp"
)

// Remote is a supervisor in a place of its own, such as a container.
type Remote struct {
	conn *net.UnixConn
	kill func() error
}

// HelperArgs are the arguments with which a program that calls [Main] serves
// as the supervisor of a [Remote], as the first process of its namespace.
func HelperArgs(socket string) []string { return []string{helperName, socket} }

// Connect starts a supervisor by start, which is given the path of a socket
// that the supervisor must find, and whose arguments are [HelperArgs] of where
// it finds it. Kill ends the supervisor and all below it, and returns when they
// are gone; it may be called more than once and at the same time.
func Connect(ctx context.Context, start func(socket string) error, kill func() error) (*Remote, error) {
	base, err := filepath.EvalSymlinks(os.TempDir())
	if err != nil || !filepath.IsAbs(base) || len(base) > 64 { // paths of sockets are short
		base = "/tmp"
	}
	dir, release, err := owntemp.Make(base, "cantle-control-", os.RemoveAll)
	if err != nil {
		return nil, fmt.Errorf("sandbox: %w", err)
	}
	defer release()
	// Nobody can connect a second time: what runs beside the supervisor least.
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "control")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("sandbox: %w", err)
	}
	defer l.Close()
	fail := func(err error) (*Remote, error) {
		_ = kill() // what did not start is gone
		return nil, err
	}
	if err := start(path); err != nil {
		return fail(err)
	}
	end := time.Now().Add(boxPatience)
	if d, ok := ctx.Deadline(); ok && d.Before(end) {
		end = d
	}
	_ = l.SetDeadline(end) // an open listener has deadlines
	conn, err := l.AcceptUnix()
	if err != nil {
		return fail(fmt.Errorf("sandbox: the supervisor did not answer within %v: it needs to share a socket with this program, which a place on another machine, or in a virtual one, cannot: %w", boxPatience, err))
	}
	_ = conn.SetReadDeadline(end)
	m, fds, err := receive(conn)
	closeAll(fds)
	_ = conn.SetReadDeadline(time.Time{})
	if err != nil || m.Op != "ready" {
		conn.Close()
		return fail(fmt.Errorf("sandbox: the supervisor is not the first process of its place: %q %w", m.Op, err))
	}
	return &Remote{conn, kill}, nil
}
