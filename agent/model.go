package agent

import (
	"errors"
	"fmt"
	"strings"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/session"
)

// ask makes one model call, streams it, and records the response. What came
// before a failure is recorded too, marked partial.
func (r *runner) ask() (*llm.Response, *llm.Money, error) {
	req := r.request()
	settle := func(amount) {}
	if r.metered() {
		var err error
		if settle, err = r.reserve(r.model, r.meter.forecast(req)); err != nil {
			return nil, nil, err
		}
	}
	began := r.opts.Now()
	resp, shown, err := r.stream(req)
	if err != nil {
		settle(amount{})
		return nil, nil, r.failed(err, shown)
	}
	info := r.model.Info()
	if resp.Message.Origin == nil {
		resp.Message.Origin = &llm.Origin{Provider: info.Provider, Model: info.Name, Wire: info.Wire}
	}
	cost := priced(r.model, resp)
	settle(amountOf(resp.Usage, cost))
	if r.metered() {
		r.meter.saw(req, resp.Usage)
	}
	r.charge(resp.Usage, cost)
	if err := r.append(r.ctx, session.Message{
		Message: resp.Message, Usage: resp.Usage, Cost: cost, Model: served(info, resp), Stop: resp.Stop,
		Duration: r.opts.Now().Sub(began),
	}); err != nil {
		return nil, nil, err
	}
	r.emit(Message{Message: resp.Message, Stop: resp.Stop})
	if resp.Usage == nil && r.pot.metersTokens() {
		r.stop(StopNoUsage, "a token budget is set and the provider reported no usage")
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
	for ev, err := range r.callModel(ctx, r.turn, req) {
		if err != nil {
			return nil, text.String(), err
		}
		switch ev := ev.(type) {
		case llm.TextDelta:
			text.WriteString(ev.Text)
			r.emit(TextDelta{ev.Text})
			partial.text(ev.Text)
		case llm.ThinkingDelta:
			r.emit(ThinkingDelta{ev.Text})
		case llm.CallDelta:
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
func (r *runner) failed(err error, shown string) error {
	var e *llm.Error
	errors.As(err, &e)
	m := session.Message{Message: llm.Message{Role: llm.RoleAssistant}, Partial: true}
	if e != nil && e.Partial != nil {
		m.Usage, m.Model = e.Partial.Usage, e.Partial.Model
		r.charge(e.Partial.Usage, priced(r.model, e.Partial))
	}
	if strings.TrimSpace(shown) == "" {
		return err
	}
	m.Parts = llm.Texts(shown)
	r.stitched.WriteString(shown)
	if err2 := r.append(r.ctx, m); err2 != nil {
		return errors.Join(err, err2)
	}
	r.emit(Message{Message: m.Message, Partial: true})
	return err
}

// reserve takes the price of u on m from the budget.
func (r *runner) reserve(m llm.Model, u llm.Usage) (func(amount), error) {
	est := amount{tokens: u.Total()}
	if r.pot.metersMoney() {
		p := m.Info().Price
		if p == nil {
			return nil, fmt.Errorf("agent: a money budget is set and the price of %s is unknown", m.Info().Ref())
		}
		est.money = p.Cost(u)
	}
	return r.pot.reserve(est)
}

func (r *runner) metered() bool { return r.pot.metersMoney() || r.pot.metersTokens() }

func (p *pot) metersTokens() bool {
	for q := p; q != nil; q = q.up {
		if q.limit.tokens > 0 {
			return true
		}
	}
	return false
}

// charge adds a response to the sums of the run and of all above it.
func (r *runner) charge(u *llm.Usage, cost *llm.Money) {
	for q := r; q != nil; {
		q.mu.Lock()
		q.usage.add(u)
		if cost == nil {
			q.unpriced = true
		} else {
			q.cost += *cost
		}
		q.mu.Unlock()
		if q.st.parent == nil {
			return
		}
		q = q.st.parent.r
	}
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

func amountOf(u *llm.Usage, cost *llm.Money) amount {
	var a amount
	if u != nil {
		a.tokens = u.Total()
	}
	if cost != nil {
		a.money = *cost
	}
	return a
}
