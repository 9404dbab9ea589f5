package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"testing"

	"github.com/cantle-dev/cantle/session"
)

// failing is a store whose reading fails after a number of entries.
type failing struct {
	*session.Memory
	reads int
	asked []string
}

var errDisk = errors.New("disk")

func (f *failing) Read(ctx context.Context, id string, ids ...string) iter.Seq2[session.Entry, error] {
	f.asked = append(f.asked, ids...)
	return func(yield func(session.Entry, error) bool) {
		for e, err := range f.Memory.Read(ctx, id, ids...) {
			if f.reads--; f.reads < 0 {
				yield(session.Entry{}, errDisk)
				return
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

func TestForkThatFailsLeavesNothing(t *testing.T) {
	st := &failing{Memory: new(session.Memory), reads: 1 << 30}
	s, err := session.Open(t.Context(), st, "s", session.OpenOptions{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 1500 {
		add1 := session.Entry{ID: fmt.Sprint(i), Data: user("x")}
		if err := s.Append(t.Context(), add1); err != nil {
			t.Fatal(err)
		}
	}
	st.reads = 1200
	other := new(session.Memory)
	if _, err := s.Fork(t.Context(), other, "f", ""); !errors.Is(err, errDisk) {
		t.Errorf("got %v", err)
	}
	if _, err := session.Open(t.Context(), other, "f", session.OpenOptions{}); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("half a fork is left: %v", err)
	}
}

// TestViewThatCannotBeReadAgain fails the reading that a compaction needs.
// The session says so and goes no further.
func TestViewThatCannotBeReadAgain(t *testing.T) {
	st := &failing{Memory: new(session.Memory), reads: 1 << 30}
	s, err := session.Open(t.Context(), st, "s", session.OpenOptions{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	add(t, s, user("u"), user("v"))
	st.reads = 0
	if err := s.Append(t.Context(), session.Entry{ID: "c", Data: session.Compaction{Summary: "S"}}); !errors.Is(err, errDisk) {
		t.Errorf("got %v", err)
	}
	if err := s.Append(t.Context(), session.Entry{ID: "d", Data: user("w")}); !errors.Is(err, errDisk) {
		t.Errorf("an append afterwards: %v", err)
	}
	if _, err := s.Use(); !errors.Is(err, errDisk) {
		t.Errorf("a run afterwards: %v", err)
	}
	st.reads = 1 << 30
	again, err := session.Open(t.Context(), st, "s", session.OpenOptions{})
	if err != nil || sketch(again.Messages()) != "U:S" {
		t.Errorf("opened again: %v, %v", again, err)
	}
}

// TestOnlyTheNeededIsRead opens a session whose beginning is out of view, and
// asks for notes.
func TestOnlyTheNeededIsRead(t *testing.T) {
	s := start(t, session.Setup{Model: "m"}, session.Note{Kind: "mine", Data: json.RawMessage("1")}, session.Note{Kind: "other", Data: json.RawMessage("1")},
		user("u"), user("v"), session.Compaction{Summary: "S", Keep: "e4"}, session.Note{Kind: "mine", Data: json.RawMessage("2")})
	st := &failing{Memory: s.Store().(*session.Memory), reads: 1 << 30}
	s, err := session.Open(t.Context(), st, "s", session.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(st.asked)
	if want := []string{"e0", "e4", "e5"}; !slices.Equal(st.asked, want) {
		t.Errorf("opening read %v, want %v", st.asked, want)
	}
	if set, ok := s.Setup(); !ok || set.Model != "m" {
		t.Errorf("setup: %v", set)
	}
	st.asked = nil
	var notes []string
	for n, err := range s.Notes(t.Context(), "mine") {
		if err != nil {
			t.Fatal(err)
		}
		notes = append(notes, string(n.Data))
	}
	if !slices.Equal(notes, []string{"1", "2"}) || !slices.Equal(st.asked, []string{"e1", "e6"}) {
		t.Errorf("notes %v, read %v", notes, st.asked)
	}
}
