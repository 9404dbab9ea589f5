// Package agenttest tests agents by scripts: a file says what the model
// answers, what the tools give and what the user types, and it keeps what came
// of it, as events and as what the model saw. A test is
//
//	func TestScripts(t *testing.T) { agenttest.Run(t, "testdata/*.txtar") }
//
// and a script is a text of sections:
//
//	The model reads a file and says what is in it.
//	-- options --
//	system = Be brief.
//	max_turns = 5
//	-- tools --
//	Read (readonly, parallel): what is in $path
//	Write: error: the disk is full
//	-- model --
//	text: Let me look.
//	call: c1 Read {"path":"a.txt"}
//
//	text: It is a file.
//	-- input --
//	What is in a.txt?
//	-- events --
//	-- saw --
//
// The last two sections are written by "go test -update", in a test program
// that has a flag of that name, and compared in every other run. Lines that
// begin with # are comments in the first three.
//
// Options are written key = value: system, dir, effort, max_tokens,
// max_turns, max_calls, max_errors and parallelism, with the meaning they have
// in [agent.Options] and [agent.Budget]; require_finish = true;
// inline = true, which sets [agent.Options.Parallel]; and, once for each tool whose
// calls a gate decides on, deny = Tool: reason, allow = Tool: rule, or
// interrupt = Tool: reason, which ends the run.
//
// A tool is a line "Name: text" or "Name: error: text". The text is a Go
// string where it begins with a quote; $name and ${name} in it stand for the
// call's argument of that name, and $$ for $. Flags follow the name in parentheses:
// readonly, parallel, polls; complete, reject, cancel and interrupt, which end the
// run; child, which runs an agent like this one, on the same model, with the text
// as its input; and meet=2, which lets a call end only when two of that tool are
// running.
// A tool with several lines gives their results in turn and then the last
// again; one that is parallel has one line.
//
// The model's answers are blocks with a blank line between. Each line of
// a block is a part, "text: …", "think: …" or "call: ID NAME ARGUMENTS", or it
// is "stop: max_tokens" or another [llm.StopReason], or "error: KIND message",
// an [llm.Error] after the parts before it.
//
// Each section input is a run in the same session; an empty one goes on where
// the session stands. Times are all the same and ids are counted, so that
// a script comes to the same on every machine.
package agenttest

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/internal/x/diff"
	"github.com/cantle-dev/cantle/internal/x/txtar"
	"github.com/cantle-dev/cantle/llm/llmtest"
)

// NewModel returns a model that answers with steps, in order: see
// [llmtest.New].
func NewModel(t testing.TB, steps ...llmtest.Reply) *llmtest.Script { return llmtest.New(t, steps...) }

// Run plays each script that glob matches as a subtest, and fails it where the
// outcome is not the one that the script has. If the test program has a flag
// "update" and it is true, the script is rewritten instead. Define it in the
// test:
//
//	var _ = flag.Bool("update", false, "rewrite the outcome of scripts")
func Run(t *testing.T, glob string) {
	t.Helper()
	files, err := filepath.Glob(glob)
	if err != nil {
		t.Fatalf("agenttest: %s: %v", glob, err)
	}
	if len(files) == 0 {
		t.Fatalf("agenttest: no file matches %s", glob)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)), func(t *testing.T) {
			t.Helper()
			runFile(t, file)
		})
	}
}

func runFile(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("agenttest: %v", err)
	}
	got, err := Play(t.Context(), text)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	want := txtar.Parse(text).Bytes()
	if bytes.Equal(got, want) {
		return
	}
	if updating() {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatalf("agenttest: %v", err)
		}
		return
	}
	t.Errorf("%s: the outcome is another one; if it is right, run go test -update\n%s",
		file, diff.Unified("want", "got", string(want), string(got), 3))
}

func updating() bool {
	f := flag.Lookup("update")
	if f == nil {
		return false
	}
	g, ok := f.Value.(flag.Getter)
	if !ok {
		return false
	}
	on, _ := g.Get().(bool)
	return on
}

// Play plays a script and returns it with the outcome in its sections events
// and saw, whatever they held. It fails for a script that cannot be
// understood, and when the model was asked more or less often than the script
// has answers.
func Play(ctx context.Context, text []byte) ([]byte, error) {
	a := txtar.Parse(text)
	s, err := parse(a)
	if err != nil {
		return nil, err
	}
	if err := s.play(ctx); err != nil {
		return nil, err
	}
	a.Set("events", s.events.String())
	a.Set("saw", s.saw.String())
	return a.Bytes(), nil
}
