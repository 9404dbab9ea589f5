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
	"syscall"
	"testing"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/llmtest"
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
