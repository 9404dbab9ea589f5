package agent_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cantle-dev/cantle/agent"
	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/session"
	"github.com/cantle-dev/cantle/tool"
)

// spawner is a tool that runs a child on the model that next returns, with
// options that change may change.
func spawner(next func() llm.Model, change func(*agent.Options)) tool.Tool {
	var n atomic.Int64
	return tool.New(tool.Spec{Name: "Agent", ReadOnly: true, Parallel: true, Access: tool.NoAccess}, func(ctx context.Context, _ textIn) (string, error) {
		tn := agent.FromContext(ctx)
		o := tn.Options()
		if change != nil {
			change(&o)
		}
		a, err := agent.New(next(), o)
		if err != nil {
			return "", err
		}
		id := fmt.Sprintf("%schild%d", strings.ReplaceAll(tn.Path, "/", "-"), n.Add(1))
		s, err := session.Open(ctx, tn.Session.Store(), id, session.OpenOptions{Create: true})
		if err != nil {
			return "", err
		}
		res, err := tn.Run(ctx, id, a, s, llm.Text{Text: "look"})
		if err != nil {
			return "", err
		}
		if res.Stop.Status() != agent.StatusCompleted {
			return "", fmt.Errorf("the agent stopped: %s: %s", res.Stop, res.Reason)
		}
		return res.Text, nil
	})
}

func TestChildrenDeepAndMany(t *testing.T) {
	// Each agent starts another, for ever: the one that may not is told, and
	// answers, and so do all above it.
	var told atomic.Pointer[string]
	deep := func() llm.Model {
		return &script{steps: []step{calls(call("1", "Agent", `{}`)), say("done")}}
	}
	tell := agent.Middleware{Name: "tell", Event: func(_ context.Context, tn *agent.Turn, e agent.EventData) {
		if f, ok := e.(agent.ToolFinished); ok && f.IsError {
			text := tn.Path + ": " + f.Parts.Text()
			told.Store(&text)
		}
	}}
	o := agent.Options{Middleware: []agent.Middleware{tell}, Tools: []tool.Tool{spawner(deep, nil)}}
	res, err := run(t, deep(), o, open(t), "go")
	if err != nil || res.Text != "done" || told.Load() == nil {
		t.Fatalf("%+v, %v", res, err)
	}
	if got := *told.Load(); strings.Count(got, "/") != 2 || !strings.Contains(got, "nest 3 deep already") {
		t.Errorf("told %s", got)
	}

	// Spawns counts grandchildren too: 3 in all, though each child may itself
	// start 3.
	var started atomic.Int64
	wide := func() llm.Model {
		started.Add(1)
		return &script{steps: []step{calls(call("1", "Agent", `{}`), call("2", "Agent", `{}`)), say("done")}}
	}
	o = agent.Options{Tools: []tool.Tool{spawner(wide, nil)}, Budget: agent.Budget{Spawns: 3, Depth: -1}, Parallelism: 1}
	seen := 0
	a, err := agent.New(wide(), o)
	if err != nil {
		t.Fatal(err)
	}
	st := a.Stream(t.Context(), open(t), llm.Text{Text: "go"})
	for e, err := range st.Events() {
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := e.Data.(agent.RunStarted); ok {
			seen++
		}
	}
	if seen != 4 || st.Result().Stop != agent.StopFinished {
		t.Errorf("%d agents ran, %+v", seen, st.Result())
	}
	if agent.StopSpawns.Status() != agent.StatusLimited {
		t.Error(agent.StopSpawns.Status())
	}
}

func TestTooManyChildrenIsAReasonToStop(t *testing.T) {
	try := tool.New(tool.Spec{Name: "Try"}, func(ctx context.Context, _ struct{}) (string, error) {
		tn := agent.FromContext(ctx)
		a, err := agent.New(&script{}, agent.Options{})
		if err != nil {
			return "", err
		}
		if _, err = tn.Run(ctx, "a", a, tn.Session, llm.Text{Text: "x"}); !errors.Is(err, session.ErrBusy) {
			return "", fmt.Errorf("a child on its parent's session: %w", err)
		}
		_, err = tn.Run(ctx, "a", a, tn.Session, llm.Text{Text: "x"})
		if !errors.Is(err, agent.ErrBudget) {
			return "", fmt.Errorf("a second child: %w", err)
		}
		return "", tool.Fatal(err)
	})
	m := &script{steps: []step{calls(call("1", "Try", `{}`))}}
	res, err := run(t, m, agent.Options{Tools: []tool.Tool{try}, Budget: agent.Budget{Spawns: 1}}, open(t), "go")
	if err != nil || res.Stop != agent.StopSpawns || !strings.Contains(res.Reason, "1 agents were started") {
		t.Errorf("%+v, %v", res, err)
	}
}

// background is a tool that starts a child and does not wait for it. The child
// says one thing and then waits for release.
func background(child llm.Model, begun chan<- struct{}) tool.Tool {
	return tool.New(tool.Spec{Name: "Start"}, func(ctx context.Context, _ struct{}) (string, error) {
		tn := agent.FromContext(ctx)
		o := tn.Options()
		o.Tools = nil
		first := make(chan struct{})
		o.Middleware = []agent.Middleware{{Name: "first", Event: func(_ context.Context, _ *agent.Turn, e agent.EventData) {
			if _, ok := e.(agent.TurnStarted); ok {
				close(first)
			}
		}}}
		a, err := agent.New(child, o)
		if err != nil {
			return "", err
		}
		s, err := session.Open(ctx, tn.Session.Store(), "child", session.OpenOptions{Create: true})
		if err != nil {
			return "", err
		}
		st, err := tn.Start(ctx, "bg", a, s, llm.Text{Text: "look"})
		if err != nil {
			return "", err
		}
		if begun != nil {
			go func() { <-st.Done(); close(begun) }()
		}
		<-first
		return "started", nil
	})
}

// gated is a model that answers once it may.
type gated struct {
	script
	may chan struct{}
}

func (g *gated) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		select {
		case <-g.may:
			g.script.Stream(ctx, req)(yield)
		case <-ctx.Done():
			yield(nil, context.Cause(ctx))
		}
	}
}

func TestDetachHandsAChildOver(t *testing.T) {
	price := llm.PerMillion(1, 1)
	child := &gated{script: script{info: llm.Info{Name: "c", Price: price}, steps: []step{say("from the child")}}, may: make(chan struct{})}
	var handed []*agent.Stream
	m := &script{info: llm.Info{Name: "m", Price: price}, steps: []step{calls(call("1", "Start", `{}`)), say("done")}}
	done := make(chan struct{})
	o := agent.Options{Tools: []tool.Tool{background(child, done)}, Detach: func(st *agent.Stream) { handed = append(handed, st) }}
	s := open(t)
	res, err := run(t, m, o, s, "go")
	if err != nil || res.Stop != agent.StopFinished || res.Usage.Requests != 2 {
		t.Fatalf("%+v, %v", res, err)
	}
	if len(handed) != 1 || handed[0].Result() != nil {
		t.Fatalf("%d streams were handed over", len(handed))
	}
	st := handed[0]
	close(child.may)
	var text string
	seq := 0
	var last agent.EventData
	for e, err := range st.Events() {
		if err != nil {
			t.Fatal(err)
		}
		if seq++; e.Seq != seq || e.Path != "bg" {
			t.Errorf("event %d: seq %d, path %q", seq, e.Seq, e.Path)
		}
		if d, ok := e.Data.(agent.TextDelta); ok {
			text += d.Text
		}
		last = e.Data
	}
	if _, ok := last.(agent.RunEnded); !ok || text != "from the child" || st.Result().Text != text {
		t.Errorf("%T, %q, %+v", last, text, st.Result())
	}
	for _, err := range st.Events() {
		if !errors.Is(err, llm.ErrUsed) {
			t.Errorf("a second range: %v", err)
		}
	}
	// What it used after the run's end is in the session, once.
	<-done
	u, cost, err := s.Spent(t.Context())
	if err != nil || u.Input != 30 || u.Output != 15 || cost == nil || *cost != 45*llm.Dollars(1e-6) {
		t.Errorf("spent %+v, %v, %v", u, cost, err)
	}
}

func TestBreakingOffADetachedChildCancelsIt(t *testing.T) {
	half := say("half")
	half.hang = true
	child := &gated{script: script{steps: []step{half}}, may: make(chan struct{})}
	var st *agent.Stream
	m := &script{steps: []step{calls(call("1", "Start", `{}`)), say("done")}}
	o := agent.Options{Tools: []tool.Tool{background(child, nil)}, Detach: func(s *agent.Stream) { st = s }}
	if _, err := run(t, m, o, open(t), "go"); err != nil {
		t.Fatal(err)
	}
	close(child.may)
	for e, err := range st.Events() {
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := e.Data.(agent.TextDelta); ok {
			break
		}
	}
	if r := st.Result(); r == nil || r.Stop != agent.StopInterrupted || r.Text != "half" {
		t.Errorf("%+v", r)
	}
}

func TestDetachedChildThatNobodyReadsEnds(t *testing.T) {
	long := step{}
	for range 6000 { // more events than are kept
		long.parts = append(long.parts, llm.Text{Text: "x"})
	}
	child := &gated{script: script{steps: []step{long}}, may: make(chan struct{})}
	var st *agent.Stream
	m := &script{steps: []step{calls(call("1", "Start", `{}`)), say("done")}}
	done := make(chan struct{})
	o := agent.Options{Tools: []tool.Tool{background(child, done)}, Detach: func(s *agent.Stream) { st = s }}
	if _, err := run(t, m, o, open(t), "go"); err != nil {
		t.Fatal(err)
	}
	close(child.may)
	<-done
	n := 0
	var last agent.EventData
	for e, err := range st.Events() {
		if err != nil {
			t.Fatal(err)
		}
		n++
		last = e.Data
	}
	if _, ok := last.(agent.RunEnded); !ok || n != 4097 || len(st.Result().Text) != 6000 {
		t.Errorf("%d events, the last a %T", n, last)
	}
}

func TestCancelOfTheRunEndsChildrenThatOutliveTheirCalls(t *testing.T) {
	child := &gated{may: make(chan struct{})} // never
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := tool.New(tool.Spec{Name: "Stop"}, func(context.Context, struct{}) (string, error) {
		cancel(errors.New("the user left"))
		return "", nil
	})
	detached := 0
	m := &script{steps: []step{calls(call("1", "Start", `{}`), call("2", "Stop", `{}`))}}
	done := make(chan struct{})
	a, err := agent.New(m, agent.Options{Tools: []tool.Tool{background(child, done), stop}, Detach: func(*agent.Stream) { detached++ }})
	if err != nil {
		t.Fatal(err)
	}
	res, err := a.Run(ctx, open(t), llm.Text{Text: "go"})
	if err != nil || res.Stop != agent.StopInterrupted || detached != 0 {
		t.Errorf("%+v, %v, %d handed over", res, err, detached)
	}
	<-done // it ended before the run did, or at once after it
}

func TestChildSpendsItsParentsBudget(t *testing.T) {
	child := &script{steps: []step{say("from the child")}}
	var paths []string
	spawn := tool.New(tool.Spec{Name: "Agent"}, func(ctx context.Context, _ struct{}) (string, error) {
		tn := agent.FromContext(ctx)
		o := tn.Options()
		o.Tools = nil
		a, err := agent.New(child, o)
		if err != nil {
			return "", err
		}
		s, err := session.Open(ctx, tn.Session.Store(), "child", session.OpenOptions{Create: true})
		if err != nil {
			return "", err
		}
		res, err := tn.Run(ctx, "explore-1", a, s, llm.Text{Text: "look"})
		if err != nil {
			return "", err
		}
		return res.Text, nil
	})
	m := &script{steps: []step{calls(call("1", "Agent", `{}`)), say("done")}}
	a, _ := agent.New(m, agent.Options{Tools: []tool.Tool{spawn}})
	st := a.Stream(t.Context(), open(t), llm.Text{Text: "go"})
	seq := 0
	for e, err := range st.Events() {
		if err != nil {
			t.Fatal(err)
		}
		if seq++; e.Seq != seq {
			t.Errorf("event %d has the number %d", seq, e.Seq)
		}
		if e.Path != "" && !slices.Contains(paths, e.Path) {
			paths = append(paths, e.Path)
		}
	}
	if r := st.Result(); r.Usage.Requests != 3 || !slices.Equal(paths, []string{"explore-1"}) {
		t.Errorf("%+v, paths %q", r, paths)
	}
}

func TestABackgroundChildThatPanicsHarmsNobody(t *testing.T) {
	bug := agent.Middleware{Name: "bug", Start: func(context.Context, *agent.Turn, *agent.Setup) error { panic("a bug") }}
	start := tool.New(tool.Spec{Name: "Start"}, func(ctx context.Context, _ struct{}) (string, error) {
		tn := agent.FromContext(ctx)
		a, err := agent.New(&script{}, agent.Options{Middleware: []agent.Middleware{bug}})
		if err != nil {
			return "", err
		}
		s, err := session.Open(ctx, new(session.Memory), "child", session.OpenOptions{Create: true})
		if err != nil {
			return "", err
		}
		st, err := tn.Start(ctx, "bg", a, s, llm.Text{Text: "look"})
		if err != nil {
			return "", err
		}
		<-st.Done()
		if st.Result() != nil {
			return "", errors.New("it has a result")
		}
		return "ok", nil
	})
	warned := false
	m := &script{steps: []step{calls(call("1", "Start", `{}`)), say("done")}}
	a, err := agent.New(m, agent.Options{Tools: []tool.Tool{start}})
	if err != nil {
		t.Fatal(err)
	}
	st := a.Stream(t.Context(), open(t), llm.Text{Text: "go"})
	for e, err := range st.Events() {
		if err != nil {
			t.Fatal(err)
		}
		w, ok := e.Data.(agent.Warning)
		warned = warned || ok && strings.Contains(w.Text, "a bug")
	}
	if res := st.Result(); res.Text != "done" || results(m.reqs[1])[0] != "ok" || !warned {
		t.Errorf("%+v, %q, warned %v", res, results(m.reqs[1]), warned)
	}
}

// TestAnInterruptEndsTheTree: siblings that run beside the child whose call was
// refused end with it, those in the background too, and nothing is handed over.
func TestAnInterruptEndsTheTree(t *testing.T) {
	for _, handedOver := range []bool{false, true} {
		working := make(chan struct{})
		slow := tool.New(tool.Spec{Name: "Slow", Access: tool.NoAccess}, func(ctx context.Context, _ struct{}) (string, error) {
			close(working)
			<-ctx.Done()
			return "", context.Cause(ctx)
		})
		gate := gating(func(_ context.Context, tn *agent.Turn, c *tool.Call) (*tool.Result, error) {
			if c.Name == "Echo" && tn.Path != "" {
				<-working
				return nil, agent.Interrupt("that is enough")
			}
			return nil, nil
		})
		var n atomic.Int64
		kid := func() llm.Model {
			if n.Add(1) == 1 {
				return &script{steps: []step{calls(call("1", "Slow", `{}`))}}
			}
			return &script{steps: []step{calls(call("1", "Echo", `{}`))}}
		}
		bg := &gated{may: make(chan struct{})}
		o := agent.Options{Middleware: []agent.Middleware{gate}, Tools: []tool.Tool{echo(), slow, spawner(kid, nil), background(bg, nil)}}
		if handedOver {
			o.Detach = func(*agent.Stream) { t.Error("a child was handed over") }
		}
		m := &script{steps: []step{calls(call("1", "Start", `{}`), call("2", "Agent", `{}`), call("3", "Agent", `{}`), call("4", "Echo", `{}`))}}
		a, err := agent.New(m, o)
		if err != nil {
			t.Fatal(err)
		}
		s := open(t)
		st := a.Stream(t.Context(), s, llm.Text{Text: "go"})
		ended := map[string]string{}
		for e, err := range st.Events() {
			if err != nil {
				t.Fatal(err)
			}
			if d, ok := e.Data.(agent.RunEnded); ok {
				ended[e.Path] = string(d.Result.Stop) + ": " + d.Result.Reason
			}
		}
		const want = "interrupted: that is enough"
		if res := st.Result(); res.Stop != agent.StopInterrupted || len(ended) != 4 || len(s.Dangling()) != 0 {
			t.Errorf("%+v, %q", res, ended)
		}
		for path, how := range ended {
			if how != want {
				t.Errorf("%q ended as %q", path, how)
			}
		}
	}
}

// TestAnInterruptAfterTheRunEndsTheChildAlone: what was handed over is a run of
// its own.
func TestAnInterruptAfterTheRunEndsTheChildAlone(t *testing.T) {
	child := &gated{script: script{steps: []step{calls(call("1", "Echo", `{}`))}}, may: make(chan struct{})}
	gate := gating(func(_ context.Context, tn *agent.Turn, _ *tool.Call) (*tool.Result, error) {
		if tn.Path != "" {
			return nil, agent.Interrupt("no more")
		}
		return nil, nil
	})
	start := tool.New(tool.Spec{Name: "Start", Access: tool.NoAccess}, func(ctx context.Context, _ struct{}) (string, error) {
		tn := agent.FromContext(ctx)
		a, err := agent.New(child, tn.Options())
		if err != nil {
			return "", err
		}
		s, err := session.Open(ctx, tn.Session.Store(), "child", session.OpenOptions{Create: true})
		if err != nil {
			return "", err
		}
		_, err = tn.Start(ctx, "bg", a, s, llm.Text{Text: "go"})
		return "", err
	})
	var handed []*agent.Stream
	o := agent.Options{Tools: []tool.Tool{echo(), start}, Middleware: []agent.Middleware{gate}, Detach: func(st *agent.Stream) { handed = append(handed, st) }}
	m := &script{steps: []step{calls(call("1", "Start", `{}`)), say("done")}}
	res, err := run(t, m, o, open(t), "go")
	if err != nil || res.Stop != agent.StopFinished || len(handed) != 1 {
		t.Fatalf("%+v, %v, %d handed over", res, err, len(handed))
	}
	close(child.may)
	for _, err := range handed[0].Events() {
		if err != nil {
			t.Fatal(err)
		}
	}
	if got := handed[0].Result(); got.Stop != agent.StopInterrupted || got.Reason != "no more" || res.Stop != agent.StopFinished {
		t.Errorf("%+v", got)
	}
}
