package agent

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/cantle-dev/cantle/llm"
)

// Limit is the data of a [Question] of the kind "limit": see [Budget.Soft].
type Limit struct {
	Stop Stop   `json:"stop"` // how the run would end: max_turns, token_budget or cost_budget
	Text string `json:"text"` // what is spent of what, for people
}

// reserveFor takes the forecast of req from the budget, and asks first where
// that passes a soft limit. There is nothing to do where nothing is limited.
func (r *runner) reserveFor(req *llm.Request) (settle func(amount), err error) {
	if !r.metered() {
		return func(amount) {}, nil
	}
	est, err := r.price(r.model, r.meter.forecast(req, r.pot.largest()))
	if err != nil {
		return nil, err
	}
	for p := r.pot; p != nil; p = p.up {
		if err := r.softAmounts(p, est); err != nil {
			return nil, err
		}
	}
	return r.pot.reserve(est)
}

func (r *runner) metered() bool { return r.pot.metersMoney() || r.pot.metersTokens() }

// price is u as an amount, in money too where money is limited.
func (r *runner) price(m llm.Model, u llm.Usage) (amount, error) {
	est := amount{tokens: u.Total()}
	if !r.pot.metersMoney() {
		return est, nil
	}
	p := m.Info().Price
	if p == nil {
		if r.pot.metersTokens() { // they hold in its place
			return est, nil
		}
		return est, unknownPrice(m.Info())
	}
	est.money = p.Cost(u)
	return est, nil
}

func unknownPrice(info llm.Info) error {
	return fmt.Errorf("agent: a money budget is set and the price of %s is unknown: set its price, or a token budget as well", info.Ref())
}

// softTurns asks when the soft limit of turns is reached.
func (r *runner) softTurns() error {
	b := r.budget
	soft := b.softOf(int64(b.Turns))
	if soft == 0 || r.st.parent != nil || r.warned || int64(r.res.Turns) < soft {
		return nil
	}
	r.warned = true
	no, err := r.askLimit(Limit{StopTurns, fmt.Sprintf("%d of %d turns are done", r.res.Turns, b.Turns)})
	if no != nil {
		r.stop(no.stop, no.text)
	}
	return err
}

// softAmounts asks when est passes a soft limit of p. Of several runs that
// spend from p one asks, and the others wait for the answer.
func (r *runner) softAmounts(p *pot, est amount) error {
	if p.soft == (amount{}) {
		return nil
	}
	select {
	case p.asking <- struct{}{}:
		defer func() { <-p.asking }()
	case <-r.ctx.Done():
		return r.ctx.Err()
	}
	for {
		l := p.crossed(est)
		if l == nil {
			return nil
		}
		no, err := r.askLimit(*l)
		if err != nil {
			return err
		}
		p.mu.Lock()
		p.closed = no
		p.mu.Unlock()
	}
}

// crossed says which soft limit of p est would pass, each one once. What would
// pass the limit itself is not asked about.
func (p *pot) crossed(est amount) *Limit {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.over(est) != nil:
		return nil
	case p.soft.tokens > 0 && !p.asked.tokens && p.spent.tokens+est.tokens > p.soft.tokens:
		p.asked.tokens = true
		return &Limit{StopTokens, fmt.Sprintf("%d of %d tokens are spent", p.spent.tokens, p.limit.tokens)}
	case p.soft.money > 0 && !p.asked.money && p.spent.money+est.money > p.soft.money:
		p.asked.money = true
		return &Limit{StopMoney, fmt.Sprintf("%v of %v are spent", p.spent.money, p.limit.money)}
	}
	return nil
}

// askLimit asks whether to go on. What is not a yes is returned as the limit
// that ends the run.
func (r *runner) askLimit(l Limit) (no *haltError, err error) {
	data, err := json.Marshal(l)
	if err != nil {
		return nil, fmt.Errorf("agent: question: %w", err)
	}
	q := &Question{Kind: "limit", Data: data}
	var a *Answer
	r.do(func() {
		a, err = safely(func() (*Answer, error) { return r.turn.Ask(r.with(), q) })
	})
	switch {
	case r.ctx.Err() != nil:
		return nil, r.ctx.Err()
	case errors.Is(err, ErrPending):
		r.res.Questions = append(r.res.Questions, q)
		return &haltError{l.Stop, l.Text + ", and the question whether to go on waits for an answer"}, nil
	case err != nil:
		return &haltError{l.Stop, l.Text + ", and nobody could be asked: " + err.Error()}, nil
	case !a.OK && a.Reason != "":
		return &haltError{l.Stop, l.Text + ", and the answer was not to go on: " + a.Reason}, nil
	case !a.OK:
		return &haltError{l.Stop, l.Text + ", and the answer was not to go on"}, nil
	}
	return nil, nil
}

// safely turns a panic in what others wrote into an error.
func safely[T any](fn func() (T, error)) (v T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("internal error: %v", p)
		}
	}()
	return fn()
}
