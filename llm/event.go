package llm

import (
	"encoding/json"
	"time"
)

// Event is what a [Model] streams: one of [TextDelta], [ThinkingDelta],
// [CallDelta], [Retrying], [Switched], [Notice] and, last, [Done]. More may be
// added: ignore what you do not know.
type Event interface{ llmEvent() }

// TextDelta is a piece of visible text. Deltas are provisional: what counts is
// the message in [Done].
type TextDelta struct{ Text string }

// ThinkingDelta is a piece of readable thinking.
type ThinkingDelta struct{ Text string }

// CallDelta is a piece of a tool call: Input is the next fragment of its JSON
// arguments (or of its text, for a custom tool). ID and Name are set on every
// delta once they are known. Index counts the calls of one response from 0.
type CallDelta struct {
	Index    int
	ID, Name string
	Input    string
}

// Retrying says that an attempt failed and another follows after Wait.
// Wrappers emit it; no delta was shown before it.
type Retrying struct {
	Attempt int // the attempt that failed, from 1
	Wait    time.Duration
	Err     error
}

// Switched says that another model takes the request over.
type Switched struct {
	From, To string // as [Info.Ref]
	Err      error  // why
}

// Notice is what a wrapper has to say of a request: that it went to another
// model, that something broken was mended, that the cache was missed. It stops
// nothing and is no part of the response.
type Notice struct {
	Kind string          // what it is about, in one word: "route", "cache_break", …
	Text string          // for people
	Data json.RawMessage // for programs; it may be nil
}

// Done ends every successful stream and carries the whole response.
type Done struct{ Response *Response }

func (TextDelta) llmEvent()     {}
func (ThinkingDelta) llmEvent() {}
func (CallDelta) llmEvent()     {}
func (Retrying) llmEvent()      {}
func (Switched) llmEvent()      {}
func (Notice) llmEvent()        {}
func (Done) llmEvent()          {}
