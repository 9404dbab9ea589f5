//go:build linux || darwin

package main_test

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"github.com/cantle-dev/cantle/llm/llmtest"
)

// terminal is the program at a terminal.
type terminal struct {
	t    *testing.T
	cmd  *exec.Cmd
	f    *os.File
	mu   sync.Mutex
	all  strings.Builder
	seen int // in all
	more chan struct{}
	done chan struct{}
}

// terminal starts the program with these arguments at a terminal.
func (w *world) terminal(args ...string) *terminal {
	w.t.Helper()
	return w.terminalOf(200, args...)
}

// terminalOf is one that is so wide.
func (w *world) terminalOf(cols uint16, args ...string) *terminal {
	w.t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Env = w.dir, append([]string{"TERM=xterm"}, w.env...)
	f, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 50, Cols: cols})
	if err != nil {
		w.t.Skip("there are no terminals here: ", err)
	}
	s := &terminal{t: w.t, cmd: cmd, f: f, more: make(chan struct{}, 1), done: make(chan struct{})}
	go func() {
		defer close(s.done)
		b := make([]byte, 4096)
		for {
			n, err := f.Read(b)
			s.mu.Lock()
			s.all.Write(b[:n])
			s.mu.Unlock()
			select {
			case s.more <- struct{}{}:
			default:
			}
			if err != nil {
				return
			}
		}
	}()
	w.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = f.Close()
	})
	return s
}

func (s *terminal) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all.String()
}

// patience is how long a test waits for what should come at once, beside
// whatever else the machine does.
const patience = time.Minute

// expect waits for text after what was expected last, and returns all up to
// its end.
func (s *terminal) expect(want string) string {
	s.t.Helper()
	late := time.After(patience)
	ended := false
	for {
		all := s.text()
		if i := strings.Index(all[s.seen:], want); i >= 0 {
			from := s.seen
			s.seen += i + len(want)
			return all[from:s.seen]
		}
		if ended {
			s.t.Fatalf("the program ended without %q: %q", want, all[s.seen:])
		}
		select {
		case <-s.more:
		case <-s.done:
			ended = true
		case <-late:
			s.t.Fatalf("%q did not come: %q", want, all[s.seen:])
		}
	}
}

func (s *terminal) send(text string) {
	s.t.Helper()
	if _, err := s.f.WriteString(text); err != nil {
		s.t.Fatal(err)
	}
}

// exit waits for the end and returns the exit code.
func (s *terminal) exit() int {
	s.t.Helper()
	ended := make(chan struct{})
	go func() { defer close(ended); _ = s.cmd.Wait() }()
	select {
	case <-ended:
	case <-time.After(patience):
		s.t.Fatalf("the program does not end: %q", s.text())
	}
	<-s.done
	return s.cmd.ProcessState.ExitCode()
}

// await waits for a file to be there.
func await(t *testing.T, name string) {
	t.Helper()
	late := time.After(patience)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := os.Stat(name); err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-late:
			t.Fatal(name, " does not come")
		}
	}
}

const (
	up    = "\x1b[A"
	down  = "\x1b[B"
	left  = "\x1b[D"
	ctrlC = "\x03"
	ctrlD = "\x04"
)

// TestLoginAtATerminal: what is typed does not show, and Ctrl-C leaves the
// terminal as it was.
func TestLoginAtATerminal(t *testing.T) {
	w := newWorld(t)
	w.env = append(w.env, "CANTLE_KEYRING=off")
	s := w.terminal("login", "anthropic")
	s.expect("Key of anthropic")
	s.hidden()
	s.send(ctrlC)
	if code := s.exit(); code != 130 {
		t.Errorf("exit %d: %q", code, s.text())
	}
	s = w.terminal("login", "anthropic")
	s.expect("Key of anthropic")
	s.hidden()
	s.send(secret + "\r")
	s.expect("stored in the file")
	if code := s.exit(); code != 0 || strings.Contains(s.text(), secret) {
		t.Errorf("exit %d: %q", code, s.text())
	}
}

// hidden waits until what is typed does not show.
func (s *terminal) hidden() {
	s.t.Helper()
	late := time.After(patience)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if mode, err := unix.IoctlGetTermios(int(s.f.Fd()), ioctlTermios); err != nil || mode.Lflag&unix.ECHO == 0 {
			return
		}
		select {
		case <-tick.C:
		case <-late:
			s.t.Fatal("what is typed shows")
		}
	}
}

func TestRunAtATerminal(t *testing.T) {
	w := newWorld(t)
	w.write(".cantle/settings.json", `{"env": {"X": "1"}}`)
	w.serve(llmtest.WireChat, llmtest.Play(t, llmtest.Call("Glob", map[string]any{"pattern": "*"}).Say("looking"), llmtest.Say("the answer")))
	s := w.terminal(append(append([]string{"run"}, w.model...), "go")...)
	s.expect("env is left out")
	s.expect("looking")
	s.expect("▸ Glob(")
	s.expect("the answer")
	line := s.expect("s\r\n")
	for !strings.Contains(line, "steps") {
		line = s.expect("s\r\n")
	}
	if !regexp.MustCompile(`— 2 steps · 1 tools · [\d.]+k? in / [\d.]+ out.* · .* · [\d.]+s`).MatchString(line) {
		t.Errorf("%q", line)
	}
	if code := s.exit(); code != 0 {
		t.Errorf("exit %d", code)
	}
	if n := strings.Count(s.text(), "the answer"); n != 1 {
		t.Errorf("the answer came %d times: %q", n, s.text())
	}
}

// TestNoCommandAtATerminal: the program with nothing more talks.
func TestNoCommandAtATerminal(t *testing.T) {
	w := newWorld(t)
	s := w.terminal()
	s.expect("demo:offline")
	if code := s.exit(); code != 2 {
		t.Errorf("without a model: exit %d", code)
	}
	w.write("README.md", "# x\n\nThis counts the stars.\n")
	w.env = append(w.env, "CANTLE_MODEL=demo:offline")
	s = w.terminal()
	s.expect("stand-in")
	s.expect("> ")
	s.send("what does this project do?\r")
	s.expect("Allow? ") // a command, of its tour
	s.send("a\r")
	s.expect("Allow? ") // another
	s.send("a\r")
	s.expect("counts the stars")
	s.expect("steps")
	s.expect("> ")
	s.send(ctrlD)
	if code := s.exit(); code != 0 {
		t.Errorf("exit %d", code)
	}
	out, errs, code := w.exec()
	if code != 0 || !strings.Contains(out, "Usage:") || errs != "" {
		t.Errorf("without a terminal: exit %d, %s%s", code, out, errs)
	}
	if out, errs, code := w.exec("--continue"); code != 2 || out != "" || !strings.Contains(errs, "cantle run") {
		t.Errorf("without a terminal: exit %d, %s%s", code, out, errs)
	}
}
