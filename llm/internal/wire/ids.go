package wire

import (
	"crypto/rand"
	"fmt"
	"slices"
	"strings"

	"github.com/cantle-dev/cantle/llm"
)

// IDs gives each call of one answer an id of its own, where the server gave
// none, or one to several. The zero IDs is ready.
type IDs struct {
	used map[string]bool
	made string
	n    int
}

// Of returns id or, where it is empty or was returned before, another, which
// differs from answer to answer, since a history may hold many.
func (s *IDs) Of(id string) string {
	if s.used == nil {
		s.used = map[string]bool{}
	}
	base := id
	if base == "" {
		if s.made == "" {
			s.made = "call_" + strings.ToLower(rand.Text()[:12])
		}
		base = s.made
	}
	for id == "" || s.used[id] {
		id = fmt.Sprintf("%s_%d", base, s.n)
		s.n++
	}
	s.used[id] = true
	return id
}

// Distinct returns the messages of a conversation with an id of its own for each
// call: some servers begin anew in every answer, and others refuse that. What is
// changed is a copy. The messages that follow make no difference to it.
func Distinct(ms []llm.Message) []llm.Message {
	used := make(map[string]bool, len(ms)/2) // a call in every answer
	for i := range ms {
		for _, p := range ms[i].Parts {
			if c, ok := p.(llm.ToolCall); ok {
				if used[c.ID] {
					return distinct(ms)
				}
				used[c.ID] = true
			}
		}
	}
	return ms
}

func distinct(ms []llm.Message) []llm.Message {
	out := slices.Clone(ms)
	used := map[string]bool{}
	waiting := map[string][]string{} // the new ids of the calls of an id that have no result yet
	for i := range ms {
		parts := slices.Clone(ms[i].Parts)
		fresh, changed := map[string]bool{}, false
		for j, p := range parts {
			switch p := p.(type) {
			case llm.ToolCall:
				id := p.ID
				for n := i; used[id]; n++ {
					id = fmt.Sprintf("%s_%d", p.ID, n)
				}
				used[id] = true
				if !fresh[p.ID] { // older ones get none any more
					fresh[p.ID], waiting[p.ID] = true, nil
				}
				waiting[p.ID] = append(waiting[p.ID], id)
				if id != p.ID {
					p.ID, p.Raw = id, nil
					parts[j], changed = p, true
				}
			case llm.ToolResult:
				ids := waiting[p.CallID]
				if len(ids) == 0 {
					continue
				}
				if len(ids) > 1 {
					waiting[p.CallID] = ids[1:]
				}
				if ids[0] != p.CallID {
					p.CallID = ids[0]
					parts[j], changed = p, true
				}
			}
		}
		if changed {
			out[i] = llm.Message{Role: ms[i].Role, Parts: parts, Origin: ms[i].Origin}
		}
	}
	return out
}
