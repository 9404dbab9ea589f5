package agent_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cantle-dev/cantle/agent"
	"github.com/cantle-dev/cantle/session"
	"github.com/cantle-dev/cantle/tool"
)

// TestQuestionIsChanged: what a Question function makes of a question is what is
// shown, put and recorded, and an answer to that is one.
func TestQuestionIsChanged(t *testing.T) {
	var log []string
	var put []string
	var asked *agent.Question
	answered := false
	o := agent.Options{
		Tools: []tool.Tool{logged(&log, "Do", false)},
		Middleware: []agent.Middleware{
			gating(func(ctx context.Context, tn *agent.Turn, c *tool.Call) (*tool.Result, error) {
				asked = &agent.Question{Kind: "approve", Data: json.RawMessage(`"secret"`), Call: &agent.QuestionCall{ID: c.ID, Name: c.Name, Input: c.Input}}
				a, err := tn.Ask(ctx, asked)
				if err != nil {
					return nil, err
				}
				answered = a.OK
				return nil, nil
			}),
			{Name: "a", Question: func(_ context.Context, _ *agent.Turn, q *agent.Question) { q.Data = json.RawMessage(`"[hidden]"`) }},
			{Name: "b", Question: func(_ context.Context, _ *agent.Turn, q *agent.Question) { put = append(put, "b "+string(q.Data)) }},
		},
		Ask: func(_ context.Context, _ *agent.Turn, q *agent.Question) (*agent.Answer, error) {
			put = append(put, "ask "+string(q.Data))
			return nil, agent.ErrPending
		},
	}
	s := open(t)
	m := &script{steps: []step{calls(call("1", "Do", `{"text":"1"}`)), say("done")}}
	res, err := run(t, m, o, s, "go")
	if err != nil || res.Stop != agent.StopPending || len(res.Questions) != 1 || string(res.Questions[0].Data) != `"[hidden]"` {
		t.Fatalf("%+v, %v", res, err)
	}
	if !slices.Equal(put, []string{`b "[hidden]"`, `ask "[hidden]"`}) || string(asked.Data) != `"secret"` {
		t.Errorf("%q, %s", put, asked.Data)
	}
	for e, err := range s.Path(t.Context(), "pending") {
		if err != nil {
			t.Fatal(err)
		}
		if p := string(e.Data.(session.Pending).Question); !strings.Contains(p, "[hidden]") || strings.Contains(p, "secret") {
			t.Error(p)
		}
	}
	if err := s.Answer(t.Context(), "an-answer", time.Now(), "1", json.RawMessage(`{"ok":true}`)); err != nil {
		t.Fatal(err)
	}
	if res, err := run(t, m, o, s, ""); err != nil || !answered || !slices.Equal(log, []string{"ran 1"}) {
		t.Errorf("%+v, %v: %q", res, err, log)
	}
}
