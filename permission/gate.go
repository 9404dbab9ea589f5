package permission

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/cantle-dev/cantle/agent"
	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/tool"
)

// Middleware is the gate of an agent. It is the innermost: whatever hooks make
// of a call, this decides on the result. Children that run with the same options
// pass the same gate, and hold to what was granted to the agent itself.
func (g *Gate) Middleware() agent.Middleware {
	return agent.Middleware{
		Name: "permission", Priority: 1000,
		Start: func(ctx context.Context, t *agent.Turn, _ *agent.Setup) error {
			if s := scopeOf(ctx, t); s.id != t.Session.ID() {
				return nil
			}
			return g.Restore(ctx, t.Session)
		},
		Gate: func(next agent.GateFunc) agent.GateFunc {
			return func(ctx context.Context, t *agent.Turn, c *tool.Call) (*tool.Result, error) {
				if res, err := next(ctx, t, c); res != nil || err != nil {
					return res, err
				}
				return g.gate(ctx, t, c)
			}
		},
		Tool: func(next agent.ToolFunc) agent.ToolFunc {
			return func(ctx context.Context, t *agent.Turn, c *tool.Call) (*tool.Result, error) {
				if tl := t.Tool(c.Name); tl == nil || !tl.Spec().ReadOnly {
					defer g.links.Store(nil) // there may be other files now
				}
				if c.Check != nil {
					// Calls that were decided on with it, and jobs, may have run
					// since, and have made of a path or a repository something else.
					if err := c.Check(tool.Access{}); err != nil {
						return nil, fmt.Errorf("not run, for it is no longer what was decided on: %w: make the call again if it is still wanted", err)
					}
				}
				return next(context.WithValue(ctx, scopeKey{}, scopeOf(ctx, t)), t, c)
			}
		},
	}
}

// Reply is what an answer to the gate's question may hold, apart from yes and
// no: see [Reply.Data].
type Reply struct {
	// Input is put in place of the call's own. It is checked and decided on anew.
	Input json.RawMessage `json:"input,omitempty"`
	// Always grants what the question suggested, for the destination given: with
	// it, calls of this kind are not asked about again.
	Always Destination `json:"always,omitempty"`
	// Updates are further changes of the permissions.
	Updates []Update `json:"updates,omitempty"`
	// Interrupt, with an answer that is no, ends the run and those above it: see
	// [agent.Interrupt].
	Interrupt bool `json:"interrupt,omitempty"`
}

const replyKey = "permission.reply"

// Data is the reply as the Data of an [agent.Answer]. A JSON object of any other
// form there is a new input, and the string "always" grants the whole tool until
// the program ends: what shows the question must say so.
func (r Reply) Data() (json.RawMessage, error) { return json.Marshal(map[string]Reply{replyKey: r}) }

func readReply(data json.RawMessage, name string) (Reply, error) {
	var always string
	if json.Unmarshal(data, &always) == nil && always == "always" {
		return Reply{Updates: []Update{Grant(forProcess, name)}}, nil
	}
	if len(data) == 0 || data[0] != '{' {
		return Reply{}, nil
	}
	var of map[string]json.RawMessage
	if err := json.Unmarshal(data, &of); err != nil {
		return Reply{}, fmt.Errorf("permission: the answer: %w", err)
	}
	raw, ok := of[replyKey]
	if !ok || len(of) != 1 {
		return Reply{Input: data}, nil
	}
	var r Reply
	if err := json.Unmarshal(raw, &r); err != nil {
		return Reply{}, fmt.Errorf("permission: the answer: %w", err)
	}
	return r, nil
}

// decision is the verdict as the journal keeps it.
func (v Verdict) decision() agent.Decision {
	if v.Rule != nil {
		return agent.Decision{By: agent.ByRule, Reason: v.Reason}
	}
	return agent.Decision{By: agent.ByMode, Reason: v.Reason}
}

// maxRewrites bounds how often answers may change one call.
const maxRewrites = 16

func (g *Gate) gate(ctx context.Context, t *agent.Turn, c *tool.Call) (*tool.Result, error) {
	tl := t.Tool(c.Name)
	for range maxRewrites {
		spec := tl.Spec()
		r := Request{Spec: spec, Input: c.Input, Dir: c.Dir, Session: scopeOf(ctx, t).id}
		if spec.Access != nil {
			acc, err := spec.Access(ctx, c)
			if err != nil {
				return tool.Error(err.Error()), nil // for the model: nothing to ask about
			}
			if r.Access = acc; acc == nil {
				r.Access = []tool.Access{}
			}
		}
		st := g.state(r.Session)
		st.run = true
		v, acc := g.judge(st, r)
		c.Access = acc
		switch v.Effect {
		case Deny:
			t.Decided(c, v.decision())
			return nil, errors.New(v.Reason)
		case Allow:
			t.Decided(c, v.decision())
			c.Check = g.check(r, v, nil)
			return nil, nil
		}
		g.replay(t, c.ID, r, v.Suggest)
		q := &agent.Question{Kind: "approve", Basis: v.basis(), Call: &agent.QuestionCall{ID: c.ID, Name: c.Name, Input: c.Input, Access: acc}}
		var err error
		if q.Data, err = json.Marshal(v); err != nil {
			return nil, err
		}
		if p, ok := tl.(tool.Previewer); ok {
			pre, err := p.Preview(ctx, c)
			if err != nil {
				return tool.Error(err.Error()), nil
			}
			if pre != nil && v.Text != "" {
				shown := *pre
				shown.Text = v.Text // what runs, and not what was written
				pre = &shown
			}
			q.Call.Preview = pre
		}
		a, err := g.ask(ctx, t, q)
		if err != nil {
			return nil, err
		}
		reply, err := readReply(a.Data, spec.Name)
		if err != nil {
			return nil, err
		}
		if !a.OK {
			return nil, g.refused(ctx, t, v, a.Reason, reply)
		}
		for _, u := range reply.Updates {
			if v.Firm && u.Behavior != Deny && u.Behavior != Ask && u.Type == AddRules {
				continue // no rule would lift what was asked about
			}
			if u.Destination == forProcess && slices.Contains(v.Needs, reach) {
				continue // nor is one for the whole tool about the network
			}
			if err := g.record(ctx, t, u); err != nil {
				t.Emit(agent.Warning{Text: err.Error()})
			}
		}
		if reply.Always != "" && !v.Firm && len(v.Suggest) > 0 {
			var rules []string
			for _, s := range v.Suggest {
				rules = append(rules, s.Rule)
			}
			if err := g.record(ctx, t, Grant(reply.Always, rules...)); err != nil {
				t.Emit(agent.Warning{Text: err.Error()}) // this call was allowed all the same
			}
		}
		if len(reply.Input) > 0 && string(reply.Input) != string(c.Input) {
			if c.Input, err = normal(tl, reply.Input); err != nil {
				return tool.Error("The user changed the arguments into some that do not fit: " + err.Error()), nil
			}
			continue // decided on again
		}
		// The mode, the rules and the files may have changed while the question
		// was open.
		now := g.Judge(r)
		if now.Effect == Deny {
			t.Decided(c, now.decision())
			return nil, errors.New(now.Reason)
		}
		if now.beyond(v) {
			continue // which is another question
		}
		c.Check = g.check(r, v, acc)
		return nil, nil
	}
	return nil, errors.New("the call, or what it would touch, was changed too often")
}

// basis is what an answer to the question of v is bound to: why it asks.
func (v Verdict) basis() string {
	why := "needs\n" + strings.Join(v.Needs, "\n")
	if v.Firm {
		why = "firm\n" + v.Reason
	}
	sum := sha256.Sum256([]byte(why)) // it may hold what is not to be recorded
	return hex.EncodeToString(sum[:12])
}

// beyond reports whether a verdict of now is one that what became of an earlier
// one says nothing about: that one was an Allow, or a question that was answered
// with yes.
func (v Verdict) beyond(was Verdict) bool {
	switch {
	case v.Effect == Allow:
		return false
	case v.Effect == Deny || was.Effect == Allow:
		return true
	case v.Firm:
		return !was.Firm || v.Reason != was.Reason
	}
	return !was.Firm && slices.ContainsFunc(v.Needs, func(n string) bool { return !slices.Contains(was.Needs, n) })
}

func normal(tl tool.Tool, input json.RawMessage) (json.RawMessage, error) {
	if n, ok := tl.(tool.Normalizer); ok {
		return n.Normalize(input)
	}
	if schema := tl.Spec().Input; len(schema) > 0 {
		return input, tool.Validate(schema, input)
	}
	return input, nil
}

// refused is the error of a call to which the user said no.
func (g *Gate) refused(ctx context.Context, t *agent.Turn, v Verdict, reason string, reply Reply) error {
	for _, u := range reply.Updates { // such as never to do this again
		if err := g.record(ctx, t, u); err != nil {
			t.Emit(agent.Warning{Text: err.Error()})
		}
	}
	if reason == "" {
		reason = "the user said no"
	}
	if !reply.Interrupt {
		return fmt.Errorf("%s: %s", v.Reason, reason)
	}
	return agent.Interrupt(reason)
}

// ErrUnanswered means that nobody answered a question in time.
var ErrUnanswered = errors.New("nobody answered in time")

// ask puts a question, for as long as it may wait. An asker that does not return
// when its context ends is left behind.
func (g *Gate) ask(ctx context.Context, t *agent.Turn, q *agent.Question) (*agent.Answer, error) {
	if g.o.AskTimeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, g.o.AskTimeout, fmt.Errorf("%w: %v", ErrUnanswered, g.o.AskTimeout))
		defer cancel()
	}
	if t.Options().Parallel != nil { // a durable engine, which takes no goroutines
		a, err := t.Ask(ctx, q)
		return a, unanswered(ctx, err)
	}
	type answer struct {
		a   *agent.Answer
		err error
	}
	got := make(chan answer, 1)
	go func() {
		out := answer{err: errors.New("the question could not be put: what asks broke down")}
		defer func() {
			if p := recover(); p != nil {
				out = answer{err: fmt.Errorf("the question could not be put: %v", p)}
			}
			got <- out
		}()
		out.a, out.err = t.Ask(ctx, q)
	}()
	select {
	case out := <-got:
		return out.a, unanswered(ctx, out.err)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// unanswered says why no answer came, where that is the time.
func unanswered(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil && errors.Is(context.Cause(ctx), ErrUnanswered) {
		return context.Cause(ctx)
	}
	return err
}

// check is what a running tool may ask of a path that it comes across. What the
// user approved, he allowed with all that is in it, but for what is denied and,
// unless the question was about just that, for what is asked about firmly. No
// access at all is the call itself: whether it may still run as was decided.
func (g *Gate) check(r Request, was Verdict, approved []tool.Access) func(tool.Access) error {
	st := g.state(r.Session)
	st.run = true
	names := namesOf(r.Spec)
	var once sync.Once
	return func(a tool.Access) error {
		if a == (tool.Access{}) {
			if now := g.Judge(r); now.beyond(was) {
				return errors.New(now.Reason)
			}
			return nil
		}
		// Hard links are looked for only if there are any to what matters.
		once.Do(func() { st.aliases() })
		d := &decision{st: st, r: r, names: names}
		d.r.Access = []tool.Access{a}
		d.acc = d.r.Access
		d.own = st.found(a)
		d.all = d.own
		v := d.decide()
		if v.Effect == Ask && (!v.Firm || was.Firm) {
			for _, ok := range approved {
				if ok.Op == a.Op && within(ok.Target, a.Target) {
					return nil
				}
			}
		}
		if v.Effect != Allow {
			return errors.New(v.Reason)
		}
		return nil
	}
}

// found is a path that a running tool came across: one without links, as walks
// find them.
func (st *state) found(a tool.Access) []touched {
	if a.Op != tool.Read && a.Op != tool.Write {
		return st.ofTool([]tool.Access{a}, "")
	}
	t := touched{op: a.Op, shown: a.Target, ways: []string{a.Target}}
	if st.links.many {
		t.ways = st.aliased(t.ways)
	}
	return []touched{t}
}

// maxReplay bounds the earlier calls that a rule is held against.
const maxReplay = 200

// replay counts which of the session's earlier calls of the tool each suggested
// rule would have been for.
func (g *Gate) replay(t *agent.Turn, id string, r Request, suggest []Suggestion) {
	if len(suggest) == 0 || r.Spec.Access == nil {
		return
	}
	var past []Request
	messages := t.Session.Messages()
	for i := len(messages) - 1; i >= 0 && len(past) < maxReplay; i-- {
		for _, p := range messages[i].Parts {
			c, ok := p.(llm.ToolCall)
			if !ok || c.Name != r.Spec.Name || c.ID == id {
				continue
			}
			acc, err := r.Spec.Access(context.Background(), &tool.Call{Name: c.Name, Input: c.Input, Dir: r.Dir})
			if err != nil || acc == nil {
				continue
			}
			past = append(past, Request{Spec: r.Spec, Input: c.Input, Dir: r.Dir, Access: acc})
		}
	}
	st := g.state(r.Session)
	for i := range suggest {
		rule, err := parseRule(Rule{Text: suggest[i].Rule, Effect: Allow}, g.at)
		if err != nil {
			continue
		}
		suggest[i].Of = len(past)
		for _, q := range past {
			if st.matchesCall(rule, q) {
				suggest[i].Matched++
			}
		}
	}
}
