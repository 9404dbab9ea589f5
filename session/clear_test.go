package session_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/session"
)

// TestClears takes out of the view what is large in it, wherever in the journal
// that is: in results that came one by one, of calls whose ids come again, and
// of calls of which some are still open.
func TestClears(t *testing.T) {
	big := strings.Repeat("x", 5000)
	image := llm.Blob{MIME: "image/png", Data: []byte(big)}
	s := start(t,
		session.Message{Message: llm.Message{Role: llm.RoleUser, Parts: llm.Parts{llm.Text{Text: "look"}, image}}},
		calls("a", "b"), results("a", big), results("b", big),
		calls("a"), results("a", big),
		calls("c", "d"), results("d", big),
	)
	cuts := llm.Shrink(s.Messages(), llm.ShrinkOptions{Least: 1 << 30})
	names := s.Clears(cuts...)
	if got := strings.Join(names, " "); got != "e0 e2/a e3/b e5/a e7/d" {
		t.Fatal(got)
	}
	for i, c := range cuts {
		add(t, s, session.Compaction{Clear: names[i : i+1], Stub: c.Stub()})
	}
	if left := llm.Shrink(s.Messages(), llm.ShrinkOptions{Least: 1 << 30}); len(left) > 0 {
		t.Errorf("left: %+v", left)
	}
	if got := plain(t, s.Messages()); strings.Contains(got, big) || strings.Count(got, "taken out") != 5 {
		t.Error(got)
	}
	pinned := func(id, pin string) session.Message {
		m := results(id, big)
		m.Pins = map[string]string{id: pin}
		return m
	}
	for _, d := range []session.Data{
		calls("p"), pinned("p", "todo"), calls("q"), pinned("q", "skill:review"), calls("r"), pinned("r", "todo"), calls("s", "t"), pinned("t", "skill:other"),
	} {
		add(t, s, d)
	}
	cuts = llm.Shrink(s.Messages(), llm.ShrinkOptions{Least: 1 << 30})
	if got := fmt.Sprint(s.Clears(cuts...), s.Pinned(cuts...)); got != "[e14/p e16/q e18/r e20/t] [false true true true]" {
		t.Error(got)
	}
	add(t, s, session.Compaction{Summary: big})
	if got := s.Clears(llm.Cut{}, llm.Cut{Message: 9}, llm.Cut{Message: -1}, llm.Cut{CallID: "none"}); strings.Join(got, "") != "" {
		t.Errorf("nowhere: %q", got)
	}
}
