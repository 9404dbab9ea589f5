package session

import "github.com/cantle-dev/cantle/llm"

// place is where a message of the view is in the journal.
type place struct {
	entry   string   // what is not a result of a call; "" is nowhere
	results []string // "entry/call" of each result; "" is nowhere
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

func (v *view) clears(c llm.Cut) string {
	msgs := v.messages()
	if c.Message < 0 || c.Message >= len(msgs) {
		return ""
	}
	at := place{results: v.gotAt} // of the calls that are still open
	if c.Message < len(v.places) {
		at = v.places[c.Message]
	}
	if c.CallID == "" {
		return at.entry
	}
	n := 0
	for _, p := range msgs[c.Message].Parts {
		r, ok := p.(llm.ToolResult)
		if !ok {
			continue
		}
		if r.CallID == c.CallID && n < len(at.results) {
			return at.results[n]
		}
		n++
	}
	return ""
}
