package agenttest_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/agent"
	"github.com/cantle-dev/cantle/agent/agenttest"
	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/llmtest"
	"github.com/cantle-dev/cantle/session"
)

var _ = flag.Bool("update", false, "rewrite the outcome of scripts")

const greeting = `The model answers.
-- model --
text: Hello.
-- input --
Hi
-- events --
run_started test:script tools=[]
input input text "Hi"
turn_started 1
text_delta "Hello."
message end text "Hello."
turn_ended 1 calls=0
run_ended finished turns=1 calls=0 text="Hello."
-- saw --
request 1
	no system
	no tools
	user text "Hi"
`

func ExamplePlay() {
	out, err := agenttest.Play(context.Background(), []byte(`
-- tools --
Weather (readonly): rain in $city
-- model --
call: c1 Weather {"city":"Oslo"}

text: Take one.
-- input --
Do I need an umbrella in Oslo?
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	_, saw, _ := strings.Cut(string(out), "-- saw --\n")
	fmt.Print(strings.ReplaceAll(saw, "\t", "  "))
	// Output:
	// request 1
	//   no system
	//   tools Weather
	//   user text "Do I need an umbrella in Oslo?"
	// request 2
	//   as before: system, tools, messages of 1 part(s)
	//   assistant call c1 Weather {"city":"Oslo"}
	//   user result c1 text "rain in Oslo"
}

func TestPlayTwice(t *testing.T) {
	first, err := agenttest.Play(t.Context(), []byte(greeting))
	if err != nil {
		t.Fatal(err)
	}
	if string(first) != greeting {
		t.Errorf("got\n%s", first)
	}
	again, err := agenttest.Play(t.Context(), first)
	if err != nil || string(again) != string(first) {
		t.Errorf("the second time, %v:\n%s", err, again)
	}
}

func TestPlayTools(t *testing.T) {
	out, err := agenttest.Play(t.Context(), []byte(`
-- options --
# all of them
system = "one\ntwo"
dir = /d
effort = low
max_tokens = 100
max_turns = 9
max_calls = 8
max_errors = 7
parallelism = 2
require_finish = true
-- tools --
Count: "1 costs $$5"
Count: error: two of ${n}
Finish (complete): all of $list
-- model --
call: c1 Count

call: c2 Count {"n":2}

text: Well.

call: c3 Finish {"list":["a",1]}
-- input --
Go.
`))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`system "one\ntwo"`, "max_tokens 100", "effort low", `user result c1 text "1 costs $5"`,
		`user result c2 error text "two of 2"`, "input notice text",
		`run_ended tool_completion turns=4 calls=3 text="all of [\"a\",1]"`,
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("there is no %s in\n%s", want, out)
		}
	}
}

func TestBadScripts(t *testing.T) {
	const rest = "-- model --\ntext: a\n-- input --\nb\n"
	for _, c := range []struct{ name, in, want string }{
		{"empty", "", `no section "model"`},
		{"no input", "-- model --\ntext: a\n", `no section "input"`},
		{"unknown section", rest + "-- event --\n", `unknown section "event"`},
		{"a section twice", "-- saw --\n-- saw --\n" + rest, `two sections "saw"`},
		{"unknown option", "-- options --\n\nsistem = a\n" + rest, `section options, line 2: unknown option "sistem"`},
		{"no value", "-- options --\nsystem\n" + rest, "line 1: \"system\" is not key = value"},
		{"no number", "-- options --\nmax_turns = few\n" + rest, "max_turns = few is not a whole number"},
		{"no bool", "-- options --\nrequire_finish = maybe\n" + rest, "neither true nor false"},
		{"no effort", "-- options --\neffort = huge\n" + rest, "effort = huge is none of"},
		{"deny without a reason", "-- options --\ndeny = Write\n" + rest, "deny wants a tool and a reason"},
		{"deny of no tool", "-- options --\ndeny = Write: no\n" + rest, `deny names "Write"`},
		{"tool without a result", "-- tools --\nRead\n" + rest, `"Read" is not a tool`},
		{"tool without a name", "-- tools --\n: a\n" + rest, "no name"},
		{"unknown flag", "-- tools --\nRead (fast): a\n" + rest, `unknown flag "fast" of Read`},
		{"meeting of one", "-- tools --\nRead (meet=1): a\n" + rest, `unknown flag "meet=1" of Read`},
		{"open flags", "-- tools --\nRead (readonly: a\n" + rest, "no closing parenthesis"},
		{"late flags", "-- tools --\nRead: a\nRead (readonly): b\n" + rest, "flags on its first line"},
		{"bad quotes", "-- tools --\nRead: \"a\n" + rest, "not a quoted string"},
		{"results by chance", "-- tools --\nRead (parallel): a\nRead: b\n" + rest, "would be chance"},
		{"unknown part", "-- model --\n\nsay: a\n-- input --\n", `section model, line 2: unknown part "say"`},
		{"no part", "-- model --\nhello\n-- input --\n", `"hello" is not a part`},
		{"call without a name", "-- model --\ncall: c1\n-- input --\n", "a call wants an id, a name"},
		{"unknown stop", "-- model --\nstop: tired\n-- input --\n", `"tired" is none of the reasons`},
		{"unknown error", "-- model --\nerror: bad luck\n-- input --\n", `"bad" is none of the kinds`},
		{"after an error", "-- model --\nerror: server x\ntext: a\n-- input --\n", "nothing comes after an error"},
		{"answers left", "-- model --\ntext: a\n\ntext: b\n-- input --\nc\n", "asked 1 times and the script has 2 answers"},
		{"answers missing", "-- tools --\nRead: a\n-- model --\ncall: c1 Read\n-- input --\nc\n", "asked 2 times and the script has 1 answers"},
	} {
		out, err := agenttest.Play(t.Context(), []byte(c.in))
		if err == nil || !strings.Contains(err.Error(), c.want) || out != nil {
			t.Errorf("%s: %v, want …%s…", c.name, err, c.want)
		}
	}
}

const globVar = "CANTLE_AGENTTEST_GLOB"

// TestGlob is what TestRun runs in another process, for its failures.
func TestGlob(t *testing.T) {
	glob := os.Getenv(globVar)
	if glob == "" {
		t.Skip("TestRun runs this")
	}
	agenttest.Run(t, glob)
}

func TestRun(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	run := func(args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), exe, append([]string{"-test.run=^TestGlob$"}, args...)...)
		cmd.Env = append(os.Environ(), globVar+"="+filepath.Join(dir, "*.txtar"))
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	fails := func(out string, err error, want string) {
		t.Helper()
		if err == nil || !strings.Contains(out, want) {
			t.Errorf("%v, want a failure with %q in\n%s", err, want, out)
		}
	}
	file := filepath.Join(dir, "greeting.txtar")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	read := func() string {
		t.Helper()
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}

	out, err := run()
	fails(out, err, "no file matches")

	write(strings.Replace(greeting, `message end text "Hello."`, `message end text "Bye."`, 1))
	out, err = run()
	fails(out, err, "-message end text \"Bye.\"\n")
	if out, err := run("-update"); err != nil {
		t.Errorf("-update: %v\n%s", err, out)
	}
	if got := read(); got != greeting {
		t.Errorf("-update wrote\n%s", got)
	}
	if out, err := run(); err != nil {
		t.Errorf("after -update: %v\n%s", err, out)
	}

	bad := strings.Replace(greeting, "text: Hello.", "text: Hello.\n\ntext: Again.", 1)
	write(bad)
	out, err = run("-update")
	fails(out, err, "the script has 2 answers")
	if read() != bad {
		t.Error("-update rewrote a script that failed")
	}
}

func TestNewModel(t *testing.T) {
	m := agenttest.NewModel(t, llmtest.Say("Hello."))
	a, err := agent.New(m, agent.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := session.Open(t.Context(), new(session.Memory), "s", session.OpenOptions{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	res, err := a.Run(t.Context(), s, llm.Text{Text: "Hi"})
	if err != nil || res.Text != "Hello." || len(m.Requests()) != 1 {
		t.Errorf("%+v, %v", res, err)
	}
}
