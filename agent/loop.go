package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"time"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/session"
	"github.com/cantle-dev/cantle/tool"
)

// runner is one run while it goes on. Its fields below mu are shared with the
// goroutines of tools and gates; all others belong to the loop's goroutine.
type runner struct {
	st     *Stream
	s      *session.Session
	model  llm.Model
	opts   Options
	mws    []Middleware
	budget Budget
	yield  func(Event, error) bool

	callModel ModelFunc
	gate      GateFunc
	callTool  ToolFunc
	askUser   AskFunc

	ctx      context.Context // of the run; cancelled by a break
	cancel   context.CancelCauseFunc
	stopped  bool // yield said so
	seq      int
	began    time.Time
	system   string
	tools    map[string]known
	order    []tool.Tool
	names    []string // of order
	specs    []llm.ToolSpec
	pot      *pot
	meter    meter
	guard    guard
	ids      callIDs
	answer   *answerTool
	res      *Result
	heard    bool   // something of the present response was shown
	synced   bool   // the journal since the turn's first changing call
	restored bool   // there are notices of an earlier run among those that wait
	warned   bool   // the user was asked about the soft limit of turns
	resuming bool   // the calls are those that an earlier run ended on
	text     string // the last that the model wrote

	// What decides on going on.
	noTool    int // answers without the finish that is required
	errTurns  int // turns in a row of which every call failed
	stops     int // how often Stop functions kept the run going
	shrinks   int // turns in a row whose request was refused as it was
	brokenOff int // responses in a row that the model stopped with an error
	continues int // continuations of the present answer
	empties   int
	stitched  strings.Builder

	worker *worker

	mu       sync.Mutex
	turn     *Turn
	notices  llm.Parts
	events   chan Event    // while a phase is on
	phase    chan struct{} // closed at the phase's end
	held     []Event
	closing  bool // no more children are taken
	over     bool // no more events are
	usage    Usage
	cost     llm.Money
	unpriced bool
	bill     []item
	shrunk   bool                        // the view, since the last request was made
	recall   map[string]answeredQuestion // from the journal, by call id
	deciding string                      // the id of the call that the gates decide on
	verdict  *verdict                    // of it, so far
	reply    *answeredQuestion           // the last question about it
	children map[*Stream]bool
	alone    *sync.Cond // no children left
}

var (
	errBroken = errors.New("agent: the host stopped reading events")
	errTime   = errors.New("agent: the time limit was reached")
)

// run performs st.
func run(st *Stream, yield func(Event, error) bool) {
	r := &runner{
		st: st, s: st.s, model: st.a.model, opts: st.a.opts, mws: st.a.opts.Middleware,
		yield: yield, recall: map[string]answeredQuestion{}, children: map[*Stream]bool{},
	}
	r.alone = sync.NewCond(&r.mu)
	r.budget = r.opts.Budget.filled(st.parent != nil)
	r.pot = newPot(r.budget, st.parent)
	release, err := r.s.Use()
	if err != nil {
		st.finish(nil)
		yield(Event{}, err)
		return
	}
	defer release()
	defer r.dismiss()

	ctx, cancel := context.WithCancelCause(st.ctx)
	defer cancel(nil)
	r.cancel = cancel
	if r.budget.Time > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, r.budget.Time, errTime)
		defer stop()
	}
	r.ctx = ctx
	r.began = r.opts.Now()
	st.mu.Lock()
	st.r = r
	st.mu.Unlock()
	r.res = &Result{Run: r.opts.NewID(), Session: r.s.ID()}
	r.setTurn(&Turn{Path: st.path, RunID: r.res.Run, Session: r.s, r: r})

	err = r.whole()
	r.finish(err)
}

// whole is the run from its start to its stop, which is in r.res. Its error
// means that the run could not go on.
func (r *runner) whole() error {
	if err := r.start(); err != nil {
		return err
	}
	for !r.res.Stop.set() {
		if err := r.oneTurn(); err != nil {
			return err
		}
	}
	return nil
}

func (s Stop) set() bool { return s != "" }

// stop ends the run for a reason that is no error.
func (r *runner) stop(s Stop, reason string) {
	r.res.Stop, r.res.Reason = s, reason
}

// finish records how the run ended, syncs, and yields the last event.
func (r *runner) finish(err error) {
	if err != nil {
		err = r.classify(err)
	}
	r.awaitChildren()
	r.mu.Lock()
	r.over = true
	r.res.Usage = r.usage
	r.res.Cost = nil
	if !r.unpriced {
		c := r.cost
		r.res.Cost = &c
	}
	r.mu.Unlock()
	r.res.Duration = r.opts.Now().Sub(r.began)
	if r.res.Text == "" {
		r.res.Text = cmp.Or(r.stitched.String(), r.text)
	}
	ended := session.RunEnded{
		RunID: r.res.Run, Stop: string(r.res.Stop), Reason: r.res.Reason, Turns: r.res.Turns, Usage: r.res.Usage.Usage, Cost: r.res.Cost,
	}
	if err != nil {
		ended.Error, ended.Reason = err.Error(), ""
	}
	if e := r.append(r.ctx, append(r.untold(), ended)...); e != nil && err == nil {
		err = e
		r.stop(StopError, e.Error())
	}
	if e := r.s.Sync(context.WithoutCancel(r.ctx)); e != nil && err == nil {
		err = fmt.Errorf("agent: the session could not be written to disk: %w", e)
		r.stop(StopError, err.Error())
	}
	r.st.finish(r.res)
	r.emit(RunEnded{r.res})
	if err != nil && !r.stopped {
		r.yield(Event{}, err)
	}
}

// classify turns the errors that are reasons to stop into such, and sets the
// reason for all others.
func (r *runner) classify(err error) error {
	r.interrupted(err)
	cause := context.Cause(r.ctx)
	why, interrupted := errors.AsType[*interruptError](cause)
	var halt *haltError
	tooMuch, media := refused(err)
	switch {
	case errors.Is(cause, errTime):
		r.stop(StopTime, fmt.Sprintf("the limit of %v was reached", r.budget.Time))
	case interrupted:
		r.stop(StopInterrupted, why.reason)
	case r.ctx.Err() != nil:
		r.stop(StopInterrupted, cause.Error())
	case errors.As(err, &halt):
		r.stop(halt.stop, halt.text)
		if halt.stop.Status() == StatusFailed {
			return err
		}
	case tooMuch != nil && !media:
		r.stop(StopOverflow, err.Error())
		return err
	default:
		r.stop(StopError, err.Error())
		return err
	}
	return nil
}

// oneTurn is one response of the model and the calls that it asked for.
func (r *runner) oneTurn() error {
	if err := r.ctx.Err(); err != nil {
		return err
	}
	if err := r.takeSteers(); err != nil {
		return err
	}
	if b := r.budget.Turns; b > 0 && r.res.Turns >= b {
		r.stop(StopTurns, fmt.Sprintf("the limit of %d turns was reached", b))
		return nil
	}
	if err := r.softTurns(); err != nil || r.res.Stop.set() {
		return err
	}
	if err := r.flushNotices(); err != nil {
		return err
	}
	r.tellRepairs()
	r.forget()
	req := r.request()
	settle, err := r.reserveFor(req)
	if err != nil {
		return err
	}
	r.nextTurn()
	r.emit(TurnStarted{})
	resp, cost, err := r.ask(req, settle)
	if err != nil {
		resp, cost, err = r.askSmaller(err)
	} else {
		r.shrinks = 0
	}
	if err != nil {
		return err
	}
	r.res.Text = "" // of an answer that did not end the run
	if text := resp.Message.Text(); strings.TrimSpace(text) != "" {
		r.text = text
	}
	calls := resp.Message.Parts.Calls()
	if len(calls) > 0 {
		r.brokenOff = 0
		err = r.runCalls(resp, calls)
	} else {
		err = r.answered(resp)
	}
	r.emit(TurnEnded{Usage: resp.Usage, Cost: cost, Calls: len(calls)})
	return err
}

// answered decides what follows a response without tool calls.
func (r *runner) answered(resp *llm.Response) error {
	text := resp.Message.Text()
	switch resp.Stop {
	case llm.StopMaxTokens:
		r.stitched.WriteString(text)
		if r.continues++; r.continues > maxContinues {
			r.res.Text = r.stitched.String()
			r.stop(StopMaxTokens, fmt.Sprintf("the answer was cut at the output limit after %d continuations", maxContinues))
			return nil
		}
		r.emit(Continued{r.continues, maxContinues})
		return r.say(session.KindNotice, llm.Texts(continueText))
	case llm.StopPause: // the provider wants the turn back as it is
		return nil
	case llm.StopRefusal:
		r.res.Text = text
		r.stop(StopRefused, resp.StopDetail)
		return nil
	case llm.StopContentFilter:
		r.res.Text = text
		r.stop(StopFiltered, resp.StopDetail)
		return nil
	case llm.StopError: // such as a call that the model got wrong
		why := clip(strings.TrimSpace(resp.StopRaw+" "+resp.StopDetail), 300)
		if r.brokenOff++; r.brokenOff <= maxBrokenOff {
			r.emit(Warning{"the model stopped with an error and is asked once more: " + why})
			return r.say(session.KindNotice, llm.Texts(fmt.Sprintf(brokenOffText, why)))
		}
		return &llm.Error{
			Kind: llm.KindServer, Provider: r.model.Info().Provider, Model: r.model.Info().Name,
			Message: fmt.Sprintf("the model stopped with an error, %d times in a row: %s", r.brokenOff, why), Partial: resp,
		}
	}
	r.brokenOff = 0
	r.stitched.WriteString(text)
	text = r.stitched.String()
	r.stitched.Reset()
	r.continues = 0
	r.res.Text = text
	if strings.TrimSpace(text) == "" {
		if r.empties++; r.empties > 1 {
			r.stop(StopEmpty, "the model answered nothing, twice")
			return nil
		}
		return r.say(session.KindNotice, llm.Texts(emptyText))
	}
	r.empties = 0
	if r.opts.Schema != nil {
		if again, err := r.structured(text); again || err != nil {
			return err
		}
	} else if r.opts.RequireFinish {
		if r.noTool++; r.noTool >= maxNoTool {
			r.stop(StopNoFinish, fmt.Sprintf("the model answered %d times without finishing by a tool", r.noTool))
			return nil
		}
		return r.say(session.KindNotice, llm.Texts(finishText))
	}
	return r.wellEnded(StopFinished)
}

// wellEnded ends the run well, unless a follow-up or a Stop function wants
// more.
func (r *runner) wellEnded(s Stop) error {
	if q, ok := r.st.pop(""); ok {
		return r.take(q)
	}
	for _, m := range r.mws {
		if m.Stop == nil || r.stops >= MaxStops {
			continue
		}
		more, err := m.Stop(r.ctx, r.turn)
		if _, side := errors.AsType[*sideError](err); side && r.ctx.Err() == nil {
			continue // told when it failed
		}
		if err != nil {
			return fmt.Errorf("agent: %s: %w", m.Name, err)
		}
		if len(more) > 0 {
			if r.stops++; r.stops == MaxStops {
				r.emit(Warning{fmt.Sprintf("kept going %d times by %s: the next end is final", MaxStops, m.Name)})
			}
			return r.say(session.KindNotice, more)
		}
	}
	if !r.st.end() { // something was pushed meanwhile
		if q, ok := r.st.pop(""); ok {
			return r.take(q)
		}
	}
	r.stop(s, "")
	return nil
}

const (
	maxContinues = 3
	maxNoTool    = 3
	maxBrokenOff = 1

	continueText  = "Your answer was cut at the output limit. Continue exactly where you left off; do not repeat."
	emptyText     = "Your answer was empty. Give the answer, or call a tool."
	brokenOffText = "Your last message was broken off by an error (%s), and nothing of it was done. Go on; make a call again if you were making one, with arguments that are a JSON object."
	finishText    = "The task is not finished until you call the tool that finishes it. Call it now, or go on working."
)

// takeSteers records what the user steered with since.
func (r *runner) takeSteers() error {
	for {
		q, ok := r.st.pop(session.KindSteer)
		if !ok {
			return nil
		}
		if err := r.take(q); err != nil {
			return err
		}
	}
}

// take records queued input, and in the same write that it waits no more.
func (r *runner) take(q queued) error {
	err := r.input(q.Kind, q.Parts, q.done()...)
	if h, ok := errors.AsType[*haltError](err); ok && h.stop == StopBlocked { // for good
		return errors.Join(err, r.append(r.ctx, q.done()...))
	}
	return err
}

// input passes what the user wrote through the Prompt functions and records
// it, and what goes with it.
func (r *runner) input(kind session.MessageKind, typed llm.Parts, with ...session.Data) error {
	in := typed
	for _, m := range r.mws {
		if m.Prompt == nil {
			continue
		}
		out, err := m.Prompt(r.ctx, r.turn, in)
		if err != nil {
			return fmt.Errorf("agent: %s: %w", m.Name, err)
		}
		in = out
	}
	r.emit(Input{Kind: string(kind), Parts: in})
	return r.append(r.ctx, append([]session.Data{session.Message{
		Message: llm.Message{Role: llm.RoleUser, Parts: in}, Kind: kind, Typed: typed,
	}}, with...)...)
}

// say records a message on the user's side that the user did not write.
func (r *runner) say(kind session.MessageKind, parts llm.Parts) error {
	r.emit(Input{Kind: string(kind), Parts: parts})
	return r.append(r.ctx, session.Message{Message: llm.Message{Role: llm.RoleUser, Parts: parts}, Kind: kind})
}

// append records data, also when the run was cancelled: what happened is
// recorded.
func (r *runner) append(ctx context.Context, data ...session.Data) error {
	now := r.opts.Now()
	es := make([]session.Entry, len(data))
	for i, d := range data {
		es[i] = session.Entry{ID: r.opts.NewID(), Time: now, Data: d}
	}
	return r.s.Append(context.WithoutCancel(ctx), es...)
}

func (r *runner) setTurn(t *Turn) {
	r.mu.Lock()
	r.turn = t
	r.mu.Unlock()
}

func (r *runner) nextTurn() {
	next := *r.turn
	next.Number++
	r.mu.Lock()
	next.Usage = r.usage
	r.turn = &next
	r.mu.Unlock()
	r.res.Turns++
	r.synced = false
}

func (r *runner) root() *runner {
	for r.st.parent != nil {
		r = r.st.parent.r
	}
	return r
}

func (r *runner) with() context.Context { return context.WithValue(r.ctx, turnKey{}, r.turn) }

func (r *runner) request() *llm.Request {
	req := &llm.Request{
		System: r.system, Messages: r.s.Messages(), Tools: r.specs,
		MaxTokens: r.opts.MaxTokens, Effort: r.opts.Effort, Temperature: r.opts.Temperature,
		CacheKey: r.s.ID(), Extra: r.opts.Extra,
	}
	if r.opts.Schema != nil && r.answer == nil {
		req.Schema = r.opts.Schema
	}
	return req
}

// modelFunc is the innermost ModelFunc.
func (r *runner) modelFunc(ctx context.Context, _ *Turn, req *llm.Request) iter.Seq2[llm.Event, error] {
	return r.model.Stream(ctx, req)
}
