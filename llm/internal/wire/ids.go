package wire

import (
	"crypto/rand"
	"fmt"
	"strings"
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
