package agent

import (
	"encoding/json"
	"time"

	"github.com/cantle-dev/cantle/llm"
)

// Result is what a run came to. It is there also when the run failed: as far
// as it came.
type Result struct {
	Run     string `json:"run"`
	Session string `json:"session"`
	// Text is the final answer; an answer that was cut and continued is
	// stitched together. If the run stopped before one, it is the last text
	// that the model wrote in it: see Stop.
	Text string `json:"text"`
	// Value is the structured answer, when [Options.Schema] was set.
	Value  json.RawMessage `json:"value,omitempty"`
	Stop   Stop            `json:"stop"`
	Reason string          `json:"reason,omitempty"` // more about Stop, for people
	Turns  int             `json:"turns"`
	Calls  int             `json:"calls"` // tool calls that ran
	Usage  Usage           `json:"usage"`
	Cost   *llm.Money      `json:"cost"` // nil: unknown, since a response was unpriced
	Denied []Denial        `json:"denied,omitempty"`
	// Questions are those that wait, when Stop is StopPending.
	Questions []*Question   `json:"questions,omitempty"`
	Duration  time.Duration `json:"duration_ns"`
}

// Usage sums the usage of a run's requests: its own, its children's and its
// side calls'.
type Usage struct {
	llm.Usage
	Requests int `json:"requests"`
	// Reported counts the requests whose usage the provider reported. When it
	// is less than Requests the sums are too low.
	Reported int `json:"reported"`
}

func (u *Usage) add(v *llm.Usage) {
	u.Requests++
	if v != nil {
		u.Reported++
		u.Usage.Add(*v)
	}
}

// Denial is a call that a gate refused.
type Denial struct {
	CallID string          `json:"call_id"`
	Name   string          `json:"name"`
	Input  json.RawMessage `json:"input"`
	Reason string          `json:"reason"`
	By     string          `json:"by,omitempty"` // as in [Decision]; "" where the gate did not say
	Path   string          `json:"path,omitempty"`
}

// Stop says why a run ended.
type Stop string

// Why runs end. The first two are the good ends.
const (
	StopFinished    Stop = "finished"        // the model answered
	StopCompleted   Stop = "tool_completion" // a tool said that the task is done
	StopRejected    Stop = "tool_rejected"   // a tool refused the task
	StopCancelled   Stop = "tool_cancelled"  // a tool called the run off
	StopInterrupted Stop = "interrupted"     // the context ended, the host stopped reading, or an [Interrupt]
	StopBlocked     Stop = "blocked"         // a Prompt function blocked the input
	StopPending     Stop = "pending"         // a question waits for an answer
	StopRefused     Stop = "refusal"         // the model refused
	StopFiltered    Stop = "content_filter"  // the provider filtered the answer
	StopEmpty       Stop = "empty_response"  // the model answered nothing, twice
	StopMaxTokens   Stop = "max_tokens"      // the answer was cut more often than it is continued
	StopTurns       Stop = "max_turns"
	StopTokens      Stop = "token_budget"
	StopMoney       Stop = "cost_budget"
	StopTime        Stop = "time_limit"
	StopCalls       Stop = "call_budget"  // tool calls
	StopSpawns      Stop = "spawn_budget" // children, or how deep they nest
	StopErrors      Stop = "consecutive_errors"
	StopNoFinish    Stop = "no_finish"     // finish was required and the model would not
	StopRepeated    Stop = "repeated_call" // the same call again and again
	StopSchema      Stop = "schema"        // no answer of the schema after all attempts
	StopNoUsage     Stop = "usage_unavailable"
	StopOverflow    Stop = "context_overflow"
	StopCompaction  Stop = "compaction_failed"
	StopError       Stop = "error"
)

// Status groups the reasons to stop.
type Status string

// The statuses.
const (
	StatusCompleted Status = "completed"
	StatusFailed    Status = "failed"
	StatusCancelled Status = "cancelled"
	StatusRejected  Status = "rejected"
	StatusLimited   Status = "limited" // a limit or guard ended it; the result so far stands
	StatusPending   Status = "pending"
)

// Status returns the group that s belongs to.
func (s Stop) Status() Status {
	switch s {
	case StopFinished, StopCompleted:
		return StatusCompleted
	case StopInterrupted, StopCancelled:
		return StatusCancelled
	case StopRejected, StopBlocked, StopRefused, StopFiltered:
		return StatusRejected
	case StopPending:
		return StatusPending
	case StopEmpty, StopMaxTokens, StopTurns, StopTokens, StopMoney, StopTime, StopCalls, StopSpawns, StopErrors,
		StopNoFinish, StopRepeated, StopSchema, StopNoUsage:
		return StatusLimited
	}
	return StatusFailed
}
