package main_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/llmtest"
	"github.com/cantle-dev/cantle/tool"
)

// limited is a world whose runs ask after the first of their two turns whether
// to go on.
func limited(t *testing.T) (*world, []string) {
	w := newWorld(t)
	w.serve(llmtest.WireChat, func(e *llmtest.Exchange) llmtest.Reply {
		if _, ok := e.LastResult(); ok {
			return llmtest.Say("the answer")
		}
		return llmtest.Call("Glob", map[string]any{"pattern": "*"})
	})
	return w, []string{"--set", "softLimit=50", "--max-turns", "2"}
}

// TestLimitQuestionOnStandardInput: asked and answered as any other, though it
// is about no call.
func TestLimitQuestionOnStandardInput(t *testing.T) {
	schema, err := os.ReadFile(filepath.Join("..", "..", "docs", "stream.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		ok     bool
		code   int
		status string
		why    string
	}{{true, 0, "completed", "finished"}, {false, 3, "limited", "max_turns"}} {
		w, args := limited(t)
		cmd := w.command(append(args, "--input", "stream-json", "-o", "stream-json", "go")...)
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
		dec := json.NewDecoder(out)
		for {
			var raw json.RawMessage
			if err := dec.Decode(&raw); err != nil {
				t.Fatal(err)
			}
			if err := tool.Validate(schema, raw); err != nil {
				t.Errorf("%s: %v", raw, err)
			}
			var ev struct {
				Type string
				Data struct {
					Question struct {
						ID, Kind string
						Data     struct{ Stop, Text string }
					}
				}
				Status string
				Why    string `json:"termination_reason"`
			}
			if err := json.Unmarshal(raw, &ev); err != nil {
				t.Fatal(err)
			}
			if q := ev.Data.Question; ev.Type == "asked" {
				if q.Kind != "limit" || q.Data.Stop != "max_turns" || q.Data.Text != "1 of 2 turns are done" {
					t.Errorf("%s", raw)
				}
				b, _ := json.Marshal(map[string]any{"type": "answer", "id": q.ID, "ok": c.ok, "reason": "as you like"})
				if _, err := in.Write(append(b, '\n')); err != nil {
					t.Fatal(err)
				}
			}
			if ev.Type == "result" {
				if ev.Status != c.status || ev.Why != c.why {
					t.Errorf("%s", raw)
				}
				break
			}
		}
		_ = cmd.Wait()
		if code := cmd.ProcessState.ExitCode(); code != c.code {
			t.Errorf("exit %d", code)
		}
	}
}

// TestLimitQuestionThatNobodyAnswers is in the document; a later run has
// a budget of its own, and a no is no reason to begin one.
func TestLimitQuestionThatNobodyAnswers(t *testing.T) {
	w, args := limited(t)
	out, errs, code := w.runWith("", append(args, "--json", "--input", "stream-json", "go")...)
	var doc struct {
		Session   string `json:"session_id"`
		Questions []struct{ ID, Kind string }
		Status    string
	}
	if err := json.Unmarshal([]byte(out), &doc); err != nil || code != 3 || doc.Status != "limited" || len(doc.Questions) != 1 || doc.Questions[0].Kind != "limit" {
		t.Fatalf("exit %d, %s%s", code, out, errs)
	}
	answer := func(ok string) string {
		return `{"type":"answer","id":"` + doc.Questions[0].ID + `","ok":` + ok + "}\n"
	}
	resume := append(args, "--json", "--input", "stream-json", "-r", doc.Session)
	out, errs, code = w.runWith(answer("false"), resume...)
	if d := decode(t, out); code != 2 || !strings.Contains(out, "nothing was run") || d["num_turns"] != 0.0 {
		t.Errorf("exit %d, %s%s", code, out, errs)
	}
	out, errs, code = w.runWith(answer("true"), resume...)
	if d := decode(t, out); code != 0 || d["result"] != "the answer" {
		t.Errorf("exit %d, %s%s", code, out, errs)
	}

	// Without an answer too, and with text.
	w, args = limited(t)
	out, errs, code = w.runWith("", append(args, "--json", "go")...)
	d := decode(t, out)
	if why, _ := d["reason"].(string); code != 3 || !strings.Contains(why, "nobody is there to answer") || d["questions"] != nil {
		t.Fatalf("exit %d, %s%s", code, out, errs)
	}
	if out, errs, code := w.runWith("", append(args, "-r", d["session_id"].(string))...); code != 0 || out != "the answer\n" {
		t.Errorf("exit %d, %s%s", code, out, errs)
	}
}

// TestYesGoesOnToTheLimit and no further.
func TestYesGoesOnToTheLimit(t *testing.T) {
	w, args := limited(t)
	if out, errs, code := w.runWith("", append(args, "--yes", "go")...); code != 0 || out != "the answer\n" {
		t.Errorf("exit %d, %s%s", code, out, errs)
	}
	w.serve(llmtest.WireChat, func(e *llmtest.Exchange) llmtest.Reply {
		return llmtest.Call("Bash", map[string]any{"command": "date +%N # " + e.LastText()})
	})
	if out, errs, code := w.runWith("", append(args, "--yes", "--json", "go")...); code != 3 || decode(t, out)["num_turns"] != 2.0 {
		t.Errorf("exit %d, %s%s", code, out, errs)
	}
}

// TestRetry: the last run is done again from what it was given, or from
// another prompt, in a branch; what it was before is still there.
func TestRetry(t *testing.T) {
	w := newWorld(t)
	n := 0
	s := w.serve(llmtest.WireChat, func(e *llmtest.Exchange) llmtest.Reply {
		n++
		return llmtest.Say(strings.Repeat("try ", n) + "of " + lastTyped(e))
	})
	for _, c := range []struct{ args, want string }{
		{"first", "try of first"},
		{"-c second", "try try of second"},
		{"-c --retry", "try try try of second"},
		{"-c --retry third", "try try try try of third"},
	} {
		if out, errs, code := w.runWith("", strings.Fields(c.args)...); code != 0 || strings.TrimSpace(out) != c.want {
			t.Errorf("%s: exit %d, %q, %s", c.args, code, out, errs)
		}
	}
	last := s.Requests()[3]
	text := ""
	for _, m := range last.Request.Messages {
		text += m.Text() + "|"
	}
	if !strings.Contains(text, "try of first|") || strings.Contains(text, "second") || strings.Contains(text, "try try") {
		t.Errorf("the retry was sent %q", text)
	}
	journal, _ := filepath.Glob(filepath.Join(w.home, ".cantle/sessions/*.jsonl"))
	if len(journal) != 1 {
		t.Fatalf("%v", journal)
	}
	if b, _ := os.ReadFile(journal[0]); !strings.Contains(string(b), "try try of second") {
		t.Error("the run that was done again is gone")
	}
	if _, errs, code := w.runWith("", "--retry", "x"); code != 2 || !strings.Contains(errs, "--continue or --resume") {
		t.Errorf("exit %d, %s", code, errs)
	}
}

// TestAnEffortThatIsNotSentIsTold.
func TestAnEffortThatIsNotSentIsTold(t *testing.T) {
	w := newWorld(t)
	s := w.serve(llmtest.WireChat, func(*llmtest.Exchange) llmtest.Reply { return llmtest.Say("fine") })
	out, errs, code := w.run("--json", "--effort", "high", "go")
	var doc struct{ Warnings []string }
	if err := json.Unmarshal([]byte(out), &doc); err != nil || code != 0 || len(doc.Warnings) != 1 || !strings.Contains(doc.Warnings[0], "the effort high is left out: test:m") {
		t.Errorf("exit %d, %s%s", code, out, errs)
	}
	out, errs, code = w.run("--json", "--effort", "high", "--set", "models.test:m.thinking=true", "--set", "providers.test.profile=openai", "go")
	if code != 0 || strings.Contains(out, "warnings") {
		t.Errorf("exit %d, %s%s", code, out, errs)
	}
	const sent = `"reasoning_effort":"high"`
	if a, b := string(s.Requests()[0].Body), string(s.Requests()[1].Body); strings.Contains(a, "effort") || !strings.Contains(b, sent) {
		t.Errorf("sent %v and %v", strings.Contains(a, "effort"), strings.Contains(b, sent))
	}
}

// TestLockedSessions: the way out fits the command.
func TestLockedSessions(t *testing.T) {
	w := newWorld(t)
	held := make(chan struct{})
	w.serve(llmtest.WireChat, func(e *llmtest.Exchange) llmtest.Reply {
		if strings.Contains(e.LastText(), "hold") {
			<-held
		}
		return llmtest.Say("fine")
	})
	doc, _, _ := w.run("--json", "go")
	id := decode(t, doc)["session_id"].(string)
	cmd := w.command("-r", id, "-o", "stream-json", "hold")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := json.NewDecoder(out).Decode(new(any)); err != nil { // it has begun
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		fork bool
	}{{[]string{"sessions", "rename", id, "x"}, false}, {[]string{"sessions", "delete", id}, false}, {append(append([]string{"run", "-r", id}, w.model...), "go"), true}} {
		out, errs, code := w.exec(c.args...)
		if code != 1 || strings.Contains(errs, "--fork") != c.fork || c.fork == strings.Contains(errs, "End the program") || !c.fork && strings.Contains(errs, "fork") {
			t.Errorf("%v: exit %d, %s%s", c.args, code, out, errs)
		}
	}
	close(held)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

// lastTyped is the last message but for what the program adds to it.
func lastTyped(e *llmtest.Exchange) string {
	t, _ := e.Request.Messages[len(e.Request.Messages)-1].Parts[0].(llm.Text)
	return t.Text
}
