package agent_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/agent"
	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/llmtest"
	"github.com/cantle-dev/cantle/session"
	"github.com/cantle-dev/cantle/tool"
)

// reader is a tool whose results are long.
func reader(bytes int) tool.Tool {
	return tool.New(tool.Spec{Name: "Read", ReadOnly: true, Parallel: true, Access: tool.NoAccess},
		func(_ context.Context, in textIn) (string, error) {
			return in.Text + ": " + strings.Repeat("x", bytes), nil
		})
}

// compactions are the changes of the view that s has.
func compactions(t *testing.T, s *session.Session) (cs []session.Compaction) {
	t.Helper()
	for e, err := range s.Path(t.Context(), "compaction") {
		if err != nil {
			t.Fatal(err)
		}
		cs = append(cs, e.Data.(session.Compaction))
	}
	return cs
}

// watch runs a on s and returns the events of the kind T.
func watch[T agent.EventData](t *testing.T, a *agent.Agent, s *session.Session, in ...llm.Part) (seen []T, res *agent.Result, err error) {
	t.Helper()
	st := a.Stream(t.Context(), s, in...)
	for ev, e := range st.Events() {
		if e != nil {
			err = e
			break
		}
		if d, ok := ev.Data.(T); ok {
			seen = append(seen, d)
		}
	}
	return seen, st.Result(), err
}

func newAgent(t *testing.T, m llm.Model, o agent.Options) *agent.Agent {
	t.Helper()
	a, err := agent.New(m, o)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestTooLargeARequestIsSentAgainWithLess: on each wire a body over the limit is
// refused; what is largest gets a stub, the run goes on, the journal has all,
// and the view stays as it is in the next run.
func TestTooLargeARequestIsSentAgainWithLess(t *testing.T) {
	for name, refusal := range map[string]llmtest.Reply{
		"413": llmtest.Status(413, nil),
		"400": llmtest.Fail(&llm.Error{Kind: llm.KindInvalidRequest, Status: 400, Message: "the total message size 40000 exceeds the limit"}),
		"window": llmtest.Fail(&llm.Error{
			Kind: llm.KindContextOverflow, Status: 400, Message: "prompt is too long: 20000 tokens > 10000 maximum",
		}),
	} {
		play := func(*testing.T) llmtest.Player {
			return func(e *llmtest.Exchange) llmtest.Reply {
				done := 0
				for _, m := range e.Request.Messages {
					done += len(m.Parts.Calls())
				}
				switch {
				case len(e.Body) > 40_000:
					return refusal
				case done < 5:
					return llmtest.Call("Read", textIn{fmt.Sprint("file ", done)})
				}
				return llmtest.Say("done")
			}
		}
		t.Run(name, func(t *testing.T) {
			onServers(t, play, func(t *testing.T, srv *llmtest.Server, m llm.Model) {
				s := open(t)
				a := newAgent(t, m, agent.Options{Tools: []tool.Tool{reader(10_000)}})
				seen, res, err := watch[agent.Compacted](t, a, s, llm.Text{Text: "read them"})
				if err != nil || res.Text != "done" || res.Turns != 6 {
					t.Fatalf("%+v, %v", res, err)
				}
				if len(seen) != 1 || seen[0].Cleared != 2 || seen[0].After >= seen[0].Before || !strings.Contains(seen[0].Reason, "result of Read (10") {
					t.Errorf("%+v", seen)
				}
				cs := compactions(t, s)
				if len(cs) != 2 || !strings.Contains(cs[0].Reason, "too large") || !strings.Contains(cs[0].Stub, "result of Read") {
					t.Errorf("%+v", cs)
				}
				// Each request extends the last, but where the compaction is.
				if breaks := llmtest.CacheOf(srv.Requests()).Breaks; len(breaks) != 1 {
					t.Errorf("%d breaks: %v", len(breaks), breaks)
				}
				before := srv.Requests()
				if _, res, err = watch[agent.Compacted](t, a, s, llm.Text{Text: "and?"}); err != nil || res.Text != "done" {
					t.Fatalf("%+v, %v", res, err)
				}
				after := srv.Requests()
				if err := after[len(after)-1].Extends(before[len(before)-1]); err != nil || len(after) != len(before)+1 {
					t.Error(err)
				}
				whole := 0
				for e, err := range s.Path(t.Context(), "message") {
					if err != nil {
						t.Fatal(err)
					}
					for _, p := range e.Data.(session.Message).Parts {
						if r, ok := p.(llm.ToolResult); ok && len(r.Parts.Text()) > 10_000 {
							whole++
						}
					}
				}
				if whole != 5 {
					t.Errorf("%d of the 5 results are whole in the journal", whole)
				}
			})
		})
	}
}

// TestNothingLeftToTakeOut: the run ends as an overflow that says what is too
// large for what and what to do, and the session goes on with what fits.
func TestNothingLeftToTakeOut(t *testing.T) {
	over := step{err: &llm.Error{Kind: llm.KindContextOverflow, Status: 400, Message: "too long"}}
	m := &script{info: llm.Info{Provider: "p", Name: "small", Context: 4000}, steps: []step{over, say("hello")}}
	s := open(t)
	res, err := run(t, m, agent.Options{System: strings.Repeat("rules ", 3000)}, s, "hi")
	if res.Stop != agent.StopOverflow || !llm.IsKind(err, llm.KindContextOverflow) {
		t.Fatalf("%+v, %v", res, err)
	}
	for _, w := range []string{"too long", "p:small is 4000", "of them the system prompt", "new session", "earlier point", "larger window"} {
		if !strings.Contains(res.Reason, w) {
			t.Errorf("%q does not say %q", res.Reason, w)
		}
	}
	if res, err = run(t, m, agent.Options{}, s, "hi again"); err != nil || res.Text != "hello" {
		t.Errorf("%+v, %v", res, err)
	}
}

// TestStillTooLarge: it is asked once more, not on and on, and what was taken
// out stays out.
func TestStillTooLarge(t *testing.T) {
	over := step{err: &llm.Error{Kind: llm.KindTooLarge, Status: 413, Message: "too large"}}
	m := &script{steps: []step{calls(call("a", "Read", `{}`)), over, over, say("ok")}}
	s, o := open(t), agent.Options{Tools: []tool.Tool{reader(5000)}}
	res, err := run(t, m, o, s, "go")
	if res.Stop != agent.StopOverflow || err == nil || len(m.reqs) != 3 || !strings.Contains(res.Reason, "is unknown") {
		t.Fatalf("%d requests, %+v, %v", len(m.reqs), res, err)
	}
	if res, err = run(t, m, o, s, "go on"); err != nil || res.Text != "ok" || strings.Contains(strings.Join(results(m.reqs[3]), ""), "xxx") {
		t.Errorf("%+v, %v", res, err)
	}
}

// TestWhatIsPinnedGoesLast: a pinned result stays while there are others.
func TestWhatIsPinnedGoesLast(t *testing.T) {
	skill := tool.New(tool.Spec{Name: "Skill", ReadOnly: true, Access: tool.NoAccess}, func(context.Context, struct{}) (*tool.Result, error) {
		r := tool.Text("skill " + strings.Repeat("s", 9000))
		r.Pin = "skill:review"
		return r, nil
	})
	over := step{err: &llm.Error{Kind: llm.KindTooLarge, Message: "too large"}}
	m := &script{steps: []step{calls(call("a", "Skill", `{}`), call("b", "Read", `{}`)), over, calls(call("c", "Echo", `{}`)), over, say("ok")}}
	s := open(t)
	res, err := run(t, m, agent.Options{Tools: []tool.Tool{skill, reader(2000), echo()}}, s, "go")
	if err != nil || res.Text != "ok" {
		t.Fatalf("%+v, %v", res, err)
	}
	for i, want := range []string{2: "skill sss", 4: "[result of Skill"} {
		if want == "" {
			continue
		}
		if got := results(llm.Request{Messages: m.reqs[i].Messages[:3]}); len(got) != 2 || !strings.Contains(got[0], want) || !strings.Contains(got[1], "[result of Read") {
			t.Errorf("request %d has %.60q", i, got)
		}
	}
}

// TestAModelThatReadsItAgain does not go on for ever, and is not refused the call
// whose result was taken out.
func TestAModelThatReadsItAgain(t *testing.T) {
	m := &refusing{limit: 6000, answer: func(i int) step { return calls(call(fmt.Sprint("c", i), "Read", `{}`)) }}
	res, err := run(t, m, agent.Options{Tools: []tool.Tool{reader(9000)}}, open(t), "go")
	if res.Stop != agent.StopOverflow || err == nil || res.Calls != 4 {
		t.Errorf("%+v, %v", res, err)
	}
}

// refusing is a model that takes no request over the limit, in tokens.
type refusing struct {
	limit, answers int
	answer         func(i int) step
}

func (m *refusing) Info() llm.Info { return llm.Info{Provider: "test", Name: "refusing"} }

func (m *refusing) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	s := script{steps: []step{{err: &llm.Error{Kind: llm.KindTooLarge, Message: "too large"}}}}
	if llm.Estimate(req)*36/10 <= m.limit {
		s.steps[0] = m.answer(m.answers)
		m.answers++
	}
	return s.Stream(ctx, req)
}

// TestAfterADeltaNothingIsAskedAgain, whatever the delta is of.
func TestAfterADeltaNothingIsAskedAgain(t *testing.T) {
	for name, shown := range map[string]llmtest.Reply{
		"text": llmtest.Say("half"), "thinking": llmtest.Think("hm"), "a call": llmtest.Call("Read", nil),
	} {
		m := llmtest.New(t, llmtest.Call("Read", nil), shown.Fail(&llm.Error{Kind: llm.KindTooLarge, Message: "no"}))
		s := open(t)
		res, err := run(t, m, agent.Options{Tools: []tool.Tool{reader(5000)}}, s, "go")
		if err == nil || res.Stop != agent.StopOverflow || len(compactions(t, s)) > 0 {
			t.Errorf("%s: %+v, %v", name, res, err)
		}
	}
}

// TestARejectedImageIsTakenOut: on each wire the image that is new goes and the
// one that was taken before stays; the model is told by the stub.
func TestARejectedImageIsTakenOut(t *testing.T) {
	bad := []byte("\x89PNG bad")
	good := llm.Blob{MIME: "image/png", Data: []byte("\x89PNG good")}
	play := func(*testing.T) llmtest.Player {
		return func(e *llmtest.Exchange) llmtest.Reply {
			for _, m := range e.Request.Messages {
				for _, p := range m.Parts {
					if b, ok := p.(llm.Blob); ok && bytes.Equal(b.Data, bad) {
						return llmtest.Fail(&llm.Error{Kind: llm.KindInvalidRequest, Status: 400, Message: "Could not process image"})
					}
				}
			}
			return llmtest.Say("fine")
		}
	}
	onServers(t, play, func(t *testing.T, srv *llmtest.Server, m llm.Model) {
		s := open(t)
		a := newAgent(t, m, agent.Options{})
		if _, err := a.Run(t.Context(), s, llm.Text{Text: "see"}, good); err != nil {
			t.Fatal(err)
		}
		seen, res, err := watch[agent.Compacted](t, a, s, llm.Text{Text: "and this"}, llm.Blob{MIME: "image/png", Data: bad})
		if m.Info().Wire == llmtest.WireCohere && err == nil && len(seen) == 0 {
			return // its messages have room for none
		}
		if err != nil || res.Text != "fine" || len(seen) != 1 || !strings.Contains(seen[0].Reason, "image/png (8 bytes)") {
			t.Fatalf("%+v, %+v, %v", seen, res, err)
		}
		last := srv.Requests()[len(srv.Requests())-1].Request
		blobs, text := 0, ""
		for _, m := range last.Messages {
			text += m.Text()
			for _, p := range m.Parts {
				if _, ok := p.(llm.Blob); ok {
					blobs++
				}
			}
		}
		if blobs != 1 || !strings.Contains(text, "[image/png, 8 bytes: taken out") {
			t.Errorf("%d images, %s", blobs, text)
		}
	})
}

// TestAnOldImageIsRejected: by a model that the conversation was taken over to.
// Then all go; and where none is left, the error says so.
func TestAnOldImageIsRejected(t *testing.T) {
	no := step{err: &llm.Error{Kind: llm.KindInvalidRequest, Rejected: llm.RejectedMedia, Message: "no images"}}
	m := &script{steps: []step{say("seen"), no, no, say("well"), no}}
	s := open(t)
	a := newAgent(t, m, agent.Options{})
	image := llm.Blob{MIME: "image/png", Data: []byte("1")}
	for _, in := range []llm.Parts{{image}, {llm.Text{Text: "and"}, image}} {
		if _, err := a.Run(t.Context(), s, in...); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(compactions(t, s)); n != 2 || len(m.reqs) != 4 {
		t.Errorf("%d cleared in %d requests", n, len(m.reqs))
	}
	res, err := run(t, m, agent.Options{}, s, "hm")
	if err == nil || res.Stop != agent.StopError || strings.Contains(res.Reason, "images and documents") {
		t.Errorf("where there is none: %+v, %v", res, err)
	}
	m.steps = []step{no, no}
	if res, err = run(t, m, agent.Options{}, s, "and this?"); err == nil || len(m.steps) != 1 {
		t.Errorf("%+v, %v", res, err)
	}
	m.steps = []step{no, no}
	if res, err = a.Run(t.Context(), s, image); err == nil || len(m.steps) != 0 || !strings.Contains(res.Reason, "also without the images and documents") {
		t.Errorf("%+v, %v", res, err)
	}
}

// TestAModelFunctionMakesASummary between what was taken out and the request
// that is sent again: the loop has nothing left to do.
func TestAModelFunctionMakesASummary(t *testing.T) {
	over := step{err: &llm.Error{Kind: llm.KindContextOverflow, Message: "too long"}}
	m := &script{steps: []step{calls(call("a", "Read", `{}`)), over, say("they read it"), say("done")}}
	compact := agent.Middleware{Name: "compact", Model: func(next agent.ModelFunc) agent.ModelFunc {
		return func(ctx context.Context, tn *agent.Turn, req *llm.Request) iter.Seq2[llm.Event, error] {
			return func(yield func(llm.Event, error) bool) {
				for ev, err := range next(ctx, tn, req) {
					if err == nil {
						if !yield(ev, nil) {
							return
						}
						continue
					}
					n, e := tn.Shrink(ctx, err)
					if e != nil || n != 1 {
						t.Errorf("%d, %v", n, e)
					}
					sum, e := tn.Generate(ctx, "compaction", nil, tn.Request())
					if e == nil {
						e = tn.Append(ctx, session.Compaction{Summary: sum.Message.Text()})
					}
					if e != nil {
						yield(nil, errors.Join(err, e))
						return
					}
					next(ctx, tn, tn.Request())(yield)
					return
				}
			}
		}
	}}
	s := open(t)
	res, err := run(t, m, agent.Options{Tools: []tool.Tool{reader(5000)}, Middleware: []agent.Middleware{compact}}, s, "go")
	if err != nil || res.Text != "done" || len(m.reqs) != 4 || len(compactions(t, s)) != 2 {
		t.Fatalf("%+v, %v", res, err)
	}
	if ms := m.reqs[3].Messages; len(ms) != 1 || ms[0].Text() != "they read it" {
		t.Errorf("%+v", ms)
	}
	if got := strings.Join(results(m.reqs[2]), ""); !strings.Contains(got, "taken out") {
		t.Errorf("the summary was asked for with %s", got)
	}
}

// TestABrokenOffAnswerIsAskedOnceMore, as Gemini's for a call that it got wrong,
// and no more often.
func TestABrokenOffAnswerIsAskedOnceMore(t *testing.T) {
	bad := llmtest.Parts().Stop(llm.StopError)
	m := llmtest.New(t, bad, llmtest.Say("well").Want(llmtest.LastText("broken off by an error")), bad, bad)
	s := open(t)
	a := newAgent(t, m, agent.Options{})
	seen, res, err := watch[agent.Warning](t, a, s, llm.Text{Text: "go"})
	if err != nil || res.Text != "well" || len(seen) != 1 || !strings.Contains(seen[0].Text, "asked once more: error") {
		t.Fatalf("%+v, %+v, %v", seen, res, err)
	}
	if res, err = a.Run(t.Context(), s, llm.Text{Text: "again"}); err == nil || res.Stop != agent.StopError || !strings.Contains(res.Reason, "2 times in a row: error") {
		t.Errorf("%+v, %v", res, err)
	}
}
