package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/cantle-dev/cantle/llm"
)

// Event is something that happened in a run. Its JSON form is the envelope
// with the payload's "type" beside it:
//
//	{"seq":3,"time":"…","turn":1,"type":"text_delta","data":{"text":"Hel"}}
type Event struct {
	Seq  int       // from 1, without gaps within a stream
	Time time.Time // by Options.Now
	Path string    // "" is the agent itself, "explore-2" a child of it
	Turn int       // the turn of the agent at Path, from 1; 0 before the first
	Data EventData
}

// EventData is what happened. The set is sealed, and may grow: ignore what you
// do not know. A stream begins with [RunStarted] and ends with [RunEnded].
type EventData interface{ eventKind() string }

type (
	// RunStarted is the first event of a stream.
	RunStarted struct {
		Run     string   `json:"run"`
		Session string   `json:"session"`
		Model   string   `json:"model"` // as provider:name
		StandIn bool     `json:"stand_in,omitempty"`
		Dir     string   `json:"dir,omitempty"`
		Tools   []string `json:"tools"`
		Left    *Left    `json:"left,omitempty"` // nil: there are no limits
	}
	// Repaired says that one thing in the view was mended: the journal keeps
	// what a crash, a cancel or a model left. Kind is a [session.RepairKind].
	Repaired struct {
		Kind    string `json:"kind"`
		EntryID string `json:"entry_id,omitempty"` // where it was seen
		CallID  string `json:"call_id,omitempty"`
		Text    string `json:"text"`
	}
	// Input is a message that went into the session on the user's side: what
	// the user wrote, a steer or follow-up, or a notice.
	Input struct {
		Kind  string    `json:"kind"`
		Parts llm.Parts `json:"parts"`
	}
	// TurnStarted comes before each model call.
	TurnStarted struct{}
	// TextDelta is a piece of the answer. Deltas are provisional.
	TextDelta struct {
		Text string `json:"text"`
	}
	// ThinkingDelta is a piece of the model's readable thinking.
	ThinkingDelta struct {
		Text string `json:"text"`
	}
	// CallDelta is a piece of a tool call's arguments.
	CallDelta struct {
		Index int    `json:"index"`
		ID    string `json:"id,omitempty"`
		Name  string `json:"name,omitempty"`
		Input string `json:"input"`
	}
	// Partial is the structured answer as far as it has come, made valid.
	Partial struct {
		Value json.RawMessage `json:"value"`
	}
	// Retrying says that a model call failed and is tried again after Wait.
	Retrying struct {
		Attempt int           `json:"attempt"`
		Wait    time.Duration `json:"wait_ns"`
		Error   string        `json:"error"`
	}
	// Switched says that another model answers in the place of the first.
	Switched struct {
		From  string `json:"from"`
		To    string `json:"to"`
		Error string `json:"error,omitempty"`
	}
	// Notice is what a wrapper around the model had to say of a request: see
	// [llm.Notice]. The model is not told.
	Notice struct {
		Kind string          `json:"kind"`
		Text string          `json:"text"`
		Data json.RawMessage `json:"data,omitempty"`
	}
	// Continued says that an answer cut at the output cap is being continued.
	Continued struct {
		Attempt int `json:"attempt"`
		Of      int `json:"of"`
	}
	// Message is a whole response of the model, as recorded.
	Message struct {
		Message llm.Message    `json:"message"`
		Stop    llm.StopReason `json:"stop,omitempty"`
		Partial bool           `json:"partial,omitempty"` // cut off by a cancel or an error
	}
	// Asked says that a question is open; an [Answered] follows.
	Asked struct {
		Question *Question `json:"question"`
	}
	// Answered closes an [Asked].
	Answered struct {
		ID     string `json:"id"`
		OK     bool   `json:"ok"`
		Reason string `json:"reason,omitempty"`
		By     string `json:"by,omitempty"` // who answered: see [Answer]
	}
	// ToolStarted is a call about to run, with its input as it was decided on.
	// A call that does not run has no ToolStarted, only a [ToolFinished].
	ToolStarted struct {
		Call     llm.ToolCall `json:"call"`
		Decision *Decision    `json:"decision,omitempty"` // by whom it was allowed; nil: no gate said
	}
	// ToolProgress is partial output of a running call.
	ToolProgress struct {
		CallID string    `json:"call_id"`
		Parts  llm.Parts `json:"parts"`
	}
	// ToolFinished is the one end of each call, whatever became of it.
	ToolFinished struct {
		Call     llm.ToolCall    `json:"call"`
		Outcome  Outcome         `json:"outcome"`
		Parts    llm.Parts       `json:"parts"`
		IsError  bool            `json:"is_error,omitempty"`
		Detail   json.RawMessage `json:"detail,omitempty"`
		Duration time.Duration   `json:"duration_ns,omitempty"`
		Decision *Decision       `json:"decision,omitempty"` // by whom it was allowed or denied
	}
	// TurnEnded sums a turn up.
	TurnEnded struct {
		Usage *llm.Usage `json:"usage"` // null: not reported
		Cost  *llm.Money `json:"cost"`  // null: unknown
		Calls int        `json:"calls"`
	}
	// Compacted says that the view was made smaller.
	Compacted struct {
		Reason  string `json:"reason"`
		Before  int    `json:"before"` // tokens
		After   int    `json:"after"`
		Cleared int    `json:"cleared,omitempty"` // results that became stubs
	}
	// Warning is something that a user should know and that stops nothing.
	Warning struct {
		Text string `json:"text"`
	}
	// RunEnded is the last event of a stream that was read to its end. If the
	// run failed, the error follows it.
	RunEnded struct {
		Result *Result `json:"result"`
	}
	// Custom is for whatever has no event of its own. Kind names its owner.
	Custom struct {
		Kind string          `json:"kind"`
		Data json.RawMessage `json:"data,omitempty"`
	}
	// Unknown is an event that a later version wrote.
	Unknown struct {
		Kind string
		Raw  json.RawMessage
	}
)

// Outcome says what became of a call.
type Outcome string

// The outcomes.
const (
	OutcomeRan         Outcome = "ran"
	OutcomeDenied      Outcome = "denied"      // by a gate
	OutcomeInvalid     Outcome = "invalid"     // unknown tool, cut or malformed arguments
	OutcomeSkipped     Outcome = "skipped"     // the user steered away before it began
	OutcomeInterrupted Outcome = "interrupted" // the run was cancelled
	OutcomeRefused     Outcome = "refused"     // by the loop: repeated, over budget, input changed
)

func (RunStarted) eventKind() string    { return "run_started" }
func (Repaired) eventKind() string      { return "repaired" }
func (Input) eventKind() string         { return "input" }
func (TurnStarted) eventKind() string   { return "turn_started" }
func (TextDelta) eventKind() string     { return "text_delta" }
func (ThinkingDelta) eventKind() string { return "thinking_delta" }
func (CallDelta) eventKind() string     { return "call_delta" }
func (Partial) eventKind() string       { return "partial" }
func (Retrying) eventKind() string      { return "retrying" }
func (Switched) eventKind() string      { return "switched" }
func (Notice) eventKind() string        { return "notice" }
func (Continued) eventKind() string     { return "continued" }
func (Message) eventKind() string       { return "message" }
func (Asked) eventKind() string         { return "asked" }
func (Answered) eventKind() string      { return "answered" }
func (ToolStarted) eventKind() string   { return "tool_started" }
func (ToolProgress) eventKind() string  { return "tool_progress" }
func (ToolFinished) eventKind() string  { return "tool_finished" }
func (TurnEnded) eventKind() string     { return "turn_ended" }
func (Compacted) eventKind() string     { return "compacted" }
func (Warning) eventKind() string       { return "warning" }
func (RunEnded) eventKind() string      { return "run_ended" }
func (Custom) eventKind() string        { return "custom" }
func (u Unknown) eventKind() string     { return u.Kind }

type eventJSON struct {
	Seq  int             `json:"seq"`
	Time time.Time       `json:"time"`
	Path string          `json:"path,omitempty"`
	Turn int             `json:"turn"`
	Type string          `json:"type"`
	Data json.RawMessage `json:"data"`
}

// MarshalJSON encodes the envelope and its payload.
func (e Event) MarshalJSON() ([]byte, error) {
	if e.Data == nil {
		return nil, fmt.Errorf("agent: event %d has no data", e.Seq)
	}
	out := eventJSON{Seq: e.Seq, Time: e.Time, Path: e.Path, Turn: e.Turn, Type: e.Data.eventKind()}
	if u, ok := e.Data.(Unknown); ok {
		out.Data = u.Raw
	} else {
		b, err := json.Marshal(e.Data)
		if err != nil {
			return nil, fmt.Errorf("agent: event %s: %w", out.Type, err)
		}
		out.Data = b
	}
	return json.Marshal(out)
}

// UnmarshalJSON decodes what [Event.MarshalJSON] wrote; a type that it does
// not know becomes [Unknown].
func (e *Event) UnmarshalJSON(b []byte) error {
	var in eventJSON
	if err := json.Unmarshal(b, &in); err != nil {
		return fmt.Errorf("agent: event: %w", err)
	}
	*e = Event{Seq: in.Seq, Time: in.Time, Path: in.Path, Turn: in.Turn}
	dec, ok := eventDecoders[in.Type]
	if !ok {
		e.Data = Unknown{Kind: in.Type, Raw: bytes.Clone(in.Data)}
		return nil
	}
	data, err := dec(in.Data)
	if err != nil {
		return fmt.Errorf("agent: event %s: %w", in.Type, err)
	}
	e.Data = data
	return nil
}

var eventDecoders = map[string]func([]byte) (EventData, error){
	"run_started":    decodeEvent[RunStarted],
	"repaired":       decodeEvent[Repaired],
	"input":          decodeEvent[Input],
	"turn_started":   decodeEvent[TurnStarted],
	"text_delta":     decodeEvent[TextDelta],
	"thinking_delta": decodeEvent[ThinkingDelta],
	"call_delta":     decodeEvent[CallDelta],
	"partial":        decodeEvent[Partial],
	"retrying":       decodeEvent[Retrying],
	"switched":       decodeEvent[Switched],
	"notice":         decodeEvent[Notice],
	"continued":      decodeEvent[Continued],
	"message":        decodeEvent[Message],
	"asked":          decodeEvent[Asked],
	"answered":       decodeEvent[Answered],
	"tool_started":   decodeEvent[ToolStarted],
	"tool_progress":  decodeEvent[ToolProgress],
	"tool_finished":  decodeEvent[ToolFinished],
	"turn_ended":     decodeEvent[TurnEnded],
	"compacted":      decodeEvent[Compacted],
	"warning":        decodeEvent[Warning],
	"run_ended":      decodeEvent[RunEnded],
	"custom":         decodeEvent[Custom],
}

func decodeEvent[T EventData](b []byte) (EventData, error) {
	var v T
	err := json.Unmarshal(b, &v)
	return v, err
}
