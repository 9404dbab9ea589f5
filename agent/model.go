package agent

import (
	"errors"
	"strings"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/session"
)

// ask makes one model call, streams it, and records the response. What came
// before a failure is recorded too, marked partial. Either way it settles what
// was reserved.
func (r *runner) ask(req *llm.Request, settle func(amount)) (*llm.Response, *llm.Money, error) {
	began := r.opts.Now()
	resp, shown, err := r.stream(req)
	if err != nil {
		return nil, nil, r.failed(err, shown, settle)
	}
	info := r.model.Info()
	own := *r.ids.mend(resp, r.opts.NewID) // what the model gave is the model's
	resp = &own
	resp.Usage = sound(resp.Usage)
	if resp.Message.Origin == nil {
		resp.Message.Origin = &llm.Origin{Provider: info.Provider, Model: info.Name, Wire: info.Wire}
	}
	cost := priced(r.model, resp)
	if r.metered() {
		r.meter.saw(req, resp.Usage)
		r.pot.saw(resp.Usage) // before it is settled, when others may reserve
	}
	settle(amountOf(resp.Usage, cost))
	r.charge(served(info, resp), resp.Usage, cost)
	if err := r.append(r.ctx, session.Message{
		Message: resp.Message, Usage: resp.Usage, Cost: cost, Model: served(info, resp), Stop: resp.Stop,
		Duration: r.opts.Now().Sub(began),
	}); err != nil {
		return nil, nil, err
	}
	r.emit(Message{Message: resp.Message, Stop: resp.Stop})
	switch {
	case resp.Usage == nil && r.pot.metersTokens():
		r.stop(StopNoUsage, "a token budget is set and the provider reported no usage")
	case cost == nil && r.pot.metersMoney() && !r.pot.metersTokens(): // it cannot be held
		r.stop(StopNoUsage, "a money budget is set and what the response of "+served(info, resp)+" cost is unknown")
	}
	return resp, cost, nil
}

// served is the model that answered, as provider:name.
func served(info llm.Info, resp *llm.Response) string {
	if o := resp.Message.Origin; o != nil {
		info.Provider, info.Name = o.Provider, o.Model
	}
	return info.Ref()
}

// stream ranges over the model's events, and returns with an error the text
// that was shown before it.
func (r *runner) stream(req *llm.Request) (resp *llm.Response, shown string, err error) {
	var text strings.Builder
	ctx := r.with()
	partial := r.newPartial()
	r.heard = false
	for ev, err := range r.callModel(ctx, r.turn, req) {
		if err != nil {
			return nil, text.String(), err
		}
		switch ev := ev.(type) {
		case llm.TextDelta:
			r.heard = true
			text.WriteString(ev.Text)
			r.emit(TextDelta{ev.Text})
			partial.text(ev.Text)
		case llm.ThinkingDelta:
			r.heard = true
			r.emit(ThinkingDelta{ev.Text})
		case llm.CallDelta:
			r.heard = true
			r.emit(CallDelta{ev.Index, ev.ID, ev.Name, ev.Input})
			partial.callDelta(ev)
		case llm.Retrying:
			r.emit(Retrying{ev.Attempt, ev.Wait, ev.Err.Error()})
		case llm.Switched:
			sw := Switched{From: ev.From, To: ev.To}
			if ev.Err != nil {
				sw.Error = ev.Err.Error()
			}
			r.emit(sw)
		case llm.Notice:
			r.emit(Notice{Kind: ev.Kind, Text: ev.Text, Data: ev.Data})
		case llm.Done:
			resp = ev.Response
		}
		if err := r.ctx.Err(); err != nil {
			return nil, text.String(), err
		}
	}
	if err := r.ctx.Err(); err != nil {
		return nil, text.String(), err
	}
	if resp == nil {
		info := r.model.Info()
		return nil, text.String(), &llm.Error{
			Kind: llm.KindTruncated, Provider: info.Provider, Model: info.Name,
			Message: "the model's stream ended without a response",
		}
	}
	return resp, "", nil
}

// failed records the text that came before err, if any did.
func (r *runner) failed(err error, shown string, settle func(amount)) error {
	m := session.Message{Message: llm.Message{Role: llm.RoleAssistant}, Partial: true}
	if part := partialOf(err); part != nil && part.Usage != nil {
		m.Usage, m.Cost, m.Model = part.Usage, priced(r.model, part), served(r.model.Info(), part)
		r.charge(m.Model, m.Usage, m.Cost)
		settle(amountOf(m.Usage, m.Cost))
	} else {
		settle(amount{})
	}
	if strings.TrimSpace(shown) == "" {
		if m.Usage == nil {
			return err
		}
		return errors.Join(err, r.spent(r.ctx, session.SideSpent{Purpose: "failed request", Path: r.turn.Path, Model: m.Model, Usage: m.Usage, Cost: m.Cost}))
	}
	m.Parts = llm.Texts(shown)
	r.stitched.WriteString(shown)
	if err2 := r.append(r.ctx, m); err2 != nil {
		return errors.Join(err, err2)
	}
	r.emit(Message{Message: m.Message, Partial: true})
	return err
}

// partialOf is the response that err came in the middle of, or nil. It is that
// of the model that failed, which may be another than the run's.
func partialOf(err error) *llm.Response {
	e, ok := modelError(err)
	if !ok || e.Partial == nil {
		return nil
	}
	part := *e.Partial
	part.Usage = sound(part.Usage)
	if part.Message.Origin == nil && e.Model != "" {
		part.Message.Origin = &llm.Origin{Provider: e.Provider, Model: e.Model}
	}
	return &part
}

// pricer is implemented by wrappers whose models differ in price.
type pricer interface {
	PriceOf(provider, model string) *llm.Price
}

// priced is the cost of resp by the model that served it; nil is unknown.
func priced(m llm.Model, resp *llm.Response) *llm.Money {
	p := m.Info().Price
	if o := resp.Message.Origin; o != nil {
		if w, ok := llm.As[pricer](m); ok {
			p = w.PriceOf(o.Provider, o.Model)
		}
	}
	if p == nil || resp.Usage == nil {
		if p != nil && p.Free() {
			zero := llm.Money(0)
			return &zero
		}
		return nil
	}
	c := p.Cost(*resp.Usage)
	return &c
}
