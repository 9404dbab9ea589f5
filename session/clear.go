package session

import "github.com/cantle-dev/cantle/llm"

// place is where a message of the view is in the journal.
type place struct {
	entry   string // what is not a result of a call; "" is nowhere
	results []spot // one for each result
}

// spot is where a result is, and what pins it.
type spot struct {
	name string // "entry/call"; "" is nowhere
	pin  string
}

// Clears says how a [Compaction] names what the cuts take out of the view, which
// are of [Session.Messages] as it is now: one name for each cut, for
// [Compaction].Clear. It is "" for what is not in the journal, such as a summary.
func (s *Session) Clears(cuts ...llm.Cut) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	names := make([]string, len(cuts))
	for i, c := range cuts {
		names[i] = s.view.clears(c)
	}
	return names
}

// Pinned reports of each cut whether it takes out a result that its tool pinned,
// and that no later one took the place of. Such a result stays in view when
// others are cleared, as long as there are others.
func (s *Session) Pinned(cuts ...llm.Cut) []bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := map[string]string{}
	note := func(spots []spot) {
		for _, r := range spots {
			if r.pin != "" {
				last[r.pin] = r.name
			}
		}
	}
	for _, at := range s.view.places {
		note(at.results)
	}
	note(s.view.gotAt)
	pinned := make([]bool, len(cuts))
	for i, c := range cuts {
		r := s.view.spot(c)
		pinned[i] = r.pin != "" && last[r.pin] == r.name
	}
	return pinned
}

func (v *view) clears(c llm.Cut) string {
	if c.CallID != "" {
		return v.spot(c).name
	}
	if c.Message < 0 || c.Message >= len(v.places) {
		return ""
	}
	return v.places[c.Message].entry
}

// spot is where the result is that c takes out.
func (v *view) spot(c llm.Cut) spot {
	msgs := v.messages()
	if c.CallID == "" || c.Message < 0 || c.Message >= len(msgs) {
		return spot{}
	}
	spots := v.gotAt // of the calls that are still open
	if c.Message < len(v.places) {
		spots = v.places[c.Message].results
	}
	n := 0
	for _, p := range msgs[c.Message].Parts {
		r, ok := p.(llm.ToolResult)
		if !ok {
			continue
		}
		if r.CallID == c.CallID && n < len(spots) {
			return spots[n]
		}
		n++
	}
	return spot{}
}
