package llmtest

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cantle-dev/cantle/llm"
)

// Script is a model that answers with its replies in order and keeps the
// requests that it got. It is safe for concurrent use.
type Script struct {
	t testing.TB

	mu       sync.Mutex
	info     llm.Info
	steps    []Reply
	next     int
	calls    int
	requests []*llm.Request
}

// New returns a Script of steps. The test fails if a request does not satisfy
// what its step wants, if there are more requests than steps, or if steps are
// left when the test ends. Outside tests t is nil: the first two are then only
// errors of the stream, and [Script.Left] tells the third.
func New(t testing.TB, steps ...Reply) *Script {
	s := &Script{t: t, steps: steps, info: llm.Info{
		Provider: "test", Name: "script", Wire: "script", Context: 200_000, Output: 32_000,
		Price:  llm.PerMillion(3, 15),
		Traits: llm.Traits{Images: true, PDF: true, Thinking: true, Schema: true, StandIn: true},
	}}
	if t != nil {
		t.Cleanup(func() {
			t.Helper()
			if n := s.Left(); n > 0 {
				t.Errorf("llmtest: %d of the script's %d steps are left: the model was asked %d times", n, len(s.steps), len(s.Requests()))
			}
		})
	}
	return s
}

// SetInfo changes what [Script.Info] says: another window, no price.
func (s *Script) SetInfo(i llm.Info) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.info = i
}

// Info returns the model's data: "test:script", with a window of 200,000
// tokens and a price of $3 and $15 a million, unless it was set.
func (s *Script) Info() llm.Info {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.info
}

// Add appends steps.
func (s *Script) Add(steps ...Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.steps = append(s.steps, steps...)
}

// Left is how many steps were not played yet.
func (s *Script) Left() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.steps) - s.next
}

// Requests returns deep copies of the requests so far, as they were when each
// was sent.
func (s *Script) Requests() []*llm.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*llm.Request(nil), s.requests...)
}

// Stream plays the next step.
func (s *Script) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return once(func(yield func(llm.Event, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(nil, err)
			return
		}
		r, info, err := s.take(req)
		if err != nil {
			if s.t != nil {
				s.t.Errorf("%v", err)
			}
			yield(nil, &llm.Error{Kind: llm.KindInvalidRequest, Provider: info.Provider, Model: info.Name, Message: err.Error()})
			return
		}
		perform(ctx, info, req, r, yield)
	})
}

func (s *Script) take(req *llm.Request) (Reply, llm.Info, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, cloneRequest(req))
	if s.next >= len(s.steps) {
		last := "(none)"
		if n := len(req.Messages); n > 0 {
			last = brief(req.Messages[n-1].Text())
		}
		return Reply{}, s.info, fmt.Errorf("llmtest: request %d, but the script has %d steps; the last message is %s", len(s.requests), len(s.steps), last)
	}
	r := s.steps[s.next]
	s.next++
	r = r.named(func() string { s.calls++; return "call_" + strconv.Itoa(s.calls) })
	for _, m := range r.want {
		if err := m(s.requests[len(s.requests)-1]); err != nil {
			return Reply{}, s.info, fmt.Errorf("llmtest: step %d of %d: %w", s.next, len(s.steps), err)
		}
	}
	return r, s.info, nil
}

// once makes a sequence that runs a single time.
func once(run func(yield func(llm.Event, error) bool)) iter.Seq2[llm.Event, error] {
	var used atomic.Bool
	return func(yield func(llm.Event, error) bool) {
		if used.Swap(true) {
			yield(nil, llm.ErrUsed)
			return
		}
		run(yield)
	}
}

// response is what r comes to, without its faults.
func (r Reply) response(info llm.Info, req *llm.Request) *llm.Response {
	usage := r.usage
	if usage == nil {
		out, thought := r.outputTokens()
		usage = &llm.Usage{Input: int64(llm.Estimate(req)), Output: out, Reasoning: thought}
	} else {
		u := *usage
		usage = &u
	}
	reported := *usage
	return &llm.Response{
		Model: info.Name,
		Message: llm.Message{
			Role: llm.RoleAssistant, Parts: cloneParts(r.parts),
			Origin: &llm.Origin{Provider: info.Provider, Model: info.Name, Wire: info.Wire},
		},
		Stop: r.stopReason(), StopRaw: string(r.stopReason()), Usage: usage, Reported: &reported,
	}
}

// deltas are the events of ps before the end.
func deltas(ps llm.Parts) []llm.Event {
	var evs []llm.Event
	calls := 0
	for _, p := range ps {
		switch p := p.(type) {
		case llm.Text:
			for _, s := range pieces(p.Text, 1000) {
				evs = append(evs, llm.TextDelta{Text: s})
			}
		case llm.Thinking:
			for _, s := range pieces(p.Text, 1000) {
				evs = append(evs, llm.ThinkingDelta{Text: s})
			}
		case llm.ToolCall:
			for _, s := range argPieces(input(p)) {
				evs = append(evs, llm.CallDelta{Index: calls, ID: p.ID, Name: p.Name, Input: s})
			}
			calls++
		}
	}
	return evs
}

// perform streams r in process.
func perform(ctx context.Context, info llm.Info, req *llm.Request, r Reply, yield func(llm.Event, error) bool) {
	fail := func(e *llm.Error) {
		c := *e
		if c.Provider == "" {
			c.Provider = info.Provider
		}
		if c.Model == "" {
			c.Model = info.Name
		}
		yield(nil, &c)
	}
	if r.fault == faultStatus || r.fault == faultPlain {
		e := &llm.Error{Kind: kindOf(r.status), Status: r.status, Message: r.body}
		if e.Message == "" {
			e.Message = http.StatusText(r.status)
		}
		if n, err := strconv.Atoi(r.header.Get("Retry-After")); err == nil {
			e.RetryAfter = time.Duration(n) * time.Second
		}
		fail(e)
		return
	}
	events := deltas(r.parts)
	sent, size := 0, 0
	for _, ev := range events {
		if r.fault == faultCut && r.after >= 0 && sent >= r.after {
			break
		}
		var text string
		switch d := ev.(type) {
		case llm.TextDelta:
			text = d.Text
		case llm.ThinkingDelta:
			text = d.Text
		case llm.CallDelta:
			text = d.Input
		}
		if r.fault == faultCutBytes && size+len(text) > r.after {
			break
		}
		if err := wait(ctx, r.delay); err != nil {
			yield(nil, err)
			return
		}
		if !yield(ev, nil) {
			return
		}
		sent++
		size += len(text)
	}
	if err := wait(ctx, r.pause); err != nil {
		yield(nil, err)
		return
	}
	var partial *llm.Response
	if sent > 0 {
		partial = partialOf(info, events[:sent])
	}
	switch r.fault {
	case faultStall:
		<-ctx.Done()
		yield(nil, ctx.Err())
	case faultCut, faultCutBytes, faultTruncate:
		fail(&llm.Error{Kind: llm.KindTruncated, Status: http.StatusOK, Message: "the stream was cut", Partial: partial})
	case faultMalformed:
		fail(&llm.Error{Kind: llm.KindCorrupt, Status: http.StatusOK, Message: "the stream is malformed", Partial: partial})
	case faultFail:
		e := *r.err
		if e.Kind == "" {
			e.Kind = kindOf(e.Status)
		}
		if e.Partial == nil {
			e.Partial = partial
		}
		fail(&e)
	default:
		if err := ctx.Err(); err != nil {
			yield(nil, err)
			return
		}
		yield(llm.Done{Response: r.response(info, req)}, nil)
	}
}

// partialOf is the response as far as its deltas went.
func partialOf(info llm.Info, evs []llm.Event) *llm.Response {
	var ps llm.Parts
	index := -1
	for _, ev := range evs {
		switch d := ev.(type) {
		case llm.TextDelta:
			if n := len(ps); n > 0 {
				if last, ok := ps[n-1].(llm.Text); ok {
					ps[n-1] = llm.Text{Text: last.Text + d.Text}
					continue
				}
			}
			ps = append(ps, llm.Text{Text: d.Text})
		case llm.ThinkingDelta:
			if n := len(ps); n > 0 {
				if last, ok := ps[n-1].(llm.Thinking); ok {
					ps[n-1] = llm.Thinking{Text: last.Text + d.Text}
					continue
				}
			}
			ps = append(ps, llm.Thinking{Text: d.Text})
		case llm.CallDelta:
			if d.Index == index {
				c := ps[len(ps)-1].(llm.ToolCall)
				ps[len(ps)-1] = toolCall(c.ID, c.Name, []byte(input(c)+d.Input))
				continue
			}
			index = d.Index
			ps = append(ps, toolCall(d.ID, d.Name, []byte(d.Input)))
		}
	}
	return &llm.Response{
		Model: info.Name, Stop: llm.StopError,
		Message: llm.Message{
			Role: llm.RoleAssistant, Parts: ps,
			Origin: &llm.Origin{Provider: info.Provider, Model: info.Name, Wire: info.Wire},
		},
	}
}

// wait sleeps for d, or until the context ends.
func wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

func kindOf(status int) llm.Kind {
	switch status {
	case http.StatusUnauthorized:
		return llm.KindAuth
	case http.StatusPaymentRequired:
		return llm.KindQuota
	case http.StatusForbidden:
		return llm.KindPermission
	case http.StatusNotFound:
		return llm.KindNotFound
	case http.StatusRequestEntityTooLarge:
		return llm.KindTooLarge
	case http.StatusTooManyRequests:
		return llm.KindRateLimit
	case http.StatusServiceUnavailable, 529:
		return llm.KindOverloaded
	}
	if status >= 500 || status == 0 || status == http.StatusRequestTimeout || status == http.StatusConflict {
		return llm.KindServer
	}
	return llm.KindInvalidRequest
}

// statusOf is the inverse of kindOf.
func statusOf(k llm.Kind) int {
	switch k {
	case llm.KindAuth:
		return http.StatusUnauthorized
	case llm.KindQuota:
		return http.StatusPaymentRequired
	case llm.KindPermission:
		return http.StatusForbidden
	case llm.KindNotFound:
		return http.StatusNotFound
	case llm.KindTooLarge:
		return http.StatusRequestEntityTooLarge
	case llm.KindRateLimit:
		return http.StatusTooManyRequests
	case llm.KindOverloaded:
		return 529
	case llm.KindInvalidRequest, llm.KindContextOverflow, llm.KindContentFilter:
		return http.StatusBadRequest
	}
	return http.StatusInternalServerError
}
