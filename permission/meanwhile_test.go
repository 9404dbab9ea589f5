package permission_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cantle-dev/cantle/agent"
	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/llmtest"
	"github.com/cantle-dev/cantle/permission"
	"github.com/cantle-dev/cantle/tool"
)

type makeIn struct {
	Name string `json:"name"`
	To   string `json:"to"` // of a link; "" is a folder
	Text string `json:"text"`
}

// maker makes files and links in a folder, as calls that were allowed do.
func maker(root string) tool.Tool {
	return tool.New(tool.Spec{
		Name: "Make", Access: tool.NoAccess,
	}, func(_ context.Context, m makeIn) (string, error) {
		name := filepath.Join(root, m.Name)
		_ = os.Remove(name)
		switch {
		case m.To != "":
			return "made", os.Symlink(m.To, name)
		case m.Text != "":
			return "made", os.WriteFile(name, []byte(m.Text), 0o600)
		}
		return "made", os.MkdirAll(name, 0o700)
	})
}

// The calls of a turn are decided on before the first of them runs. What those
// before a call make of the files that it is about counts all the same.
func TestWhatCallsBeforeItMakeOfACallCounts(t *testing.T) {
	repository := []makeIn{{Name: "b/objects"}, {Name: "b/refs"}, {Name: "b/HEAD", Text: "ref: refs/heads/x\n"}, {Name: "b/config", Text: "[core]\n\tbare = true\n\tfsmonitor = ./x\n"}}
	for _, c := range []struct {
		name    string
		makes   []makeIn
		command string
		runs    bool
	}{
		{"a link to a key", []makeIn{{Name: "a", To: "/home/u/.ssh/id_rsa"}}, "cat a", false},
		{"a folder that leads to keys", []makeIn{{Name: "d", To: "/home/u/.ssh"}}, "cat d/work", false},
		{"a link to what is denied", []makeIn{{Name: "a", To: "safe/key.txt"}}, "cat a", false},
		{"a link out, written through", []makeIn{{Name: "o", To: "/usr/local/bin"}}, "cp x o/git", false},
		{"a repository that runs something", repository, "cd b && git status", false},
		{"a plain file", []makeIn{{Name: "a", Text: "x"}}, "cat a", true},
		{"a link that stays", []makeIn{{Name: "x", Text: "x"}, {Name: "a", To: "x"}}, "cat a", true},
		{"a repository that runs nothing", repository[:3], "cd b && git status", true},
	} {
		root, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		w := newGateWorld(t, permission.Options{
			Roots: []string{root}, Home: "/home/u", Mode: permission.AcceptEdits,
			Rules: permission.Rules{Allow: []string{"Bash(cat:*)", "Bash(cp:*)", "Bash(cd:*)", "Bash(git status:*)", "Make"}, Deny: []string{"Read(safe/**)"}},
		})
		w.ask = func(a permission.Verdict, _ *agent.Question) (*agent.Answer, error) {
			t.Errorf("%s: asked about %+v", c.name, a)
			return &agent.Answer{}, nil
		}
		w.extra = []tool.Tool{maker(root)}
		w.dir = root
		turn := llmtest.Call("Make", c.makes[0])
		for _, m := range c.makes[1:] {
			turn = turn.Call("Make", m)
		}
		s := w.session("s")
		if _, err := w.run(s, turn.Call("Bash", command{c.command}), llmtest.Say("ok")); err != nil {
			t.Fatal(err)
		}
		if (len(w.ran) > 0) != c.runs {
			t.Errorf("%s: ran %q, want that it runs: %v", c.name, w.ran, c.runs)
		}
		var said strings.Builder
		for _, m := range s.Messages() {
			for _, p := range m.Parts {
				if r, ok := p.(llm.ToolResult); ok {
					said.WriteString(fmt.Sprint(r.Parts))
				}
			}
		}
		if !c.runs && !strings.Contains(said.String(), "no longer what was decided on") {
			t.Errorf("%s: the model was told %q", c.name, said.String())
		}
	}
}

// A yes is to what the question said: if the files changed while it was open, it
// is another question.
func TestAYesIsToWhatWasAsked(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, yes := range []bool{true, false} {
		_ = os.Remove(filepath.Join(root, "a"))
		w := newGateWorld(t, permission.Options{Roots: []string{root}, Home: "/home/u"})
		w.dir = root
		w.ask = func(a permission.Verdict, _ *agent.Question) (*agent.Answer, error) {
			if len(w.asked) == 1 {
				return &agent.Answer{OK: true}, os.Symlink("/home/u/.ssh/id_rsa", filepath.Join(root, "a"))
			}
			return &agent.Answer{OK: yes}, nil
		}
		if _, err := w.run(w.session("s"), bash("cat a"), llmtest.Say("ok")); err != nil {
			t.Fatal(err)
		}
		if len(w.asked) != 2 || w.asked[0].Firm || !w.asked[1].Firm || !strings.Contains(w.asked[1].Reason, ".ssh/id_rsa") {
			t.Errorf("asked %+v", w.asked)
		}
		if (len(w.ran) == 1) != yes {
			t.Errorf("answered %v, ran %q", yes, w.ran)
		}
	}
}

// What the user said yes to runs, though the same question would be asked again.
func TestAYesHoldsUntilTheCall(t *testing.T) {
	w := newGateWorld(t, permission.Options{Home: "/home/u", Rules: permission.Rules{Ask: []string{"Bash(date:*)"}}})
	for _, c := range []string{"make", "cat /home/u/.ssh/id_rsa", "date", "touch /elsewhere/x"} {
		w.ran = nil
		if _, err := w.run(w.session(c), bash(c), llmtest.Say("ok")); err != nil || len(w.ran) != 1 {
			t.Errorf("%s: %v, ran %q", c, err, w.ran)
		}
	}
	if len(w.asked) != 4 {
		t.Errorf("asked %+v", w.asked)
	}
}

// So is an answer that was given between two runs.
func TestAnAnswerBetweenRunsIsToWhatWasAsked(t *testing.T) {
	for _, swap := range []bool{false, true} {
		root, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		w := newGateWorld(t, permission.Options{Roots: []string{root}, Home: "/home/u"})
		w.dir = root
		w.ask = func(permission.Verdict, *agent.Question) (*agent.Answer, error) { return nil, agent.ErrPending }
		s := w.session("s")
		res, err := w.run(s, bash("cat a"))
		if err != nil || len(res.Questions) != 1 {
			t.Fatalf("%v, %+v", err, res)
		}
		if err := s.Answer(t.Context(), "answer", time.Now(), res.Questions[0].Call.ID, json.RawMessage(`{"ok":true}`)); err != nil {
			t.Fatal(err)
		}
		if swap {
			if err := os.Symlink("/home/u/.ssh/id_rsa", filepath.Join(root, "a")); err != nil {
				t.Fatal(err)
			}
		}
		w.ask = func(permission.Verdict, *agent.Question) (*agent.Answer, error) { return &agent.Answer{}, nil }
		a, err := agent.New(llmtest.New(t, llmtest.Say("ok")), w.options())
		if err != nil {
			t.Fatal(err)
		}
		if _, err = a.Run(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		if (len(w.ran) == 0) != swap || (len(w.asked) == 2) != swap {
			t.Errorf("with other files: %v; ran %q, asked %+v", swap, w.ran, w.asked)
		}
	}
}

// What was granted in one project does not hold in another one where the session
// goes on; what was denied does.
func TestGrantsAreOfTheProjectToo(t *testing.T) {
	first := newGateWorld(t, permission.Options{Roots: []string{"/w"}})
	first.ask = func(permission.Verdict, *agent.Question) (*agent.Answer, error) {
		return &agent.Answer{OK: true, Data: reply(t, permission.Reply{
			Always:  permission.ForSession,
			Updates: []permission.Update{{Type: permission.AddRules, Behavior: permission.Deny, Rules: []string{"Bash(rm:*)"}, Destination: permission.ForSession}},
		})}, nil
	}
	s := first.session("s")
	if _, err := first.run(s, bash("make test"), llmtest.Say("ok")); err != nil {
		t.Fatal(err)
	}
	for root, want := range map[string]permission.Effect{"/w": permission.Allow, "/other": permission.Ask, "/w/sub": permission.Ask} {
		w := newGateWorld(t, permission.Options{Roots: []string{root}})
		if err := w.gate.Restore(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		for command, want := range map[string]permission.Effect{"make test": want, "rm x": permission.Deny} {
			v := w.gate.Judge(permission.Request{Spec: tool.Spec{Name: "Bash"}, Session: s.ID(), Access: []tool.Access{{Op: tool.Exec, Target: command}}})
			if v.Effect != want {
				t.Errorf("in %s: %s: %+v", root, command, v)
			}
		}
	}
}
