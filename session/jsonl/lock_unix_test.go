//go:build unix

package jsonl_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cantle-dev/cantle/session"
)

// TestLockOfAKilledProcess kills a process that has a session locked and shares
// the lock with a command that it started, as every command does until it runs.
// The session is there as soon as the command is gone.
func TestLockOfAKilledProcess(t *testing.T) {
	if dir := os.Getenv("JSONL_TEST_LOCKER"); dir != "" {
		if _, err := open(t, dir).Lock(t.Context(), "s"); err != nil {
			t.Fatal(err)
		}
		// Open files that are one share their lock.
		fd := lockFD(t, filepath.Join(dir, "s.lock"))
		child := exec.Command("cat")
		child.Stdin, child.ExtraFiles = os.Stdin, []*os.File{fd}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		fmt.Println("locked")
		select {}
	}
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^TestLockOfAKilledProcess$")
	cmd.Env = append(os.Environ(), "JSONL_TEST_LOCKER="+dir)
	childs, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdin = childs
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = childs.Close() // the child has its own
	lines := bufio.NewScanner(out)
	for lines.Scan() && lines.Text() != "locked" {
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, out)
	_ = cmd.Wait() // it was killed

	tries := 0
	st := open(t, dir)
	real := st.Flock()
	st.SetFlock(func(f *os.File) (bool, error) {
		held, err := real(f)
		if tries++; tries == 1 {
			if !held {
				t.Error("the command does not share the lock: there is nothing to see here")
			}
			_ = in.Close() // the command ends
		}
		return held, err
	})
	unlock, err := st.Lock(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	if err := unlock(); err != nil || tries < 2 {
		t.Errorf("%d tries, %v", tries, err)
	}
}

// lockFD is the open file of this process that is the one at path.
func lockFD(t *testing.T, path string) *os.File {
	want, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	for fd := range 64 {
		f, err := os.Open(fmt.Sprintf("/dev/fd/%d", fd))
		if err != nil {
			continue
		}
		info, err := f.Stat()
		_ = f.Close()
		if err == nil && os.SameFile(info, want) {
			return os.NewFile(uintptr(fd), path)
		}
	}
	t.Fatal("the lock is not open")
	return nil
}

// TestLockThatNobodyFrees names who had it, waits no longer than it must, and
// not at all for one who is there.
func TestLockThatNobodyFrees(t *testing.T) {
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	gone := exec.Command("true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		holder, says string
		least, most  time.Duration
	}{
		"one who has ended":      {fmt.Sprintf("process %d on %q since then", gone.Process.Pid, host), "which has ended", time.Second, 2 * time.Second},
		"no name":                {"", "", time.Second, 2 * time.Second},
		"one who is there":       {fmt.Sprintf("process %d on %q since then", os.Getpid(), host), "since then", 0, 0},
		"one of another machine": {fmt.Sprintf("process %d on %q since then", gone.Process.Pid, host+"x"), "since then", 0, 0},
		"some other text":        {"on fire", "on fire", 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir := t.TempDir()
				if err := os.WriteFile(filepath.Join(dir, "s.lock"), []byte(c.holder), 0o600); err != nil {
					t.Fatal(err)
				}
				st := open(t, dir)
				st.SetFlock(func(*os.File) (bool, error) { return true, nil })
				start := time.Now()
				_, err := st.Lock(t.Context(), "s")
				var locked *session.LockedError
				if !errors.As(err, &locked) || !strings.Contains(locked.Holder, c.says) {
					t.Errorf("got %v", err)
				}
				if d := time.Since(start); d < c.least || d > c.most {
					t.Errorf("it took %v", d)
				}
			})
		})
	}
}
