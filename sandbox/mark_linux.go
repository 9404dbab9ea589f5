package sandbox

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// MarkOf is the mark of a path as it is on this machine; false if it is not there.
func MarkOf(path string) (Mark, bool) {
	var st syscall.Stat_t
	if syscall.Lstat(path, &st) != nil {
		return Mark{}, false
	}
	return Mark{Path: path, Dev: uint64(st.Dev), Ino: uint64(st.Ino)}, true // the sizes differ with the machine
}

// readOnlyMount is a flag of statfs(2).
const readOnlyMount = 1

// check reports what here is not as it is marked.
func (m Mark) check() error {
	now, there := MarkOf(m.Path)
	same := there && now.Dev == m.Dev && now.Ino == m.Ino
	if m.Hidden {
		if same {
			return fmt.Errorf("%s is not hidden", m.Path)
		}
		return nil
	}
	if !there && hidden(m.Path) {
		return nil // nobody here can come there
	}
	if !same {
		return fmt.Errorf("%s is another file than it was", m.Path)
	}
	if m.ReadOnly {
		var fs syscall.Statfs_t
		if err := syscall.Statfs(m.Path, &fs); err != nil || fs.Flags&readOnlyMount == 0 {
			return fmt.Errorf("%s can be written", m.Path)
		}
	}
	return nil
}

// hidden reports whether a path is in a directory that may not be looked into.
func hidden(path string) bool {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		_, err := os.Lstat(dir)
		if _, below := os.Lstat(path); errors.Is(err, os.ErrPermission) || errors.Is(below, os.ErrPermission) {
			return true
		}
		if err == nil {
			return false
		}
	}
}

// checkMarks has a supervisor that is there look at its box. What does not hold
// is a *[BoxError].
func checkMarks(conn *net.UnixConn, how *Launch) error {
	if how == nil || len(how.Marks) == 0 {
		return nil
	}
	deadline := time.Now().Add(boxPatience)
	_ = conn.SetDeadline(deadline) // an open connection has deadlines
	defer func() { _ = conn.SetDeadline(time.Time{}) }()
	err := send(conn, message{Op: "check", Marks: how.Marks})
	if err == nil {
		var m message
		var fds []int
		m, fds, err = receive(conn)
		closeAll(fds)
		switch {
		case err != nil:
		case m.Op == "ready":
			return nil
		default:
			err = errors.New(m.Error)
		}
	}
	program := "the engine"
	if len(how.Box) > 0 {
		program = how.Box[0]
	}
	return &BoxError{Program: program, Said: err.Error()}
}
