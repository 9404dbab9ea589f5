// Package reviewer lets a model answer approval questions in the user's place,
// where the user has chosen so.
//
//	gate, err := permission.New(permission.Options{Roots: []string{dir}})
//	if err != nil {
//		return err
//	}
//	a, err := agent.New(m, agent.Options{Middleware: []agent.Middleware{
//		gate.Middleware(),
//		reviewer.New(small, reviewer.Options{Roots: []string{dir}}),
//	}})
//
// The reviewer can only answer what the permissions would ask about, and only
// for the one call: it lifts no rule, grants none and changes no argument. What
// a rule asks about, sensitive paths and whatever else only a person may answer
// never come to it. Of the rest it sees what its floor lets through: calls that
// the analysis knows to stay in the workspace and within a list of programs, or
// to be confined without the network. All else goes to the user, whatever
// a model might say of it; see [Options.Rules].
//
// What a project's own build and tests do is not seen by the floor: who lets
// a reviewer answer for them trusts the project, or confines commands. To read
// outside of the workspace what is not sensitive is left to the model.
//
// The model sees the user's own words, the call and the names and targets of
// some calls before it. It sees no output of tools. What the agent wrote is in
// a block whose ends cannot be forged. Everything that is not one clear verdict
// counts as none, and the user is asked; so it is if the model fails, is slow,
// or the budget does not allow for it.
package reviewer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/cantle-dev/cantle/agent"
	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/permission"
	"github.com/cantle-dev/cantle/tool"
)

// Options configure a reviewer.
type Options struct {
	// Instructions are the user's own policy, for the model to go by. They
	// cannot widen what the floor lets through.
	Instructions string
	// Timeout bounds one review; the user is asked after it. Default 30 seconds,
	// and at most half of the time that the question itself may take.
	Timeout time.Duration
	// MaxBytes bounds what the model is shown, apart from the instructions: half
	// of it is for the call, which is not reviewed if it is longer. Default
	// 32 KiB, and less for a model with a small window.
	MaxBytes int
	// Roots are the workspace, as in [permission.Options]. With none, nothing
	// that writes is reviewed.
	Roots []string
	Home  string // as in [permission.Options]
	// Rules change the floor. Allow adds calls that may be reviewed: programs as
	// Bash(…), hosts as WebFetch(domain:…), tools that do not say what they touch
	// by name. Deny and Ask take away. No rule adds what is [Never] reviewed.
	Rules permission.Rules
	FS    permission.FS // nil is the local one
}

// The defaults of [Options].
const (
	DefaultTimeout  = 30 * time.Second
	DefaultMaxBytes = 32 << 10
)

// EventKind is the kind of the [agent.Custom] events by which a reviewer tells
// of each question that it looked at: their data is a [Review].
const EventKind = "reviewer"

// Review is what became of a question. Who decided in the end, and why, is in
// the call's [agent.Decision] too, and so in the journal.
type Review struct {
	Question string `json:"question"`
	Call     string `json:"call"`
	// Verdict is Ask where the question went on to the user.
	Verdict permission.Effect `json:"verdict"`
	Reason  string            `json:"reason"`
	// Asked says that the model was asked: not where the floor kept the question
	// from it, or where it had denied the same call before.
	Asked bool `json:"asked"`
}

// maxDenials is how many denials in a row are the reviewer's: then the user is
// asked, for one of the two models does not understand the task.
const maxDenials = 3

// New makes the middleware. A nil m is the run's own model. Options that cannot
// be used are an error of each run's start.
func New(m llm.Model, o Options) agent.Middleware {
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = DefaultMaxBytes
	}
	r := &reviewer{model: m, o: o, memory: memory{runs: map[string]*past{}}}
	var err error
	if r.floor, err = newFloor(o); err == nil && len(o.Instructions) > o.MaxBytes {
		err = fmt.Errorf("reviewer: the instructions have %d bytes: shorten them to %d", len(o.Instructions), o.MaxBytes)
	}
	return agent.Middleware{
		Name: "reviewer", Priority: 900, // after whatever else may answer, and before the user
		Start: func(context.Context, *agent.Turn, *agent.Setup) error { return err },
		Tool: func(next agent.ToolFunc) agent.ToolFunc {
			return func(ctx context.Context, t *agent.Turn, c *tool.Call) (*tool.Result, error) {
				return next(context.WithValue(ctx, rootKey{}, rootOf(ctx, t)), t, c)
			}
		},
		Ask: func(next agent.AskFunc) agent.AskFunc {
			return func(ctx context.Context, t *agent.Turn, q *agent.Question) (*agent.Answer, error) {
				if err != nil {
					return next(ctx, t, q)
				}
				return r.ask(ctx, t, q, next)
			}
		},
		Event: func(ctx context.Context, t *agent.Turn, e agent.EventData) {
			if _, ok := e.(agent.RunEnded); ok && rootOf(ctx, t).RunID == t.RunID {
				r.forget(t.RunID)
			}
		},
	}
}

type reviewer struct {
	model llm.Model
	o     Options
	floor *floor
	memory
}

type rootKey struct{}

// rootOf is the run of the agent itself, whose input the user wrote: a child's
// is its parent's.
func rootOf(ctx context.Context, t *agent.Turn) *agent.Turn {
	if r, ok := ctx.Value(rootKey{}).(*agent.Turn); ok {
		return r
	}
	return t
}

// ask answers a question, or hands it on.
func (r *reviewer) ask(ctx context.Context, t *agent.Turn, q *agent.Question, next agent.AskFunc) (*agent.Answer, error) {
	var asked permission.Verdict
	if q.Kind != "approve" || q.Call == nil || json.Unmarshal(q.Data, &asked) != nil || asked.Reason == "" || asked.Firm || asked.Rule != nil {
		return next(ctx, t, q)
	}
	root := rootOf(ctx, t)
	past := r.of(root.RunID)
	key := keyOf(q.Call)
	rev := r.review(ctx, t, root, q, asked, past, key)
	rev.Question, rev.Call = q.ID, q.Call.ID
	if data, err := json.Marshal(rev); err == nil {
		t.Emit(agent.Custom{Kind: EventKind, Data: data})
	}
	switch rev.Verdict {
	case permission.Allow:
		past.allowed()
		return &agent.Answer{OK: true, Reason: "allowed by the reviewer: " + rev.Reason, By: agent.ByReviewer}, nil
	case permission.Deny:
		past.deniedCall(key, rev.Reason)
		return &agent.Answer{Reason: "the reviewer said no: " + rev.Reason, By: agent.ByReviewer}, nil
	}
	a, err := next(ctx, t, q)
	if err == nil && a != nil {
		past.answered(key, q.Call, a)
	}
	return a, err
}

// review decides on a question.
func (r *reviewer) review(ctx context.Context, t, root *agent.Turn, q *agent.Question, asked permission.Verdict, past *past, key string) Review {
	user := func(format string, args ...any) Review {
		return Review{Verdict: permission.Ask, Reason: fmt.Sprintf(format, args...)}
	}
	if why, no := past.deniedBefore(key); no {
		if past.tired() {
			return user("the reviewer said no %d times in a row", maxDenials)
		}
		return Review{Verdict: permission.Deny, Reason: why}
	}
	switch {
	case past.tired():
		return user("the reviewer said no %d times in a row", maxDenials)
	case past.refused(key):
		return user("the user said no to the same call")
	}
	words, err := wordsOf(ctx, root.Session)
	switch {
	case root.Path != "":
		return user("what the user asked for is not known")
	case err != nil:
		return user("what the user asked for cannot be read: %v", err)
	case len(words) == 0:
		return user("the user has not said what is to be done")
	}
	if why := r.floor.why(t, q.Call, asked, words); why != "" {
		return user("%s", why)
	}
	model := r.model
	if model == nil {
		model = t.Model()
	}
	req, err := r.request(ctx, t, model.Info(), q.Call, asked, words, past)
	if err != nil {
		return user("%v", err)
	}
	resp, err := r.generate(ctx, t, model, req)
	if err != nil {
		rev := user("the reviewer gave no answer: %v", err)
		rev.Asked = true
		if ctx.Err() == nil {
			t.Emit(agent.Warning{Text: rev.Reason + ": you are asked instead"})
		}
		return rev
	}
	effect, reason := verdict(resp, req)
	return Review{Verdict: effect, Reason: reason, Asked: true}
}

var errSlow = errors.New("it took too long")

// generate asks the model, for as long as it may take. One that does not return
// when its context ends is left behind.
func (r *reviewer) generate(ctx context.Context, t *agent.Turn, m llm.Model, req *llm.Request) (*llm.Response, error) {
	limit := r.o.Timeout
	if end, ok := ctx.Deadline(); ok {
		limit = min(limit, time.Until(end)/2) // the rest is the user's
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("%w: %v", errSlow, limit.Round(time.Millisecond)))
	defer cancel()
	type answer struct {
		resp *llm.Response
		err  error
	}
	call := func() (out answer) {
		out.err = errors.New("it broke down") // unless it returns
		defer func() {
			if p := recover(); p != nil {
				out = answer{err: fmt.Errorf("it broke down: %v\n%s", p, debug.Stack())}
			}
		}()
		resp, err := t.Generate(ctx, "reviewer", m, req)
		return answer{resp, err}
	}
	var out answer
	if t.Options().Parallel != nil { // a durable engine, which takes no goroutines
		out = call()
	} else {
		got := make(chan answer, 1)
		go func() {
			sent := answer{err: errors.New("it broke down")}
			defer func() { got <- sent }() // also by runtime.Goexit
			sent = call()
		}()
		select {
		case out = <-got:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	if out.err != nil && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return out.resp, out.err
}
