package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/session"
	"github.com/cantle-dev/cantle/tool"
)

// one is a call on its way: decided on, run, answered.
type one struct {
	call    llm.ToolCall
	tc      *tool.Call
	tool    tool.Tool
	spec    tool.Spec
	key     callKey
	sealed  []byte
	res     *tool.Result // nil: not answered yet
	outcome Outcome
	took    time.Duration
	err     error // ends the run, once the results are recorded

	decision *Decision         // nil: no gate said whose it is
	allowed  bool              // by the gates
	pending  *Question         // waits for its answer
	answered *answeredQuestion // the last one that has its answer
}

func (o *one) settle(res *tool.Result, out Outcome) { o.res, o.outcome = res, out }

func (o *one) finished() ToolFinished {
	return ToolFinished{
		Call: o.call, Outcome: o.outcome, Parts: o.res.Parts, IsError: o.res.IsError, Detail: o.res.Detail,
		Duration: o.took, Decision: o.decision,
	}
}

// runCalls decides on all calls of a response, one by one and in order; runs
// those that may run; and records a result for each.
func (r *runner) runCalls(resp *llm.Response, calls []llm.ToolCall) error {
	ones := r.prepare(calls)
	switch resp.Stop {
	case llm.StopMaxTokens: // the last call may be whole by its looks only
		ones[len(ones)-1].settle(tool.Error(cutText), OutcomeInvalid)
	case llm.StopContentFilter, llm.StopRefusal, llm.StopError:
		for _, o := range ones {
			o.settle(tool.Error(brokenText), OutcomeInvalid)
		}
	}
	return r.carryOut(ones)
}

const (
	cutText     = "Not run: your message was cut at the output limit, so this call may be incomplete. Make it again in smaller pieces."
	brokenText  = "Not run: your message was broken off, so this call may be incomplete."
	skippedText = "Skipped: the user sent a message before this call began. Read it first."
	stoppedText = "Not run: an earlier call of this turn ended the task."
	cancelText  = "Interrupted: the run was cancelled."
)

func (r *runner) prepare(calls []llm.ToolCall) []*one {
	ones := make([]*one, len(calls))
	for i, c := range calls {
		o := &one{call: c}
		ones[i] = o
		t, ok := r.tools[c.Name]
		switch {
		case !ok:
			o.settle(tool.Unknown(c.Name, r.names), OutcomeInvalid)
			continue
		case c.Malformed != "":
			o.settle(tool.Error("Not run: the arguments are not a JSON object: "+clip(c.Malformed, 200)), OutcomeInvalid)
			continue
		}
		o.tool, o.spec = t.Tool, t.spec
		input := c.Input
		if n, ok := t.Tool.(tool.Normalizer); ok && !c.Custom {
			// Hooks and rules see each argument under its own name, whatever
			// alias it came under.
			in, err := n.Normalize(c.Input)
			if err != nil {
				o.settle(tool.Error(err.Error()), OutcomeInvalid)
				continue
			}
			input = in
		}
		o.tc = &tool.Call{ID: c.ID, Name: c.Name, Input: bytes.Clone(input), Dir: r.opts.Dir}
	}
	return ones
}

// carryOut takes prepared calls through the gates, runs them, and records the
// results.
func (r *runner) carryOut(ones []*one) error {
	r.do(func() { r.decide(ones) })
	for _, o := range ones {
		if o.res == nil && o.pending == nil && !o.allowed { // such as by runtime.Goexit
			o.settle(tool.Error("Denied: what decides on calls broke down."), OutcomeDenied)
		}
	}
	if wait, err := r.wait(ones); wait || err != nil {
		return err
	}
	if r.resuming {
		r.resuming = false
		if err := r.takeUp(ones); err != nil {
			return err
		}
	}
	control := r.execute(ones)
	return r.conclude(ones, control)
}

// decide passes each call through the gates.
func (r *runner) decide(ones []*one) {
	ctx := r.with()
	for _, o := range ones {
		switch {
		case o.res != nil:
			continue
		case ctx.Err() != nil:
			o.settle(r.cancelled(), OutcomeInterrupted)
			continue
		}
		r.begin(o)
		res, err := safely(func() (*tool.Result, error) { return r.gate(ctx, r.turn, o.tc) })
		r.decided(o, res == nil && err == nil)
		var q *pendingQuestion
		switch {
		case r.interrupted(err):
			o.settle(tool.Error("Denied: "+context.Cause(ctx).Error()), OutcomeDenied)
		case errors.As(err, &q):
			o.pending = q.q
		case err != nil && ctx.Err() != nil:
			o.settle(r.cancelled(), OutcomeInterrupted)
		case tool.IsFatal(err):
			o.err = err
			o.settle(tool.Error(err.Error()), OutcomeRefused)
		case err != nil:
			o.settle(tool.Error("Denied: "+err.Error()), OutcomeDenied)
		case res != nil:
			o.settle(res, OutcomeDenied)
		case !validInput(o.tc.Input, o.call.Custom):
			o.settle(tool.Error("Not run: a hook changed the arguments into something that is not a JSON object."), OutcomeRefused)
		default:
			o.allowed = true
			o.sealed = bytes.Clone(o.tc.Input)
			o.call.Input = o.sealed
			o.key = keyOf(o.call.Name, o.sealed)
			if text, refuse := r.guard.check(o); refuse {
				o.settle(tool.Error(text), OutcomeRefused)
			}
		}
	}
}

func validInput(b []byte, custom bool) bool {
	return json.Valid(b) && (custom || bytes.HasPrefix(bytes.TrimLeft(b, " \t\r\n"), []byte("{")))
}

// pendingQuestion is ErrPending with the question that waits.
type pendingQuestion struct{ q *Question }

func (p *pendingQuestion) Error() string        { return ErrPending.Error() }
func (p *pendingQuestion) Is(target error) bool { return target == ErrPending }

// execute runs what was decided on. Neighbours that may run beside each other
// do; every other call runs alone, in the model's order. It returns what the
// calls ask of the run.
func (r *runner) execute(ones []*one) tool.Control {
	control := tool.Continue
	for i := 0; i < len(ones); {
		n := i + 1
		if ones[i].parallel() {
			for n < len(ones) && ones[n].parallel() {
				n++
			}
		}
		if c := r.group(ones[i:n], control); control == tool.Continue {
			control = c
		}
		i = n
	}
	return control
}

func (o *one) parallel() bool { return o.res == nil && o.spec.Parallel && o.spec.ReadOnly }

func (r *runner) group(ones []*one, control tool.Control) tool.Control {
	var run []*one
	for _, o := range ones {
		switch {
		case o.res != nil:
		case r.ctx.Err() != nil:
			o.settle(r.cancelled(), OutcomeInterrupted)
		case control != tool.Continue:
			o.settle(tool.Error(stoppedText), OutcomeSkipped)
		case r.st.steered():
			o.settle(tool.Error(skippedText), OutcomeSkipped)
		case r.budget.Calls > 0 && r.res.Calls >= r.budget.Calls:
			o.settle(tool.Error(fmt.Sprintf("Not run: the limit of %d tool calls was reached.", r.budget.Calls)), OutcomeRefused)
			r.stop(StopCalls, fmt.Sprintf("the limit of %d tool calls was reached", r.budget.Calls))
		default:
			if !o.spec.ReadOnly && !r.synced {
				r.synced = true // what led to a change is on disk before it
				if err := r.s.Sync(context.WithoutCancel(r.ctx)); err != nil {
					o.err = fmt.Errorf("agent: the session could not be written to disk: %w", err)
					o.settle(tool.Error("Not run: the session could not be written to disk."), OutcomeRefused)
					continue
				}
			}
			r.res.Calls++
			r.emit(ToolStarted{o.call, o.decision})
			run = append(run, o)
		}
	}
	r.together(run)
	for _, o := range ones {
		if o.outcome == OutcomeRan && o.res.Control != tool.Continue {
			control = o.res.Control
		}
		r.emit(o.finished())
	}
	return control
}

// together runs calls side by side, some at a time.
func (r *runner) together(run []*one) {
	switch {
	case len(run) == 0:
	case r.opts.Parallel != nil:
		r.opts.Parallel(len(run), func(i int) { r.call(run[i]) })
		r.drain()
	case len(run) == 1:
		r.do(func() { r.call(run[0]) })
	default:
		r.do(func() {
			var wg sync.WaitGroup
			slots := make(chan struct{}, r.opts.Parallelism)
			for _, o := range run {
				slots <- struct{}{}
				wg.Go(func() {
					defer func() { <-slots }()
					r.call(o)
				})
			}
			wg.Wait()
		})
	}
}

// call runs one call. Its failure is its own.
func (r *runner) call(o *one) {
	ctx := r.with()
	if ctx.Err() != nil {
		o.settle(r.cancelled(), OutcomeInterrupted)
		return
	}
	o.settle(tool.Error("internal error: the call's goroutine ended"), OutcomeRan) // by runtime.Goexit
	var over atomic.Bool                                                           // after the result nothing more is shown
	t := r.turn
	o.tc.Progress = func(p llm.Part) {
		if !over.Load() && ctx.Err() == nil {
			t.Emit(ToolProgress{o.call.ID, llm.Parts{p}})
		}
	}
	began := r.opts.Now()
	res, err := safely(func() (*tool.Result, error) {
		return r.callTool(context.WithValue(ctx, sealKey{}, o), t, o.tc)
	})
	over.Store(true)
	o.took = r.opts.Now().Sub(began)
	switch {
	case err != nil && (r.interrupted(err) || ctx.Err() != nil && !tool.IsFatal(err)):
		o.settle(r.cancelled(), OutcomeInterrupted)
	case err != nil && tool.IsFatal(err):
		o.err = err
		o.settle(tool.Error(err.Error()), OutcomeRan)
	case err != nil:
		o.settle(tool.Error(err.Error()), OutcomeRan)
	case res == nil:
		o.settle(tool.Text("(no output)"), OutcomeRan)
	default:
		o.settle(res, OutcomeRan)
		if ctx.Err() != nil {
			o.outcome = OutcomeInterrupted
		}
	}
}

type sealKey struct{}

// toolFunc is the innermost ToolFunc. A call whose input changed after the
// gates does not run.
func (r *runner) toolFunc(ctx context.Context, _ *Turn, c *tool.Call) (*tool.Result, error) {
	seal, _ := ctx.Value(sealKey{}).(*one)
	if seal == nil || seal.tc.Name != c.Name || c.ID != seal.call.ID || !bytes.Equal(c.Input, seal.sealed) {
		return nil, fmt.Errorf("the input of %s changed after it was decided on: it was not run", c.Name)
	}
	return tool.Run(ctx, seal.tool, c)
}

// conclude records the results and decides whether the run goes on.
func (r *runner) conclude(ones []*one, control tool.Control) error {
	m := session.Message{Message: llm.Message{Role: llm.RoleUser, Parts: make(llm.Parts, len(ones))}, Kind: session.KindResults}
	failed, stuck := 0, false
	var errs []error
	for i, o := range ones {
		parts := o.res.Parts
		if len(parts) == 0 {
			parts = llm.Texts("(no output)")
		}
		m.Parts[i] = llm.ToolResult{CallID: o.call.ID, Name: o.call.Name, Parts: parts, IsError: o.res.IsError}
		if len(o.res.Detail) > 0 {
			if m.Details == nil {
				m.Details = map[string]json.RawMessage{}
			}
			m.Details[o.call.ID] = o.res.Detail
		}
		if o.res.Pin != "" {
			if m.Pins == nil {
				m.Pins = map[string]string{}
			}
			m.Pins[o.call.ID] = o.res.Pin
		}
		if o.decision != nil {
			if m.Decisions == nil {
				m.Decisions = map[string]Decision{}
			}
			m.Decisions[o.call.ID] = *o.decision
		}
		if o.outcome == OutcomeDenied {
			d := Denial{CallID: o.call.ID, Name: o.call.Name, Input: o.call.Input, Reason: o.res.Parts.Text(), Path: r.turn.Path}
			if o.decision != nil {
				d.By = o.decision.By
			}
			r.res.Denied = append(r.res.Denied, d)
		}
		if o.res.IsError {
			failed++
		}
		stuck = r.guard.saw(o) || stuck
		errs = append(errs, o.err)
	}
	if err := r.append(r.ctx, m); err != nil {
		return err
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if err := r.ctx.Err(); err != nil {
		return err
	}
	if failed == len(ones) {
		r.errTurns++
	} else {
		r.errTurns = 0
	}
	switch b := r.budget.Errors; {
	case r.res.Stop.set():
	case control == tool.Complete:
		r.noTool = 0
		r.res.Text = r.finalText(ones)
		return r.wellEnded(StopCompleted)
	case control == tool.Reject:
		r.stop(StopRejected, r.finalText(ones))
	case control == tool.Cancel:
		r.stop(StopCancelled, r.finalText(ones))
	case stuck:
		r.stop(StopRepeated, "the model made the same call again after it was told that nothing changes")
	case b > 0 && r.errTurns > b:
		r.stop(StopErrors, fmt.Sprintf("every call failed, %d turns in a row", r.errTurns))
	case r.answer != nil && r.answer.failed >= maxAnswers:
		r.stop(StopSchema, fmt.Sprintf("no answer of the schema after %d attempts: %s", r.answer.failed, r.answer.why))
	}
	return nil
}

// finalText is the text of the call that ended the run.
func (r *runner) finalText(ones []*one) string {
	for _, o := range ones {
		if o.res.Control != tool.Continue {
			return o.res.Parts.Text()
		}
	}
	return ""
}

func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n] + "…"
}
