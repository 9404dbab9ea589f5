package main_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/llm/llmtest"
	"github.com/cantle-dev/cantle/tool"
)

// TestStreamFitsItsSchema holds every line that run prints against the
// published schema.
func TestStreamFitsItsSchema(t *testing.T) {
	schema, err := os.ReadFile(filepath.Join("..", "..", "docs", "stream.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := tool.Validate(schema, json.RawMessage(`{"type":"text_delta","seq":0}`)); err == nil {
		t.Error("the schema takes what is no event")
	}
	kinds, ids := map[string]bool{}, map[string]bool{}
	for name, c := range map[string]struct {
		player llmtest.Player
		args   []string
		last   string
	}{
		"done": {llmtest.Play(t, llmtest.Call("Glob", map[string]any{"pattern": "*"}).Say("looking"), llmtest.Call("Bash", map[string]any{"command": "echo hi"}), llmtest.Say("done")), []string{"--yes", "go"}, "completed"},
		// Nobody answers: the input has ended.
		"pending": {llmtest.Play(t, llmtest.Call("Bash", map[string]any{"command": "echo hi"})), []string{"--input", "stream-json", "go"}, "pending"},
		"limit":   {llmtest.Play(t, llmtest.Call("Glob", map[string]any{"pattern": "*"})), []string{"--max-turns", "1", "go"}, "limited"},
		"usage":   {nil, []string{"--max-turns", "none", "go"}, "failed"},
		"refused": {llmtest.Play(t, llmtest.Status(400, nil)), []string{"go"}, "failed"},
	} {
		w := newWorld(t)
		if c.player != nil {
			w.serve(llmtest.WireAnthropic, c.player).Tolerate()
		} else {
			w.use(llmtest.WireAnthropic, "http://127.0.0.1:1")
		}
		out, errs, _ := w.run(append([]string{"--output", "stream-json"}, c.args...)...)
		lines := strings.Split(strings.TrimSpace(out), "\n")
		for i, l := range lines {
			if err := tool.Validate(schema, json.RawMessage(l)); err != nil {
				t.Errorf("%s: %s: %v", name, l, err)
			}
			var head struct {
				Type, Status, ID string
				Session          string `json:"session_id"`
			}
			if err := json.Unmarshal([]byte(l), &head); err != nil {
				t.Fatalf("%s: %q (%s)", name, l, errs)
			}
			kinds[head.Type] = true
			if head.Type != "result" && (ids[head.ID] || head.Session == "") {
				t.Errorf("%s: an id twice, or no session: %s", name, l)
			}
			ids[head.ID] = true
			if last := i == len(lines)-1; last != (head.Type == "result") || last && head.Status != c.last {
				t.Errorf("%s: line %d of %d: %s", name, i+1, len(lines), l)
			}
		}
	}
	for _, k := range []string{"run_started", "input", "turn_started", "text_delta", "message", "tool_started", "tool_finished", "asked", "turn_ended", "run_ended"} {
		if !kinds[k] {
			t.Errorf("no line of the type %s came", k)
		}
	}
}
