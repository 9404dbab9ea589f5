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
// estimate of its input, and an output as large as the largest so far of the
// run and its children. They are passed by about one response at most.
type Budget struct {
	Turns  int           // model responses; default 40, in a child 20
	Errors int           // turns in a row of which every call failed; default 3
	Calls  int           // tool calls that run; default none
	Tokens int64         // input and output together, cached ones too; default none
	Money  llm.Money     // default none; needs a model with a price
	Time   time.Duration // of wall clock; default none
	Depth  int           // how deep children may nest; default 3
	Spawns int           // children in all, theirs too; default 50

	// Soft is the percentage of Turns, Tokens and Money at which a run asks
	// whether to go on to the limit: a [Question] of the kind "limit" with
	// a [Limit] as its data, once for each. A yes goes on; anything else, also
	// that nobody is there to answer, ends the run as the limit would. Where
	// the answer is [ErrPending] the question is in Result.Questions; a later
	// run has a budget of its own. A child has no soft limits of its own: it
	// asks for those of the runs above it, whose budget it spends. Default
	// none; 100 and above are none.
	Soft int
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

// pot is one node of the budget tree. What is taken from it is taken from all
// above it, or from none.
type pot struct {
	up        *pot
	limit     amount
	soft      amount
	maxSpawns int
	asking    chan struct{} // held by who asks about a soft limit

	mu     sync.Mutex
	spent  amount // with what is reserved
	spawns int
	most   int64 // the largest output so far
	asked  struct{ tokens, money bool }
	closed *haltError // the user said no
}

type amount struct {
	tokens int64
	money  llm.Money
}

func newPot(b Budget, parent *Turn) *pot {
	p := &pot{
		limit:     amount{max(b.Tokens, 0), max(b.Money, 0)},
		maxSpawns: b.Spawns,
		asking:    make(chan struct{}, 1),
	}
	if parent != nil {
		p.up = parent.r.pot
	} else {
		p.soft = amount{b.softOf(p.limit.tokens), llm.Money(b.softOf(int64(p.limit.money)))}
	}
	return p
}

// softOf is the soft part of a limit; 0 is none.
func (b Budget) softOf(limit int64) int64 {
	if b.Soft <= 0 || b.Soft >= 100 || limit <= 0 {
		return 0
	}
	return limit/100*int64(b.Soft) + limit%100*int64(b.Soft)/100
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
	if over := p.over(est); over != nil {
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

// over says which limit of p est would pass. p is locked.
func (p *pot) over(est amount) *haltError {
	switch {
	case p.closed != nil:
		return p.closed
	case p.limit.tokens > 0 && p.spent.tokens+est.tokens > p.limit.tokens:
		return &haltError{StopTokens, fmt.Sprintf("%d of %d tokens are spent, and the next request may take %d", p.spent.tokens, p.limit.tokens, est.tokens)}
	case p.limit.money > 0 && p.spent.money+est.money > p.limit.money:
		return &haltError{StopMoney, fmt.Sprintf("%v of %v are spent, and the next request may cost %v", p.spent.money, p.limit.money, est.money)}
	}
	return nil
}

// spawn counts a child all the way up, or nowhere.
func (p *pot) spawn() error {
	for q := p; q != nil; q = q.up {
		q.mu.Lock()
		n := q.spawns
		full := q.maxSpawns > 0 && n >= q.maxSpawns
		if !full {
			q.spawns++
		}
		q.mu.Unlock()
		if !full {
			continue
		}
		for back := p; back != q; back = back.up {
			back.mu.Lock()
			back.spawns--
			back.mu.Unlock()
		}
		return &haltError{StopSpawns, fmt.Sprintf("%d agents were started, the most that one run may: do this part without another", n)}
	}
	return nil
}

// saw takes note of a response's output, all the way up.
func (p *pot) saw(u *llm.Usage) {
	for q := p; q != nil && u != nil; q = q.up {
		q.mu.Lock()
		q.most = max(q.most, u.Output)
		q.mu.Unlock()
	}
}

// largest is the largest output so far of the run or of any that spends from
// the same budget: the first request of a child is forecast by its siblings.
func (p *pot) largest() int64 {
	for p.up != nil {
		p = p.up
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return max(p.most, 1)
}

func (p *pot) metersMoney() bool {
	for q := p; q != nil; q = q.up {
		if q.limit.money > 0 {
			return true
		}
	}
	return false
}

func (p *pot) metersTokens() bool {
	for q := p; q != nil; q = q.up {
		if q.limit.tokens > 0 {
			return true
		}
	}
	return false
}

// Left is what a run may spend at most: the least of its own limits and what
// is left of those above it. 0 turns and a nil amount are no limit.
type Left struct {
	Turns  int        `json:"turns,omitempty"`
	Tokens *int64     `json:"tokens,omitempty"`
	Money  *llm.Money `json:"money,omitempty"`
}

func (p *pot) left(turns int) *Left {
	l := Left{Turns: max(turns, 0)}
	for q := p; q != nil; q = q.up {
		q.mu.Lock()
		if left := max(q.limit.tokens-q.spent.tokens, 0); q.limit.tokens > 0 && (l.Tokens == nil || left < *l.Tokens) {
			l.Tokens = &left
		}
		if left := max(q.limit.money-q.spent.money, 0); q.limit.money > 0 && (l.Money == nil || left < *l.Money) {
			l.Money = &left
		}
		q.mu.Unlock()
	}
	if l == (Left{}) {
		return nil
	}
	return &l
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

// meter is the forecast of one conversation's next request.
type meter struct {
	last     llm.Usage // of the last response
	estimate int       // what was estimated of the request it answered

	// The estimate of the view grows with it and is not made anew.
	fixed int          // of the system prompt and the tools
	base  *llm.Message // the first of the messages that were counted
	count int
	sum   int
}

// size estimates the tokens of req, whose messages are a session's view. A view
// that starts at the same place in memory is one that was added to.
func (m *meter) size(req *llm.Request) int {
	if m.fixed == 0 {
		m.fixed = llm.Estimate(&llm.Request{System: req.System, Tools: req.Tools})
	}
	ms := req.Messages
	if len(ms) == 0 {
		return m.fixed
	}
	if m.base != &ms[0] || m.count > len(ms) {
		m.base, m.count, m.sum = &ms[0], 0, 0
	}
	for _, msg := range ms[m.count:] {
		m.sum += msg.Estimate()
	}
	m.count = len(ms)
	return m.fixed + m.sum
}

// forecast guesses the usage of req. The part of the prompt that the last
// response reported is taken as it was split there; what was added since is
// fresh.
func (m *meter) forecast(req *llm.Request, output int64) llm.Usage {
	est := m.size(req)
	if m.estimate == 0 {
		return llm.Usage{Input: int64(est), Output: output}
	}
	added := max(int64(est-m.estimate), 0)
	u := llm.Usage{Input: added, CacheRead: m.last.CacheRead, Output: output}
	if m.last.CacheRead+m.last.CacheWrite > 0 {
		u.CacheRead += m.last.CacheWrite
	}
	u.Input += m.last.Input
	return u
}

// saw takes note of what the request really took.
func (m *meter) saw(req *llm.Request, u *llm.Usage) {
	if u != nil {
		m.estimate, m.last = m.size(req), *u
	}
}
