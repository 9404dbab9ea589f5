package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/cantle-dev/cantle/agent"
	"github.com/cantle-dev/cantle/internal/app"
	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/session"
)

// Line is a line of run --input stream-json.
type Line struct {
	Type   string `json:"type"` // user, steer, followup, answer, interrupt
	Text   string `json:"text,omitempty"`
	ID     string `json:"id,omitempty"` // of the question that an answer is for
	OK     bool   `json:"ok,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Always, with a yes, grants the rules that the question suggests, for the session
	// or in a file of the user's own.
	Always string `json:"always,omitempty"`
}

// wrong says what is wrong with a line that was read.
func (l Line) wrong() error {
	switch {
	case !slices.Contains([]string{"user", "steer", "followup", "answer", "interrupt"}, l.Type):
		return fmt.Errorf("this line of input has the type %q: use user, steer, followup, answer or interrupt", l.Type)
	case l.Always == "":
		return nil
	case l.Type != "answer" || !l.OK:
		return errors.New("this line of input has always, which goes with the type answer and a yes alone")
	case !slices.Contains(destinations, l.Always):
		return fmt.Errorf("this line of input has the always %q: use %s", l.Always, strings.Join(destinations, ", "))
	}
	return nil
}

// destinations are what a yes for more than once can be for.
var destinations = []string{"session", "localSettings", "userSettings"}

// granting is the data of a yes that grants what was suggested.
func granting(to string) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"permission.reply":{"always":%q}}`, to))
}

// maxLine bounds a line of input.
const maxLine = 16 << 20

// conversation reads lines of JSON from standard input while a run goes on.
type conversation struct {
	sc *bufio.Scanner

	mu      sync.Mutex
	answers map[string]chan *agent.Answer
	early   map[string]*agent.Answer // came before their questions
	ended   bool
}

func newConversation(r io.Reader) *conversation {
	sc := bufio.NewScanner(r)
	sc.Buffer(nil, maxLine)
	return &conversation{sc: sc, answers: map[string]chan *agent.Answer{}, early: map[string]*agent.Answer{}}
}

// next returns the next line that is not blank.
func (c *conversation) next() (Line, error) {
	for c.sc.Scan() {
		text := strings.TrimSpace(c.sc.Text())
		if text == "" {
			continue
		}
		dec := json.NewDecoder(strings.NewReader(text))
		dec.DisallowUnknownFields()
		var l Line
		if err := dec.Decode(&l); err != nil {
			return l, fmt.Errorf("this line of input is not understood: %w", err)
		}
		if _, err := dec.Token(); !errors.Is(err, io.EOF) {
			return l, errors.New("this line of input is not understood: one object is wanted, more came")
		}
		return l, l.wrong()
	}
	switch err := c.sc.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return Line{}, &endError{fmt.Errorf("standard input: a line is longer than %d MiB, and what follows is not read", maxLine>>20)}
	case err != nil:
		return Line{}, &endError{fmt.Errorf("standard input: %w", err)}
	}
	return Line{}, io.EOF
}

// endError is that the input ended in a failure: it is an io.EOF too.
type endError struct{ err error }

func (e *endError) Error() string   { return e.err.Error() }
func (e *endError) Unwrap() []error { return []error{e.err, io.EOF} }

// failed reports whether err ended the input otherwise than in order.
func failed(err error) bool {
	_, ok := errors.AsType[*endError](err)
	return ok
}

// first returns the prompt that opens the conversation. A session that is gone
// on with may open with the answer to a question that waits, or with nothing.
func (c *conversation) first(_ context.Context, resumed bool) (string, error) {
	l, err := c.next()
	switch {
	case resumed && err == nil && l.Type == "answer":
		c.answer(l)
		return "", nil
	case resumed && errors.Is(err, io.EOF) && !failed(err):
		c.end()
		return "", nil
	}
	if err == nil && l.Type != "user" {
		err = fmt.Errorf("the first line of input must be of the type user, not %s", l.Type)
	}
	if errors.Is(err, io.EOF) && !failed(err) {
		err = errors.New("there is no prompt: standard input has no line of the type user")
	}
	if err != nil {
		return "", app.Usage("%w", err)
	}
	return l.Text, nil
}

// unasked is an error where the input began with a no, and no question of the
// session waits for one: a run that goes on would do what was refused. It was
// perhaps the answer whether to go on to a limit.
func (c *conversation) unasked(s *session.Session) error {
	if c == nil || len(s.Pending()) > 0 {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, a := range c.early {
		if !a.OK {
			return app.Usage("the answer to %q is no, and no question of session %s waits for one: nothing was run", id, s.ID())
		}
	}
	clear(c.early)
	return nil
}

// errByHost is why a run ended that the input interrupted.
var errByHost = errors.New("interrupted by the host")

// follow takes what comes while the run goes on. Lines that are not understood
// are answered with a warning, and the run goes on.
func (c *conversation) follow(ctx context.Context, st *agent.Stream, stop context.CancelCauseFunc, out output) {
	for {
		l, err := c.next()
		switch {
		case errors.Is(err, io.EOF):
			if failed(err) && ctx.Err() == nil {
				out.complain(err.Error())
			}
			c.end()
			return
		case err != nil:
			out.complain(err.Error())
			continue
		}
		switch l.Type {
		case "user", "followup":
			st.FollowUp(llm.Text{Text: l.Text})
		case "steer":
			st.Steer(llm.Text{Text: l.Text})
		case "interrupt":
			stop(errByHost)
		case "answer":
			c.answer(l)
		}
	}
}

func (c *conversation) answer(l Line) {
	a := &agent.Answer{OK: l.OK, Reason: l.Reason, Question: l.ID}
	if l.Always != "" {
		a.Data = granting(l.Always)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if ch, ok := c.answers[l.ID]; ok {
		delete(c.answers, l.ID)
		ch <- a
		return
	}
	c.early[l.ID] = a
}

// end tells the questions that wait that no answer will come.
func (c *conversation) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	for id, ch := range c.answers {
		delete(c.answers, id)
		close(ch)
	}
}

// ask waits for the answer. When the input has ended, the run ends as pending.
func (c *conversation) ask(ctx context.Context, _ *agent.Turn, q *agent.Question) (*agent.Answer, error) {
	c.mu.Lock()
	if a, ok := c.early[q.ID]; ok {
		delete(c.early, q.ID)
		c.mu.Unlock()
		return a, nil
	}
	if c.ended {
		c.mu.Unlock()
		return nil, agent.ErrPending
	}
	ch := make(chan *agent.Answer, 1)
	c.answers[q.ID] = ch
	c.mu.Unlock()
	select {
	case a, ok := <-ch:
		if !ok {
			return nil, agent.ErrPending
		}
		return a, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
