package wire

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"sync/atomic"

	"github.com/cantle-dev/cantle/llm"
)

// State says how far a [Decoder] has come.
type State int

// The states of an answer.
const (
	// Empty: nothing of the answer has come.
	Empty State = iota
	// Begun: it has begun and is not complete. If the body ends, it was cut.
	Begun
	// Complete: it may end here. If the body ends, or the connection breaks,
	// nothing is lost but what would have followed it, such as counts.
	Complete
	// Done: its end mark was seen, and nothing more is read.
	Done
)

// Decoder builds a response of the events of one answer. It is used by one
// goroutine. Its errors are those of [Stream.Failure], [Stream.Corrupt],
// [Stream.Undecodable] and [Stream.Truncated].
type Decoder interface {
	// Event decodes one event, or a whole answer ([Event.Whole]), after which
	// the state must be Complete or Done. It returns what there is to show,
	// which is used before the next call; also beside an error.
	Event(ev Event) ([]llm.Event, error)
	// State is called after each event and at the end of the body.
	State() State
	// Response is the answer as far as it has come. whole is false if an error
	// ended it: then a call whose arguments may lack their end must be marked
	// Malformed or left out, since nothing of it may run.
	Response(whole bool) *llm.Response
}

// Sequence is the stream of an adapter: it calls open, decodes the answer, and
// yields the deltas and Done, or the error with what came before it as its
// Partial. It can be ranged over once. Stopping early closes the connection.
func Sequence(open func() (*Stream, error), decoder func(*Stream) Decoder) iter.Seq2[llm.Event, error] {
	var used atomic.Bool
	return func(yield func(llm.Event, error) bool) {
		if used.Swap(true) {
			yield(nil, llm.ErrUsed)
			return
		}
		s, err := open()
		if err != nil {
			yield(nil, err)
			return
		}
		defer s.Close()
		s.decode(decoder(s), yield)
	}
}

// maxText is how much text, thinking and arguments an answer may have, in bytes.
// It is many times what any model writes, and one that writes without end is held
// several times over until it is recorded. Files in an answer do not count.
const maxText = 16 << 20

// said is the length of what an event shows.
func said(ev llm.Event) int {
	switch ev := ev.(type) {
	case llm.TextDelta:
		return len(ev.Text)
	case llm.ThinkingDelta:
		return len(ev.Text)
	case llm.CallDelta:
		return len(ev.Input)
	}
	return 0
}

func (s *Stream) decode(d Decoder, yield func(llm.Event, error) bool) {
	text := 0
	for done := false; !done; {
		var out []llm.Event
		ev, err := s.Next()
		switch {
		case err == nil:
			out, err = d.Event(ev)
			done = d.State() == Done
		case d.State() >= Complete && (err == io.EOF || broken(err)):
			err, done = nil, true
		case err == io.EOF:
			err = s.Truncated()
		}
		for _, x := range out {
			text += said(x)
			if !yield(x, nil) {
				return
			}
		}
		if text > maxText && err == nil {
			e := s.fail(llm.KindCorrupt, fmt.Sprintf("the answer has more than %d MiB of text: it was to have no end", maxText>>20), nil)
			e.NoRetry = true // it was paid for, and the next would be no shorter
			err = e
		}
		if err != nil {
			var e *llm.Error
			if d.State() != Empty && errors.As(err, &e) {
				e.Partial = d.Response(false)
				e.Partial.Stop = llm.StopError
			}
			yield(nil, err)
			return
		}
	}
	s.End()
	yield(llm.Done{Response: d.Response(true)}, nil)
}

// broken reports whether err is about the connection.
func broken(err error) bool {
	var e *llm.Error
	return errors.As(err, &e) && (e.Kind == llm.KindTruncated || e.Kind == llm.KindStalled || e.Kind == llm.KindNetwork)
}
