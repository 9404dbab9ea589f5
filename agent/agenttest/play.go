package agenttest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cantle-dev/cantle/agent"
	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/llmtest"
	"github.com/cantle-dev/cantle/session"
	"github.com/cantle-dev/cantle/tool"
)

// play runs the script and writes down its outcome.
func (s *script) play(ctx context.Context) error {
	m := llmtest.New(nil, s.steps...)
	opts := s.opts
	for _, t := range s.tools {
		opts.Tools = append(opts.Tools, t)
	}
	if len(s.deny)+len(s.allow)+len(s.ends) > 0 {
		opts.Middleware = append(opts.Middleware, agent.Middleware{Name: "script", Gate: s.gate})
	}
	opts.Now = func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }
	var ids atomic.Int64
	opts.NewID = func() string { return "id" + strconv.FormatInt(ids.Add(1), 10) }
	a, err := agent.New(m, opts)
	if err != nil {
		return err
	}
	conv, err := session.Open(ctx, new(session.Memory), "script", session.OpenOptions{Create: true})
	if err != nil {
		return err
	}
	defer conv.Close()
	for _, in := range s.inputs {
		var parts llm.Parts
		if in != "" {
			parts = llm.Texts(in)
		}
		w := eventWriter{b: &s.events}
		for ev, err := range a.Stream(ctx, conv, parts...).Events() {
			w.write(ev, err)
		}
		w.flush()
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	reqs := m.Requests()
	if len(reqs) != len(s.steps) {
		return fmt.Errorf("agenttest: the model was asked %d times and the script has %d answers; this is what happened:\n%s", len(reqs), len(s.steps), s.events.String())
	}
	writeRequests(&s.saw, reqs)
	return nil
}

func (s *script) gate(next agent.GateFunc) agent.GateFunc {
	return func(ctx context.Context, t *agent.Turn, c *tool.Call) (*tool.Result, error) {
		if reason, ok := s.ends[c.Name]; ok {
			return nil, agent.Interrupt(reason)
		}
		if reason, ok := s.deny[c.Name]; ok {
			t.Decided(c, agent.Decision{By: agent.ByRule, Reason: "deny " + c.Name})
			return nil, errors.New(reason)
		}
		if reason, ok := s.allow[c.Name]; ok {
			t.Decided(c, agent.Decision{By: agent.ByRule, Reason: reason})
		}
		return next(ctx, t, c)
	}
}

type result struct {
	text    string
	isError bool
}

// scripted is a tool of a script.
type scripted struct {
	spec    tool.Spec
	control tool.Control
	meet    int
	child   bool
	ends    bool

	mu      sync.Mutex
	results []result
	calls   int
	waiting int
	met     chan struct{}
}

func newScripted(name string) *scripted {
	return &scripted{met: make(chan struct{}), spec: tool.Spec{
		Name: name, Description: name + " of the script.",
		Input: json.RawMessage(`{"type":"object"}`), Access: tool.NoAccess,
	}}
}

func (t *scripted) Spec() tool.Spec { return t.spec }

// meetingTime is how long a call waits for the others that it is to meet.
const meetingTime = 10 * time.Second

func (t *scripted) Call(ctx context.Context, c *tool.Call) (*tool.Result, error) {
	t.mu.Lock()
	out := t.results[min(t.calls, len(t.results)-1)]
	t.calls++
	met := t.met
	if t.waiting++; t.waiting == t.meet {
		close(met)
		t.met, t.waiting = make(chan struct{}), 0
	}
	t.mu.Unlock()
	if t.meet > 0 {
		late := time.NewTimer(meetingTime)
		defer late.Stop()
		select {
		case <-met:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-late.C:
			return nil, tool.Fatal(fmt.Errorf("agenttest: %s waited for %d calls at once", t.spec.Name, t.meet))
		}
	}
	var args map[string]any
	if err := json.Unmarshal(c.Input, &args); err != nil {
		return nil, err
	}
	text := os.Expand(out.text, func(name string) string {
		if name == "$" {
			return "$"
		}
		switch v := args[name].(type) {
		case nil:
			return ""
		case string:
			return v
		default:
			return compact(v)
		}
	})
	switch {
	case t.ends:
		return nil, agent.Interrupt(text)
	case t.child:
		return t.start(ctx, c, text)
	}
	return &tool.Result{Parts: llm.Texts(text), IsError: out.isError, Control: t.control}, nil
}

// start runs a child with the agent's own options and model.
func (t *scripted) start(ctx context.Context, c *tool.Call, in string) (*tool.Result, error) {
	turn := agent.FromContext(ctx)
	a, err := agent.New(turn.Model(), turn.Options())
	if err != nil {
		return nil, err
	}
	s, err := session.Open(ctx, turn.Session.Store(), c.ID, session.OpenOptions{Create: true})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	res, err := turn.Run(ctx, c.ID, a, s, llm.Text{Text: in})
	if err != nil {
		return nil, err
	}
	if res.Stop.Status() != agent.StatusCompleted {
		return nil, fmt.Errorf("the agent stopped: %s: %s", res.Stop, res.Reason)
	}
	return tool.Text(res.Text), nil
}

// writeRequests writes what the model saw. What a request has in common with
// the one before is not repeated: that it is the same is what a prompt cache
// needs.
func writeRequests(b *strings.Builder, reqs []*llm.Request) {
	var setup, lines []string
	for i, req := range reqs {
		fmt.Fprintf(b, "request %d\n", i+1)
		lastSetup, last := setup, lines
		setup, lines = setupLines(req), nil
		for _, m := range req.Messages {
			if len(m.Parts) == 0 {
				lines = append(lines, string(m.Role)+" nothing")
			}
			for i, p := range m.Parts {
				from := string(m.Role)
				if i > 0 {
					from = "and" // of the same message
				}
				lines = append(lines, from+" "+partLine(p))
			}
		}
		show := lines
		if i > 0 && slices.Equal(setup, lastSetup) && len(lines) >= len(last) && slices.Equal(lines[:len(last)], last) {
			fmt.Fprintf(b, "\tas before: system, tools, messages of %d part(s)\n", len(last))
			show = lines[len(last):]
		} else {
			show = append(slices.Clone(setup), lines...)
		}
		for _, l := range show {
			fmt.Fprintf(b, "\t%s\n", l)
		}
	}
}

func setupLines(req *llm.Request) []string {
	out := []string{"no system", "no tools"}
	if req.System != "" {
		out[0] = "system " + strconv.Quote(req.System)
	}
	if len(req.Tools) > 0 {
		out[1] = "tools"
		for _, t := range req.Tools {
			out[1] += " " + t.Name
		}
	}
	if req.MaxTokens > 0 {
		out = append(out, fmt.Sprintf("max_tokens %d", req.MaxTokens))
	}
	if req.Effort != "" {
		out = append(out, "effort "+string(req.Effort))
	}
	return out
}
