package jsonl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// heldError means that another has the lock.
type heldError struct{ holder string }

func (e *heldError) Error() string { return "held by " + e.holder }

// ended reports whether the holder is a process of this machine that is no more,
// or has no name: it is about to sign, or ended before it could.
func (e *heldError) ended() bool {
	if e.holder == "" {
		return true
	}
	var pid int
	var on string
	if n, _ := fmt.Sscanf(e.holder, "process %d on %q", &pid, &on); n < 2 {
		return false
	}
	host, err := os.Hostname()
	return err == nil && on == host && ended(pid)
}

type fileLock struct {
	f       *os.File
	path    string
	without error // why there is no lock after all
}

// A process that is killed while it starts a command leaves its locks for
// a moment with what is to become the command, which closes them only then.
const (
	grace = time.Second
	again = 5 * time.Millisecond
)

// lock is tryLock, which waits a little for a lock whose holder has ended.
func lock(ctx context.Context, path string, flock func(*os.File) (bool, error)) (*fileLock, error) {
	deadline := time.Now().Add(grace)
	for {
		l, err := tryLock(path, flock)
		var held *heldError
		if !errors.As(err, &held) || !held.ended() {
			return l, err
		}
		if time.Now().After(deadline) {
			if held.holder != "" {
				held.holder += ", which has ended and left it to a process that it started"
			}
			return nil, held
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(again):
		}
	}
}

// tryLock takes the lock file at path and writes into it who has it. The file
// is there only while somebody has it.
func tryLock(path string, flock func(*os.File) (bool, error)) (*fileLock, error) {
	for range 100 {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|noFollow, 0o600)
		if err != nil {
			return nil, err
		}
		held, err := flock(f)
		if err != nil && noLocks(err) {
			return &fileLock{f, path, err}, nil
		}
		if err != nil || held {
			who, _ := io.ReadAll(io.LimitReader(f, 256)) // a name for the message, at best
			_ = f.Close()                                // nothing was written
			if err != nil {
				return nil, err
			}
			return nil, &heldError{strings.TrimSpace(string(who))}
		}
		// Whoever had it may have deleted it after we opened it: then it is not
		// the lock any more.
		mine, err1 := f.Stat()
		there, err2 := os.Lstat(path)
		if err1 != nil || err2 != nil || !os.SameFile(mine, there) {
			_ = f.Close() // nothing was written
			if err := errors.Join(err1, err2); err != nil && !errors.Is(err, os.ErrNotExist) {
				return nil, err
			}
			continue
		}
		_ = sign(f) // a full disk must not keep anyone out
		return &fileLock{f, path, nil}, nil
	}
	return nil, fmt.Errorf("%s is made and deleted all the time: try again", path)
}

// sign writes who has the lock, for the others' message.
func sign(f *os.File) error {
	host, _ := os.Hostname() // "" is good enough for a message
	text := fmt.Sprintf("process %d on %q since %s\n", os.Getpid(), host, time.Now().Format(time.DateTime))
	if _, err := f.WriteAt([]byte(text), 0); err != nil {
		return err
	}
	return f.Truncate(int64(len(text)))
}

// unlock deletes the file while it is still locked; where a file that is open
// cannot be deleted, it is after, and fails if somebody has it open by then.
func (l *fileLock) unlock() error {
	gone := os.Remove(l.path) == nil
	err := l.f.Close()
	if !gone && removeAfterClose {
		_ = os.Remove(l.path) // another has it now
	}
	return err
}
