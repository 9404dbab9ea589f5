package jsonl

import (
	"fmt"
	"io"
	"os"
	"strings"
)

// heldError means that another process has the lock.
type heldError struct{ holder string }

func (e *heldError) Error() string { return "held by " + e.holder }

type fileLock struct{ f *os.File }

// lock takes the lock file at path and writes into it who has it.
func lock(path string) (*fileLock, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|noFollow, 0o600)
	if err != nil {
		return nil, err
	}
	held, err := flock(f)
	if err != nil || held {
		who, _ := io.ReadAll(io.LimitReader(f, 256)) // a name for the message, at best
		_ = f.Close()                                // nothing was written
		if err != nil {
			return nil, err
		}
		return nil, &heldError{strings.TrimSpace(string(who))}
	}
	host, _ := os.Hostname() // "" is good enough for a message
	text := fmt.Sprintf("process %d on %s\n", os.Getpid(), host)
	if err := f.Truncate(0); err == nil {
		_, err = f.WriteAt([]byte(text), 0)
		if err != nil {
			_ = f.Close()
			return nil, err
		}
	}
	return &fileLock{f}, nil
}

func (l *fileLock) unlock() error { return l.f.Close() }
