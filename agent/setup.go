package agent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/session"
	"github.com/cantle-dev/cantle/tool"
)

// start prepares the run: the tools, the system prompt, what a crash left, and
// the input.
func (r *runner) start() error {
	r.callModel, r.askUser = r.modelFunc, r.askHost
	r.callTool = r.toolFunc
	r.gate = func(context.Context, *Turn, *tool.Call) (*tool.Result, error) { return nil, nil }
	r.chain()
	if err := r.resolve(); err != nil {
		return err
	}
	info := r.model.Info()
	r.emit(RunStarted{
		Run: r.res.Run, Session: r.s.ID(), Model: info.Ref(), StandIn: info.Traits.StandIn,
		Dir: r.opts.Dir, Tools: r.names, Left: r.pot.left(r.budget.Turns),
	})
	if r.pot.metersMoney() && info.Price == nil {
		if !r.pot.metersTokens() {
			return unknownPrice(info)
		}
		r.emit(Warning{fmt.Sprintf("the price of %s is unknown: the token limit holds, and the money limit does not", info.Ref())})
	}
	if err := r.recordSetup(info); err != nil {
		return err
	}
	if err := r.resume(); err != nil {
		return err
	}
	r.st.restore(r.s.Queue())
	if err := r.restoreNotices(); err != nil {
		return err
	}
	r.tellRepairs()
	ms := r.s.Messages()
	r.ids.note(ms)
	switch {
	case r.res.Stop.set():
		return nil
	case len(r.st.in) > 0:
		return r.input(session.KindInput, r.st.in)
	case len(ms) > 0 && ms[len(ms)-1].Role == llm.RoleUser: // the model is due
		return nil
	}
	if q, ok := r.st.pop(""); ok {
		return r.take(q)
	}
	if len(ms) == 0 {
		return fmt.Errorf("agent: session %s is empty and there is no input: nothing to do", r.s.ID())
	}
	// A model that must go on with its own message is asked to: many refuse a
	// conversation that ends in it.
	return r.say(session.KindNotice, llm.Texts(resumeText))
}

// tellRepairs yields what was mended in the view since.
func (r *runner) tellRepairs() {
	for _, rep := range r.s.Repairs() {
		r.emit(Repaired{Kind: string(rep.Kind), EntryID: rep.Entry, CallID: rep.Call, Text: rep.Text})
	}
}

const resumeText = "You were cut off here. Go on."

// resolve collects the tools and the system prompt. Neither changes within a
// run.
func (r *runner) resolve() error {
	var setup Setup
	if r.opts.System != "" {
		setup.System = append(setup.System, r.opts.System)
	}
	setup.Tools = append(setup.Tools, r.opts.Tools...)
	for _, set := range r.opts.Sets {
		ts, err := set.Tools(r.ctx)
		if err != nil {
			return fmt.Errorf("agent: tools: %w", err)
		}
		setup.Tools = append(setup.Tools, ts...)
	}
	for _, m := range r.mws {
		if m.Start == nil {
			continue
		}
		if err := m.Start(r.ctx, r.turn, &setup); err != nil {
			return fmt.Errorf("agent: %s: %w", m.Name, err)
		}
	}
	if r.opts.Schema != nil && (!r.model.Info().Traits.Schema || len(setup.Tools) > 0) {
		r.answer = &answerTool{schema: r.opts.Schema, check: r.checkAnswer}
		setup.Tools = append(setup.Tools, r.answer)
		setup.System = append(setup.System, answerSection)
	}
	var err error
	if r.tools, r.names, err = index(setup.Tools); err != nil {
		return err
	}
	r.order = setup.Tools
	r.system = strings.Join(setup.System, "\n\n")
	r.specs = make([]llm.ToolSpec, len(r.names))
	for i, name := range r.names {
		s := r.tools[name].spec
		r.specs[i] = llm.ToolSpec{Name: s.Name, Description: s.Description, Input: s.Input, Format: s.Format, Deferred: s.Deferred, Hosted: s.Hosted}
	}
	return nil
}

// recordSetup records the run's beginning, and what the model is told where
// that differs from the last run, so that a break in the prefix can be named.
func (r *runner) recordSetup(info llm.Info) error {
	setup := session.Setup{Model: info.Ref(), System: hash([]byte(r.system))}
	for _, t := range r.specs {
		b, err := json.Marshal(t)
		if err != nil {
			return fmt.Errorf("agent: tool %s: %w", t.Name, err)
		}
		setup.Tools = append(setup.Tools, session.ToolHash{Name: t.Name, Hash: hash(b)})
	}
	data := []session.Data{session.RunStarted{
		RunID: r.res.Run, Path: r.st.path, Model: info.Ref(), Dir: r.opts.Dir,
	}}
	if last, ok := r.s.Setup(); !ok || !last.Equal(setup) {
		data = append([]session.Data{setup}, data...)
	}
	return r.append(r.ctx, data...)
}

func hash(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:12])
}

// resume deals with calls that have no result: one whose question was answered
// is run, once; one that still waits keeps the run waiting unless there is new
// input; for every other it is recorded that its outcome is unknown.
func (r *runner) resume() error {
	calls := r.s.Dangling()
	if len(calls) == 0 {
		return nil
	}
	pending := map[string]session.Pending{}
	for _, p := range r.s.Pending() {
		pending[p.CallID] = p
	}
	waiting, answered := 0, 0
	var open []*Question
	for _, c := range calls {
		switch p, ok := pending[c.ID]; {
		case !ok || p.State == session.PendingTaken:
		case p.State == session.PendingAnswered:
			answered++
		default:
			waiting++
			var q Question
			if json.Unmarshal(p.Question, &q) == nil {
				open = append(open, &q)
			}
		}
	}
	switch {
	case waiting > 0 && len(r.st.in) == 0:
		r.res.Questions = open
		r.stop(StopPending, fmt.Sprintf("%d question(s) wait for an answer", waiting))
		return nil
	case answered > 0 && waiting == 0:
		return r.runAnswered(calls, pending)
	}
	return r.recordLost(calls, pending)
}

// recordLost records results for calls that will not be run.
func (r *runner) recordLost(calls []llm.ToolCall, pending map[string]session.Pending) error {
	parts := make(llm.Parts, len(calls))
	for i, c := range calls {
		text := lostText
		if p, ok := pending[c.ID]; ok && p.State != session.PendingTaken {
			text = unansweredText
		}
		parts[i] = llm.ToolResult{CallID: c.ID, Name: c.Name, Parts: llm.Texts(text), IsError: true}
		r.emit(Repaired{
			Kind: string(session.RepairNoResult), CallID: c.ID,
			Text: fmt.Sprintf("the call %s of %s has no result: it is not run again, and the model is told so", c.ID, c.Name),
		})
	}
	return r.append(r.ctx, session.Message{
		Message: llm.Message{Role: llm.RoleUser, Parts: parts}, Kind: session.KindResults,
	})
}

const (
	lostText       = "Interrupted: the program stopped before this call's result was recorded. Its outcome is unknown: it may or may not have taken effect. Check before you repeat it."
	unansweredText = "Not run: the user went on without answering the question about this call."
)
