package main_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/llmtest"
	"github.com/cantle-dev/cantle/session"
	"github.com/cantle-dev/cantle/session/jsonl"
	"github.com/cantle-dev/cantle/tool"
)

// TestOddValues: what a flag cannot mean is usage, named, with nothing asked of
// the model.
func TestOddValues(t *testing.T) {
	w := newWorld(t)
	s := w.serve(llmtest.WireChat, func(*llmtest.Exchange) llmtest.Reply { return llmtest.Say("fine") })
	w.write("bin", "a\x00b")
	w.write("not.png", "text")
	for _, c := range []struct{ args, want string }{
		{`--schema {"type":"object","properties":5}`, "properties"},
		{`--schema {"type":"object","properties":{"a":{"type":"text"}}}`, "properties.a"},
		{`--schema {"type":"object","required":"a"}`, "required"},
		{`--schema {"type":"array"}`, "object"},
		{`--schema {"type":`, "JSON"},
		{`--schema nowhere.json`, "nowhere.json"},
		{"--json -o stream-json", "contradict"},
		{"--json --output text", "contradict"},
		{"-o json --output-format stream-json", "contradict"},
		{"--json -o xml", "text or json or stream-json"},
		{"-o xml", "text or json or stream-json"},
		{"--input json", "text or stream-json"},
		{"-C nowhere", "nowhere"},
		{"-C not.png", "not a directory"},
		{"--mode sometimes", "acceptEdits"},
		{"--effort much", "xhigh"},
		{"--max-turns 0", "--max-turns"},
		{"--max-turns -1", "--max-turns"},
		{"--max-turns 1.5", "--max-turns"},
		{"--max-turns 99999999999999999999", "--max-turns"},
		{"--max-tokens none", "--max-tokens"},
		{"--max-cost cheap", "--max-cost"},
		{"--max-cost -1", "--max-cost"},
		{"--max-cost NaN", "--max-cost"},
		{"--timeout soon", "--timeout"},
		{"--timeout -5s", "--timeout"},
		{"--timeout 10", "--timeout"},
		{"--set model", "key=value"},
		{"--set =x", "--set"},
		{"--set maxTurns=many", "maxTurns"},
		{"--add-dir nowhere", "nowhere"},
		{"--file nowhere", "nowhere"},
		{"--file bin", "not text"},
		{"--file .", "--file"},
		{"--image nowhere", "nowhere"},
		{"--image not.png", "not an image"},
		{"--fork", "--continue"},
		{"--continue --no-session", "exclude"},
		{"--continue --resume abcd", "exclude"},
		{"--continue", "no session"},
		{"--resume ab", "ab"},
		{"--yes=perhaps", "--yes"},
	} {
		args := strings.Split(c.args, " ")
		out, errs, code := w.runWith("", append(args, "go")...)
		if wantsDoc := strings.Contains(c.args, "json"); wantsDoc && strings.HasPrefix(out, "{") {
			errs += decode(t, out)["error"].(map[string]any)["message"].(string)
			out = ""
		}
		if code != 2 || out != "" || !strings.Contains(errs, c.want) {
			t.Errorf("%s: exit %d, %q, %q", c.args, code, out, errs)
		}
	}
	// A variable of a script that is not set is no value.
	for _, flag := range []string{"-C", "--mode", "--effort", "--max-turns", "--max-tokens", "--max-cost", "--timeout", "--schema", "--system", "--append-system", "--set", "--add-dir", "--file", "--image", "--allow", "--deny", "--ask", "-p", "-r", "-s", "-o", "--input"} {
		if _, errs, code := w.runWith("", flag, "", "go"); code != 2 || !strings.Contains(errs, flag) {
			t.Errorf("%s with nothing: exit %d, %q", flag, code, errs)
		}
	}
	if n := len(s.Requests()); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}

func TestAStallNamesTheWayOut(t *testing.T) {
	w := newWorld(t)
	w.serve(llmtest.WireChat, func(*llmtest.Exchange) llmtest.Reply { return llmtest.Say("half ").Stall() })
	begin := time.Now()
	out, errs, code := w.run("--set", "stallTimeout=200ms", "go")
	if code != 1 || out != "" {
		t.Errorf("exit %d, %q", code, out)
	}
	for _, want := range []string{"test", "test:m", "200ms", "--continue"} {
		if !strings.Contains(errs, want) {
			t.Errorf("%q does not say %q", errs, want)
		}
	}
	if d := time.Since(begin); d > 30*time.Second {
		t.Errorf("it took %v", d)
	}
}

func TestLeftOutSettingsAreToldInTheDocument(t *testing.T) {
	w := newWorld(t)
	w.write(".cantle/settings.json", `{"env": {"X": "1"}}`)
	w.serve(llmtest.WireChat, func(*llmtest.Exchange) llmtest.Reply { return llmtest.Say("fine") })
	schema, err := os.ReadFile(filepath.Join("..", "..", "docs", "stream.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, form := range []string{"json", "stream-json"} {
		out, errs, code := w.run("-o", form, "go")
		lines := strings.Split(strings.TrimSpace(out), "\n")
		last := lines[len(lines)-1]
		var doc struct{ Warnings []string }
		if err := json.Unmarshal([]byte(last), &doc); err != nil || code != 0 || errs != "" ||
			len(doc.Warnings) != 1 || !strings.Contains(doc.Warnings[0], "env is left out") {
			t.Errorf("exit %d, %s, %q, %v", code, last, errs, err)
		}
		if err := tool.Validate(schema, json.RawMessage(last)); err != nil {
			t.Error(err)
		}
	}
	if out, errs, code := w.run("go"); code != 0 || out != "fine\n" || errs != "" {
		t.Errorf("exit %d, %q, %q", code, out, errs)
	}
	if out, errs, code := w.run("-v", "go"); code != 0 || out != "fine\n" || strings.Count(errs, "env is left out") != 1 {
		t.Errorf("exit %d, %q, %q", code, out, errs)
	}
}

func TestSessions(t *testing.T) {
	w := newWorld(t)
	w.serve(llmtest.WireChat, func(e *llmtest.Exchange) llmtest.Reply {
		if _, ok := e.LastResult(); !ok && strings.Contains(e.LastText(), "list") {
			return llmtest.Think("let me see").Call("Bash", map[string]any{"command": "echo " + strings.Repeat("long ", 60) + "tail"})
		}
		return llmtest.Say("a giraffe")
	})
	if out, errs, code := w.exec("sessions", "list"); code != 0 || out != "" || !strings.Contains(errs, "no sessions") {
		t.Errorf("exit %d, %q, %q", code, out, errs)
	}
	doc, _, _ := w.run("--yes", "--json", "list the animals")
	id := decode(t, doc)["session_id"].(string)
	doc, _, _ = w.run("--yes", "--json", "--continue", "--fork", "and then")
	fork := decode(t, doc)["session_id"].(string)
	if fork == id {
		t.Fatal("the fork is the session")
	}
	// One of a child.
	st, err := jsonl.Open(filepath.Join(w.home, ".cantle", "sessions"), jsonl.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := session.Open(t.Context(), st, "child-0001", session.OpenOptions{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Append(t.Context(), session.Entry{ID: "e1", Time: time.Now(), Data: session.RunStarted{RunID: "r", Path: "explore-1", Model: "test:m", Dir: w.dir}}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	out, _, _ := w.exec("sessions", "list")
	if !strings.Contains(out, id) || !strings.Contains(out, fork) || strings.Contains(out, "child-0001") || !strings.Contains(out, "list the animals") {
		t.Errorf("%s", out)
	}
	if out, _, _ := w.exec("sessions", "list", "--all"); !strings.Contains(out, "child-0001") || !strings.Contains(out, "(explore-1)") {
		t.Errorf("%s", out)
	}
	if out, errs, _ := w.exec("sessions", "list", "-n", "1"); strings.Count(out, "\n") != 1 {
		t.Errorf("%s%s", out, errs)
	}

	out, _, code := w.exec("sessions", "show", id)
	for _, want := range []string{"input: list the animals", "thinking: let me see", "▸ Bash({", "long tail\"", "→ Bash", "long tail\n", "assistant: a giraffe", "— finished after 2 turns"} {
		if !strings.Contains(out, want) {
			t.Errorf("show lacks %q: %s", want, out)
		}
	}
	if code != 0 {
		t.Errorf("exit %d", code)
	}

	if out, _, code := w.exec("sessions", "search", "GIRAFFE"); code != 0 || !strings.Contains(out, id) || !strings.Contains(out, fork) {
		t.Errorf("exit %d, %s", code, out)
	}
	if out, errs, code := w.exec("sessions", "search", "no such animal"); code != 0 || out != "" || errs == "" {
		t.Errorf("exit %d, %s%s", code, out, errs)
	}
	if _, _, code := w.exec("sessions", "search", " "); code != 2 {
		t.Errorf("exit %d", code)
	}

	if _, errs, code := w.exec("sessions", "rename", id, "all", "the", "animals"); code != 0 {
		t.Errorf("exit %d, %s", code, errs)
	}
	if out, _, _ := w.exec("sessions", "list"); !strings.Contains(out, "all the animals") {
		t.Errorf("%s", out)
	}

	// A damaged one is told of wherever it shows, with the command that mends it.
	file := filepath.Join(w.home, ".cantle", "sessions", id+".jsonl")
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(b), "\n")
	lines[2] = "{not a record\n"
	if err := os.WriteFile(file, []byte(strings.Join(lines, "")), 0o600); err != nil {
		t.Fatal(err)
	}
	command := "cantle sessions salvage " + id
	out, errs, code := w.exec("sessions", "list")
	if code != 0 || !strings.Contains(out, "damaged: ") || !strings.Contains(errs, command) {
		t.Errorf("exit %d, %s%s", code, out, errs)
	}
	if _, errs, code := w.exec("sessions", "show", id); code != 1 || !strings.Contains(errs, command) {
		t.Errorf("exit %d, %s", code, errs)
	}
	if _, errs, code := w.run("--resume", id, "go on"); code != 1 || !strings.Contains(errs, command) {
		t.Errorf("exit %d, %s", code, errs)
	}
	out, errs, code = w.exec(strings.Split(command, " ")[1:]...)
	mended := strings.TrimSpace(out)
	if code != 0 || !regexp.MustCompile(`^\d{8}-\d{6}-\w+$`).MatchString(mended) || !strings.Contains(errs, "1 line(s)") {
		t.Fatalf("exit %d, %s%s", code, out, errs)
	}
	if out, errs, code := w.run("--resume", mended, "go on"); code != 0 || out != "a giraffe\n" {
		t.Errorf("exit %d, %s%s", code, out, errs)
	}
	if _, errs, code := w.exec("sessions", "delete", id, mended); code != 0 || strings.Count(errs, "deleted") != 2 {
		t.Errorf("exit %d, %s", code, errs)
	}
	for _, args := range [][]string{{"sessions", "rename", id, "x"}, {"sessions", "salvage", id}, {"sessions", "rename", fork}, {"sessions", "search"}} {
		if _, errs, code := w.exec(args...); code != 2 {
			t.Errorf("%q: exit %d, %s", args, code, errs)
		}
	}
}

// TestOneDocumentForEveryEnd: the exit code and the document of each way that a
// run ends.
func TestOneDocumentForEveryEnd(t *testing.T) {
	bash := llmtest.Call("Bash", map[string]any{"command": "echo hi"})
	for name, c := range map[string]struct {
		player llmtest.Player
		args   []string
		code   int
		status string
		why    string
	}{
		"success":  {llmtest.Play(t, llmtest.Say("fine")), nil, 0, "completed", "finished"},
		"denied":   {llmtest.Play(t, bash, llmtest.Say("so be it")), nil, 0, "completed", "finished"},
		"error":    {llmtest.Play(t, llmtest.Status(400, nil)), nil, 1, "failed", "error"},
		"refusal":  {llmtest.Play(t, llmtest.Say("no").Stop(llm.StopRefusal)), nil, 1, "rejected", "refusal"},
		"turns":    {llmtest.Play(t, bash), []string{"--yes", "--max-turns", "1"}, 3, "limited", "max_turns"},
		"tokens":   {llmtest.Play(t), []string{"--max-tokens", "10"}, 3, "limited", "token_budget"},
		"timeout":  {llmtest.Play(t, llmtest.Say("half ").Stall()), []string{"--timeout", "500ms"}, 3, "limited", "time_limit"},
		"settings": {llmtest.Play(t), []string{"--set", "nope=1"}, 2, "failed", "usage"},
		"pending":  {llmtest.Play(t, bash), []string{"--input", "stream-json"}, 4, "pending", "pending"},
	} {
		w := newWorld(t)
		w.serve(llmtest.WireAnthropic, c.player).Tolerate()
		out, errs, code := w.runWith("", append(append([]string{"-o", "json"}, c.args...), "go")...)
		doc := decode(t, out)
		if code != c.code || doc["status"] != c.status || doc["termination_reason"] != c.why || doc["exit_code"] != float64(c.code) || errs != "" {
			t.Errorf("%s: exit %d, %s, %q", name, code, out, errs)
		}
		for _, field := range []string{"schema_version", "status", "result", "usage", "cost", "num_turns", "termination_reason", "error"} {
			if _, ok := doc[field]; !ok {
				t.Errorf("%s: no %s", name, field)
			}
		}
		if (doc["error"] != nil) != (c.code == 1 && c.status == "failed" || c.code == 2) {
			t.Errorf("%s: the error is %v", name, doc["error"])
		}
		if name == "denied" {
			if d, ok := doc["permission_denials"].([]any); !ok || len(d) != 1 || d[0].(map[string]any)["name"] != "Bash" {
				t.Errorf("%v", doc["permission_denials"])
			}
		}
	}
}

// TestConversationOnStandardInput: messages, answers and interrupts come as
// lines; one that is not understood is an error of its own and ends nothing.
func TestConversationOnStandardInput(t *testing.T) {
	w := newWorld(t)
	w.serve(llmtest.WireChat, llmtest.Play(t,
		llmtest.Call("Bash", map[string]any{"command": "echo hi"}),
		llmtest.Say("first").Want(llmtest.LastResult("hi")),
		llmtest.Say("second").Want(llmtest.LastText("and more")),
	))
	cmd := w.command("--input", "stream-json", "-o", "stream-json")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	send := func(line string) {
		if _, err := in.Write([]byte(line + "\n")); err != nil {
			t.Error(err)
		}
	}
	send(`{"type":"user","text":"go"}`)
	var kinds []string
	dec := json.NewDecoder(out)
	for {
		var ev struct {
			Type string
			Data struct {
				Question struct{ ID string }
				Message  json.RawMessage
			}
			Status, Result string
		}
		if err := dec.Decode(&ev); err != nil {
			t.Fatal(err)
		}
		kinds = append(kinds, ev.Type)
		if ev.Type == "asked" {
			send(`{"type":"dance"}`)
			send("not json")
			send(`{"type":"followup","text":"and more"}`)
			send(`{"type":"answer","id":"` + ev.Data.Question.ID + `","ok":true}`)
		}
		if ev.Type == "result" {
			if ev.Status != "completed" || ev.Result != "second" {
				t.Errorf("%+v", ev)
			}
			break
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	n := 0
	for _, k := range kinds {
		if k == "error" {
			n++
		}
	}
	if n != 2 {
		t.Errorf("%d errors: %v", n, kinds)
	}

	w.serve(llmtest.WireChat, func(*llmtest.Exchange) llmtest.Reply { return llmtest.Say("half ").Stall() })
	lines := `{"type":"user","text":"go"}` + "\n" + `{"type":"interrupt"}` + "\n"
	text, errs, code := w.runWith(lines, "--input", "stream-json", "-o", "json")
	if doc := decode(t, text); code != 130 || doc["status"] != "cancelled" || doc["reason"] != "interrupted by the host" {
		t.Errorf("exit %d, %s%s", code, text, errs)
	}
}

// TestWhereThePromptComesFrom: the prompt comes from the argument, -p, standard input,
// files and images, in that order, and no journal is written where none is wanted.
func TestWhereThePromptComesFrom(t *testing.T) {
	w := newWorld(t)
	w.write("a.txt", "in the file")
	w.write("a.png", "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR")
	s := w.serve(llmtest.WireChat, func(*llmtest.Exchange) llmtest.Reply { return llmtest.Say("fine") })
	if _, errs, code := w.runWith("from a pipe\n", "argument", "-p", "flag", "--file", "a.txt", "--image", "a.png", "--set", "models.test:m.images=true", "--append-system", "END OF PROMPT", "--system", "BASE"); code != 0 {
		t.Fatalf("exit %d, %s", code, errs)
	}
	e := s.Requests()[0]
	text := ""
	images := 0
	for _, p := range e.Request.Messages[0].Parts {
		switch p := p.(type) {
		case llm.Text:
			text += p.Text + "\n"
		case llm.Blob:
			images++
		}
	}
	at := -1
	for _, want := range []string{"argument", "flag", "from a pipe", "in the file"} {
		i := strings.Index(text, want)
		if i <= at {
			t.Errorf("%q is not where it should be: %s", want, text)
		}
		at = i
	}
	if sys := e.Request.System; images != 1 || !strings.HasPrefix(sys, "BASE") || !strings.HasSuffix(strings.TrimSpace(sys), "END OF PROMPT") {
		t.Errorf("%d images, %q", images, sys)
	}
	if _, errs, code := w.run("--image", "a.png", "--set", "models.test:m.images=false", "go"); code != 2 || !strings.Contains(errs, "images") {
		t.Errorf("exit %d, %s", code, errs)
	}
	if out, _, _ := w.run("--no-session", "go"); out != "fine\n" {
		t.Errorf("%q", out)
	}
	if names, _ := filepath.Glob(filepath.Join(w.home, ".cantle/sessions/*.jsonl")); len(names) != 1 {
		t.Errorf("%d journals", len(names))
	}
}

func TestStructuredAnswer(t *testing.T) {
	w := newWorld(t)
	w.serve(llmtest.WireChat, llmtest.Play(t, llmtest.Call("final_answer", map[string]any{"n": 7})))
	const schema = `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`
	out, errs, code := w.run("--json", "--schema", schema, "go")
	if v, ok := decode(t, out)["structured"].(map[string]any); code != 0 || !ok || v["n"] != 7.0 {
		t.Errorf("exit %d, %s%s", code, out, errs)
	}
}

// TestReadOnlyCommands work with no settings, no keys and nothing at home.
func TestReadOnlyCommands(t *testing.T) {
	w := newWorld(t)
	for _, c := range []struct {
		args, want string
		code       int
	}{
		{"version", "cantle ", 0},
		{"--version", "cantle ", 0},
		{"--help", "sessions", 0},
		{"run --help", "Exit codes", 0},
		{"models", "anthropic", 0},
		{"sessions", "salvage", 0},
		{"sessions list", "", 0},
		{"completion bash", "bash completion", 0},
		{"completion zsh", "#compdef cantle", 0},
		{"completion fish", "fish completion", 0},
		{"completion powershell", "powershell completion", 0},
		{"doctor", "demo:offline", 1}, // there is no model, and it says so
		{"doctor -m demo:offline", "stand-in", 0},
		{"doctor extra", "", 2},
		{"version extra", "", 2},
	} {
		out, errs, code := w.exec(strings.Split(c.args, " ")...)
		if code != c.code || !strings.Contains(out, c.want) {
			t.Errorf("%s: exit %d, %.300s%s", c.args, code, out, errs)
		}
	}
}

// TestAPipeThatSaysNothing is not waited for where there is a prompt, and that
// it was left out is told.
func TestAPipeThatSaysNothing(t *testing.T) {
	w := newWorld(t)
	w.serve(llmtest.WireChat, func(*llmtest.Exchange) llmtest.Reply { return llmtest.Say("fine") })
	cmd := w.command("--json", "go")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	var out strings.Builder
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if d := decode(t, out.String()); d["result"] != "fine" || !strings.Contains(out.String(), "standard input said nothing") {
		t.Errorf("%s", out.String())
	}
	for _, stdin := range []string{"", "more\n"} {
		if out, errs, code := w.runWith(stdin, "--json", "go"); code != 0 || strings.Contains(out, "warnings") {
			t.Errorf("exit %d, %s%s", code, out, errs)
		}
	}
}
