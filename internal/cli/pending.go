package cli

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/cantle-dev/cantle/agent"
	"github.com/cantle-dev/cantle/session"
)

// settle puts the questions that an earlier run of the session ended on, and
// records their answers, so that the run that follows carries the calls out.
// What nobody answers goes on waiting.
func settle(ctx context.Context, s *session.Session, ask agent.AskFunc) error {
	for _, p := range s.Pending() {
		if p.State != session.PendingAsked {
			continue
		}
		var q agent.Question
		if err := json.Unmarshal(p.Question, &q); err != nil {
			return fmt.Errorf("session %s: the question about call %q cannot be read: %w", s.ID(), p.CallID, err)
		}
		a, err := ask(ctx, nil, &q)
		switch {
		case ctx.Err() != nil:
			return nil // the run says that it was ended
		case errors.Is(err, agent.ErrPending):
			continue // the run says that it waits
		case err != nil:
			return err
		}
		b, err := json.Marshal(a)
		if err != nil {
			return err
		}
		if err := s.Answer(ctx, rand.Text(), time.Now(), p.CallID, b); err != nil {
			return err
		}
	}
	return nil
}

// waiting answers the questions that wait in the session, before the run; nil
// leaves them. Whoever goes on with a prompt goes on without answering, unless
// --yes answers.
func (f *runFlags) waiting(ask agent.AskFunc, conv *conversation, out output, prompt bool) agent.AskFunc {
	if conv != nil {
		ask = conv.recorded(out)
	}
	switch {
	case f.yes:
		if prompt {
			ask = nil
		}
		return yes(ask)
	case prompt:
		return nil
	}
	return ask
}

// yes answers what a mode asks, and that a run may go on to a limit of its own.
// What only a person may answer is left to ask.
func yes(ask agent.AskFunc) agent.AskFunc {
	return func(ctx context.Context, t *agent.Turn, q *agent.Question) (*agent.Answer, error) {
		switch {
		case q.Kind == "limit", q.Kind == "approve" && !whyOf(q).Firm:
			return &agent.Answer{OK: true}, nil
		case ask == nil:
			return nil, agent.ErrPending
		}
		return ask(ctx, t, q)
	}
}

// recorded answers a question that waits from an earlier run: the answers are
// the first lines of the input, and no run goes on yet that other lines could
// be for.
func (c *conversation) recorded(out output) agent.AskFunc {
	return func(ctx context.Context, t *agent.Turn, q *agent.Question) (*agent.Answer, error) {
		for !c.knows(q.ID) {
			l, err := c.next()
			switch {
			case errors.Is(err, io.EOF):
				c.end()
				return nil, agent.ErrPending
			case err != nil:
				out.complain(err.Error())
			case l.Type == "interrupt":
				c.end()
				return nil, agent.ErrPending
			case l.Type != "answer":
				out.complain(fmt.Sprintf("a question waits: a line of the type answer with the id %q comes first, not one of the type %s", q.ID, l.Type))
			default:
				c.answer(l)
			}
		}
		return c.ask(ctx, t, q)
	}
}

// knows reports whether a question is answered, or never will be.
func (c *conversation) knows(id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.early[id]
	return ok || c.ended
}

// onward says yes to what goes on to a limit that holds anyway. With nobody to
// ask, every other question is answered no, as without it.
func onward(ask agent.AskFunc) agent.AskFunc {
	return func(ctx context.Context, t *agent.Turn, q *agent.Question) (*agent.Answer, error) {
		switch {
		case q.Kind == "limit":
			return &agent.Answer{OK: true}, nil
		case ask == nil:
			return &agent.Answer{Reason: "nobody is there to answer"}, nil
		}
		return ask(ctx, t, q)
	}
}
