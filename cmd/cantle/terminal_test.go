//go:build linux || darwin

package main_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"github.com/cantle-dev/cantle/llm"
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
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Env = w.dir, append([]string{"TERM=xterm"}, w.env...)
	f, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 50, Cols: 200})
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

const (
	up    = "\x1b[A"
	down  = "\x1b[B"
	left  = "\x1b[D"
	ctrlC = "\x03"
	ctrlD = "\x04"
)

func (w *world) plain(args ...string) *terminal {
	w.t.Helper()
	s := w.terminal(append(append([]string{"--plain"}, w.model...), args...)...)
	s.expect("> ")
	return s
}

// echo answers with what it was told.
func echo(e *llmtest.Exchange) llmtest.Reply {
	return llmtest.Say(fmt.Sprintf("[%s]", strings.ReplaceAll(lastTyped(e), "\n", "|")))
}

func TestPlainAtATerminal(t *testing.T) {
	w := newWorld(t)
	w.serve(llmtest.WireChat, echo)
	s := w.plain()
	s.send("fist" + left + left + "xx\x08\x08r" + "\x05" + " one\r") // edited in the middle
	s.expect("[first one]")
	s.expect("· ") // the line that sums up
	s.expect("> ")
	s.send(up + "\r")
	s.expect("[first one]")
	s.expect("> ")
	s.send("draft" + up + down + "!\r") // what was being typed comes back
	s.expect("[draft!]")
	s.expect("> ")
	s.send("thrown away" + ctrlC)
	s.expect("again ends")
	s.expect("> ")
	s.send("after\r")
	s.expect("[after]")
	s.expect("> ")
	s.send(ctrlD)
	if code := s.exit(); code != 0 {
		t.Errorf("exit %d: %q", code, s.text())
	}
	if strings.Contains(s.text(), "[thrown") {
		t.Error("a line that was cleared was sent")
	}

	// The history is there in the next process, each line once, for the user alone.
	file := filepath.Join(w.home, ".cantle", "history")
	if st, err := os.Stat(file); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", st, err)
	}
	s = w.plain()
	s.send(up + up + up + "\r") // after, draft!, the first
	s.expect("one]")
	s.expect("> ")
	s.send(ctrlC)
	s.expect("again ends")
	s.send(ctrlC)
	if code := s.exit(); code != 0 {
		t.Errorf("exit %d", code)
	}
	if b, err := os.ReadFile(file); err != nil || strings.Contains(string(b), "thrown") {
		t.Errorf("%v: %s", err, b)
	}
}

func TestPlainTakesAPasteWhole(t *testing.T) {
	w := newWorld(t)
	s0 := w.serve(llmtest.WireChat, echo)
	s := w.plain()
	s.send("look: \x1b[200~one\r\ttwo\x03\x04\x1b[A\nthree\r\n\x1b[201~ end")
	s.expect(" end")
	if n := len(s0.Requests()); n != 0 {
		t.Fatalf("%d requests before Enter", n)
	}
	s.send("\r")
	s.expect("[look: one|\ttwo[A|three| end]")
	s.expect("> ")
	s.send(up + "\r") // recalled as it was
	s.expect("[look: one|\ttwo[A|three| end]")
	s.expect("> ")
	s.send("a\\\r")
	s.expect("… ")
	s.send("b\\\r")
	s.expect("… ")
	s.send("c" + ctrlC) // all of it is cleared
	s.expect("> ")
	s.send("d\\\r")
	s.expect("… ")
	s.send("e\r")
	s.expect("[d|e]")
	s.expect("> ")
	s.send("/exit\r")
	if code := s.exit(); code != 0 {
		t.Errorf("exit %d", code)
	}
	if !strings.HasSuffix(s.text(), "\x1b[?2004l") {
		t.Errorf("the terminal goes on marking pastes: %q", s.text())
	}
}

func TestApprovalsAtATerminal(t *testing.T) {
	w := newWorld(t)
	run := func(c string) llmtest.Reply { return llmtest.Call("Bash", map[string]any{"command": c}) }
	const long = "echo start; : '" // and 3 kB more
	whole := long + strings.Repeat("0123456789 ", 300) + "END'\n# a second line\a\u202eevil\u200b"
	w.serve(llmtest.WireChat, llmtest.Play(t,
		llmtest.Call("Write", map[string]any{"file_path": "a.txt", "content": "new\x1b[31m text\n"}),
		run(whole).Want(llmtest.LastResult("")),
		run("echo third"), run("echo fourth"),
		llmtest.Say("over").Want(llmtest.LastResult("fourth")),
		run("echo fifth"), run("touch sixth").Want(llmtest.LastResult("fifth")),
		llmtest.Say("again").Want(llmtest.LastResult("rather not")),
	))
	s := w.plain()
	s.send("go\r")
	shown := s.expect("Allow? ")
	if !strings.Contains(shown, "Write wants to run") || !strings.Contains(shown, "+new<U+001B>[31m text") {
		t.Errorf("no diff: %q", shown)
	}
	s.send("y\r")
	shown = strings.ReplaceAll(s.expect("Allow? "), "\r\n", "\n")
	if want := strings.NewReplacer("\a", "<U+0007>", "\u202e", "<U+202E>", "\u200b", "<U+200B>").Replace(whole); !strings.Contains(shown, want) {
		t.Errorf("not all of the command: %q", shown)
	}
	s.send("n\r")
	s.expect("echo third")
	s.expect("Allow? ")
	s.expect("[a]lways in this session: Bash(echo:*) (would have matched 1 of 1)")
	s.send("a\r") // the fourth is not asked about
	if shown := s.expect("over"); strings.Contains(shown, "Allow?") {
		t.Errorf("asked again: %q", shown)
	}
	s.expect("> ")
	s.send("/exit\r")
	if code := s.exit(); code != 0 {
		t.Errorf("exit %d", code)
	}
	if b, _ := os.ReadFile(filepath.Join(w.dir, "a.txt")); string(b) != "new\x1b[31m text\n" {
		t.Errorf("%q", b)
	}
	// The grant is the session's, and for no more than it said.
	s = w.plain("--continue")
	s.send("more\r")
	if shown := s.expect("touch sixth"); !strings.Contains(shown, "fifth") || strings.Contains(shown, "Allow?") {
		t.Errorf("asked again: %q", shown)
	}
	s.expect("Allow? ")
	s.send("rather not\r")
	s.expect("again")
	s.expect("> ")
	s.send(ctrlD)
	s.exit()
}

func TestWhatIsTypedAheadAnswersNothing(t *testing.T) {
	w := newWorld(t)
	asked := make(chan struct{})
	typed := make(chan struct{})
	w.serve(llmtest.WireChat, func(e *llmtest.Exchange) llmtest.Reply {
		switch last, ok := e.LastResult(); {
		case ok && strings.Contains(last, "the user said no"):
			return llmtest.Say("not done")
		case ok:
			return llmtest.Say("done")
		case strings.Contains(e.LastText(), "go"):
			close(asked)
			<-typed
			return llmtest.Call("Bash", map[string]any{"command": "touch ran"})
		}
		return llmtest.Say("?")
	})
	s := w.plain()
	s.send("go\r")
	<-asked
	s.send("y\r") // at the model's time, not at a question's
	s.expect("y")
	close(typed)
	s.expect("Allow? ")
	if _, err := os.Stat(filepath.Join(w.dir, "ran")); err == nil {
		t.Fatal("it ran unasked")
	}
	s.send("n\r")
	s.expect("not done")
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	s.exit()
	if _, err := os.Stat(filepath.Join(w.dir, "ran")); err == nil {
		t.Error("what was typed ahead allowed it")
	}
}

func TestCtrlCInMidStreamGoesBackToThePrompt(t *testing.T) {
	w := newWorld(t)
	w.serve(llmtest.WireChat, llmtest.Play(t,
		llmtest.Say("half of an answer ").Stall(),
		llmtest.Say("and on").Want(func(req *llm.Request) error {
			for _, m := range req.Messages {
				if m.Role == llm.RoleAssistant && strings.HasPrefix(m.Text(), "half of") {
					return nil
				}
			}
			return errors.New("the partial answer is gone")
		}),
	))
	s := w.plain()
	s.send("go\r")
	s.expect("half of")
	s.send(ctrlC)
	s.expect("stopped: interrupted")
	s.expect("> ")
	s.send("go on\r")
	s.expect("and on")
	s.expect("> ")
	s.send("/session\r")
	id := regexp.MustCompile(`\d{8}-\d{6}-\w+`).FindString(s.expect("\n> "))
	s.send(ctrlD)
	if code := s.exit(); code != 0 {
		t.Errorf("exit %d", code)
	}
	out, _, code := w.exec("sessions", "show", id)
	if code != 0 || !strings.Contains(out, "(cut off): half of") {
		t.Errorf("exit %d, %s", code, out)
	}
}

func TestTerminatedAtThePrompt(t *testing.T) {
	w := newWorld(t)
	w.serve(llmtest.WireChat, echo)
	s := w.plain()
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	if code := s.exit(); code != 143 {
		t.Errorf("exit %d", code)
	}
}

// TestATerminalThatCannotEdit gets lines, and the same Ctrl-C.
func TestATerminalThatCannotEdit(t *testing.T) {
	w := newWorld(t)
	w.serve(llmtest.WireChat, echo)
	w.env = append(w.env, "TERM=dumb")
	s := w.plain()
	s.send("one\r")
	s.expect("[one]")
	s.expect("> ")
	s.send("thrown away" + ctrlC)
	s.expect("again ends")
	s.expect("> ")
	s.send("two\r")
	s.expect("[two]")
	s.expect("> ")
	s.send(ctrlC)
	s.expect("again ends")
	s.send(ctrlC)
	if code := s.exit(); code != 0 || strings.Contains(s.text(), "[thrown") || strings.Contains(s.text(), "\x1b") {
		t.Errorf("exit %d: %q", code, s.text())
	}
}

func TestInterruptedWithoutATerminal(t *testing.T) {
	w := newWorld(t)
	w.serve(llmtest.WireChat, echo)
	cmd := exec.Command(program, append([]string{"--plain"}, w.model...)...)
	cmd.Dir, cmd.Env = w.dir, w.env
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	errs, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	text, b := "", make([]byte, 256)
	for err == nil {
		var n int
		n, err = errs.Read(b)
		text += string(b[:n])
		if strings.HasSuffix(text, "> ") {
			_ = cmd.Process.Signal(os.Interrupt)
		}
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 130 {
		t.Errorf("exit %d: %q", code, text)
	}
}

func TestCtrlCAtAQuestion(t *testing.T) {
	w := newWorld(t)
	w.serve(llmtest.WireChat, llmtest.Play(t,
		llmtest.Call("Bash", map[string]any{"command": "touch ran"}), llmtest.Say("going on"),
	))
	s := w.terminal(append(append([]string{"run"}, w.model...), "go")...)
	s.expect("Allow? ")
	s.send(ctrlC)
	if code := s.exit(); code != 130 {
		t.Errorf("exit %d: %q", code, s.text())
	}
	if _, err := os.Stat(filepath.Join(w.dir, "ran")); err == nil {
		t.Error("it ran")
	}
	out, errs, code := w.run("--continue", "go on")
	if code != 0 || strings.TrimSpace(out) != "going on" {
		t.Errorf("exit %d, %q, %s", code, out, errs)
	}
}

// TestQuestionsOfAnEarlierRunAtATerminal: they are put again; a terminal that
// is closed leaves them; -y answers them, but for those of ask rules.
func TestQuestionsOfAnEarlierRunAtATerminal(t *testing.T) {
	pend := func(t *testing.T, args ...string) *world {
		w := newWorld(t)
		w.serve(llmtest.WireChat, func(e *llmtest.Exchange) llmtest.Reply {
			if _, ok := e.LastResult(); ok {
				return llmtest.Say("done")
			}
			return llmtest.Call("Bash", map[string]any{"command": "echo ran >> ran"})
		})
		if out, errs, code := w.runWith("", append(args, "--input", "stream-json", "go")...); code != 4 {
			t.Fatalf("exit %d, %s%s", code, out, errs)
		}
		return w
	}
	ran := func(w *world) string {
		b, _ := os.ReadFile(filepath.Join(w.dir, "ran"))
		return string(b)
	}
	t.Run("answered", func(t *testing.T) {
		w := pend(t)
		s := w.terminal(append(append([]string{"run"}, w.model...), "--continue")...)
		s.expect("echo ran")
		s.expect("Allow? ")
		s.send(ctrlD)
		if code := s.exit(); code != 4 || ran(w) != "" {
			t.Fatalf("exit %d: %q", code, s.text())
		}
		s = w.terminal(append(append([]string{"run"}, w.model...), "--continue")...)
		s.expect("Allow? ")
		s.send("y\r")
		s.expect("done")
		if code := s.exit(); code != 0 || ran(w) != "ran\n" {
			t.Errorf("exit %d, %q: %q", code, ran(w), s.text())
		}
	})
	t.Run("yes", func(t *testing.T) {
		w := pend(t)
		out, _, _ := w.exec("sessions", "list")
		id, _, _ := strings.Cut(out, " ")
		if out, errs, code := w.runWith("", "-r", id, "-y"); code != 0 || ran(w) != "ran\n" {
			t.Errorf("exit %d, %q: %s%s", code, ran(w), out, errs)
		}
	})
	t.Run("yes to an ask rule", func(t *testing.T) {
		w := pend(t, "--ask", "Bash")
		if out, errs, code := w.runWith("", "--continue", "-y", "--ask", "Bash"); code != 4 || ran(w) != "" {
			t.Errorf("exit %d, %q: %s%s", code, ran(w), out, errs)
		}
	})
}

// TestLimitQuestionAtATerminal: in a run and in a talk, with nothing to allow
// for always.
func TestLimitQuestionAtATerminal(t *testing.T) {
	w, args := limited(t)
	s := w.terminal(append(append(append([]string{"run"}, w.model...), args...), "go")...)
	s.expect("limit: 1 of 2 turns are done")
	if shown := s.expect("what to do instead: "); !strings.Contains(shown, "Go on? ") || strings.Contains(shown, "always") {
		t.Errorf("%q", shown)
	}
	s.send("a\r")
	s.expect("asked each time")
	s.send("y\r")
	s.expect("the answer")
	if code := s.exit(); code != 0 {
		t.Errorf("exit %d: %q", code, s.text())
	}
	s = w.plain(args...)
	s.send("go\r")
	s.expect("Go on? ")
	s.send("n\r")
	s.expect("stopped: max_turns")
	s.expect("> ")
	s.send(ctrlD)
	s.exit()
	s = w.plain(args...)
	s.send("go\r")
	s.expect("Go on? ")
	s.send(ctrlC)
	s.expect("stopped: interrupted")
	s.expect("> ")
	s.send(ctrlD)
	if code := s.exit(); code != 0 {
		t.Errorf("exit %d: %q", code, s.text())
	}
}

// TestWhatAnInterruptedRunDidNotComeToIsAtThePrompt: to be edited and sent.
func TestWhatAnInterruptedRunDidNotComeToIsAtThePrompt(t *testing.T) {
	for _, term := range []string{"xterm", "dumb"} {
		w := newWorld(t)
		w.serve(llmtest.WireChat, func(e *llmtest.Exchange) llmtest.Reply {
			if strings.Contains(lastTyped(e), "go") {
				return llmtest.Say("half ").Stall()
			}
			return echo(e)
		})
		lines := `{"type":"user","text":"go"}` + "\n" + `{"type":"followup","text":"and then\nmore"}` + "\n" + `{"type":"interrupt"}` + "\n"
		if out, errs, code := w.runWith(lines, "--input", "stream-json", "-o", "json"); code != 130 {
			t.Fatalf("exit %d, %s%s", code, out, errs)
		}
		w.env = append(w.env, "TERM="+term)
		s := w.plain("--continue")
		s.send("go\r")
		s.expect("half")
		s.send(ctrlC)
		s.expect("stopped: interrupted")
		if term == "dumb" {
			s.expect("Not sent: and then")
			s.expect("> ")
			s.send("done\r")
			s.expect("[done]")
		} else {
			s.expect("> ")
			s.expect("and then⏎more")
			s.send("!\r")
			s.expect("[and then|more!]")
		}
		s.expect("> ")
		s.send(ctrlD)
		if code := s.exit(); code != 0 {
			t.Errorf("exit %d: %q", code, s.text())
		}
	}
}

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
