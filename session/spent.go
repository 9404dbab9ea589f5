package session

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/cantle-dev/cantle/llm"
)

// SpentNote is the Kind of a [Note] whose data is a [SideSpent].
const SpentNote = "session.spent"

// SideSpent is what a run used apart from the messages of its conversation: by
// a child, or by a side call, such as for a summary. It is part of what the
// run's [RunEnded] sums up, except where it comes after that.
type SideSpent struct {
	Run      string     `json:"run"`
	Purpose  string     `json:"purpose"`
	Path     string     `json:"path,omitempty"` // of the agent
	Model    string     `json:"model,omitempty"`
	Requests int        `json:"requests,omitempty"` // where it is not one
	Usage    *llm.Usage `json:"usage"`              // null: not reported
	Cost     *llm.Money `json:"cost"`               // null: unknown
}

// Note is s as it is recorded.
func (s SideSpent) Note() (Note, error) {
	b, err := json.Marshal(s)
	if err != nil {
		return Note{}, fmt.Errorf("session: what %s spent: %w", s.Purpose, err)
	}
	return Note{Kind: SpentNote, Data: b}, nil
}

// Spent adds up what the runs on the path used, those of children included.
// What a run used that did not come to its end is counted by its messages.
// So are, then, its children and side calls: see [SideSpent]. The cost is nil
// if that of any of them is unknown.
func (s *Session) Spent(ctx context.Context) (llm.Usage, *llm.Money, error) {
	var sum, open spent
	ended := map[string]bool{}
	for e, err := range s.Path(ctx, "message", "run_started", "run_ended", notePrefix+SpentNote) {
		if err != nil {
			return llm.Usage{}, nil, err
		}
		switch d := e.Data.(type) {
		case RunStarted:
			sum.add(open)
			open = spent{}
		case RunEnded:
			sum.add(spent{d.Usage, deref(d.Cost), d.Cost == nil && d.Usage != (llm.Usage{})})
			open = spent{}
			ended[d.RunID] = true
		case Note:
			var side SideSpent
			if err := json.Unmarshal(d.Data, &side); err != nil {
				return llm.Usage{}, nil, fmt.Errorf("session %s: entry %s: what was spent: %w", s.id, e.ID, err)
			}
			if side.Usage == nil {
				continue
			}
			more := spent{*side.Usage, deref(side.Cost), side.Cost == nil}
			if ended[side.Run] { // a child that outlived its run
				sum.add(more)
			} else {
				open.add(more)
			}
		case Message:
			if d.Usage != nil {
				open.add(spent{*d.Usage, deref(d.Cost), d.Cost == nil})
			}
		}
	}
	sum.add(open)
	if sum.unknown {
		return sum.usage, nil, nil
	}
	return sum.usage, &sum.cost, nil
}

type spent struct {
	usage   llm.Usage
	cost    llm.Money
	unknown bool
}

func (s *spent) add(o spent) {
	s.usage.Add(o.usage)
	s.cost += o.cost
	s.unknown = s.unknown || o.unknown
}

func deref(m *llm.Money) llm.Money {
	if m == nil {
		return 0
	}
	return *m
}
