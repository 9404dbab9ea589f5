package permission_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/agent"
	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/llmtest"
	"github.com/cantle-dev/cantle/permission"
	"github.com/cantle-dev/cantle/tool"
)

func TestModesHaveOtherNames(t *testing.T) {
	for name, want := range map[string]permission.Mode{
		"": "default", "ask": "default", "auto": "bypassPermissions", "deny": "dontAsk", "default": "default", "acceptEdits": "acceptEdits", "ACCEPTEDITS": "acceptEdits",
		"plan": "plan", "dontAsk": "dontAsk", "bypassPermissions": "bypassPermissions",
	} {
		if m, err := permission.ParseMode(name); err != nil || m != want {
			t.Errorf("%q: %q, %v", name, m, err)
		}
	}
	if _, err := permission.ParseMode("yolo"); err == nil || !strings.Contains(err.Error(), "acceptEdits") {
		t.Errorf("%v", err)
	}
}

// Without anybody to ask, what would be asked is denied: nothing hangs, and
// what is allowed runs.
func TestNobodyToAskIsNo(t *testing.T) {
	w := newGateWorld(t, permission.Options{Rules: permission.Rules{Allow: []string{"Bash(date)"}}})
	o := w.options()
	o.Ask = nil
	a, err := agent.New(llmtest.New(t, bash("make").Call("Bash", command{"date"}), llmtest.Say("ok")), o)
	if err != nil {
		t.Fatal(err)
	}
	res, err := a.Run(t.Context(), w.session("s"), llm.Text{Text: "go"})
	if err != nil || !slices.Equal(w.ran, []string{"date"}) || len(res.Denied) != 1 || !strings.HasPrefix(res.Denied[0].Reason, "Denied: it would run make") {
		t.Errorf("%v, ran %q, %+v", err, w.ran, res)
	}
}

// All questions of a turn are put before any of its calls runs, one by one and
// once each.
func TestQuestionsComeBeforeCalls(t *testing.T) {
	w := newGateWorld(t, permission.Options{})
	var order []string
	w.ask = func(a permission.Verdict, _ *agent.Question) (*agent.Answer, error) {
		if len(w.ran) > 0 {
			t.Errorf("%q ran before all were asked about", w.ran)
		}
		order = append(order, a.Text)
		return &agent.Answer{OK: a.Text != "b", Reason: "not that"}, nil
	}
	if _, err := w.run(w.session("s"), bash("a").Call("Bash", command{"b"}).Call("Bash", command{"c"}), llmtest.Say("ok")); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(order, []string{"a", "b", "c"}) || !slices.Equal(w.ran, []string{"a", "c"}) {
		t.Errorf("asked about %q, ran %q", order, w.ran)
	}
}

// The journal and the events say who decided, by which rule of which file.
func TestDecisionsAreRecorded(t *testing.T) {
	w := newGateWorld(t, permission.Options{Layers: []permission.Rules{{
		Allow: []string{"Bash(ls)"}, Deny: []string{"Bash(rm:*)"}, Source: permission.Source{Layer: "user", File: "/home/u/.cantle/settings.json"},
	}}})
	a, err := agent.New(llmtest.New(t, bash("ls").Call("Bash", command{"rm x"}).Call("Bash", command{"make"}), llmtest.Say("ok")), w.options())
	if err != nil {
		t.Fatal(err)
	}
	st := a.Stream(t.Context(), w.session("s"), llm.Text{Text: "go"})
	got := map[string]*agent.Decision{}
	for e, err := range st.Events() {
		if err != nil {
			t.Fatal(err)
		}
		if d, ok := e.Data.(agent.ToolFinished); ok {
			got[string(d.Call.Input)] = d.Decision
		}
	}
	for input, want := range map[string][2]string{
		`{"command":"ls"}`:   {agent.ByRule, `the allow rule "Bash(ls)" of /home/u/.cantle/settings.json (user) allows it`},
		`{"command":"rm x"}`: {agent.ByRule, `it would run rm x: the deny rule "Bash(rm:*)" of /home/u/.cantle/settings.json (user) denies it`},
		`{"command":"make"}`: {agent.ByUser, ""},
	} {
		if d := got[input]; d == nil || d.By != want[0] || d.Reason != want[1] {
			t.Errorf("%s: %+v", input, d)
		}
	}
}

// A user who interrupts a child ends the whole.
func TestInterruptOfAChildEndsAll(t *testing.T) {
	w := newGateWorld(t, permission.Options{Rules: permission.Rules{Allow: []string{"Agent"}}})
	w.ask = func(permission.Verdict, *agent.Question) (*agent.Answer, error) {
		return &agent.Answer{Reason: "enough", Data: reply(t, permission.Reply{Interrupt: true})}, nil
	}
	w.extra = []tool.Tool{tool.New(tool.Spec{Name: "Agent", Access: tool.NoAccess}, func(ctx context.Context, _ struct{}) (string, error) {
		turn := agent.FromContext(ctx)
		a, err := agent.New(llmtest.New(t, bash("make")), turn.Options())
		if err != nil {
			return "", err
		}
		res, err := turn.Run(ctx, "c", a, w.session("child"), llm.Text{Text: "do"})
		if err != nil {
			return "", err
		}
		return res.Text, nil
	})}
	res, err := w.run(w.session("s"), llmtest.Call("Agent", struct{}{}).Call("Bash", command{"ls"}))
	if err != nil || res.Stop != agent.StopInterrupted || res.Reason != "enough" || len(w.ran) > 0 {
		t.Errorf("%v, %+v, ran %q", err, res, w.ran)
	}
}

type shown struct{ tool.Tool }

func (s shown) Preview(_ context.Context, c *tool.Call) (*tool.Preview, error) {
	if strings.Contains(string(c.Input), "broken") {
		return nil, errors.New("the file is not what was read")
	}
	return &tool.Preview{Title: "t", Text: "as it was written", Diff: "+x"}, nil
}

// A preview shows what runs; one that fails goes to the model, and nobody is
// asked.
func TestPreviews(t *testing.T) {
	w := newGateWorld(t, permission.Options{})
	var seen []*tool.Preview
	w.ask = func(_ permission.Verdict, q *agent.Question) (*agent.Answer, error) {
		seen = append(seen, q.Call.Preview)
		return &agent.Answer{}, nil
	}
	o := w.options()
	o.Tools = []tool.Tool{shown{w.bash()}}
	a, err := agent.New(llmtest.New(t, bash("ls   -l").Call("Bash", command{"broken"}), llmtest.Say("ok")), o)
	if err != nil {
		t.Fatal(err)
	}
	s := w.session("s")
	if _, err := a.Run(t.Context(), s, llm.Text{Text: "go"}); err != nil {
		t.Fatal(err)
	}
	if len(seen) != 1 || seen[0].Text != "ls -l" || seen[0].Diff != "+x" {
		t.Errorf("%+v", seen)
	}
	if b, err := json.Marshal(s.Messages()); err != nil || !strings.Contains(string(b), "not what was read") {
		t.Errorf("%s, %v", b, err)
	}
}

// Every way to change permissions, for every destination: it holds at once, for
// a session alone or for all, and what goes to a file is saved as it is.
func TestEveryUpdateForEveryDestination(t *testing.T) {
	layer := map[permission.Destination]string{permission.ForLocal: "projectUser", permission.ForProject: "project", permission.ForUser: "user"}
	for _, dest := range []permission.Destination{permission.ForSession, permission.ForLocal, permission.ForProject, permission.ForUser} {
		for _, kind := range []permission.Effect{permission.Allow, permission.Ask, permission.Deny} {
			var saved []permission.Update
			layers := []permission.Rules{}
			for d, l := range layer {
				layers = append(layers, permission.Rules{Source: permission.Source{Layer: l, File: string(d) + ".json"}})
			}
			g, err := permission.New(permission.Options{Roots: []string{"/w"}, Layers: layers, Save: func(u permission.Update) error { saved = append(saved, u); return nil }})
			if err != nil {
				t.Fatal(err)
			}
			rules := func(session string) string {
				var out []string
				for _, r := range g.Rules(session) {
					if r.Effect == kind {
						out = append(out, r.Text)
						if l := layer[dest]; dest != permission.ForSession && r.Source != (permission.Source{Layer: l, File: string(dest) + ".json"}) {
							t.Errorf("%s: %+v", dest, r)
						}
					}
				}
				return strings.Join(out, " ")
			}
			others := func(have string) string {
				if dest == permission.ForSession {
					return ""
				}
				return have
			}
			read := func(session, p string) bool {
				r := permission.Request{Spec: tool.Spec{Name: "Read", ReadOnly: true}, Session: session, Access: []tool.Access{{Op: tool.Read, Target: p}}}
				return g.Judge(r).Effect == permission.Allow
			}
			n := 0
			do := func(u permission.Update, want string) {
				t.Helper()
				u.Destination, u.Behavior = dest, kind
				if u.Mode != "" || u.Directories != nil {
					u.Behavior = ""
				}
				if err := g.Update("s", u); err != nil {
					t.Fatal(err)
				}
				if n++; dest != permission.ForSession && (len(saved) != n || saved[n-1].Type != u.Type) {
					t.Errorf("%s: saved %+v", dest, saved)
				}
				if a, b := rules("s"), rules("t"); a != want || b != others(want) {
					t.Errorf("%s %s %+v: %q, in another session %q", dest, kind, u, a, b)
				}
			}
			do(permission.Update{Type: permission.AddRules, Rules: []string{"Bash(a)", "Bash(b)"}}, "Bash(a) Bash(b)")
			do(permission.Update{Type: permission.AddRules, Rules: []string{"Bash(a)"}}, "Bash(a) Bash(b)")
			do(permission.Update{Type: permission.RemoveRules, Rules: []string{"Bash(a)", "Bash(zzz)"}}, "Bash(b)")
			do(permission.Update{Type: permission.ReplaceRules, Rules: []string{"Bash(c)"}}, "Bash(c)")
			do(permission.Update{Type: permission.ReplaceRules}, "")
			do(permission.Update{Type: permission.AddDirectories, Directories: []string{"/extra"}}, "")
			if !read("s", "/extra/x") || read("t", "/extra/x") != (dest != permission.ForSession) {
				t.Errorf("%s: the directory", dest)
			}
			do(permission.Update{Type: permission.RemoveDirectories, Directories: []string{"/extra", "/w"}}, "")
			if read("s", "/extra/x") || read("t", "/extra/x") || !read("s", "/w/x") {
				t.Errorf("%s: the directory is still there, or the project is not", dest)
			}
			do(permission.Update{Type: permission.SetMode, Mode: permission.AcceptEdits}, "")
			if g.Mode() != permission.AcceptEdits {
				t.Errorf("%s: %s", dest, g.Mode())
			}
		}
	}
}

// A file that cannot be written changes nothing, and is said so.
func TestUpdatesThatAreNotSavedDoNotHold(t *testing.T) {
	for _, save := range []func(permission.Update) error{nil, func(permission.Update) error { return errors.New("the disk is full") }} {
		g, err := permission.New(permission.Options{Roots: []string{"/w"}, Save: save})
		if err != nil {
			t.Fatal(err)
		}
		if err := g.Update("s", permission.Grant(permission.ForUser, "Bash(ls)")); err == nil || len(g.Rules("s")) != 0 {
			t.Errorf("%v, %+v", err, g.Rules("s"))
		}
	}
}

// What the user forbids when a child asks is forbidden to its parent too, in
// that session and after it is opened again.
func TestADenialInAChildHolds(t *testing.T) {
	w := newGateWorld(t, permission.Options{Rules: permission.Rules{Allow: []string{"Agent"}}})
	never := permission.Update{Type: permission.AddRules, Destination: permission.ForSession, Behavior: permission.Deny, Rules: []string{"Bash(make:*)"}}
	w.ask = func(permission.Verdict, *agent.Question) (*agent.Answer, error) {
		return &agent.Answer{Reason: "no, never", Data: reply(t, permission.Reply{Updates: []permission.Update{never}})}, nil
	}
	w.extra = []tool.Tool{tool.New(tool.Spec{Name: "Agent", Access: tool.NoAccess}, func(ctx context.Context, _ struct{}) (string, error) {
		turn := agent.FromContext(ctx)
		a, err := agent.New(llmtest.New(t, bash("make"), llmtest.Say("no")), turn.Options())
		if err != nil {
			return "", err
		}
		_, err = turn.Run(ctx, "c", a, w.session("child"), llm.Text{Text: "do"})
		return "", err
	})}
	s := w.session("s")
	if _, err := w.run(s, llmtest.Call("Agent", struct{}{}), bash("make all"), llmtest.Say("ok")); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again := newGateWorld(t, permission.Options{Mode: permission.Bypass})
	again.store = w.store
	res, err := again.run(again.session("s"), bash("make"), llmtest.Say("ok"))
	if err != nil || len(w.ran)+len(again.ran) > 0 || len(w.asked) != 1 || len(res.Denied) != 1 {
		t.Errorf("%v, ran %q %q, asked %+v, %+v", err, w.ran, again.ran, w.asked, res)
	}
}

// To allow the whole tool is not to allow it the network.
func TestAlwaysIsNotTheNetwork(t *testing.T) {
	w := newGateWorld(t, permission.Options{Sandbox: &permission.Sandbox{Holds: func() bool { return true }}})
	w.ask = func(permission.Verdict, *agent.Question) (*agent.Answer, error) {
		return &agent.Answer{OK: true, Data: json.RawMessage(`"always"`)}, nil
	}
	o := w.options()
	o.Tools = []tool.Tool{tool.New(tool.Spec{Name: "Bash", Access: tool.AccessFor(func(_ context.Context, _ *tool.Call, in command) ([]tool.Access, error) {
		return []tool.Access{{Op: tool.Exec, Target: in.Command}, {Op: tool.Connect, Target: tool.Anywhere}}, nil
	})}, func(context.Context, command) (string, error) { return "", nil })}
	a, err := agent.New(llmtest.New(t, bash("make"), bash("make"), llmtest.Say("ok")), o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Run(t.Context(), w.session("s"), llm.Text{Text: "go"}); err != nil {
		t.Fatal(err)
	}
	if len(w.asked) != 2 || len(w.asked[1].Suggest) > 0 || !slices.Contains(w.asked[1].Needs, "reach the network") || !slices.Contains(w.asked[1].Needs, "run make") {
		t.Errorf("%+v", w.asked)
	}
}
