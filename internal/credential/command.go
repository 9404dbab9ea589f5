package credential

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/cantle-dev/cantle/sandbox"
)

// CommandTimeout is how long a command may take to print a key.
const CommandTimeout = 10 * time.Second

// Command gets a key from a program, as a password manager's. The key is kept
// for as long as the Command is. It is safe for concurrent use.
type Command struct {
	// Args are the program and its arguments. A program without a slash is
	// looked for in PATH.
	Args []string
	Dir  string   // absolute; not a project's, in which another program could lie
	Env  []string // the whole environment, as "NAME=value"
	// Timeout is how long it may take; default [CommandTimeout].
	Timeout time.Duration

	mu  sync.Mutex
	key string
}

// Shell is the arguments that run a line in the system's shell.
func Shell(line string) []string {
	if runtime.GOOS == "windows" {
		return []string{"cmd.exe", "/d", "/c", line}
	}
	return []string{"/bin/sh", "-c", line}
}

// Key is what the command prints, without blanks around it. An error holds the
// beginning of what the command wrote to its error output, never what it
// printed.
func (c *Command) Key(ctx context.Context) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.key != "" {
		return c.key, nil
	}
	key, err := c.run(ctx)
	if err != nil {
		return "", fmt.Errorf("credential: the command %s for a key: %w", c.name(), err)
	}
	c.key = key
	return key, nil
}

// name is the program alone: its arguments may be a shell's line, with
// anything in it.
func (c *Command) name() string {
	if len(c.Args) == 0 {
		return "(none)"
	}
	return c.Args[0]
}

func (c *Command) run(ctx context.Context) (string, error) {
	if len(c.Args) == 0 || c.Args[0] == "" {
		return "", errors.New("it has no program")
	}
	program, err := exec.LookPath(c.Args[0])
	if err != nil {
		return "", err
	}
	limit := c.Timeout
	if limit <= 0 {
		limit = CommandTimeout
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it took longer than %v", limit))
	defer cancel()
	runner := sandbox.Local(sandbox.LocalOptions{})
	defer func() { _ = runner.Close() }() // what it left behind ends here, or is told of as late
	out, said := &limited{most: maxSecret + 1}, &limited{most: 2000}
	p, err := runner.Start(ctx, &sandbox.Command{
		Args: append([]string{program}, c.Args[1:]...), Dir: c.Dir, Env: c.Env, Stdout: out, Stderr: said,
	})
	if err != nil {
		return "", err
	}
	stop := context.AfterFunc(ctx, func() { _ = p.Stop(0) })
	defer stop()
	exit, err := p.Wait()
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case err != nil:
		return "", err
	case exit.Code != 0:
		return "", fmt.Errorf("it ended with %d%s", exit.Code, said.quoted(out.String()))
	}
	key, err := Clean(out.String())
	if err != nil {
		return "", fmt.Errorf("what it printed is no key: %s%s", strings.TrimPrefix(err.Error(), "credential: "), said.quoted(out.String()))
	}
	return key, nil
}

// limited keeps the beginning of what is written.
type limited struct {
	bytes.Buffer
	most int
}

func (l *limited) Write(b []byte) (int, error) {
	l.Buffer.Write(b[:max(0, min(len(b), l.most-l.Len()))])
	return len(b), nil
}

// quoted is what was written, on one line and without control characters, nor
// what must not be shown.
func (l *limited) quoted(secret string) string {
	text := l.String()
	for word := range strings.FieldsSeq(secret) {
		text = strings.ReplaceAll(text, word, "…")
	}
	s := strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, ""))
	s = strings.Join(strings.Fields(s), " ")
	if s == "" {
		return ""
	}
	if len(s) > 300 {
		s = strings.ToValidUTF8(s[:300], "") + "…"
	}
	return ": " + s
}
