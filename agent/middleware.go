package agent

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"slices"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/tool"
)

// Middleware changes a run. A nil field does nothing. Lower Priority is
// further out; among equals the one registered first is further out.
//
// Each function may be called from many runs at once: what it keeps, it keys
// by run or session. None may call back into the stream that it serves.
type Middleware struct {
	Name     string
	Priority int

	// Start is called once a run, before the first request, to add to the
	// system prompt and to the tools. Its error ends the run.
	Start func(ctx context.Context, t *Turn, s *Setup) error
	// Prompt sees each input of the user before it is recorded and may change
	// what the model gets; what the user wrote is recorded beside it. The
	// error of [Block] ends the run with StopBlocked; any other fails it.
	Prompt func(ctx context.Context, t *Turn, in llm.Parts) (llm.Parts, error)
	// Model wraps each model call. After it changed the view, t.Request builds
	// the request anew. It sees an error before the loop does, also that of
	// a request which is too large: see [Turn.Shrink].
	Model func(next ModelFunc) ModelFunc
	// Gate wraps the decision on a call. All calls of a turn pass it one by
	// one, in the model's order, before any of them runs. It may rewrite
	// c.Input before it calls next. A result that is not nil is the answer,
	// and the call does not run; so is an error, as a denial with its text.
	Gate func(next GateFunc) GateFunc
	// Tool wraps the execution: it may observe, time, or answer from a cache.
	// The input is sealed by now: the loop refuses a call whose input changed.
	Tool func(next ToolFunc) ToolFunc
	// Question sees each question before it is shown, recorded or put to anyone,
	// and may change what it shows: its Data and its Call's Preview.
	Question func(ctx context.Context, t *Turn, q *Question)
	// Ask wraps every question to the user, and may answer it first.
	Ask func(next AskFunc) AskFunc
	// Stop sees a run that is about to finish well. Parts that it returns are
	// the next input, and the run goes on, [MaxStops] times at most.
	Stop func(ctx context.Context, t *Turn) (llm.Parts, error)
	// Event sees each event before the host does. It cannot fail a run: a
	// panic in it is dropped. It must not block.
	Event func(ctx context.Context, t *Turn, e EventData)
}

// The functions that middleware wraps.
type (
	ModelFunc func(ctx context.Context, t *Turn, req *llm.Request) iter.Seq2[llm.Event, error]
	GateFunc  func(ctx context.Context, t *Turn, c *tool.Call) (*tool.Result, error)
	ToolFunc  func(ctx context.Context, t *Turn, c *tool.Call) (*tool.Result, error)
	AskFunc   func(ctx context.Context, t *Turn, q *Question) (*Answer, error)
)

// Setup is what a run starts with. Start functions append to it.
type Setup struct {
	System []string // sections of the system prompt, joined by blank lines
	Tools  []tool.Tool
}

// Question is what is asked of the user. It is plain JSON, so that it can be
// stored and answered in another process.
type Question struct {
	ID   string          `json:"id"`
	Kind string          `json:"kind"` // approve, plan, form, limit, trust
	Path string          `json:"path,omitempty"`
	Call *QuestionCall   `json:"call,omitempty"`
	Data json.RawMessage `json:"data,omitempty"`
	// Basis, if there is one, is what made it a question, in a form to be compared:
	// an answer that was given while no run was going on is one to a question with
	// the same.
	Basis string `json:"basis,omitempty"`
}

// QuestionCall is the call that a question is about.
type QuestionCall struct {
	ID      string          `json:"id"`
	Name    string          `json:"name"`
	Input   json.RawMessage `json:"input"`
	Access  []tool.Access   `json:"access,omitempty"`
	Preview *tool.Preview   `json:"preview,omitempty"`
}

// Answer answers a [Question]. It is plain JSON.
type Answer struct {
	OK     bool            `json:"ok"`
	Reason string          `json:"reason,omitempty"`
	Data   json.RawMessage `json:"data,omitempty"` // a rewritten input, form values, the rule to save
	// By says who answers, as in [Decision]. Default [ByUser].
	By string `json:"by,omitempty"`
	// Question is the ID of the question that this answers. It may be left out;
	// where it is of another question, there is no answer.
	Question string `json:"question,omitempty"`
}

// ErrPending, returned by an AskFunc, ends the run with StopPending: the
// question is recorded, and the call runs once, after [session.Session.Answer],
// when the session is run again.
var ErrPending = errors.New("agent: waiting for an answer")

// MaxStops bounds how often Stop functions may keep one run going.
const MaxStops = 8

// Halt, returned by a function of a Middleware other than Gate, Tool and Ask,
// ends the run with s and the reason for it: not as an error, unless s is one of
// those that StatusFailed has. Those three have [Interrupt].
func Halt(s Stop, reason string) error { return &haltError{s, reason} }

// Block, returned by a Prompt function, ends the run with StopBlocked.
func Block(reason string) error { return Halt(StopBlocked, reason) }

// haltError is a reason to stop on its way through functions that return
// errors.
type haltError struct {
	stop Stop
	text string
}

func (h *haltError) Error() string {
	switch h.stop {
	case StopTokens, StopMoney, StopSpawns, StopTurns:
		return "agent: over budget: " + h.text
	case StopBlocked:
		return "blocked: " + h.text
	}
	return "agent: " + string(h.stop) + ": " + h.text
}

func (h *haltError) Is(target error) bool {
	return target == ErrBudget && h.stop.Status() == StatusLimited
}

// ordered returns the middleware sorted, outermost first.
func ordered(ms []Middleware) []Middleware {
	ms = slices.Clone(ms)
	slices.SortStableFunc(ms, func(a, b Middleware) int { return a.Priority - b.Priority })
	return ms
}

// chain wraps the four inner functions in the middleware.
func (r *runner) chain() {
	for _, m := range slices.Backward(r.mws) {
		if m.Model != nil {
			r.callModel = m.Model(r.callModel)
		}
		if m.Gate != nil {
			r.gate = m.Gate(r.gate)
		}
		if m.Tool != nil {
			r.callTool = m.Tool(r.callTool)
		}
		if m.Ask != nil {
			r.askUser = m.Ask(r.askUser)
		}
	}
}
