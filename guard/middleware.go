package guard

import (
	"context"
	"errors"
	"sync"

	"github.com/cantle-dev/cantle/agent"
	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/tool"
)

// priority is further out than any other: what others add to a result is seen.
const priority = -1000

// Middleware takes keys out of the results of tools with all that they have,
// of what they show while they run, of errors, of denials, of what a question
// shows, and of the reason of an answer. The input of a call stays as it is: it
// is what the model wrote, and what is decided on. But a call is refused that
// would write "[key of …]" to a file which has that key: the key would be lost.
func (r *Redactor) Middleware() agent.Middleware {
	return agent.Middleware{
		Name: "guard", Priority: priority,
		Tool: func(next agent.ToolFunc) agent.ToolFunc {
			return func(ctx context.Context, t *agent.Turn, c *tool.Call) (*tool.Result, error) {
				own := *c
				if c.Progress != nil {
					p := &progress{s: stream{r: r}, show: c.Progress}
					own.Progress = p.part
					defer p.end()
				}
				res, err := next(ctx, t, &own)
				return r.Result(res), r.Error(err)
			}
		},
		Gate: func(next agent.GateFunc) agent.GateFunc {
			return func(ctx context.Context, t *agent.Turn, c *tool.Call) (*tool.Result, error) {
				res, err := next(ctx, t, c)
				if res == nil && err == nil {
					return r.keep(ctx, t, c), nil
				}
				return r.Result(res), r.Error(err)
			}
		},
		Question: func(_ context.Context, _ *agent.Turn, q *agent.Question) { r.question(q) },
		Ask: func(next agent.AskFunc) agent.AskFunc {
			return func(ctx context.Context, t *agent.Turn, q *agent.Question) (*agent.Answer, error) {
				a, err := next(ctx, t, q)
				if a != nil {
					if reason := r.Text(a.Reason); reason != a.Reason {
						own := *a
						own.Reason = reason
						a = &own
					}
				}
				return a, r.Error(err)
			}
		},
	}
}

// Result is res without keys. It is not changed: a tool may keep it.
func (r *Redactor) Result(res *tool.Result) *tool.Result {
	p := r.now()
	if res == nil || p.idle() {
		return res
	}
	own := *res
	own.Parts, own.Pin, own.Detail = p.parts(res.Parts), p.text(res.Pin), p.json(res.Detail)
	return &own
}

// question takes keys out of what q shows beside the call itself.
func (r *Redactor) question(q *agent.Question) {
	p := r.now()
	if p.idle() {
		return
	}
	q.Data = p.json(q.Data)
	if q.Call == nil || q.Call.Preview == nil {
		return
	}
	call, pre := *q.Call, *q.Call.Preview
	pre.Title, pre.Diff, pre.Text = p.text(pre.Title), p.text(pre.Diff), p.text(pre.Text)
	call.Preview, q.Call = &pre, &call
}

// Error is err without keys in its text. It is still the error that it was to
// [errors.Is] and [errors.As]; there is no way to it but for what those find.
func (r *Redactor) Error(err error) error {
	if err == nil {
		return nil
	}
	said := err.Error()
	if text := r.Text(said); text != said {
		return &redacted{text, err}
	}
	return err
}

type redacted struct {
	text string
	err  error
}

// Error is [error].Error.
func (e *redacted) Error() string { return e.text }

// Is and As take the place of Unwrap, whose error would tell the key.
func (e *redacted) Is(target error) bool { return errors.Is(e.err, target) }

// As is that of [errors.As].
func (e *redacted) As(target any) bool { return errors.As(e.err, target) }

// progress is what a running call shows.
type progress struct {
	mu   sync.Mutex // held while showing, so that pieces stay in order
	s    stream
	show func(llm.Part)
}

func (p *progress) part(part llm.Part) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t, ok := part.(llm.Text)
	if !ok || len(t.Raw) > 0 {
		p.show(p.s.r.Parts(llm.Parts{part})[0])
		return
	}
	p.text(p.s.next(t.Text, false))
}

func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.text(p.s.next("", true))
}

func (p *progress) text(s string) {
	if s != "" {
		p.show(llm.Text{Text: s})
	}
}
