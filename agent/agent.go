// Package agent runs the loop: ask the model, run the tools that it calls,
// repeat, until it answers.
//
//	m := anthropic.New("claude-opus-4-8", anthropic.Options{APIKey: key})
//	a, err := agent.New(m, agent.Options{System: "Be brief.", Tools: []tool.Tool{weather}})
//	if err != nil {
//		return err
//	}
//	s, err := session.Open(ctx, new(session.Memory), "s1", session.OpenOptions{Create: true})
//	if err != nil {
//		return err
//	}
//	res, err := a.Run(ctx, s, llm.Text{Text: "Do I need an umbrella in Oslo?"})
//	fmt.Println(res.Text)
//
// The loop runs in the goroutine that ranges over its events. It starts others
// only for tools, gates and questions; it reads no clock but [Options.Now],
// makes no ids but by [Options.NewID], and keeps no history but the session's.
package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/session"
	"github.com/cantle-dev/cantle/tool"
)

// Options configure an agent. The zero value of each field is a usable
// default.
type Options struct {
	System     string
	Tools      []tool.Tool
	Sets       []tool.Set // asked for their tools at the start of each run
	Middleware []Middleware
	Budget     Budget
	Ask        AskFunc // puts questions to the user; nil answers no

	// Dir is the working directory that calls get; made absolute by the caller.
	Dir string

	Effort      llm.Effort
	MaxTokens   int // of one response; 0 is the model's cap
	Temperature *float64
	Extra       map[string]json.RawMessage // see [llm.Request.Extra]

	// Schema asks for an answer that is JSON of this schema: natively where
	// the model can and there are no tools, and else by a tool named
	// [AnswerTool]. Check, if set, may refuse a value that fits the schema; the
	// model is told why and asked again. See [RunAs].
	Schema *llm.Schema
	Check  func(value json.RawMessage) error

	// RequireFinish makes only a tool's [tool.Complete] a good end: an answer
	// in text is asked again, 3 times at most.
	RequireFinish bool

	// Parallelism bounds how many calls of a turn run at once; default 8.
	Parallelism int

	// Detach takes the children that outlive the run: see [Turn.Start]. It is
	// called on the loop's goroutine, before the run's last event, once for
	// each; what can be read from the stream is said at [Stream.Events]. A run
	// that is cancelled hands nothing over: its children are cancelled with it.
	// Without Detach a run ends when its children have ended.
	Detach func(*Stream)

	// Seams, for tests and durable execution.
	Now   func() time.Time // default time.Now
	NewID func() string    // default: unique, and in the order of time
	// Parallel runs do(0) to do(n-1) and returns when all have returned. If it
	// is nil they run in goroutines, and progress is live; if it is set, the
	// loop starts no goroutine, and progress is held until it returns.
	Parallel func(n int, do func(i int))
}

// DefaultParallelism bounds the calls of a turn that run at once.
const DefaultParallelism = 8

// Agent is a model with tools and rules. It keeps no state between runs and
// is safe for concurrent use: several sessions may run on it at once.
type Agent struct {
	model llm.Model
	opts  Options
}

// New makes an agent. It fails when there is no model or when two tools have
// one name.
func New(m llm.Model, opts Options) (*Agent, error) {
	if m == nil {
		return nil, errors.New("agent: no model")
	}
	if _, _, err := index(opts.Tools); err != nil {
		return nil, err
	}
	if opts.Schema != nil && !json.Valid(opts.Schema.JSON) {
		return nil, errors.New("agent: the answer's schema is not JSON")
	}
	opts.Tools, opts.Sets = slices.Clone(opts.Tools), slices.Clone(opts.Sets)
	opts.Middleware = ordered(opts.Middleware)
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.NewID == nil {
		opts.NewID = newID
	}
	if opts.Parallelism <= 0 {
		opts.Parallelism = DefaultParallelism
	}
	return &Agent{model: m, opts: opts}, nil
}

// Model returns the agent's model.
func (a *Agent) Model() llm.Model { return a.model }

// Options returns the agent's options with their defaults filled in.
func (a *Agent) Options() Options { return a.opts }

// known is a tool with what it says of itself, which is asked for once a run.
type known struct {
	tool.Tool
	spec tool.Spec
}

func index(ts []tool.Tool) (map[string]known, []string, error) {
	byName, names := make(map[string]known, len(ts)), make([]string, len(ts))
	for i, t := range ts {
		if t == nil {
			return nil, nil, errors.New("agent: a tool is nil")
		}
		spec := t.Spec()
		if spec.Name == "" {
			return nil, nil, errors.New("agent: a tool has no name")
		}
		if _, dup := byName[spec.Name]; dup {
			return nil, nil, fmt.Errorf("agent: two tools are named %q", spec.Name)
		}
		byName[spec.Name], names[i] = known{t, spec}, spec.Name
	}
	return byName, names, nil
}

// Run runs the agent on s until it stops. With no input it goes on where the
// session stands: after an answered question, or after an interruption.
//
// An error means that the run could not go on; the result then says how far it
// came, and is nil only if the run did not begin. Budget, refusal,
// interruption, blocked and pending are not errors: see [Result.Stop]. When ctx
// ends, the run stops as interrupted.
func (a *Agent) Run(ctx context.Context, s *session.Session, in ...llm.Part) (*Result, error) {
	st := a.Stream(ctx, s, in...)
	for _, err := range st.Events() {
		if err != nil {
			return st.Result(), err
		}
	}
	return st.Result(), nil
}

// Stream prepares a run; ranging over its Events performs it.
func (a *Agent) Stream(ctx context.Context, s *session.Session, in ...llm.Part) *Stream {
	return &Stream{a: a, ctx: ctx, s: s, in: slices.Clone(in), done: make(chan struct{})}
}
