//go:build linux || darwin

package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/cantle-dev/cantle/llm/llmtest"
)

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
	if !strings.Contains(shown, "Write wants to run") || !strings.Contains(shown, "  │ +new<U+001B>[31m text") {
		t.Errorf("no diff: %q", shown)
	}
	s.send("y\r")
	// Lines of the terminal's own are no lines of the command's.
	shown = strings.NewReplacer("\x1b[1;4m", "", "\x1b[0m", "", "\r\n  ┆ ", "", "\r\n  │ ", "\n").Replace(s.expect("Allow? "))
	if want := strings.NewReplacer("\a", "<U+0007>", "\u202e", "<U+202E>", "\u200b", "<U+200B>").Replace(whole); !strings.Contains(shown, want) {
		t.Errorf("not all of the command: %q", shown)
	}
	s.send("n\r")
	s.expect("echo third")
	s.expect("[a]lways in this session: Bash(echo:*) (would have matched 1 of 1 calls so far)")
	s.expect("Allow? ")
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
		out, _, _ := w.exec("sessions", "list")
		id, _, _ := strings.Cut(out, " ")
		if !strings.Contains(s.text(), "cantle run -c, or cantle run -r "+id+", asks again.") {
			t.Errorf("no way on: %q", s.text())
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

// TestAQuestionThatATalkLeaves says how it is answered, there and later.
func TestAQuestionThatATalkLeaves(t *testing.T) {
	w := newWorld(t)
	w.serve(llmtest.WireChat, llmtest.Play(t, llmtest.Call("Bash", map[string]any{"command": "echo ran"})))
	s := w.plain()
	s.send("go\r")
	s.expect("instead: ")
	s.send(ctrlD)
	s.expect("stopped: pending")
	s.expect("Enter asks again; later, cantle run -c, or cantle run -r ")
	s.expect("> ")
	s.send("\r")
	s.expect("instead: ")
	s.send(ctrlD)
	s.expect("> ")
	s.send(ctrlD)
	s.expect("1 question(s) wait for an answer: cantle run -c, or")
	if code := s.exit(); code != 0 {
		t.Errorf("exit %d: %q", code, s.text())
	}
}

// TestANarrowTerminal: no word of a question is cut that fits a line.
func TestANarrowTerminal(t *testing.T) {
	w := newWorld(t)
	w.serve(llmtest.WireChat, llmtest.Play(t, llmtest.Call("Bash", map[string]any{"command": "touch made"}), llmtest.Say("over")))
	s := w.terminalOf(42, append(append([]string{"run"}, w.model...), "go")...)
	s.expect("Bash wants to run:")
	shown := s.expect("instead: ")
	s.send("n\r")
	s.expect("over")
	if code := s.exit(); code != 0 {
		t.Errorf("exit %d: %q", code, s.text())
	}
	for l := range strings.SplitSeq(shown, "\r\n") {
		if n := len([]rune(strings.NewReplacer("\x1b[1;4m", "", "\x1b[0m", "").Replace(l))); n > 42 {
			t.Errorf("%d columns: %q", n, l)
		}
	}
	text := strings.Join(strings.Fields(shown), " ")
	for _, want := range []string{"It asks because no rule covers that it would", "always for this [u]ser, everywhere: Bash(touch made)", "[n]o / [a] / [p] / [u], or say what to do instead:"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %q", want, shown)
		}
	}
}

// TestCtrlCStandsOnItsLine: what is told of the call that it ended begins one.
func TestCtrlCStandsOnItsLine(t *testing.T) {
	w := newWorld(t)
	w.serve(llmtest.WireChat, llmtest.Play(t, llmtest.Call("Bash", map[string]any{"command": "echo up > up; exec sleep 60"})))
	s := w.plain("--yes")
	s.send("go\r")
	await(t, filepath.Join(w.dir, "up"))
	s.send(ctrlC)
	shown := s.expect("▸ Bash(")
	if _, after, ok := strings.Cut(shown, "^C"); !ok || !strings.Contains(after, "\n") {
		t.Errorf("%q", shown)
	}
	s.expect("stopped: interrupted")
	s.expect("> ")
	s.send(ctrlD)
	s.exit()
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

// TestALongDiffIsAllowedOnceItWasSeen: in a view that scrolls, on a screen of its
// own.
func TestALongDiffIsAllowedOnceItWasSeen(t *testing.T) {
	w := newWorld(t)
	var text strings.Builder
	for i := range 150 {
		fmt.Fprintf(&text, "line %d.\n", i)
	}
	w.serve(llmtest.WireChat, llmtest.Play(t,
		llmtest.Call("Write", map[string]any{"file_path": "a.txt", "content": text.String()}), llmtest.Say("over"),
	))
	s := w.terminal(append(append([]string{"run"}, w.model...), "go")...)
	if shown := s.expect("instead: "); strings.Contains(shown, "line 149.") || !strings.Contains(shown, "more lines") || strings.Contains(shown, "[y]") {
		t.Errorf("%q", shown)
	}
	s.send("y\r")
	s.expect("It was not all shown")
	s.expect("instead: ")
	s.send("d\r")
	s.expect("\x1b[?1049h")
	s.expect("1–49 of")
	s.send("q")
	s.expect("\x1b[?1049l")
	s.expect("Its end was not reached")
	s.expect("instead: ")
	s.send("d\r")
	s.expect("1–49 of")
	s.send("   ")
	s.expect("line 149.")
	s.expect("the end")
	s.send("q")
	s.expect("\x1b[?1049l")
	if shown := s.expect("instead: "); !strings.Contains(shown, "[y]es") || !strings.Contains(shown, "[a]lways") {
		t.Errorf("%q", shown)
	}
	s.send("y\r")
	s.expect("over")
	if code := s.exit(); code != 0 {
		t.Errorf("exit %d", code)
	}
	if b, _ := os.ReadFile(filepath.Join(w.dir, "a.txt")); string(b) != text.String() {
		t.Errorf("%d bytes", len(b))
	}
}

// TestAKeyOfTheMomentAnswersNothing: what is typed while a question comes is not
// meant for it.
func TestAKeyOfTheMomentAnswersNothing(t *testing.T) {
	w := newWorld(t)
	w.serve(llmtest.WireChat, llmtest.Play(t, llmtest.Call("Bash", map[string]any{"command": "touch ran"}), llmtest.Say("over")))
	s := w.terminal(append(append([]string{"run"}, w.model...), "go")...)
	s.expect("Bash wants to run")
	s.send("y\r")
	s.expect("instead: ")
	if _, err := os.Stat(filepath.Join(w.dir, "ran")); err == nil {
		t.Error("it ran")
	}
	s.send("n\r")
	s.expect("over")
	s.exit()
}

// TestARuleIsSavedWhereItSaid: in the user's own file for the project, or for
// everywhere, and exactly as it was shown.
func TestARuleIsSavedWhereItSaid(t *testing.T) {
	for key, file := range map[string]string{"p": "projects/*/settings.json", "u": "settings.json"} {
		w := newWorld(t)
		w.serve(llmtest.WireChat, func(e *llmtest.Exchange) llmtest.Reply {
			if _, ok := e.LastResult(); ok {
				return llmtest.Say("done")
			}
			return llmtest.Call("Bash", map[string]any{"command": "touch one"})
		})
		s := w.terminal(append(append([]string{"run"}, w.model...), "go")...)
		shown := s.expect("Allow? ")
		const rule = "Bash(touch one)"
		if strings.Count(shown, rule) != 3 || !strings.Contains(shown, "saved in ~/.cantle/settings.json") {
			t.Errorf("%q", shown)
		}
		s.send(key + "\r")
		s.expect("done")
		if code := s.exit(); code != 0 {
			t.Errorf("exit %d: %q", code, s.text())
		}
		names, _ := filepath.Glob(filepath.Join(w.home, ".cantle", file))
		if len(names) != 1 || !strings.Contains(shown, "saved in ~"+strings.TrimPrefix(names[0], w.home)) {
			t.Fatalf("%s: %q, and shown was %q", key, names, shown)
		}
		if b, err := os.ReadFile(names[0]); err != nil || !strings.Contains(string(b), `"`+rule+`"`) {
			t.Errorf("%v, %s", err, b)
		}
		if _, err := os.Stat(filepath.Join(w.dir, ".cantle")); err == nil {
			t.Error("something was written into the project")
		}
		_ = os.Remove(filepath.Join(w.dir, "one"))
		if out, errs, code := w.run("go"); code != 0 || out != "done\n" {
			t.Errorf("exit %d, %s%s", code, out, errs)
		}
		if _, err := os.Stat(filepath.Join(w.dir, "one")); err != nil {
			t.Errorf("%s: it was not allowed any more", key)
		}
	}
}

// TestAQuestionWhoseTimeIsUp is no no of the user's, and what was being typed to it
// is no prompt.
func TestAQuestionWhoseTimeIsUp(t *testing.T) {
	w := newWorld(t)
	w.serve(llmtest.WireChat, func(e *llmtest.Exchange) llmtest.Reply {
		switch last, ok := e.LastResult(); {
		case strings.Contains(lastTyped(e), "next"):
			return echo(e)
		case ok:
			return llmtest.Say("told: " + last)
		}
		return llmtest.Call("Bash", map[string]any{"command": "touch ran"})
	})
	s := w.plain("--set", "permissions.askTimeout=2s")
	s.send("go\r")
	s.expect("instead: ")
	s.send("y")
	s.expect("Not allowed: ")
	if told := s.expect("— "); !strings.Contains(told, "told: ") || !strings.Contains(told, "nobody answered") || strings.Contains(told, "the user said") {
		t.Errorf("%q", told)
	}
	s.expect("> ")
	s.send("next\r")
	s.expect("[next]")
	s.expect("> ")
	s.send(ctrlD)
	s.exit()
	if _, err := os.Stat(filepath.Join(w.dir, "ran")); err == nil {
		t.Error("it ran")
	}
}

// TestAnAnswerForMoreThanOnce: a line of input grants what the question suggests, for
// as long as it says.
func TestAnAnswerForMoreThanOnce(t *testing.T) {
	for to, file := range map[string]string{"session": "", "localSettings": "projects/*/settings.json", "userSettings": "settings.json"} {
		w := newWorld(t)
		run := llmtest.Call("Bash", map[string]any{"command": "touch made"})
		w.serve(llmtest.WireChat, llmtest.Play(t, run, run, llmtest.Say("done")))
		out, errs, code := w.runWith(`{"type":"user","text":"go"}`+"\n", "--input", "stream-json", "-o", "stream-json")
		m := regexp.MustCompile(`"question":{"id":"([^"]+)"`).FindStringSubmatch(out)
		if code != 4 || m == nil {
			t.Fatalf("exit %d, %s%s", code, out, errs)
		}
		answer := func(rest string) (string, string, int) {
			return w.runWith(fmt.Sprintf(`{"type":"answer","id":"%s",%s}`+"\n", m[1], rest), "--input", "stream-json", "-o", "stream-json", "--continue")
		}
		for rest, want := range map[string]string{
			`"ok":false,"always":"session"`: "goes with the type answer and a yes", `"ok":true,"always":"projectSettings"`: "use session, localSettings, userSettings",
		} {
			if out, errs, code := answer(rest); code != 2 || !strings.Contains(out, want) {
				t.Errorf("%s: exit %d, %s%s", rest, code, out, errs)
			}
		}
		if out, errs, code := answer(`"ok":true,"always":"` + to + `"`); code != 0 || strings.Contains(out, `"type":"asked"`) {
			t.Errorf("%s: exit %d, %s%s", to, code, out, errs)
		}
		for _, name := range []string{"settings.json", "projects/*/settings.json"} {
			names, _ := filepath.Glob(filepath.Join(w.home, ".cantle", name))
			kept := ""
			if len(names) == 1 {
				b, _ := os.ReadFile(names[0])
				kept = string(b)
			}
			if strings.Contains(kept, `"Bash(touch made)"`) != (name == file) {
				t.Errorf("%s: %s has %q", to, name, kept)
			}
		}
	}
}

// TestTheTerminalIsGivenBack by a program that ends while it shows a screen of its own.
func TestTheTerminalIsGivenBack(t *testing.T) {
	w := newWorld(t)
	w.serve(llmtest.WireChat, llmtest.Play(t, llmtest.Call("Write", map[string]any{"file_path": "a.txt", "content": strings.Repeat("line\n", 150)})))
	s := w.terminal(append(append([]string{"run"}, w.model...), "go")...)
	s.expect("instead: ")
	s.send("d\r")
	s.expect("1–49 of")
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	s.expect("\x1b[?1049l")
	s.expect("stopped: interrupted")
	if code := s.exit(); code != 143 {
		t.Errorf("exit %d: %q", code, s.text())
	}
}
