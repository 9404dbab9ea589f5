package session

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
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

	raw []byte // as it was read: written back byte for byte
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
		Pins     map[string]string          `json:"pins,omitempty"`
		Details  map[string]json.RawMessage `json:"details,omitempty"`
		Usage    *llm.Usage                 `json:"usage,omitempty"`
		Cost     *llm.Money                 `json:"cost,omitempty"`
		Model    string                     `json:"model,omitempty"` // that served it, as provider:name
		Stop     llm.StopReason             `json:"stop,omitempty"`
		Partial  bool                       `json:"partial,omitempty"` // cut off by a cancel or an error
		Duration time.Duration              `json:"duration_ns,omitempty"`
	}

	// Compaction changes the view and never the journal. If Summary is set, it
	// stands for all messages before the entry Keep. The results in Clear, as
	// "entry/call", become Stub.
	Compaction struct {
		Summary string   `json:"summary,omitempty"`
		Keep    string   `json:"keep,omitempty"`
		Clear   []string `json:"clear,omitempty"`
		Stub    string   `json:"stub,omitempty"`
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
		RunID string     `json:"run"`
		Stop  string     `json:"stop"`
		Error string     `json:"error,omitempty"`
		Turns int        `json:"turns"`
		Usage llm.Usage  `json:"usage"`
		Cost  *llm.Money `json:"cost,omitempty"`
	}

	// Pending is the state of a call that waits for an answer of the user.
	Pending struct {
		CallID   string          `json:"call"`
		State    PendingState    `json:"state"`
		Question json.RawMessage `json:"question,omitempty"`
		Answer   json.RawMessage `json:"answer,omitempty"`
	}

	// Queued is input that waits for its time. Done takes the one with the ID
	// back out.
	Queued struct {
		ID    string      `json:"queued,omitempty"`
		Kind  MessageKind `json:"kind"`
		Parts llm.Parts   `json:"parts,omitempty"`
		Done  bool        `json:"done,omitempty"`
	}

	// Head begins a branch at its parent.
	Head struct {
		Name string `json:"name,omitempty"`
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
	if s.Model != o.Model || s.System != o.System || len(s.Tools) != len(o.Tools) {
		return false
	}
	for i := range s.Tools {
		if s.Tools[i] != o.Tools[i] {
			return false
		}
	}
	return true
}

// Encode appends the record of e, one line of JSON without its newline, to b.
// The header comes first and in a fixed order, so that a reader finds its way
// through a journal without decoding the bodies:
//
//	{"v":1,"id":"…","parent":"…","kind":"…","time":"…","data":{…}}
func (e Entry) Encode(b []byte) ([]byte, error) {
	if e.raw != nil {
		return append(b, e.raw...), nil
	}
	if e.Data == nil {
		return nil, fmt.Errorf("session: entry %q has no data", e.ID)
	}
	for what, s := range map[string]string{"id": e.ID, "parent": e.Parent, "kind": e.Kind()} {
		if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == '"' || r == '\\' || r > '~' }) {
			return nil, fmt.Errorf("session: entry %q: its %s has a character that a header may not have", e.ID, what)
		}
	}
	if e.ID == "" {
		return nil, fmt.Errorf("session: entry of kind %s has no id", e.Kind())
	}
	var data []byte
	var err error
	switch d := e.Data.(type) {
	case Note:
		data = d.Data
	case Unknown:
		data = d.Raw
	default:
		data, err = json.Marshal(d)
	}
	if err != nil {
		return nil, fmt.Errorf("session: entry %s: %w", e.ID, err)
	}
	if len(data) == 0 {
		data = []byte("null")
	}
	b = append(b, `{"v":1,"id":"`...)
	b = append(append(b, e.ID...), `","parent":"`...)
	b = append(append(b, e.Parent...), `","kind":"`...)
	b = append(append(b, e.Kind()...), `","time":"`...)
	b = e.Time.UTC().AppendFormat(b, time.RFC3339Nano)
	b = append(b, `","data":`...)
	if bytes.ContainsRune(data, '\n') {
		var one bytes.Buffer
		if err := json.Compact(&one, data); err != nil {
			return nil, fmt.Errorf("session: entry %s: %w", e.ID, err)
		}
		data = one.Bytes()
	}
	return append(append(b, data...), '}'), nil
}

// Decode reads a record that [Entry.Encode] wrote; one of a kind that it does
// not know becomes [Unknown]. The entry keeps line, which must not be changed.
func Decode(line []byte) (Entry, error) {
	var rec struct {
		V      int             `json:"v"`
		ID     string          `json:"id"`
		Parent string          `json:"parent"`
		Kind   string          `json:"kind"`
		Time   time.Time       `json:"time"`
		Data   json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(line, &rec); err != nil {
		return Entry{}, fmt.Errorf("session: record: %w", err)
	}
	switch {
	case rec.V == 0 || rec.ID == "" || rec.Kind == "":
		return Entry{}, fmt.Errorf("session: record has no version, id or kind")
	case rec.V != Version:
		return Entry{}, fmt.Errorf("session: record %s has version %d, and this program reads version %d: use a newer one", rec.ID, rec.V, Version)
	}
	e := Entry{ID: rec.ID, Parent: rec.Parent, Time: rec.Time, raw: bytes.TrimSuffix(line, []byte("\n"))}
	var err error
	e.Data, err = decodeData(rec.Kind, rec.Data)
	if err != nil {
		return Entry{}, fmt.Errorf("session: record %s of kind %s: %w", rec.ID, rec.Kind, err)
	}
	return e, nil
}

func decodeData(kind string, raw json.RawMessage) (Data, error) {
	if k, ok := strings.CutPrefix(kind, notePrefix); ok {
		return Note{Kind: k, Data: raw}, nil
	}
	switch kind {
	case "message":
		return decodeAs[Message](raw)
	case "compaction":
		return decodeAs[Compaction](raw)
	case "setup":
		return decodeAs[Setup](raw)
	case "run_started":
		return decodeAs[RunStarted](raw)
	case "run_ended":
		return decodeAs[RunEnded](raw)
	case "pending":
		return decodeAs[Pending](raw)
	case "queued":
		return decodeAs[Queued](raw)
	case "head":
		return decodeAs[Head](raw)
	case "label":
		return decodeAs[Label](raw)
	}
	return Unknown{Kind: kind, Raw: raw}, nil
}

func decodeAs[T Data](raw json.RawMessage) (Data, error) {
	var v T
	err := json.Unmarshal(raw, &v)
	return v, err
}
