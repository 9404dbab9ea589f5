package main_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/llm/llmtest"
)

// runWith is run with lines on standard input.
func (w *world) runWith(stdin string, args ...string) (string, string, int) {
	w.t.Helper()
	cmd := w.command(args...)
	var out, errs strings.Builder
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &errs
	if err := cmd.Run(); cmd.ProcessState == nil {
		w.t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

func TestQuestionsAreAnsweredInALaterProcess(t *testing.T) {
	w := newWorld(t)
	w.serve(llmtest.WireChat, llmtest.Play(t,
		llmtest.Call("Bash", map[string]any{"command": "echo ran >> ran"}),
		llmtest.Say("done").Want(llmtest.LastResult("(no output)")),
	))
	out, errs, code := w.runWith(`{"type":"user","text":"go"}`+"\n", "--input", "stream-json", "-o", "stream-json")
	m := regexp.MustCompile(`"question":{"id":"([^"]+)"`).FindStringSubmatch(out)
	if code != 4 || m == nil {
		t.Fatalf("exit %d, %s%s", code, out, errs)
	}
	for _, stdin := range []string{"", "\r\n", `{"type":"answer","id":"another","ok":true}` + "\n"} {
		if out, errs, code := w.runWith(stdin, "--input", "stream-json", "-o", "json", "--continue"); code != 4 || decode(t, out)["status"] != "pending" {
			t.Errorf("after %q: exit %d, %s%s", stdin, code, out, errs)
		}
	}
	stdin := `{"type":"answer","id":"` + m[1] + `","ok":true}` + "\n"
	out, errs, code = w.runWith(stdin, "--input", "stream-json", "-o", "json", "--continue")
	if doc := decode(t, out); code != 0 || doc["result"] != "done" {
		t.Errorf("exit %d, %v, %s", code, doc, errs)
	}
	if b, err := os.ReadFile(w.dir + "/ran"); err != nil || string(b) != "ran\n" {
		t.Errorf("the command ran not once: %q, %v", b, err)
	}
}

func TestPlainLoopPutsQuestionsThatWait(t *testing.T) {
	w := newWorld(t)
	w.serve(llmtest.WireChat, llmtest.Play(t,
		llmtest.Call("Bash", map[string]any{"command": "echo ran >> ran"}),
		llmtest.Say("done").Want(llmtest.LastResult("(no output)")),
	))
	if out, errs, code := w.runWith(`{"type":"user","text":"go"}`+"\n", "--input", "stream-json"); code != 4 {
		t.Fatalf("exit %d, %s%s", code, out, errs)
	}
	cmd := exec.Command(program, append([]string{"--plain", "--continue"}, w.model...)...)
	cmd.Dir, cmd.Env, cmd.Stdin = w.dir, w.env, strings.NewReader("y\n/exit\n")
	b, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(b), "echo ran") || !strings.Contains(string(b), "done") {
		t.Errorf("%v, %s", err, b)
	}
	if b, err := os.ReadFile(w.dir + "/ran"); err != nil || string(b) != "ran\n" {
		t.Errorf("the command ran not once: %q, %v", b, err)
	}
}

func TestOneDocumentWhateverWasTyped(t *testing.T) {
	w := newWorld(t)
	w.serve(llmtest.WireChat, func(*llmtest.Exchange) llmtest.Reply { return llmtest.Say("fine") })
	for _, args := range [][]string{
		{"-o", "json", "--nope"},
		{"--nope", "--json"},
		{"--nope", "--output=stream-json"},
		{"--yes=maybe", "-ojson"},
		{"-o", "json", "--resume", ""},
		{"-o", "json", "--set", "permissions=null", "go"},
		{"-o", "json", "--max-turns"},
		{"-o", "json"},
	} {
		out, errs, code := w.runWith("", args...)
		if doc := decode(t, out); code != 2 || doc["exit_code"] != 2.0 || doc["termination_reason"] != "usage" || errs != "" {
			t.Errorf("%q: exit %d, %v, %s", args, code, doc, errs)
		}
	}
	if out, errs, code := w.runWith("", "--nope", "--", "--json"); code != 2 || out != "" || !strings.Contains(errs, "--nope") {
		t.Errorf("exit %d, %q, %q", code, out, errs)
	}
	// What is not understood stands beside the document and not before it.
	out, errs, code := w.runWith("{\"type\":\"user\",\"text\":\"go\"} x\n", "--input", "stream-json", "-o", "json")
	if doc := decode(t, out); code != 2 || !strings.Contains(doc["error"].(map[string]any)["message"].(string), "one object") {
		t.Errorf("exit %d, %v, %s", code, doc, errs)
	}
}

func TestUnknownCommandsAreUsage(t *testing.T) {
	w := newWorld(t)
	for _, args := range [][]string{{"nope"}, {"sessions", "nope"}, {"sessions", "show", "../x"}, {"sessions", "delete", "a\x1b[31m\nb"}, {"sessions", "show", "nope1234"}} {
		cmd := exec.Command(program, args...)
		cmd.Dir, cmd.Env = w.dir, w.env
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != 2 || strings.ContainsRune(string(out), 0x1b) {
			t.Errorf("%q: %v, %q", args, err, out)
		}
	}
}

// TestNoControlCharacters: what the model and the tools say does not drive the
// terminal.
func TestNoControlCharacters(t *testing.T) {
	w := newWorld(t)
	const evil = "a\x1b]0;x\x07\u009b31m\x08b"
	w.serve(llmtest.WireChat, llmtest.Play(t,
		llmtest.Call("Bad"+evil, map[string]any{"x": evil}), llmtest.Call("Bash", map[string]any{"command": "printf '\\033[31mx'", "description": evil}), llmtest.Say(evil),
	)).Tolerate()
	_, errs, code := w.run("-v", "--yes", "go"+evil)
	if code != 0 {
		t.Fatalf("exit %d, %s", code, errs)
	}
	for _, args := range [][]string{{"sessions", "list"}, {"sessions", "show"}} {
		if args[1] == "show" {
			list := exec.Command(program, "sessions", "list", "--json")
			list.Dir, list.Env = w.dir, w.env
			b, err := list.Output()
			var info struct{ ID string }
			if err != nil || json.Unmarshal(b, &info) != nil {
				t.Fatalf("%v, %s", err, b)
			}
			args = append(args, info.ID)
		}
		cmd := exec.Command(program, args...)
		cmd.Dir, cmd.Env = w.dir, w.env
		b, err := cmd.CombinedOutput()
		if err != nil || len(b) == 0 {
			t.Errorf("%q: %v", args, err)
		}
		errs += string(b)
	}
	if i := strings.IndexAny(errs, "\x1b\x07\x08\u009b"); i >= 0 {
		t.Errorf("a control character: %q", errs[max(0, i-40):min(len(errs), i+20)])
	}
}

// TestOwnFolderIsSensitive: --yes does not let a model write its own settings,
// wherever CANTLE_HOME is.
func TestOwnFolderIsSensitive(t *testing.T) {
	w := newWorld(t)
	own := t.TempDir()
	w.env = append(w.env, "CANTLE_HOME="+own)
	w.serve(llmtest.WireChat, llmtest.Play(t,
		llmtest.Call("Write", map[string]any{"file_path": own + "/settings.json", "content": "{}"}),
		llmtest.Say("so be it").Want(llmtest.LastResult("own settings")),
	)).Tolerate()
	if out, errs, code := w.run("--yes", "go"); code != 0 {
		t.Errorf("exit %d, %s%s", code, out, errs)
	}
	if _, err := os.Stat(own + "/settings.json"); err == nil {
		t.Error("the model wrote the settings")
	}
}

func TestFilesWithoutEnd(t *testing.T) {
	if _, err := os.Stat("/dev/zero"); err != nil {
		t.Skip("no devices here: ", err)
	}
	w := newWorld(t)
	w.use(llmtest.WireChat, "http://127.0.0.1:1")
	for _, flag := range []string{"--file", "--image", "--schema"} {
		out, errs, code := w.run("-o", "json", flag, "/dev/zero", "go")
		if doc := decode(t, out); code != 2 || !strings.Contains(out, "larger than 10 MiB") {
			t.Errorf("%s: exit %d, %v, %s", flag, code, doc, errs)
		}
	}
}

func TestOddFlagsAreUsage(t *testing.T) {
	w := newWorld(t)
	w.write("file", "")
	w.use(llmtest.WireChat, "http://127.0.0.1:1")
	for want, args := range map[string][]string{
		"is not a directory": {"--add-dir", "file"},
		"no limit":           {"--max-cost", "0.00"},
		"JSON Schema":        {"--schema", `{"type":"object","properties":{"a":{"$ref":"http://127.0.0.1:1/x"}}}`},
	} {
		if out, errs, code := w.run(append(args, "go")...); code != 2 || out != "" || !strings.Contains(errs, want) {
			t.Errorf("%q: exit %d, %s%s", args, code, out, errs)
		}
	}
}

func TestLinesWithoutEnd(t *testing.T) {
	w := newWorld(t)
	w.use(llmtest.WireChat, "http://127.0.0.1:1")
	line := `{"type":"user","text":"` + strings.Repeat("a", 17<<20)
	out, errs, code := w.runWith(line, "--input", "stream-json", "-o", "json")
	if doc := decode(t, out); code != 2 || !strings.Contains(out, "longer than 16 MiB") {
		t.Errorf("exit %d, %v, %s", code, doc, errs)
	}
}

func TestHomeThatCannotBeWritten(t *testing.T) {
	w := newWorld(t)
	home := w.dir + "/home"
	if err := os.MkdirAll(home, 0o755); err != nil {
		t.Fatal(err)
	}
	w.write("home/sessions", "a file where the folder is to be")
	w.env = append(w.env, "CANTLE_HOME="+home)
	w.model = []string{"-m", "demo:offline"}
	if out, errs, code := w.run("hi"); code == 0 || out != "" || !strings.Contains(errs, "CANTLE_HOME") || !strings.Contains(errs, "--no-session") {
		t.Errorf("exit %d, %s%s", code, out, errs)
	}
	if out, errs, code := w.run("--no-session", "hi"); code != 0 {
		t.Errorf("exit %d, %s%s", code, out, errs)
	}
}

// exec runs the program with arguments that are not run's, and no terminal.
func (w *world) exec(args ...string) (string, string, int) {
	w.t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Env = w.dir, w.env
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); cmd.ProcessState == nil {
		w.t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}
