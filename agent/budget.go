package agent

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/cantle-dev/cantle/llm"
)

// Budget limits a run. In every field 0 is the default and a negative value
// means no limit. A child's budget lies within its parent's: what the child
// spends is spent by the parent too.
//
// Tokens and Money are checked before each request, against a forecast: the
// estimate of its input, and an output as large as the largest so far. They
// are passed by one response at most.
type Budget struct {
	Turns  int           // model responses; default 40, in a child 20
	Errors int           // turns in a row of which every call failed; default 3
	Calls  int           // tool calls that run; default none
	Tokens int64         // input and output together, cached ones too; default none
	Money  llm.Money     // default none; needs a model with a price
	Time   time.Duration // of wall clock; default none
	Depth  int           // how deep children may nest; default 3
	Spawns int           // children in all; default 50
}

// The defaults of a [Budget].
const (
	DefaultTurns      = 40
	DefaultChildTurns = 20
	DefaultErrors     = 3
	DefaultDepth      = 3
	DefaultSpawns     = 50
)

func (b Budget) filled(child bool) Budget {
	def := func(v *int, d int) {
		if *v == 0 {
			*v = d
		}
	}
	if child {
		def(&b.Turns, DefaultChildTurns)
	} else {
		def(&b.Turns, DefaultTurns)
	}
	def(&b.Errors, DefaultErrors)
	def(&b.Depth, DefaultDepth)
	def(&b.Spawns, DefaultSpawns)
	return b
}

// ErrBudget means that a request or a child might pass the budget.
var ErrBudget = errors.New("agent: over budget")

// overBudget is an ErrBudget that knows which limit would be passed.
type overBudget struct {
	stop Stop
	text string
}

func (o *overBudget) Error() string        { return "agent: over budget: " + o.text }
func (o *overBudget) Is(target error) bool { return target == ErrBudget }

// pot is one node of the budget tree. What is taken from it is taken from all
// above it, or from none.
type pot struct {
	mu     sync.Mutex
	up     *pot
	limit  amount
	spent  amount // with what is reserved
	spawns int
}

type amount struct {
	tokens int64
	money  llm.Money
}

// reserve takes est from p and everything above it. The caller settles with
// what it really was.
func (p *pot) reserve(est amount) (settle func(real amount), err error) {
	if p == nil {
		return func(amount) {}, nil
	}
	up, err := p.up.reserve(est)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	var over *overBudget
	switch {
	case p.limit.tokens > 0 && p.spent.tokens+est.tokens > p.limit.tokens:
		over = &overBudget{StopTokens, fmt.Sprintf("%d of %d tokens are spent, and the next request may take %d", p.spent.tokens, p.limit.tokens, est.tokens)}
	case p.limit.money > 0 && p.spent.money+est.money > p.limit.money:
		over = &overBudget{StopMoney, fmt.Sprintf("%v of %v are spent, and the next request may cost %v", p.spent.money, p.limit.money, est.money)}
	}
	if over != nil {
		up(amount{})
		return nil, over
	}
	p.spent.tokens += est.tokens
	p.spent.money += est.money
	return func(real amount) {
		p.mu.Lock()
		p.spent.tokens += real.tokens - est.tokens
		p.spent.money += real.money - est.money
		p.mu.Unlock()
		up(real)
	}, nil
}

// spawn counts a child all the way up.
func (p *pot) spawn(limit int) error {
	for q := p; q != nil; q = q.up {
		q.mu.Lock()
		n := q.spawns + 1
		if q == p && limit > 0 && n > limit {
			q.mu.Unlock()
			return &overBudget{StopCalls, fmt.Sprintf("%d children were started, the most that one run may", limit)}
		}
		q.spawns = n
		q.mu.Unlock()
	}
	return nil
}

func (p *pot) metersMoney() bool {
	for q := p; q != nil; q = q.up {
		if q.limit.money > 0 {
			return true
		}
	}
	return false
}

// meter is the forecast of one conversation's next request.
type meter struct {
	last     llm.Usage // of the last response
	estimate int       // what Estimate said of the request it answered
	most     int64     // largest output so far
}

// forecast guesses the usage of req. The part of the prompt that the last
// response reported is taken as it was split there; what was added since is
// fresh.
func (m *meter) forecast(req *llm.Request) llm.Usage {
	est := llm.Estimate(req)
	if m.estimate == 0 {
		return llm.Usage{Input: int64(est), Output: max(m.most, 1)}
	}
	added := max(int64(est-m.estimate), 0)
	u := llm.Usage{Input: added, CacheRead: m.last.CacheRead, Output: max(m.most, 1)}
	if m.last.CacheRead+m.last.CacheWrite > 0 {
		u.CacheRead += m.last.CacheWrite
	}
	u.Input += m.last.Input
	return u
}

func (m *meter) saw(req *llm.Request, u *llm.Usage) {
	if u == nil {
		return
	}
	m.estimate, m.last, m.most = llm.Estimate(req), *u, max(m.most, u.Output)
}
