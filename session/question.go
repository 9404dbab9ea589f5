package session

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cantle-dev/cantle/llm"
)

// Dangling returns the calls of the last message that have no result, in
// order. While a run goes on they are those that it is carrying out.
func (s *Session) Dangling() []llm.ToolCall {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.view.open()
}

// Pending returns the questions about dangling calls, in the calls' order.
func (s *Session) Pending() []Pending {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.waiting()
}

func (s *Session) waiting() []Pending {
	var out []Pending
	for _, c := range s.view.open() {
		if p, ok := s.pending[c.ID]; ok {
			out = append(out, p)
		}
	}
	return out
}

// Answer records the answer to the question about a call, in any process. The
// next run of the session runs the call, once. A call that no question waits
// for, or whose question is answered already, is an error; so is an answer that
// names another question, as {"question":"ID"}, than the one that waits, which is
// {"id":"ID"}.
func (s *Session) Answer(ctx context.Context, entryID string, t time.Time, callID string, answer json.RawMessage) error {
	if !json.Valid(answer) {
		return fmt.Errorf("session %s: the answer for call %s is not JSON", s.id, callID)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var others []string
	for _, p := range s.waiting() {
		switch {
		case p.CallID == callID && p.State == PendingAsked:
			if err := p.takes(answer); err != nil {
				return fmt.Errorf("session %s: the question about call %q: %w", s.id, callID, err)
			}
			return s.append(ctx, Entry{ID: entryID, Time: t, Data: Pending{CallID: callID, State: PendingAnswered, Answer: answer}})
		case p.CallID == callID:
			return fmt.Errorf("session %s: the question about call %q is %s already", s.id, callID, p.State)
		case p.State == PendingAsked:
			others = append(others, p.CallID)
		}
	}
	if len(others) == 0 {
		return fmt.Errorf("session %s: no question about call %q, or any other, waits for an answer", s.id, callID)
	}
	return fmt.Errorf("session %s: no question about call %q waits for an answer: those that do are about %s", s.id, callID, strings.Join(others, ", "))
}

// takes reports whether the answer is to the question: one to another, which an
// earlier call with the same id may have had, is not.
func (p Pending) takes(answer json.RawMessage) error {
	var q struct{ ID string }
	var a struct{ Question string }
	if json.Unmarshal(answer, &a) != nil || a.Question == "" {
		return nil // it does not say
	}
	if json.Unmarshal(p.Question, &q) == nil && q.ID == a.Question {
		return nil
	}
	return fmt.Errorf("the answer is to the question %q, and the one that waits is %q", a.Question, q.ID)
}

// Queue returns input that was queued and never taken up, in order.
func (s *Session) Queue() []Queued {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.queue)
}
