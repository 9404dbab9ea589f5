package permission_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cantle-dev/cantle/agent"
	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/llmtest"
	"github.com/cantle-dev/cantle/permission"
	"github.com/cantle-dev/cantle/session"
	"github.com/cantle-dev/cantle/tool"
)

type command struct {
	Command string `json:"command"`
}

// world is an agent with a Bash that runs nothing and says what it was to run.
type world struct {
	t     *testing.T
	gate  *permission.Gate
	store *session.Memory
	ran   []string
	asked []permission.Verdict
	ask   func(permission.Verdict, *agent.Question) (*agent.Answer, error)
	extra []tool.Tool
	dir   string // "" is /w
}

func newGateWorld(t *testing.T, o permission.Options) *world {
	t.Helper()
	w := &world{t: t, store: new(session.Memory)}
	if o.Roots == nil {
		o.Roots = []string{"/w"}
	}
	g, err := permission.New(o)
	if err != nil {
		t.Fatal(err)
	}
	w.gate = g
	return w
}

func (w *world) bash() tool.Tool {
	return tool.New(tool.Spec{
		Name: "Bash",
		Access: tool.AccessFor(func(_ context.Context, _ *tool.Call, in command) ([]tool.Access, error) {
			return []tool.Access{{Op: tool.Exec, Target: in.Command}}, nil
		}),
	}, func(ctx context.Context, _ command) (string, error) {
		text := tool.FromContext(ctx).Access[0].Target
		w.ran = append(w.ran, text)
		return "ran " + text, nil
	})
}

func (w *world) options() agent.Options {
	return agent.Options{
		Tools: append([]tool.Tool{w.bash()}, w.extra...), Middleware: []agent.Middleware{w.gate.Middleware()}, Dir: cmp.Or(w.dir, "/w"),
		Ask: func(ctx context.Context, _ *agent.Turn, q *agent.Question) (*agent.Answer, error) {
			var a permission.Verdict
			if err := json.Unmarshal(q.Data, &a); err != nil {
				return nil, err
			}
			w.asked = append(w.asked, a)
			if w.ask == nil {
				return &agent.Answer{OK: true}, nil
			}
			return w.ask(a, q)
		},
	}
}

func (w *world) session(id string) *session.Session {
	w.t.Helper()
	s, err := session.Open(w.t.Context(), w.store, id, session.OpenOptions{Create: true})
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

func (w *world) run(s *session.Session, steps ...llmtest.Reply) (*agent.Result, error) {
	w.t.Helper()
	a, err := agent.New(llmtest.New(w.t, steps...), w.options())
	if err != nil {
		w.t.Fatal(err)
	}
	return a.Run(w.t.Context(), s, llm.Text{Text: "go"})
}

func bash(c string) llmtest.Reply { return llmtest.Call("Bash", command{c}) }

func reply(t *testing.T, r permission.Reply) json.RawMessage {
	t.Helper()
	b, err := r.Data()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// What was analysed is what is shown and what runs, and not what was written.
func TestWhatRunsIsWhatWasAnalysed(t *testing.T) {
	w := newGateWorld(t, permission.Options{})
	var shown string
	w.ask = func(_ permission.Verdict, q *agent.Question) (*agent.Answer, error) {
		shown = q.Call.Access[0].Target
		return &agent.Answer{OK: true}, nil
	}
	if _, err := w.run(w.session("s"), bash("ls   -l;   # a comment\n  date"), llmtest.Say("ok")); err != nil {
		t.Fatal(err)
	}
	if len(w.ran) != 1 || w.ran[0] != shown || strings.Contains(shown, "comment") || w.asked[0].Text != shown {
		t.Errorf("ran %q, shown %q, asked %+v", w.ran, shown, w.asked)
	}
}

func TestQuestionsSayWhyAndWhatCouldBeGranted(t *testing.T) {
	w := newGateWorld(t, permission.Options{Rules: permission.Rules{Allow: []string{"Bash(rg:*)"}}})
	steps := []llmtest.Reply{}
	for _, c := range []string{"go test ./a", "go vet ./a", "go test ./b && ls", "make"} {
		steps = append(steps, bash(c))
	}
	steps = append(steps, bash("rg x | go test ./... -run 'A b'"), llmtest.Say("ok"))
	if _, err := w.run(w.session("s"), steps...); err != nil {
		t.Fatal(err)
	}
	a := w.asked[4]
	if len(a.Suggest) != 1 || a.Suggest[0].Rule != "Bash(go test:*)" || a.Suggest[0].Replay() != "would have matched 2 of 4" {
		t.Errorf("%+v", a)
	}
	if len(a.Words) != 1 || !strings.HasPrefix(a.Text[a.Words[0].Start:a.Words[0].End], "go test") || len(a.Needs) != 1 {
		t.Errorf("%+v", a)
	}
}

// A grant is exactly what was shown, holds for the session, and is there again
// when the session is opened by another program.
func TestGrantsAreOfTheSession(t *testing.T) {
	w := newGateWorld(t, permission.Options{})
	w.ask = func(a permission.Verdict, _ *agent.Question) (*agent.Answer, error) {
		return &agent.Answer{OK: true, Data: reply(t, permission.Reply{Always: permission.ForSession})}, nil
	}
	steps := func() []llmtest.Reply {
		return []llmtest.Reply{bash("go test ./a"), bash("go test ./b"), bash("go vet"), llmtest.Say("ok")}
	}
	s := w.session("s")
	if _, err := w.run(s, steps()...); err != nil {
		t.Fatal(err)
	}
	if len(w.asked) != 2 {
		t.Fatalf("asked %+v", w.asked)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again := newGateWorld(t, permission.Options{})
	again.store = w.store
	again.ask = func(permission.Verdict, *agent.Question) (*agent.Answer, error) { return &agent.Answer{}, nil }
	if _, err := again.run(again.session("s"), steps()...); err != nil {
		t.Fatal(err)
	}
	if len(again.asked) != 0 || len(again.ran) != 3 {
		t.Errorf("after resume: asked %+v, ran %q", again.asked, again.ran)
	}
	// Another session of the same gate has nothing of it.
	if _, err := again.run(again.session("other"), bash("go test ./a"), llmtest.Say("ok")); err != nil {
		t.Fatal(err)
	}
	if len(again.asked) != 1 {
		t.Errorf("another session was not asked")
	}
}

func TestGrantsInTheUsersFilesAreSaved(t *testing.T) {
	var saved []permission.Update
	fail := false
	w := newGateWorld(t, permission.Options{Save: func(u permission.Update) error {
		if fail {
			return errors.New("the disk is full")
		}
		saved = append(saved, u)
		return nil
	}})
	w.ask = func(a permission.Verdict, _ *agent.Question) (*agent.Answer, error) {
		return &agent.Answer{OK: true, Data: reply(t, permission.Reply{Always: permission.ForProject})}, nil
	}
	if _, err := w.run(w.session("s"), bash("go test ./a"), bash("go test ./b"), llmtest.Say("ok")); err != nil {
		t.Fatal(err)
	}
	if len(saved) != 1 || len(w.asked) != 1 || !slices.Equal(saved[0].Rules, []string{w.asked[0].Suggest[0].Rule}) || saved[0].Destination != permission.ForProject {
		t.Errorf("saved %+v, asked %+v", saved, w.asked)
	}
	fail = true // the call runs, for it was allowed; the grant is not in force
	if _, err := w.run(w.session("s2"), bash("go vet"), bash("go vet"), llmtest.Say("ok")); err != nil {
		t.Fatal(err)
	}
	if len(w.ran) != 4 || len(w.asked) != 3 {
		t.Errorf("ran %q, asked %d", w.ran, len(w.asked))
	}
}

func TestUpdates(t *testing.T) {
	g, err := permission.New(permission.Options{Roots: []string{"/w"}, Rules: permission.Rules{Allow: []string{"Bash(a:*)"}, Source: permission.Source{Layer: "user"}}, Save: func(permission.Update) error { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	verdict := func(c string) permission.Effect {
		return g.Judge(permission.Request{Spec: tool.Spec{Name: "Bash"}, Session: "s", Access: []tool.Access{{Op: tool.Exec, Target: c}}}).Effect
	}
	read := func(p string) permission.Effect {
		return g.Judge(permission.Request{Spec: tool.Spec{Name: "Read", ReadOnly: true}, Session: "s", Access: []tool.Access{{Op: tool.Read, Target: p}}}).Effect
	}
	do := func(u permission.Update) {
		t.Helper()
		if err := g.Update("s", u); err != nil {
			t.Fatal(err)
		}
	}
	want := func(c string, e permission.Effect) {
		t.Helper()
		if got := verdict(c); got != e {
			t.Errorf("%s: %s, want %s", c, got, e)
		}
	}
	do(permission.Grant(permission.ForSession, "Bash(b:*)"))
	want("a", "allow")
	want("b && a", "allow")
	do(permission.Update{Type: permission.AddRules, Behavior: permission.Deny, Rules: []string{"Bash(b)"}})
	want("b", "deny")
	want("b c", "allow")
	do(permission.Update{Type: permission.RemoveRules, Behavior: permission.Deny, Rules: []string{"Bash(b)"}})
	want("b", "allow")
	do(permission.Update{Type: permission.ReplaceRules, Rules: []string{"Bash(c)"}})
	want("b", "ask")
	want("c", "allow")
	do(permission.Update{Type: permission.RemoveRules, Destination: permission.ForUser, Rules: []string{"Bash(a:*)"}})
	want("a", "ask")
	do(permission.Update{Type: permission.AddDirectories, Directories: []string{"/extra"}})
	if read("/extra/x") != "allow" || read("/extra-not/x") != "ask" {
		t.Error("the directory does not count")
	}
	do(permission.Update{Type: permission.RemoveDirectories, Directories: []string{"/extra", "/w"}})
	if read("/extra/x") != "ask" || read("/w/x") != "allow" {
		t.Error("the directory still counts, or the project no longer does")
	}
	do(permission.Update{Type: permission.SetMode, Mode: permission.DontAsk})
	want("zzz", "deny")
	for _, u := range []permission.Update{
		{},
		{Type: "x"},
		{Type: permission.AddRules},
		{Type: permission.AddRules, Rules: []string{"Bash("}},
		{Type: permission.SetMode, Mode: "x"},
		{Type: permission.SetMode},
		{Type: permission.AddDirectories, Directories: []string{"rel"}},
		{Type: permission.AddDirectories},
		{Type: permission.AddRules, Destination: "process", Rules: []string{"Bash"}},
		{Type: permission.AddRules, Destination: "cliArg", Rules: []string{"Bash"}},
		{Type: permission.AddRules, Behavior: "x", Rules: []string{"Bash"}},
	} {
		if err := g.Update("s", u); err == nil {
			t.Errorf("%+v was taken", u)
		}
	}
}

func TestRewrittenInputIsDecidedOnAgain(t *testing.T) {
	w := newGateWorld(t, permission.Options{Rules: permission.Rules{Deny: []string{"Bash(rm:*)"}}})
	inputs := []string{`{"command":"rm x"}`, `{"command":7000,"x":1}`, `{"command":"date"}`}
	n := 0
	w.ask = func(a permission.Verdict, _ *agent.Question) (*agent.Answer, error) {
		if a.Text != "ls" {
			return &agent.Answer{OK: true}, nil
		}
		n++
		return &agent.Answer{OK: true, Data: reply(t, permission.Reply{Input: json.RawMessage(inputs[n-1])})}, nil
	}
	if _, err := w.run(w.session("s"), bash("ls"), bash("ls"), bash("ls"), llmtest.Say("ok")); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(w.ran, []string{"date"}) {
		t.Errorf("ran %q", w.ran)
	}
}

func TestInterruptEndsTheRun(t *testing.T) {
	w := newGateWorld(t, permission.Options{Rules: permission.Rules{Allow: []string{"Bash(date)"}}})
	w.ask = func(permission.Verdict, *agent.Question) (*agent.Answer, error) {
		return &agent.Answer{Reason: "stop it", Data: reply(t, permission.Reply{Interrupt: true})}, nil
	}
	s := w.session("s")
	res, err := w.run(s, bash("ls").Call("Bash", command{"date"}).Call("Bash", command{"make"}))
	if err != nil || res.Stop != agent.StopInterrupted || res.Reason != "stop it" {
		t.Errorf("%v, %+v", err, res)
	}
	if len(w.ran) != 0 || len(w.asked) != 1 || len(s.Dangling()) != 0 {
		t.Errorf("ran %q, asked %d times", w.ran, len(w.asked))
	}
	w.ask = nil // the next run is a new one
	if _, err := w.run(s, bash("ls"), llmtest.Say("ok")); err != nil || len(w.ran) != 1 {
		t.Errorf("%v, ran %q", err, w.ran)
	}
}

func TestNobodyAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newGateWorld(t, permission.Options{AskTimeout: time.Minute})
		stuck := make(chan struct{})
		defer close(stuck)
		w.ask = func(permission.Verdict, *agent.Question) (*agent.Answer, error) {
			<-stuck // hears of no end
			return &agent.Answer{OK: true}, nil
		}
		began := time.Now()
		res, err := w.run(w.session("s"), bash("ls"), llmtest.Say("ok"))
		if err != nil || len(w.ran) != 0 || time.Since(began) != time.Minute || len(res.Denied) != 1 || !strings.Contains(res.Denied[0].Reason, "nobody answered in time") {
			t.Errorf("%v, ran %q, %+v after %v", err, w.ran, res, time.Since(began))
		}
	})
}

func TestAQuestionEndsWithItsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newGateWorld(t, permission.Options{})
		stuck := make(chan struct{})
		defer close(stuck)
		ctx, cancel := context.WithCancel(t.Context())
		w.ask = func(permission.Verdict, *agent.Question) (*agent.Answer, error) {
			cancel()
			<-stuck
			return &agent.Answer{OK: true}, nil
		}
		a, err := agent.New(llmtest.New(t, bash("ls")), w.options())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.Run(ctx, w.session("s"), llm.Text{Text: "go"}); err == nil && len(w.ran) > 0 {
			t.Errorf("%v, ran %q", err, w.ran)
		}
	})
}

func TestAnAskerThatPanicsIsNoYes(t *testing.T) {
	w := newGateWorld(t, permission.Options{})
	w.ask = func(permission.Verdict, *agent.Question) (*agent.Answer, error) { panic("broken") }
	res, err := w.run(w.session("s"), bash("ls"), llmtest.Say("ok"))
	if err != nil || len(w.ran) != 0 || len(res.Denied) != 1 {
		t.Errorf("%v, ran %q, %+v", err, w.ran, res)
	}
}

// A decision that was made while the question was open holds.
func TestAModeThatChangedMeanwhileCounts(t *testing.T) {
	w := newGateWorld(t, permission.Options{})
	w.ask = func(permission.Verdict, *agent.Question) (*agent.Answer, error) {
		w.gate.SetMode(permission.Plan)
		return &agent.Answer{OK: true}, nil
	}
	if _, err := w.run(w.session("s"), bash("touch x"), llmtest.Say("ok")); err != nil || len(w.ran) != 0 {
		t.Errorf("%v, ran %q", err, w.ran)
	}
}

// A child passes the same gate, and has what was granted to its parent.
func TestChildrenHoldToTheSameRules(t *testing.T) {
	w := newGateWorld(t, permission.Options{Rules: permission.Rules{Deny: []string{"Bash(rm:*)", "Agent(evil)"}, Allow: []string{"Agent"}}})
	w.ask = func(a permission.Verdict, _ *agent.Question) (*agent.Answer, error) {
		return &agent.Answer{OK: true, Data: reply(t, permission.Reply{Always: permission.ForSession})}, nil
	}
	type in struct {
		Type string `json:"subagent_type"`
	}
	w.extra = []tool.Tool{tool.New(tool.Spec{Name: "Agent", Access: tool.NoAccess}, func(ctx context.Context, v in) (string, error) {
		turn := agent.FromContext(ctx)
		a, err := agent.New(llmtest.New(t, bash("rm x"), bash("go test"), bash("go vet"), llmtest.Say("done")), turn.Options())
		if err != nil {
			return "", err
		}
		res, err := turn.Run(ctx, v.Type, a, w.session("child"), llm.Text{Text: "do"})
		if err != nil {
			return "", err
		}
		return res.Text, nil
	})}
	s := w.session("s")
	if _, err := w.run(s, bash("go test"), llmtest.Call("Agent", in{"good"}), llmtest.Call("Agent", in{"evil"}), bash("go vet"), llmtest.Say("ok")); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(w.ran, []string{"go test", "go test", "go vet", "go vet"}) || len(w.asked) != 2 {
		t.Errorf("ran %q, asked %+v", w.ran, w.asked)
	}
	// What the child was granted is in the parent's journal.
	n := 0
	for _, err := range s.Notes(t.Context(), permission.NoteKind) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 2 {
		t.Errorf("%d notes", n)
	}
}

// A search that the user allowed finds what is in its place, but for what no
// yes to it can mean.
func TestWhatARunningToolComesAcross(t *testing.T) {
	v := newVault(t)
	out, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := newGateWorld(t, permission.Options{Roots: []string{v.root}, Rules: permission.Rules{Deny: []string{"Read(safe/**)", "Read(/" + out + "/no/**)"}}})
	type in struct {
		Path string `json:"path"`
	}
	var got []string
	w.extra = []tool.Tool{tool.New(tool.Spec{
		Name: "Search", ReadOnly: true, Access: tool.AccessFor(func(_ context.Context, _ *tool.Call, v in) ([]tool.Access, error) {
			return []tool.Access{{Op: tool.Read, Target: v.Path}}, nil
		}),
	}, func(ctx context.Context, v in) (string, error) {
		c := tool.FromContext(ctx)
		got = nil
		for _, name := range []string{"a.txt", "no/x", ".env", "safe/key.txt", "open/a.txt", "open/hard.txt", ".ssh/x", "../other"} {
			if c.Check(tool.Access{Op: tool.Read, Target: filepath.Join(v.Path, name)}) == nil {
				got = append(got, name)
			}
		}
		return "", nil
	})}
	for path, want := range map[string][]string{
		v.root:        {"a.txt", "no/x", "open/a.txt"},
		out:           {"a.txt", "safe/key.txt", "open/a.txt", "open/hard.txt"},
		out + "/.ssh": {"a.txt", "no/x", ".env", "safe/key.txt", "open/a.txt", "open/hard.txt", ".ssh/x"},
	} {
		if _, err := w.run(w.session(path), llmtest.Call("Search", in{path}), llmtest.Say("ok")); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

func BenchmarkCheck(b *testing.B) {
	root := b.TempDir()
	g, err := permission.New(permission.Options{Roots: []string{root}, Home: "/home/u", Rules: permission.Rules{Deny: []string{"Read(.env)", "Read(**/secret/**)", "Bash(rm:*)"}}})
	if err != nil {
		b.Fatal(err)
	}
	var check func(tool.Access) error
	look := tool.New(tool.Spec{
		Name: "Grep", ReadOnly: true, Aliases: []string{"grep", "search"}, Access: tool.NoAccess,
	}, func(ctx context.Context, _ struct{}) (string, error) {
		check = tool.FromContext(ctx).Check
		return "", nil
	})
	a, err := agent.New(llmtest.New(b, llmtest.Call("Grep", struct{}{}), llmtest.Say("ok")), agent.Options{Tools: []tool.Tool{look}, Middleware: []agent.Middleware{g.Middleware()}})
	if err != nil {
		b.Fatal(err)
	}
	s, err := session.Open(b.Context(), new(session.Memory), "s", session.OpenOptions{Create: true})
	if err != nil {
		b.Fatal(err)
	}
	if _, err := a.Run(b.Context(), s, llm.Text{Text: "go"}); err != nil {
		b.Fatal(err)
	}
	access := tool.Access{Op: tool.Read, Target: root + "/internal/some/package/with/a/file.go"}
	b.ReportAllocs()
	for b.Loop() {
		if err := check(access); err != nil {
			b.Fatal(err)
		}
	}
}
