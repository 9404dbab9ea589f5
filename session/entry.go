package session

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/cantle-dev/cantle/llm"
)

// Version is the version of the journal's records that this package writes.
const Version = 1

// Entry is one record of a journal. Entries are never changed. Parent is the
// ID of any earlier entry, or "" for the first.
type Entry struct {
	ID     string
	Parent string
	Time   time.Time
	Data   Data

	// raw is the record as it was read. It is written back byte for byte, so
	// that what a later version put into it is not lost. [Session.Append]
	// drops it: what is appended is new.
	raw []byte
}

// Data is one of [Message], [Compaction], [Setup], [RunStarted], [RunEnded],
// [Pending], [Queued], [Head], [Label], [Note] and [Unknown].
type Data interface{ entryKind() string }

// MessageKind says how a message on the user's side came about.
type MessageKind string

// The kinds. An assistant's message has none.
const (
	KindInput    MessageKind = "input"
	KindSteer    MessageKind = "steer"
	KindFollowUp MessageKind = "followup"
	KindNotice   MessageKind = "notice"  // what the program told the model
	KindResults  MessageKind = "results" // the results of tool calls
)

type (
	// Message is a message of the conversation.
	Message struct {
		llm.Message
		Kind  MessageKind `json:"kind,omitempty"`
		Typed llm.Parts   `json:"typed,omitempty"` // what the user wrote, apart from what was injected
		// Pins and Details are by call id: see tool.Result.
		Pins    map[string]string          `json:"pins,omitempty"`
		Details map[string]json.RawMessage `json:"details,omitempty"`
		// Decisions, by call id, say who allowed or denied a call that was gated.
		Decisions map[string]Decision `json:"decisions,omitempty"`
		Usage     *llm.Usage          `json:"usage,omitempty"`
		Cost      *llm.Money          `json:"cost,omitempty"`
		Model     string              `json:"model,omitempty"` // that served it, as provider:name
		Stop      llm.StopReason      `json:"stop,omitempty"`
		Partial   bool                `json:"partial,omitempty"` // cut off by a cancel or an error
		Duration  time.Duration       `json:"duration_ns,omitempty"`
	}

	// Compaction changes the view and never the journal.
	//
	// If Summary is set, it stands, as a message of the user's, for all that
	// lies before the entry Keep; with no Keep, for all that lies before the
	// Compaction. The last summary on the path is the one in force.
	//
	// Clear puts Stub in the place of parts, in addition to what earlier
	// Compactions cleared: "entry/call" names the result of that call in that
	// entry, "entry" alone the images and other blobs of a message.
	//
	// Undo names an earlier Compaction that has no effect any more.
	Compaction struct {
		Summary string   `json:"summary,omitempty"`
		Keep    string   `json:"keep,omitempty"`
		Clear   []string `json:"clear,omitempty"`
		Stub    string   `json:"stub,omitempty"`
		Undo    string   `json:"undo,omitempty"`
		Reason  string   `json:"reason,omitempty"`
	}

	// Setup is what the model is told apart from the conversation. It is
	// recorded when it differs from the last, so that a break in the prefix of
	// requests can be named.
	Setup struct {
		Model  string     `json:"model"`
		System string     `json:"system"` // a hash
		Tools  []ToolHash `json:"tools,omitempty"`
	}

	// RunStarted begins a run.
	RunStarted struct {
		RunID string `json:"run"`
		Path  string `json:"path,omitempty"` // of the agent, for a child
		Model string `json:"model"`
		Dir   string `json:"dir,omitempty"`
	}

	// RunEnded ends a run.
	RunEnded struct {
		RunID  string     `json:"run"`
		Stop   string     `json:"stop"`
		Reason string     `json:"reason,omitempty"` // more about Stop, for people
		Error  string     `json:"error,omitempty"`
		Turns  int        `json:"turns"`
		Usage  llm.Usage  `json:"usage"`
		Cost   *llm.Money `json:"cost,omitempty"`
	}

	// Pending is the state of a call that waits for an answer of the user. It
	// is about the call of the last assistant message before it, whatever other
	// calls have had the same id.
	Pending struct {
		CallID   string          `json:"call"`
		State    PendingState    `json:"state"`
		Question json.RawMessage `json:"question,omitempty"`
		Answer   json.RawMessage `json:"answer,omitempty"`
	}

	// Queued is input that waits for its time. Its ID is that of its entry.
	// A later one with Done takes the one with that ID back out.
	Queued struct {
		ID    string      `json:"queued,omitempty"`
		Kind  MessageKind `json:"kind"`
		Parts llm.Parts   `json:"parts,omitempty"`
		Done  bool        `json:"done,omitempty"`
	}

	// Head begins a branch at its parent; or, if Root is set, one that starts
	// the conversation anew and has no parent.
	Head struct {
		Name string `json:"name,omitempty"`
		Root bool   `json:"root,omitempty"`
	}

	// Label names an entry, or with no Target the session: its title.
	Label struct {
		Target string `json:"target,omitempty"`
		Name   string `json:"name"`
	}

	// Note is kept for a feature and never shown to the model. Kind names its
	// owner, as "builtin.file"; it is in the record's header, so that the notes
	// of one owner are found without decoding others.
	Note struct {
		Kind string
		Data json.RawMessage
	}

	// Unknown is a record that a later version wrote; it is written back as it
	// came.
	Unknown struct {
		Kind string
		Raw  json.RawMessage // the record's data
	}
)

// Decision is by whom a call was allowed or denied, and why.
type Decision struct {
	By     string `json:"by"`               // rule, mode, user, reviewer, …
	Reason string `json:"reason,omitempty"` // for people
}

// ToolHash names a tool and hashes all that the model is told of it.
type ToolHash struct {
	Name string `json:"name"`
	Hash string `json:"hash"`
}

// PendingState is how far a waiting call has come.
type PendingState string

// The states, in order.
const (
	PendingAsked    PendingState = "asked"
	PendingAnswered PendingState = "answered"
	PendingTaken    PendingState = "taken" // a run took it up: it is not run again
)

const notePrefix = "note:"

func (Message) entryKind() string    { return "message" }
func (Compaction) entryKind() string { return "compaction" }
func (Setup) entryKind() string      { return "setup" }
func (RunStarted) entryKind() string { return "run_started" }
func (RunEnded) entryKind() string   { return "run_ended" }
func (Pending) entryKind() string    { return "pending" }
func (Queued) entryKind() string     { return "queued" }
func (Head) entryKind() string       { return "head" }
func (Label) entryKind() string      { return "label" }
func (n Note) entryKind() string     { return notePrefix + n.Kind }
func (u Unknown) entryKind() string  { return u.Kind }

// Kind is the kind of the entry's data, as in the record's header: "message",
// "note:builtin.file", …
func (e Entry) Kind() string {
	if e.Data == nil {
		return ""
	}
	return e.Data.entryKind()
}

// Equal reports whether s and o tell the model the same.
func (s Setup) Equal(o Setup) bool {
	return s.Model == o.Model && s.System == o.System && slices.Equal(s.Tools, o.Tools)
}
