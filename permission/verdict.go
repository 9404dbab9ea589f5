package permission

import "fmt"

// Effect is what becomes of a call.
type Effect string

// The effects.
const (
	Allow Effect = "allow"
	Ask   Effect = "ask"
	Deny  Effect = "deny"
)

// Verdict is a decision and why. The Data of the gate's questions is one, as JSON.
type Verdict struct {
	Effect Effect `json:"effect"`
	Reason string `json:"reason"`
	// Firm is set on an Ask that neither Yes nor the bypass mode answers: only
	// a person may say yes, to this one call.
	Firm bool `json:"firm,omitempty"`
	// Rule is the rule that decided, if one did.
	Rule *Rule `json:"rule,omitempty"`
	// Text is the command line that was analysed, and that is to run.
	Text string `json:"text,omitempty"`
	// Words are the parts of Text for which it asks or denies.
	Words []Span `json:"words,omitempty"`
	// Sandbox says that the command line would be confined, and Network that it
	// could connect elsewhere. Both are nil where no command would run, and where
	// there is no sandbox at all.
	Sandbox *bool `json:"sandbox,omitempty"`
	Network *bool `json:"network,omitempty"`
	// Hosts are those that it could connect to although Network is false.
	Hosts []string `json:"hosts,omitempty"`
	// Needs are what no rule covers, each as a phrase: "run rm -rf x".
	Needs []string `json:"needs,omitempty"`
	// Suggest are the rules, as narrow as can be, with which the call would have
	// been allowed. They are needed together. There are none for a Firm ask.
	Suggest []Suggestion `json:"suggest,omitempty"`
}

// Span is a part of a text, in bytes.
type Span struct {
	Start int `json:"start"`
	End   int `json:"end"`
}

// Suggestion is an allow rule that the user may grant, exactly as it will be
// saved.
type Suggestion struct {
	Rule string `json:"rule"`
	// Matched is how many of the session's earlier calls of the tool the rule
	// would have been for, of Of.
	Matched int `json:"matched"`
	Of      int `json:"of"`
}

// Replay says what the rule would have been for.
func (s Suggestion) Replay() string {
	if s.Of == 0 {
		return ""
	}
	return fmt.Sprintf("would have matched %d of %d", s.Matched, s.Of)
}

func (v Verdict) at(rule *rule) Verdict {
	r := rule.Rule
	v.Rule = &r
	return v
}
